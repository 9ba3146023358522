"""Keys of a gossip network: an authority, and for each node a certificate whose name is the node's."""

from __future__ import annotations

import os
import re
import shutil
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from functools import cached_property
from pathlib import Path
from typing import Any

from cryptography import x509
from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

from discreet.errors import DiscreetError
from discreet.gossip.membership import LEFT, Entry
from discreet.gossip.protocol import ProtocolError

# Names are compared as names of hosts are: without regard to case, so there is only one case.
NAME = re.compile(r"[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?")


@dataclass(frozen=True)
class Keys:
    """The files of a directory of keys: `public/` is for everybody, `nodes/NAME/` for that node alone.

    `authority/` stays with whoever admits new nodes; no node needs it.
    """

    directory: Path

    @property
    def authority(self) -> Path:
        """The certificate by which members know each other."""
        return self.directory / "public" / "ca.pem"

    @property
    def authority_key(self) -> Path:
        """What signs the certificates of new nodes."""
        return self.directory / "authority" / "ca.key"

    def certificate(self, name: str) -> Path:
        """A node's certificate."""
        return self.directory / "nodes" / name / "node.pem"

    def private(self, name: str) -> Path:
        """A node's private key."""
        return self.directory / "nodes" / name / "node.key"

    def ring(self, name: str) -> Ring:
        """What a node needs, read and checked."""
        for path in (self.authority, self.certificate(name), self.private(name)):
            if not path.is_file():
                raise DiscreetError(f"there is no key file {path}: make one by 'discreet gossip keys'")
            if path.suffix == ".key" and path.stat().st_mode & 0o077:
                raise DiscreetError(f"others can read the private key {path}: close it by 'chmod 600 {path}'")
        files = (self.authority, self.certificate(name), self.private(name))
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
    def _root(self) -> x509.Certificate:
        return x509.load_pem_x509_certificate(self.authority)

    @cached_property
    def _key(self) -> ec.EllipticCurvePrivateKey:
        key = serialization.load_pem_private_key(self.private, None)
        assert isinstance(key, ec.EllipticCurvePrivateKey)
        return key

    def check(self) -> None:
        """Raise unless key and certificate are a pair of the authority's."""
        try:
            held = _member_certificate(self._root, self.certificate, self.name)
            pair = held.public_key() == self._key.public_key()
        except (ValueError, TypeError, AssertionError, ProtocolError):
            pair = False
        if not pair:
            raise DiscreetError(f"the key files of node {self.name!r} do not belong together: give it those of its own")

    def sign(self, text: str) -> bytes:
        """The node's signature under a statement."""
        return self._key.sign(text.encode(), ec.ECDSA(hashes.SHA256()))

    def verify(self, entry: Entry) -> None:
        """Raise unless the member itself has signed its statement, and its farewell if it has left."""
        try:
            public: Any = _member_certificate(self._root, entry.certificate, entry.node).public_key()
            public.verify(entry.signature, entry.statement.encode(), ec.ECDSA(hashes.SHA256()))
            if entry.phase == LEFT:
                public.verify(entry.seal, entry.last_words.encode(), ec.ECDSA(hashes.SHA256()))
        except (InvalidSignature, ValueError, TypeError):
            raise ProtocolError(f"the statement or the farewell of {entry.node!r} is not signed by that node") from None


def _member_certificate(root: x509.Certificate, pem: bytes, name: str) -> x509.Certificate:
    held = x509.load_pem_x509_certificate(pem)
    try:
        held.verify_directly_issued_by(root)
    except (InvalidSignature, ValueError, TypeError):
        raise ProtocolError(f"the certificate of {name!r} is not of this network's authority") from None
    names = held.subject.get_attributes_for_oid(NameOID.COMMON_NAME)
    if [one.value for one in names] != [name] or not isinstance(held.public_key(), ec.EllipticCurvePublicKey):
        raise ProtocolError(f"the certificate of {name!r} names somebody else")
    return held


def checked_names(names: Sequence[str]) -> list[str]:
    """Names for nodes: small letters, digits and hyphens, each once."""
    for name in names:
        if not NAME.fullmatch(name):
            raise DiscreetError(f"{name!r} is no name for a node: use small letters, digits and hyphens")
    if len(set(names)) != len(names) or not names:
        raise DiscreetError("each node needs a name of its own")
    return list(names)


def make_keys(out: Path, nodes: Sequence[str], *, days: int = 825) -> Keys:
    """Write the keys of a new network, whole or not at all; an existing directory is never touched."""
    names = checked_names(nodes)
    if out.exists():
        raise DiscreetError(f"{out} is there already: keys are never overwritten, choose another --out")
    if not out.parent.is_dir():
        raise DiscreetError(f"there is no directory {out.parent}: make it first or choose another --out")
    work = Path(tempfile.mkdtemp(prefix=f".{out.name}.", dir=out.parent))  # mode 0700
    try:
        keys, private = Keys(work), ec.generate_private_key(ec.SECP256R1())
        for part in ("public", "authority", "nodes"):
            (work / part).mkdir(mode=0o700)
        subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "discreet gossip network")])
        root = _builder(subject, subject, private.public_key(), private.public_key(), days, ca=True)
        _write(keys.authority, root.sign(private, hashes.SHA256()).public_bytes(serialization.Encoding.PEM))
        _write(keys.authority_key, _pem(private))
        for name in names:
            _issue(keys, name, days)
        os.rename(work, out)
    except BaseException:
        shutil.rmtree(work, ignore_errors=True)
        raise
    return Keys(out)


def add_keys(directory: Path, nodes: Sequence[str], *, days: int = 825) -> Keys:
    """Admit more nodes to a network whose authority is at hand."""
    keys, names = Keys(directory), checked_names(nodes)
    for path in (keys.authority, keys.authority_key):
        if not path.is_file():
            raise DiscreetError(f"there is no {path}: only the directory with the authority's key can admit nodes")
    for name in names:
        if keys.private(name).parent.exists():
            raise DiscreetError(f"node {name!r} has keys already: they are never overwritten")
    for name in names:
        _issue(keys, name, days)
    return keys


def _issue(keys: Keys, name: str, days: int) -> None:
    root = x509.load_pem_x509_certificate(keys.authority.read_bytes())
    signer: Any = serialization.load_pem_private_key(keys.authority_key.read_bytes(), None)
    private = ec.generate_private_key(ec.SECP256R1())
    subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])
    usage = [ExtendedKeyUsageOID.SERVER_AUTH, ExtendedKeyUsageOID.CLIENT_AUTH]
    leaf = (
        _builder(subject, root.subject, private.public_key(), signer.public_key(), days, ca=False)
        .add_extension(x509.SubjectAlternativeName([x509.DNSName(name)]), False)
        .add_extension(x509.ExtendedKeyUsage(usage), False)
    )
    keys.private(name).parent.mkdir(mode=0o700)
    _write(keys.certificate(name), leaf.sign(signer, hashes.SHA256()).public_bytes(serialization.Encoding.PEM))
    _write(keys.private(name), _pem(private))


def _builder(
    subject: x509.Name, issuer: x509.Name, public: Any, authority: Any, days: int, *, ca: bool
) -> x509.CertificateBuilder:
    now = datetime.now(UTC)
    usage = x509.KeyUsage(
        digital_signature=not ca, key_cert_sign=ca, crl_sign=ca, content_commitment=False, key_encipherment=False,
        data_encipherment=False, key_agreement=False, encipher_only=False, decipher_only=False,
    )  # fmt: skip
    return (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(issuer)
        .public_key(public)
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - timedelta(minutes=5))
        .not_valid_after(now + timedelta(days=days))
        .add_extension(x509.BasicConstraints(ca=ca, path_length=0 if ca else None), critical=True)
        .add_extension(usage, critical=True)
        .add_extension(x509.SubjectKeyIdentifier.from_public_key(public), critical=False)
        .add_extension(x509.AuthorityKeyIdentifier.from_issuer_public_key(authority), critical=False)
    )


def _pem(key: ec.EllipticCurvePrivateKey) -> bytes:
    return key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )


def _write(path: Path, content: bytes) -> None:
    handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    with os.fdopen(handle, "wb") as file:
        file.write(content)
        file.flush()
        os.fsync(file.fileno())
