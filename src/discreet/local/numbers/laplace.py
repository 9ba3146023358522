"""Laplace numbers: the point at the class's place of a vector of zeros, and noise on every coordinate."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.errors import BudgetError, DataError
from discreet.local.chances import local_epsilon
from discreet.local.entropy import Source
from discreet.local.geometric import SLACK, DiscreteLaplace
from discreet.local.numbers.base import (
    LARGEST_HALF,
    MOST_CLASSES,
    NumberMechanism,
    check_labels,
    check_points,
    class_sums,
    inside,
    joined,
    signed_bytes,
    signed_from,
    signed_width,
    split,
    split_sum,
    whole,
)
from discreet.local.numbers.kernels import laplace_numbers
from discreet.local.oracles.base import Floats, Integers, Raw, Reports

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
    def halves(self) -> tuple[Any, Any]:
        """The thresholds as words."""
        high, low = self.noise.halves()
        return high, low

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
        noisy = values + laplace_numbers(self.halves, len(values), rng)
        return np.asarray(np.clip(noisy, -self.limit, self.limit))

    def law(self, value: int) -> dict[int, Fraction]:
        """The exact chance of each output."""
        found: dict[int, Fraction] = dict.fromkeys(range(-self.limit, self.limit + 1), Fraction(0))
        for noise, chance in self.noise.chances().items():
            found[max(-self.limit, min(self.limit, value + noise))] += chance
        return found

    @cached_property
    def ratios(self) -> tuple[Fraction, Fraction]:
        """The largest ratio of one output's chances under two values, and of two outputs' when a value moves over.

        The second is for a class that changes: one coordinate goes from a value to 0 and another from 0 to a value.
        """
        laws = {t: self.law(t) for t in range(-self.half, self.half + 1)}
        found = {(a, b): max(laws[a][x] / laws[b][x] for x in laws[a]) for a in laws for b in laws}
        moved = max(found[a, 0] for a in laws) * max(found[0, b] for b in laws)
        return max(found.values()), moved

    def simulate(self, m: int, rng: np.random.Generator) -> int:
        """The sum of m draws of the ideal noise: the difference of two negative binomial numbers."""
        if not m:
            return 0
        success = -math.expm1(-1 / float(self.scale))
        return int(rng.negative_binomial(m, success)) - int(rng.negative_binomial(m, success))

    def constants(self) -> dict[str, Any]:
        """What a client needs."""
        return {"thresholds": [str(one) for one in self.noise.thresholds], "limit": str(self.limit)}


class LaplaceSampled(NumberMechanism):
    """One number per person: (0, …, point, …, 0) with the point at the class's place, every coordinate noisy.

    Two pairs (class, point) differ by at most 2·half in L1, in at most two coordinates.

    >>> mechanism = LaplaceSampled(2, 10, epsilon=1)
    >>> mechanism.perturb([0, 1, 1], [-10, 3, 10]).shape
    (3, 2)
    """

    name = "laplace"
    code = 16

    def _prepare(self) -> None:
        scale = 2 * self.half / (self.epsilon - SLACK * min(self.classes, 2))
        self.coordinate = Coordinate.of(self.half, scale)
        self.bytes = signed_width(self.coordinate.limit)
        self.width = self.bytes * self.classes

    def draw(self, label: int, point: int, source: Source) -> tuple[int, ...]:
        return tuple(self.coordinate.draw(point if c == label else 0, source) for c in range(self.classes))

    def perturb(self, labels: Any, points: Any, *, rng: np.random.Generator | None = None) -> Reports:
        label, point = self.check(labels, points)
        values = np.zeros((len(label), self.classes), np.int64)
        values[np.arange(len(label)), label] = point
        return self.coordinate.perturb(values.ravel(), rng).reshape(values.shape)

    def encode(self, reports: Reports) -> Raw:
        return signed_bytes(reports, self.bytes).reshape(len(reports), self.width)

    def decode(self, raw: Raw) -> tuple[Reports, NDArray[np.bool_]]:
        values = signed_from(raw.reshape(len(raw), self.classes, self.bytes))
        fine = np.asarray(inside(values, self.coordinate.limit).all(axis=1))
        return np.where(fine[:, None], values, 0), fine

    def law(self, label: int, point: int) -> dict[tuple[int, ...], Fraction]:
        laws = [self.coordinate.law(point if c == label else 0) for c in range(self.classes)]
        return {
            tuple(one for one, _ in row): math.prod((chance for _, chance in row), start=Fraction(1))
            for row in itertools.product(*(law.items() for law in laws))
        }

    @cached_property
    def worst(self) -> Fraction:
        """The largest ratio; coordinates are independent, so the largest ratios of two coordinates multiply."""
        return max(self.coordinate.ratios[: min(self.classes, 2)])

    def constants(self) -> dict[str, Any]:
        return {"half": str(self.half), "bytes": self.bytes, **self.coordinate.constants()}

    def support(self, reports: Reports) -> Integers:
        return split_sum(np.asarray(reports, np.int64).reshape(-1, self.classes))

    def estimate(self, support: Any, m: int) -> Floats:
        return np.array(joined(support), np.float64)

    def variance(self, m: int, label_share: float = 0.0, mean_square: float = 0.0) -> float:
        return m * self.coordinate.noise.variance

    def simulate(self, labels: Any, points: Any, rng: np.random.Generator) -> Integers:
        label, point = self.check(labels, points)
        sums = class_sums(label, point, self.classes)
        return split(total + self.coordinate.simulate(len(label), rng) for total in sums)


class LaplaceAll:
    """All numbers of a person at once: n vectors as in `LaplaceSampled`, each with n times the noise.

    `halves` holds the largest point of each number. Points, reports and sums have a row per person or number.

    >>> mechanism = LaplaceAll(2, (10, 100), epsilon=1)
    >>> mechanism.perturb([0, 1], [[-10, 3], [10, 100]]).shape
    (2, 4)
    """

    name = "laplace-all"
    code = 20

    def __init__(self, classes: int, halves: Sequence[int], epsilon: Any) -> None:
        self.classes = whole(classes, 1, MOST_CLASSES, "the number of classes")
        self.half = tuple(whole(half, 1, LARGEST_HALF, "the largest point") for half in halves)
        if not self.half:
            raise DataError("there are no numbers to report")
        self.epsilon, self.n = local_epsilon(epsilon), len(self.half)
        left = self.epsilon - SLACK * self.n * min(self.classes, 2)
        if left <= self.epsilon / 2:
            raise BudgetError(f"epsilon = {float(self.epsilon):g} is too small for {self.n} numbers at once")
        self.coordinates = tuple(Coordinate.of(half, 2 * self.n * half / left) for half in self.half)
        self.bytes = tuple(signed_width(one.limit) for one in self.coordinates)
        self.width = sum(self.bytes) * self.classes

    def draw(self, label: int, points: Sequence[int], source: Source) -> tuple[int, ...]:
        """One report: number by number, for each of them class by class."""
        rows = zip(self.coordinates, points, strict=True)
        return tuple(one.draw(t if c == label else 0, source) for one, t in rows for c in range(self.classes))

    def check(self, labels: Any, points: Any) -> tuple[Integers, Integers]:
        """Labels, and points with a row per person, or an error."""
        label = check_labels(labels, self.classes)
        array = np.asarray(points)
        if array.shape != (len(label), self.n):
            raise DataError(f"points must have a row of {self.n} numbers for each label")
        columns = [check_points(array[:, j], half, len(label)) for j, half in enumerate(self.half)]
        return label, np.stack(columns, axis=1)

    def perturb(self, labels: Any, points: Any, *, rng: np.random.Generator | None = None) -> Reports:
        """Reports of many people at once: n·classes whole numbers each."""
        label, point = self.check(labels, points)
        values = np.zeros((len(label), self.n, self.classes), np.int64)
        values[np.arange(len(label)), :, label] = point
        for j, one in enumerate(self.coordinates):
            values[:, j] = one.perturb(values[:, j].ravel(), rng).reshape(len(label), self.classes)
        return values.reshape(len(label), -1)

    def encode(self, reports: Reports) -> Raw:
        """Reports as bytes, `width` per person."""
        rows = np.asarray(reports, np.int64).reshape(len(reports), self.n, self.classes)
        parts = [signed_bytes(rows[:, j], size).reshape(len(rows), -1) for j, size in enumerate(self.bytes)]
        return np.concatenate(parts, axis=1)

    def packed(self, report: tuple[int, ...]) -> bytes:
        """What `draw` returned as `width` bytes."""
        return self.encode(np.array([report], np.int64)).tobytes()

    def decode(self, raw: Raw) -> tuple[Reports, NDArray[np.bool_]]:
        """Reports out of bytes, and which of them are well-formed."""
        ends = np.cumsum(np.array(self.bytes) * self.classes)[:-1]
        parts = [
            signed_from(part.reshape(len(raw), self.classes, size))
            for part, size in zip(np.split(raw, ends, axis=1), self.bytes, strict=True)
        ]
        fine = np.ones(len(raw), bool)
        for part, one in zip(parts, self.coordinates, strict=True):
            fine &= inside(part, one.limit).all(axis=1)
        return np.where(fine[:, None], np.concatenate(parts, axis=1), 0), fine

    @cached_property
    def worst(self) -> Fraction:
        """The largest ratio of one report's chances under any two (class, points), by enumeration."""
        kinds = zip(*(one.ratios for one in self.coordinates), strict=True)
        return max([math.prod(kind, start=Fraction(1)) for kind in kinds][: min(self.classes, 2)])

    def constants(self) -> dict[str, Any]:
        """What a client needs, number by number."""
        rows = zip(self.half, self.bytes, self.coordinates, strict=True)
        return {"numbers": [{"half": str(half), "bytes": size, **one.constants()} for half, size, one in rows]}

    def support(self, reports: Reports) -> Integers:
        """High and low parts of the sum of every coordinate."""
        return split_sum(np.asarray(reports, np.int64).reshape(-1, self.n * self.classes))

    def estimate(self, support: Any, m: int) -> Floats:
        """The unbiased sum of every number in every class: (numbers, classes)."""
        return np.array(joined(support), np.float64).reshape(self.n, self.classes)

    def aggregate(self, reports: Reports) -> Floats:
        """The unbiased sums among the people who sent the reports."""
        return self.estimate(self.support(reports), len(reports))

    def variance(self, m: int, label_share: float = 0.0, mean_square: float = 0.0) -> Floats:
        """For each number the variance of a class's sum."""
        return np.array([m * one.noise.variance for one in self.coordinates])

    def simulate(self, labels: Any, points: Any, rng: np.random.Generator) -> Integers:
        """The support of a whole population, drawn by the law of its sums."""
        label, point = self.check(labels, points)
        sums = []
        for j, one in enumerate(self.coordinates):
            sums += [s + one.simulate(len(label), rng) for s in class_sums(label, point[:, j], self.classes)]
        return split(sums)

    def __repr__(self) -> str:
        return f"LaplaceAll({self.classes}, {self.half}, epsilon={float(self.epsilon):g})"
