"""Gossip as pure state machines: no clock, no socket and no dice; a peer that is chosen is passed in.

`PushSum` carries shares of a total from node to node so that nothing of it is ever lost or counted twice.
`Published` is the rule of Giaretta et al.'s Algorithms 4 and 5, which conserves nothing.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from discreet.nodes.refusals import ProtocolError

Floats = NDArray[np.float64]
WINDOW = 64  # messages to one peer that may wait for an acknowledgement
REACH = 1024  # how far beyond the last unbroken number a message is taken in
MEMORY = 6  # received estimates that a node compares with its own


@dataclass(frozen=True)
class PushShare:
    """A part of the total: whole numbers in units of the network's own, and the weight that belongs to them."""

    values: tuple[int, ...]
    weight: int

    def __add__(self, other: PushShare) -> PushShare:
        return PushShare(
            tuple(a + b for a, b in zip(self.values, other.values, strict=True)), self.weight + other.weight
        )

    def halves(self) -> tuple[PushShare, PushShare]:
        """Two shares that add up to this one exactly: the one to keep is rounded up, the one to send down."""
        sent = PushShare(tuple(value >> 1 for value in self.values), self.weight >> 1)
        kept = tuple(value - half for value, half in zip(self.values, sent.values, strict=True))
        return PushShare(kept, self.weight - sent.weight), sent

    @classmethod
    def nothing(cls, size: int) -> PushShare:
        """No share at all."""
        return cls((0,) * size, 0)

    def ratio(self) -> Floats:
        """Values by weight: what the holder takes for the average, in units of values per unit of weight."""
        return np.array([value / self.weight for value in self.values])


@dataclass(frozen=True)
class Message:
    """A share on its way. The number tells a copy from a new message: each link counts from 1."""

    sender: str
    receiver: str
    number: int
    share: PushShare


@dataclass(frozen=True)
class Ack:
    """All numbers that a receiver has taken in from one sender: up to `through`, and those in `beyond`.

    A receiver that is `closed` will never take in any other.
    """

    through: int
    beyond: tuple[int, ...] = ()
    closed: bool = False

    def covers(self, number: int) -> bool:
        """Whether the message of this number was taken in."""
        return number <= self.through or number in self.beyond


@dataclass
class Incoming:
    """What is remembered of one sender's messages."""

    through: int = 0
    beyond: set[int] = field(default_factory=set)

    def has(self, number: int) -> bool:
        """Whether a number was noted."""
        return number <= self.through or number in self.beyond

    def note(self, number: int) -> None:
        """Note a number."""
        self.beyond.add(number)
        while self.through + 1 in self.beyond:
            self.through += 1
            self.beyond.remove(self.through)


@dataclass
class Outgoing:
    """Messages to one receiver that wait to be acknowledged, by number."""

    last: int = 0
    pending: dict[int, PushShare] = field(default_factory=dict)


class PushSum:
    """One node of push-sum over links that may lose, double and reorder messages.

    The state is `own`, `incoming`, `outgoing` and `closed`. A driver writes it to disk after every call and before
    anything that the call returned leaves the node; a node that comes back from a crash with the state last written
    then goes on as if nothing had happened.
    """

    def __init__(self, node: str, own: PushShare) -> None:
        if own.weight < 0 or not own.values:
            raise ProtocolError("a node starts with values and a weight that is not negative")
        self.node = node
        self.own = own
        self.incoming: dict[str, Incoming] = {}
        self.outgoing: dict[str, Outgoing] = {}
        self.closed = False
        self.heard: deque[Floats] = deque(maxlen=MEMORY)

    # ---- sending

    def waiting(self, peer: str) -> list[Message]:
        """Messages to a peer that it has not acknowledged: to be sent again, as they are, until it does."""
        link = self.outgoing.get(peer)
        if link is None:
            return []
        return [Message(self.node, peer, number, share) for number, share in link.pending.items()]

    def may_send(self, peer: str) -> bool:
        """Whether there is room for one more message to a peer."""
        link = self.outgoing.get(peer)
        return peer != self.node and not self.closed and (link is None or len(link.pending) < WINDOW)

    def send(self, peer: str) -> Message:
        """Halve the own share and put one half on its way to a peer."""
        if not self.may_send(peer):
            raise ProtocolError(f"node {self.node} cannot send to {peer} now")
        self.own, sent = self.own.halves()
        return self._post(peer, sent)

    def _post(self, peer: str, share: PushShare) -> Message:
        link = self.outgoing.setdefault(peer, Outgoing())
        link.last += 1
        link.pending[link.last] = share
        return Message(self.node, peer, link.last, share)

    def acknowledged(self, peer: str, ack: Ack) -> None:
        """Forget what a peer has taken in; what a closed peer has not and never will comes back."""
        link = self.outgoing.get(peer)
        if link is None:
            return
        if ack.through > link.last or any(number > link.last for number in ack.beyond):
            raise ProtocolError(f"{peer} acknowledges messages that were never sent")
        for number in list(link.pending):
            if ack.covers(number):
                del link.pending[number]
            elif ack.closed:
                self.own += link.pending.pop(number)

    # ---- receiving

    def check(self, message: Message, most: PushShare | None = None) -> bool:
        """Whether a message is new; one that cannot be, or would bring more here than `most`, is refused.

        No honest share is: what all members hold together never changes, and no part of it is larger.
        """
        if message.receiver != self.node or message.sender == self.node:
            raise ProtocolError(f"this message is not for node {self.node}")
        share = message.share
        if len(share.values) != len(self.own.values) or share.weight < 0 or message.number < 1:
            raise ProtocolError(f"{message.sender} sent a share of another shape")
        link = self.incoming.get(message.sender, Incoming())
        if self.closed or message.number > link.through + REACH or link.has(message.number):
            return False
        if most is not None:
            after = self.own + share
            fits = all(abs(value) <= limit for value, limit in zip(after.values, most.values, strict=True))
            if after.weight > most.weight or not fits:
                raise ProtocolError(f"{message.sender} sent more than all members together can have")
        return True

    def receive(self, message: Message, most: PushShare | None = None) -> Ack:
        """Take a message in, once however often it comes, and say what has been taken in so far."""
        if self.check(message, most):
            self.incoming.setdefault(message.sender, Incoming()).note(message.number)
            self.own += message.share
            if message.share.weight:
                self.heard.append(message.share.ratio())
        return self.acknowledgement(message.sender)

    def acknowledgement(self, peer: str) -> Ack:
        """What has been taken in from a peer."""
        link = self.incoming.get(peer, Incoming())
        return Ack(link.through, tuple(sorted(link.beyond)), self.closed)

    # ---- leaving

    def close(self) -> None:
        """Take in nothing new from now on, for good: the first step of leaving."""
        self.closed = True

    def hand_over(self, peer: str) -> Message | None:
        """Put all that is left of the own share on its way to a peer; None if nothing is left."""
        if not self.closed:
            raise ProtocolError("a node closes before it hands its share over")
        if not self.own.weight and not any(self.own.values):
            return None
        gone, self.own = self.own, PushShare.nothing(len(self.own.values))
        return self._post(peer, gone)

    @property
    def empty(self) -> bool:
        """Whether nothing of the total is here or may come back: a leaver may go."""
        here = self.own.weight or any(self.own.values)
        return not here and not any(link.pending for link in self.outgoing.values())

    # ---- what a node knows

    def estimate(self) -> Floats | None:
        """Values by weight; None while this node has no weight."""
        return self.own.ratio() if self.own.weight else None

    def spread(self, floor: float | Floats) -> float:
        """The largest gap between the own and a recently received estimate, relative to it; infinite at first.

        `floor` is what counts as a small value: gaps in values below it are relative to it instead.
        """
        return float("inf") if len(self.heard) < MEMORY else self.gap(floor)

    def gap(self, floor: float | Floats) -> float:
        """The same over whatever was received of late, if only one estimate or none at all."""
        own = self.estimate()
        if own is None:
            return float("inf")
        size = np.maximum(np.abs(own), floor)
        return max((float((np.abs(other - own) / size).max()) for other in self.heard), default=0.0)


@dataclass(frozen=True)
class PublishedEstimate:
    """An estimate of the published rule: a step counter and values."""

    steps: int
    values: Floats


def merged(before: PublishedEstimate, last: PublishedEstimate, local: Floats) -> PublishedEstimate:
    """Algorithm 4: the last two estimates received and the local update, weighted by their step counters."""
    total = before.steps + last.steps + 1
    values = (before.steps / total) * before.values + (last.steps / total) * last.values + local / total
    return PublishedEstimate(last.steps + 1, values)


class Published:
    """Algorithm 5 as printed: merge the last two received estimates with the own update, and send the result.

    Messages may be lost, doubled and reordered at will, because nothing is conserved anyway: an update counts as
    often as estimates that met it happen to be merged.
    """

    def __init__(self, node: str, local: Sequence[float] | Floats) -> None:
        self.node = node
        self.local = np.asarray(local, dtype=np.float64)
        zero = PublishedEstimate(0, np.zeros(len(self.local)))
        self.before, self.last = zero, zero
        self.current = merged(zero, zero, self.local)

    def step(self) -> PublishedEstimate:
        """One iteration: the new estimate, which goes to a random peer."""
        self.current = merged(self.before, self.last, self.local)
        return self.current

    def receive(self, estimate: PublishedEstimate) -> None:
        """Note an estimate: it is now the last, and the last is the one before."""
        if estimate.steps < 0 or estimate.values.shape != self.local.shape or not np.isfinite(estimate.values).all():
            raise ProtocolError("an estimate of another shape came in")
        self.before, self.last = self.last, estimate

    def estimate(self) -> Floats:
        """What this node takes for the average update."""
        return self.current.values

    def spread(self, floor: float | Floats) -> float:
        """The larger gap between the own and the last two received estimates, relative to the own."""
        if not self.before.steps:
            return float("inf")
        size = np.maximum(np.abs(self.current.values), floor)
        gaps = (np.abs(other.values - self.current.values) / size for other in (self.before, self.last))
        return max(float(gap.max()) for gap in gaps)
