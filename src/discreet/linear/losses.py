"""Losses: convex, with bounded slope and curvature, and what one row can cost in objective perturbation."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, ClassVar, Protocol

import numpy as np
from numpy.typing import NDArray

from discreet.linear import few, precise
from discreet.loops import kernel

Floats = NDArray[np.float64]


class Loss(Protocol):
    """ℓ(t) of a signed margin t: |ℓ′| ≤ `steepest`, 0 ≤ ℓ″ ≤ `bend`."""

    steepest: ClassVar[float] = 1.0

    @property
    def bend(self) -> float:
        """The bound of ℓ″."""

    def value(self, t: Floats) -> Floats:
        """ℓ(t)."""

    def slope(self, t: Floats) -> Floats:
        """ℓ′(t)."""

    def precise_slope(self, t: Any) -> Any:
        """ℓ′(t) in whole numbers of units of 2^−200, off by less than 2^16 of them."""

    def curvature(self, t: Floats) -> Floats:
        """ℓ″(t), where it exists; anything between its two sides elsewhere."""

    def bent(self, t: Floats, off: float) -> int:
        """How many of these margins, each off by `off` at most, may have another slope than the exact ones."""

    def worst(self, reach: float, ridge: float) -> float:
        """sup over t of reach·|ℓ′(t)| + ln(1 + ℓ″(t)/ridge): what one row costs, for rows of norm one."""


@dataclass(frozen=True)
class Logistic(Loss):
    """ln(1 + e^−t)."""

    @property
    def bend(self) -> float:
        return 0.25

    def value(self, t: Floats) -> Floats:
        return np.asarray(np.logaddexp(0.0, -t))

    def slope(self, t: Floats) -> Floats:
        return -_sigmoid(-t)

    def precise_slope(self, t: Any) -> Any:
        fallen = precise.decay(np.abs(t))
        return -np.where(t >= 0, fallen, precise.ONE) * precise.ONE // (precise.ONE + fallen)

    def curvature(self, t: Floats) -> Floats:
        s = _sigmoid(-t)
        return np.asarray(s * (1 - s))

    def bent(self, t: Floats, off: float) -> int:
        return len(t)

    def worst(self, reach: float, ridge: float) -> float:
        # With s = −ℓ′ the curvature is s(1 − s); reach·s + ln(1 + s(1 − s)/ridge) is concave in s, and its slope
        # vanishes where reach·(ridge + s − s²) + 1 − 2s = 0.
        def cost(s: float) -> float:
            return reach * s + math.log1p(s * (1 - s) / ridge)

        best = 0.5
        if reach > 0:
            half = (reach - 2) / (2 * reach)
            root = math.sqrt(half * half + ridge + 1 / reach)
            # The form without cancellation, whichever sign `half` has.
            best = half + root if half > 0 else (ridge + 1 / reach) / (root - half)
        return max(cost(min(1.0, best)), cost(0.5), cost(1.0)) * (1 + 1e-12)


@dataclass(frozen=True)
class Huber(Loss):
    """The hinge loss max(0, 1 − t) with its corner rounded off by a parabola between 1 − h and 1 + h."""

    h: float = 0.05

    @property
    def bend(self) -> float:
        return math.nextafter(1 / (2 * self.h), math.inf)

    def value(self, t: Floats) -> Floats:
        if not few.is_few(len(t), 1):
            return _by_row(_huber, t, self.h)
        over = 1 + self.h - t
        return np.asarray(np.where(over <= 0, 0.0, np.where(over >= 2 * self.h, 1 - t, over**2 / (4 * self.h))))

    def slope(self, t: Floats) -> Floats:
        return np.asarray(-np.clip((1 + self.h - t) / (2 * self.h), 0.0, 1.0))

    def precise_slope(self, t: Any) -> Any:
        h = Fraction(self.h)
        over = (precise.ONE - t) * h.denominator + precise.ONE * h.numerator  # (1 + h − t), times the denominator
        slope = np.minimum(np.maximum(over // (2 * h.numerator), 0), precise.ONE)
        return -slope

    def curvature(self, t: Floats) -> Floats:
        if not few.is_few(len(t), 1):
            return _by_row(_corner, t, self.h)
        return np.asarray(np.where(np.abs(1 - t) <= self.h, 1 / (2 * self.h), 0.0))

    def bent(self, t: Floats, off: float) -> int:
        # Beyond the rounded corner the slope is 0 or −1, whatever the margin; twice `off` covers the comparison too.
        return int(np.count_nonzero(np.abs(1 - t) <= self.h + 2 * off))

    def worst(self, reach: float, ridge: float) -> float:
        # At t = 1 − h the steepest slope meets the full curvature.
        return (reach + math.log1p(self.bend / ridge)) * (1 + 1e-12)


def _huber(t: Any, h: float, out: Any) -> None:
    for i in range(len(t)):
        over = 1 + h - t[i]
        out[i] = 0.0 if over <= 0 else 1 - t[i] if over >= 2 * h else over * over / (4 * h)


def _corner(t: Any, h: float, out: Any) -> None:
    for i in range(len(t)):
        out[i] = 1 / (2 * h) if abs(1 - t[i]) <= h else 0.0


def _by_row(loop: Any, t: Floats, h: float) -> Floats:
    """What NumPy's choices between arrays give too, to the last bit and twenty times slower."""
    out = np.empty(len(t))
    kernel(loop)(t, h, out)
    return out


def _sigmoid(t: Any) -> Floats:
    from scipy.special import expit

    return np.asarray(expit(t))
