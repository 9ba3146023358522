"""The sweep: one pass of machine code over columns of any type and stride, which codes, counts and adds up.

Rows are taken a tile at a time, so that what is made of them stays in a core's own caches: each value is read from
memory once and no code is written there. A column is a row of plain arrays (a `Program`), so that the loop is compiled
once, whatever the columns are. It is one long function because each function more is compiled twice, once by itself and
once where it is called. The integers that come out are sums over rows and do not depend on the tiles.
"""

from __future__ import annotations

import functools
import os
from collections.abc import Sequence
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.sources.columns import GONE, Codes, Column, Numbers, Points
from discreet.sources.gather import TYPES, gathering, viewing

# A column's integers, its reals, and the rules by which its values become codes.
(
    ADDRESS, STRIDE, TYPE, RULE, CELLS, LOW, SIZE, UNKNOWN, MISSING, FIRST, HALF, LAST, GONE_AT, POINTS, MOMENTS, SPOTS,
) = range(16)  # fmt: skip
MIDDLE, INVERSE, BOTTOM, TOP, FACTOR, BASE = range(6)
SAME, TABLE, WHOLE, FLOAT, EVEN, CUTS, MANY = range(7)
FEW_CUTS = 40
_EVEN = 1.5 * 2.0**52  # added and taken away again it rounds a double below 2**51 to a whole number, ties to even
_NOTHING = np.empty(0, np.uint32)
_NONE = (
    _NOTHING, np.empty(0, np.int64), np.empty((0, 2, 0), np.int64), _NOTHING, np.empty((0, 0), np.uint32),
    np.empty((0, 0), np.int32),
)  # fmt: skip
TILE = 1024  # rows whose codes stay in a core's first caches
BLOCK = 1 << 17  # rows of one column after the other, where each counts in a table that fills the second cache


ROWS = 128  # that are put side by side at a time


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

    def want(self, j: int, moments: int, spots: int) -> None:
        """Add moments of a number to a row of `moments`, count its points from a place in `spots`; −1 for neither."""
        self.whole[j + 1, POINTS:] = max(moments, spots) >= 0, moments, spots

    def sweep(self, groups: Sequence[Sequence[int]], start: int, stop: int, joint: Any = None, firsts: Any = None,
              moments: Any = None, spots: Any = None, codes: Any = None, points: Any = None) -> None:  # fmt: skip
        """Go over the rows from `start` to before `stop` once; the columns of a group make one index of a row."""
        groups = [[-1], *groups] if self.whole[0, ADDRESS] else groups
        order, ends = np.concatenate(groups) + 1, np.cumsum([len(one) for one in groups])
        block = BLOCK if spots is not None and len(spots) else TILE
        given = zip((joint, firsts, moments, spots, codes, points), _NONE, strict=True)
        places = (none if one is None else one for one, none in given)
        side = np.empty((len(self.whole) + 1, TILE), np.int64)
        scratch = np.zeros(block, np.uint32), np.empty(TILE, np.uint32), np.empty(TILE, np.int32)
        sides = side, side.view(np.float64), side.ctypes.data
        _compiled()(self.whole, self.real, self.tables, order, ends, start, stop, *scratch, *sides, *places)

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


def _sweep(
    whole: Any, real: Any, tables: Any, order: Any, ends: Any, start: int, stop: int, all_labels: Any, all_indices: Any,
    all_points: Any, side: Any, side_reals: Any, side_at: int,
    joint: Any, firsts: Any, moments: Any, spots: Any, codes: Any, held: Any,
) -> None:  # fmt: skip
    """Go over some rows: columns come in groups `order[ends[g - 1] : ends[g]]`, the first is the label if there is one.

    `joint[firsts[g]:]` counts the indices of a group: the label, then for each of its columns index·cells + code.
    `moments` and `spots` take the sums and points of numbers by class, `codes` and `held` the indices and points of
    every row, where they have room for them. The arrays before are scratch; `side_reals` is `side`, at `side_at`, as
    doubles.
    """
    block, tile, lead = len(all_labels), len(all_indices), 1 if whole[0, ADDRESS] != 0 else 0
    for low in range(start, stop, block):
        high = low + block if low + block < stop else stop
        for g in range(len(ends)):
            first, last = ends[g - 1] if g > 0 else 0, ends[g]
            for at in range(low, high, tile):
                size = tile if at + tile < high else high - at
                each = np.uint64(size)  # indices without a sign need no look at those below zero
                label, index, points = all_labels[at - low : at - low + size], all_indices[:size], all_points[:size]

                # What is not side by side in eight bytes is put so. Columns of a matrix share lines of the cache: they
                # are all read while those lines are near, a few rows at a time.
                begin, finish = first, last
                if block == tile:
                    begin, finish = 0, len(order) if g == 0 else 0
                for low_row in range(0, size, ROWS):
                    high_row = low_row + ROWS if low_row + ROWS < size else size
                    for k in range(begin, finish):
                        j = order[k]
                        kind, stride = whole[j, TYPE], whole[j, STRIDE]
                        if stride == 8 and (kind == 3 or kind == 9):
                            continue
                        address = whole[j, ADDRESS] + (at + low_row) * stride
                        _gather(kind, address, stride, high_row - low_row, side_at + 8 * (j * tile + low_row))

                for i in range(each):
                    index[i] = label[i] if g >= lead else np.uint32(0)
                for k in range(first, last):
                    j = order[k]
                    column, rule, kind = whole[j], whole[j, RULE], whole[j, TYPE]
                    cells, unknown = np.uint32(column[CELLS]), np.uint32(column[UNKNOWN])
                    places, half, lowest = column[SIZE], np.int32(column[HALF]), column[LOW]
                    table, address = tables[column[FIRST] :], column[ADDRESS] + at * 8
                    ints, reals = side[j], side_reals[j]
                    if column[STRIDE] == 8 and kind == 3:
                        ints = _whole_view(address, size)
                    elif column[STRIDE] == 8 and kind == 9:
                        reals = _real_view(address, size)
                    if kind < 8 and rule > TABLE:
                        gone, own = column[GONE_AT], side_reals[0 if j else len(side_reals) - 1]
                        for i in range(each):
                            number = np.float64(ints[i])
                            if kind == 7 and ints[i] < 0:
                                number = np.float64(np.uint64(ints[i]))
                            own[i] = np.nan if gone != 0 and ints[i] == gone else number
                        reals = own

                    # Their codes. A category is found by its distance from the lowest, in a table if need be, of which
                    # the last entries are for unknown and missing values; a float is one if its code leads back to it.
                    if rule == SAME:
                        for i in range(each):
                            spot = ints[i] - lowest
                            code = np.uint32(spot) if (spot >= 0) & (spot < places) else unknown
                            index[i] = index[i] * cells + code
                    elif rule == TABLE:
                        for i in range(each):
                            spot = ints[i] - lowest
                            index[i] = index[i] * cells + table[spot if (spot >= 0) & (spot < places) else places]
                    elif rule == WHOLE:
                        zero, most = np.float64(lowest), np.float64(places - 1)
                        missing = np.uint32(column[MISSING])
                        for i in range(each):
                            value = reals[i]
                            away = value - zero
                            away = away if away < most else most
                            away = away if away > 0.0 else 0.0
                            nearest = np.int32(away)
                            other = unknown if value == value else missing
                            code = np.uint32(nearest) if np.float64(nearest) + zero == value else other
                            index[i] = index[i] * cells + code
                    elif rule == FLOAT:
                        zero, most = np.float64(lowest), np.float64(places - 1)
                        for i in range(each):
                            value = reals[i]
                            away = value - zero
                            away = away if away < most else most
                            away = away if away > 0.0 else 0.0
                            spot = np.int64(away)
                            if np.float64(spot) + zero != value:
                                spot = places if value == value else places + 1
                            index[i] = index[i] * cells + table[spot]
                    else:
                        middle, inverse = real[j, MIDDLE], real[j, INVERSE]
                        bottom, top = real[j, BOTTOM], real[j, TOP]
                        factor, base = real[j, FACTOR], real[j, BASE]
                        end = np.int32(column[LAST])
                        if rule == EVEN and column[POINTS] == 0:
                            # Bins of equal width without points: all of these doubles are exact but the scaled value.
                            for i in range(each):
                                value = reals[i]
                                scaled = (value - middle) * inverse
                                scaled = scaled if scaled < top else top
                                scaled = scaled if scaled > bottom else bottom
                                even = np.int32(((scaled + _EVEN) - _EVEN) * factor + base)
                                even = even if even < end else end
                                odd = np.int32(end + 1) if value != value else np.int32(end + 2)
                                even = even if value - value == 0.0 else odd
                                index[i] = index[i] * cells + np.uint32(even)
                            continue
                        # half + 1 stands for missing, half + 2 for infinite.
                        for i in range(each):
                            value = reals[i]
                            scaled = (value - middle) * inverse
                            scaled = scaled if scaled < top else top
                            scaled = scaled if scaled > bottom else bottom
                            point = np.int32((scaled + _EVEN) - _EVEN)
                            odd = np.int32(half + 1) if value != value else np.int32(half + 2)
                            points[i] = point if value - value == 0.0 else odd
                        if rule == EVEN:
                            for i in range(each):
                                even = np.int32(np.float64(points[i]) * factor + base)
                                even = even if even < end else end
                                odd = np.int32(end + points[i] - half)
                                even = even if points[i] <= half else odd
                                index[i] = index[i] * cells + np.uint32(even)
                        elif rule == CUTS:  # the bin is the number of cuts at or below the point
                            for i in range(each):
                                index[i] = index[i] * cells
                            for c in range(places):
                                cut = np.int32(table[c])
                                for i in range(each):
                                    index[i] += np.uint32(points[i] >= cut)
                        else:
                            for i in range(each):
                                index[i] = index[i] * cells + table[np.uint32(points[i] + half)]

                        if column[MOMENTS] >= 0:
                            sums = moments[column[MOMENTS]]
                            for c in range(sums.shape[1]):
                                total = np.int64(0)
                                square = np.int64(0)
                                for i in range(each):
                                    within = (label[i] == np.uint32(c)) & (points[i] <= half)
                                    point = points[i] if within else np.int32(0)
                                    total += np.int64(point)
                                    square += np.int64(point) * np.int64(point)
                                sums[0, c] += total
                                sums[1, c] += square
                        if column[SPOTS] >= 0:
                            width = 2 * column[HALF] + 3
                            mine_at = column[SPOTS] + column[HALF]
                            for i in range(each):
                                spots[np.uint64(mine_at + label[i] * width + points[i])] += np.uint32(1)

                if g < lead:
                    for i in range(each):
                        label[i] = index[i]
                    continue
                if len(joint):
                    counts = joint[firsts[g - lead] :]
                    for i in range(each):
                        counts[index[i]] += np.uint32(1)
                if len(codes):
                    mine = codes[g - lead, at - start :]
                    for i in range(each):
                        mine[i] = index[i]
                if len(held):
                    near = held[g - lead, at - start :]
                    for i in range(each):
                        near[i] = points[i]


# ---- machine code

_gather: Any = None
_whole_view: Any = None
_real_view: Any = None
_SIGNATURE = (
    "void(int64[:,::1],float64[:,::1],uint32[::1],int64[::1],int64[::1],int64,int64,uint32[::1],uint32[::1],"
    "int32[::1],int64[:,::1],float64[:,::1],int64,uint32[::1],int64[::1],int64[:,:,::1],uint32[::1],uint32[:,::1],"
    "int32[:,::1])"
)


# Values that NumPy counts in about the time in which the machine code is loaded from disk, or else compiled.
LOADING, COMPILING = 10_000_000, 100_000_000
_counted = 0


def worthwhile(values: int) -> bool:
    """Whether to count so many values by machine code, given what this process has counted without it so far.

    Both ways give the same integers. Until it has waited as long for NumPy, no process waits for the compiler.
    """
    global _counted
    if _compiled.cache_info().currsize:
        return True
    _counted += values
    return _counted > COMPILING or (_counted > LOADING and _kept_on_disk())


def _kept_on_disk() -> bool:
    """Whether the compiler's work seems to be kept; where it is not found, it is loaded a little later."""
    places = [Path(os.environ["NUMBA_CACHE_DIR"])] if os.environ.get("NUMBA_CACHE_DIR") else [Path(__file__).parent]
    found = [file for place in places for file in place.rglob(f"{Path(__file__).stem}.{_sweep.__name__}-*.nbi")]
    written = Path(__file__).stat().st_mtime
    return any(file.stat().st_mtime >= written for file in found)


@functools.cache
def _compiled() -> Any:
    """The sweep as machine code; the compiler is loaded on first use and its work is kept on disk."""
    import numba
    from numba import types

    globals().update(_gather=gathering(), _whole_view=viewing(types.int64), _real_view=viewing(types.float64))
    return numba.njit(_SIGNATURE, nogil=True, cache=True, error_model="numpy", no_cfunc_wrapper=True)(_sweep)
