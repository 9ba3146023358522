"""Plan and release one trimmed statistic: the plan is public, the bound it scales noise by never leaves."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from discreet.errors import BudgetError
from discreet.mechanisms.counted import counted_deviation, counted_mean, deviation_sensitivity, mean_sensitivity
from discreet.mechanisms.heavy import CAUCHY, LaplaceLogNormal, NoiseLaw, Number, StudentT
from discreet.mechanisms.heavy_approx import Gaussian, Laplace
from discreet.mechanisms.heavy_normal import ArsinhNormal, UniformLogNormal
from discreet.mechanisms.rounded import BitSource, draw_rounded, draw_simulated
from discreet.mechanisms.smooth import charged_beta, smooth_mean_bound, smooth_variance_bound
from discreet.mechanisms.trimmed import TrimmedSample

Statistic = Literal["mean", "variance", "deviation"]

FAMILIES: dict[str, Callable[..., NoiseLaw]] = {
    "cauchy": lambda: CAUCHY,
    "student-t": StudentT,
    "laplace-log-normal": LaplaceLogNormal,
    "uniform-log-normal": UniformLogNormal,
    "arsinh-normal": ArsinhNormal,
    "laplace": Laplace,
    "gaussian": Gaussian,
}


@dataclass(frozen=True)
class SmoothPlan:
    """Everything public about a smooth release: what the ledger may record."""

    statistic: Statistic
    trim: int
    half_range: int
    epsilon: Fraction
    beta: Fraction
    law: NoiseLaw
    divisor: Fraction
    fineness: int = 1
    rows: int = 0

    @property
    def limits(self) -> tuple[int, int]:
        """Return the range of the released integer: lattice units or their squares, times `fineness`."""
        if self.statistic == "mean":
            return -self.half_range * self.fineness, self.half_range * self.fineness
        if self.statistic == "deviation":
            return 0, self.half_range * self.fineness
        return 0, self.half_range**2 * self.fineness

    @property
    def spacing(self) -> Fraction:
        """Return the distance between two neighbouring values that can be released."""
        return Fraction(1, self.fineness)


def plan_smooth(
    statistic: Statistic, *, law: NoiseLaw, epsilon: Number, trim: int, half_range: int, beta: Number,
    fineness: int = 1, rows: int = 0,
) -> SmoothPlan:  # fmt: skip
    """Fix s before any row is read, from public or already released quantities only, such as β (see `tune`).

    The release counts units of 1/`fineness`. With `rows`, a number that is public or released, noise follows the public
    bounds at that many rows and not the data: mean and deviation as Vaidya et al. release them.
    """
    if statistic not in (("mean", "deviation") if rows else ("mean", "variance")):
        raise BudgetError("A smooth release is of the mean or of the variance.")
    rate = Fraction(beta)
    charged = charged_beta(rate)
    tuned = law.tuned(epsilon, charged)
    divisor = tuned.scale_divisor(epsilon, charged)
    return SmoothPlan(statistic, trim, half_range, Fraction(epsilon), rate, tuned, divisor, fineness, rows)


def _center_and_scale(sample: TrimmedSample, plan: SmoothPlan) -> tuple[Fraction, Fraction]:
    if (sample.trim, sample.half_range) != (plan.trim, plan.half_range):
        raise BudgetError("The sample was trimmed otherwise than planned.")
    if plan.rows and plan.statistic == "mean":
        return counted_mean(sample, plan.rows), mean_sensitivity(plan.half_range, plan.rows) / plan.divisor
    if plan.rows:
        return counted_deviation(sample, plan.rows), deviation_sensitivity(plan.half_range, plan.rows) / plan.divisor
    if plan.statistic == "mean":
        return sample.mean(), smooth_mean_bound(sample, plan.beta) / plan.divisor
    return sample.variance(), smooth_variance_bound(sample, plan.beta) / plan.divisor


def release_smooth(sample: TrimmedSample, plan: SmoothPlan, *, rng: BitSource | None = None) -> int:
    """Release the statistic on the lattice, privately under add-remove neighbours at the plan's cost."""
    center, scale = _center_and_scale(sample, plan)
    lower, upper = plan.limits
    return draw_rounded(center, scale, plan.law, lower=lower, upper=upper, spacing=plan.spacing, rng=rng)


def simulate_smooth(
    sample: TrimmedSample, plan: SmoothPlan, *, size: int, rng: np.random.Generator
) -> NDArray[np.int64]:
    """Draw many would-be releases in floating point, for studies only."""
    center, scale = _center_and_scale(sample, plan)
    lower, upper = plan.limits
    return draw_simulated(center, scale, plan.law, size=size, lower=lower, upper=upper, spacing=plan.spacing, rng=rng)
