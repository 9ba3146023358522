"""Smooth upper bounds on the sensitivity of a trimmed mean and variance, rounded up by a declared factor."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from discreet.errors import BudgetError
from discreet.loops import machine_code
from discreet.mechanisms.trimmed import IntArray, TrimmedSample

Floats = NDArray[np.float64]
Number = Fraction | float | int

# Every bound returned lies in [S, S(1+ROUNDING)]. Floating-point error in the search is below 1e-11
# (docs/proofs/smooth-sensitivity.md), so a quarter of this factor already covers it.
ROUNDING = Fraction(1, 2**30)

# A public constant bound is smooth, and so is the larger of two smooth bounds: below this many lattice
# units nothing is gained, and no exponential that matters can underflow.
FLOOR = Fraction(1, 2**64)

DIRECT = 1 << 17  # pairs of ends that are compared all at once, in about a millisecond


def charged_beta(beta: Number) -> Fraction:
    """Return the smoothness to calibrate noise for: beta plus an upper bound of ln(1+ROUNDING)."""
    return Fraction(beta) + ROUNDING


def smooth_mean_bound(sample: TrimmedSample, beta: Number) -> Fraction:
    """Bound the trimmed mean's local sensitivity smoothly under add-remove neighbours (private)."""
    rate, kept, cap = _rate(beta), sample.kept, float(sample.half_range)
    # From a window of one row or none the next row moves the mean from the midpoint to a bound.
    jump = cap * math.exp(-rate * max(kept - 1, -kept))
    if kept < 2:
        return _rounded_up(jump)
    # e^{-βr}/(N-r) is convex in r on the logarithmic scale, hence largest at r = 0 or r = N-2.
    weight = max(1.0 / kept, math.exp(-rate * (kept - 2)) / 2.0)
    return _rounded_up(min(cap, max(jump, _widest(_ends(sample, rate, 1), rate, 1) * weight)))


def smooth_variance_bound(sample: TrimmedSample, beta: Number) -> Fraction:
    """Bound the trimmed (1/N) variance's local sensitivity smoothly under add-remove neighbours (private).

    It is widest² times the largest of e^{-β(N-k)}·g(k) over k <= N.
    """
    rate, kept, weight = _rate(beta), sample.kept, 0.25
    if kept >= 2:
        # g(k) = (k-1)/k² and g(1) = g(2). ln g is convex from k = 3 on: the maximum sits at 2, 3 or N.
        sizes = {2, min(3, kept), kept}
        weight = max((k - 1) / k**2 * math.exp(-rate * (kept - k)) for k in sizes)
    return _rounded_up(_widest(_ends(sample, rate, 2), rate, 2) * weight)


def _rate(beta: Number) -> float:
    if not beta > 0:
        raise BudgetError("The smoothness beta must be positive.")
    return float(beta)


def _rounded_up(value: float) -> Fraction:
    return max(FLOOR, Fraction(value) * (1 + ROUNDING / 2))


@dataclass(frozen=True, repr=False, eq=False)
class Ends:
    """Candidate ends of a window: steps outward (ascending) and the value each first reaches."""

    low_steps: IntArray
    low_values: IntArray
    high_steps: IntArray
    high_values: IntArray


def _ends(sample: TrimmedSample, rate: float, power: int) -> Ends:
    """Collect the order statistics outward from both cuts that can matter at all."""
    low, high = sample.trim, sample.trim + sample.kept + 1
    low_room, high_room = low, sample.count + 1 - high
    full = 2.0 * sample.half_range
    inner_low, inner_high = sample.order(low), sample.order(high)
    # Four pairs known at once bound the maximum from below. A pair further out than `reach` in total
    # has weight below that bound even if it spans the whole public range.
    known = max(
        float(max(0, inner_high - inner_low)) ** power,
        (sample.half_range - inner_low) ** power * math.exp(-rate * high_room),
        (inner_high + sample.half_range) ** power * math.exp(-rate * low_room),
        full**power * math.exp(-rate * (low_room + high_room)),
        float(FLOOR),
    )
    reach = math.ceil(math.log(full**power / known) / rate * (1 + 1e-9)) + 2
    return Ends(*sample.low_tail(low, reach), *sample.high_tail(high, reach))


def _widest(ends: Ends, rate: float, power: int) -> float:
    """max of (high_t - low_s)^power · e^{-β(s+t)} over all candidate pairs."""
    if not ends.high_values.size or not ends.low_values.size:
        return 0.0
    # Rows that no upper end exceeds contribute nothing and would spoil the comparison of logarithms.
    rows = ends.low_values < ends.high_values[-1]
    if not rows.any():
        return 0.0
    low = ends.low_values[rows].astype(np.float64)
    low_weight = np.exp(-rate * ends.low_steps[rows])
    # Columns run from the far end inward, so that the best column does not decrease with the row.
    high = ends.high_values[::-1].astype(np.float64)
    high_weight = np.exp(-rate * ends.high_steps[::-1])
    if low.size * high.size <= DIRECT:
        width = np.maximum(high[None, :] - low[:, None], 0.0) ** power
        return float((width * low_weight[:, None] * high_weight[None, :]).max())
    return float(machine_code(_halving_maximum)._halving_maximum(low, low_weight, high, high_weight, power))


def _halving_maximum(
    low: Floats, low_weight: Floats, high: Floats, high_weight: Floats, power: int,
) -> float:  # fmt: skip
    """Row maxima by halving: rows between two solved ones search only between those rows' best columns."""
    rows, columns = low.size, high.size
    best = np.zeros(rows, dtype=np.int64)
    largest, step = 0.0, 1
    while 2 * step <= rows:
        step *= 2
    while step > 0:
        for row in range(step - 1, rows, 2 * step):
            first = best[row - step] if row >= step else 0
            last = best[row + step] if row + step < rows else columns - 1
            top, place = -1.0, first
            for column in range(first, last + 1):
                width = max(high[column] - low[row], 0.0)
                value = (width if power == 1 else width * width) * low_weight[row] * high_weight[column]
                if value > top:
                    top, place = value, column
            best[row] = place
            largest = max(largest, top)
        step //= 2
    return largest
