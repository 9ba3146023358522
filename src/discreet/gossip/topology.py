"""Networks to simulate: who knows whom, when nodes wake, which messages are lost, and who crashes."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from numbers import Integral, Real

import numpy as np
from numpy.typing import NDArray

from discreet.errors import BudgetError

TOPOLOGIES = ("complete", "random-regular", "small-world", "ring")
CLOCKS = ("rounds", "free")
FOREVER = 1 << 60
Indices = NDArray[np.int64]


@dataclass(frozen=True)
class Turn:
    """One turn: who sends, in order, to whom, and how many turns later each message arrives (0: in this one)."""

    senders: Indices
    peers: Indices
    delays: Indices


@dataclass(frozen=True)
class Crash:
    """A node that is down from one turn to before another; the default is for good."""

    node: int
    start: int
    end: int = FOREVER


@dataclass(frozen=True)
class Network:
    """A network of `nodes` that each send one message per turn.

    Under the clock "rounds" all nodes send at the same moment; under "free" they wake one after the other, in a
    random order that is drawn anew for every turn, and each sees what the ones before it have sent. A message is lost
    with probability `loss` every time it is sent, and sent again every turn. A message that is on its way when its
    receiver crashes waits for the return; later ones are not sent, because the link is seen to be broken.
    """

    nodes: int
    topology: str = "complete"
    degree: int = 8
    rewired: float = 0.1
    clock: str = "rounds"
    loss: float = 0.0
    crashes: Sequence[Crash] = field(default=())

    def __post_init__(self) -> None:
        if isinstance(self.nodes, bool) or int(self.nodes) != self.nodes or self.nodes < 2:
            raise BudgetError(f"a gossip network has 2 nodes at least, not {self.nodes!r}")
        if self.topology not in TOPOLOGIES:
            raise BudgetError(f"topology must be one of {', '.join(TOPOLOGIES)}, not {self.topology!r}")
        if self.clock not in CLOCKS:
            raise BudgetError(f"clock must be one of {', '.join(CLOCKS)}, not {self.clock!r}")
        if not isinstance(self.loss, Real) or not 0 <= self.loss < 1:
            raise BudgetError(f"loss is the share of messages that are lost, from 0 to below 1, not {self.loss!r}")
        if not isinstance(self.degree, Integral) or self.degree < 2 or self.degree % 2:
            raise BudgetError(f"degree is an even number of neighbours, not {self.degree!r}")

    def neighbours(self, *, rng: np.random.Generator) -> Indices | None:
        """Each node's neighbours, a row for each node; None where everybody knows everybody."""
        if self.topology == "complete" or self.nodes <= 3:
            return None
        if self.topology == "small-world" and self.degree >= self.nodes:
            return None
        nodes = np.arange(self.nodes)
        if self.topology == "ring":
            return np.stack([np.roll(nodes, 1), np.roll(nodes, -1)], axis=1)
        if self.topology == "random-regular":
            # Some random cycles through all nodes on top of each other: regular, and connected by any one of them.
            result = np.empty((self.nodes, self.degree), np.int64)
            for turn in range(self.degree // 2):
                order = rng.permutation(self.nodes)
                result[order, 2 * turn], result[order, 2 * turn + 1] = np.roll(order, 1), np.roll(order, -1)
            return result
        near = np.concatenate([np.arange(1, self.degree // 2 + 1), -np.arange(1, self.degree // 2 + 1)])
        result = (nodes[:, None] + near) % self.nodes
        moved = rng.random(result.shape) < self.rewired
        far = rng.integers(0, self.nodes - 1, result.shape)
        far += far >= nodes[:, None]
        return np.asarray(np.where(moved, far, result))

    def turns(self, rounds: int, *, rng: np.random.Generator) -> Iterator[Turn]:
        """The turns of a run, one by one."""
        near = self.neighbours(rng=rng)
        everyone = np.arange(self.nodes)
        for turn in range(rounds):
            until = np.zeros(self.nodes, np.int64)  # how long each node is down from now
            for crash in self.crashes:
                if crash.start <= turn < crash.end:
                    until[crash.node] = max(until[crash.node], crash.end - turn)
            senders = everyone if self.clock == "rounds" else rng.permutation(self.nodes)
            senders = senders[until[senders] == 0]
            if near is None:
                peers = rng.integers(0, self.nodes - 1, len(senders))
                peers += peers >= senders
            else:
                peers = near[senders, rng.integers(0, near.shape[1], len(senders))]
            delays = until[peers]
            if self.crashes:  # a link to a node that went down earlier is known to be broken
                known = until > 0
                known[[crash.node for crash in self.crashes if crash.start == turn]] = False
                up = ~known[peers]
                senders, peers, delays = senders[up], peers[up], delays[up]
            if self.loss:
                delays = delays + rng.geometric(1 - self.loss, len(senders)) - 1
            yield Turn(senders, peers, delays)
