"""Plan and release one trimmed statistic: the plan is public, the bound it scales noise by never leaves."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from discreet.errors import BudgetError
from discreet.mechanisms.heavy import CAUCHY, LaplaceLogNormal, NoiseLaw, Number, StudentT
from discreet.mechanisms.heavy_approx import Gaussian, Laplace
from discreet.mechanisms.rounded import BitSource, draw_rounded, draw_simulated
from discreet.mechanisms.smooth import (
    ROUNDING,
    Ends,
    charged_beta,
    mean_bound_of_ends,
    smooth_mean_bound,
    smooth_variance_bound,
    variance_bound_of_ends,
)
from discreet.mechanisms.trimmed import TrimmedSample

Statistic = Literal["mean", "variance"]

FAMILIES: dict[str, Callable[..., NoiseLaw]] = {
    "cauchy": lambda: CAUCHY,
    "student-t": StudentT,
    "laplace-log-normal": LaplaceLogNormal,
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

    @property
    def limits(self) -> tuple[int, int]:
        """Return the range of the released integer: lattice units or their squares, times `fineness`."""
        if self.statistic == "mean":
            return -self.half_range * self.fineness, self.half_range * self.fineness
        return 0, self.half_range**2 * self.fineness

    @property
    def spacing(self) -> Fraction:
        """Return the distance between two neighbouring values that can be released."""
        return Fraction(1, self.fineness)


def plan_smooth(
    statistic: Statistic, *, law: NoiseLaw, epsilon: Number, trim: int, half_range: int, rows: int,
    spread: float | None = None, beta: Number | None = None, fineness: int = 1,
) -> SmoothPlan:  # fmt: skip
    """Fix β and s before any row is read, from public or already released quantities only.

    `rows` is a public or noisy class count and `spread` a declared or bought standard deviation in lattice
    units; a wrong one costs accuracy, never privacy. The release counts units of 1/`fineness`.
    """
    if statistic not in ("mean", "variance"):
        raise BudgetError("A smooth release is of the mean or of the variance.")
    if beta is None:
        beta = choose_beta(
            statistic, law=law, epsilon=epsilon, trim=trim, half_range=half_range, rows=rows, spread=spread
        )
    rate = Fraction(beta)
    charged = charged_beta(rate)
    tuned = law.tuned(epsilon, charged)
    divisor = tuned.scale_divisor(epsilon, charged)
    return SmoothPlan(statistic, trim, half_range, Fraction(epsilon), rate, tuned, divisor, fineness)


def choose_beta(
    statistic: Statistic, *, law: NoiseLaw, epsilon: Number, trim: int, half_range: int, rows: int,
    spread: float | None = None,
) -> Fraction:  # fmt: skip
    """Return the β of least typical noise for a normal sample of this size and spread (default R/4)."""
    return _best_beta(
        statistic,
        law,
        float(epsilon),
        int(trim),
        int(half_range),
        max(int(rows), 1),
        half_range / 4.0 if spread is None else float(spread),
    )


@lru_cache(maxsize=4096)
def _best_beta(
    statistic: Statistic, law: NoiseLaw, epsilon: float, trim: int, half_range: int, rows: int, spread: float
) -> Fraction:
    ends = _model_ends(trim, half_range, rows, spread)
    kept = rows - 2 * trim

    def noise(log_beta: float) -> float:
        beta = math.exp(log_beta)
        divisor, typical = _cheap_divisor(law, epsilon, beta + float(ROUNDING))
        if divisor <= 0:
            return math.inf
        bound = (
            mean_bound_of_ends(ends, kept, half_range, beta)
            if statistic == "mean"
            else variance_bound_of_ends(ends, kept, beta)
        )
        return max(bound, 1e-18) / divisor * typical

    top = math.log(law.beta_limit(epsilon)) - 1e-6
    grid = np.linspace(top - math.log(1000.0), top, 41)
    costs = [noise(x) for x in grid]
    best = int(np.argmin(costs))
    low, high = grid[max(best - 1, 0)], grid[min(best + 1, grid.size - 1)]
    fine = np.linspace(low, high, 21)
    choice = float(min(fine, key=noise))
    if not math.isfinite(noise(choice)):
        raise BudgetError("No smoothness is private at this epsilon and delta.")
    return Fraction(math.exp(choice))


def _cheap_divisor(law: NoiseLaw, epsilon: float, beta: float) -> tuple[float, float]:
    """Return s and the typical noise; an uncertified s will do for comparing one β with another."""
    if isinstance(law, Laplace | Gaussian):
        return law.approximate_divisor(epsilon, beta), law.typical
    try:
        tuned = law.tuned(epsilon, beta)
        return float(tuned.scale_divisor(epsilon, beta)), tuned.typical
    except BudgetError:
        return 0.0, 1.0


def _model_ends(trim: int, half_range: int, rows: int, spread: float) -> Ends:
    """Write down the ends of a normal sample at its expected quantiles, thinned out far from the cut."""
    from scipy.special import ndtri

    near = np.arange(min(trim, 32))
    far = np.geomspace(32, max(trim - 1, 33), 192).astype(np.int64)
    steps = np.unique(np.concatenate([near, far[far < trim]])).astype(np.int64)
    # Position n-m+1+t counted from the top is m-t, and its quantile about (m-t-1/2)/n from above.
    share = np.clip((trim - steps - 0.5) / max(rows, 2 * trim + 1), 1e-300, 0.5)
    values = np.minimum(-spread * ndtri(share), half_range)
    steps = np.append(steps, trim)
    values = np.append(values, half_range).astype(np.float64)
    return Ends(steps, -values, steps, values)


def _center_and_scale(sample: TrimmedSample, plan: SmoothPlan) -> tuple[Fraction, Fraction]:
    if (sample.trim, sample.half_range) != (plan.trim, plan.half_range):
        raise BudgetError("The sample was trimmed otherwise than planned.")
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
