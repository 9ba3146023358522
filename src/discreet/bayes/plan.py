"""The plan: how a budget is split over the statistics, made from public knowledge before any data are read."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from numbers import Integral
from typing import Any, Literal

from discreet.bayes.sensitivity import Sensitivity, square_sensitivity, sum_sensitivity, table_sensitivity
from discreet.errors import BudgetError
from discreet.mechanisms.laws import gaussian_variance, laplace_variance
from discreet.privacy.budget import Adjacency, Budget, number
from discreet.privacy.calibrate import counting_rho, zcdp_rho
from discreet.privacy.ledger import Charge, Sequential, cost
from discreet.schema import Numeric, Schema
from discreet.statistics import Detail

Kind = Literal["class", "table", "present", "sum", "square"]
NUMERIC = ("histogram", "gaussian", "truncated-gaussian")
MECHANISMS = ("auto", "laplace", "gaussian")


@dataclass(frozen=True)
class Item:
    """One statistic of the bundle: `cells` integers for every class."""

    kind: Kind
    feature: str
    cells: int
    half: int = 0
    share: Fraction = Fraction(0)
    charge: Charge | None = None

    @property
    def key(self) -> tuple[str, str]:
        """What identifies the statistic within the bundle."""
        return self.kind, self.feature

    @property
    def what(self) -> str:
        """The statistic in words."""
        return {
            "class": "rows by class",
            "table": f"rows by class and {self.feature}",
            "present": f"rows by class and whether {self.feature} is present",
            "sum": f"sum of {self.feature} by class",
            "square": f"sum of squares of {self.feature} by class",
        }[self.kind]

    def sensitivity(self, adjacency: Adjacency, contributions: int) -> Sensitivity:
        """How far a neighbour can move this statistic over all classes together."""
        if self.kind == "sum":
            return sum_sensitivity(self.half, adjacency, contributions)
        if self.kind == "square":
            return square_sensitivity(self.half, adjacency, contributions)
        return table_sensitivity(adjacency, contributions)

    @property
    def variance(self) -> float:
        """The variance of the noise on one integer; 0 without noise."""
        if self.charge is None:
            return 0.0
        spread = float(self.charge.spread)
        return laplace_variance(spread) if self.charge.measure == "epsilon" else gaussian_variance(spread)


@dataclass(frozen=True)
class Plan:
    """What will be released, with which noise, at which cost."""

    schema: Schema
    budget: Budget
    adjacency: Adjacency
    contributions: int
    mechanism: str
    numeric: str
    accounting: str
    rho: Fraction | None
    items: tuple[Item, ...] = field(repr=False)

    @property
    def node(self) -> Sequential:
        """The ledger entry of one fit."""
        return Sequential("Naive Bayes statistics", tuple(item.charge for item in self.items if item.charge))

    @property
    def detail(self) -> tuple[Detail, ...]:
        """The statistics of numbers that have to be counted."""
        return ("bins",) if self.numeric == "histogram" else ("moments",)

    def rows(self) -> list[dict[str, Any]]:
        """The plan as a list of plain records, for people and machines."""
        return [
            {
                "statistic": item.what,
                "cells": item.cells * len(self.schema.classes),
                "share": float(item.share),
                "cost": float(item.charge.cost) if item.charge else None,
                "mechanism": item.charge.mechanism if item.charge else "none",
                "noise": item.variance**0.5,
            }
            for item in self.items
        ]

    def to_dict(self) -> dict[str, Any]:
        """The plan as plain values."""
        return {
            "schema_hash": self.schema.hash,
            "adjacency": str(self.adjacency),
            "contributions": self.contributions,
            "mechanism": self.mechanism,
            "numeric": self.numeric,
            "epsilon": None if self.budget.epsilon is None else float(self.budget.epsilon),
            "delta": float(self.budget.delta),
            "rho": None if self.rho is None else float(self.rho),
            "accounting": self.accounting,
            "statistics": self.rows(),
        }

    def __str__(self) -> str:
        rows = self.rows()
        width = max(len(row["statistic"]) for row in rows)
        head = f"{'statistic':<{width}}  {'cells':>6}  {'share':>6}  noise (standard deviation)"
        lines = [
            f"{row['statistic']:<{width}}  {row['cells']:>6}  {row['share']:>6.1%}  {row['noise']:.4g}" for row in rows
        ]
        return "\n".join([f"{self.budget}, {self.adjacency} neighbours, {self.mechanism} noise", head, *lines])


def make_plan(
    schema: Schema,
    budget: Budget,
    *,
    adjacency: Adjacency = Adjacency.ADD_REMOVE,
    mechanism: str = "auto",
    numeric: str = "histogram",
    split: str | Mapping[str, Any] = "weighted",
    contributions: int = 1,
) -> Plan:
    """Split a budget over the statistics that Naive Bayes needs; raises if it does not suffice."""
    if numeric not in NUMERIC:
        raise BudgetError(f"numeric must be one of {', '.join(NUMERIC)}, not {numeric!r}")
    if mechanism not in MECHANISMS:
        raise BudgetError(f"mechanism must be one of {', '.join(MECHANISMS)}, not {mechanism!r}")
    if isinstance(contributions, bool) or not isinstance(contributions, Integral) or int(contributions) < 1:
        raise BudgetError("contributions must be a whole number of rows, at least 1")
    contributions = int(contributions)
    if mechanism == "auto":
        mechanism = "laplace" if budget.kind in {"pure", "none"} else "gaussian"
    items = _items(schema, numeric)
    shares = _shares(schema, items, split, mechanism)
    items = [Item(i.kind, i.feature, i.cells, i.half, share) for i, share in zip(items, shares, strict=True)]
    items = [item for item in items if item.share]
    unit, accounting = _unit(budget, mechanism, items, adjacency, contributions)
    plan = Plan(
        schema, budget, adjacency, contributions, mechanism if budget.private else "none", numeric, accounting,
        unit if budget.private and mechanism == "gaussian" else None,
        tuple(_charged(item, unit, mechanism, adjacency, contributions) for item in items),
    )  # fmt: skip
    if unit is not None and cost(plan.node, "rho" if mechanism == "gaussian" else "epsilon") > unit:
        raise BudgetError("the split spends more than the budget")
    return plan


def _items(schema: Schema, numeric: str) -> list[Item]:
    items = [Item("class", schema.target, 1)]
    for feature in schema.features:
        if not isinstance(feature, Numeric) or numeric == "histogram":
            items.append(Item("table", feature.name, feature.cells))
            continue
        half = feature.lattice.half
        if feature.missing_code is not None:
            items.append(Item("present", feature.name, 2))
        items += [Item("sum", feature.name, 1, half), Item("square", feature.name, 1, half)]
    return items


def _shares(schema: Schema, items: list[Item], split: Any, mechanism: str) -> list[Fraction]:
    """The share of the budget for each statistic; they add up to one at most, exactly."""
    counted = any(item.kind in {"table", "present"} for item in items)
    if isinstance(split, Mapping):
        return _explicit(schema, items, split, counted)
    if split == "equal":
        weights = [1] * len(items)
    elif split == "weighted":
        # Minimising Σ cells/ε² under Σ ε gives ε ∝ cells^(1/3); under Σ ρ, with variance 1/ρ, ρ ∝ cells^(1/2).
        # Class totals come for free with any count table.
        power = 0.5 if mechanism == "gaussian" else 1 / 3
        weights = [round(item.cells**power * 2**20) for item in items]
        weights[0] = 0 if counted else weights[0]
    else:
        raise BudgetError(f"split must be 'equal', 'weighted' or a mapping of shares, not {split!r}")
    whole = sum(weights)
    return [Fraction(weight, whole) for weight in weights]


def _explicit(schema: Schema, items: list[Item], split: Mapping[str, Any], counted: bool) -> list[Fraction]:
    shares = {str(name): number(share, f"the share of {name!r}") for name, share in split.items()}
    for name in shares:
        if name not in (*schema.names, schema.target):
            raise BudgetError(f"split names {name!r}, which is neither a feature nor the target")
    for name in schema.names:
        if name not in shares:
            raise BudgetError(f"split has no share for {name!r}: give every feature one")
    if any(share < 0 for share in shares.values()) or not all(shares[name] for name in schema.names):
        raise BudgetError("every share in split must be above zero")
    if sum(shares.values()) > 1:
        raise BudgetError(f"the shares in split add up to {float(sum(shares.values())):g}, which is more than 1")
    if not counted and not shares.get(schema.target):
        raise BudgetError(f"split needs a share for the class counts under the target's name, {schema.target!r}")
    parts = {name: sum(item.feature == name for item in items) for name in shares}
    return [shares.get(item.feature, Fraction(0)) / parts.get(item.feature, 1) for item in items]


def _unit(
    budget: Budget, mechanism: str, items: list[Item], adjacency: Adjacency, contributions: int
) -> tuple[Fraction | None, str]:
    """The whole amount to share out, in ε or ρ, and how it follows from the budget."""
    if not budget.private:
        return None, "none: no noise was added"
    if mechanism == "laplace":
        if budget.epsilon is None:
            raise BudgetError("the laplace mechanism spends epsilon: give one, or use the gaussian mechanism")
        return budget.epsilon, "pure epsilon, costs added up exactly"
    if budget.rho is not None:
        return budget.rho, "rho of zCDP, costs added up exactly"
    if not budget.delta:
        raise BudgetError("the gaussian mechanism needs a delta above zero: add one, or use the laplace mechanism")
    assert budget.epsilon is not None
    rho = zcdp_rho(budget.epsilon, budget.delta)
    accounting = "rho of zCDP, costs added up exactly, then the tight conversion to (epsilon, delta)"
    if contributions == 1 and all(item.kind in {"class", "table", "present"} for item in items):
        moved = 1 if adjacency is Adjacency.ADD_REMOVE else 2
        tight = counting_rho(budget.epsilon, budget.delta, tuple((item.share, moved) for item in items))
        if tight > rho:
            rho, accounting = (
                tight,
                "privacy loss distributions of the discrete Gaussian, composed by dp-accounting",
            )
    return rho, accounting


def _charged(item: Item, unit: Fraction | None, mechanism: str, adjacency: Adjacency, contributions: int) -> Item:
    """The item with its noise: scale Δ₁/ε, or σ² = Δ₂²/(2ρ)."""
    if unit is None:
        return item
    sensitivity, spent = item.sensitivity(adjacency, contributions), unit * item.share
    if mechanism == "laplace":
        charge = Charge(
            "discrete Laplace", item.what, "L1", str(sensitivity.l1), sensitivity.l1 / spent, "epsilon", spent
        )
    else:
        charge = Charge(
            "discrete Gaussian", item.what, "L2 squared", str(sensitivity.l2_squared),
            sensitivity.l2_squared / (2 * spent), "rho", spent,
        )  # fmt: skip
    return Item(item.kind, item.feature, item.cells, item.half, item.share, charge)
