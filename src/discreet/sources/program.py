"""Programs: columns of any type as plain arrays of integers and reals, by which the sweep codes and counts them."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.sources.columns import GONE, Codes, Column, Numbers, Points
from discreet.sources.sweep import (
    ADDRESS,
    BASE,
    CELLS,
    CHUNK,
    CUTS,
    EVEN,
    FACTOR,
    FIRST,
    FLOAT,
    GONE_AT,
    HALF,
    LAST,
    LATER,
    MANY,
    MIDDLE,
    MISSING,
    MOMENTS,
    POINTS,
    RULE,
    SAME,
    SIZE,
    SPOTS,
    STRIDE,
    TABLE,
    TILE,
    TOP,
    TURNED,
    TYPE,
    TYPES,
    WHOLE,
    compiled_sweep,
)

FEW_CUTS = 40
APART = 24  # values between scratch columns, lest all of them fall into the same places of the caches
LINE = 64  # bytes that memory hands over at a time
_NOTHING = np.empty(0, np.uint32)
_NONE = (
    _NOTHING, np.empty(0, np.int64), np.empty((0, 2, 0), np.int64), _NOTHING, np.empty((0, 0), np.uint32),
    np.empty((0, 0), np.int32),
)  # fmt: skip


class Program:
    """Columns as the sweep reads them; `cells[j]` is the number of codes of column j, bad values included.

    Codes from `feature.cells` on are bad values: one more cell for a categorical column, two for a number.
    """

    def __init__(self, columns: Sequence[Column], label: Codes | None = None, binned: bool = True) -> None:
        every = [label, *columns]
        self.whole = np.zeros((len(every), SPOTS + 1), np.int64)
        self.real = np.zeros((len(every), BASE + 1))
        self.whole[:, [MOMENTS, SPOTS]] = -1
        self.kept: list[NDArray[Any]] = []  # addresses are no references
        tables, first = [], 0
        for j, column in enumerate(every):
            if column is None:
                continue
            table = self._category(j, column) if isinstance(column, Codes) else self._number(j, column, binned)
            self.whole[j, FIRST] = first
            tables.append(table)
            first += len(table)
        self.tables = np.concatenate([_NOTHING, *tables])
        self.cells: list[int] = self.whole[1:, CELLS].tolist()
        self.fours = beside(self.whole)
        self.whole[self.fours, TURNED] = 1

    def want(self, j: int, moments: int, spots: int) -> None:
        """Add moments of a number to a row of `moments`, count its points from a place in `spots`; −1 for neither."""
        self.whole[j + 1, POINTS:] = max(moments, spots) >= 0, moments, spots

    def sweep(self, groups: Sequence[Sequence[int]], start: int, stop: int, joint: Any = None, firsts: Any = None,
              moments: Any = None, spots: Any = None, codes: Any = None, points: Any = None) -> None:  # fmt: skip
        """Go over the rows from `start` to before `stop` once; the columns of a group make one index of a row."""
        groups = [[-1], *groups] if self.whole[0, ADDRESS] else groups
        order, ends = np.concatenate(groups) + 1, np.cumsum([len(one) for one in groups])
        later = LATER if spots is not None and len(spots) else 0
        given = zip((joint, firsts, moments, spots, codes, points), _NONE, strict=True)
        places = (none if one is None else one for one, none in given)
        side = _aligned((len(self.whole) + 1, TILE + APART), np.int64)
        scratch = (
            _aligned((TILE,), np.uint32), _aligned((TILE,), np.uint32), _aligned((TILE,), np.int32),
            _aligned((len(self.whole), later), np.uint32),
        )  # fmt: skip
        scratch[0][:] = 0
        pieces = ahead(self.whole[order])
        sides = side, side.view(np.float64), side.ctypes.data, pieces
        fours = self.fours[np.isin(self.fours, order).any(axis=1)]
        run = compiled_sweep()
        run(self.whole, self.real, self.tables, order, ends, fours, start, stop, *scratch, *sides, *places)

    def codes(self, groups: Sequence[Sequence[int]], start: int, stop: int) -> NDArray[np.uint32]:
        """The index of each row in each group of columns: of every column in turn, index·cells + code."""
        found = np.empty((len(groups), stop - start), np.uint32)
        self.sweep(groups, start, stop, codes=found)
        return found

    def points(self, size: int) -> NDArray[np.int32]:
        """The lattice points of the only column, a number; half + 1 stands for missing, half + 2 for infinite."""
        found = np.empty((1, size), np.int32)
        self.whole[1, POINTS] = 1
        self.sweep([[0]], 0, size, points=found)
        return np.asarray(found[0])

    def _values(self, j: int, values: NDArray[Any]) -> None:
        self.kept.append(values)
        place = values.__array_interface__["data"][0]
        self.whole[j, [ADDRESS, STRIDE, TYPE]] = place, values.strides[0], TYPES[values.dtype.str[1:]]

    def _category(self, j: int, column: Codes) -> NDArray[np.uint32]:
        self._values(j, column.values)
        table, size, cells = column.table, len(column.table), column.feature.cells + 1
        plain, real = np.array_equal(table, np.arange(size)), column.values.dtype.kind == "f"
        rule = (WHOLE if real else SAME) if plain else FLOAT if real else TABLE
        self.whole[j, RULE : MISSING + 1] = rule, cells, column.low, size, column.unknown, column.missing
        return _NOTHING if plain else np.append(table, [column.unknown, column.missing]).astype(np.uint32)

    def _number(self, j: int, column: Numbers, binned: bool) -> NDArray[np.uint32]:
        self._values(j, column.values)
        feature, lattice = column.feature, column.feature.lattice
        cuts, half = feature.cuts if binned else (), lattice.half
        middle, inverse, lower, upper = lattice.middle, lattice.inverse, feature.lower, feature.upper
        if isinstance(column, Points):
            self.whole[j, GONE_AT] = GONE
            middle, inverse, lower, upper = 0.0, 1.0, -half, half
        # What is scaled rises with the value, so that clipping it at the scaled bounds is clipping the value.
        ends = max(-half, (lower - middle) * inverse), min(half, (upper - middle) * inverse)
        self.real[j, MIDDLE : TOP + 1] = middle, inverse, *ends
        self.whole[j, [HALF, LAST]] = half, len(cuts)
        even = even_bins(cuts, half)
        if even is not None:
            factor, base = even
            self.real[j, [FACTOR, BASE]] = factor / 2**32, (base + half * factor) / 2**32
            rule, table = EVEN, _NOTHING
        # Two more cuts turn the points that stand for missing and infinite into the cells after the last bin.
        elif len(cuts) + 2 <= FEW_CUTS:
            rule, table = CUTS, np.array([*cuts, half + 1, half + 2], np.int32).view(np.uint32)
        else:
            every = np.arange(-half, half + 3)
            rule, table = MANY, np.searchsorted([*cuts, half + 1, half + 2], every, side="right").astype(np.uint32)
        cells = len(cuts) + 3 + (feature.missing_code is not None)
        self.whole[j, [RULE, CELLS, SIZE]] = rule, cells, len(table)
        return table


def beside(whole: NDArray[np.int64]) -> NDArray[np.int64]:
    """Columns, four by four, that lie beside each other in memory, as in a matrix by rows; the last may overlap.

    Columns of eight bytes without gaps are left out, for they are read where they are.
    """
    widths = np.array([int(name[1]) for name in TYPES])[whole[:, TYPE]]
    spread = np.flatnonzero((whole[:, ADDRESS] != 0) & ((widths < 8) | (whole[:, STRIDE] != 8)))
    sorted_by = whole[spread][:, [ADDRESS, STRIDE, TYPE]].T
    runs: list[list[int]] = []
    for j in spread[np.lexsort(sorted_by)].tolist():
        last = runs[-1][-1] if runs else j
        near = whole[j, ADDRESS] == whole[last, ADDRESS] + widths[j]
        if near and (whole[j, [STRIDE, TYPE]] == whole[last, [STRIDE, TYPE]]).all():
            runs[-1].append(j)
        else:
            runs.append([j])
    found = [run[min(at, len(run) - 4) :][:4] for run in runs if len(run) >= 4 for at in range(0, len(run), 4)]
    return np.array(found, np.int64).reshape(-1, 4)


def _aligned(shape: tuple[int, ...], kind: Any) -> NDArray[Any]:
    """An array without values that begins with a line of the cache."""
    size = int(np.prod(shape)) * np.dtype(kind).itemsize
    whole = np.empty(size + LINE, np.uint8)
    first = -whole.ctypes.data % LINE
    return np.asarray(whole[first : first + size].view(kind).reshape(shape))


def ahead(whole: NDArray[np.int64]) -> NDArray[np.int64]:
    """The memory of columns in pieces of a line for each eight rows: at row r of a tile that begins with row t, a piece
    (address, stride, step) lies at address + t·stride + r·step.

    Columns that lie within one stride of each other share their lines; where most lines would not be theirs, as with
    one column of a wide matrix, there is no piece.
    """
    runs: dict[int, list[list[int]]] = {}  # by stride: where columns of the same rows begin, and how many they are
    for address, stride in sorted(whole[:, [ADDRESS, STRIDE]].tolist()):
        mine = runs.setdefault(stride, [])
        if mine and address < mine[-1][0] + stride:
            mine[-1][1] += 1
        else:
            mine.append([address, 1])
    found = [piece for stride, mine in runs.items() for run in mine for piece in _pieces(stride, *run)]
    return np.array(found, np.int64).reshape(-1, 3)


def _pieces(stride: int, start: int, many: int) -> list[tuple[int, int, int]]:
    width = LINE // CHUNK
    return [(start + at * TILE, stride, min(stride, width)) for at in range(0, stride, width) if stride <= many * LINE]


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
