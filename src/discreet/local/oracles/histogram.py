"""Histogram encoding: noise on the one-hot vector, sent as it is (SHE) or cut at a threshold (THE)."""

from __future__ import annotations

import math
from collections.abc import Iterable
from fractions import Fraction
from functools import cached_property
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from discreet.domain import exact
from discreet.errors import DiscreetError, SchemaError
from discreet.local.chances import WHOLE, exp_bounds
from discreet.local.entropy import Source
from discreet.local.geometric import SLACK, DiscreteLaplace
from discreet.local.mechanism import Floats, Law, Reports, independent
from discreet.local.oracles.base import ORACLES, Oracle
from discreet.local.oracles.unary import UnaryOracle
from discreet.local.wire.integers import Integers, Run

UNIT = 16  # lattice steps per person
THOUSAND = 1000


@ORACLES.register
class SHE(Oracle):
    """The one-hot vector on a lattice of sixteenths, with discrete Laplace noise on every component.

    A report says a number for every value, not yes or no: its mean is 1 for the true value (`p`) and 0 for the others
    (`q`). Two values differ by 2·16 lattice steps in two components. Outputs are clamped to 16 − reach … reach,
    so that beyond a clamp there are always `reach` magnitudes left to cut off, which have a share below 2⁻⁴⁴.

    >>> SHE(3, 1).perturb([0, 1, 2, 2]).shape
    (4, 3)
    """

    name, code, script = "she", 4, "histogram"
    literals: ClassVar[dict[str, str]] = {"UNIT": f"{UNIT}n"}
    dtype = np.dtype(np.int32)

    @classmethod
    def listed(cls) -> Iterable[Self]:
        return [cls(2, 20)]  # whole reports can be listed only where noise is small

    def _prepare(self) -> None:
        self.noise = DiscreteLaplace(2 * UNIT / (self.epsilon - 2 * SLACK))
        self.low, self.high = UNIT - self.noise.reach, self.noise.reach
        self.p, self.q = Fraction(1), Fraction(0)
        self.shape, self.runs = (self.d,), (Run(self.low, self.high, self.d),)
        self.batch = max(1, (1 << 18) // self.d)

    def draw(self, value: int, source: Source) -> tuple[int, ...]:
        drawn = (UNIT * (one == value) + self.noise.draw(source) for one in range(self.d))
        return tuple(min(max(one, self.low), self.high) for one in drawn)

    def fill(self, values: Integers, out: Reports, rng: np.random.Generator | None) -> None:
        self.noise.fill(out.reshape(-1), rng)
        out[np.arange(len(out)), values] += UNIT
        np.clip(out, self.low, self.high, out=out)

    def speaks(self) -> tuple[float, float]:
        ratio = math.exp(-1 / float(self.noise.scale))
        return 1 - ratio**UNIT / (1 + ratio), ratio / (1 + ratio)

    def component_law(self, bit: int) -> dict[int, Fraction]:
        """The exact law of one component, of the true value (1) or another (0); for large ε."""
        return self.noise.law(UNIT * bit, self.low, self.high)

    def law(self, value: int) -> Law:
        return independent(self.component_law(one == value) for one in range(self.d))

    @cached_property
    def worst(self) -> Fraction:
        """The largest ratio: components are independent, and two values differ in two of them, in opposite ways."""
        mine, rest = self.component_law(1), self.component_law(0)
        return max(mine[x] / rest[x] for x in mine) * max(rest[x] / mine[x] for x in rest)

    def constants(self) -> dict[str, Any]:
        thresholds = [str(one) for one in self.noise.thresholds]
        return {"unit": UNIT, "thresholds": thresholds, "low": self.low, "high": self.high, "bytes": self.runs[0].each}

    def says(self, reports: Reports) -> NDArray[Any]:
        return self.rows(reports)

    def estimate(self, support: Any, m: int) -> Floats:
        return np.asarray(support, np.float64) / UNIT

    def variance(self, m: int, frequency: float = 0.0) -> float:
        """The same for every frequency: the noise does not depend on the value."""
        return m * self.noise.variance / UNIT**2

    def simulate(self, counts: Any, rng: np.random.Generator) -> Integers:
        """Clamping is left out: it has a chance below 2⁻⁴⁴·e^{ε/2} per component."""
        true = np.asarray(counts, np.int64)
        return UNIT * true + self.noise.total(int(true.sum()), self.d, rng)


@ORACLES.register
class THE(UnaryOracle):
    """Which components of a noisy one-hot vector exceed θ, with Laplace noise of scale 2/ε: one bit each.

    Bits are drawn by their chances p = 1 − ½e^{(ε/2)(θ−1)} and q = ½e^{−εθ/2}, so no noise is drawn. The ratio of
    chances is (2e^{ε/4}−1)² at most, whatever θ, and that is below e^ε. θ is a whole number of thousandths; without
    one, that of the lowest mean variance is taken.

    >>> float(THE(5, 1, theta=0.25).theta)
    0.25
    """

    name, code = "the", 5
    takes_theta, tight = True, False

    def __init__(self, d: int, epsilon: Any, theta: Any = None) -> None:
        self._asked = theta
        super().__init__(d, epsilon)

    @classmethod
    def of(cls, d: int, epsilon: Any, parameter: int = 0) -> Self:
        if not parameter:
            raise DiscreetError("a report of 'the' states its threshold")
        return cls(d, epsilon, Fraction(parameter, THOUSAND))

    def _thresholds(self) -> tuple[int, int]:
        self.parameter = best_theta(self.d, float(self.epsilon)) if self._asked is None else thousandths(self._asked)
        self.theta = Fraction(self.parameter, THOUSAND)
        half = self.epsilon / 2
        missed = exp_bounds(half * (self.theta - 1))[1] / 2
        found = exp_bounds(-half * self.theta)[1] / 2
        return WHOLE - math.ceil(WHOLE * missed), math.ceil(WHOLE * found)

    def __repr__(self) -> str:
        return f"{super().__repr__()[:-1]}, theta={float(self.theta):g})"


def thousandths(theta: Any) -> int:
    """θ as a whole number of thousandths above 0 and up to 1, or an error."""
    try:
        value = Fraction(0) if isinstance(theta, bool) else exact(theta) * THOUSAND
    except (TypeError, ValueError, OverflowError, ArithmeticError):
        value = Fraction(0)
    if value.denominator != 1 or not 0 < value <= THOUSAND:
        raise SchemaError(f"theta is a multiple of 0.001 above 0 and at most 1, not {theta!r}")
    return int(value)


def best_theta(d: int, epsilon: float) -> int:
    """The θ, in thousandths, at which the variance is lowest on average over the values of the domain."""

    def mean_variance(place: int) -> float:
        theta = place / THOUSAND
        missed, found = epsilon / 2 * (theta - 1), -epsilon / 2 * theta
        q, rest = math.exp(found) / 2, math.exp(missed) / 2
        slope = -(math.expm1(missed) + math.expm1(found)) / 2
        return q * (1 - q) / slope**2 + (rest - q) / slope / d

    return min(range(1, THOUSAND + 1), key=mean_variance)
