"""Kernels of the number mechanisms: noise digit by digit and windows drawn evenly, compiled when first needed."""

from __future__ import annotations

import functools
from types import SimpleNamespace
from typing import Any

import numpy as np

from discreet.local.entropy import words
from discreet.local.oracles.base import Integers

_BUFFER = 1 << 18  # words


def digits(draws: Any, high: Any, low: Any, start: Any, out: Any) -> Any:
    """Discrete Laplace numbers into `out[start:]` until numbers or words run out: the place reached, words left."""
    size, spot, count = len(draws), 0, len(high)
    for i in range(start, len(out)):
        while True:
            if spot + 2 * count + 1 > size:
                return i
            magnitude = np.int64(0)
            for d in range(count):
                word = draws[spot]
                spot += 1
                one = word < high[d]
                if word == high[d]:
                    one = draws[spot] < low[d]
                    spot += 1
                if one:
                    magnitude |= np.int64(1) << np.int64(d)
            negative = draws[spot] & np.uint64(1)
            spot += 1
            if magnitude != 0 or negative == 0:
                out[i] = -magnitude if negative else magnitude
                break
    return len(out)


def window(centres: Any, draws: Any, reach: Any, spread: Any, outside: Any, hi: Any, lo: Any, out: Any) -> None:
    """Outputs −reach … reach: words below `outside` name one beyond the window, the rest one inside it."""
    for i in range(len(out)):
        if draws[i] < outside:
            place = np.int64(draws[i] // lo) - reach
            first = centres[i] - spread
            out[i] = place if place < first else place + 2 * spread + 1
        else:
            out[i] = np.int64((draws[i] - outside) // hi) + centres[i] - spread


@functools.cache
def compiled() -> SimpleNamespace:
    """The kernels as machine code, kept on disk between processes."""
    import numba

    jit = numba.njit(cache=True, nogil=True, error_model="numpy")
    return SimpleNamespace(digits=jit(digits), window=jit(window))


def laplace_numbers(halves: tuple[Any, Any], size: int, rng: np.random.Generator | None) -> Integers:
    """Many draws of the noise whose thresholds are given as high and low words."""
    high, low = halves
    result, done = np.empty(size, np.int64), 0
    run = compiled().digits
    while done < size:
        wanted = (size - done) * (len(high) + 1) + (size - done) // 8 + 4 * len(high)
        done = int(run(words(min(wanted, _BUFFER), rng), high, low, done, result))
    return result


def evenly(size: int, bound: int, rng: np.random.Generator | None) -> Any:
    """`size` whole numbers drawn evenly from 0 … bound − 1, by rejection of words."""
    last = (1 << 64) - (1 << 64) % bound - 1
    drawn = np.array(words(size, rng))
    while (bad := np.flatnonzero(drawn > np.uint64(last))).size:
        drawn[bad] = words(bad.size, rng)
    return drawn if bound == 1 << 64 else drawn % np.uint64(bound)
