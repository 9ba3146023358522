"""Chances: probabilities as whole numbers out of 2⁶⁴, rounded toward privacy by certified arithmetic."""

from __future__ import annotations

import math
from fractions import Fraction
from functools import lru_cache
from typing import Any

from discreet.errors import BudgetError
from discreet.mechanisms.intervals import context, enclose, ends
from discreet.privacy.budget import number

WHOLE = 1 << 64
LARGEST = 30


def local_epsilon(value: Any) -> Fraction:
    """ε of one report as an exact fraction."""
    epsilon = number(value, "epsilon") if value != math.inf else Fraction(LARGEST + 1)
    if not 0 < epsilon <= LARGEST:
        raise BudgetError(f"the epsilon of a report must lie above 0 and be at most {LARGEST}, not {value!r}")
    if epsilon < Fraction(1, 10**6):
        raise BudgetError(f"epsilon = {value} is below 1e-6: a report would say nothing")
    return epsilon


@lru_cache(1024)
def exp_bounds(exponent: Fraction, bits: int = 256) -> tuple[Fraction, Fraction]:
    """Rationals below and above e^exponent, about `bits` bits apart."""
    ctx = context(bits)
    return ends(ctx.exp(enclose(ctx, exponent)))


def share_up(weight: Fraction) -> int:
    """The chance 1/weight out of 2⁶⁴, rounded up; `weight` must not be below the true one's lower bound."""
    return min(WHOLE, math.ceil(WHOLE / weight))
