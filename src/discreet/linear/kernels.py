"""Kernels: loops over sparse rows, each a list of columns (and of whole numbers, where there are scaled ones)."""

from __future__ import annotations

from typing import Any

from discreet.linear import few
from discreet.loops import machine_code


def margins(codes: Any, values: Any, weights: Any, out: Any) -> None:
    """out[i] = the constant's weight (the last) + the weights of the columns that row i has.

    Here as below: entry j of row i counts values[i, j] times, the last of them being the constant's; once each, if
    there are no values.
    """
    last, width = len(weights) - 1, codes.shape[1]
    for i in range(len(codes)):
        total = weights[last] if values is None else weights[last] * values[i, width]
        for j in range(width):
            total += weights[codes[i, j]] if values is None else weights[codes[i, j]] * values[i, j]
        out[i] = total


def gather(codes: Any, values: Any, rates: Any, out: Any, rest: Any) -> None:
    """out + rest = Σ_i rates[i]·row i, by compensated sums: the error does not grow with the number of rows."""
    last = len(out) - 1
    for i in range(len(codes)):
        for j in range(codes.shape[1] + 1):
            column = last if j == codes.shape[1] else codes[i, j]
            old, term = out[column], rates[i] if values is None else rates[i] * values[i, j]
            new = old + term
            if abs(old) >= abs(term):
                rest[column] += (old - new) + term
            else:
                rest[column] += (term - new) + old
            out[column] = new


def outer(codes: Any, values: Any, rates: Any, out: Any) -> None:
    """Add Σ_i rates[i]·(row i)(row i)ᵀ to the part of `out` on and above the diagonal."""
    last, width = len(out) - 1, codes.shape[1]
    for i in range(len(codes)):
        rate = rates[i]
        if rate == 0:
            continue
        for j in range(width):
            column, share = codes[i, j], rate if values is None else rate * values[i, j]
            for k in range(j, width):
                out[column, codes[i, k]] += share if values is None else share * values[i, k]
            out[column, last] += share if values is None else share * values[i, width]
        out[last, last] += rate if values is None else rate * values[i, width] * values[i, width]


def compiled() -> Any:
    """The same loops as machine code."""
    return machine_code(margins, gather, outer)


def loops(codes: Any) -> Any:
    """What runs over these rows: machine code, or NumPy if they are few."""
    return few.LOOPS if few.is_few(*codes.shape) else compiled()
