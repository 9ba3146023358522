"""The pace of a gossip node: how it behaves in time."""

from __future__ import annotations

import math
from dataclasses import dataclass

from discreet.errors import DiscreetError


@dataclass(frozen=True)
class Pace:
    """How a node behaves in time; seconds, unless said otherwise.

    `tolerance` is the relative gap between estimates below which a node holds itself settled. A node sends one share
    per `beat` and ends when all `expected` members know that all are settled, or `linger` after it knows so itself.
    `chaos` is the share of messages, and of answers, to lose and to double: for rehearsals.
    """

    beat: float = 0.25
    tolerance: float = 1e-9
    expected: int = 2
    wait: float = 3600.0
    linger: float = 15.0
    timeout: float = 10.0
    slowest: float = 5.0
    largest: int = 16 << 20  # bytes of one message
    chaos: float = 0.0

    def __post_init__(self) -> None:
        for name in ("beat", "wait", "timeout", "slowest"):
            if not 0 < getattr(self, name) < math.inf:
                raise DiscreetError(f"{name} must be a number of seconds above zero, not {getattr(self, name)!r}")
        for name in ("tolerance", "linger"):
            if not 0 <= getattr(self, name) < math.inf:
                raise DiscreetError(f"{name} must be a number that is not negative, not {getattr(self, name)!r}")
        if not 0 <= self.chaos < 1 or self.expected < 2:
            raise DiscreetError("chaos is a share below 1, and a network has 2 members at least")
