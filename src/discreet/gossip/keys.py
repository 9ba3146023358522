"""Keys of a gossip network: an authority, and for each node a certificate whose name is the node's."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from cryptography import x509
from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import PrivateFormat, load_pem_private_key
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

from discreet.errors import DiscreetError
from discreet.gossip.membership import LEFT, MemberEntry
from discreet.nodes.keys import DAYS, KeyDirectory, certificate, private_pem, write_closed
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

    def ring(self, name: str) -> Ring:
        """What a node needs, read and checked."""
        files = (self.authority, self.certificate(name), self.node(name))
        self.need(*files)
        ring = Ring(name, *(path.read_bytes() for path in files))
        ring.check()
        return ring


@dataclass(frozen=True)
class Ring:
    """A node's own key and certificate, and the authority's."""

    name: str
    authority: bytes
    certificate: bytes
    private: bytes

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
        if not pair:
            raise DiscreetError(f"the key files of node {self.name!r} do not belong together: give it those of its own")

    def sign(self, text: str) -> bytes:
        """The node's signature under a statement."""
        return KeySigner(self._key).sign(text.encode())

    def verify(self, entry: MemberEntry) -> None:
        """Raise unless the member itself has signed its statement, where and how far it is, and its farewell if any."""
        try:
            public = self._owner(entry.certificate, entry.node)
            signed = [(entry.statement, entry.signature), (entry.moving, entry.hand)]
        except (ValueError, TypeError, KeyError):
            public, signed = None, []
        signed += [(entry.last_words, entry.seal)] if entry.phase == LEFT else []
        if public is None or not all(signed_by(public, text.encode(), seal) for text, seal in signed):
            raise ProtocolError(f"what is said of {entry.node!r} is not signed by that node: its statement, its state or its farewell")

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


def make_keys(out: Path, nodes: Sequence[str], *, days: int = DAYS) -> NetworkKeys:
    """Write the keys of a new network, whole or not at all; an existing directory is never touched."""
    names = NetworkKeys.checked(nodes)
    with NetworkKeys.new(out) as keys:
        private = ec.generate_private_key(ec.SECP256R1())
        write_closed(keys.authority, certificate(AUTHORITY, private, AUTHORITY, private, days))
        write_closed(keys.authority_key, private_pem(private, PrivateFormat.PKCS8))
        for name in names:
            _issue(keys, name, days)
    return NetworkKeys(out)


def add_keys(directory: Path, nodes: Sequence[str], *, days: int = DAYS) -> NetworkKeys:
    """Admit more nodes to a network whose authority is at hand."""
    keys, names = NetworkKeys(directory), NetworkKeys.checked(nodes)
    for path in (keys.authority, keys.authority_key):
        if not path.is_file():
            raise DiscreetError(f"there is no {path}: only the directory with the authority's key can admit nodes")
    for name in names:
        if keys.node(name).parent.exists():
            raise DiscreetError(f"node {name!r} has keys already: they are never overwritten")
    for name in names:
        _issue(keys, name, days)
    return keys


def _issue(keys: NetworkKeys, name: str, days: int) -> None:
    signer: Any = load_pem_private_key(keys.authority_key.read_bytes(), None)
    private = ec.generate_private_key(ec.SECP256R1())
    reached = x509.SubjectAlternativeName([x509.DNSName(name)])
    usage = x509.ExtendedKeyUsage([ExtendedKeyUsageOID.SERVER_AUTH, ExtendedKeyUsageOID.CLIENT_AUTH])
    write_closed(keys.certificate(name), certificate(name, private, AUTHORITY, signer, days, reached, usage))
    write_closed(keys.node(name), private_pem(private, PrivateFormat.PKCS8))
