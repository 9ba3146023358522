"""Means and deviations of a class by its public bounds and a released number of rows: Vaidya's release, made sound."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar

from discreet.mechanisms import intervals
from discreet.mechanisms.heavy import DoubleExponential, Number, check_budget
from discreet.mechanisms.trimmed import TrimmedSample

_GRID = 1 << 20  # deviations are rounded to this part of a lattice unit before noise is added, and pay for it


@dataclass(frozen=True)
class PureLaplace(DoubleExponential):
    """The double exponential law at a scale that does not follow the data: ε-DP with s = ε."""

    measure: ClassVar[str] = "pure"

    def beta_limit(self, epsilon: Number) -> float:
        """Return ε: a public bound is smooth for every β."""
        return float(epsilon)

    def tuned(self, epsilon: Number, beta: Number) -> PureLaplace:
        """Return itself: the law has no free parameter."""
        return self

    def scale_divisor(self, epsilon: Number, beta: Number) -> Fraction:
        """Return ε, rounded down to a double."""
        return intervals.float_below(check_budget(epsilon, beta)[0])


def counted_mean(sample: TrimmedSample, rows: int) -> Fraction:
    """The sum of the coordinates over the number of them, or over `rows` where there are fewer."""
    return sample.mean() * sample.count / max(sample.count, rows)


def mean_sensitivity(half_range: int, rows: int) -> Fraction:
    """How far one row more or less moves that mean: 2R/(rows + 1)."""
    return Fraction(2 * half_range, rows + 1)


def counted_deviation(sample: TrimmedSample, rows: int) -> Fraction:
    """The root of the squared distances from the mean over the number of rows, or `rows`; rounded down to a grid."""
    if not sample.count:
        return Fraction(0)
    spread = sample.variance() * sample.count / max(sample.count, rows) * _GRID**2
    return Fraction(math.isqrt(spread.numerator // spread.denominator), _GRID)


def deviation_sensitivity(half_range: int, rows: int) -> Fraction:
    """How far one row moves that deviation: 2R·√(rows − 1)/rows or 2R·√rows/(rows + 1), rounding included."""
    squares = (Fraction(rows - 1, rows**2), Fraction(rows, (rows + 1) ** 2))
    square = max(squares) * (2 * half_range * _GRID) ** 2
    return Fraction(math.isqrt(square.numerator // square.denominator) + 2, _GRID)
