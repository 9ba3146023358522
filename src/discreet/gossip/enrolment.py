"""Enrolment of a gossip network: the organiser's home with its desk, and what a node makes of the answer."""

from __future__ import annotations

import socket
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from cryptography import x509
from cryptography.hazmat.primitives.asymmetric import ec

from discreet.errors import DiscreetError
from discreet.files import write_bytes
from discreet.gossip.keys import NetworkKeys, admit, desk_files, make_desk, own_key, revoke, revoked
from discreet.gossip.keys import make_keys as make_authority
from discreet.guard import Limits, guarded, server
from discreet.nodes.desk import Desk, EnrolError
from discreet.nodes.front import Front
from discreet.nodes.keys import authority_digest
from discreet.nodes.terms import Terms, grouped

COMMAND = "admit"


def make_keys(home: Path, hosts: Sequence[str]) -> None:
    """The authority of a new network, and the certificate of its desk."""
    make_authority(home / "keys")
    make_desk(NetworkKeys(home / "keys"), hosts)


def renew_keys(home: Path, hosts: Sequence[str]) -> None:
    """A new certificate of the desk, by the same authority."""
    make_desk(NetworkKeys(home / "keys"), hosts)


def check_names(names: Sequence[str]) -> None:
    """Refuse what is no name for a node."""
    NetworkKeys.checked(names)


def desk_of(home: Path) -> Desk:
    """The desk of an organiser's home: members get certificates, renewed in the last third of their time."""
    keys = NetworkKeys(home / "keys")
    keys.need(keys.authority, keys.authority_key)

    def issue(name: str, public: ec.EllipticCurvePublicKey) -> dict[str, Any]:
        if not isinstance(public.curve, ec.SECP256R1):
            raise EnrolError("nodes of a gossip network have keys of the curve P-256")
        if not _holds(keys, name, public):
            if keys.issued(name).is_file():
                revoke(keys.directory, name)  # another invite is for another key: the one before ends
            admit(keys.directory, name, public)
        elif _old(keys.issued(name).read_bytes()):
            admit(keys.directory, name, public)
        listed = keys.revocations.read_text() if keys.revocations.is_file() else None
        return {"certificate": keys.issued(name).read_text(), "revoked": listed}

    return Desk(home, issue, lambda name: revoke(keys.directory, name))


def _holds(keys: NetworkKeys, name: str, public: ec.EllipticCurvePublicKey) -> bool:
    if not keys.issued(name).is_file():
        return False
    held = x509.load_pem_x509_certificate(keys.issued(name).read_bytes())
    return held.public_key() == public and held.serial_number not in revoked(keys.revocations)


def _old(pem: bytes) -> bool:
    held, now = x509.load_pem_x509_certificate(pem), datetime.now(UTC)
    return now - held.not_valid_before_utc > 2 / 3 * (held.not_valid_after_utc - held.not_valid_before_utc)


def organiser_config(home: Path, terms: Terms, listen: str) -> dict[str, Any]:
    """The options of `discreet gossip admit`."""
    return {"home": str(home), "listen": listen}


def node_key(home: Path, name: str) -> ec.EllipticCurvePrivateKey:
    """The node's own key, made in its home."""
    return own_key(NetworkKeys(home / "keys"), name)


def settle(home: Path, name: str, authority: bytes, answer: dict[str, Any], terms: Terms, roster: str | None) -> str:
    """Keep the certificate and the list of revoked ones; return the code of the authority, which vouches for all."""
    keys, code = NetworkKeys(home / "keys"), grouped(authority_digest(authority))
    if roster is not None and roster.strip().lower() != code:
        raise DiscreetError(f"the network's authority is not the one you have compared: its code is {code}")
    if not isinstance(answer.get("members"), dict) or set(answer["members"]) != set(terms.members):
        raise DiscreetError("the organiser's answer names other members than the terms")
    keys.authority.parent.mkdir(mode=0o700, exist_ok=True)
    write_bytes(keys.authority, authority, private=True)
    write_bytes(keys.certificate(name), str(answer["certificate"]).encode(), private=True)
    if answer.get("revoked"):
        write_bytes(keys.revocations, str(answer["revoked"]).encode(), private=True)
    keys.ring(name)  # all of it belongs together, or one sentence says what does not
    return code


def node_config(home: Path, name: str, terms: Terms, answer: dict[str, Any], own: dict[str, Any]) -> dict[str, Any]:
    """The options of `discreet gossip node`."""
    peers = {one: address for one, address in answer["members"].items() if one != name}
    if any(not address for address in peers.values()):
        raise DiscreetError("not all members have said where they are: they join with --listen or --advertise")
    return {
        "name": name, "peers": ",".join(f"{one}={address}" for one, address in sorted(peers.items())),
        "keys": str(home / "keys"), "schema": str(home / "schema.json"), "state": str(home / "state"),
        "out": str(home / "model.json"), "epsilon": terms.epsilon, "delta": terms.delta, "total": terms.total,
        "total-delta": terms.total_delta(), "adjacency": terms.adjacency, "numeric": terms.numeric,
        "split": terms.split, "contributions": terms.contributions, "mechanism": terms.mechanism, **own,
    }  # fmt: skip


def serve(home: Path, host: str, port: int, report: Callable[[str, str], None]) -> None:
    """Answer at the desk until stopped: admit who was invited, renew, and hand out what was revoked."""
    try:
        import uvicorn
    except ImportError:
        raise DiscreetError("the desk needs uvicorn: install it by pip install 'discreet[gossip]'") from None
    desk = desk_of(home)
    certificate, private = desk_files(NetworkKeys(home / "keys"))
    NetworkKeys(home / "keys").need(certificate, private)
    limits = Limits()
    guard, _ = guarded(limits)
    try:
        bound = socket.create_server((host, port), family=socket.AF_INET6 if ":" in host else socket.AF_INET)
    except OSError as error:
        raise DiscreetError(f"cannot listen on {host}:{port}: {error.strerror}") from None
    settings = uvicorn.Config(
        Front(desk, report), log_level="error", access_log=False, lifespan="off", http=guard,
        ws="none", server_header=False, ssl_certfile=str(certificate), ssl_keyfile=str(private),
        timeout_graceful_shutdown=5,
    )  # fmt: skip
    waiting = sorted(set(desk.terms.members) - set(desk.joined))
    report("listening", f"{host}:{port}" + (f"; yet to join: {', '.join(waiting)}" if waiting else ""))
    with bound:
        server(settings, limits).run(sockets=[bound])
