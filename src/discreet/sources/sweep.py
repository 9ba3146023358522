"""The sweep: one pass of machine code over columns of any type and stride, which codes, counts and adds up.

Rows are taken a tile at a time, so that what is made of them stays in a core's own caches: each value is read from
memory once and no code is written there. A column is a row of plain arrays (`program.Program`), so that the loop is
compiled once, whatever the columns are. It is one long function because each function more is compiled twice, once by
itself and once where it is called. The integers that come out are sums over rows and do not depend on the tiles.

All that is compiled together stands in this file: the compiler keeps its work for as long as the file stays as it is.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Any

import numpy as np

from discreet.loops import once

# A column's integers, its reals, and the rules by which its values become codes.
(
    ADDRESS, STRIDE, TYPE, RULE, CELLS, LOW, SIZE, UNKNOWN, MISSING, FIRST, HALF, LAST, GONE_AT, TURNED, POINTS,
    MOMENTS, SPOTS,
) = range(17)  # fmt: skip
MIDDLE, INVERSE, BOTTOM, TOP, FACTOR, BASE = range(6)
SAME, TABLE, WHOLE, FLOAT, EVEN, CUTS, MANY = range(7)
_ROUND = 1.5 * 2.0**52  # added and taken away again it rounds a double below 2**51 to a whole number, ties to even
_LARGEST = float(np.finfo(np.float64).max)
TYPES = {kind: number for number, kind in enumerate(["i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8", "f4", "f8"])}
TILE = 2048  # rows that, with those that come next, stay in a core's second cache
LATER = 1 << 16  # rows whose points wait to be counted column by column, for one table of them fills the second cache
ROWS = 128  # that are put side by side at a time
CHUNK = 8  # that are counted between two calls for rows of the next tile


def _sweep(
    whole: Any, real: Any, tables: Any, order: Any, ends: Any, fours: Any, start: int, stop: int, all_labels: Any,
    all_indices: Any, all_points: Any, later: Any, side: Any, side_reals: Any, side_at: int,
    ahead: Any, joint: Any, firsts: Any, moments: Any, spots: Any, codes: Any, held: Any,
) -> None:  # fmt: skip
    """Go over some rows: columns come in groups `order[ends[g - 1] : ends[g]]`, the first is the label if there is one.

    `joint[firsts[g]:]` counts the indices of a group: the label, then for each of its columns index·cells + code; none
    are counted where `firsts[g]` is below zero. `moments` and `spots` take the sums and points of numbers by class,
    `codes` and `held` the indices and points of every row, where they have room for them. The arrays before are
    scratch; `side_reals` is `side`, at `side_at`, as doubles. `fours` are columns that lie beside each other in memory,
    as those of a matrix do. The memory of the next tile is called for while rows are counted, lest they wait for it:
    `ahead` has pieces of it (`program.ahead`). Points wait in `later` until they are counted, column by column.
    """
    tile, lead, room = len(all_indices), 1 if whole[0, ADDRESS] != 0 else 0, later.shape[1]
    pitch = 8 * side.shape[1]
    for at in range(start, stop, tile):
        size = tile if at + tile < stop else stop - at
        each = np.uint64(size)  # indices without a sign need no look at those below zero
        label, index, points = all_labels[:size], all_indices[:size], all_points[:size]
        waiting = (at - start) % room if room else 0

        # What is not side by side in eight bytes is put so. Columns of a matrix share lines of the cache: they are all
        # read while those lines are near, a few rows at a time, and four by four where they are turned.
        for low_row in range(0, size, ROWS):
            high_row = low_row + ROWS if low_row + ROWS < size else size
            by_four = (high_row - low_row) // 4
            for k in range(len(fours)):
                a, b, c, d = fours[k, 0], fours[k, 1], fours[k, 2], fours[k, 3]
                stride, out = whole[a, STRIDE], side_at + 8 * low_row
                address = whole[a, ADDRESS] + (at + low_row) * stride
                _turn(
                    whole[a, TYPE], address, stride, by_four,
                    out + a * pitch, out + b * pitch, out + c * pitch, out + d * pitch,
                )  # fmt: skip
            for k in range(len(order)):
                j = order[k]
                kind, stride = whole[j, TYPE], whole[j, STRIDE]
                if stride == 8 and (kind == 3 or kind == 9):
                    continue
                left = low_row + 4 * by_four if whole[j, TURNED] else low_row
                address = whole[j, ADDRESS] + (at + left) * stride
                _gather(kind, address, stride, high_row - left, side_at + j * pitch + 8 * left)

        for g in range(len(ends)):
            first, last = ends[g - 1] if g > 0 else 0, ends[g]
            counting = len(joint) > 0 and g >= lead and firsts[g - lead] >= 0
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
                        if gone != 0 and ints[i] <= gone + 1:  # a point that stands for missing, or for infinite
                            number = np.float64(np.nan if ints[i] == gone else np.inf)
                        own[i] = number
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
                        nearest = np.int32(away)
                        gone_to = np.int32(places) if value == value else np.int32(places + 1)
                        points[i] = nearest if np.float64(nearest) + zero == value else gone_to
                    for i in range(each):
                        index[i] = index[i] * cells + table[np.uint32(points[i])]
                else:
                    middle, inverse = real[j, MIDDLE], real[j, INVERSE]
                    bottom, top = real[j, BOTTOM], real[j, TOP]
                    factor, base, end = real[j, FACTOR], real[j, BASE], np.float64(column[LAST])
                    # Of bins of equal width all of these doubles are exact but the scaled value. What comes after
                    # the last point or bin stands for missing, and the next for infinite.
                    past = np.float64(column[HALF])
                    if rule == EVEN and column[POINTS] == 0:
                        for i in range(each):
                            even = _even(reals[i], middle, inverse, bottom, top, factor, base, end)
                            index[i] = index[i] * cells + even
                        continue
                    for i in range(each):
                        value = reals[i]
                        scaled = (value - middle) * inverse
                        scaled = scaled if scaled < top else top
                        scaled = scaled if scaled > bottom else bottom
                        point = (scaled + _ROUND) - _ROUND
                        point = point if abs(value) <= _LARGEST else past + 2.0
                        points[i] = np.int32(point if value == value else past + 1.0)
                    if rule == EVEN and column[LAST] == 0:
                        for i in range(each):
                            index[i] = index[i] * cells + np.uint32(points[i] - half if points[i] > half else 0)
                    elif rule == EVEN:
                        for i in range(each):
                            even = np.float64(points[i]) * factor + base
                            even = even if even < end else end
                            odd = end + (np.float64(points[i]) - past)
                            even = even if points[i] <= half else odd
                            index[i] = index[i] * cells + np.uint32(np.int32(even))
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
                        width, near = np.uint32(2 * column[HALF] + 3), later[j, waiting:]
                        for i in range(each):
                            near[i] = label[i] * width + np.uint32(points[i] + half)

            if g < lead:
                for i in range(each):
                    label[i] = index[i]
                continue
            if counting:
                counts = joint[firsts[g - lead] :]
                # The groups share the pieces; what is called for and not there does no harm.
                whole_chunks = np.uint64(size - size % CHUNK)
                for i in range(0, size - CHUNK + 1, CHUNK):
                    for k in range(g - lead, len(ahead), len(ends) - lead):
                        _fetch(ahead[k, 0] + (at + tile) * ahead[k, 1] + i * ahead[k, 2])
                    for m in range(CHUNK):
                        counts[index[np.uint64(i + m)]] += np.uint32(1)
                for i in range(whole_chunks, each):
                    counts[index[i]] += np.uint32(1)
            if len(codes):
                mine = codes[g - lead, at - start :]
                for i in range(each):
                    mine[i] = index[i]
            if len(held):
                found = held[g - lead, at - start :]
                for i in range(each):
                    found[i] = points[i]

        if room and (waiting + size == room or at + size == stop):
            for k in range(len(order)):
                column = whole[order[k]]
                if column[SPOTS] >= 0:
                    counts, near = spots[column[SPOTS] :], later[order[k]]
                    for i in range(np.uint64(waiting + size)):
                        counts[near[i]] += np.uint32(1)


def _even_bin(
    value: Any, middle: float, inverse: float, bottom: float, top: float, factor: float, base: float, end: float
) -> Any:  # fmt: skip
    """The bin of a number among bins of equal width; after the last one stand missing and infinite."""
    scaled = (value - middle) * inverse
    scaled = scaled if scaled < top else top
    scaled = scaled if scaled > bottom else bottom
    even = ((scaled + _ROUND) - _ROUND) * factor + base
    even = even if even < end else end
    even = even if abs(value) <= _LARGEST else end + 2.0
    even = even if value == value else end + 1.0
    return np.uint32(np.int32(even))


# ---- machine code

_even: Any = None
_fetch: Any = None
_gather: Any = None
_turn: Any = None
_whole_view: Any = None
_real_view: Any = None
_SIGNATURE = (
    "void(int64[:,::1],float64[:,::1],uint32[::1],int64[::1],int64[::1],int64[:,::1],int64,int64,uint32[::1],"
    "uint32[::1],int32[::1],uint32[:,::1],int64[:,::1],float64[:,::1],int64,int64[:,::1],uint32[::1],int64[::1],int64[:,:,::1],"
    "uint32[::1],uint32[:,::1],int32[:,::1])"
)


# Values that NumPy counts in about the time in which the machine code is loaded from disk, or else compiled.
LOADING, COMPILING = 10_000_000, 100_000_000
_counted = 0


def worthwhile(values: int) -> bool:
    """Whether to count so many values by machine code, given what this process has counted without it so far.

    Both ways give the same integers. Until it has waited as long for NumPy, no process waits for the compiler.
    """
    global _counted
    if "numba" in sys.modules:
        return True
    _counted += values
    return _counted > COMPILING or (_counted > LOADING and kept_on_disk())


def kept_on_disk(source: str = __file__, loop: str = _sweep.__name__) -> bool:
    """Whether the compiler's work seems to be kept; where it is not found, it is loaded a little later."""
    places = [Path(os.environ["NUMBA_CACHE_DIR"])] if os.environ.get("NUMBA_CACHE_DIR") else [Path(source).parent]
    found = [file for place in places for file in place.rglob(f"{Path(source).stem}.{loop}-*.nbi")]
    try:
        written = Path(source).stat().st_mtime
        return any(file.stat().st_mtime >= written for file in found)
    except OSError:  # in an archive, or removed meanwhile
        return False


@once
def compiled_sweep() -> Any:
    """The sweep as machine code; the compiler is loaded on first use and its work is kept on disk.

    One thread makes it: the names that it sets must not change under another that is at compiling.
    """
    import numba
    from numba import types

    globals().update(
        _even=numba.njit(inline="always", error_model="numpy")(_even_bin),
        _fetch=_fetching(), _gather=_gathering(), _turn=_turning(),
        _whole_view=_viewing(types.int64), _real_view=_viewing(types.float64),
    )  # fmt: skip
    return numba.njit(_SIGNATURE, nogil=True, cache=True, error_model="numpy", no_cfunc_wrapper=True)(_sweep)


def _fetching() -> Any:
    """A function that calls for the line of memory at an address, which need not be ours, into the second cache."""
    from numba import types
    from numba.core import cgutils
    from numba.extending import intrinsic

    ir = cgutils.ir
    place, word = ir.IntType(8).as_pointer(), ir.IntType(32)

    @intrinsic  # type: ignore[untyped-decorator]
    def fetch(typing: Any, address: Any) -> Any:
        def code(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            kind = ir.FunctionType(ir.VoidType(), [place, word, word, word])
            ask = cgutils.get_or_insert_function(builder.module, kind, "llvm.prefetch.p0")
            builder.call(ask, [builder.inttoptr(arguments[0], place), word(0), word(2), word(1)])
            return context.get_dummy_value()

        return types.void(types.int64), code

    return fetch


def _gathering() -> Any:
    """A function that puts values of any type and stride side by side: integers as 64 bits, floats as doubles."""
    from numba import types
    from numba.core import cgutils
    from numba.extending import intrinsic

    ir = cgutils.ir
    wide, double = ir.IntType(64), ir.DoubleType()

    @intrinsic  # type: ignore[untyped-decorator]
    def gather(typing: Any, kind: Any, address: Any, stride: Any, size: Any, out: Any) -> Any:
        def code(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            chosen, place, step, count, target = arguments
            for name, number in TYPES.items():
                own = {"f4": ir.FloatType(), "f8": double}.get(name, ir.IntType(8 * int(name[1])))
                to = double if name[0] == "f" else wide
                longer = {"f": builder.fpext, "i": builder.sext, "u": builder.zext}[name[0]]
                with builder.if_then(builder.icmp_signed("==", chosen, wide(number))):
                    start = builder.inttoptr(target, to.as_pointer())
                    with cgutils.for_range(builder, count) as loop:
                        spot = builder.inttoptr(builder.add(place, builder.mul(loop.index, step)), own.as_pointer())
                        value = builder.load(spot, align=1, typ=own)
                        value = value if own == to else longer(value, to)
                        builder.store(value, builder.gep(start, [loop.index], source_etype=to))
            return context.get_dummy_value()

        return types.void(*[types.int64] * 5), code

    return gather


def _turning() -> Any:
    """A function that puts four columns that lie beside each other into four places, four rows at a time."""
    from numba import types
    from numba.core import cgutils
    from numba.extending import intrinsic

    ir = cgutils.ir
    wide, double = ir.IntType(64), ir.DoubleType()

    def mixed(builder: Any, left: Any, right: Any, *lanes: int) -> Any:
        return builder.shuffle_vector(left, right, ir.Constant(ir.VectorType(ir.IntType(32), 4), lanes))

    @intrinsic  # type: ignore[untyped-decorator]
    def turn(typing: Any, kind: Any, address: Any, stride: Any, size: Any, a: Any, b: Any, c: Any, d: Any) -> Any:
        def code(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            chosen, place, step, count, *targets = arguments
            for name, number in TYPES.items():
                own = {"f4": ir.FloatType(), "f8": double}.get(name, ir.IntType(8 * int(name[1])))
                to = double if name[0] == "f" else wide
                longer = {"f": builder.fpext, "i": builder.sext, "u": builder.zext}[name[0]]
                four, four_to = ir.VectorType(own, 4), ir.VectorType(to, 4)
                mine = builder.icmp_signed("==", chosen, wide(number))
                with builder.if_then(mine), cgutils.for_range(builder, count) as loop:
                    row = builder.mul(loop.index, wide(4))
                    rows = []
                    for r in range(4):
                        spot = builder.add(place, builder.mul(builder.add(row, wide(r)), step))
                        value = builder.load(builder.inttoptr(spot, four.as_pointer()), align=1, typ=four)
                        rows.append(value if own == to else longer(value, four_to))
                    low = [mixed(builder, *pair, 0, 4, 2, 6) for pair in (rows[:2], rows[2:])]
                    high = [mixed(builder, *pair, 1, 5, 3, 7) for pair in (rows[:2], rows[2:])]
                    columns = [
                        mixed(builder, *pair, *lanes)
                        for lanes in ((0, 1, 4, 5), (2, 3, 6, 7)) for pair in (low, high)
                    ]  # fmt: skip
                    for target, column in zip(targets, columns, strict=True):
                        spot = builder.add(target, builder.mul(row, wide(8)))
                        builder.store(column, builder.inttoptr(spot, four_to.as_pointer()), align=8)
            return context.get_dummy_value()

        return types.void(*[types.int64] * 8), code

    return turn


def _viewing(kind: Any) -> Any:
    """A function that makes an array of so many values at an address."""
    from numba import types
    from numba.core import cgutils
    from numba.extending import intrinsic
    from numba.np.arrayobj import make_array, populate_array

    @intrinsic  # type: ignore[untyped-decorator]
    def view(typing: Any, address: Any, size: Any) -> Any:
        array = types.Array(kind, 1, "C")

        def code(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            found, item = make_array(array)(context, builder), context.get_constant(types.intp, 8)
            place = builder.inttoptr(arguments[0], context.get_data_type(kind).as_pointer())
            shape, strides = (cgutils.pack_array(builder, [one]) for one in (arguments[1], item))
            populate_array(found, data=place, shape=shape, strides=strides, itemsize=item, meminfo=None)
            return found._getvalue()

        return array(types.int64, types.int64), code

    return view
