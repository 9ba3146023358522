"""The plan: how a linear model's budget is spent, from public knowledge alone."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Protocol

from discreet.domain import text
from discreet.errors import BudgetError
from discreet.linear.encode import UNIT, Encoding
from discreet.linear.losses import Loss
from discreet.mechanisms.vectors import LAWS
from discreet.privacy.budget import Adjacency, Budget, number
from discreet.privacy.calibrate import fraction_down, halved, sqrt_up
from discreet.privacy.ledger import Charge, Sequential
from discreet.privacy.plan import Protected, checked_contributions, moved_rows
from discreet.privacy.unexpected import REFUSE, check_unexpected

METHODS = ("objective", "output", "functional")
FINISH = Fraction(1, 128)  # the share of the budget that covers the solver's and the floats' inexactness
TOLERANCE = Fraction(1, 1 << 20)
OUTPUT_RIDGE = 3.0


@dataclass(frozen=True)
class LinearPlan(Protected):
    """One binary problem's noise, and how many problems share the budget.

    `rate` is γ of the noise vector's density exp(−γ‖b‖); `lattice` and `steps` are those of the released weights:
    points a multiple of 2^−lattice apart, and how many of them a neighbour can move all weights together.
    """

    encoding: Encoding
    loss: Loss
    method: str
    ridge: Fraction
    law: str
    tolerance: Fraction
    rate: Fraction | None
    lattice: int
    steps: int
    epsilons: tuple[Fraction, Fraction]

    @property
    def problems(self) -> tuple[int, ...]:
        """The class that each binary problem sets against the rest."""
        classes = len(self.schema.classes)
        return (1,) if classes == 2 else tuple(range(classes))

    @property
    def linear_reach(self) -> int:
        """The L1 sensitivity of Σ(1 − 2y)x in whole numbers."""
        return self.moved * self.encoding.slots * (UNIT if self.encoding.valued else 1)

    @property
    def square_reach(self) -> int:
        """The L1 sensitivity of the products of columns, each pair once, in whole numbers."""
        m = self.encoding.slots
        return self.moved * (m * (m + 1) // 2) * (UNIT**2 if self.encoding.valued else 1)

    @property
    def node(self) -> Sequential:
        """The ledger entry of a fit."""
        if not self.budget.private:
            return Sequential("linear model", ())
        parts = []
        for k in self.problems:
            what = f"weights of class {text(self.schema.classes[k])}"
            parts.append(Sequential(what, tuple(self._charges(what))))
        return Sequential("linear model", tuple(parts))

    def deviation(self, largest: float) -> float | None:
        """How much the noise makes a weight err, at most; `largest` is the length of the released weights.

        A tilt b of the objective moves its minimum by H⁻¹b, and no curvature H is below the regularisation; without
        rows it is just that. The functional mechanism's matrix errs as well, by a product with the weights.
        """
        if not self.budget.private:
            return None
        if self.method == "functional":
            unit = self.encoding.scale / (UNIT if self.encoding.valued else 1)
            first, second = (
                math.sqrt(2) * float(reach / share)
                for reach, share in zip((self.linear_reach, self.square_reach), self.epsilons, strict=True)
            )
            lifted = second * math.sqrt(self.encoding.columns) * unit**2 / 4 + float(self.ridge)
            return math.hypot(first * unit / 2, second * unit**2 / 4 * largest) / lifted
        assert self.rate is not None
        drawn = math.sqrt(2 if self.law == "laplace" else self.encoding.columns + 1) / float(self.rate)
        moved = drawn if self.method == "output" else drawn / float(self.ridge)
        return math.hypot(moved, final_deviation(self))

    def _charges(self, what: str) -> list[Charge]:
        first, second = self.epsilons
        if self.method == "functional":
            names = (("linear coefficients", self.linear_reach, first), ("products", self.square_reach, second))
            return [
                Charge("discrete laplace", f"{what}: {name}", "L1", str(reach), Fraction(reach) / share, "epsilon",
                       share * self.contributions)
                for name, reach, share in names
            ]  # fmt: skip
        assert self.rate is not None
        norm = "L1" if self.law == "laplace" else "L2"
        if self.method == "objective":
            reach = f"one row: gradient {norm} up to {_short(gradient_reach(self))} and its curvature"
        else:
            reach = f"{_short(output_reach(self.ridge, self.moved))}"
        return [
            Charge(f"{self.method} perturbation, {self.law} noise", what, norm, reach, 1 / self.rate, "epsilon",
                   first * self.contributions),
            finish_charge(what, self, self.contributions),
        ]  # fmt: skip


class Covering(Protocol):
    """The part of a plan that covers how far an answer is from the exact one."""

    @property
    def lattice(self) -> int:
        """Released numbers are multiples of 2^−lattice."""

    @property
    def steps(self) -> int:
        """How many of those a neighbour can move all numbers together."""

    @property
    def epsilons(self) -> tuple[Fraction, Fraction]:
        """What the noise vector and the final step cost."""


def covering(tolerance: Fraction, ridge: Fraction, columns: int) -> tuple[int, int]:
    """The lattice and its steps for so many numbers whose gradient a solver certifies to a tolerance.

    Neighbours' answers differ by 2·tolerance/ridge from a common point, and rounding adds a step per weight.
    """
    apart, width = 2 * tolerance / ridge, sqrt_up(Fraction(columns))
    lattice = math.ceil(math.log2(width / float(apart)))
    return lattice, math.ceil(Fraction(width) * apart * Fraction(2) ** lattice) + columns


def final_deviation(plan: Covering) -> float:
    """The standard deviation of what the last step adds to a weight."""
    return math.sqrt(2) * float(Fraction(plan.steps) / plan.epsilons[1] / Fraction(2) ** plan.lattice)


def finish_charge(what: str, plan: Covering, times: int) -> Charge:
    """What the final step costs, `times` that of one row."""
    spent = plan.epsilons[1]
    return Charge(
        "discrete laplace", f"{what}: distance of the solver's answer from the exact one", "L1",
        f"{plan.steps} lattice steps of 2^-{plan.lattice}", Fraction(plan.steps) / spent, "epsilon", spent * times,
    )  # fmt: skip


def _short(value: Fraction) -> str:
    return f"{float(value):.6g}"


def gradient_reach(plan: LinearPlan) -> Fraction:
    """The norm of the gradient of one row's loss, at most, in the norm of the noise."""
    return plan.encoding.one_norm if plan.law == "laplace" else Fraction(1)


def output_reach(ridge: Fraction, moved: int) -> Fraction:
    """How far a neighbour moves the minimum: steepest slope times longest row over the regularisation."""
    return Fraction(moved) / ridge


def make_plan(
    encoding: Encoding, budget: Budget, *, loss: Loss, method: str = "objective",
    adjacency: Adjacency = Adjacency.ADD_REMOVE, contributions: int = 1, ridge: Any = None, noise: str = "auto",
    tolerance: Any = None, unexpected: str = REFUSE,
) -> LinearPlan:  # fmt: skip
    """Split the budget and calibrate the noise, or say what stands in the way."""
    if method not in METHODS:
        raise BudgetError(f"method must be 'objective', 'output' or 'functional', not {method!r}")
    budget = budget.pure
    contributions = checked_contributions(contributions)
    law = _law(encoding, method, noise)
    problems = 1 if len(encoding.schema.classes) == 2 else len(encoding.schema.classes)
    # k rows of one person are k neighbours' steps: a mechanism at ε/k costs ε for all of them.
    share = None if budget.epsilon is None else budget.epsilon / (problems * contributions)
    chosen = default_ridge(encoding, loss, method, law, share) if ridge is None else number(ridge, "regularisation")
    if not Fraction(1, 10**9) <= chosen <= 10**12:
        raise BudgetError(f"the regularisation must lie between 1e-9 and 1e12, not {ridge!r}")
    chosen = Fraction(float(chosen))  # the solver's own number
    # More noise is farther from an exact draw in absolute terms, and hides a coarser answer as well.
    usual = TOLERANCE * max(1, math.ceil(loss.bend)) * max(Fraction(1), Fraction(1, 1 << 10) / (share or 1))
    limit = usual if tolerance is None else number(tolerance, "tolerance")
    if not 0 < limit <= max(Fraction(1), usual):
        raise BudgetError(f"the tolerance of the solver must lie between 0 and 1, not {tolerance!r}")
    epsilons, rate = (Fraction(0), Fraction(0)), None
    moved = moved_rows(adjacency)
    if share is not None and method == "functional":
        root = Fraction(sqrt_up(Fraction(encoding.slots))).limit_denominator(10**6)
        epsilons = (share * 4 / (4 + root), share * root / (4 + root))
    elif share is not None:
        epsilons = (share * (1 - FINISH), share * FINISH)
        if method == "output":
            rate = epsilons[0] / output_reach(chosen, moved)
        else:
            reach = encoding.one_norm if law == "laplace" else Fraction(1)
            rate = objective_rate(loss, float(reach), float(chosen), float(epsilons[0]), moved)
    lattice, steps = covering(limit, chosen, encoding.columns)
    return LinearPlan(
        encoding.schema, budget, adjacency, contributions, encoding, loss, method, chosen, law, limit, rate, lattice,
        steps, epsilons, unexpected=check_unexpected(unexpected),
    )  # fmt: skip


def _law(encoding: Encoding, method: str, noise: str) -> str:
    if noise not in (*LAWS, "auto"):
        raise BudgetError(f"noise must be 'auto', 'laplace' or 'spherical', not {noise!r}")
    if method == "output" and noise == "laplace":
        raise BudgetError("output perturbation has spherical noise: the minimum's sensitivity is Euclidean")
    if method == "functional":
        return "laplace"
    if noise != "auto":
        return noise
    if method == "output":
        return "spherical"
    # The mean square of one weight's noise: 2·slots against columns + 1, in the same unit.
    return "laplace" if 2 * encoding.slots <= encoding.columns + 1 else "spherical"


def default_ridge(encoding: Encoding, loss: Loss, method: str, law: str, epsilon: Fraction | None) -> Fraction:
    """A regularisation from public numbers: as strong as the noise on a weight, and enough to pay for curvature."""
    if epsilon is None:
        return Fraction(1)
    if method == "output":
        noisy = OUTPUT_RIDGE * math.sqrt(encoding.columns)
    elif method == "functional":
        return Fraction(1)
    else:
        spread = math.sqrt(encoding.slots) if law == "laplace" else math.sqrt((encoding.columns + 1) / 2)
        noisy = max(spread, 3 * loss.bend)
    return min(max(Fraction(1), Fraction(noisy) / epsilon), Fraction(10**12)).limit_denominator(10**6)


def objective_cost(loss: Loss, rate: float, reach: float, ridge: float, moved: int) -> float:
    """ε of objective perturbation: sup(γ·reach·|ℓ′| + ln(1 + ℓ″/Λ)), and γ·reach·L once more if a row is replaced."""
    return loss.worst(rate * reach, ridge) + (moved - 1) * rate * reach * loss.steepest


def objective_rate(loss: Loss, reach: float, ridge: float, epsilon: float, moved: int) -> Fraction:
    """The largest γ, rounded down, whose cost is at most ε."""
    goal = epsilon * (1 - 1e-9)
    if objective_cost(loss, 0.0, reach, ridge, moved) >= goal:
        least = loss.bend / math.expm1(goal) if goal < 700 else 0.0
        raise BudgetError(
            f"a regularisation of {ridge:g} leaves nothing of epsilon = {epsilon:g} for noise: it must be above "
            f"{least:.4g} here, or leave it out"
        )
    low, _ = halved(lambda rate: objective_cost(loss, rate, reach, ridge, moved) <= goal, 0.0, epsilon / reach, 200)
    rate = fraction_down(low)
    if rate <= 0:
        raise BudgetError(f"epsilon = {epsilon:g} is too small for a linear model")
    return rate
