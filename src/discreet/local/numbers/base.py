"""The number mechanism: a class and a bounded whole number in, a random report out, class sums from many reports."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable
from fractions import Fraction
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from discreet.errors import DataError, SchemaError
from discreet.local.chances import local_epsilon
from discreet.local.entropy import Source
from discreet.local.oracles.base import Floats, Integers, Raw, Reports, from_bytes, to_bytes

MOST_CLASSES = 1 << 16
LARGEST_HALF = 1 << 40
_LOW = 32  # bits: sums are kept as two integers, so that 2³¹ reports of 2⁶² cannot overflow


class NumberMechanism(ABC):
    """A mechanism for a pair (class, point), point in −half … half, that is ε-private for whoever sends the report.

    Any two pairs are neighbours: the class is as hidden as the number. `support` adds reports up and `estimate` turns
    the total into the sum of the points of each class, without bias. With one class it is a mechanism for plain
    numbers: `points` puts numbers from −1 … 1 on the lattice and `mean` estimates their mean.
    """

    name: ClassVar[str]
    code: ClassVar[int]
    width: int

    def __init__(self, classes: int, half: int, epsilon: Any) -> None:
        self.classes = whole(classes, 1, MOST_CLASSES, "the number of classes")
        self.half = whole(half, 1, LARGEST_HALF, "the largest point")
        self.epsilon = local_epsilon(epsilon)
        self._prepare()

    @abstractmethod
    def _prepare(self) -> None:
        """Compute the thresholds and the width from classes, half and ε."""

    # ---- the person's side

    @abstractmethod
    def draw(self, label: int, point: int, source: Source) -> tuple[int, ...]:
        """One report, word by word: the definition that other languages follow. One row of what `perturb` returns."""

    @abstractmethod
    def perturb(self, labels: Any, points: Any, *, rng: np.random.Generator | None = None) -> Reports:
        """Reports of many people at once, from the operating system's randomness (or a seeded simulation)."""

    @abstractmethod
    def encode(self, reports: Reports) -> Raw:
        """Reports as bytes, `width` per person."""

    @abstractmethod
    def decode(self, raw: Raw) -> tuple[Reports, NDArray[np.bool_]]:
        """Reports out of bytes, and which of them are well-formed; the others are not to be counted."""

    @abstractmethod
    def law(self, label: int, point: int) -> dict[tuple[int, ...], Fraction]:
        """The exact probability of every report about a pair; for a small half."""

    @abstractmethod
    def constants(self) -> dict[str, Any]:
        """Whole numbers (large ones as decimal text) that a client in another language needs to draw."""

    def packed(self, report: tuple[int, ...]) -> bytes:
        """What `draw` returned as `width` bytes."""
        return self.encode(np.array([report], np.int64)).tobytes()

    # ---- the collector's side

    @abstractmethod
    def support(self, reports: Reports) -> Integers:
        """An integer vector, additive over reports, from which `estimate` works."""

    @abstractmethod
    def estimate(self, support: Any, m: int) -> Floats:
        """For each class the unbiased sum of the points of its members among m reporters."""

    @abstractmethod
    def variance(self, m: int, label_share: float = 0.0, mean_square: float = 0.0) -> float:
        """The variance of a class's sum from m given people: its share of them and its members' mean squared point."""

    def simulate(self, labels: Any, points: Any, rng: np.random.Generator) -> Integers:
        """The support of a whole population, drawn by its law.

        Mechanisms override this where the law of the sum is known; here every person is drawn.
        """
        return self.support(self.perturb(labels, points, rng=rng))

    def aggregate(self, reports: Reports) -> Floats:
        """For each class the unbiased sum of the points of its members among the people who sent the reports."""
        return self.estimate(self.support(reports), len(reports))

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
        return check_labels(labels, self.classes), check_points(points, self.half, np.size(labels))

    @cached_property
    def worst(self) -> Fraction:
        """The largest ratio of the chances of one report under two pairs, by enumeration; for a small half."""
        pairs = [(label, t) for label in range(self.classes) for t in range(-self.half, self.half + 1)]
        return worst_ratio(self.law(label, t) for label, t in pairs)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.classes}, {self.half}, epsilon={float(self.epsilon):g})"


def worst_ratio(laws: Iterable[dict[Any, Fraction]]) -> Fraction:
    """The largest ratio of the chances of one outcome under two of the laws."""
    known = list(laws)
    outcomes = set().union(*known)
    if any(len(law) != len(outcomes) or min(law.values()) <= 0 for law in known):
        raise ValueError("a report is possible for one pair and impossible for another")
    return max(max(law[one] for law in known) / min(law[one] for law in known) for one in outcomes)


def whole(value: Any, least: int, most: int, what: str) -> int:
    """A whole number inside a range, or an error."""
    if isinstance(value, bool) or not isinstance(value, int | np.integer) or not least <= value <= most:
        raise SchemaError(f"{what} must be a whole number from {least} to {most}, not {value!r}")
    return int(value)


def check_labels(labels: Any, classes: int) -> Integers:
    """Class codes as an array, or an error."""
    array = np.atleast_1d(np.asarray(labels))
    if array.ndim != 1 or (array.size and array.dtype.kind not in "iu"):
        raise DataError("labels must be a one-dimensional array of whole numbers")
    if array.size and (int(array.min()) < 0 or int(array.max()) >= classes):
        raise DataError(f"a label lies outside 0 … {classes - 1}")
    return array.astype(np.int64, copy=False)


def check_points(points: Any, half: int, size: int) -> Integers:
    """Lattice points as an array with one for each label, or an error."""
    array = np.atleast_1d(np.asarray(points))
    if array.shape != (size,) or (array.size and array.dtype.kind not in "iu"):
        raise DataError("points must be whole numbers, one for each label")
    if array.size and (int(array.min()) < -half or int(array.max()) > half):
        raise DataError(f"a point lies outside -{half} … {half}")
    return array.astype(np.int64, copy=False)


# ---- signed numbers as bytes, and sums that cannot overflow


def signed_width(largest: int) -> int:
    """Bytes that hold whole numbers from −largest to largest in two's complement."""
    return int(largest).bit_length() // 8 + 1


def signed_bytes(values: Any, width: int) -> Raw:
    """Whole numbers in two's complement, little-endian, `width` bytes each."""
    return to_bytes(np.ascontiguousarray(values, np.int64).view(np.uint64), width)


def signed_from(raw: Raw) -> Integers:
    """Undo `signed_bytes` along the last axis."""
    shift = np.int64(64 - 8 * raw.shape[-1])
    return (from_bytes(raw).view(np.int64) << shift) >> shift


def inside(values: Integers, limit: int) -> NDArray[np.bool_]:
    """Which values lie in −limit … limit; the least of all 64-bit numbers has no absolute value."""
    return (values >= -limit) & (values <= limit)


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


def class_sums(labels: Integers, values: Integers, classes: int) -> list[int]:
    """The exact sum of the values of each class."""
    return joined(class_parts(labels, values, classes))
