"""The plan: how a calibration's budget is spent, from public numbers alone."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from numbers import Real
from typing import Any

from discreet.errors import BudgetError
from discreet.linear.plan import covering, finish_charge
from discreet.privacy.budget import Adjacency, Budget
from discreet.privacy.calibrate import fraction_down, halved
from discreet.privacy.ledger import Charge, Sequential
from discreet.privacy.payer import unit_of
from discreet.privacy.plan import checked_contributions, moved_rows
from discreet.privacy.unexpected import REFUSE, check_unexpected

METHODS = ("histogram", "objective")
FINISH = Fraction(1, 128)  # the share of the budget that covers the solver's and the floats' inexactness
TOLERANCE = Fraction(1, 1 << 18)
# The rounding of a certified gradient grows with rows and classes: this many have room below that tolerance.
ROWS, CLASSES = 1 << 21, 64
USUAL = {2: 0.5, 3: 0.7}  # a slope to start from: features that say the same twice make scores too sure
# Regularisation of slope and biases in units of 1/ε: two classes can do with less, as a row that pulls with all its
# weight then has no curvature.
RIDGES = {2: (1.0, 4.0), 3: (2.0, 6.0)}
START = 300.0  # rows times ε for each class, from which on counted models are calibrated
ENOUGH = 100  # rows times the calibration's own ε for each class
LEAST, MOST = Fraction(1, 40), Fraction(1, 10)  # of the budget


@dataclass(frozen=True)
class CalibrationPlan:
    """The noise of one calibration: on a histogram of scores (`spread`), or in an objective (`rate`).

    `lattice` and `steps` are those of numbers released from an objective, as in `linear`.
    """

    method: str
    classes: int
    budget: Budget
    adjacency: Adjacency
    contributions: int
    ridges: tuple[float, float]
    usual: float
    tolerance: Fraction
    rate: Fraction | None
    lattice: int
    steps: int
    epsilons: tuple[Fraction, Fraction]
    spread: Fraction | None = None
    unexpected: str = REFUSE

    @property
    def unit(self) -> str:
        """Whom the cost is counted for."""
        return unit_of(self.adjacency, self.contributions)

    @property
    def node(self) -> Sequential:
        """The ledger entry of a calibration."""
        if self.spread is not None:
            assert self.budget.epsilon is not None
            reach, what = self.spread * self.budget.epsilon, "scores in bins, by class"
            charge = Charge("discrete laplace", what, "L1", str(reach), self.spread, "epsilon", self.budget.epsilon)
            return Sequential("calibration", (charge,))
        if self.rate is None:
            return Sequential("calibration", ())
        return Sequential(
            "calibration",
            (
                Charge("objective perturbation, K-norm noise", "slope and class biases of the scores", "K",
                       "one row: gradient up to 1 and its curvature", 1 / self.rate, "epsilon",
                       self.epsilons[0] * self.contributions),
                finish_charge("slope and class biases", self, self.contributions),
            ),
        )  # fmt: skip


def calibration_share(rows: float, epsilon: float, classes: int) -> Fraction:
    """The share of a budget that a calibration is worth, from a released number of rows; zero if it is not.

    A bias comes out off by about 2/(ε_c·rows·p(1 − p)). Scores of features that repeat one another are off by more
    than that once ε_c·rows is some 30 per class, and at 200 the noise of a bias is down to a few hundredths.
    """
    weight = rows * epsilon
    if not weight >= START * classes:
        return Fraction(0)
    share = Fraction(ENOUGH) * classes / Fraction(min(weight, 1e15))
    return min(MOST, max(LEAST, share.limit_denominator(1000)))


def make_plan(
    classes: int,
    epsilon: Any,
    *,
    method: str | None = None,
    adjacency: Adjacency = Adjacency.ADD_REMOVE,
    contributions: int = 1,
    rows: float | None = None,
    unexpected: str = REFUSE,
) -> CalibrationPlan:
    """Calibrate the noise, or say what stands in the way; by default two classes take the histogram.

    `rows` is a public or bought number of rows. The tolerance of an objective grows with it past two million, its
    regularisation and the noise that covers the tolerance with its root: so many rows hardly feel either.
    """
    budget, policy = Budget(epsilon), check_unexpected(unexpected)
    if classes < 2:
        raise BudgetError("a model of one class has nothing to calibrate")
    contributions = checked_contributions(contributions)
    if rows is not None and (isinstance(rows, bool) or not isinstance(rows, Real) or not math.isfinite(float(rows))):
        raise BudgetError(f"the number of rows must be a number, not {rows!r}")
    usual = USUAL[min(classes, 3)]
    if budget.epsilon is None:
        ridges, none = (1e-3, 1e-3), (Fraction(0), Fraction(0))
        return CalibrationPlan(
            "objective", classes, budget, adjacency, contributions, ridges, usual, TOLERANCE, None, 0, 1, none,
            unexpected=policy,
        )  # fmt: skip
    if method not in (None, *METHODS) or (method == "histogram" and classes > 2):
        raise BudgetError(f"method must be 'histogram', for two classes, or 'objective', not {method!r}")
    if method == "histogram" or (method is None and classes == 2):
        spread = moved_rows(adjacency, contributions) / budget.epsilon
        pull, none = float(spread), (budget.epsilon, Fraction(0))
        return CalibrationPlan(
            "histogram", classes, budget, adjacency, contributions, (pull, pull), usual, TOLERANCE, None, 0, 1, none,
            Fraction(spread), policy,
        )  # fmt: skip
    # k rows of one person are k neighbours' steps: a mechanism at ε/k costs ε for all of them.
    share = budget.epsilon / contributions
    epsilons = (share * (1 - FINISH), share * FINISH)
    moved = moved_rows(adjacency)
    # A large ε leaves the scores to the rows; the ridge then only keeps the minimum near.
    size = 1.0 if rows is None else max(1.0, float(rows) / ROWS * max(1.0, classes / CLASSES))
    first, second = (max(ridge * moved / float(share), 1e-3) * math.sqrt(size) for ridge in RIDGES[min(classes, 3)])
    ridges = (first, second)
    rate = noise_rate(classes, ridges, float(epsilons[0]), moved)
    limit = TOLERANCE * max(Fraction(1), Fraction(1, 1 << 10) / share) * Fraction(size)
    lattice, steps = covering(limit, Fraction(min(ridges)), classes + 1)
    return CalibrationPlan(
        "objective", classes, budget, adjacency, contributions, ridges, usual, limit, rate, lattice, steps, epsilons,
        unexpected=policy,
    )  # fmt: skip


def row_cost(classes: int, ridges: tuple[float, float], rate: float) -> float:
    """sup over s of rate·s + (K−1)·ln(1 + trace/(K−1)): what one row costs, s being its 1 − p of the own class.

    Both parts are concave in s, so the supremum is where the derivative vanishes, and a tangent bounds it.
    """
    rank = classes - 1

    def trace(s: float) -> tuple[float, float]:
        level, rise = (s * (1 - s), 1 - 2 * s) if classes == 2 or s < 0.5 else (0.25, 0.0)
        spread, growth = 1 - (1 - s) ** 2 - s * s / rank, 2 * (1 - s) - 2 * s / rank
        return level / ridges[0] + spread / ridges[1], rise / ridges[0] + growth / ridges[1]

    def slope(s: float) -> float:
        whole, growth = trace(s)
        return rate + rank * growth / (rank + whole)

    low, high = halved(lambda s: slope(s) > 0, 0.0, 1.0, 40) if slope(1.0) < 0 else (1.0, 1.0)
    value = rate * low + rank * math.log1p(trace(low)[0] / rank)
    return (value + max(slope(low), 0.0) * (high - low)) * (1 + 1e-12)


def noise_rate(classes: int, ridges: tuple[float, float], epsilon: float, moved: int) -> Fraction:
    """The largest rate, rounded down, whose cost is at most ε; a replaced row pulls twice and bends once."""
    goal = epsilon * (1 - 1e-9)
    low, _ = halved(lambda rate: row_cost(classes, ridges, rate) + (moved - 1) * rate <= goal, 0.0, epsilon, 200)
    rate = fraction_down(low)
    if rate <= 0:
        raise BudgetError(f"epsilon = {epsilon:g} is too small for a calibration")
    return rate
