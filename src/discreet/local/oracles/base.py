"""The frequency oracle: a value of a public domain in, a randomised report out, counts estimated from many reports."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Iterable
from fractions import Fraction
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from discreet.errors import DataError, DiscreetError, SchemaError
from discreet.local.bits import blockwise
from discreet.local.chances import local_epsilon
from discreet.local.entropy import Source, WordSource
from discreet.local.mechanism import Floats, Law, Mechanism, Reports
from discreet.local.registry import Kinds
from discreet.local.wire.integers import Integers, Raw, Run
from discreet.loops import kernel
from discreet.sources import BLOCK

LARGEST_DOMAIN = 1 << 20
TINY = 1e-300
_STRIPE = 512  # bytes: the histograms of a stripe fit the cache


class Oracle(Mechanism):
    """A mechanism for one value out of 0 … d − 1 that is ε-private for whoever sends the report.

    `p` is the exact chance that a report supports its true value, `q` that it supports any one other value. A new one
    is one module with a class that `ORACLES.register` decorates (docs/how-to-add/oracle.md).
    """

    takes_theta: ClassVar[bool] = False  # whether campaigns may set its threshold
    signs: ClassVar[bool] = False  # whether it may carry the sign of a number (see `numbers.OneBit`)
    batch: int = BLOCK  # people that are drawn together
    p: Fraction
    q: Fraction

    def __init__(self, d: int, epsilon: Any) -> None:
        if isinstance(d, bool) or not isinstance(d, int | np.integer) or not 2 <= d <= LARGEST_DOMAIN:
            raise SchemaError(f"the domain of an oracle has from 2 to {LARGEST_DOMAIN} values, not {d!r}")
        self.d, self.epsilon = int(d), local_epsilon(epsilon)
        self._prepare()

    @classmethod
    def of(cls, d: int, epsilon: Any, parameter: int = 0) -> Self:
        """The oracle that a report names by its parameter."""
        if parameter:
            raise DiscreetError(f"reports of {cls.name} have no parameter")
        return cls(d, epsilon)

    @classmethod
    def listed(cls) -> Iterable[Self]:
        return [cls(d, epsilon) for d in (2, 3, 4, 6) for epsilon in (0.01, 1, 5, 20)]

    @abstractmethod
    def _prepare(self) -> None:
        """Compute the thresholds, p, q and what a report looks like from d and ε."""

    def _choose(self, sizes: Iterable[int], prepare: Callable[[int], None]) -> None:
        """Prepare for the one of several sizes whose variance is lowest on average over the domain."""

        def mean_variance(size: int) -> float:
            prepare(size)
            return self.variance(1, 1 / self.d)

        prepare(min(sizes, key=mean_variance))

    # ---- the person's side

    @abstractmethod
    def draw(self, value: int, source: Source) -> tuple[int, ...]:
        """One report, word by word: the definition that other languages follow. One row of what `perturb` returns."""

    def perturb(self, values: Any, *, rng: np.random.Generator | None = None) -> Reports:
        """Reports of many people at once, from the operating system's randomness (or a seeded simulation)."""
        true = self.check(values)
        result = np.empty((len(true), *self.shape), self.dtype)
        blockwise(lambda rows: self.fill(true[rows], result[rows], rng), len(true), rng, self.batch)
        return result

    def fill(self, values: Integers, out: Reports, rng: np.random.Generator | None) -> None:
        """Reports about a block of values: person by person, unless an oracle has a faster loop of the same law."""
        source = WordSource(rng)
        for i, value in enumerate(values.tolist()):
            out[i] = np.reshape(self.draw(value, source), self.shape)

    @abstractmethod
    def law(self, value: int) -> Law:
        """The exact probability of every report about a value; for small domains."""

    def laws(self) -> Iterable[Law]:
        return (self.law(value) for value in range(self.d))

    # ---- the collector's side

    @abstractmethod
    def says(self, reports: Reports) -> NDArray[Any]:
        """What each report says for each value, above zero if it supports the value: a row per report."""

    def speaks(self) -> tuple[float, float]:
        """The chances that a report says more than zero for its true value, and, on average, for one of the others."""
        return float(self.p), float(self.q)

    def support(self, reports: Reports) -> Integers:
        """For each value, what the reports say for it: an integer sum over reports."""
        rows = self.rows(reports)
        parts = blockwise(lambda some: self.counted(rows[some]), len(rows), None)
        return np.asarray(sum(parts, start=np.zeros(self.d, np.int64)), np.int64)

    def counted(self, rows: Reports) -> Integers:
        """The support of one block of reports."""
        return np.asarray(self.says(rows).sum(axis=0, dtype=np.int64))

    def estimate(self, support: Any, m: int) -> Floats:
        """Unbiased counts out of the summed support of m reports."""
        slope = self.p - self.q
        return np.asarray((np.asarray(support, np.float64) - m * float(self.q)) / float(slope))

    def variance(self, m: int, frequency: float = 0.0) -> float:
        """The variance of a count estimated from m reports, if that share of the people has the value."""
        p, q, share = self.p, self.q, Fraction(frequency)
        return float(m * (q * (1 - q) / (p - q) ** 2 + share * (1 - p - q) / (p - q)))

    def together(self) -> tuple[Fraction, Fraction]:
        """The chances that a report supports two values at once: the true one and another, and two others.

        Here as if it answered for each value on its own.
        """
        return self.p * self.q, self.q**2

    def group_noise(self, size: int, share: float) -> float:
        """The variance, for one report, of the estimated count of `size` values that `share` of the people have."""
        p, q, (mine, rest) = self.p, self.q, self.together()
        other, own, slope = self.variance(1, 0.0), self.variance(1, 1.0), (p - q) ** 2
        with_own, between = float((mine - p * q) / slope), float((rest - q * q) / slope) if self.d > 2 else 0.0
        inside = own + (size - 1) * other + 2 * (size - 1) * with_own + (size - 1) * (size - 2) * between
        outside = size * other + size * (size - 1) * between
        return max(share * inside + (1 - share) * outside, TINY)

    def simulate(self, counts: Any, rng: np.random.Generator) -> Integers:
        """The support of a population with these true counts, drawn by its law.

        Oracles override this where the law of the sum is known; here every person is drawn.
        """
        values = np.repeat(np.arange(self.d), np.asarray(counts))
        return self.support(self.perturb(values, rng=rng))

    # ---- what both share

    def check(self, values: Any) -> Integers:
        """Values as an array of whole numbers inside the domain, or an error."""
        return whole_numbers(values, 0, self.d - 1, "values")

    def __repr__(self) -> str:
        return f"{type(self).__name__}(d={self.d}, epsilon={float(self.epsilon):g})"


class IndexOracle(Oracle):
    """An oracle that reports one number out of 0 … outcomes − 1."""

    shape = ()
    outcomes: int

    def _outcomes(self, count: int) -> None:
        self.outcomes, self.runs = count, (Run(0, count - 1),)
        self.dtype = np.dtype(f"u{self.width if self.width != 3 else 4}")

    def rows(self, reports: Reports) -> Reports:
        array = np.asarray(reports)
        if array.ndim != 1 or array.dtype.kind not in "iu" or (array.size and int(array.max()) >= self.outcomes):
            raise DataError(f"reports of {self!r} are whole numbers from 0 to {self.outcomes - 1}")
        return array

    def histogram(self, reports: Reports) -> Integers:
        """How often each number was reported."""
        return np.bincount(self.rows(reports), minlength=self.outcomes).astype(np.int64, copy=False)


@kernel
def byte_histogram(reports: Any, counts: Any) -> None:
    """How often each column of bytes has each of the 256 values."""
    for i in range(len(reports)):
        for j in range(reports.shape[1]):
            counts[j, reports[i, j]] += 1


class PackedOracle(Oracle):
    """An oracle that reports bits 0 … d − 1, eight to a byte; what is left of the last byte is zero."""

    dtype = np.dtype(np.uint8)

    def __init__(self, d: int, epsilon: Any) -> None:
        super().__init__(d, epsilon)
        self.shape = (-(-self.d // 8),)
        self.runs = (Run(0, 255, *self.shape),)

    def encode(self, reports: Reports) -> Raw:
        return self.rows(reports)

    def decode(self, raw: Raw) -> tuple[Reports, NDArray[np.bool_]]:
        reports = self.rows(raw)
        fine = self.possible(reports) & (reports[:, -1].astype(np.int16) >> (self.d - 1) % 8 + 1 == 0)
        return reports if fine.all() else np.where(fine[:, None], reports, np.uint8(0)), fine

    def says(self, reports: Reports) -> NDArray[Any]:
        return np.unpackbits(self.rows(reports), axis=1, count=self.d, bitorder="little")

    def support(self, reports: Reports) -> Integers:
        packed = self.rows(reports)
        counts = np.zeros((self.width, 8), np.int64)
        bits = (np.arange(256)[:, None] >> np.arange(8)) & 1
        for low in range(0, self.width, _STRIPE):
            stripe = packed[:, low : low + _STRIPE]

            def count(rows: slice, stripe: Raw = stripe) -> Integers:
                table = np.zeros((stripe.shape[1], 256), np.int64)
                byte_histogram(stripe[rows], table)
                return table

            for table in blockwise(count, len(packed), None, 1 << 20):
                counts[low : low + _STRIPE] += table @ bits
        return counts.ravel()[: self.d]

    def pack(self, bits: Any) -> tuple[int, ...]:
        """Bits, lowest first, as the bytes of a report."""
        return tuple(np.packbits(np.asarray(bits, np.uint8), bitorder="little").tolist())


def whole_numbers(values: Any, low: int, high: int, what: str) -> Integers:
    """A one-dimensional array of whole numbers inside a range, or an error."""
    array = np.atleast_1d(np.asarray(values))
    if array.ndim != 1 or (array.size and array.dtype.kind not in "iu"):
        raise DataError(f"{what} must be a one-dimensional array of whole numbers")
    if array.size and (int(array.min()) < low or int(array.max()) > high):
        raise DataError(f"one of the {what} lies outside {low} … {high}")
    return array.astype(np.int64, copy=False)


ORACLES: Kinds[Oracle] = Kinds("discreet.local.oracles")
