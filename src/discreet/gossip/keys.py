"""Keys of a gossip network: an authority, and for each node a certificate whose name is the node's."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from functools import cached_property
from pathlib import Path
from typing import Any

from cryptography import x509
from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import Encoding, PrivateFormat, load_pem_private_key
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

from discreet.errors import DiscreetError
from discreet.files import write_bytes
from discreet.gossip.membership import LEFT, MemberEntry
from discreet.nodes.keys import DAYS, LOOPBACK, KeyDirectory, certificate, private_pem, reached_at, write_closed
from discreet.nodes.refusals import ProtocolError
from discreet.nodes.signing import KeySigner, signed_by

AUTHORITY = "discreet gossip network"


@dataclass(frozen=True)
class NetworkKeys(KeyDirectory):
    """The keys of a network: `authority/` stays with whoever admits new nodes, and no node needs it."""

    command = "gossip"
    # Names are compared as names of hosts are: without regard to case, so there is only one case.
    name = re.compile(r"[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?")
    letters = "small letters, digits and hyphens"

    @property
    def authority_key(self) -> Path:
        """What signs the certificates of new nodes."""
        return self.directory / "authority" / "ca.key"

    def certificate(self, name: str) -> Path:
        """A node's certificate."""
        return self.directory / "nodes" / name / "node.pem"

    def issued(self, name: str) -> Path:
        """The last certificate that the authority gave a node."""
        return self.directory / "authority" / f"{name}.pem"

    def serials(self, name: str) -> Path:
        """The numbers of all certificates that the authority gave a node, renewed ones included."""
        return self.directory / "authority" / f"{name}.serials"

    def every_serial(self, name: str) -> set[int]:
        """Those numbers; of keys that were made here for trial, the one certificate has it."""
        held = x509.load_pem_x509_certificate(self.issued(name).read_bytes()).serial_number
        try:
            return {held, *map(int, self.serials(name).read_text().split())} if self.serials(name).exists() else {held}
        except ValueError:
            raise DiscreetError(f"{self.serials(name)} is damaged: it lists numbers of certificates") from None

    @property
    def revocations(self) -> Path:
        """The list of certificates that no longer hold."""
        return self.directory / "public" / "revoked.pem"

    def ring(self, name: str) -> Ring:
        """What a node needs, read and checked."""
        files = (self.authority, self.certificate(name), self.node(name))
        self.need(*files)
        authority, own, private = (path.read_bytes() for path in files)
        ring = Ring(name, authority, own, private, revoked(self.revocations, authority))
        ring.check()
        return ring


@dataclass(frozen=True)
class Ring:
    """A node's own key and certificate, and the authority's."""

    name: str
    authority: bytes
    certificate: bytes
    private: bytes
    revoked: frozenset[int] = frozenset()

    @cached_property
    def _key(self) -> ec.EllipticCurvePrivateKey:
        key = load_pem_private_key(self.private, None)
        assert isinstance(key, ec.EllipticCurvePrivateKey)
        return key

    def check(self) -> None:
        """Raise unless key and certificate are a pair of the authority's."""
        try:
            pair = self._owner(self.certificate, self.name) == self._key.public_key()
        except (ValueError, TypeError, AssertionError, ProtocolError):
            pair = False
        if pair and not self.trusts(self.certificate):
            raise DiscreetError(
                f"the certificate of node {self.name!r} was revoked, or is past its end: ask for another"
            )
        if not pair:
            raise DiscreetError(f"the key files of node {self.name!r} do not belong together: give it those of its own")

    def trusts(self, pem: bytes) -> bool:
        """Whether a certificate is neither revoked nor past its end: who shows another is not spoken with."""
        try:
            held = x509.load_pem_x509_certificate(pem)
        except ValueError:
            return False
        return held.serial_number not in self.revoked and datetime.now(UTC) < held.not_valid_after_utc

    def sign(self, text: str) -> bytes:
        """The node's signature under a statement."""
        return KeySigner(self._key).sign(text.encode())

    def verify(self, entry: MemberEntry, known: MemberEntry | None = None) -> None:
        """Raise unless the member itself has signed its statement, where and how far it is, and its farewell if any.

        Whoever shows a revoked certificate is no new member, whoever passes it on; only if this key was a member's that
        is `known` does what it says of itself still count, for its share is in other hands.
        """
        try:
            public = self._owner(entry.certificate, entry.node)
            signed = [(entry.statement, entry.signature), (entry.moving, entry.hand)]
        except (ValueError, TypeError, KeyError):
            public, signed = None, []
        signed += [(entry.last_words, entry.seal)] if entry.phase == LEFT else []
        if public is None or not all(signed_by(public, text.encode(), seal) for text, seal in signed):
            raise ProtocolError(
                f"what is said of {entry.node!r} is not signed by that node: its statement, its state or its farewell"
            )
        gone = x509.load_pem_x509_certificate(entry.certificate).serial_number in self.revoked
        if gone and (known is None or self._owner(known.certificate, known.node) != public):
            raise ProtocolError(f"the certificate of {entry.node!r} was revoked: it joins no round by another's word")

    def _owner(self, pem: bytes, name: str) -> ec.EllipticCurvePublicKey:
        """The public key in a certificate of the authority's for that name."""
        held = x509.load_pem_x509_certificate(pem)
        try:
            held.verify_directly_issued_by(x509.load_pem_x509_certificate(self.authority))
        except (InvalidSignature, ValueError, TypeError):
            raise ProtocolError(f"the certificate of {name!r} is not of this network's authority") from None
        names, public = held.subject.get_attributes_for_oid(NameOID.COMMON_NAME), held.public_key()
        if [one.value for one in names] != [name] or not isinstance(public, ec.EllipticCurvePublicKey):
            raise ProtocolError(f"the certificate of {name!r} names somebody else")
        return public


def make_keys(out: Path, nodes: Sequence[str] = (), *, days: int = DAYS) -> NetworkKeys:
    """Write the authority of a new network, whole or not at all; with names, the keys of those nodes too, for trial."""
    names = NetworkKeys.checked(nodes) if nodes else []
    with NetworkKeys.new(out) as keys:
        private = ec.generate_private_key(ec.SECP256R1())
        write_closed(keys.authority, certificate(AUTHORITY, private, AUTHORITY, private, days))
        write_closed(keys.authority_key, private_pem(private, PrivateFormat.PKCS8))
        for name in names:
            _make_node(keys, name, days)
    return NetworkKeys(out)


def add_keys(directory: Path, nodes: Sequence[str], *, days: int = DAYS) -> NetworkKeys:
    """Make the keys of more nodes beside their network's authority: for trial."""
    keys, names = _with_authority(directory), NetworkKeys.checked(nodes)
    for name in names:
        if keys.node(name).parent.exists() or keys.issued(name).exists():
            raise DiscreetError(f"node {name!r} has keys already: they are never overwritten")
    for name in names:
        _make_node(keys, name, days)
    return keys


def own_key(keys: NetworkKeys, name: str) -> ec.EllipticCurvePrivateKey:
    """A node's private key, made here where there is none yet: it never leaves this place."""
    NetworkKeys.checked([name])
    if not keys.node(name).exists():
        keys.directory.mkdir(mode=0o700, parents=True, exist_ok=True)
        write_closed(keys.node(name), private_pem(ec.generate_private_key(ec.SECP256R1()), PrivateFormat.PKCS8))
    keys.need(keys.node(name))
    try:
        found = load_pem_private_key(keys.node(name).read_bytes(), None)
    except (ValueError, TypeError):
        found = None
    if not isinstance(found, ec.EllipticCurvePrivateKey):
        raise DiscreetError(f"{keys.node(name)} is no private key of a node")
    return found


def admit(directory: Path, name: str, public: ec.EllipticCurvePublicKey, *, days: int = DAYS) -> Path:
    """At the authority: a certificate for a node's key.

    A name that was admitted is renewed for the same key only; a node with a new key has to be revoked first.
    """
    keys = _with_authority(directory)
    NetworkKeys.checked([name])
    issued, numbers = keys.issued(name), set[int]()
    if issued.is_file():
        numbers = keys.every_serial(name)
        held = x509.load_pem_x509_certificate(issued.read_bytes())
        if held.serial_number not in revoked(keys.revocations) and held.public_key() != public:
            raise DiscreetError(f"node {name!r} was admitted with another key: revoke that one first")
    made = _certificate(keys, name, public, days)
    numbers.add(x509.load_pem_x509_certificate(made).serial_number)
    write_bytes(keys.serials(name), "".join(f"{one}\n" for one in sorted(numbers)).encode())  # before it is given out
    write_bytes(issued, made)
    return issued


def revoke(directory: Path, name: str, *, days: int = DAYS) -> Path:
    """At the authority: a list of revoked certificates with all of that node's in it; every node needs it."""
    keys = _with_authority(directory)
    if not keys.issued(name).is_file():
        raise DiscreetError(f"node {name!r} was never admitted here: there is no {keys.issued(name)}")
    signer: Any = load_pem_private_key(keys.authority_key.read_bytes(), None)
    serials, now = revoked(keys.revocations) | keys.every_serial(name), datetime.now(UTC)
    builder = x509.CertificateRevocationListBuilder(
        issuer_name=x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, AUTHORITY)]),
        last_update=now, next_update=now + timedelta(days=days),
    )  # fmt: skip
    for serial in sorted(serials):
        one = x509.RevokedCertificateBuilder().serial_number(serial).revocation_date(now).build()
        builder = builder.add_revoked_certificate(one)
    write_bytes(keys.revocations, builder.sign(signer, hashes.SHA256()).public_bytes(Encoding.PEM))
    return keys.revocations


def revoked(path: Path, authority: bytes | None = None) -> frozenset[int]:
    """The numbers of the certificates that a list revokes, none where there is no list; by that authority, if given."""
    if not path.is_file():
        return frozenset()
    try:
        held = x509.load_pem_x509_crl(path.read_bytes())
        signer = None if authority is None else x509.load_pem_x509_certificate(authority).public_key()
        good = signer is None or held.is_signature_valid(signer)  # type: ignore[arg-type]
    except (ValueError, TypeError):
        good = False
    if not good:
        raise DiscreetError(f"{path} is no list of revoked certificates of this network's authority")
    return frozenset(one.serial_number for one in held)


def _with_authority(directory: Path) -> NetworkKeys:
    keys = NetworkKeys(directory)
    for path in (keys.authority, keys.authority_key):
        if not path.is_file():
            raise DiscreetError(f"there is no {path}: only the directory with the authority's key can admit nodes")
    return keys


def _make_node(keys: NetworkKeys, name: str, days: int) -> None:
    private = ec.generate_private_key(ec.SECP256R1())
    held = _certificate(keys, name, private.public_key(), days)
    for path in (keys.certificate(name), keys.issued(name)):
        write_closed(path, held)
    write_closed(keys.node(name), private_pem(private, PrivateFormat.PKCS8))


def _certificate(keys: NetworkKeys, name: str, public: ec.EllipticCurvePublicKey, days: int) -> bytes:
    signer: Any = load_pem_private_key(keys.authority_key.read_bytes(), None)
    reached = x509.SubjectAlternativeName([x509.DNSName(name)])
    usage = x509.ExtendedKeyUsage([ExtendedKeyUsageOID.SERVER_AUTH, ExtendedKeyUsageOID.CLIENT_AUTH])
    return certificate(name, public, AUTHORITY, signer, days, reached, usage)


def desk_files(keys: NetworkKeys) -> tuple[Path, Path]:
    """The certificate and the key of the desk at which nodes join."""
    return keys.directory / "desk" / "desk.pem", keys.directory / "desk" / "desk.key"


def make_desk(keys: NetworkKeys, hosts: Sequence[str], *, days: int = DAYS) -> None:
    """A new certificate and key of the desk, for these names and loopback, by the authority that members have."""
    signer: Any = load_pem_private_key(keys.authority_key.read_bytes(), None)
    private = ec.generate_private_key(ec.SECP256R1())
    usage = x509.ExtendedKeyUsage([ExtendedKeyUsageOID.SERVER_AUTH])
    made = certificate("discreet organiser", private, AUTHORITY, signer, days, reached_at([*LOOPBACK, *hosts]), usage)
    for path, content in zip(desk_files(keys), (made, private_pem(private, PrivateFormat.PKCS8)), strict=True):
        path.parent.mkdir(mode=0o700, exist_ok=True)
        write_bytes(path, content, private=True)
