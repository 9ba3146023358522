"""A round: who takes part, how many must stay, and the digest that every signature and key is bound to."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property

from discreet.federated.secure import wire
from discreet.federated.secure.masks import LABEL
from discreet.federated.secure.shamir import Entropy
from discreet.federated.threshold import most_dropouts, threshold_for
from discreet.nodes.refusals import MessageError, RefusedError, SecureError
from discreet.nodes.signing import Signer, canonical, verified

MOST_NODES = 10_000
LONGEST = 1 << 26
IDENTITY = 32


@dataclass(frozen=True)
class Round:
    """One attempt to add up vectors of int64: all of it is public, and all of it is signed."""

    identity: bytes
    registry: Mapping[str, bytes]
    length: int
    colluding: int
    least_honest: int
    purpose: bytes = b""

    def __post_init__(self) -> None:
        count = len(self.registry)
        keys = {name: canonical(key) for name, key in sorted(self.registry.items())}
        object.__setattr__(self, "registry", keys)
        if len(self.identity) != IDENTITY:
            raise SecureError("a round is named by 32 random bytes")
        if not 2 <= count <= MOST_NODES or len(set(keys.values())) != count:
            raise SecureError(f"a round needs 2 to {MOST_NODES} nodes, each with a public key of its own")
        if not all(0 < len(name) <= 200 for name in keys):
            raise SecureError("a node's name has 1 to 200 characters")
        if not 1 <= self.length <= LONGEST:
            raise SecureError(f"a vector has 1 to {LONGEST} entries")
        if self.colluding < 0 or self.least_honest < 1 or len(self.purpose) > 1024:
            raise SecureError("a round tolerates 0 or more colluding nodes and needs at least one honest survivor")
        if self.least < 2 or max(self.least, self.threshold) > count:
            raise SecureError(
                f"{count} nodes cannot tolerate {self.colluding} colluding ones and keep {self.least_honest} honest "
                f"survivors: at least {max(self.least, self.threshold, 2)} nodes must stay"
            )

    @classmethod
    def open(
        cls,
        registry: Mapping[str, bytes],
        length: int,
        *,
        colluding: int = 0,
        dropouts: int = 0,
        purpose: bytes = b"",
        entropy: Entropy = os.urandom,
    ) -> Round:
        """A fresh round in which `dropouts` nodes may leave and `colluding` ones may work with the coordinator."""
        count = len(registry)
        most = most_dropouts(count, colluding)
        if not 0 <= dropouts <= most:
            raise SecureError(
                f"of {count} nodes with {colluding} colluding, 0 to {most} may drop out: more would let a "
                f"coordinator open two sums"
            )
        least = count - colluding - dropouts
        return cls(entropy(IDENTITY), registry, length, colluding, least, purpose)

    @property
    def nodes(self) -> tuple[str, ...]:
        """The registered nodes, in rising order of their names."""
        return tuple(self.registry)

    @property
    def threshold(self) -> int:
        """Shares that give a secret."""
        return threshold_for(len(self.registry), self.colluding)

    @property
    def least(self) -> int:
        """Nodes that must be in the sum: enough honest noise, and enough to open it."""
        return max(self.threshold, self.least_honest + self.colluding, 2)

    @property
    def refusals(self) -> int:
        """Signed abandonments after which no sum of this round can be opened, whatever colluding nodes do."""
        return len(self.registry) - self.threshold + 1 + self.colluding

    @cached_property
    def digest(self) -> bytes:
        """What names this round and all its terms."""
        return hashlib.sha256(LABEL + b"round" + self.to_bytes()).digest()

    def point(self, name: str) -> int:
        """The node's place in the secret sharing."""
        return self._places[name]

    @cached_property
    def _places(self) -> dict[str, int]:
        return {name: place for place, name in enumerate(self.registry, 1)}

    def to_bytes(self) -> bytes:
        """The round as an invitation."""
        numbers = [number.to_bytes(8, "little") for number in (self.length, self.colluding, self.least_honest)]
        return wire.encode("invite", self.identity, wire.pack_pairs(dict(self.registry)), *numbers, self.purpose)

    @classmethod
    def from_bytes(cls, invitation: bytes) -> Round:
        """The round that an invitation names; whether to take part is another question (see `accept`)."""
        identity, registry, length, colluding, least, purpose = wire.decode(invitation, "invite", 6)
        try:
            size, bad, good = (wire.number(part) for part in (length, colluding, least))
            found = cls(identity, wire.read_pairs(registry), size, bad, good, purpose)
        except MessageError:
            raise
        except SecureError as error:
            raise MessageError(f"the invitation makes no sense: {error}") from None
        if found.to_bytes() != invitation:
            raise MessageError("the invitation is not written the one way it may be")
        return found

    def signed(self, signer: Signer, kind: str, payload: bytes) -> bytes:
        """A signature of a payload, bound to this round and to the kind of statement."""
        return signer.sign(self._statement(kind, payload))

    def verified(self, name: str, kind: str, payload: bytes, signature: bytes) -> bool:
        """Whether a node made this statement in this round."""
        return name in self.registry and verified(self.registry[name], self._statement(kind, payload), signature)

    def _statement(self, kind: str, payload: bytes) -> bytes:
        return LABEL + wire.pack([kind.encode(), self.digest, payload])


def accept(
    invitation: bytes,
    *,
    registry: Mapping[str, bytes],
    length: int,
    least_honest: int,
    colluding: int,
    purpose: bytes,
) -> Round:
    """The round of an invitation, if it is on the terms that this node's own settings hold."""
    found = Round.from_bytes(invitation)
    known = {name: canonical(key) for name, key in registry.items()}
    if dict(found.registry) != known:
        raise RefusedError("the invitation lists other nodes or other public keys than those registered here")
    if (found.length, found.purpose) != (length, purpose):
        raise RefusedError("the invitation is for another schema, budget or noise than this node's plan")
    if found.least_honest != least_honest or found.colluding != colluding:
        raise RefusedError("the invitation counts on another number of honest or colluding nodes than this node's plan")
    return found


def abandoned(round_: Round, statements: Iterable[bytes]) -> bool:
    """Whether enough nodes have signed that they never answer this round: then no sum of it was or will be opened."""
    names = set()
    for statement in statements:
        name, signature = wire.decode(statement, "abandonment", 2)
        if round_.verified(wire.read_name(name), "abandonment", b"", signature):
            names.add(wire.read_name(name))
    return len(names) >= round_.refusals
