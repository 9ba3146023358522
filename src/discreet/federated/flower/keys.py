"""Keys of a federation: a certificate authority, the coordinator's certificate, and a key pair for each node."""

from __future__ import annotations

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

from cryptography import x509
from cryptography.exceptions import UnsupportedAlgorithm
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

from discreet.errors import DiscreetError

NAME = re.compile(r"^[A-Za-z0-9][A-Za-z0-9_.-]{0,62}$")


@dataclass(frozen=True)
class Keys:
    """The files of a directory of keys.

    `coordinator/` stays with the coordinator, `nodes/NAME/` goes to that node, `public/` to everybody.
    """

    directory: Path

    @property
    def authority(self) -> Path:
        """The certificate by which the coordinator is known."""
        return self.directory / "public" / "ca.pem"

    @property
    def certificate(self) -> Path:
        """The coordinator's certificate."""
        return self.directory / "coordinator" / "server.pem"

    @property
    def private(self) -> Path:
        """The coordinator's private key."""
        return self.directory / "coordinator" / "server.key"

    def node(self, name: str) -> Path:
        """A node's private key."""
        return self.directory / "nodes" / name / "node.key"

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

    def need(self, *paths: Path) -> None:
        """Raise unless these files are here; private ones must be closed to others."""
        for path in paths:
            if not path.is_file():
                raise DiscreetError(f"there is no key file {path}: make one by 'discreet federate keys'")
            if path.suffix == ".key" and path.stat().st_mode & 0o077:
                raise DiscreetError(f"others can read the private key {path}: close it by 'chmod 600 {path}'")


def node_names(names: Sequence[str]) -> list[str]:
    """The names of nodes, checked: letters, digits and . _ - only, each once."""
    for name in names:
        if not NAME.match(name):
            raise DiscreetError(f"{name!r} is no name for a node: use letters, digits, '.', '_' and '-'")
    if len(set(names)) != len(names) or not names:
        raise DiscreetError("each node needs a name of its own")
    return list(names)


def make_keys(out: Path, nodes: Sequence[str], hosts: Sequence[str] = (), *, days: int = 825) -> Keys:
    """Write all keys of a new federation, nodes' private ones included: for trial, or for one who may hold them."""
    names = node_names(nodes)
    with _whole(out) as keys:
        _certificates(keys, ["localhost", "127.0.0.1", "::1", *hosts], days)
        for name in names:
            _pair(keys, name)
    return Keys(out)


def make_node_keys(out: Path, name: str) -> Keys:
    """Write one node's key pair, at that node: its private key need never be anywhere else."""
    node_names([name])
    with _whole(out) as keys:
        _pair(keys, name)
    return Keys(out)


def make_coordinator_keys(out: Path, public: Sequence[Path], hosts: Sequence[str] = (), *, days: int = 825) -> Keys:
    """Write the coordinator's certificate and take in public keys that nodes have made; no private key of a node."""
    names = node_names([path.name.removesuffix(".pub") for path in public])
    lines = [_public_line(path) for path in public]
    if len(set(lines)) != len(lines):
        raise DiscreetError("two nodes have the same public key: each makes a pair of its own")
    with _whole(out) as keys:
        _certificates(keys, ["localhost", "127.0.0.1", "::1", *hosts], days)
        for name, line in zip(names, lines, strict=True):
            _write(keys.public(name), line + b"\n")
    return Keys(out)


@contextmanager
def _whole(out: Path) -> Iterator[Keys]:
    """A new directory of keys, written whole or not at all; an existing one is never touched."""
    if out.exists():
        raise DiscreetError(f"{out} is there already: keys are never overwritten, choose another --out")
    if not out.parent.is_dir():
        raise DiscreetError(f"there is no directory {out.parent}: make it first or choose another --out")
    work = Path(tempfile.mkdtemp(prefix=f".{out.name}.", dir=out.parent))  # mode 0700
    try:
        (work / "public").mkdir(mode=0o700)
        yield Keys(work)
        os.rename(work, out)
    except BaseException:
        shutil.rmtree(work, ignore_errors=True)
        raise


def _pair(keys: Keys, name: str) -> None:
    keys.node(name).parent.mkdir(mode=0o700, parents=True)
    keys.node(name).parent.parent.chmod(0o700)
    private = ec.generate_private_key(ec.SECP384R1())
    _write(keys.node(name), _openssh(private))
    _write(keys.public(name), _line(private.public_key()) + b"\n")


def _line(key: ec.EllipticCurvePublicKey) -> bytes:
    return key.public_bytes(serialization.Encoding.OpenSSH, serialization.PublicFormat.OpenSSH)


def _public_line(path: Path) -> bytes:
    """A public key out of a file, in the one way it is written here."""
    if not path.is_file():
        raise DiscreetError(f"there is no public key {path}: a node makes it by 'discreet federate keys --node NAME'")
    try:
        key = serialization.load_ssh_public_key(path.read_bytes())
    except (ValueError, UnsupportedAlgorithm):
        key = None
    if not isinstance(key, ec.EllipticCurvePublicKey):
        raise DiscreetError(f"{path} is no public key of a node")
    return _line(key)


def _openssh(key: ec.EllipticCurvePrivateKey) -> bytes:
    return key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.OpenSSH, serialization.NoEncryption()
    )


def _write(path: Path, content: bytes) -> None:
    handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    with os.fdopen(handle, "wb") as file:
        file.write(content)
        file.flush()
        os.fsync(file.fileno())


def _certificates(keys: Keys, hosts: Sequence[str], days: int) -> None:
    now = datetime.now(UTC)
    authority, server = ec.generate_private_key(ec.SECP384R1()), ec.generate_private_key(ec.SECP384R1())
    issuer = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "discreet federation")])
    subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "discreet coordinator")])

    def builder(name: x509.Name, key: ec.EllipticCurvePrivateKey, *, ca: bool) -> x509.CertificateBuilder:
        usage = x509.KeyUsage(
            digital_signature=not ca, key_cert_sign=ca, crl_sign=ca, content_commitment=False, key_encipherment=False,
            data_encipherment=False, key_agreement=False, encipher_only=False, decipher_only=False,
        )  # fmt: skip
        return (
            x509.CertificateBuilder()
            .subject_name(name)
            .issuer_name(issuer)
            .public_key(key.public_key())
            .serial_number(x509.random_serial_number())
            .not_valid_before(now - timedelta(minutes=5))
            .not_valid_after(now + timedelta(days=days))
            .add_extension(x509.BasicConstraints(ca=ca, path_length=0 if ca else None), critical=True)
            .add_extension(usage, critical=True)
            .add_extension(x509.SubjectKeyIdentifier.from_public_key(key.public_key()), critical=False)
            .add_extension(x509.AuthorityKeyIdentifier.from_issuer_public_key(authority.public_key()), critical=False)
        )

    root = builder(issuer, authority, ca=True).sign(authority, hashes.SHA384())
    leaf = (
        builder(subject, server, ca=False)
        .add_extension(x509.SubjectAlternativeName([_alternative(host) for host in dict.fromkeys(hosts)]), False)
        .add_extension(x509.ExtendedKeyUsage([ExtendedKeyUsageOID.SERVER_AUTH]), False)
        .sign(authority, hashes.SHA384())
    )
    keys.private.parent.mkdir(mode=0o700)
    # The authority's own private key is forgotten: nobody can make another certificate that these nodes would trust.
    _write(keys.authority, root.public_bytes(serialization.Encoding.PEM))
    _write(keys.certificate, leaf.public_bytes(serialization.Encoding.PEM))
    _write(
        keys.private,
        server.private_bytes(
            serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
        ),
    )


def _alternative(host: str) -> x509.GeneralName:
    try:
        return x509.IPAddress(ipaddress.ip_address(host))
    except ValueError:
        pass
    if not re.fullmatch(r"[A-Za-z0-9*]([A-Za-z0-9.-]{0,251}[A-Za-z0-9])?", host):
        raise DiscreetError(f"{host!r} is neither a host name nor an address")
    return x509.DNSName(host)
