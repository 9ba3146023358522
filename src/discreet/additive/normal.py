"""The cost of objective perturbation with normal noise, from above (proof: docs/proofs/normal-objective.md).

With one row more the privacy loss is at most G(u) = sup over s in [0, 1] of s·a·u + c·s²·a² + ln(growth of the
Jacobian at s), where u is the largest of (classes − 1) standard normal differences: c = ½ and one normal variable for
two classes, c = 1 and differences of two for more. With one row less the last term only helps. Hence
δ(ε) ≤ E(1 − e^(ε − G))₊ for ε ≥ 0 in both directions.
"""

from __future__ import annotations

import math
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtr

from discreet.errors import BudgetError
from discreet.privacy.calibrate import halved

Floats = NDArray[np.float64]
_SLACK = 1e-9  # covers the rounding of a few dozen floating-point operations
_CELLS, _STEPS = 192, 768
_FAR = 9.0  # deviations looked at beyond the first that costs anything; the rest is added as if it cost everything


def _logs(s: Floats, spread: float, classes: int) -> tuple[Floats, Floats]:
    """ln(growth of the Jacobian) for a chance s of the other classes, which is concave in s, and its slope."""
    if classes == 2:
        inside = 1 + spread * s * (1 - s)
        return np.log(inside), spread * (1 - 2 * s) / inside
    others = classes - 1
    bent = spread * classes / others
    crowd, inside = 1 + spread * s / others, 1 + bent * s * (1 - s)
    value = (classes - 2) * np.log(crowd) + np.log(inside)
    return value, (classes - 2) * spread / others / crowd + bent * (1 - 2 * s) / inside


@lru_cache(64)
def _tangents(spread: float, classes: int) -> tuple[Floats, Floats]:
    """Points of s, and at each the larger of the tangents from the middle of the cells to its left and right.

    Between two points a chord bounds what is convex in s and the tangent what is concave; their sum is linear, so that
    the points alone decide.
    """
    points = np.linspace(0.0, 1.0, _CELLS + 1)
    value, slope = _logs((points[1:] + points[:-1]) / 2, spread, classes)
    half = slope * (0.5 / _CELLS)
    return points, np.maximum(np.append(value - half, -np.inf), np.append(-np.inf, value + half))


def worst_loss(u: Floats, slope: float, spread: float, classes: int) -> Floats:
    """G at each u, from above; it does not fall as u grows."""
    s, logs = _tangents(spread, classes)
    square = (0.5 if classes == 2 else 1.0) * slope**2
    found = np.max(np.outer(u, s * slope) + (s * s * square + logs), axis=1)
    return np.asarray(found * (1 + _SLACK) + _SLACK)


def _beyond(u: Floats, classes: int) -> Floats:
    """The chance that the normal part of the loss exceeds u, from above: a sum over the other classes."""
    if classes == 2:
        return np.asarray(ndtr(-u))
    return np.asarray(np.minimum((classes - 1) * ndtr(-u / math.sqrt(2)), 1.0))


def objective_delta(epsilon: float, slope: float, spread: float, classes: int) -> float:
    """δ at ε ≥ 0, from above: `slope` is a, the largest √(xᵀΣ⁻¹x) of a row, `spread` is q, the largest xᵀΓ⁻¹x.

    Each u counts with the loss at the right end of its cell, summed by parts so that no difference of chances is taken.
    """
    growth = float(np.max(_tangents(spread, classes)[1])) * (1 + _SLACK) + _SLACK
    # A loss is at most a·u + c·a² + growth for u ≥ 0, and less below: up to `start` none exceeds ε.
    start = (epsilon - (0.5 if classes == 2 else 1.0) * slope**2 - growth) / slope * (1 - _SLACK) - _SLACK
    far = _FAR if classes == 2 else _FAR * math.sqrt(2)
    u = np.linspace(start, start + far, _STEPS + 1) if start > 0 else np.linspace(-far, far, _STEPS + 1)
    chance = _beyond(u, classes)
    chance[0] = chance[0] if start > 0 else 1.0  # whatever is to the left counts as the first cell does
    excess = np.maximum.accumulate(-np.expm1(np.minimum(epsilon - worst_loss(u[1:], slope, spread, classes), 0.0)))
    rises = np.diff(excess, prepend=0.0)
    return float(np.sum(rises * chance[:-1]) + chance[-1]) * (1 + _SLACK)


@lru_cache(4096)
def widest_slope(epsilon: float, delta: float, spread: float, classes: int) -> float:
    """The largest a found that keeps (ε, δ) at this q; 0 if there is none."""

    def holds(slope: float) -> bool:
        return objective_delta(epsilon, slope, spread, classes) <= delta * (1 - _SLACK)

    high = math.sqrt(2 * epsilon) + epsilon
    if not holds(high * 2.0**-20):
        return 0.0
    return halved(holds, high * 2.0**-20, high, 20)[0]


def check_normal(slope: float, spread: float, epsilon: float, delta: float, classes: int) -> None:
    """The last word before anything is drawn: noise and penalties must be within (ε, δ)."""
    if not slope > 0 or not objective_delta(epsilon, slope, spread, classes) <= delta:
        raise BudgetError(f"epsilon = {epsilon:g} and delta = {delta:g} are too small for an additive model")
