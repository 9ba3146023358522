"""Kernels: the loops that count and score rows, written for the compiler and loaded when data are large."""

from __future__ import annotations

import functools
from types import SimpleNamespace
from typing import Any

import numpy as np


def count_codes(
    values: Any, label: Any, low: int, table: Any, unknown: int, missing: int, cells: int, out: Any
) -> None:
    """out[label·cells + cell] += 1 for every row of a categorical column."""
    high = low + len(table)
    for i in range(len(label)):
        value = values[i]
        if value >= low and value < high:
            index = int(value) - low
            code = table[index] if index + low == value else unknown
        elif value == value:
            code = unknown
        else:
            code = missing
        out[label[i] * cells + code] += 1


def count_numbers(
    values: Any,
    label: Any,
    middle: float,
    inverse: float,
    half: int,
    bins: Any,
    missing: int,
    infinite: int,
    cells: int,
    out: Any,
    moments: bool,
    sums: Any,
    squares: Any,
) -> None:
    """Bin counts, and on request sums and square sums of lattice points, of a numeric column."""
    top = float(half)
    for i in range(len(label)):
        value = float(values[i])
        group = label[i]
        scaled = np.rint((value - middle) * inverse)
        if scaled <= top and scaled >= -top:
            point = int(scaled)
        elif value - value == 0.0:
            point = half if scaled > 0 else -half
        else:
            out[group * cells + (missing if value != value else infinite)] += 1
            continue
        out[group * cells + bins[point + half]] += 1
        if moments:
            sums[group] += point
            squares[group] += point * point


def encode(values: Any, low: int, table: Any, unknown: int, missing: int, out: Any) -> None:
    """out[i] = the cell of row i of a categorical column."""
    high = low + len(table)
    for i in range(len(out)):
        value = values[i]
        if value >= low and value < high:
            index = int(value) - low
            out[i] = table[index] if index + low == value else unknown
        elif value == value:
            out[i] = unknown
        else:
            out[i] = missing


def add_codes(values: Any, low: int, table: Any, unknown: int, missing: int, bad: int, scores: Any, out: Any) -> int:
    """out[i, :] += scores[cell of row i, :]; returns how many rows have no cell."""
    high = low + len(table)
    wrong = 0
    for i in range(len(out)):
        value = values[i]
        if value >= low and value < high:
            index = int(value) - low
            code = table[index] if index + low == value else unknown
        elif value == value:
            code = unknown
        else:
            code = missing
        if code == bad:
            wrong += 1
        else:
            for k in range(out.shape[1]):
                out[i, k] += scores[code, k]
    return wrong


def add_bins(
    values: Any,
    middle: float,
    inverse: float,
    half: int,
    bins: Any,
    missing: int,
    scores: Any,
    out: Any,
) -> int:
    """out[i, :] += scores[bin of row i, :]; returns how many rows have no bin."""
    top = float(half)
    wrong = 0
    for i in range(len(out)):
        value = float(values[i])
        scaled = np.rint((value - middle) * inverse)
        if scaled <= top and scaled >= -top:
            code = int(bins[int(scaled) + half])
        elif value - value == 0.0:
            code = int(bins[2 * half if scaled > 0 else 0])
        elif value != value and missing >= 0:
            code = missing
        else:
            wrong += 1
            continue
        for k in range(out.shape[1]):
            out[i, k] += scores[code, k]
    return wrong


def add_gaussian(
    values: Any,
    lower: float,
    upper: float,
    mean: Any,
    weight: Any,
    constant: Any,
    missing: bool,
    absent: Any,
    out: Any,
) -> int:
    """out[i, :] += constant − weight·(value − mean)², or `absent` where missing; returns bad rows."""
    wrong = 0
    for i in range(len(out)):
        value = float(values[i])
        if value - value == 0.0:
            value = min(max(value, lower), upper)
            for k in range(out.shape[1]):
                gap = value - mean[k]
                out[i, k] += constant[k] - weight[k] * (gap * gap)
        elif value != value and missing:
            for k in range(out.shape[1]):
                out[i, k] += absent[k]
        else:
            wrong += 1
    return wrong


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

    loops = (count_codes, count_numbers, encode, add_codes, add_bins, add_gaussian, argmax)
    return SimpleNamespace(
        **{loop.__name__: numba.njit(nogil=True, cache=True, error_model="numpy")(loop) for loop in loops}
    )
