"""The cost of objective perturbation for rows whose blocks add up to one (proof: docs/proofs/additive.md).

A row with probability 1 − s for its own class moves the gradient by at most 2s in the norm of the noise (s if there
are two classes) and multiplies the Jacobian by at most det(I + q(diag p − ppᵀ)), which is largest if the other classes
share s evenly. Both together are a concave function of s, so that a tangent bounds its maximum from above.
"""

from __future__ import annotations

import math
from functools import lru_cache

from discreet.errors import BudgetError
from discreet.privacy.calibrate import halved

_SLACK = 1e-11  # covers the rounding of a dozen floating-point operations


def reach(classes: int) -> int:
    """The most that one row moves the gradient, in the norm of the noise."""
    return 1 if classes == 2 else 2


def _curve(s: float, rate: float, spread: float, classes: int) -> float:
    if classes == 2:
        return rate * s + math.log1p(spread * s * (1 - s))
    others = classes - 1
    crowd = (classes - 2) * math.log1p(spread * s / others)
    return 2 * rate * s + crowd + math.log1p(spread * s * (1 - s) * classes / others)


def _slope(s: float, rate: float, spread: float, classes: int) -> float:
    if classes == 2:
        return rate + spread * (1 - 2 * s) / (1 + spread * s * (1 - s))
    others = classes - 1
    crowd = (classes - 2) * spread / (others + spread * s)
    bent = spread * classes / others
    return 2 * rate + crowd + bent * (1 - 2 * s) / (1 + bent * s * (1 - s))


def worst(rate: float, spread: float, classes: int) -> float:
    """sup over s of rate·|residual| + ln(growth of the Jacobian), from above."""
    if _slope(1.0, rate, spread, classes) >= 0:
        return _curve(1.0, rate, spread, classes) * (1 + _SLACK)
    low, _ = halved(lambda s: _slope(s, rate, spread, classes) > 0, 0.0, 1.0, 60)
    slope = _slope(low, rate, spread, classes)
    above = _curve(low, rate, spread, classes) + max(slope * (1 - low), -slope * low)
    return above * (1 + _SLACK) + _SLACK * spread


def objective_cost(rate: float, spread: float, classes: int, moved: int) -> float:
    """ε of objective perturbation; a replaced row pays for its residual twice and for curvature once."""
    return worst(rate, spread, classes) + (moved - 1) * rate * reach(classes)


@lru_cache(4096)
def widest(rate: float, epsilon: float, classes: int, moved: int) -> float:
    """The largest spread q of scores that a noise rate leaves room for within ε; 0 if there is none."""
    goal = epsilon * (1 - 1e-9)
    if objective_cost(rate, 0.0, classes, moved) > goal:
        return 0.0
    low, high = 0.0, 1.0
    while objective_cost(rate, high, classes, moved) <= goal and high < 2.0**40:
        low, high = high, 2 * high
    return halved(lambda spread: objective_cost(rate, spread, classes, moved) <= goal, low, high, 60)[0]


def check_cost(rate: float, spread: float, epsilon: float, classes: int, moved: int) -> None:
    """The last word before anything is drawn: the rate and the penalties must be within ε."""
    if not rate > 0 or not objective_cost(rate, spread, classes, moved) <= epsilon:
        raise BudgetError(f"epsilon = {epsilon:g} is too small for an additive model")
