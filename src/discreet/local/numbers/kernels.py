"""Kernels of the number mechanisms: noise digit by digit and windows drawn evenly, compiled when first needed."""

from __future__ import annotations

from typing import Any

import numpy as np

from discreet.local.entropy import words
from discreet.local.kernels import kernel
from discreet.local.wire.integers import Integers

_BUFFER = 1 << 18  # words


@kernel
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


@kernel
def window(centres: Any, draws: Any, reach: Any, spread: Any, outside: Any, hi: Any, lo: Any, out: Any) -> None:
    """Outputs −reach … reach: words below `outside` name one beyond the window, the rest one inside it."""
    for i in range(len(out)):
        if draws[i] < outside:
            place = np.int64(draws[i] // lo) - reach
            first = centres[i] - spread
            out[i] = place if place < first else place + 2 * spread + 1
        else:
            out[i] = np.int64((draws[i] - outside) // hi) + centres[i] - spread


def laplace_numbers(halves: tuple[Any, Any], size: int, rng: np.random.Generator | None) -> Integers:
    """Many draws of the noise whose thresholds are given as high and low words."""
    high, low = halves
    result, done = np.empty(size, np.int64), 0
    while done < size:
        wanted = (size - done) * (len(high) + 1) + (size - done) // 8 + 4 * len(high)
        done = int(digits(words(min(wanted, _BUFFER), rng), high, low, done, result))
    return result
