"""Directories of keys: written whole or not at all, closed to others, with certificates of one shape."""

from __future__ import annotations

import hashlib
import hmac
import ipaddress
import os
import re
import shutil
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import ClassVar, Self

from cryptography import x509
from cryptography.exceptions import UnsupportedAlgorithm
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import AttributeOID, NameOID

from discreet.errors import DiscreetError

DAYS = 825  # for which certificates hold
LOOPBACK = ("localhost", "127.0.0.1", "::1")


@dataclass(frozen=True)
class KeyDirectory:
    """The files that every directory of keys has: `public/` is for everybody, `nodes/NAME/` for that node alone."""

    command: ClassVar[str]
    name: ClassVar[re.Pattern[str]]
    letters: ClassVar[str]

    directory: Path

    @property
    def authority(self) -> Path:
        """The certificate by which others are known."""
        return self.directory / "public" / "ca.pem"

    def node(self, name: str) -> Path:
        """A node's private key."""
        return self.directory / "nodes" / name / "node.key"

    def need(self, *paths: Path) -> None:
        """Raise unless these files are here; private ones must be closed to others."""
        for path in paths:
            if not path.is_file():
                raise DiscreetError(f"there is no key file {path}: make one by 'discreet {self.command} keys'")
            if path.suffix == ".key" and path.stat().st_mode & 0o077:
                raise DiscreetError(f"others can read the private key {path}: close it by 'chmod 600 {path}'")

    @classmethod
    def checked(cls, names: Sequence[str]) -> list[str]:
        """Names for nodes, of the letters that are allowed, each once."""
        for name in names:
            if not cls.name.fullmatch(name):
                raise DiscreetError(f"{name!r} is no name for a node: use {cls.letters}")
        if len(set(names)) != len(names) or not names:
            raise DiscreetError("each node needs a name of its own")
        return list(names)

    @classmethod
    @contextmanager
    def new(cls, out: Path) -> Iterator[Self]:
        """A new directory of keys, written whole or not at all; an existing one is never touched."""
        if out.exists():
            raise DiscreetError(f"{out} is there already: keys are never overwritten, choose another --out")
        if not out.parent.is_dir():
            raise DiscreetError(f"there is no directory {out.parent}: make it first or choose another --out")
        work = Path(tempfile.mkdtemp(prefix=f".{out.name}.", dir=out.parent))  # mode 0700
        try:
            (work / "public").mkdir(mode=0o700)
            yield cls(work)
            os.rename(work, out)
        except BaseException:
            shutil.rmtree(work, ignore_errors=True)
            raise


def write_closed(path: Path, content: bytes) -> None:
    """Write a new file that nobody else can read, in a directory that nobody else can."""
    for place in (path.parent.parent, path.parent):
        place.mkdir(mode=0o700, exist_ok=True)
    handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    with os.fdopen(handle, "wb") as file:
        file.write(content)
        file.flush()
        os.fsync(file.fileno())


def private_pem(key: ec.EllipticCurvePrivateKey, form: serialization.PrivateFormat) -> bytes:
    """A private key as text."""
    return key.private_bytes(serialization.Encoding.PEM, form, serialization.NoEncryption())


def certificate(
    name: str,
    key: ec.EllipticCurvePrivateKey | ec.EllipticCurvePublicKey,
    issuer: str,
    signer: ec.EllipticCurvePrivateKey,
    days: int,
    *extensions: x509.ExtensionType,
) -> bytes:
    """The certificate of a name and key, in PEM; an authority signs its own, which has no further extensions."""
    ca, now = not extensions, datetime.now(UTC)
    public = key.public_key() if isinstance(key, ec.EllipticCurvePrivateKey) else key
    usage = x509.KeyUsage(
        digital_signature=not ca, key_cert_sign=ca, crl_sign=ca, content_commitment=False, key_encipherment=False,
        data_encipherment=False, key_agreement=False, encipher_only=False, decipher_only=False,
    )  # fmt: skip
    builder = (
        x509.CertificateBuilder()
        .subject_name(x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)]))
        .issuer_name(x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, issuer)]))
        .public_key(public)
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - timedelta(minutes=5))
        .not_valid_after(now + timedelta(days=days))
        .add_extension(x509.BasicConstraints(ca=ca, path_length=0 if ca else None), critical=True)
        .add_extension(usage, critical=True)
        .add_extension(x509.SubjectKeyIdentifier.from_public_key(public), critical=False)
        .add_extension(x509.AuthorityKeyIdentifier.from_issuer_public_key(signer.public_key()), critical=False)
    )
    for extension in extensions:
        builder = builder.add_extension(extension, critical=False)
    strength = hashes.SHA384() if signer.key_size > 256 else hashes.SHA256()
    return builder.sign(signer, strength).public_bytes(serialization.Encoding.PEM)


def make_request(private: ec.EllipticCurvePrivateKey, name: str, binding: str) -> bytes:
    """A request for a name, by whoever holds the key; it is signed over what it is bound to."""
    subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])
    builder = x509.CertificateSigningRequestBuilder().subject_name(subject)
    asked = builder.add_attribute(AttributeOID.CHALLENGE_PASSWORD, binding.encode()).sign(private, hashes.SHA256())
    return asked.public_bytes(serialization.Encoding.PEM)


def read_request(pem: bytes, name: str, binding: str) -> ec.EllipticCurvePublicKey:
    """The key of a request that proves that its sender holds it, for that name and bound to that."""
    try:
        asked = x509.load_pem_x509_csr(pem)
        (named,) = (str(one.value) for one in asked.subject.get_attributes_for_oid(NameOID.COMMON_NAME))
        bound = asked.attributes.get_attribute_for_oid(AttributeOID.CHALLENGE_PASSWORD).value
        public = asked.public_key()
        good = asked.is_signature_valid and named == name and hmac.compare_digest(bound, binding.encode())
    except (ValueError, TypeError, x509.AttributeNotFound, UnsupportedAlgorithm):
        good = False
    if not good or not isinstance(public, ec.EllipticCurvePublicKey):
        raise DiscreetError("this request does not prove that its sender holds the key: join again")
    return public


def key_digest(public: ec.EllipticCurvePublicKey) -> str:
    """The SHA-256 of a public key."""
    form = serialization.PublicFormat.SubjectPublicKeyInfo
    return hashlib.sha256(public.public_bytes(serialization.Encoding.DER, form)).hexdigest()


def only_authority(pem: bytes) -> x509.Certificate:
    """The one certificate in a text; one with more of them, or with anything else, is refused: all of it is trusted."""
    try:
        (held,) = x509.load_pem_x509_certificates(pem)
    except ValueError:
        raise DiscreetError("this is not the certificate of one authority") from None
    if held.public_bytes(serialization.Encoding.PEM).split() != pem.split():
        raise DiscreetError("this is not the certificate of one authority alone: there is more in it")
    return held


def authority_digest(pem: bytes) -> str:
    """The SHA-256 of an authority's certificate, by which whoever it signs for is known."""
    return only_authority(pem).fingerprint(hashes.SHA256()).hex()


def reached_at(hosts: Sequence[str]) -> x509.SubjectAlternativeName:
    """The names and addresses at which a server is reached, for its certificate."""
    return x509.SubjectAlternativeName([_alternative(host) for host in dict.fromkeys(hosts)])


def _alternative(host: str) -> x509.GeneralName:
    try:
        return x509.IPAddress(ipaddress.ip_address(host))
    except ValueError:
        pass
    if not re.fullmatch(r"[A-Za-z0-9*]([A-Za-z0-9.-]{0,251}[A-Za-z0-9])?", host):
        raise DiscreetError(f"{host!r} is neither a host name nor an address")
    return x509.DNSName(host)
