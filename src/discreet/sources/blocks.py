"""Blocks: rows cut into pieces that fit the cache, and the compiled coder of each column."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.schema import Numeric
from discreet.sources.columns import GONE, ODD, Codes, Column, Points
from discreet.sources.kernels import compiled

SMALL = 100_000
BLOCK = 1 << 16  # rows: few enough for the caches, many enough to make calls cheap
FEW_CUTS = 40


@dataclass(slots=True)
class Rows:
    """Some rows of a table, column by column, with their labels if they have any.

    Where some were left out, `read` says how many there were and `places` where these stood among them.
    """

    columns: list[Column]
    size: int
    label: Codes | None = None
    places: NDArray[np.int64] | None = None
    read: int | None = None

    def part(self, start: int, stop: int) -> Rows:
        """The rows from `start` to before `stop`."""

        return self._cut(slice(start, stop), stop - start, None if self.places is None else self.places[start:stop])

    def take(self, spots: NDArray[np.int64]) -> Rows:
        """The rows at some places."""
        return self._cut(spots, len(spots), spots if self.places is None else self.places[spots])

    def _cut(self, spots: Any, size: int, places: NDArray[np.int64] | None) -> Rows:
        def cut(column: Any) -> Any:
            return replace(column, values=column.values[spots])

        read = self.size if self.read is None else self.read
        return Rows([cut(c) for c in self.columns], size, cut(self.label) if self.label else None, places, read)

    def only(self, columns: Sequence[int]) -> Rows:
        """The same rows with some of their columns."""
        return replace(self, columns=[self.columns[j] for j in columns])


def workers() -> int:
    """How many threads this process may use; DISCREET_THREADS says so where several processes share the cores."""
    asked = os.environ.get("DISCREET_THREADS", "")
    if asked.isdigit() and int(asked):
        return int(asked)
    try:
        return max(1, len(os.sched_getaffinity(0)))
    except AttributeError:
        return os.cpu_count() or 1


def spans(size: int, block: int = BLOCK) -> list[Iterator[slice]]:
    """Rows cut into one run of blocks per thread."""
    threads = min(workers(), max(1, size // block))
    ends = np.linspace(0, size, threads + 1).astype(int)

    def run(start: int, stop: int) -> Iterator[slice]:
        for low in range(start, stop, block):
            yield slice(low, min(low + block, stop))

    return [run(int(a), int(b)) for a, b in pairwise(ends)]


class Reader:
    """Blocks of columns; the columns of a row-major matrix are untangled together, one visit per block."""

    def __init__(self, columns: list[NDArray[Any]]) -> None:
        self.columns, self.spots, self.own = columns, {}, threading.local()
        spread = [j for j, values in enumerate(columns) if len(values) > 1 and values.strides[0] > values.itemsize]
        if len(spread) < 2:
            return
        first = min((columns[j] for j in spread), key=_address)
        stride = first.strides[0]
        offsets: list[int] = []
        for j in spread:
            gap = _address(columns[j]) - _address(first)
            same = columns[j].dtype == first.dtype and columns[j].strides[0] == stride
            if same and gap < stride and gap % first.itemsize == 0:
                self.spots[j] = len(offsets)
                offsets.append(gap // first.itemsize)
        # The view ends at the last column that is really there, so it never reaches beyond the matrix.
        self.matrix = np.lib.stride_tricks.as_strided(
            first, (len(first), max(offsets) + 1), (stride, first.itemsize), writeable=False
        )
        self.offsets = np.array(offsets)

    def read(self, span: slice) -> list[NDArray[Any]]:
        """The rows in `span`, column by column."""
        if not self.spots:
            return [values[span] for values in self.columns]
        size = span.stop - span.start
        side = getattr(self.own, "side", None)  # one buffer per thread: fresh memory would cost more than the work
        if side is None or side.shape[1] < size:
            side = self.own.side = np.empty((len(self.offsets), size), self.matrix.dtype)
        side = side[:, :size]
        compiled().untangle(self.matrix[span], self.offsets, side)
        return [side[self.spots[j]] if j in self.spots else v[span] for j, v in enumerate(self.columns)]


def _address(values: NDArray[Any]) -> int:
    return int(values.__array_interface__["data"][0])


def in_threads(task: Callable[[Any], Any], parts: list[Any]) -> list[Any]:
    """Run a task on every part at once."""
    if len(parts) == 1:
        return [task(parts[0])]
    with ThreadPoolExecutor(len(parts)) as pool:
        return list(pool.map(task, parts))


class Coder:
    """Appends the codes of one column to the indices of a block: index ← index·cells + code.

    Codes from `feature.cells` on are bad values: one more cell for a categorical column, two for a number.
    """

    cells: int

    def index(self, values: NDArray[Any], index: NDArray[np.uint32], lattice: Any) -> None:
        """Append the codes of a block's values; a number also leaves its lattice points in `lattice`."""
        raise NotImplementedError


class _CategoryCoder(Coder):
    def __init__(self, column: Codes) -> None:
        self.cells = column.feature.cells + 1
        loops, table, low, size = compiled(), column.table, column.low, len(column.table)
        others = np.array([column.unknown, column.missing], table.dtype)
        self.arguments: tuple[Any, ...] = (size, np.concatenate([table, others]).astype(np.uint32), self.cells)
        plain = np.array_equal(table, np.arange(size))
        if column.values.dtype.kind == "f" and plain:
            self.loop = loops.index_whole
            self.arguments = (float(low), size, column.unknown, column.missing, self.cells)
        elif column.values.dtype.kind == "f":
            self.loop, self.arguments = loops.index_float, (float(low), *self.arguments)
        elif plain:
            self.loop, self.arguments = loops.index_same, (low, size, column.unknown, self.cells)
        else:
            self.loop, self.arguments = loops.index_table, (low, *self.arguments)

    def index(self, values: NDArray[Any], index: NDArray[np.uint32], lattice: Any) -> None:
        self.loop(values, *self.arguments, index)


class NumberCoder(Coder):
    """The coder of a number: its point, then its bin."""

    def __init__(self, feature: Numeric, binned: bool = True) -> None:
        lattice = feature.lattice
        cuts = feature.cuts if binned else ()
        self.cells = len(cuts) + 3 + (feature.missing_code is not None)
        self.shape = (feature.lower, feature.upper, lattice.middle, lattice.inverse, lattice.half)
        # Two more cuts turn the points that stand for missing and infinite into the cells after the last bin.
        self.cuts = np.array([*cuts, lattice.half + 1, lattice.half + 2], np.int32)
        self.even = even_bins(cuts, lattice.half)
        self.table: NDArray[np.uint32] | None = None
        if self.even is None and len(self.cuts) > FEW_CUTS:
            every = np.arange(-lattice.half, lattice.half + 3)
            self.table = np.searchsorted(self.cuts, every, side="right").astype(np.uint32)

    def index(self, values: NDArray[Any], index: NDArray[np.uint32], lattice: NDArray[np.int32]) -> None:
        compiled().points(values, *self.shape, lattice)
        self.place(lattice, index)

    def place(self, lattice: NDArray[np.int32], index: NDArray[np.uint32]) -> None:
        """Append the bins of lattice points; half + 1 stands for missing, half + 2 for infinite."""
        if self.even is not None:
            compiled().index_even(lattice, self.shape[-1], *self.even, len(self.cuts) - 2, self.cells, index)
        elif self.table is None:
            compiled().index_points(lattice, self.cuts, self.cells, index)
        else:
            compiled().index_many(lattice, self.shape[-1], self.table, self.cells, index)


def even_bins(cuts: Sequence[int], half: int) -> tuple[int, int] | None:
    """(factor, base) with which ((point + half)·factor + base) >> 32 is the number of cuts at or below a point.

    It grows with the point, so it is right up to the last cut if it passes each whole number just at its cut: then base
    is in the range below. Beyond that cut the caller stops it. None if no base is right, as for bins of unequal width.
    """
    spots = [cut + half for cut in cuts]
    if not spots:
        return 0, 0
    factor = round(Fraction((len(spots) + 1) << 32, 2 * half))
    least = max(0, *((k << 32) - spot * factor for k, spot in enumerate(spots, start=1)))
    most = min((k << 32) - (spot - 1) * factor - 1 for k, spot in enumerate(spots, start=1))
    return (factor, least) if least <= most else None


class _PointCoder(NumberCoder):
    def index(self, values: NDArray[Any], index: NDArray[np.uint32], lattice: NDArray[np.int32]) -> None:
        half = self.shape[-1]
        lattice[:] = np.where(values == GONE, half + 1, np.where(values == ODD, half + 2, values))
        self.place(lattice, index)


def coder(column: Column, binned: bool = True) -> Coder:
    """The compiled coder of a column; a number that is not binned is just present, missing or infinite."""
    if isinstance(column, Codes):
        return _CategoryCoder(column)
    return (_PointCoder if isinstance(column, Points) else NumberCoder)(column.feature, binned)
