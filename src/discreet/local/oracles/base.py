"""The frequency oracle: a value of a public domain in, a randomised report out, counts estimated from many reports."""

from __future__ import annotations

from abc import ABC, abstractmethod
from fractions import Fraction
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from discreet.errors import DataError, SchemaError
from discreet.local.chances import local_epsilon
from discreet.local.entropy import Source

Reports = NDArray[Any]
Raw = NDArray[np.uint8]
Floats = NDArray[np.float64]
Integers = NDArray[np.int64]
LARGEST_DOMAIN = 1 << 20


class Oracle(ABC):
    """A mechanism for one value out of 0 … d − 1 that is ε-private for whoever sends the report.

    `p` is the exact chance that a report supports its true value, `q` that it supports any one other value. Reports
    are arrays of whole numbers with a row per person; `encode` and `decode` turn them into `width` bytes each.
    """

    name: ClassVar[str]
    code: ClassVar[int]
    parameter: int = 0  # what a report says about the oracle beside d and ε: θ in thousandths, for the one that has it
    p: Fraction
    q: Fraction
    width: int

    def __init__(self, d: int, epsilon: Any) -> None:
        if isinstance(d, bool) or not isinstance(d, int | np.integer) or not 2 <= d <= LARGEST_DOMAIN:
            raise SchemaError(f"the domain of an oracle has from 2 to {LARGEST_DOMAIN} values, not {d!r}")
        self.d, self.epsilon = int(d), local_epsilon(epsilon)
        self._prepare()

    @abstractmethod
    def _prepare(self) -> None:
        """Compute the thresholds, p, q and width from d and ε."""

    # ---- the person's side

    @abstractmethod
    def draw(self, value: int, source: Source) -> tuple[int, ...]:
        """One report, word by word: the definition that other languages follow. One row of what `perturb` returns."""

    @abstractmethod
    def perturb(self, values: Any, *, rng: np.random.Generator | None = None) -> Reports:
        """Reports of many people at once, from the operating system's randomness (or a seeded simulation)."""

    @abstractmethod
    def encode(self, reports: Reports) -> Raw:
        """Reports as bytes, `width` per person."""

    @abstractmethod
    def decode(self, raw: Raw) -> tuple[Reports, NDArray[np.bool_]]:
        """Reports out of bytes, and which of them are well-formed; the others are not to be counted."""

    @abstractmethod
    def law(self, value: int) -> dict[tuple[int, ...], Fraction]:
        """The exact probability of every report about a value; for small domains."""

    @abstractmethod
    def constants(self) -> dict[str, Any]:
        """Whole numbers (large ones as decimal text) that a client in another language needs to draw."""

    def packed(self, report: tuple[int, ...]) -> bytes:
        """What `draw` returned as `width` bytes."""
        return self.encode(np.array([report], np.int64)).tobytes()

    # ---- the collector's side

    @abstractmethod
    def support(self, reports: Reports) -> Integers:
        """For each value, what the reports say for it: an integer sum over reports."""

    def estimate(self, support: Any, m: int) -> Floats:
        """Unbiased counts out of the summed support of m reports."""
        slope = self.p - self.q
        return np.asarray((np.asarray(support, np.float64) - m * float(self.q)) / float(slope))

    def aggregate(self, reports: Reports) -> Floats:
        """Unbiased counts of each value among the people who sent the reports."""
        return self.estimate(self.support(reports), len(reports))

    def variance(self, m: int, frequency: float = 0.0) -> float:
        """The variance of a count estimated from m reports, if that share of the people has the value."""
        p, q, share = self.p, self.q, Fraction(frequency)
        return float(m * (q * (1 - q) / (p - q) ** 2 + share * (1 - p - q) / (p - q)))

    def simulate(self, counts: Any, rng: np.random.Generator) -> Integers:
        """The support of a population with these true counts, drawn by its law.

        Oracles override this where the law of the sum is known; here every person is drawn.
        """
        values = np.repeat(np.arange(self.d), np.asarray(counts))
        return self.support(self.perturb(values, rng=rng))

    # ---- what both share

    def check(self, values: Any) -> NDArray[np.int64]:
        """Values as an array of whole numbers inside the domain, or an error."""
        array = np.atleast_1d(np.asarray(values))
        if array.ndim != 1 or (array.size and array.dtype.kind not in "iu"):
            raise DataError("an oracle takes a one-dimensional array of whole numbers")
        if array.size and (int(array.min()) < 0 or int(array.max()) >= self.d):
            raise DataError(f"a value lies outside the oracle's domain 0 … {self.d - 1}")
        return array.astype(np.int64, copy=False)

    @cached_property
    def worst(self) -> Fraction:
        """The largest ratio of the chances of one report under two values, by enumeration; for small domains."""
        laws = [self.law(value) for value in range(self.d)]
        outputs = set().union(*laws)
        tops = [max(law.get(one, Fraction(0)) for law in laws) for one in outputs]
        lows = [min(law.get(one, Fraction(0)) for law in laws) for one in outputs]
        if min(lows) == 0:
            raise ValueError("a report is possible for one value and impossible for another")
        return max(top / low for top, low in zip(tops, lows, strict=True))

    def __repr__(self) -> str:
        return f"{type(self).__name__}(d={self.d}, epsilon={float(self.epsilon):g})"


def width_of(largest: int) -> int:
    """Bytes that hold whole numbers up to `largest`."""
    return max(1, -(-int(largest).bit_length() // 8))


def to_bytes(values: Any, width: int) -> Raw:
    """Whole numbers as little-endian bytes, `width` each (at most 8)."""
    wide = np.ascontiguousarray(values, dtype="<u8")
    return wide.view(np.uint8).reshape(*wide.shape, 8)[..., :width]


def from_bytes(raw: Raw) -> NDArray[np.uint64]:
    """Little-endian bytes along the last axis (at most 8) as whole numbers."""
    wide = np.zeros((*raw.shape[:-1], 8), np.uint8)
    wide[..., : raw.shape[-1]] = raw
    return wide.view("<u8")[..., 0]
