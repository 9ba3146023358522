"""Amplification by shuffling: the central (ε, δ) of reports whose senders nobody can tell (docs/proofs/shuffling.md).

δ(ε) = (p/n)·E[(a·(1 − e^ε/p) − b·(e^ε − 1/p) − c·(e^ε − 1))₊], where of n reports a, b and c fall into three cells with
chances r, r and s: the reports that look like the one side's, like the other side's, and like either's.
"""

from __future__ import annotations

import functools
import math
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.errors import BudgetError
from discreet.privacy.plan import checked_count

Floats = NDArray[np.float64]
MOST = 10**7  # reports that are reckoned with: fewer than there are is never less private
_SAFETY = 1e-6  # relative: covers the rounding of the formulas below
_CUTS = (-7.0, -4.0, -2.5, -1.5, -0.75, 0.0, 0.75, 1.5, 3.0)  # standard deviations of c between its blocks


@dataclass(frozen=True)
class Variation:
    """How the reports of two people can differ.

    No report is more than `ratio` times as likely for one value as for another, and the total variation of the reports
    about two values is at most `total`.
    """

    ratio: float
    total: float

    @classmethod
    def of(cls, epsilon: Any, total: Any = None) -> Variation:
        """Of an ε-local mechanism, whose total variation is at most that of randomised response."""
        ratio = math.exp(float(epsilon)) * (1 + 1e-12)
        most = (ratio - 1) / (ratio + 1)
        return cls(ratio, most if total is None else min(most, float(total) * (1 + 1e-12)))


def central_delta(variation: Variation, reports: int, epsilon: float, tail: float = 1e-20) -> float:
    """A δ for which n shuffled reports are (ε, δ)-private in the centre: rounded up, tails included."""
    n, p, t = min(checked_count(reports, "the number of reports"), MOST), variation.ratio, math.exp(epsilon)
    if t >= p:
        return 0.0
    alpha = variation.total / (p - 1)
    r, s = alpha, max(1 - (1 + p) * alpha, 0.0) / p
    stray = 0.0
    if s < 1e-13:  # nobody to hide a report that looks like either's: added whole
        stray, s = p * s, 0.0
    up, down, both = 1 - t / p, t - 1 / p, t - 1
    low, high = _span(n, 2 * r, tail)
    counts = np.arange(low, high + 1, dtype=np.float64)
    mass = _mass(counts, n, 2 * r)
    hidden = s / (1 - 2 * r) if s else 0.0
    total, edges = 0.0, _edges(n, s)
    for start, stop in pairwise(edges):
        weight = np.ones_like(counts)
        if s:
            weight = np.maximum(_beyond(start - 1.0, n - counts, hidden) - _beyond(stop - 1.0, n - counts, hidden), 0.0)
        bar = down * counts + both * start  # c hides least where its block starts
        # What counts is a·(up + down) − bar where that is above zero, a of the binomial law (K, ½).
        most = np.floor(bar / (up + down))
        mean = (up + down) * counts / 2 * _beyond(most - 1, counts - 1, 0.5)
        total += float(mass @ (weight * np.maximum(mean - bar * _beyond(most, counts, 0.5), 0.0)))
    # Where K is outside of its span the positive part is at most n. Differences of chances near one are off by 1e-15.
    return min(1.0, p / n * total * (1 + _SAFETY) + 2 * p * tail + p * len(edges) * 1e-14 + stray)


def _beyond(most: Any, n: Floats, chance: float) -> Floats:
    """The chance that a binomial number is above `most`."""
    from scipy.special import betainc

    inside = (most >= 0) & (most < n)
    low, size = np.where(inside, most, 0.0), np.where(inside, n, 1.0)
    return np.asarray(np.where(inside, betainc(low + 1, size - low, chance), np.where(most < 0, 1.0, 0.0)))


def _edges(n: int, chance: float) -> list[int]:
    """Where blocks of c begin and end: 0 first and n + 1 last."""
    if not chance:
        return [0, n + 1]
    if n <= 200:  # every number by itself
        return list(range(n + 2))
    deviation = math.sqrt(n * chance * (1 - chance))
    inner = {math.floor(n * chance + cut * deviation) for cut in _CUTS}
    return [0, *sorted(one for one in inner if 0 < one <= n), n + 1]


def _span(n: int, chance: float, tail: float) -> tuple[int, int]:
    """Where all but 2·tail of a binomial law lies, by Bernstein's inequality."""
    if n <= 0 or chance <= 0:
        return 0, 0
    log = -math.log(tail)
    reach = math.sqrt(2 * n * chance * (1 - min(chance, 1.0)) * log) + 2 * log / 3 + 1
    return max(0, math.floor(n * chance - reach)), min(n, math.ceil(n * chance + reach))


def _mass(counts: Floats, n: int, chance: float) -> Floats:
    from scipy.special import gammaln, xlog1py, xlogy

    logs = gammaln(n + 1) - gammaln(counts + 1) - gammaln(n - counts + 1)
    return np.asarray(np.exp(logs + xlogy(counts, chance) + xlog1py(n - counts, -chance)) * (1 + 1e-8))


@functools.lru_cache(1024)
def central_epsilon(variation: Variation, reports: int, delta: float) -> float:
    """The least ε, rounded up, at which n shuffled reports are (ε, δ)-private in the centre; at most the local one."""
    if not 0 < delta < 1:
        raise BudgetError(f"delta must lie between 0 and 1, not {delta!r}")
    low, high = 0.0, math.log(variation.ratio)
    below = above = math.nan  # logarithms of δ at the ends, over that which is allowed
    while high - low > 5e-4 * high and high > 1e-9:
        guess = (low + high) / 2
        if not math.isnan(below + above):  # hardly curved: the secant nearly hits, from within
            guess = low + (high - low) * min(max(below / (below - above) + 1e-3, 0.02), 0.98)
        found = central_delta(variation, reports, guess, delta * 1e-6)
        over = math.log(max(found, 1e-300) / delta)
        low, high, below, above = (low, guess, below, over) if over <= 0 else (guess, high, over, above)
    return high
