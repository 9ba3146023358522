"""Keys of a federation: a certificate authority, the coordinator's certificate, and a key pair for each node."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from cryptography import x509
from cryptography.exceptions import UnsupportedAlgorithm
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import (
    Encoding,
    PrivateFormat,
    PublicFormat,
    load_pem_private_key,
    load_ssh_private_key,
    load_ssh_public_key,
)
from cryptography.x509.oid import ExtendedKeyUsageOID

from discreet.errors import DiscreetError
from discreet.files import write_bytes
from discreet.nodes.keys import DAYS, LOOPBACK, KeyDirectory, certificate, private_pem, reached_at, write_closed

ROOT = "discreet federation"
SERVER = x509.ExtendedKeyUsage([ExtendedKeyUsageOID.SERVER_AUTH])
AUTHORITY_DAYS = 3650  # for which an authority holds: the coordinator's certificate is renewed meanwhile


@dataclass(frozen=True)
class FederationKeys(KeyDirectory):
    """The keys of a federation: `coordinator/` stays with the coordinator; every node has a public key."""

    command = "federate"
    name = re.compile("[A-Za-z0-9][A-Za-z0-9_.-]{0,62}")
    letters = "letters, digits, '.', '_' and '-'"

    @property
    def certificate(self) -> Path:
        """The coordinator's certificate."""
        return self.directory / "coordinator" / "server.pem"

    @property
    def private(self) -> Path:
        """The coordinator's private key."""
        return self.directory / "coordinator" / "server.key"

    @property
    def authority_key(self) -> Path:
        """What signs the coordinator's next certificate: best kept away from the network until it is needed."""
        return self.directory / "authority" / "ca.key"

    def public(self, name: str) -> Path:
        """A node's public key."""
        return self.directory / "public" / f"{name}.pub"

    @property
    def names(self) -> list[str]:
        """The nodes whose public keys are here."""
        return sorted(path.stem for path in (self.directory / "public").glob("*.pub"))

    def registry(self) -> dict[str, bytes]:
        """The nodes' public keys, by name."""
        return {name: self.public(name).read_bytes().strip() for name in self.names}


def make_keys(out: Path, nodes: Sequence[str], hosts: Sequence[str] = (), *, days: int = DAYS) -> FederationKeys:
    """Write all keys of a new federation, nodes' private ones included: for trial, or for one who may hold them."""
    names = FederationKeys.checked(nodes)
    with FederationKeys.new(out) as keys:
        _certificates(keys, [*LOOPBACK, *hosts], days)
        for name in names:
            _pair(keys, name)
    return FederationKeys(out)


def make_node_keys(out: Path, name: str) -> FederationKeys:
    """Write one node's key pair, at that node: its private key need never be anywhere else."""
    FederationKeys.checked([name])
    with FederationKeys.new(out) as keys:
        _pair(keys, name)
    return FederationKeys(out)


def make_coordinator_keys(
    out: Path, public: Sequence[Path], hosts: Sequence[str] = (), *, days: int = DAYS
) -> FederationKeys:
    """Write the coordinator's certificate and take in public keys that nodes have made; no private key of a node."""
    names = FederationKeys.checked([path.name.removesuffix(".pub") for path in public])
    for path in public:
        if not path.is_file():
            raise DiscreetError(
                f"there is no public key {path}: a node makes it by 'discreet federate keys --node NAME'"
            )
    lines = [public_line(read_public(path)) for path in public]
    if len(set(lines)) != len(lines):
        raise DiscreetError("two nodes have the same public key: each makes a pair of its own")
    with FederationKeys.new(out) as keys:
        _certificates(keys, [*LOOPBACK, *hosts], days)
        for name, line in zip(names, lines, strict=True):
            write_closed(keys.public(name), line)
    return FederationKeys(out)


def make_authority(out: Path, hosts: Sequence[str], *, days: int = DAYS) -> FederationKeys:
    """Write the coordinator's certificate and authority; nodes bring their public keys when they join."""
    with FederationKeys.new(out) as keys:
        _certificates(keys, list(dict.fromkeys([*LOOPBACK, *hosts])), days)
    return FederationKeys(out)


def own_key(keys: FederationKeys, name: str) -> ec.EllipticCurvePrivateKey:
    """A node's private key, made here where there is none yet."""
    FederationKeys.checked([name])
    if not keys.node(name).exists():
        keys.directory.mkdir(mode=0o700, parents=True, exist_ok=True)
        (keys.directory / "public").mkdir(mode=0o700, exist_ok=True)
        _pair(keys, name)
    keys.need(keys.node(name))
    return read_private(keys.node(name))


def _read(path: Path, load: Callable[[bytes], Any], kind: type, what: str) -> Any:
    try:
        key = load(path.read_bytes())
    except (ValueError, UnsupportedAlgorithm):
        key = None
    if not isinstance(key, kind):
        raise DiscreetError(f"{path} is no {what} key of a node")
    return key


def read_public(path: Path) -> ec.EllipticCurvePublicKey:
    """A node's public key."""
    key: ec.EllipticCurvePublicKey = _read(path, load_ssh_public_key, ec.EllipticCurvePublicKey, "public")
    return key


def read_private(path: Path) -> ec.EllipticCurvePrivateKey:
    """A node's private key."""
    found = _read(path, lambda raw: load_ssh_private_key(raw, None), ec.EllipticCurvePrivateKey, "private")
    key: ec.EllipticCurvePrivateKey = found
    return key


def _pair(keys: FederationKeys, name: str) -> None:
    private = ec.generate_private_key(ec.SECP384R1())
    write_closed(keys.node(name), private_pem(private, PrivateFormat.OpenSSH))
    write_closed(keys.public(name), public_line(private.public_key()))


def public_line(key: ec.EllipticCurvePublicKey) -> bytes:
    """A public key in the one way it is written here."""
    return key.public_bytes(Encoding.OpenSSH, PublicFormat.OpenSSH) + b"\n"


def _certificates(keys: FederationKeys, hosts: Sequence[str], days: int) -> None:
    authority = ec.generate_private_key(ec.SECP384R1())
    reached = reached_at(hosts)  # a host that is none is refused before anything is written
    write_closed(keys.authority, certificate(ROOT, authority, ROOT, authority, AUTHORITY_DAYS))
    write_closed(keys.authority_key, private_pem(authority, PrivateFormat.PKCS8))
    server = ec.generate_private_key(ec.SECP384R1())
    write_closed(keys.certificate, certificate("discreet coordinator", server, ROOT, authority, days, reached, SERVER))
    write_closed(keys.private, private_pem(server, PrivateFormat.PKCS8))


def renew(directory: Path, hosts: Sequence[str] = (), *, days: int = DAYS) -> FederationKeys:
    """A new certificate and key of the coordinator by the same authority: nodes go on with the `ca.pem` they have."""
    keys = FederationKeys(directory)
    keys.need(keys.authority, keys.authority_key, keys.certificate)
    try:
        authority = load_pem_private_key(keys.authority_key.read_bytes(), None)
        held = x509.load_pem_x509_certificate(keys.certificate.read_bytes())
        known = held.extensions.get_extension_for_class(x509.SubjectAlternativeName).value
        root = x509.load_pem_x509_certificate(keys.authority.read_bytes())
    except (ValueError, TypeError, x509.ExtensionNotFound):
        raise DiscreetError(f"the keys in {directory} cannot be read: nothing was renewed") from None
    if not isinstance(authority, ec.EllipticCurvePrivateKey) or authority.public_key() != root.public_key():
        raise DiscreetError(f"{keys.authority_key} is not the key of {keys.authority}: nothing was renewed")
    reached = x509.SubjectAlternativeName(dict.fromkeys([*known, *reached_at(hosts)] if hosts else known))
    server = ec.generate_private_key(ec.SECP384R1())
    made = certificate("discreet coordinator", server, ROOT, authority, days, reached, SERVER)
    write_bytes(keys.private, private_pem(server, PrivateFormat.PKCS8), private=True)
    write_bytes(keys.certificate, made, private=True)
    return keys
