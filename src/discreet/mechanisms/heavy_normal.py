"""Two more concentrated laws of Bun and Steinke for smooth bounds: uniform-log-normal and arsinh-normal (zCDP)."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import Any, ClassVar

import numpy as np

from discreet.errors import BudgetError
from discreet.mechanisms import intervals
from discreet.mechanisms.heavy import Floats, Number, check_budget
from discreet.privacy.calibrate import halved

_BITS = 256
_SHAPES = [Fraction(k, 32) for k in range(8, 129)]  # the sigma that tuning chooses from: it only affects accuracy
# Closed bounds of the arsinh-normal law, rounded up: the largest x/cosh x, the root of x·tanh x = 1, and 4/√27.
WIDEST, ROOT, BEND = Fraction(66275, 100_000), Fraction(11997, 10_000), Fraction(7699, 10_000)


def _check(sigma: Fraction, name: str) -> Fraction:
    if not 0 < sigma < 16:
        raise BudgetError(f"The {name} law needs a sigma between 0 and 16.")
    return Fraction(sigma)


def _hazard(u: float) -> float:
    """φ(u)/Φ(−u), the hazard rate of the normal law."""
    if u > 25:
        return u + 1 / u
    return math.exp(-u * u / 2) / math.sqrt(2 * math.pi) / (math.erfc(u / math.sqrt(2)) / 2)


@lru_cache(maxsize=1024)
def _flattest(sigma: float) -> tuple[float, float]:
    """A bracket of floats around the u with h(u) − u = σ, where the slope is steepest."""
    return halved(lambda u: _hazard(u) - u > sigma, -16.0 - sigma, 2 + 1 / sigma, 80)


def _slope(sigma: float) -> float:
    """The steepest slope of the uniform-log-normal law in floats: good enough to compare one σ with another."""
    u = _flattest(sigma)[0]
    return (sigma + u) * math.exp(sigma**2 - sigma * u) / sigma


@lru_cache(maxsize=1024)
def steepest_uniform(sigma: Fraction) -> Fraction:
    """A certified upper end of the steepest slope of the log-density of the uniform-log-normal law.

    At |z| = e^{σ(u−σ)} the slope is h(u)·e^{σ²−σu}/σ with the hazard rate h; ln h(u) − σu is concave (0 < h′ < 1), so
    the tangent at the lower end of a bracket around its maximum, h(u) − u = σ, lies above it.
    """
    low, high = _flattest(float(sigma))
    a, b = Fraction(low) - Fraction(1, 2**30), Fraction(high) + Fraction(1, 2**30)
    ctx = intervals.context(_BITS)
    shape = intervals.enclose(ctx, sigma)

    def rate(u: Fraction) -> intervals.Interval:
        at = intervals.enclose(ctx, u)
        return ctx.exp(-at * at / 2) / ctx.sqrt(2 * ctx.pi) / intervals.normal_cdf(ctx, -at)

    first = rate(a)
    rise = first - intervals.enclose(ctx, a) - shape
    if intervals.ends(rise)[0] <= 0 or intervals.ends(rate(b) - intervals.enclose(ctx, b) - shape)[1] >= 0:
        raise BudgetError("The uniform-log-normal law has no certified slope at this sigma: choose a larger one.")
    top = first * ctx.exp(shape * shape - shape * intervals.enclose(ctx, a) + rise * intervals.enclose(ctx, b - a))
    return intervals.ends(top / shape)[1]


@dataclass(frozen=True)
class UniformLogNormal:
    """A uniform variable on [−1, 1] times e^{σ·normal}: ε²/2-zCDP with ε = β/σ + L(σ)·s, L the steepest slope."""

    sigma: Fraction = Fraction(1)
    measure: ClassVar[str] = "zcdp"  # rho = epsilon²/2

    def __post_init__(self) -> None:
        """Refuse a spread for which the law is not defined."""
        object.__setattr__(self, "sigma", _check(self.sigma, "uniform-log-normal"))

    @property
    def typical(self) -> float:
        """Return the standard deviation."""
        return math.exp(float(self.sigma) ** 2) / math.sqrt(3.0)

    def beta_limit(self, epsilon: Number) -> float:
        """Return 3ε: the largest σ that tuning knows is 4."""
        return 3.0 * float(epsilon)

    def tuned(self, epsilon: Number, beta: Number) -> UniformLogNormal:
        """Return the σ of least standard deviation e^{σ²}·L(σ)/(ε − β/σ) among public candidates."""
        check_budget(epsilon, beta)
        return min(map(UniformLogNormal, _SHAPES), key=lambda law: law.unit_noise(float(epsilon), float(beta)))

    def unit_noise(self, epsilon: float, beta: float) -> float:
        """Return the typical noise per unit of the bound, in floats; infinite where no scale is private."""
        left, sigma = epsilon - beta / float(self.sigma), float(self.sigma)
        return self.typical * _slope(sigma) / left if left > 0 else math.inf

    def scale_divisor(self, epsilon: Number, beta: Number) -> Fraction:
        """Return s = (ε − β/σ)/L(σ), rounded down."""
        eps, rate = check_budget(epsilon, beta)
        left = eps - rate / self.sigma
        if left <= 0:
            raise BudgetError("The uniform-log-normal law needs sigma above beta/epsilon.")
        return intervals.float_below(left / steepest_uniform(self.sigma))

    def log_density(self, z: Floats) -> Floats:
        """Return ln(½·e^{σ²/2}·Φ(−ln|z|/σ − σ))."""
        from scipy.special import log_ndtr

        sigma = float(self.sigma)
        with np.errstate(divide="ignore"):
            place = np.log(np.abs(np.asarray(z, dtype=np.float64))) / sigma
        return np.asarray(sigma**2 / 2 - math.log(2.0) + log_ndtr(-place - sigma), dtype=np.float64)

    def cdf(self, z: Floats) -> Floats:
        from scipy.special import log_ndtr

        sigma, point = float(self.sigma), np.asarray(z, dtype=np.float64)
        with np.errstate(divide="ignore"):
            log = np.log(np.abs(point))
        log = np.minimum(log, 700.0)  # e^700 is as good as infinity
        far, near = log_ndtr(-log / sigma), log + sigma**2 / 2 + log_ndtr(-log / sigma - sigma)
        tail = np.exp(far) * -np.expm1(np.minimum(near - far, 0.0)) / 2
        return np.asarray(np.where(point < 0, tail, 1 - tail), dtype=np.float64)

    def cdf_interval(self, z: Fraction, bits: int) -> tuple[Fraction, Fraction]:
        """Enclose the distribution function: the tail is ½(Φ(−ln|z|/σ) − |z|·e^{σ²/2}·Φ(−ln|z|/σ − σ))."""
        if z == 0:
            return Fraction(1, 2), Fraction(1, 2)
        size = abs(z)
        ctx = intervals.context(bits + 32 + max(0, size.numerator.bit_length() - size.denominator.bit_length()))
        at, sigma = intervals.enclose(ctx, size), intervals.enclose(ctx, self.sigma)
        place = ctx.log(at) / sigma
        inner = at * ctx.exp(sigma * sigma / 2) * intervals.normal_cdf(ctx, -place - sigma)
        return _around(z, (intervals.normal_cdf(ctx, -place) - inner) / 2)

    def sample(self, size: int, *, rng: np.random.Generator) -> Floats:
        uniform: Any = rng.uniform(-1, 1, size)
        return np.asarray(uniform * np.exp(float(self.sigma) * rng.standard_normal(size)))


@dataclass(frozen=True)
class ArsinhNormal:
    """sinh(σ·normal)/σ: ε²/2-zCDP with ε = K(σ)·β + L(σ)·s, K = ROOT/σ + BEND·σ and L = WIDEST/σ + σ/2."""

    sigma: Fraction = Fraction(3, 4)
    measure: ClassVar[str] = "zcdp"  # rho = epsilon²/2

    def __post_init__(self) -> None:
        """Refuse a spread for which the law is not defined."""
        object.__setattr__(self, "sigma", _check(self.sigma, "arsinh-normal"))

    @property
    def typical(self) -> float:
        """Return the standard deviation."""
        sigma = float(self.sigma)
        return math.sqrt(math.expm1(2 * sigma**2) / 2) / sigma

    @property
    def growth(self) -> Fraction:
        """Return K: what a change of the scale by e^β costs for each β."""
        return ROOT / self.sigma + BEND * self.sigma

    @property
    def steepest(self) -> Fraction:
        """Return L: what a shift costs for each unit."""
        return WIDEST / self.sigma + self.sigma / 2

    def beta_limit(self, epsilon: Number) -> float:
        """Return ε over the least K."""
        return float(epsilon) / (2 * math.sqrt(float(ROOT * BEND)))

    def tuned(self, epsilon: Number, beta: Number) -> ArsinhNormal:
        """Return the σ of least standard deviation among public candidates."""
        check_budget(epsilon, beta)
        # The σ of least K stands among them: it is private whenever any is.
        fallback = ArsinhNormal(Fraction(math.sqrt(float(ROOT / BEND))))
        laws = [*map(ArsinhNormal, _SHAPES), fallback]
        return min(laws, key=lambda law: law.unit_noise(float(epsilon), float(beta)))

    def unit_noise(self, epsilon: float, beta: float) -> float:
        """Return the typical noise per unit of the bound, in floats; infinite where no scale is private."""
        left = epsilon - float(self.growth) * beta
        return self.typical * float(self.steepest) / left if left > 0 else math.inf

    def scale_divisor(self, epsilon: Number, beta: Number) -> Fraction:
        """Return s = (ε − K·β)/L, rounded down."""
        eps, rate = check_budget(epsilon, beta)
        left = eps - self.growth * rate
        if left <= 0:
            raise BudgetError("The arsinh-normal law needs a beta below epsilon over its growth.")
        return intervals.float_below(left / self.steepest)

    def log_density(self, z: Floats) -> Floats:
        """Return the logarithm of φ(y)/cosh(σy) at y = arsinh(σz)/σ."""
        sigma = float(self.sigma)
        x = np.arcsinh(sigma * np.asarray(z, dtype=np.float64))
        return np.asarray(-np.square(x / sigma) / 2 - np.logaddexp(x, -x) + math.log(2) - math.log(2 * math.pi) / 2)

    def cdf(self, z: Floats) -> Floats:
        from scipy.special import ndtr

        sigma = float(self.sigma)
        return np.asarray(ndtr(np.arcsinh(sigma * np.asarray(z, dtype=np.float64)) / sigma), dtype=np.float64)

    def cdf_interval(self, z: Fraction, bits: int) -> tuple[Fraction, Fraction]:
        """Enclose the distribution function Φ(arsinh(σz)/σ)."""
        if z == 0:
            return Fraction(1, 2), Fraction(1, 2)
        ctx = intervals.context(bits + 32)
        at, sigma = intervals.enclose(ctx, self.sigma * abs(z)), intervals.enclose(ctx, self.sigma)
        place = ctx.log(at + ctx.sqrt(at * at + 1)) / sigma
        return _around(z, intervals.normal_cdf(ctx, -place))

    def sample(self, size: int, *, rng: np.random.Generator) -> Floats:
        sigma = float(self.sigma)
        return np.asarray(np.sinh(sigma * rng.standard_normal(size)) / sigma)


def _around(z: Fraction, tail: intervals.Interval) -> tuple[Fraction, Fraction]:
    """The distribution function at z from an enclosure of the tail beyond |z|."""
    low, high = intervals.ends(tail)
    low, high = max(low, Fraction(0)), min(high, Fraction(1, 2))
    return (low, high) if z < 0 else (1 - high, 1 - low)
