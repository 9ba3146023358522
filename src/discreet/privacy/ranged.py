"""Choices of bounded range, one after another: how much ε each may have inside (ε, δ), by the worst losses there are.

The losses of a choice of range w lie in an interval of that length, and of all such laws the worst has its ends alone.
Proof: docs/proofs/composition.md.
"""

from __future__ import annotations

import functools
import math
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from discreet.privacy.calibrate import COUNTING_FACTOR, halved, root_down, zcdp_rho

Floats = NDArray[np.float64]
CELLS, FINE, FEW = 16, 64, 50  # of a grid of losses in the range of one choice, finer for up to so many choices
MOST = 500  # choices whose losses are composed: beyond, their ρ is added up
NODES, WIDEST = 200_000, 30.0  # points of a grid, and ε of a choice, at most
_SAFETY = 1e-9  # covers the rounding of doubles, of which each step makes errors of a few parts in 10^16


@functools.cache
def ranged_epsilon(epsilon: Fraction, delta: Fraction, times: int) -> Fraction:
    """The ε (from below) of each of so many choices of bounded range, adaptively made, that are (ε, δ) together.

    Never below an equal part of ε, nor below what adding up ε²/8 as ρ allows; not far above the latter, lest a ledger
    take it for too much noise.
    """
    plain, joint = epsilon / times, root_down(8 * zcdp_rho(epsilon, delta) / times)
    least, most = max(plain, joint), joint * root_down(COUNTING_FACTOR)
    if times == 1 or times > MOST or most <= least:
        return least

    def holds(factor: float) -> bool:
        return ranged_delta(float(least) * factor, times, float(epsilon)) <= float(delta) * (1 - _SAFETY)

    factor, _ = halved(holds, 1.0, float(most / least), 9)
    found = Fraction(math.floor(float(least) * factor * (1 - _SAFETY) * 2**40), 2**40)
    return max(least, found)


def ranged_accounting(what: str, times: int) -> str:
    """How so many choices add up, for a certificate."""
    if times > MOST:
        return f"rho of zCDP over all {what} (bounded range: epsilon²/8 each), then the tight conversion"
    return f"the worst privacy losses of choices of bounded range, composed over all {what}"


def ranged_delta(each: float, times: int, epsilon: float) -> float:
    """An upper bound on δ at ε of so many choices of range `each`, whatever they are and however they are chosen.

    V_k(s), the most that k further choices can add to δ at losses of s so far, is convex in e^−s: between the points of
    a grid it lies below the chord. V_k is the largest value at s of a chord of V_{k−1} between two losses `each` apart.
    """
    cells = FINE if times <= FEW else CELLS
    step = each / cells
    far = 12 * each * math.sqrt(times) / 2  # deviations of all losses together: what goes beyond counts in full
    low = -math.ceil(min(epsilon / 2 + each, times * each) / step)
    high = math.ceil((epsilon + min(3.0, far + each)) / step)
    if high - low > NODES or each > WIDEST:
        return 1.0
    value = -np.expm1(np.minimum(epsilon - np.arange(low, high + 1) * step, 0.0))
    whole, bend = math.expm1(each), math.exp(step / 2)
    places = np.arange(cells + 1) * step
    chance = np.exp(places) * np.expm1(each - places) / whole  # of the upper of two ends: losses are those of a law
    slope = np.exp(places[:-1]) / whole
    for _ in range(times):
        value = _step(value, chance, slope * (bend - 1) ** 2, slope * math.expm1(step) * (bend / (1 + bend)) ** 2)
    return min(1.0, float(value[-low]) * (1 + _SAFETY))


def _step(value: Floats, chance: Floats, turned: Floats, opened: Floats) -> Floats:
    """One choice more. Ends between the points of the grid are covered by the two terms that are added."""
    size, cells = len(value), len(chance) - 1
    wide = np.concatenate([np.full(cells, value[0]), value, np.ones(cells)])
    best = np.zeros(size)
    before = apart = np.zeros(0)
    for j, upper in enumerate(chance):
        above, under = wide[cells + j : cells + j + size], wide[j : j + size]
        gap = np.maximum(above - under, 0.0)
        here = under + upper * (above - under)
        if j:
            bound = np.maximum(before, here) + turned[j - 1] * apart + opened[j - 1] * np.maximum(gap - apart, 0.0)
            np.maximum(best, bound, out=best)
        before, apart = here, gap
    return np.minimum(best, 1.0)
