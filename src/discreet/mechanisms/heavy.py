"""Noise that may follow a smooth bound: heavy-tailed laws with proven constants (pure DP and zCDP)."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, ClassVar, Protocol

import numpy as np
from numpy.typing import NDArray

from discreet.errors import BudgetError
from discreet.mechanisms import intervals
from discreet.privacy.calibrate import halved

Number = Fraction | float | int
Floats = NDArray[np.float64]

_BITS = 256


class NoiseLaw(Protocol):
    """A symmetric unimodal law Z such that f + (S/s)·Z is private for every β-smooth bound S."""

    def __hash__(self) -> int:
        """Laws are values: equal parameters, equal hash."""

    @property
    def measure(self) -> str:
        """Name the privacy measure that epsilon refers to: pure, zcdp (rho = epsilon²/2) or approximate."""

    @property
    def typical(self) -> float:
        """Return the standard deviation of Z, or its median absolute value where there is none."""

    def beta_limit(self, epsilon: Number) -> float:
        """Return a smoothness above which no scale is private."""

    def tuned(self, epsilon: Number, beta: Number) -> NoiseLaw:
        """Return the member of the family with the least typical noise at this smoothness."""

    def scale_divisor(self, epsilon: Number, beta: Number) -> Fraction:
        """Return s, rounded down to a double: larger s means less noise."""

    def log_density(self, z: Floats) -> Floats:
        """Return the logarithm of the density of Z."""

    def cdf(self, z: Floats) -> Floats:
        """Return the distribution function in floats, accurate in the lower tail, for guesses and tests only."""

    def cdf_interval(self, z: Fraction, bits: int) -> tuple[Fraction, Fraction]:
        """Enclose the distribution function at an exact point to about 2^-bits."""

    def sample(self, size: int, *, rng: np.random.Generator) -> Floats:
        """Draw in floating point, for simulation only."""


def check_budget(epsilon: Number, beta: Number) -> tuple[Fraction, Fraction]:
    """Return both as exact fractions, or refuse."""
    if not (0 < epsilon < math.inf and 0 <= beta < math.inf):
        raise BudgetError("Smooth sensitivity needs a positive finite epsilon and a beta that is not negative.")
    return Fraction(epsilon), Fraction(beta)


class DoubleExponential:
    """The density e^−|z|/2, whatever scale is private for it."""

    typical: ClassVar[float] = math.sqrt(2.0)

    def log_density(self, z: Floats) -> Floats:
        return np.asarray(-np.abs(z) - math.log(2.0), dtype=np.float64)

    def cdf(self, z: Floats) -> Floats:
        tail = np.exp(-np.abs(z)) / 2
        return np.asarray(np.where(np.asarray(z) < 0, tail, 1 - tail), dtype=np.float64)

    def cdf_interval(self, z: Fraction, bits: int) -> tuple[Fraction, Fraction]:
        ctx = intervals.context(bits + 16)
        low, high = intervals.ends(ctx.exp(intervals.enclose(ctx, -abs(z))) / 2)
        return (low, high) if z < 0 else (1 - high, 1 - low)

    def sample(self, size: int, *, rng: np.random.Generator) -> Floats:
        return np.asarray(rng.laplace(size=size))


@dataclass(frozen=True)
class StudentT:
    """Student's t with a whole number of degrees d; pure ε-DP with an exact constant. d = 1 is Cauchy."""

    degrees: int = 3
    measure: ClassVar[str] = "pure"

    def __post_init__(self) -> None:
        """Refuse degrees for which the distribution function has no finite form."""
        if self.degrees < 1:
            raise BudgetError("Student's t needs at least one degree of freedom.")

    @property
    def typical(self) -> float:
        """Return the standard deviation, or the median absolute value for d <= 2."""
        if self.degrees > 2:
            return math.sqrt(self.degrees / (self.degrees - 2))
        return 1.0 if self.degrees == 1 else math.sqrt(2 / 3)

    def beta_limit(self, epsilon: Number) -> float:
        """Return ε/d: far in the tail the density ratio of two scales alone is e^{dβ}."""
        return float(epsilon) / self.degrees

    def tuned(self, epsilon: Number, beta: Number) -> StudentT:
        """Return itself: the degrees are the caller's choice."""
        return self

    def scale_divisor(self, epsilon: Number, beta: Number) -> Fraction:
        """Return the largest private s, √d·min(2sinh(ε/(d+1)), √(2e^β(cosh D - cosh β))), rounded down.

        D = (2ε - (d-1)β)/(d+1). The supremum of the log density ratio over all shifts up to
        s·min(b, b′) and all scale ratios up to e^β is then exactly ε (docs/proofs/heavy-tails.md).
        """
        eps, rate = check_budget(epsilon, beta)
        d = self.degrees
        if rate * d >= eps:
            raise BudgetError(f"Student's t with {d} degrees of freedom needs beta below epsilon/{d}.")
        ctx = intervals.context(_BITS)
        half = intervals.enclose(ctx, eps / (d + 1))
        still = ctx.exp(half) - ctx.exp(-half)
        opposite = intervals.enclose(ctx, (2 * eps - (d - 1) * rate) / (d + 1))
        growth = intervals.enclose(ctx, rate)
        stretched = ctx.exp(growth) * (ctx.exp(opposite) + ctx.exp(-opposite) - ctx.exp(growth) - ctx.exp(-growth))
        low = min(intervals.ends(still * still)[0], intervals.ends(stretched)[0])
        return intervals.float_below(intervals.ends(ctx.sqrt(intervals.enclose(ctx, d * low)))[0])

    def log_density(self, z: Floats) -> Floats:
        d = self.degrees
        constant = math.lgamma((d + 1) / 2) - math.lgamma(d / 2) - math.log(d * math.pi) / 2
        return np.asarray(constant - (d + 1) / 2 * np.log1p(np.square(z) / d), dtype=np.float64)

    def cdf(self, z: Floats) -> Floats:
        from scipy.special import stdtr

        return np.asarray(stdtr(self.degrees, z), dtype=np.float64)

    def cdf_interval(self, z: Fraction, bits: int) -> tuple[Fraction, Fraction]:
        """Enclose the distribution function: arctan and a polynomial for odd d, algebraic for even d."""
        d = self.degrees
        ctx = intervals.context(bits + 16)
        point, root = intervals.enclose(ctx, z), ctx.sqrt(ctx.mpf(d))
        cosine2 = intervals.enclose(ctx, d / (d + z * z))
        # Abramowitz & Stegun 26.7.3 and 26.7.4, in powers of cos²θ with tan θ = z/√d.
        series, factor = ctx.mpf(0), ctx.mpf(1)
        for k in range(d // 2):
            series += factor
            top, bottom = (2 * k + 2, 2 * k + 3) if d % 2 else (2 * k + 1, 2 * k + 2)
            factor = factor * cosine2 * top / bottom
        if d % 2:
            angle = intervals.arctangent(ctx, point / root)
            inside = 2 * (angle + point / root * cosine2 * series) / ctx.pi
        else:
            inside = point / root * ctx.sqrt(cosine2) * series
        low, high = intervals.ends((1 + inside) / 2)
        return max(low, Fraction(0)), min(high, Fraction(1))

    def sample(self, size: int, *, rng: np.random.Generator) -> Floats:
        return np.asarray(rng.standard_t(self.degrees, size))


CAUCHY = StudentT(1)


@dataclass(frozen=True)
class LaplaceLogNormal:
    """A Laplace variable times e^{σ·normal}: ε²/2-zCDP with ε = β/σ + e^{3σ²/2}·s."""

    sigma: Fraction = Fraction(1, 2)
    measure: ClassVar[str] = "zcdp"  # rho = epsilon²/2

    def __post_init__(self) -> None:
        """Refuse a spread for which the law is not defined."""
        if not 0 < self.sigma < 16:
            raise BudgetError("The Laplace-log-normal law needs a sigma between 0 and 16.")
        object.__setattr__(self, "sigma", Fraction(self.sigma))

    @property
    def typical(self) -> float:
        """Return the standard deviation."""
        return math.sqrt(2.0) * math.exp(float(self.sigma) ** 2)

    def beta_limit(self, epsilon: Number) -> float:
        """Return 4ε: any β has some σ > β/ε, but the variance then grows as e^{5σ²}."""
        return 4.0 * float(epsilon)

    def tuned(self, epsilon: Number, beta: Number) -> LaplaceLogNormal:
        """Return the σ of least variance: the positive root of 5(ε/β)σ³ - 5σ² - 1 = 0."""
        eps, rate = check_budget(epsilon, beta)
        if rate == 0:
            raise BudgetError("The Laplace-log-normal law is tuned for a positive beta.")
        ratio = float(eps / rate)
        below = 1.0 / ratio
        _, high = halved(lambda x: 5 * ratio * x**3 - 5 * x**2 - 1 < 0, below, below + 1.0, 200)
        return LaplaceLogNormal(Fraction(high))

    def scale_divisor(self, epsilon: Number, beta: Number) -> Fraction:
        """Return s = e^{-3σ²/2}(ε - β/σ), rounded down."""
        eps, rate = check_budget(epsilon, beta)
        left = eps - rate / self.sigma
        if left <= 0:
            raise BudgetError("The Laplace-log-normal law needs sigma above beta/epsilon.")
        ctx = intervals.context(_BITS)
        shrink = ctx.exp(intervals.enclose(ctx, -3 * self.sigma**2 / 2))
        return intervals.float_below(intervals.ends(shrink * intervals.enclose(ctx, left))[0])

    def _grid(self, bits: int) -> tuple[Fraction, int, float]:
        """Choose step, nodes on each side and half strip width for a trapezoid rule good to 2^-bits."""
        nats = (bits + 2) * math.log(2.0)
        strip = min(1.57 / float(self.sigma), math.sqrt(2 * nats))
        step = Fraction(2 * math.pi * strip / (nats + strip**2 / 2)).limit_denominator(4096)
        return step, math.ceil(math.sqrt(2 * nats) / float(step)) + 1, strip

    def _nodes(self) -> tuple[Floats, Floats]:
        # Finer and wider than absolute accuracy asks for: far out, relative accuracy is what matters.
        step = float(self._grid(56)[0]) / 3
        y = np.arange(-math.ceil(24 / step), math.ceil(24 / step) + 1) * step
        weights = np.exp(-np.square(y) / 2) * step / math.sqrt(2 * math.pi)
        return weights, np.exp(-float(self.sigma) * y)

    def log_density(self, z: Floats) -> Floats:
        """Return the logarithm of the density of Z, a trapezoid sum over the normal factor."""
        weights, rates = self._nodes()
        inside = np.exp(-np.abs(np.asarray(z, dtype=np.float64))[..., None] * rates)
        with np.errstate(divide="ignore"):
            return np.asarray(np.log(inside @ (weights * rates / 2)), dtype=np.float64)

    def cdf(self, z: Floats) -> Floats:
        weights, rates = self._nodes()
        point = np.asarray(z, dtype=np.float64)
        tail = np.exp(-np.abs(point)[..., None] * rates) @ (weights / 2)
        return np.where(point < 0, tail, 1 - tail)

    def cdf_interval(self, z: Fraction, bits: int) -> tuple[Fraction, Fraction]:
        """Enclose the distribution function by a trapezoid rule whose error has a closed bound.

        The integrand φ(y)·exp(-|z|e^{-σy}) is entire and, for |Im y| <= a <= π/(2σ), at most e^{a²/2}·φ(Re y)
        in modulus; the rule with step h is then off by at most 2e^{a²/2}/(e^{2πa/h} - 1), and the nodes left
        out weigh at most e^{-Y²/2}.
        """
        ctx = intervals.context(bits + 32)
        step, count, strip = self._grid(bits)
        sigma, size = intervals.enclose(ctx, self.sigma), intervals.enclose(ctx, -abs(z))
        h = intervals.enclose(ctx, step)

        def nodes() -> list[tuple[intervals.Interval, intervals.Interval]]:
            places = [h * k for k in range(-count, count + 1)]
            return [(ctx.exp(-y * y / 2), ctx.exp(-sigma * y)) for y in places]

        total = ctx.mpf(0)
        for weight, rate in intervals.table(ctx, (self.sigma, bits), nodes):
            total += weight * ctx.exp(size * rate)
        total = total * h / ctx.sqrt(2 * ctx.pi)
        a, edge = intervals.enclose(ctx, Fraction(strip)), h * count
        error = 2 * ctx.exp(a * a / 2) / (ctx.exp(2 * ctx.pi * a / h) - 1)
        slack = intervals.ends(error)[1]
        low, high = intervals.ends(total)
        low, high = (low - slack) / 2, (high + slack + intervals.ends(ctx.exp(-edge * edge / 2))[1]) / 2
        low, high = max(low, Fraction(0)), min(high, Fraction(1, 2))
        return (low, high) if z < 0 else (1 - high, 1 - low)

    def sample(self, size: int, *, rng: np.random.Generator) -> Floats:
        laplace: Any = rng.laplace(size=size)
        return np.asarray(laplace * np.exp(float(self.sigma) * rng.standard_normal(size)))
