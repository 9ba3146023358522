"""Enrolment of a federation: the coordinator's home with its desk, and what a node makes of the answer."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from cryptography.hazmat.primitives.asymmetric import ec

from discreet.errors import DiscreetError
from discreet.federated.flower.keys import FederationKeys, make_authority, own_key, public_line, renew
from discreet.files import write_bytes
from discreet.nodes.desk import Desk, EnrolError, roster_code
from discreet.nodes.terms import Terms, grouped

COMMAND = "coordinator"
DAY = 86400.0  # seconds for all nodes to join, and for each round


def make_keys(home: Path, hosts: Sequence[str]) -> None:
    """The coordinator's own keys, in a new home."""
    make_authority(home / "keys", hosts)


def renew_keys(home: Path, hosts: Sequence[str]) -> None:
    """A new certificate of the coordinator, by the same authority."""
    renew(home / "keys", hosts)


def check_names(names: Sequence[str]) -> None:
    """Refuse what is no name for a node."""
    FederationKeys.checked(names)


def desk_of(home: Path) -> Desk:
    """The desk of a coordinator's home: members are known by their public keys."""
    keys = FederationKeys(home / "keys")
    keys.need(keys.authority, keys.certificate)

    def issue(name: str, public: ec.EllipticCurvePublicKey) -> dict[str, Any]:
        if not isinstance(public.curve, ec.SECP384R1):
            raise EnrolError("nodes of a federation have keys of the curve P-384")
        if not keys.public(name).is_file() or keys.public(name).read_bytes() != public_line(public):
            write_bytes(keys.public(name), public_line(public), private=True)
        return {"registry": {one: line.decode() for one, line in keys.registry().items()}}

    return Desk(home, issue, lambda name: keys.public(name).unlink(missing_ok=True))


def organiser_config(home: Path, terms: Terms, listen: str) -> dict[str, Any]:
    """The options of `discreet federate coordinator`."""
    masked = {"secure": terms.secure, "colluding": terms.colluding, "dropouts": terms.dropouts}
    return {
        "home": str(home), "schema": str(home / "schema.json"), "keys": str(home / "keys"),
        "state": str(home / "state"), "out": str(home / "model.json"), "listen": listen,
        "nodes-expected": len(terms.members), "epsilon": terms.epsilon, "delta": terms.delta,
        "mechanism": terms.mechanism, "adjacency": terms.adjacency, "numeric": terms.numeric, "split": terms.split,
        "contributions": terms.contributions, "wait": DAY, **masked,
    }  # fmt: skip


def node_key(home: Path, name: str) -> ec.EllipticCurvePrivateKey:
    """The node's own key, made in its home."""
    return own_key(FederationKeys(home / "keys"), name)


def settle(home: Path, name: str, authority: bytes, answer: dict[str, Any], terms: Terms, roster: str | None) -> str:
    """Keep what the answer says, and return the code of all members' keys, which partners compare.

    Keys that were here before are replaced only if `roster` is the code of the new ones: nobody but the node's owner
    changes whom it adds up with.
    """
    # Under masks each adds a share of the noise, by how many there are: nobody but the terms says who.
    keys, found = FederationKeys(home / "keys"), answer.get("registry")
    if not isinstance(found, dict) or set(found) != set(terms.members):
        raise DiscreetError("the coordinator's answer names other members than the terms")
    code = grouped(roster_code(found))
    if roster is not None and roster.strip().lower() != code:
        raise DiscreetError(f"the members' keys are not those you have compared: their code is {code}")
    own = keys.public(name).read_bytes().strip().decode()
    if found.get(name) != own:
        raise DiscreetError("the coordinator has another key for this node than its own: tell its operator")
    held = {one: line.decode() for one, line in keys.registry().items()}
    if roster is None and set(held) != {name} and held != found:
        changed = sorted(one for one in held.keys() | found.keys() if held.get(one) != found.get(one))
        raise DiscreetError(
            f"the keys of {', '.join(changed)} have changed: compare the code {code} with your partners by another way "
            f"and join again with --roster {code}"
        )
    for gone in held.keys() - found.keys():
        keys.public(gone).unlink()
    for one, line in found.items():
        FederationKeys.checked([one])
        write_bytes(keys.public(one), line.encode() + b"\n", private=True)
    write_bytes(keys.authority, authority, private=True)
    return code


def node_config(home: Path, name: str, terms: Terms, answer: dict[str, Any], own: dict[str, Any]) -> dict[str, Any]:
    """The options of `discreet federate node`."""
    masked = {"secure": terms.secure, "colluding": terms.colluding, "dropouts": terms.dropouts}
    return {
        "name": name, "coordinator": terms.organiser, "keys": str(home / "keys"), "schema": str(home / "schema.json"),
        "ledger": str(home / f"{name}.ledger"), "epsilon": terms.epsilon, "delta": terms.delta, "total": terms.total,
        "total-delta": terms.total_delta(), "adjacency": terms.adjacency, "contributions": terms.contributions,
        "mechanism": terms.mechanism, **masked, **own,
    }  # fmt: skip
