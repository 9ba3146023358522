"""Trimmed samples on an integer lattice: exact window statistics and the order statistics near the cuts."""

from __future__ import annotations

from abc import ABC, abstractmethod
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.errors import DataError
from discreet.loops import machine_code

IntArray = NDArray[np.int64]

# Squares of coordinates must fit comfortably in 64 bits, so that a block of them can be summed exactly.
MAX_HALF_RANGE = 1 << 30
_BLOCK = 1 << 16
_INT64_SAFE = 1 << 62
_COMPILED_FROM = 1 << 18
_OUTSIDE = "A lattice coordinate lies outside the public bounds; clip before releasing."


class TrimmedSample(ABC):
    """One class's lattice coordinates in [-R, R], `trim` rows cut from each end; all it knows is private.

    Order statistics are numbered from 1; a position below 1 stands for -R and one above `count` for +R.
    """

    __slots__ = ("count", "half_range", "trim")

    def __init__(self, count: int, trim: int, half_range: int) -> None:
        self.count = count
        self.trim = trim
        self.half_range = half_range

    @staticmethod
    def from_values(values: NDArray[Any], *, trim: int, half_range: int) -> TrimmedSample:
        """Select from raw coordinates in linear time, by counting where that is cheaper than partitioning."""
        _check(trim, half_range)
        array = np.asarray(values)
        if array.ndim != 1 or not np.issubdtype(array.dtype, np.integer):
            raise DataError("Lattice coordinates are a one-dimensional array of integers.")
        if np.issubdtype(array.dtype, np.unsignedinteger):
            array = array.astype(np.int64)
        if array.size > half_range:
            return _Counted(lattice_histogram(array, half_range=half_range), trim, half_range)
        _check_inside(array, half_range)
        return _Partitioned(array, trim, half_range)

    @staticmethod
    def from_histogram(counts: NDArray[Any], *, trim: int, half_range: int) -> TrimmedSample:
        """Read everything off the cell counts of the lattice -R..R: no sort, no selection."""
        _check(trim, half_range)
        array = np.asarray(counts)
        if array.shape != (2 * half_range + 1,) or not np.issubdtype(array.dtype, np.integer):
            raise DataError("A lattice histogram holds one integer count for each of the 2R+1 cells.")
        if int(array.min()) < 0:
            raise DataError("A lattice histogram cannot hold a negative count.")
        return _Counted(array.astype(np.int64, copy=False), trim, half_range)

    @staticmethod
    def from_squares(counts: NDArray[Any], *, trim: int, half_range: int) -> TrimmedSample:
        """Return the sample of the squares k² - R²/2, in [-R²/2, R²/2], of the coordinates k counted here."""
        plain = TrimmedSample.from_histogram(counts, trim=trim, half_range=half_range)
        if half_range % 2:
            raise DataError("Squares are centred on a lattice point only if the half range is even.")
        assert isinstance(plain, _Counted)
        reach = np.arange(half_range + 1, dtype=np.int64)
        folded = plain.cell_counts[half_range:].copy()
        folded[1:] += plain.cell_counts[:half_range][::-1]
        return _Counted(folded, trim, half_range**2 // 2, reach * reach - half_range**2 // 2)

    @property
    def kept(self) -> int:
        """Rows in the window; zero or less means that the window is empty."""
        return self.count - 2 * self.trim

    def mean(self) -> Fraction:
        """Return the exact mean of the window in lattice units; the midpoint 0 if the window is empty."""
        if self.kept < 1:
            return Fraction(0)
        return Fraction(self._total(), self.kept)

    def variance(self) -> Fraction:
        """Return the exact (1/N) variance of the window, squared lattice units; 0 if the window is empty."""
        if self.kept < 1:
            return Fraction(0)
        total, squares = self._moments()
        return Fraction(self.kept * squares - total * total, self.kept * self.kept)

    def order(self, position: int) -> int:
        """Return one order statistic, padded by the public bounds."""
        if position < 1:
            return -self.half_range
        if position > self.count:
            return self.half_range
        return self._order(position)

    def low_tail(self, start: int, reach: int) -> tuple[IntArray, IntArray]:
        """Distinct values at start, start-1, …, start-reach, each with the fewest steps that reach it."""
        ranks, values = self._distinct(max(start - reach, 1), min(start, self.count), falling=True)
        steps = start - ranks
        if start <= reach:
            steps = np.append(steps, start)
            values = np.append(values, -self.half_range)
        return steps, values

    def high_tail(self, start: int, reach: int) -> tuple[IntArray, IntArray]:
        """Distinct values at start, start+1, …, start+reach, each with the fewest steps that reach it."""
        ranks, values = self._distinct(max(start, 1), min(start + reach, self.count), falling=False)
        steps = ranks - start
        if self.count + 1 - start <= reach:
            steps = np.append(steps, self.count + 1 - start)
            values = np.append(values, self.half_range)
        return steps, values

    def _total(self) -> int:
        return self._moments()[0]

    @abstractmethod
    def _moments(self) -> tuple[int, int]: ...

    @abstractmethod
    def _order(self, position: int) -> int: ...

    @abstractmethod
    def _distinct(self, bottom: int, top: int, *, falling: bool) -> tuple[IntArray, IntArray]: ...


def lattice_histogram(values: NDArray[Any], *, half_range: int) -> IntArray:
    """Count how many coordinates sit on each point of the lattice -R..R."""
    cells = 2 * half_range + 1
    if values.size < _COMPILED_FROM:
        _check_inside(values, half_range)
        shifted = np.add(values, half_range, dtype=np.int64)
        return np.bincount(shifted, minlength=cells).astype(np.int64, copy=False)
    counts = np.zeros(cells, dtype=np.int64)
    if machine_code(_count)._count(values, half_range, counts):
        raise DataError(_OUTSIDE)
    return counts


def _count(values: NDArray[Any], half_range: int, counts: IntArray) -> bool:
    """Whether a coordinate lies outside; checking and counting in one pass halves the cost of the numpy route."""
    outside = 0
    for value in values:
        cell = value + half_range
        if 0 <= cell < counts.size:
            counts[cell] += 1
        else:
            outside += 1
    return outside > 0


def _check_inside(values: NDArray[Any], half_range: int) -> None:
    if values.size and (int(values.min()) < -half_range or int(values.max()) > half_range):
        raise DataError(_OUTSIDE)


def _check(trim: int, half_range: int) -> None:
    if trim < 0:
        raise DataError("The number of rows trimmed at each end cannot be negative.")
    if not 1 <= half_range <= MAX_HALF_RANGE:
        raise DataError(f"The half range must lie between 1 and {MAX_HALF_RANGE} lattice steps.")


class _Partitioned(TrimmedSample):
    """A sample selected by partitioning around the two cuts; only the ends are ever ordered."""

    __slots__ = ("_ranks", "_rows")

    def __init__(self, values: NDArray[Any], trim: int, half_range: int) -> None:
        super().__init__(int(values.size), trim, half_range)
        n = self.count
        # One rank on either side of each cut: the replace-one twin starts inside the window.
        ranks = sorted({k for k in (trim - 1, trim, n - trim - 1, n - trim) if 0 <= k < n})
        self._rows = np.partition(values, ranks) if ranks else values
        self._ranks = frozenset(ranks)

    def _moments(self) -> tuple[int, int]:
        window = self._rows[self.trim : self.count - self.trim]
        block = max(1, min(_BLOCK, _INT64_SAFE // self.half_range**2))
        total = squares = 0
        for first in range(0, window.size, block):
            part = window[first : first + block].astype(np.int64, copy=False)
            total += int(part.sum())
            squares += int(np.dot(part, part))
        return total, squares

    def _order(self, position: int) -> int:
        rank = position - 1
        return int((self._rows if rank in self._ranks else np.partition(self._rows, rank))[rank])

    def _distinct(self, bottom: int, top: int, *, falling: bool) -> tuple[IntArray, IntArray]:
        if bottom > top:
            return _nothing()
        end = self._rows[:top] if falling else self._rows[bottom - 1 :]
        if falling and bottom > 1:
            end = np.partition(end, bottom - 1)[bottom - 1 :]
        elif not falling and top < self.count:
            end = np.partition(end, top - bottom)[: top - bottom + 1]
        ordered = np.sort(end)[:: -1 if falling else 1].astype(np.int64, copy=False)
        first = _first_of_runs(ordered)
        return top - first if falling else bottom + first, ordered[first]


class _Counted(TrimmedSample):
    """A sample known by its cell counts; every rank is a lookup in their running sum."""

    __slots__ = ("_running", "_values", "cell_counts")

    def __init__(self, counts: IntArray, trim: int, half_range: int, values: IntArray | None = None) -> None:
        self.cell_counts = counts
        self._running: IntArray = np.cumsum(counts, dtype=np.int64)
        self._values = np.arange(-half_range, half_range + 1, dtype=np.int64) if values is None else values
        super().__init__(int(self._running[-1]), trim, half_range)

    def _window(self) -> tuple[IntArray, IntArray]:
        first, last = self._cell(self.trim + 1), self._cell(self.count - self.trim)
        kept = np.clip(self._running[first : last + 1], self.trim, self.count - self.trim)
        return np.diff(kept, prepend=self.trim), self._values[first : last + 1]

    def _total(self) -> int:
        if self.count * self.half_range >= _INT64_SAFE:
            return self._moments()[0]
        return int(np.dot(*self._window()))

    def _moments(self) -> tuple[int, int]:
        weights, values = self._window()
        if self.count * self.half_range**2 < _INT64_SAFE:
            weighted = weights * values
            return int(weighted.sum()), int(np.dot(weighted, values))
        used = np.flatnonzero(weights)
        pairs = list(zip(weights[used].tolist(), values[used].tolist(), strict=True))
        return sum(w * v for w, v in pairs), sum(w * v * v for w, v in pairs)

    def _cell(self, position: int) -> int:
        return int(np.searchsorted(self._running, position, side="left"))

    def _order(self, position: int) -> int:
        return int(self._values[self._cell(position)])

    def _distinct(self, bottom: int, top: int, *, falling: bool) -> tuple[IntArray, IntArray]:
        if bottom > top:
            return _nothing()
        first, last = self._cell(bottom), self._cell(top)
        cells = first + np.flatnonzero(self.cell_counts[first : last + 1])[:: -1 if falling else 1]
        before, through = self._running[cells] - self.cell_counts[cells], self._running[cells]
        return np.minimum(through, top) if falling else np.maximum(before + 1, bottom), self._values[cells]


def _nothing() -> tuple[IntArray, IntArray]:
    return np.empty(0, dtype=np.int64), np.empty(0, dtype=np.int64)


def _first_of_runs(ordered: IntArray) -> IntArray:
    change = np.empty(ordered.size, dtype=bool)
    change[:1] = True
    np.not_equal(ordered[1:], ordered[:-1], out=change[1:])
    return np.flatnonzero(change)
