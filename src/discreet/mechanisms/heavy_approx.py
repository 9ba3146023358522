"""Light-tailed noise for smooth bounds under (ε, δ): constants solved from the exact divergence."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass
from fractions import Fraction
from types import SimpleNamespace
from typing import Any, ClassVar, Self

import numpy as np

from discreet.errors import BudgetError
from discreet.mechanisms import intervals
from discreet.mechanisms.heavy import DoubleExponential, Floats, Number, check_budget
from discreet.privacy.calibrate import halved

_BITS = 256

# Calibrating for a larger beta is always sound, and a ratio of scales too near 1 divides by almost zero.
_LEAST_BETA = Fraction(1, 2**34)


def _budget(epsilon: Number, beta: Number) -> tuple[Fraction, Fraction]:
    eps, rate = check_budget(epsilon, beta)
    return eps, max(rate, _LEAST_BETA)


def _float_normal(x: float) -> float:
    return math.erfc(-x / math.sqrt(2.0)) / 2


_FLOATS = SimpleNamespace(
    exp=math.exp, sqrt=lambda x: math.sqrt(max(x, 0.0)), normal=_float_normal, top=lambda x: x, number=float
)


def _certified() -> SimpleNamespace:
    """Return the same operations on intervals; `top` yields a float at or above the true value."""
    ctx = intervals.context(_BITS)

    def root(x: intervals.Interval) -> intervals.Interval:
        low, high = intervals.ends(x)
        return ctx.sqrt(intervals.hull(ctx, max(low, Fraction(0)), max(high, Fraction(0))))

    def top(x: intervals.Interval) -> float:
        high = intervals.ends(x)[1]
        return -float(intervals.float_below(-high))

    return SimpleNamespace(
        exp=ctx.exp,
        sqrt=root,
        normal=lambda x: intervals.normal_cdf(ctx, x),
        top=top,
        number=lambda q: intervals.enclose(ctx, Fraction(q)),
    )


@dataclass(frozen=True)
class _Approximate(ABC):
    """What the Laplace and Gaussian laws share: bisection in floats, then a certificate in intervals."""

    delta: Fraction
    measure: ClassVar[str] = "approximate"
    typical: ClassVar[float]

    def __post_init__(self) -> None:
        """Refuse a delta that is no probability worth the name; keep it exact."""
        if not 0 < self.delta < 1:
            raise BudgetError("The delta of an (epsilon, delta) guarantee lies strictly between 0 and 1.")
        object.__setattr__(self, "delta", Fraction(self.delta))

    def tuned(self, epsilon: Number, beta: Number) -> Self:
        """Return itself: the law has no free parameter."""
        return self

    @abstractmethod
    def _divergence(self, ops: Any, divisor: Any, epsilon: Any, beta: Any) -> float:
        """Upper end of the largest hockey-stick divergence at scale ratio 1 and at e^{±β}."""

    @abstractmethod
    def _largest_divisor(self, epsilon: float) -> float:
        """Return the s at which the density falls to e^{-ε} times that at 0: the proof needs no more."""

    def beta_limit(self, epsilon: Number) -> float:
        """Return the β at which scaling alone, without any shift, uses up δ."""
        eps, delta = float(epsilon), float(self.delta)
        return halved(
            lambda beta: self._divergence(_FLOATS, 1e-9 * eps, eps, beta) < delta, float(_LEAST_BETA), eps, 80
        )[0]

    def scale_divisor(self, epsilon: Number, beta: Number) -> Fraction:
        """Return s: the root found in floats, then lowered until intervals prove the divergence at most δ."""
        eps, rate = _budget(epsilon, beta)
        guess = self.approximate_divisor(float(eps), float(rate))
        ops, loss = _certified(), 1e-10
        while guess > 0 and loss < 1e-2:
            candidate = Fraction(guess * (1 - loss))
            used = self._divergence(ops, ops.number(candidate), ops.number(eps), ops.number(rate))
            if self._condition(candidate, eps) and Fraction(used) <= self.delta:
                return candidate
            loss *= 4
        raise BudgetError("No scale is private at this beta: choose a smaller beta or a larger delta.")

    @abstractmethod
    def _condition(self, divisor: Fraction, epsilon: Fraction) -> bool:
        """Check the proof's condition on s exactly."""

    def approximate_divisor(self, epsilon: float, beta: float) -> float:
        """Return s in floating point, or 0 if no scale is private."""
        most, rate, delta = self._largest_divisor(epsilon), max(beta, float(_LEAST_BETA)), float(self.delta)
        return halved(lambda divisor: self._divergence(_FLOATS, divisor, epsilon, rate) <= delta, 0.0, most, 60)[0]


@dataclass(frozen=True)
class Laplace(DoubleExponential, _Approximate):
    """The double exponential law, (ε, δ)-DP."""

    def _largest_divisor(self, epsilon: float) -> float:
        return epsilon

    def _condition(self, divisor: Fraction, epsilon: Fraction) -> bool:
        return divisor <= epsilon

    def _divergence(self, ops: Any, divisor: Any, epsilon: Any, beta: Any) -> float:
        # At scale ratio 1 a shift of at most ε is pure ε-DP, and the condition holds s to that.
        s, e, b, exp = divisor, epsilon, beta, ops.exp
        shrink = exp(-b)
        gap = 1 - shrink
        # Narrow law against wide one: the density ratio exceeds e^ε on an interval [-left, right] around 0.
        excess = b + s * shrink - e
        narrow = 0.0
        if ops.top(excess) > 0:
            left, right = excess / gap, excess / (1 + shrink)
            inside = 1 - (exp(-left) + exp(-right)) / 2
            other = (exp((right - s) * shrink) - exp(-(left + s) * shrink)) / 2
            narrow = ops.top(inside - exp(e) * other)
        # Wide law against narrow one: the ratio exceeds e^ε outside [-left, right], with right >= s.
        right, left = (e + b - s * shrink) / gap, (e + b + s * shrink) / gap
        outside = (exp(-(right - s) * shrink) + exp(-(left + s) * shrink)) / 2
        wide = ops.top(outside - exp(e) * (exp(-right) + exp(-left)) / 2)
        return float(max(0.0, narrow, wide))


@dataclass(frozen=True)
class Gaussian(_Approximate):
    """The normal law, (ε, δ)-DP."""

    typical: ClassVar[float] = 1.0

    def _largest_divisor(self, epsilon: float) -> float:
        return math.sqrt(2 * epsilon)

    def _condition(self, divisor: Fraction, epsilon: Fraction) -> bool:
        return divisor * divisor <= 2 * epsilon

    def _divergence(self, ops: Any, divisor: Any, epsilon: Any, beta: Any) -> float:
        s, e, b, normal, weight = divisor, epsilon, beta, ops.normal, ops.exp(epsilon)
        shifted = ops.top(normal(s / 2 - e / s) - weight * normal(-s / 2 - e / s))
        ratio = ops.exp(b)
        shrink, excess = 1 / ratio, ratio * ratio - 1
        # Narrow law against wide one: the log density ratio is a concave parabola, above ε between its roots.
        room = s * s + 2 * ratio * ratio * (b - e)
        spread = s * s + excess * room
        narrow = 0.0
        if ops.top(spread) > 0:
            root = ops.sqrt(spread)
            left, right = -(s + root) / excess, room / (s + root)
            inside = normal(right) - normal(left)
            narrow = ops.top(inside - weight * (normal((right - s) * shrink) - normal((left - s) * shrink)))
        # Wide law against narrow one: a convex parabola, above ε outside its roots.
        need = s * s + 2 * ratio * ratio * (b + e)
        root = ops.sqrt(s * s + excess * need)
        left, right = -(s + root) / excess, need / (s + root)
        outside = normal((s - right) * shrink) + normal((left - s) * shrink)
        wide = ops.top(outside - weight * (normal(-right) + normal(left)))
        return float(max(0.0, shifted, narrow, wide))

    def log_density(self, z: Floats) -> Floats:
        return np.asarray(-np.square(z) / 2 - math.log(2 * math.pi) / 2, dtype=np.float64)

    def cdf(self, z: Floats) -> Floats:
        from scipy.special import ndtr

        return np.asarray(ndtr(z), dtype=np.float64)

    def cdf_interval(self, z: Fraction, bits: int) -> tuple[Fraction, Fraction]:
        ctx = intervals.context(bits + 16)
        return intervals.ends(intervals.normal_cdf(ctx, intervals.enclose(ctx, z)))

    def sample(self, size: int, *, rng: np.random.Generator) -> Floats:
        return np.asarray(rng.standard_normal(size))
