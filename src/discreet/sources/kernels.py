"""Kernels: the loops over rows, written so that the compiler can vectorise them, and compiled when data are large.

A block of rows is reduced to one index per row: the label, then for each column of a group `index·cells + code`.
One pass of `histogram` then counts the whole group, and its margins are the tables of the single columns.
"""

from __future__ import annotations

import functools
from types import SimpleNamespace
from typing import Any

import numpy as np


def index_same(values: Any, low: int, size: int, unknown: int, cells: int, index: Any) -> None:
    """Integers low, low + 1, … whose codes are 0, 1, …: no table is needed."""
    for i in range(len(index)):
        code = np.int64(values[i]) - low
        index[i] = index[i] * cells + np.uint32(code if (code >= 0) & (code < size) else unknown)


def index_table(values: Any, low: int, size: int, table: Any, cells: int, index: Any) -> None:
    """Integers whose codes stand in a table; entry `size` is for all others."""
    for i in range(len(index)):
        spot = np.int64(values[i]) - low
        index[i] = index[i] * cells + table[spot if (spot >= 0) & (spot < size) else size]


def index_float(values: Any, low: float, size: int, table: Any, cells: int, index: Any) -> None:
    """Whole numbers stored as floats; entry `size` is for all other numbers, the next one for NaN."""
    for i in range(len(index)):
        value = float(values[i])
        whole = (value >= low) & (value < low + size) & (np.floor(value) == value)
        place = np.int64(value - low) if whole else (size if value == value else size + 1)
        index[i] = index[i] * cells + table[place]


def index_whole(values: Any, low: float, size: int, unknown: int, missing: int, cells: int, index: Any) -> None:
    """The same for codes 0, 1, … in order: no table is needed."""
    for i in range(len(index)):
        value = float(values[i])
        whole = (value >= low) & (value < low + size) & (np.floor(value) == value)
        code = np.int32(value - low if whole else 0.0)
        other = unknown if value == value else missing
        index[i] = index[i] * np.uint32(cells) + np.uint32(code if whole else other)


def untangle(matrix: Any, offsets: Any, out: Any) -> None:
    """Columns of a row-major matrix side by side, a few rows at a time so that each is read from memory once."""
    for start in range(0, len(matrix), 256):
        tile = matrix[start : start + 256]
        for j in range(len(offsets)):
            source, target = tile[:, offsets[j]], out[j, start : start + 256]
            for i in range(len(source)):
                target[i] = source[i]


def points(values: Any, lower: float, upper: float, middle: float, inverse: float, half: int, out: Any) -> None:
    """Lattice points of numbers clipped to their bounds; half + 1 stands for missing, half + 2 for infinite."""
    top = float(half)
    for i in range(len(out)):
        value = float(values[i])
        inside = value if value < upper else upper
        inside = inside if inside > lower else lower
        point = np.rint((inside - middle) * inverse)
        point = point if point < top else top
        point = point if point > -top else -top
        finite = value - value == 0.0
        out[i] = np.int32(point) if finite else np.int32(half + 1 if value != value else half + 2)


def index_points(lattice: Any, cuts: Any, cells: int, index: Any) -> None:
    """The bin of a lattice point is the number of cuts at or below it; a few rows at a time stay in the first cache."""
    for start in range(0, len(index), 1024):
        part, near = index[start : start + 1024], lattice[start : start + 1024]
        for i in range(len(part)):
            part[i] *= np.uint32(cells)
        for j in range(len(cuts)):
            cut = cuts[j]
            for i in range(len(part)):
                part[i] += np.uint32(near[i] >= cut)


def index_even(lattice: Any, half: int, factor: int, base: int, last: int, cells: int, index: Any) -> None:
    """The same where the bins are equally wide, by one product; what stands for missing and infinite comes after."""
    for i in range(len(index)):
        point = np.int64(lattice[i])
        even = ((point + half) * factor + base) >> np.int64(32)
        even = min(even, np.int64(last))
        index[i] = index[i] * np.uint32(cells) + np.uint32(even if point <= half else last + point - half)


def index_many(lattice: Any, half: int, table: Any, cells: int, index: Any) -> None:
    """The same by a table of all lattice points, for many bins."""
    for i in range(len(index)):
        index[i] = index[i] * np.uint32(cells) + table[lattice[i] + half]


def histogram(index: Any, out: Any) -> None:
    """Count indices."""
    for i in range(len(index)):
        out[index[i]] += 1


def spots(lattice: Any, label: Any, half: int, out: Any) -> None:
    """Count lattice points by class: a row of `out` per class, a column per point, the missing and infinite last."""
    for i in range(len(label)):
        out[label[i], lattice[i] + half] += np.uint32(1)


def moments(lattice: Any, label: Any, half: int, sums: Any, squares: Any) -> None:
    """Sums of lattice points and of their squares by class; integers, so any order gives the same."""
    for group in range(len(sums)):
        total = np.int64(0)
        square = np.int64(0)
        for i in range(len(label)):
            point = np.int64(lattice[i]) if (label[i] == group) & (lattice[i] <= half) else np.int64(0)
            total += point
            square += point * point
        sums[group] += total
        squares[group] += square


def add_scores(index: Any, scores: Any, out: Any) -> None:
    """out[i, :] += scores[index[i], :]."""
    for i in range(len(index)):
        for k in range(out.shape[1]):
            out[i, k] += scores[index[i], k]


def add_gaussian(
    values: Any, lower: float, upper: float, mean: Any, weight: Any, constant: Any, absent: Any, out: Any
) -> None:
    """out[i, :] += constant − weight·(value − mean)²; `absent` where missing, NaN where infinite."""
    for i in range(len(out)):
        value = float(values[i])
        if value - value == 0.0:
            value = min(max(value, lower), upper)
            for k in range(out.shape[1]):
                gap = value - mean[k]
                out[i, k] += constant[k] - weight[k] * (gap * gap)
        else:
            for k in range(out.shape[1]):
                out[i, k] += absent[k] if value != value else np.nan


def argmax(scores: Any, out: Any) -> None:
    """out[i] = the first column with the largest score."""
    for i in range(len(out)):
        best = 0
        for k in range(1, scores.shape[1]):
            if scores[i, k] > scores[i, best]:
                best = k
        out[i] = best


@functools.cache
def compiled() -> Any:
    """The same loops as machine code; the compiler is loaded on first use and its work is kept on disk."""
    import numba

    loops = (
        *(index_same, index_table, index_float, index_whole, index_points, index_even, index_many, untangle),
        *(points, histogram, spots, moments, add_scores, add_gaussian, argmax),
    )
    return SimpleNamespace(
        **{loop.__name__: numba.njit(nogil=True, cache=True, error_model="numpy")(loop) for loop in loops}
    )
