"""Long-term keys of nodes: whoever signs for a node, and whether a signature is that node's."""

from __future__ import annotations

from typing import Protocol

from cryptography.exceptions import InvalidSignature, UnsupportedAlgorithm
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey
from cryptography.hazmat.primitives.serialization import (
    Encoding,
    PublicFormat,
    load_der_public_key,
    load_pem_public_key,
    load_ssh_public_key,
)

from discreet.nodes.refusals import SecureError

_ECDSA = ec.ECDSA(hashes.SHA256())
PrivateKey = Ed25519PrivateKey | ec.EllipticCurvePrivateKey
PublicKey = Ed25519PublicKey | ec.EllipticCurvePublicKey


class Signer(Protocol):
    """Signs for one node with its long-term key, wherever that key lives."""

    @property
    def public(self) -> bytes:
        """The public key, as `public_bytes` writes it."""
        ...

    def sign(self, message: bytes) -> bytes:
        """A signature of the message."""
        ...


class KeySigner:
    """Signs with an Ed25519 key, or with the elliptic-curve key that Flower's node authentication uses."""

    def __init__(self, private: PrivateKey) -> None:
        self._private = private
        self.public = public_bytes(private.public_key())

    @classmethod
    def generate(cls) -> KeySigner:
        """A signer with a new Ed25519 key."""
        return cls(Ed25519PrivateKey.generate())

    def sign(self, message: bytes) -> bytes:
        """A signature of the message."""
        if isinstance(self._private, Ed25519PrivateKey):
            return self._private.sign(message)
        return self._private.sign(message, _ECDSA)


def public_bytes(key: PublicKey) -> bytes:
    """The canonical bytes of a public key (DER)."""
    return key.public_bytes(Encoding.DER, PublicFormat.SubjectPublicKeyInfo)


def _loaded(data: bytes) -> PublicKey:
    try:
        if data.startswith(b"-----"):
            key = load_pem_public_key(data)
        elif data.startswith((b"ssh-", b"ecdsa-")):
            key = load_ssh_public_key(data)
        else:
            key = load_der_public_key(data)
    except (ValueError, UnsupportedAlgorithm):
        raise SecureError("a registered public key cannot be read: give it as PEM, OpenSSH or DER") from None
    if not isinstance(key, Ed25519PublicKey | ec.EllipticCurvePublicKey):
        raise SecureError("a registered public key must be of Ed25519 or of an elliptic curve")
    return key


def canonical(data: bytes) -> bytes:
    """The canonical bytes of a public key written as PEM, OpenSSH or DER."""
    return public_bytes(_loaded(data))


def verified(public: bytes, message: bytes, signature: bytes) -> bool:
    """Whether the signature is of this message by the owner of this registered key."""
    return signed_by(_loaded(public), message, signature)


def signed_by(key: PublicKey, message: bytes, signature: bytes) -> bool:
    """Whether the signature is of this message by the owner of this key."""
    try:
        if isinstance(key, Ed25519PublicKey):
            key.verify(signature, message)
        else:
            key.verify(signature, message, _ECDSA)
    except InvalidSignature:
        return False
    return True
