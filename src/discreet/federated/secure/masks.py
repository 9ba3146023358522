"""Masks and envelopes: what two nodes derive from their keys, as uniform words and as authenticated encryption."""

from __future__ import annotations

import hashlib

import numpy as np
from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey, X25519PublicKey
from cryptography.hazmat.primitives.ciphers import Cipher
from cryptography.hazmat.primitives.ciphers.aead import ChaCha20Poly1305
from cryptography.hazmat.primitives.ciphers.algorithms import ChaCha20
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.kdf.hkdf import HKDF
from numpy.typing import NDArray

from discreet.federated.secure.shamir import WIDTH
from discreet.federated.secure.wire import pack
from discreet.nodes.refusals import AbortError

Words = NDArray[np.uint64]
LABEL = b"discreet/secure-aggregation/1/"
KEY = 32
NONCE = 12
SEALED = NONCE + 2 * WIDTH + 16  # two shares and the tag


def public_of(private: bytes) -> bytes:
    """The X25519 public key of a private one."""
    return X25519PrivateKey.from_private_bytes(private).public_key().public_bytes_raw()


def agree(private: bytes, public: bytes, purpose: bytes, context: bytes, one: str, other: str) -> bytes:
    """The key that two nodes share for one purpose in one context, whoever of them asks."""
    try:
        secret = X25519PrivateKey.from_private_bytes(private).exchange(X25519PublicKey.from_public_bytes(public))
    except ValueError:
        raise AbortError(f"the public key of {other!r} is of low order or has a wrong length") from None
    names = pack([name.encode() for name in sorted((one, other))])
    return HKDF(SHA256(), KEY, salt=context, info=LABEL + pack([purpose, names])).derive(secret)


def expand(key: bytes, length: int) -> Words:
    """`length` pseudo-random words of 64 bits from a key that is used for nothing else."""
    stream = Cipher(ChaCha20(key, bytes(16)), mode=None).encryptor()
    return np.frombuffer(stream.update(bytes(8 * length)), dtype="<u8").astype(np.uint64)


def self_mask(seed: bytes, context: bytes, length: int) -> Words:
    """The mask that a node puts on its own vector."""
    return expand(HKDF(SHA256(), KEY, salt=context, info=LABEL + b"self mask").derive(seed), length)


def commitment(seed: bytes, context: bytes) -> bytes:
    """What a node publishes of its self-mask seed, so that a wrong reconstruction is noticed."""
    return hashlib.sha256(pack([LABEL + b"commitment", context, seed])).digest()


def seal(key: bytes, plain: bytes, bound: bytes, nonce: bytes) -> bytes:
    """Encrypt a message; `bound` is authenticated with it."""
    return nonce + ChaCha20Poly1305(key).encrypt(nonce, plain, bound)


def unseal(key: bytes, sealed: bytes, bound: bytes) -> bytes:
    """Decrypt, or raise if a bit was changed or the message was meant for another place."""
    try:
        return ChaCha20Poly1305(key).decrypt(sealed[:NONCE], sealed[NONCE:], bound)
    except InvalidTag:
        raise AbortError("an encrypted share was changed on its way or belongs to another round") from None
