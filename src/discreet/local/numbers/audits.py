"""What an audit needs of the number mechanisms: samplers of reports, and pairs (class, point) far apart."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.audit import AuditCase, Claim, Pair
from discreet.domain import exact
from discreet.local.numbers import NUMBERS, LaplaceAll, make_number
from discreet.local.numbers.laplace import Coordinate

CLASSES = 2
HALVES = {"laplace-all": (3, 8)}
HALF = (8,)
PAIRS = [
    Pair((0, -1), (0, 1), "a point moves from one bound to the other"),
    Pair((0, 1), (1, 1), "a point at a bound changes its class"),
    Pair((0, -1), (1, 1), "class and point change"),
]


@dataclass(frozen=True)
class Reports:
    """Many reports of one person, as a client draws them; the person is a class and a share −1 … 1 of the bound."""

    name: str
    epsilon: float

    @cached_property
    def mechanism(self) -> Any:
        """The mechanism at the claimed ε."""
        return make_number(self.name, CLASSES, HALVES.get(self.name, HALF), exact(self.epsilon))

    def sample(self, data: tuple[int, int], size: int, *, rng: np.random.Generator) -> NDArray[Any]:
        """Reports by the vectorised client; the randomness is the operating system's."""
        label, share = data
        halves = HALVES.get(self.name, HALF)
        points = np.tile(np.array(halves) * share, (size, 1))
        labels = np.full(size, label)
        one = isinstance(self.mechanism, LaplaceAll)
        return np.asarray(self.mechanism.perturb(labels, points if one else points[:, 0]), np.int64)


@dataclass(frozen=True)
class ClassInTheClear:
    """One noisy number beside the true class: the number is protected, whose it is not."""

    epsilon: float

    def sample(self, data: tuple[int, int], size: int, *, rng: np.random.Generator) -> NDArray[Any]:
        """The class as it is, and the point with enough noise for itself."""
        label, share = data
        noise = Coordinate.of(HALF[0], 2 * HALF[0] / exact(self.epsilon))
        return np.stack([np.full(size, label), noise.perturb(np.full(size, HALF[0] * share), rng)], axis=1)


@dataclass(frozen=True)
class HalfTheNoise:
    """Every coordinate noisy, but as if a point could only come or go: Lap(half/ε) where Lap(2·half/ε) is due."""

    epsilon: float

    def sample(self, data: tuple[int, int], size: int, *, rng: np.random.Generator) -> NDArray[Any]:
        """The length-K vector under too little noise."""
        label, share = data
        noise = Coordinate.of(HALF[0], HALF[0] / exact(self.epsilon))
        values = np.zeros((size, CLASSES), np.int64)
        values[:, label] = HALF[0] * share
        return noise.perturb(values.ravel(), rng).reshape(values.shape)


def _build(name: str) -> Callable[[float], Reports]:
    return lambda epsilon: Reports(name, epsilon)


def audit_cases() -> list[AuditCase]:
    """Every number mechanism on the extreme pairs, and two schemes that leave the class or the sign exposed."""
    sound = [
        AuditCase(
            name=f"local-number-{name}",
            claim=Claim(1.0),
            build=_build(name),
            pairs=lambda epsilon: PAIRS,
            adjacency="replace",
            note="one report about a class and a number",
            samples=40_000,
        )
        for name in NUMBERS
    ]
    broken: list[tuple[str, Callable[[float], Any], str]] = [
        ("class-in-the-clear", ClassInTheClear, "the class is sent beside a noisy number"),
        ("half-the-noise", HalfTheNoise, "noise for a point that comes or goes, not for one that changes"),
    ]
    return sound + [
        AuditCase(
            name=f"control-local-number-{name}",
            claim=Claim(1.0),
            build=build,
            pairs=lambda epsilon: PAIRS,
            adjacency="replace",
            control=True,
            note=note,
            samples=40_000,
        )
        for name, build, note in broken
    ]
