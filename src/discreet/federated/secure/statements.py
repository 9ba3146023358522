"""What nodes and the coordinator both read and check: advertised keys, the view of a round, survivor sets."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from typing import NamedTuple

from discreet.federated.secure import wire
from discreet.federated.secure.masks import KEY, LABEL, SEALED
from discreet.federated.secure.round import Round
from discreet.nodes.refusals import AbortError, MessageError, TooFewNodesError


class Advert(NamedTuple):
    """The keys of one node for one round: masking, share encryption, and a commitment to its self-mask seed."""

    masking: bytes
    sharing: bytes
    commitment: bytes

    def to_bytes(self) -> bytes:
        """What the node signs."""
        return wire.pack([self.masking, self.sharing, self.commitment])

    @classmethod
    def from_bytes(cls, blob: bytes) -> Advert:
        """Three keys of 32 bytes."""
        parts = wire.unpack(blob, 3)
        if any(len(part) != KEY for part in parts):
            raise MessageError("an advertised key has a wrong length")
        return cls(*parts)


def read_advert(round_: Round, name: str, payload: bytes, signature: bytes) -> Advert:
    """A node's keys, if that node signed them for this round; a substituted key ends the round."""
    if name not in round_.registry:
        raise AbortError(f"{name!r} is not a registered node of this round")
    advert = Advert.from_bytes(payload)
    if not round_.verified(name, "keys", payload, signature):
        raise AbortError(f"the keys of {name!r} are not signed by its registered key: somebody changed them")
    return advert


def read_key_list(round_: Round, message: bytes) -> dict[str, Advert]:
    """All advertised keys, each checked against its node's registered key."""
    (blob,) = wire.decode(message, "key list", 1)
    pairs = {name: wire.unpack(entry, 2) for name, entry in wire.read_pairs(blob).items()}
    adverts = {name: read_advert(round_, name, *entry) for name, entry in pairs.items()}
    keys = [key for advert in adverts.values() for key in (advert.masking, advert.sharing)]
    if len(set(keys)) != len(keys):
        raise AbortError("two advertised keys are the same: one node copies another")
    enough(round_, adverts, "advertised keys")
    return adverts


def enough(round_: Round, names: object, what: str) -> None:
    """End the round where fewer nodes are left than must be in the sum."""
    count = len(names)  # type: ignore[arg-type]
    if count < round_.least:
        raise TooFewNodesError(
            f"only {count} nodes {what}, and {round_.least} are needed: fewer honest ones would be left than the "
            f"noise is sized for, or too few to open the sum"
        )


def view_of(key_list: bytes) -> bytes:
    """The digest of the keys that a node was shown."""
    return hashlib.sha256(LABEL + b"view" + key_list).digest()


def sealed_pairs(blob: bytes) -> Mapping[str, bytes]:
    """Encrypted shares by node."""
    pairs = wire.read_pairs(blob)
    if any(len(sealed) != SEALED for sealed in pairs.values()):
        raise MessageError("an encrypted share has a wrong length")
    return pairs


def bound(round_: Round, view: bytes, sender: str, recipient: str) -> bytes:
    """What is authenticated with an encrypted share: round, keys, sender and recipient."""
    return wire.pack([LABEL, round_.digest, view, sender.encode(), recipient.encode()])


def survivor_statement(view: bytes, sharing: tuple[str, ...], active: tuple[str, ...]) -> bytes:
    """What nodes sign: under these keys, of those who shared secrets, exactly these are in the sum."""
    return wire.pack([view, wire.pack_names(sharing), wire.pack_names(active)])
