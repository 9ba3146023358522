"""The kernels for few rows, by NumPy: to load what is compiled would take longer than to add them up.

The same arguments and meaning as in `kernels`. Margins are the same to the last bit. Sums of rates are cut in three:
whole multiples of a step, whose sums are exact, and a rest below 2⁻⁴⁸ of the largest rate (docs/proofs/linear.md).
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from types import SimpleNamespace
from typing import Any

import numpy as np

FEW = 1 << 19  # entries of rows up to which this is quicker than loading the compiler's work
PAIRS = 1 << 23  # pairs of entries of rows, which `outer` adds up one by one
ROWS = 1 << 17  # so many rows at most, so that sums of whole multiples stay within the 53 bits of a double
DIGITS = 24


def margins(codes: Any, values: Any, weights: Any, out: Any) -> None:
    width = codes.shape[1]
    out[:] = weights[-1] if values is None else weights[-1] * values[:, width]
    for j in range(width):
        out += weights[codes[:, j]] if values is None else weights[codes[:, j]] * values[:, j]


def gather(codes: Any, values: Any, rates: Any, out: Any, rest: Any) -> None:
    for part in thirds(rates):
        carry(out, rest, summed(codes, values, part, len(out)))


def outer(codes: Any, values: Any, rates: Any, out: Any) -> None:
    width, size = codes.shape[1], len(out)
    flat, spots = out.reshape(-1), codes.astype(np.intp)
    for j in range(width):
        share = rates if values is None else rates * values[:, j]
        more = np.broadcast_to(share[:, None], (len(codes), width - j))
        more = more if values is None else more * values[:, j:width]
        np.add.at(flat, (spots[:, j, None] * size + spots[:, j:]).reshape(-1), more.reshape(-1).astype(out.dtype))
        np.add.at(flat, spots[:, j] * size + size - 1, (share if values is None else share * values[:, width]))
    out[-1, -1] += np.sum(rates if values is None else rates * values[:, width] * values[:, width])


def thirds(rates: Any) -> tuple[Any, Any, Any]:
    """Rates in three parts that add up to them exactly: two of whole multiples of powers of two, and the rest."""
    step = 2.0 ** max(int(np.frexp(np.max(np.abs(rates), initial=0.0))[1]) - DIGITS, -900)
    high = np.rint(rates / step) * step
    step *= 2.0**-DIGITS
    low = np.rint((rates - high) / step) * step
    return high, low, rates - high - low


def summed(codes: Any, values: Any, rates: Any, columns: int) -> Any:
    """Σ rates[i]·row i by plain sums, which are exact for whole multiples."""
    width = codes.shape[1]
    share = np.repeat(rates, width) if values is None else (rates[:, None] * values[:, :width]).reshape(-1)
    found = np.bincount(codes.reshape(-1), weights=share, minlength=columns)
    found[-1] += np.sum(rates if values is None else rates * values[:, width])
    return found


def carry(out: Any, rest: Any, more: Any) -> None:
    """Add to a sum, and what its rounding leaves to the rest."""
    old = out.copy()
    out += more
    other = out - old
    rest += (old - (out - other)) + (more - other)


LOOPS = SimpleNamespace(margins=margins, gather=gather, outer=outer)


_none: ContextVar[bool] = ContextVar("none", default=False)


def is_few(rows: int, entries: int) -> bool:
    """Whether so many rows with so many entries each are few: by their numbers alone, so that a fit can be repeated."""
    return not _none.get() and rows <= ROWS and rows * entries <= FEW and rows * entries**2 <= PAIRS


@contextmanager
def compiled() -> Iterator[None]:
    """A block of thousands of fits, none of which is called few: the compiler's work is loaded once for all of them.

    For a study, on the thread that enters it. Weights may differ within the solver's tolerance.
    """
    token = _none.set(True)
    try:
        yield
    finally:
        _none.reset(token)
