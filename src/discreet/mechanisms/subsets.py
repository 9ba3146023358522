"""Private choice of k out of D items by integer scores: exact draws of four mechanisms (docs/proofs/selection.md)."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from discreet.errors import BudgetError
from discreet.mechanisms.noise import Sampler
from discreet.mechanisms.odds import Odds

Integers = NDArray[np.int64]
_STEPS = 60


def draw_mask(scores: Integers, k: int, rate: Fraction, *, odds: Odds) -> Integers:
    """A set of k items with probability in proportion to exp(rate·Σ scores): the exponential mechanism over masks.

    Independent coins with odds exp(rate·score + c) have this law given that k of them show heads, whatever c is;
    c is tuned so that k heads are expected, and the draw is repeated until there are k.
    """
    if k == len(scores):
        return np.arange(k)
    gaps = np.partition(scores, -k)[-k] - scores
    shift = _shift(float(rate) * gaps.astype(np.float64), k)
    while True:
        heads = odds.logistic(gaps, rate, shift)
        if np.count_nonzero(heads) == k:
            return np.flatnonzero(heads)


def _shift(heights: NDArray[np.float64], k: int) -> float:
    """The c for which about k heads are expected: it only saves time, nothing depends on its being right."""
    if k == 1:  # within a factor of the best, without a search
        return -math.log(float(np.exp(-heights).sum()))
    low, high = -50.0 - math.log(len(heights)), 50.0 + math.log(len(heights))
    for _ in range(_STEPS):
        middle = (low + high) / 2
        expected = float((1 / (1 + np.exp(np.clip(heights - middle, -700.0, 700.0)))).sum())
        if abs(expected - k) < 0.01:
            return middle
        low, high = (middle, high) if expected < k else (low, middle)
    return (low + high) / 2


def draw_peeled(scores: Integers, k: int, rate: Fraction, *, odds: Odds) -> Integers:
    """k items in order, each drawn from those left with probability in proportion to exp(rate·score).

    Adding Gumbel noise of scale 1/rate to every score once and taking the k largest has the same law.
    """
    left = np.arange(len(scores))
    chosen = []
    for _ in range(k):
        spot = int(draw_mask(scores[left], 1, rate, odds=odds)[0])
        chosen.append(int(left[spot]))
        left = np.delete(left, spot)
    return np.array(chosen)


def draw_flipped(scores: Integers, k: int, rate: Fraction, *, odds: Odds) -> Integers:
    """k items in order, each by permute-and-flip from those left.

    The first of a random order whose coin of chance exp(−rate·(best − score)) shows heads is uniform among heads.
    """
    left = np.arange(len(scores))
    chosen = []
    for _ in range(k):
        heads = np.flatnonzero(odds.exponential(scores[left].max() - scores[left], rate))
        spot = int(heads[odds.coins.below(len(heads))])
        chosen.append(int(left[spot]))
        left = np.delete(left, spot)
    return np.array(chosen)


def draw_above(
    scores: Integers, k: int, threshold: int, *, fence: Fraction, query: Fraction, sampler: Sampler, odds: Odds
) -> Integers:
    """Up to k items whose noisy score reaches a noisy threshold, met in random order; the sparse vector technique.

    Noise of scale `fence` goes on the threshold, once, and noise of scale `query` on every score. Where fewer than k
    pass, items that did not are drawn without looking at the data again.
    """
    order = shuffled(len(scores), odds=odds)
    bar = int(sampler.laplace(np.array([threshold]), fence)[0])
    passed = sampler.laplace(scores[order], query) >= bar  # what comes after the k-th is not looked at
    return np.concatenate([order[passed][:k], order[~passed]])[:k]


def draw_ranked(noisy: Integers, k: int, *, odds: Odds) -> Integers:
    """The k largest of scores that are noisy already; ties are broken at random."""
    order = shuffled(len(noisy), odds=odds)
    return order[np.argsort(-noisy[order], kind="stable")[:k]]


def shuffled(size: int, *, odds: Odds) -> Integers:
    """The numbers below `size` in an order that is uniform over all orders."""
    order = np.arange(size)
    for i in range(size - 1, 0, -1):
        j = odds.coins.below(i + 1)
        order[i], order[j] = order[j], order[i]
    return order


def check_scores(scores: Integers, k: int) -> None:
    """Refuse what no mechanism here can choose from."""
    if not 1 <= k <= len(scores):
        raise BudgetError(f"k must lie between 1 and the number of items, {len(scores)}, not {k}")
    if int(scores.max()) - int(scores.min()) >= 2**62:
        raise BudgetError("the scores are too far apart for 64-bit integers")
