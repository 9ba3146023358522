"""Kernels: loops over sparse rows, each a list of columns (and of whole numbers, where there are scaled ones)."""

from __future__ import annotations

import functools
from types import SimpleNamespace
from typing import Any


def margins(codes: Any, weights: Any, out: Any) -> None:
    """out[i] = the constant's weight (the last) + the weights of the columns that row i has."""
    last = weights[len(weights) - 1]
    for i in range(len(codes)):
        total = last
        for j in range(codes.shape[1]):
            total += weights[codes[i, j]]
        out[i] = total


def margins_valued(codes: Any, values: Any, weights: Any, out: Any) -> None:
    """The same where entry j of row i counts values[i, j] times; the constant counts `values[i, -1]` times."""
    last, width = len(weights) - 1, codes.shape[1]
    for i in range(len(codes)):
        total = weights[last] * values[i, width]
        for j in range(width):
            total += weights[codes[i, j]] * values[i, j]
        out[i] = total


def gather(codes: Any, rates: Any, out: Any, rest: Any) -> None:
    """out + rest = Σ_i rates[i]·row i, by compensated sums: the error does not grow with the number of rows."""
    last = len(out) - 1
    for i in range(len(codes)):
        for j in range(codes.shape[1] + 1):
            column = last if j == codes.shape[1] else codes[i, j]
            old, term = out[column], rates[i]
            new = old + term
            if abs(old) >= abs(term):
                rest[column] += (old - new) + term
            else:
                rest[column] += (term - new) + old
            out[column] = new


def gather_valued(codes: Any, values: Any, rates: Any, out: Any, rest: Any) -> None:
    """The same for rows with numbers."""
    last = len(out) - 1
    for i in range(len(codes)):
        for j in range(codes.shape[1] + 1):
            column = last if j == codes.shape[1] else codes[i, j]
            old, term = out[column], rates[i] * values[i, j]
            new = old + term
            if abs(old) >= abs(term):
                rest[column] += (old - new) + term
            else:
                rest[column] += (term - new) + old
            out[column] = new


def outer(codes: Any, rates: Any, out: Any) -> None:
    """Add Σ_i rates[i]·(row i)(row i)ᵀ to the part of `out` on and above the diagonal."""
    last = len(out) - 1
    for i in range(len(codes)):
        rate = rates[i]
        if rate == 0:
            continue
        for j in range(codes.shape[1]):
            column = codes[i, j]
            for k in range(j, codes.shape[1]):
                out[column, codes[i, k]] += rate
            out[column, last] += rate
        out[last, last] += rate


def outer_valued(codes: Any, values: Any, rates: Any, out: Any) -> None:
    """The same for rows with numbers."""
    last, width = len(out) - 1, codes.shape[1]
    for i in range(len(codes)):
        rate = rates[i]
        if rate == 0:
            continue
        for j in range(width):
            column, share = codes[i, j], rate * values[i, j]
            for k in range(j, width):
                out[column, codes[i, k]] += share * values[i, k]
            out[column, last] += share * values[i, width]
        out[last, last] += rate * values[i, width] * values[i, width]


@functools.cache
def compiled() -> Any:
    """The same loops as machine code; the compiler is loaded on first use and its work is kept on disk."""
    import numba

    loops = (margins, margins_valued, gather, gather_valued, outer, outer_valued)
    return SimpleNamespace(
        **{loop.__name__: numba.njit(nogil=True, cache=True, error_model="numpy")(loop) for loop in loops}
    )
