"""The number mechanism: a class and a bounded whole number in, a random report out, class sums from many reports."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterable, Sequence
from typing import Any, ClassVar, Self

import numpy as np

from discreet.errors import DataError, SchemaError
from discreet.local.chances import local_epsilon
from discreet.local.entropy import Source
from discreet.local.mechanism import Law, Mechanism, Reports
from discreet.local.oracles.base import whole_numbers
from discreet.local.registry import Kinds
from discreet.local.wire.integers import Integers

MOST_CLASSES = 1 << 16
LARGEST_HALF = 1 << 40
_LOW = 32  # bits: sums are kept as two integers, so that 2³¹ reports of 2⁶² cannot overflow


class NumberMechanism(Mechanism):
    """A mechanism for a pair (class, point), point in −half … half, that is ε-private for whoever sends the report.

    Any two pairs are neighbours: the class is as hidden as the number. `support` adds reports up and `estimate` turns
    the total into the sum of the points of each class, without bias. With one class it is a mechanism for plain
    numbers: `points` puts numbers from −1 … 1 on the lattice and `mean` estimates their mean.
    """

    at_once: ClassVar[bool] = False  # whether one report is about all numbers of a person: points are then tuples
    half: int

    def __init__(self, classes: int, half: int, epsilon: Any) -> None:
        self.classes = whole(classes, 1, MOST_CLASSES, "the number of classes")
        self.half = whole(half, 1, LARGEST_HALF, "the largest point")
        self.epsilon = local_epsilon(epsilon)
        self._prepare()

    @classmethod
    def of(cls, classes: int, halves: Sequence[int], epsilon: Any) -> Self:
        """The mechanism for the only one of `halves`; for the whole list, where all are reported at once."""
        if len(halves) != 1:
            raise SchemaError(f"{cls.name} reports one number, not {len(halves)}")
        return cls(classes, halves[0], epsilon)

    @classmethod
    def listed(cls) -> Iterable[Self]:
        return [cls(classes, 3, epsilon) for classes in (1, 2, 3) for epsilon in ("0.1", "1", "4")]

    @abstractmethod
    def _prepare(self) -> None:
        """Compute the thresholds and what a report looks like from classes, half and ε."""

    # ---- the person's side

    @abstractmethod
    def draw(self, label: int, point: Any, source: Source) -> tuple[int, ...]:
        """One report, word by word: the definition that other languages follow. One row of what `perturb` returns."""

    @abstractmethod
    def perturb(self, labels: Any, points: Any, *, rng: np.random.Generator | None = None) -> Reports:
        """Reports of many people at once, from the operating system's randomness (or a seeded simulation)."""

    @abstractmethod
    def law(self, label: int, point: Any) -> Law:
        """The exact probability of every report about a pair; for a small half."""

    def laws(self) -> Iterable[Law]:
        return (self.law(label, t) for label in range(self.classes) for t in range(-self.half, self.half + 1))

    # ---- the collector's side

    @abstractmethod
    def variance(self, m: int, label_share: float = 0.0, mean_square: float = 0.0) -> Any:
        """The variance of a class's sum from m given people: its share of them and its members' mean squared point.

        Where all numbers are reported at once, one for each number.
        """

    def simulate(self, labels: Any, points: Any, rng: np.random.Generator) -> Integers:
        """The support of a whole population, drawn by its law.

        Mechanisms override this where the law of the sum is known; here every person is drawn.
        """
        return self.support(self.perturb(labels, points, rng=rng))

    def points(self, values: Any) -> Integers:
        """Lattice points of plain numbers in −1 … 1; what lies outside counts as the bound."""
        array = np.asarray(values, np.float64)
        if np.isnan(array).any():
            raise DataError("a number is missing: NaN has no place between -1 and 1")
        return np.rint(np.clip(array, -1.0, 1.0) * self.half).astype(np.int64)

    def mean(self, reports: Reports) -> float:
        """The unbiased mean, in −1 … 1 up to noise, of plain numbers reported with one class."""
        if self.classes != 1:
            raise DataError("a plain mean needs a mechanism with classes=1; with more, use aggregate")
        if not len(reports):
            raise DataError("there are no reports to take a mean of")
        return float(self.aggregate(reports)[0]) / (self.half * len(reports))

    # ---- what both share

    def check(self, labels: Any, points: Any) -> tuple[Integers, Integers]:
        """Labels and points as arrays of whole numbers inside their domains, or an error."""
        label = whole_numbers(labels, 0, self.classes - 1, "labels")
        return label, check_points(points, self.half, len(label))

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.classes}, {self.half}, epsilon={float(self.epsilon):g})"


NUMBERS: Kinds[NumberMechanism] = Kinds("discreet.local.numbers")


def whole(value: Any, least: int, most: int, what: str) -> int:
    """A whole number inside a range, or an error."""
    if isinstance(value, bool) or not isinstance(value, int | np.integer) or not least <= value <= most:
        raise SchemaError(f"{what} must be a whole number from {least} to {most}, not {value!r}")
    return int(value)


def check_points(points: Any, half: int, size: int) -> Integers:
    """Lattice points as an array with one for each label, or an error."""
    found = whole_numbers(points, -half, half, "points")
    if len(found) != size:
        raise DataError("points must be whole numbers, one for each label")
    return found


# ---- sums that cannot overflow


def split_sum(rows: Any) -> Integers:
    """Column sums as high and low parts, which stay additive and inside 64 bits: `joined` puts them together."""
    array = np.asarray(rows, np.int64)
    low = array & np.int64((1 << _LOW) - 1)
    return np.concatenate([(array >> np.int64(_LOW)).sum(axis=0), low.sum(axis=0)])


def split(values: Iterable[int]) -> Integers:
    """High and low parts of exact sums."""
    exact = [int(value) for value in values]
    return np.array([v >> _LOW for v in exact] + [v & ((1 << _LOW) - 1) for v in exact], np.int64)


def joined(support: Any) -> list[int]:
    """The exact sums that high and low parts stand for."""
    parts = [int(part) for part in np.asarray(support)]
    size = len(parts) // 2
    return [(high << _LOW) + low for high, low in zip(parts[:size], parts[size:], strict=True)]


def class_parts(labels: Integers, values: Integers, classes: int) -> Integers:
    """High and low parts of the sum of the values of each class, additive whatever the batches are."""
    parts = np.zeros((2, classes), np.int64)
    np.add.at(parts[0], labels, values >> np.int64(_LOW))
    np.add.at(parts[1], labels, values & np.int64((1 << _LOW) - 1))
    return parts.ravel()
