"""Accounting of Skellam noise: its Rényi bound, composed over statistics and converted to (ε, δ)."""

from __future__ import annotations

import functools
import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

from discreet.errors import BudgetError
from discreet.privacy.calibrate import fraction_down, halved

_SAFETY = 1e-9  # covers the rounding of the floating-point formulas below
_ORDERS = (*range(2, 64), *sorted({int(64 * 1.07**i) for i in range(160)}))


@dataclass(frozen=True)
class SkellamPart:
    """One statistic: its sensitivities and the variance of its noise."""

    l1: Fraction
    l2_squared: Fraction
    variance: Fraction


def skellam_rdp(order: int, parts: Sequence[SkellamPart], factor: float = 1.0) -> float:
    """The Rényi divergence of whole order ≥ 2, bounded from above, with every variance times `factor`.

    Agarwal, Kairouz and Liu (2021): αΔ₂²/(2μ) + min(((2α − 1)Δ₂² + 6Δ₁)/(4μ²), 3Δ₁/(2μ)) for integer-valued statistics.
    """
    total = 0.0
    for part in parts:
        l1, l2, mu = float(part.l1), float(part.l2_squared), float(part.variance) * factor
        total += order * l2 / (2 * mu) + min(((2 * order - 1) * l2 + 6 * l1) / (4 * mu * mu), 3 * l1 / (2 * mu))
    return total * (1 + _SAFETY)


def skellam_delta(parts: Sequence[SkellamPart], epsilon: float, factor: float = 1.0) -> float:
    """δ at ε: the best whole order of a fixed list, each of which is valid."""
    best = 0.0
    for order in _ORDERS:
        divergence = skellam_rdp(order, parts, factor)
        logarithm = (order - 1) * (divergence - epsilon) + order * math.log1p(-1 / order) - math.log(order - 1)
        best = min(best, logarithm)
    return min(1.0, math.exp(best) * (1 + _SAFETY))


@functools.lru_cache(256)
def skellam_factor(parts: tuple[SkellamPart, ...], epsilon: Fraction, delta: Fraction) -> Fraction:
    """The least factor (from above) for all variances at which the release is (ε, δ)-DP."""
    target, tail = float(epsilon) * (1 - _SAFETY), float(delta) * (1 - _SAFETY)

    def lacks(factor: float) -> bool:
        return skellam_delta(parts, target, factor) > tail

    low, high = 0.0, 1.0
    while lacks(high):
        low, high = high, high * 2
        if high > 2.0**200:
            raise BudgetError("no Skellam noise reaches this budget: raise epsilon or delta")
    _, high = halved(lacks, low, high, 60)
    return -fraction_down(-high * (1 + _SAFETY))
