"""The joint exponential mechanism for the top k: one draw over sequences, scored by their worst place."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from discreet.errors import BudgetError
from discreet.mechanisms.intervals import context, enclose, ends
from discreet.mechanisms.odds import Odds

Integers = NDArray[np.int64]
Floats = NDArray[np.float64]
MOST_EVENTS = 1 << 22


def check_events(k: int, size: int) -> None:
    """Refuse a choice that would need too much memory; both numbers are public."""
    if k * size > MOST_EVENTS:
        raise BudgetError(f"the joint mechanism needs k times the number of items to be at most {MOST_EVENTS}")


def draw_joint(scores: Integers, k: int, rate: Fraction, *, odds: Odds) -> Integers:
    """A sequence of k different items with probability in proportion to exp(−rate·loss).

    The loss is the largest shortfall max_i (i-th best score − score of the i-th item). Since
    exp(−rate·loss) = ∫_{t ≥ loss} rate·exp(−rate·t) dt, a level t is drawn first, with density in proportion to
    exp(−rate·t) times the number of sequences of loss at most t, and then one of these sequences uniformly. The
    number is a product: the items allowed in place i are a prefix of the ranking that grows with i.
    """
    check_events(k, len(scores))
    order = np.argsort(-scores, kind="stable")
    ranked = scores[order]
    levels = _levels(ranked, k, rate)
    while True:
        spot = int(np.searchsorted(levels.running, odds.coins.below(int(levels.running[-1])), side="right"))
        allowed = _allowed(ranked, k, int(levels.starts[spot]))
        if odds.below(lambda bits, spot=spot, allowed=allowed: levels.accept(spot, allowed, bits)):  # type: ignore[misc]
            break
    chosen: list[int] = []
    for reach in allowed:
        while (item := odds.coins.below(reach)) in chosen:
            pass
        chosen.append(item)
    return np.asarray(order[chosen])


def _allowed(ranked: Integers, k: int, level: int) -> list[int]:
    """How many items of the ranking fall short of place i by at most `level`, for every i."""
    return [int(reach) for reach in np.searchsorted(-ranked, level - ranked[:k], side="right")]


@dataclass(frozen=True)
class _Levels:
    """Stretches of levels between which no item becomes allowed, proposed with integer weights."""

    starts: Integers
    running: Integers
    scale: int
    top: Fraction
    rate: Fraction

    def accept(self, spot: int, allowed: list[int], bits: int) -> tuple[Fraction, Fraction]:
        """Enclose true weight over proposal weight, divided by a bound of that ratio; so it is at most 1."""
        ctx = context(bits + 64)
        start = int(self.starts[spot])
        proposal = int(self.running[spot]) - (int(self.running[spot - 1]) if spot else 0)
        count = math.prod(reach - i for i, reach in enumerate(allowed))
        weight = enclose(ctx, Fraction(count << self.scale, proposal))
        weight *= ctx.exp(enclose(ctx, -self.rate * start - self.top))
        if spot + 1 < len(self.starts):
            weight *= 1 - ctx.exp(enclose(ctx, -self.rate * (int(self.starts[spot + 1]) - start)))
        return ends(weight)


def _levels(ranked: Integers, k: int, rate: Fraction) -> _Levels:
    """The stretches with proposal weights from floats.

    With η a bound on the error of a logarithm below, the true weight of a stretch is at most exp(top)·2^−scale times
    its proposal weight, top = largest logarithm + η: a weight is rounded up to an integer, and to at least 1.
    """
    size = len(ranked)
    losses, gains = [], []
    for i in range(k):  # the item of rank j > i (from 0) is the (j+1−i)-th choice for place i, once it is allowed
        steps = np.arange(1, size - i, dtype=np.float64)
        losses.append(ranked[i] - ranked[i + 1 :])
        gains.append(np.log1p(1 / steps))
    loss, gain = np.concatenate(losses), np.concatenate(gains)
    sort = np.argsort(loss, kind="stable")
    loss, growth = loss[sort], np.cumsum(gain[sort])
    starts, first = np.unique(np.concatenate([np.zeros(1, np.int64), loss]), return_index=True)
    last = np.append(first[1:], len(loss) + 1) - 1  # events up to the end of each stretch's first level
    counts = np.concatenate([np.zeros(1), growth])[last]
    heights = float(rate) * starts.astype(np.float64)
    logs = counts - heights
    if len(starts) > 1:
        logs[:-1] += np.log(-np.expm1(-float(rate) * np.diff(starts).astype(np.float64)))
    best = float(logs.max())
    eta = 1e-6 + 2.0**-50 * len(loss) * (float(counts[-1]) + 1)
    scale = 61 - len(starts).bit_length()
    weights = np.floor(np.exp(np.maximum(logs - best, -700.0)) * 2.0**scale).astype(np.int64) + 1
    return _Levels(starts, np.cumsum(weights), scale, Fraction(best + eta), rate)
