"""The plan of a settlement: which bounds and bin edges are bought, and what the histograms behind them cost."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from fractions import Fraction
from statistics import NormalDist
from typing import Any

from discreet.bounds.grid import Octaves
from discreet.errors import BudgetError, SchemaError
from discreet.privacy.budget import Adjacency, Budget
from discreet.privacy.calibrate import counting_rho, zcdp_rho
from discreet.privacy.ledger import Charge, Sequential
from discreet.privacy.plan import Protected, checked_contributions
from discreet.privacy.unexpected import REFUSE, check_unexpected
from discreet.schema import Numeric, Schema

CHOICES = ("declared", "private")
FALSE = 1 / 100  # the chance, for each number, that noise alone widens its bounds
FIRST_FALSE = 1 / 5  # the same at the first look, where a second look must confirm it
OCTAVES, PARTS = "power of two", "part of a power of two"
BY_RHO = "rho of zCDP, costs added up exactly, then the tight conversion to (epsilon, delta)"
BY_LOSSES = "privacy loss distributions of the discrete Gaussian, composed by dp-accounting"
EDGE_SHARE = Fraction(1, 2)  # of the budget, where edges are bought too


@dataclass(frozen=True)
class SettlePlan(Protected):
    """What will be bought: the bounds of the numbers in `bounds`, and bin edges inside them for those in `edges`."""

    bounds: tuple[str, ...]
    edges: tuple[str, ...]
    octaves: Charge | None
    parts: Charge | None
    rho: Fraction | None = None  # of both looks, where they are paid for with a δ
    accounting: str = "pure epsilon, costs added up exactly"

    @property
    def features(self) -> tuple[Numeric, ...]:
        """The numbers that the settlement is about, in the schema's order."""
        return tuple(feature for feature in self.schema.numeric if feature.name in self.bounds)

    @property
    def node(self) -> Sequential:
        """The ledger entry."""
        charges = tuple(charge for charge in (self.octaves, self.parts) if charge is not None)
        return Sequential("bounds and bins of numbers", charges)

    def threshold(self, feature: Numeric) -> int:
        """A noisy count above this is not noise alone, but for a small chance over all octaves of a number."""
        if self.octaves is None:
            return 0
        chance = FIRST_FALSE if feature.name in self.edges else FALSE
        return _quantile(self.octaves, chance / Octaves.of(feature).size)

    @property
    def second_threshold(self) -> int:
        """What the second count of an octave must exceed to confirm it: both looks together err by FALSE."""
        return 0 if self.parts is None else _quantile(self.parts, FALSE / FIRST_FALSE)

    @property
    def second_scale(self) -> float:
        """The scale of the second look's noise; of Gaussian noise, that of Laplace noise that errs as much."""
        return 0.0 if self.parts is None else _scale(self.parts)

    def no_worse(self, other: SettlePlan) -> bool:
        """Whether bounds are found among as few rows as by another plan, or fewer, and edges drawn as sharply."""
        found = all(self.threshold(feature) <= other.threshold(feature) for feature in self.features)
        return found and self.second_threshold <= other.second_threshold and self.second_scale <= other.second_scale

    def to_dict(self) -> dict[str, Any]:
        """Plain values for machines."""
        return {
            "schema_hash": self.schema.hash,
            "adjacency": str(self.adjacency),
            "contributions": self.contributions,
            "epsilon": None if self.budget.epsilon is None else float(self.budget.epsilon),
            "delta": float(self.budget.delta),
            "numbers": self.rows(),
        }

    def rows(self) -> list[dict[str, Any]]:
        """For people: every number, what is bought of it, and from which cells."""
        return [
            {
                "number": feature.name,
                "buys": "bounds and edges" if feature.name in self.edges else "bounds",
                "octaves": Octaves.of(feature).size,
                "threshold": self.threshold(feature),
            }
            for feature in self.features
        ]


def _quantile(charge: Charge, chance: float) -> int:
    """The least t ≥ 0 that noise exceeds with no more than this chance; of Gaussian noise, one that is surely enough.

    Discrete Laplace noise exceeds t with chance q^(t+1)/(1 + q), q = exp(−1/scale); discrete Gaussian noise with no
    more than normal noise.
    """
    if charge.measure == "rho":
        return max(0, math.ceil(-math.sqrt(float(charge.spread)) * NormalDist().inv_cdf(chance)))
    scale = float(charge.spread)
    return max(0, math.ceil(-scale * math.log(chance * (1 + math.exp(-1 / scale))) - 1))


def _scale(charge: Charge) -> float:
    spread = float(charge.spread)
    return math.sqrt(spread / 2) if charge.measure == "rho" else spread


def make_settle_plan(
    schema: Schema,
    budget: Budget,
    *,
    bounds: Any = "declared",
    edges: Any = None,
    adjacency: Adjacency = Adjacency.ADD_REMOVE,
    contributions: int = 1,
    unexpected: str = REFUSE,
) -> SettlePlan:
    """Plan a settlement from public knowledge alone.

    `bounds` "private" buys the bounds of every number, "declared" of those that the schema leaves open. `edges`
    "private" buys bounds and edges of every number whose bins are a count, "declared" buys no edges; None follows the
    bounds.
    """
    if bounds not in CHOICES:
        raise BudgetError(f"bounds must be one of {', '.join(CHOICES)}, not {bounds!r}")
    if edges is not None and edges not in CHOICES:
        raise BudgetError(f"edges must be one of {', '.join(CHOICES)}, not {edges!r}")
    counted = {feature.name for feature in schema.numeric if isinstance(feature.bins, int)}
    open_ = set(schema.unsettled) | (counted if bounds == "private" else set())
    cut = counted if edges == "private" else (open_ & counted) if edges is None else set()
    bought = tuple(feature.name for feature in schema.numeric if feature.name in open_ | cut)
    if not bought:
        raise SchemaError("there are no bounds to find: no number with a count of bins has private bounds or edges")
    plan = SettlePlan(
        schema, budget.pure, adjacency, checked_contributions(contributions), bought,
        tuple(name for name in bought if name in cut), None, None, unexpected=check_unexpected(unexpected),
    )  # fmt: skip
    if budget.epsilon is None:
        return plan
    plan = _charged(plan, budget.epsilon)
    gaussian = _by_rho(plan, budget) if budget.delta else plan
    return gaussian if gaussian.no_worse(plan) else plan


def _charged(plan: SettlePlan, epsilon: Fraction) -> SettlePlan:
    """A row is in at most one cell of every number, so it moves one count for each of them."""
    second = epsilon * EDGE_SHARE if plan.edges else Fraction(0)

    def charge(what: str, names: tuple[str, ...], spent: Fraction) -> Charge:
        moved = Fraction(plan.moves * len(names))
        return Charge("discrete Laplace", _told(what, names), "L1", str(moved), moved / spent, "epsilon", spent)

    octaves = charge(OCTAVES, plan.bounds, epsilon - second)
    parts = charge(PARTS, plan.edges, second) if plan.edges else None
    return replace(plan, octaves=octaves, parts=parts)


def _by_rho(plan: SettlePlan, budget: Budget) -> SettlePlan:
    """Both looks by Gaussian noise: all rows of a person may be in one cell of a number, and leave it for another."""
    assert budget.epsilon is not None
    share = EDGE_SHARE if plan.edges else Fraction(0)
    sides = plan.moves // plan.contributions
    rho, accounting = zcdp_rho(budget.epsilon, budget.delta), BY_RHO
    if plan.contributions == 1:
        looks = [(1 - share, sides * len(plan.bounds)), (share, sides * len(plan.edges))]
        tight = counting_rho(budget.epsilon, budget.delta, tuple(look for look in looks if look[0]))
        rho, accounting = (tight, BY_LOSSES) if tight > rho else (rho, accounting)

    def charge(what: str, names: tuple[str, ...], spent: Fraction) -> Charge:
        moved = Fraction(plan.contributions**2 * sides * len(names))
        return Charge(
            "discrete Gaussian", _told(what, names), "L2 squared", str(moved), moved / (2 * spent), "rho", spent
        )

    octaves = charge(OCTAVES, plan.bounds, rho * (1 - share))
    parts = charge(PARTS, plan.edges, rho * share) if plan.edges else None
    return replace(plan, budget=budget, octaves=octaves, parts=parts, rho=rho, accounting=accounting)


def _told(what: str, names: tuple[str, ...]) -> str:
    return f"rows by {what} of each of {', '.join(names)}"
