"""Settings of the numbers' statistics: which estimator, which noise, how many rows are trimmed, what is declared."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from numbers import Integral
from typing import Any, Literal

from discreet.bayes.likelihoods import likelihood_of
from discreet.errors import BudgetError
from discreet.mechanisms.counted import PureLaplace
from discreet.mechanisms.heavy import NoiseLaw, StudentT
from discreet.mechanisms.heavy_approx import Gaussian, Laplace
from discreet.mechanisms.smooth import ROUNDING
from discreet.mechanisms.smooth_plan import FAMILIES
from discreet.privacy.budget import Budget, number
from discreet.privacy.calibrate import step_delta, zcdp_rho
from discreet.schema import Numeric, Schema

SENSITIVITIES = ("global", "smooth", "auto")
ESTIMATORS = ("moments", "trimmed", "bun-steinke", "vaidya")
CONCENTRATED = ("laplace-log-normal", "uniform-log-normal", "arsinh-normal")
NOISES = ("student-t", "cauchy", *CONCENTRATED, "laplace", "gaussian")
STUDENTS = (StudentT(1), StudentT(2), StudentT(3))  # few degrees need less trimming, many have lighter tails
Accounting = Literal["epsilon", "rho", "epsilon and delta"]


@dataclass(frozen=True)
class Smooth:
    """How means and variances are released where noise may follow a smooth bound; all of it is public."""

    sensitivity: str
    estimator: str
    noise: str
    trim: int | Fraction | None
    spreads: tuple[tuple[str, Fraction], ...]
    buy: bool
    accounting: Accounting = "epsilon"
    delta: Fraction = Fraction(0)
    steps: int = 1

    @property
    def kinds(self) -> tuple[Literal["mean"], Literal["variance", "second", "deviation"]]:
        """The two statistics of a number."""
        if self.estimator == "vaidya":
            return ("mean", "deviation")
        return ("mean", "second") if self.estimator == "bun-steinke" else ("mean", "variance")

    def bought(self, feature: Numeric) -> bool:
        """Whether the spread of a number is estimated at a cost because nobody declared it."""
        return self.buy and feature.name not in dict(self.spreads)

    def ratio(self, feature: Numeric) -> float | None:
        """The declared standard deviation as a share of the half range; None if it was not declared."""
        declared = dict(self.spreads).get(feature.name)
        if declared is None:
            return None
        return float(declared / (feature.lattice.step * feature.lattice.half))

    def step(self, cost: Fraction) -> Fraction:
        """The ε of one add-remove step such that `steps` of them cost no more than `cost` in the plan's measure.

        ε-DP over k steps is kε. ε²/2-zCDP over k steps is k²ε²/2, so ε = √(2·cost)/k, rounded down.
        """
        if self.accounting != "rho":
            return cost / self.steps
        doubled = 2 * cost
        return Fraction(math.isqrt((doubled.numerator << 256) // doubled.denominator), (1 << 128) * self.steps)

    def step_delta(self, epsilon: Fraction) -> Fraction:
        """The δ of one step of several."""
        return step_delta(self.delta, epsilon, self.steps)

    def laws(self, epsilon: Fraction) -> tuple[NoiseLaw, ...]:
        """The laws to choose from for one release at this ε per step."""
        if self.estimator == "vaidya":
            return (PureLaplace(),)
        if self.noise == "student-t":
            return STUDENTS
        if self.noise == "cauchy":
            return STUDENTS[:1]
        if self.noise in CONCENTRATED:
            return (FAMILIES[self.noise](),)
        return ((Laplace if self.noise == "laplace" else Gaussian)(self.step_delta(epsilon)),)

    def check(self, cost: Fraction) -> None:
        """Refuse, before any row is read, a share so small that no smoothness is private at it."""
        epsilon = self.step(cost)
        if not epsilon or self.laws(epsilon)[-1].beta_limit(epsilon) < 16 * float(ROUNDING):
            raise BudgetError("the budget is too small for smooth sensitivity: raise it, or use sensitivity='global'")


def smooth_settings(
    schema: Schema,
    budget: Budget,
    *,
    numeric: str,
    sensitivity: Any = "global",
    estimator: Any = None,
    noise: Any = None,
    trim: Any = "auto",
    spread: Any = None,
) -> Smooth | None:
    """Check what the user asked for; None if every number is released by global sensitivity."""
    if sensitivity not in SENSITIVITIES:
        raise BudgetError(f"sensitivity must be one of {', '.join(SENSITIVITIES)}, not {sensitivity!r}")
    if estimator is not None and estimator not in ESTIMATORS:
        raise BudgetError(f"estimator must be one of {', '.join(ESTIMATORS)}, not {estimator!r}")
    if noise is not None and noise not in NOISES:
        raise BudgetError(f"noise must be one of {', '.join(NOISES)}, not {noise!r}")
    if estimator in {None, "moments"} and sensitivity == "global":
        return None
    if estimator == "moments":
        raise BudgetError("plain moments have no smooth bound worth having: use estimator='trimmed' or 'bun-steinke'")
    if likelihood_of(numeric).statistic == "table":
        raise BudgetError("smooth sensitivity is for means and variances: choose numeric='gaussian'")
    if estimator == "vaidya":
        return _by_counts(schema, budget, sensitivity, noise, trim, spread)
    rows, spreads, buy = _trim(trim), _spreads(schema, spread), spread == "buy" or sensitivity == "auto"
    if not schema.numeric or (not budget.private and rows is None):
        return None  # nothing to trim, or no noise that trimming would save
    return Smooth(
        "auto" if sensitivity == "auto" else "smooth", estimator or "trimmed", noise or "student-t", rows, spreads, buy
    )


def _by_counts(schema: Schema, budget: Budget, sensitivity: Any, noise: Any, trim: Any, spread: Any) -> Smooth | None:
    """Means and deviations by the public bounds and the released class counts; nothing about them can be chosen."""
    if sensitivity == "auto" or noise is not None or trim != "auto" or spread is not None:
        raise BudgetError("estimator='vaidya' has Laplace noise by the public bounds: leave sensitivity, noise, trim "
                          "and spread out")  # fmt: skip
    return (
        Smooth("global", "vaidya", "laplace by counts", None, (), False) if schema.numeric and budget.private else None
    )


def _trim(trim: Any) -> int | Fraction | None:
    if isinstance(trim, str) and trim == "auto":
        return None
    if isinstance(trim, Integral) and not isinstance(trim, bool) and int(trim) >= 0:
        return int(trim)
    share = number(trim, "trim")
    if not 0 <= share < Fraction(1, 2):
        raise BudgetError("trim must be 'auto', a whole number of rows, or a share of the rows below one half")
    return share


def _spreads(schema: Schema, spread: Any) -> tuple[tuple[str, Fraction], ...]:
    if spread is None or (isinstance(spread, str) and spread == "buy"):
        return ()
    if not isinstance(spread, Mapping):
        raise BudgetError("spread must be 'buy' or a mapping from features to standard deviations that are public")
    names = {feature.name for feature in schema.numeric}
    for name in spread:
        if name not in names:
            raise BudgetError(f"spread names {name!r}, which is no numeric feature of the schema")
    values = tuple((str(name), number(value, f"the spread of {name!r}")) for name, value in spread.items())
    if any(value <= 0 for _, value in values):
        raise BudgetError("every declared spread must be above zero")
    return values


def choose_accounting(smooth: Smooth, budget: Budget, mechanism: str, statistics: int) -> tuple[Accounting, str]:
    """What the costs are counted in, and the noise of counts that goes with it."""
    light = smooth.noise in {"laplace", "gaussian"}
    if light:
        if budget.kind != "approximate":
            raise BudgetError(f"noise={smooth.noise!r} under a smooth bound needs a delta above zero: use 'student-t'")
        if mechanism == "gaussian":
            raise BudgetError(f"noise={smooth.noise!r} composes with laplace counts: leave mechanism at 'auto'")
        return "epsilon and delta", "laplace"
    if smooth.noise in CONCENTRATED:
        if budget.kind == "pure" or mechanism == "laplace":
            raise BudgetError(f"{smooth.noise} noise is concentrated: it needs a delta and gaussian counts")
        return "rho", "gaussian"
    if mechanism == "auto":
        if budget.kind == "approximate":
            assert budget.epsilon is not None
            # Adding up k equal parts allows ε/k each; adding up their squares allows √(2ρ/k) each.
            better = 2 * zcdp_rho(budget.epsilon, budget.delta) * statistics > budget.epsilon**2
            mechanism = "gaussian" if better else "laplace"
        else:
            mechanism = "gaussian" if budget.kind == "zcdp" else "laplace"
    return ("rho", mechanism) if mechanism == "gaussian" else ("epsilon", mechanism)
