"""Laplace numbers: the point at the class's place of a vector of zeros, and noise on every coordinate."""

from __future__ import annotations

import itertools
import math
import operator
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any, ClassVar, Self

import numpy as np

from discreet.errors import BudgetError, DataError
from discreet.local.chances import local_epsilon
from discreet.local.entropy import Source
from discreet.local.geometric import SLACK, DiscreteLaplace
from discreet.local.mechanism import Floats, Law, Reports, independent
from discreet.local.numbers.base import (
    LARGEST_HALF,
    MOST_CLASSES,
    NUMBERS,
    NumberMechanism,
    check_points,
    class_parts,
    joined,
    split,
    split_sum,
    whole,
)
from discreet.local.oracles.base import whole_numbers
from discreet.local.wire.integers import Integers, Run

_TAIL = 28  # scales between the clamp and the largest noise: what is cut off is a share below 2⁻⁴⁰ of what is there
_WIDEST = 1 << 56


@dataclass(frozen=True)
class Coordinate:
    """One noisy coordinate: a whole number in −half … half plus discrete Laplace noise, clamped to ±limit.

    The clamp lies within reach of the noise from either end of the values, with `_TAIL` scales to spare, so that the
    mass it gathers is right up to a factor within exp(±SLACK), as every other output's is.
    """

    half: int
    scale: Fraction

    @classmethod
    def of(cls, half: int, scale: Fraction) -> Coordinate:
        """Check that the noise fits into 64 bits."""
        if scale >= _WIDEST:
            raise BudgetError("epsilon is too small for numbers of this size: noise would not fit into 64 bits")
        return cls(half, scale)

    @cached_property
    def noise(self) -> DiscreteLaplace:
        """The noise."""
        return DiscreteLaplace(self.scale)

    @cached_property
    def limit(self) -> int:
        """The largest output."""
        reach = self.noise.reach
        room = 2 * reach - 2 * self.half - math.ceil(_TAIL * self.scale) - 1
        if min(reach, room) < 1:
            raise BudgetError("epsilon is too large for Laplace noise on numbers")
        return self.half + min(reach, room)

    def draw(self, value: int, source: Source) -> int:
        """The noisy value."""
        return max(-self.limit, min(self.limit, value + self.noise.draw(source)))

    def perturb(self, values: Integers, rng: np.random.Generator | None) -> Integers:
        """Noisy values."""
        noise = np.empty(len(values), np.int64)
        self.noise.fill(noise, rng)
        return np.asarray(np.clip(values + noise, -self.limit, self.limit))

    def law(self, value: int) -> dict[int, Fraction]:
        """The exact chance of each output."""
        return self.noise.law(value, -self.limit, self.limit)

    @cached_property
    def ratios(self) -> tuple[Fraction, Fraction]:
        """The largest ratio of one output's chances under two values, and of two outputs' when a value moves over.

        The second is for a class that changes: one coordinate goes from a value to 0 and another from 0 to a value.
        """
        laws = {t: self.law(t) for t in range(-self.half, self.half + 1)}
        found = {(a, b): max(laws[a][x] / laws[b][x] for x in laws[a]) for a in laws for b in laws}
        moved = max(found[a, 0] for a in laws) * max(found[0, b] for b in laws)
        return max(found.values()), moved

    def constants(self) -> dict[str, Any]:
        """What a client needs."""
        return {"thresholds": [str(one) for one in self.noise.thresholds], "limit": str(self.limit)}


@NUMBERS.register
class LaplaceAll(NumberMechanism):
    """All numbers of a person at once: for each (0, …, point, …, 0) with the point at the class's place, all noisy.

    Two rows (class, points) differ by at most 2·half in L1 for each of the n numbers, in at most two coordinates, so
    each has n times the noise it would have alone. `halves` holds the largest point of each number. Points, reports
    and sums have a row per person or number.

    >>> mechanism = LaplaceAll(2, (10, 100), epsilon=1)
    >>> mechanism.perturb([0, 1], [[-10, 3], [10, 100]]).shape
    (2, 4)
    """

    name, code, script = "laplace-all", 20, "laplaceAll"
    literals: ClassVar[dict[str, str]] = {"SLACK": f"{SLACK.denominator}n", "TAIL_SCALES": f"{_TAIL}n"}
    at_once: ClassVar[bool] = True
    half: Any

    def __init__(self, classes: int, halves: Sequence[int], epsilon: Any) -> None:
        self.classes = whole(classes, 1, MOST_CLASSES, "the number of classes")
        self.half = self.halves = tuple(whole(half, 1, LARGEST_HALF, "the largest point") for half in halves)
        if not self.halves:
            raise DataError("there are no numbers to report")
        self.epsilon, self.n = local_epsilon(epsilon), len(self.halves)
        self._prepare()

    @classmethod
    def of(cls, classes: int, halves: Sequence[int], epsilon: Any) -> Self:
        return cls(classes, halves, epsilon)

    @classmethod
    def listed(cls) -> Iterable[Self]:
        # With noise for a small ε whole reports are too many; the ratios of single coordinates are not (`worst`).
        return [cls(1, (1, 1), 8), cls(1, (1, 2), 20), cls(2, (1,), 4)]

    def _prepare(self) -> None:
        left = self.epsilon - SLACK * self.n * min(self.classes, 2)
        if left <= self.epsilon / 2:
            raise BudgetError(f"epsilon = {float(self.epsilon):g} is too small for {self.n} numbers at once")
        self.coordinates = tuple(Coordinate.of(half, 2 * self.n * half / left) for half in self.halves)
        self.runs = tuple(Run(-one.limit, one.limit, self.classes) for one in self.coordinates)
        self.shape = (self.n * self.classes,)

    def draw(self, label: int, point: Any, source: Source) -> tuple[int, ...]:
        """One report: number by number, for each of them class by class."""
        rows = zip(self.coordinates, point, strict=True)
        return tuple(one.draw(t if c == label else 0, source) for one, t in rows for c in range(self.classes))

    def check(self, labels: Any, points: Any) -> tuple[Integers, Integers]:
        """Labels, and points with a row per person, or an error."""
        label = whole_numbers(labels, 0, self.classes - 1, "labels")
        array = np.asarray(points)
        if array.shape != (len(label), self.n):
            raise DataError(f"points must have a row of {self.n} numbers for each label")
        columns = [check_points(array[:, j], half, len(label)) for j, half in enumerate(self.halves)]
        return label, np.stack(columns, axis=1)

    def perturb(self, labels: Any, points: Any, *, rng: np.random.Generator | None = None) -> Reports:
        label, point = self.check(labels, points)
        values = np.zeros((len(label), self.n, self.classes), np.int64)
        values[np.arange(len(label)), :, label] = point
        for j, one in enumerate(self.coordinates):
            values[:, j] = one.perturb(values[:, j].ravel(), rng).reshape(len(label), self.classes)
        return values.reshape(len(label), *self.shape)

    def law(self, label: int, point: Any) -> Law:
        rows = zip(self.coordinates, point, strict=True)
        return independent(one.law(t if c == label else 0) for one, t in rows for c in range(self.classes))

    def laws(self) -> Iterable[Law]:
        points = list(itertools.product(*(range(-half, half + 1) for half in self.halves)))
        return (self.law(label, point) for label in range(self.classes) for point in points)

    @cached_property
    def worst(self) -> Fraction:
        """The largest ratio; coordinates are independent, so the largest ratios of single ones multiply."""
        kinds = zip(*(one.ratios for one in self.coordinates), strict=True)
        return max([math.prod(kind, start=Fraction(1)) for kind in kinds][: min(self.classes, 2)])

    def constants(self) -> dict[str, Any]:
        """What a client needs, number by number."""
        rows = zip(self.halves, self.runs, self.coordinates, strict=True)
        return {"numbers": [{"half": str(half), "bytes": run.each, **one.constants()} for half, run, one in rows]}

    def support(self, reports: Reports) -> Integers:
        """High and low parts of the sum of every coordinate."""
        return split_sum(np.asarray(reports, np.int64).reshape(-1, *self.shape))

    def estimate(self, support: Any, m: int) -> Floats:
        """The unbiased sum of every number in every class: (numbers, classes)."""
        return np.array(joined(support), np.float64).reshape(self.n, self.classes)

    def variance(self, m: int, label_share: float = 0.0, mean_square: float = 0.0) -> Any:
        return np.array([m * one.noise.variance for one in self.coordinates])

    def simulate(self, labels: Any, points: Any, rng: np.random.Generator) -> Integers:
        label, point = self.check(labels, points)
        sums: list[int] = []
        for j, one in enumerate(self.coordinates):
            exact = joined(class_parts(label, point[:, j], self.classes))
            sums += map(operator.add, exact, one.noise.total(len(label), self.classes, rng).tolist())
        return split(sums)


@NUMBERS.register
class LaplaceSampled(LaplaceAll):
    """One number per person, and what is said about all numbers at once said about that one alone.

    >>> mechanism = LaplaceSampled(2, 10, epsilon=1)
    >>> mechanism.perturb([0, 1, 1], [-10, 3, 10]).shape
    (3, 2)
    """

    name, code, script = "laplace", 16, "laplace"
    literals: ClassVar[dict[str, str]] = {}
    at_once: ClassVar[bool] = False

    def __init__(self, classes: int, half: int, epsilon: Any) -> None:
        super().__init__(classes, (half,), epsilon)
        (self.half,), (self.coordinate,) = self.halves, self.coordinates

    @classmethod
    def of(cls, classes: int, halves: Sequence[int], epsilon: Any) -> Self:
        return super(LaplaceAll, cls).of(classes, halves, epsilon)

    @classmethod
    def listed(cls) -> Iterable[Self]:
        return [cls(classes, 1, epsilon) for classes in (1, 2) for epsilon in (4, 20)]

    def draw(self, label: int, point: Any, source: Source) -> tuple[int, ...]:
        return super().draw(label, (point,), source)

    def check(self, labels: Any, points: Any) -> tuple[Integers, Integers]:
        return super().check(labels, check_points(points, self.half, np.size(labels))[:, None])

    def law(self, label: int, point: Any) -> Law:
        return super().law(label, point if isinstance(point, tuple) else (point,))

    def constants(self) -> dict[str, Any]:
        return dict(super().constants()["numbers"][0])

    def estimate(self, support: Any, m: int) -> Floats:
        return np.asarray(super().estimate(support, m)[0])

    def variance(self, m: int, label_share: float = 0.0, mean_square: float = 0.0) -> Any:
        return float(super().variance(m)[0])
