"""Smooth bounds of trimmed statistics when one row is replaced and the number of rows is known."""

from __future__ import annotations

import math
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]


def trimmed(x: Floats, cut: int) -> Floats:
    """Sorted values without the `cut` smallest and the `cut` largest."""
    return x[cut : max(cut, len(x) - cut)]


def width_bound(x: Floats, cut: int, beta: float, power: int) -> float:
    """max over k of e^(-βk) · (widest span a window can have after k replacements and one more)^power.

    `x` is sorted and lies in [0, 1]. After l of k + 1 replacements below and the rest above, the window spans from
    order statistic cut + 1 − l to n − cut + 1 + k − l; beyond the ends stand the bounds.
    """
    n = len(x)
    if n <= 2 * cut:
        return 1.0
    # Steps outward from the first and last value of the window; the pair (0, 0) is no replacement at all.
    low = np.concatenate([x[cut::-1], [0.0]])
    high = np.concatenate([x[n - cut - 1 :], [1.0]])
    low_step, high_step = _first_steps(low, -1), _first_steps(high, 1)
    floor = max(high[1] - low[0], high[0] - low[1], math.exp(-beta * (2 * cut + 1)), 1e-12)
    reach = -power * math.log(floor) / beta + 2
    low_step, high_step = low_step[low_step <= reach], high_step[high_step <= reach]
    steps = low_step[:, None] + high_step[None, :]
    span = high[high_step][None, :] - low[low_step][:, None]
    # The first step, whichever end it is at, is the replacement whose effect is bounded: k = steps − 1. A pair that
    # begins at (0, 0) keeps its span when either end is asked to step, so it counts with k = 0.
    weights = np.exp(-beta * np.maximum(steps - 1, 0))
    return float((span**power * weights).max())


def _first_steps(values: Floats, direction: int) -> NDArray[np.int64]:
    """The steps at which a new value is reached; steps that repeat a value gain nothing."""
    fresh = np.concatenate([[True], direction * np.diff(values) > 0])
    return np.flatnonzero(fresh)


def literal_bound(x: Floats, cut: int, beta: float, power: int) -> float:
    """The same bound by the paper's search over all k and l: O(n²)."""
    return float(_search()(x, cut, beta, power))


@lru_cache(maxsize=1)
def _search() -> Any:
    from numba import njit

    def search(x: Floats, cut: int, beta: float, power: int) -> float:
        n, best = len(x), 0.0
        for k in range(n + 1):
            widest = 0.0
            for below in range(k + 2):
                upper, lower = n - cut + 1 + k - below, cut + 1 - below
                top = 1.0 if upper > n else x[upper - 1]
                bottom = 0.0 if lower < 1 else x[lower - 1]
                widest = max(widest, top - bottom)
            best = max(best, widest**power * math.exp(-beta * k))
        return best

    return njit(search)


def square_bound(x: Floats, cut: int, beta: float) -> float:
    """A smooth bound of the (1/N) variance of the window: replacing one of N values inside a span w moves it by at
    most w²(N−1)/N².
    """
    size = len(trimmed(x, cut))
    return width_bound(x, cut, beta, 2) * (size - 1) / size**2 if size > 1 else 0.25
