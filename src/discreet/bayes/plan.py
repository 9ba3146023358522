"""The plan: how a budget is split over the statistics, made from public knowledge before any data are read."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from fractions import Fraction
from numbers import Integral
from typing import Any, Literal

from discreet.bayes.bundles import bundle_cost, bundle_tables
from discreet.bayes.sensitivity import Sensitivity, square_sensitivity, sum_sensitivity, table_sensitivity
from discreet.bayes.settings import Smooth, choose_accounting, smooth_settings, steps_between
from discreet.domain import text
from discreet.errors import BudgetError
from discreet.mechanisms.laws import gaussian_variance, laplace_variance
from discreet.privacy.budget import Adjacency, Budget, number
from discreet.privacy.calibrate import counting_rho, zcdp_rho
from discreet.privacy.ledger import Charge, Node, Parallel, Sequential, SmoothCharge, cost
from discreet.schema import Numeric, Schema
from discreet.statistics import Detail

Kind = Literal["class", "table", "present", "coarse", "sum", "square", "mean", "variance", "second"]
NUMERIC = ("histogram", "gaussian", "truncated-gaussian")
MECHANISMS = ("auto", "laplace", "gaussian", "knorm")
BUNDLED = {"table", "present"}
COUNTS = {"class", "table", "present", "coarse"}
SMOOTH = {"mean", "variance", "second"}
COARSE = 256  # cells of the histogram that a bought spread is read off
CLASSES = {
    Adjacency.ADD_REMOVE: "a row belongs to one class, so a row more or less touches the releases of one class only",
    Adjacency.REPLACE: (
        "a changed row leaves one class and enters one: two add-remove steps, each within one class, "
        "and every cost below already pays for both"
    ),
}


@dataclass(frozen=True)
class Item:
    """One statistic: `cells` integers for every class.

    Tables with the same `bundle` share one K-norm draw and one charge; `noise` then holds the variances of one cell
    and of the sum over a class's cells.
    """

    kind: Kind
    feature: str
    cells: int
    half: int = 0
    share: Fraction = Fraction(0)
    charge: Charge | SmoothCharge | None = None
    bundle: int | None = None
    noise: tuple[float, float] | None = None

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
            "coarse": f"rows by class and coarse cell of {self.feature}, for its spread",
            "mean": f"mean of {self.feature} by class",
            "variance": f"variance of {self.feature} by class",
            "second": f"mean square of {self.feature} by class",
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
        """The variance of the noise on one integer; 0 without noise, NaN where it follows the data."""
        if self.charge is None:
            return 0.0
        if self.noise is not None:
            return self.noise[0]
        if isinstance(self.charge, SmoothCharge):
            return math.nan
        spread = float(self.charge.spread)
        return laplace_variance(spread) if self.charge.measure == "epsilon" else gaussian_variance(spread)

    @property
    def total_variance(self) -> float:
        """The variance of the noise on the sum over a class's cells."""
        return self.variance * self.cells if self.noise is None else self.noise[1]


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
    smooth: Smooth | None = None
    parted: str | None = None

    @property
    def node(self) -> Sequential:
        """The ledger entry of one fit, as far as it is known before the fit."""
        charges = tuple(item.charge for item in self.items if isinstance(item.charge, SmoothCharge))
        return self.entry([charges] * len(self.schema.classes))

    def entry(self, by_class: list[tuple[SmoothCharge, ...]]) -> Sequential:
        """The ledger entry with these smooth releases of each class, which compose in parallel."""
        # The tables of a bundle have one charge in common.
        parts: list[Node] = list(dict.fromkeys(item.charge for item in self.items if isinstance(item.charge, Charge)))
        if any(by_class):
            groups = tuple(
                Sequential(f"class {text(label)}", charges)
                for label, charges in zip(self.schema.classes, by_class, strict=True)
            )
            parts.append(Parallel("means and variances of each class", CLASSES[self.adjacency], groups))
        if self.parted is not None:
            parts = [Parallel("one feature from each part of the rows", self.parted, tuple(parts))]
        return Sequential("Naive Bayes statistics", tuple(parts))

    @property
    def unit(self) -> str:
        """Whom the cost is counted for."""
        return f"{self.adjacency} neighbours with up to {self.contributions} row(s) per person"

    @property
    def detail(self) -> tuple[Detail, ...]:
        """The statistics of numbers that have to be counted."""
        if self.smooth is not None:
            return ("lattice",)
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
        extra: dict[str, Any] = {}
        if self.smooth is not None:
            smooth = self.smooth
            extra = {"sensitivity": smooth.sensitivity, "estimator": smooth.estimator, "noise": smooth.noise}
        return {
            "schema_hash": self.schema.hash,
            "adjacency": str(self.adjacency),
            "contributions": self.contributions,
            "mechanism": self.mechanism,
            "numeric": self.numeric,
            **extra,
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
        noise = ["follows the data" if math.isnan(row["noise"]) else f"{row['noise']:.4g}" for row in rows]
        lines = [
            f"{row['statistic']:<{width}}  {row['cells']:>6}  {row['share']:>6.1%}  {size}"
            for row, size in zip(rows, noise, strict=True)
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
    numeric_weight: Any = 2,
    **numbers: Any,
) -> Plan:
    """Split a budget over the statistics that Naive Bayes needs; raises if it does not suffice.

    `numbers` are the settings of `smooth_settings`: sensitivity, estimator, noise, trim and spread.
    """
    if numeric not in NUMERIC:
        raise BudgetError(f"numeric must be one of {', '.join(NUMERIC)}, not {numeric!r}")
    if mechanism not in MECHANISMS:
        raise BudgetError(f"mechanism must be one of {', '.join(MECHANISMS)}, not {mechanism!r}")
    if isinstance(contributions, bool) or not isinstance(contributions, Integral) or int(contributions) < 1:
        raise BudgetError("contributions must be a whole number of rows, at least 1")
    contributions = int(contributions)
    smooth = smooth_settings(schema, budget, numeric=numeric, **numbers)
    items = _items(schema, numeric, smooth)
    if smooth is not None:
        smooth = replace(smooth, steps=steps_between(adjacency, contributions))
        if budget.private:
            accounting, mechanism = choose_accounting(smooth, budget, mechanism, len(items))
            parts = sum(item.kind in SMOOTH for item in items)
            delta = budget.delta / parts if accounting == "epsilon and delta" else Fraction(0)
            smooth = replace(smooth, accounting=accounting, delta=delta)
    if mechanism == "auto":
        mechanism = "laplace" if budget.kind in {"pure", "none"} else "gaussian"
    if mechanism == "knorm":
        _check_bundles(budget, smooth, split)
        items = bundled(items)
    if mechanism == "laplace" and budget.delta and (smooth is None or smooth.accounting == "epsilon"):
        budget = Budget(budget.epsilon)  # it spends no delta, and the certificate should not claim that it did
    shares = _shares(schema, items, split, mechanism, _weight(numeric_weight))
    items = [replace(item, share=share) for item, share in zip(items, shares, strict=True)]
    items = [item for item in items if item.share]
    unit, accounted = _unit(budget, mechanism, items, adjacency, contributions)
    if smooth is not None and smooth.accounting == "epsilon and delta":
        accounted = "epsilon and delta, both added up exactly (basic composition)"
    plan = Plan(
        schema, budget, adjacency, contributions, mechanism if budget.private else "none", numeric, accounted,
        unit if budget.private and mechanism == "gaussian" else None,
        tuple(
            _promised(item, unit, smooth)
            if smooth is not None and item.kind in SMOOTH
            else charged(item, unit, mechanism, adjacency, contributions)
            for item in items
        ),
        smooth,
    )  # fmt: skip
    if mechanism == "knorm" and budget.private:
        plan = replace(plan, items=bundle_charges(plan))
    if unit is not None and (
        cost(plan.node, "rho" if mechanism == "gaussian" else "epsilon") > unit
        or cost(plan.node, "delta") > budget.delta
    ):
        raise BudgetError("the split spends more than the budget")
    return plan


def _items(schema: Schema, numeric: str, smooth: Smooth | None) -> list[Item]:
    items = [Item("class", schema.target, 1)]
    for feature in schema.features:
        if not isinstance(feature, Numeric) or numeric == "histogram":
            items.append(Item("table", feature.name, feature.cells))
            continue
        half = feature.lattice.half
        if feature.missing_code is not None:
            items.append(Item("present", feature.name, 2))
        if smooth is None:
            items += [Item("sum", feature.name, 1, half), Item("square", feature.name, 1, half)]
            continue
        if smooth.bought(feature):
            items.append(Item("coarse", feature.name, min(COARSE, 2 * half), half))
        items += [Item(kind, feature.name, 1, half) for kind in smooth.kinds]
    return items


def _weight(given: Any) -> Fraction:
    """The budget of a numeric feature beside that of a categorical one: 2, or "2:1" as the literature writes it."""
    parts = given.split(":") if isinstance(given, str) else [given]
    values = [number(part.strip() if isinstance(part, str) else part, "numeric_weight") for part in parts]
    if len(values) > 2 or any(value <= 0 for value in values):
        raise BudgetError("numeric_weight must be a number above zero, or a ratio such as '2:1'")
    return values[0] / values[1] if len(values) == 2 else values[0]


def _emphasis(schema: Schema, item: Item, weight: Fraction) -> Fraction:
    """How much of the budget a statistic should get beside an equally large one of a categorical feature."""
    if item.feature not in {feature.name for feature in schema.numeric} or item.kind == "present":
        return Fraction(1)
    return weight / 2 * (Fraction(1, 3) if item.kind == "coarse" else 1)


def _shares(schema: Schema, items: list[Item], split: Any, mechanism: str, weight: Fraction) -> list[Fraction]:
    """The share of the budget for each statistic; they add up to one at most, exactly."""
    counted = any(item.kind in {"table", "present"} for item in items)
    if mechanism == "knorm":
        return _bundle_shares(items, counted, [_emphasis(schema, item, weight) for item in items])
    if isinstance(split, Mapping):
        return _explicit(schema, items, split, counted)
    emphasis = [_emphasis(schema, item, weight) for item in items]
    if split == "equal":
        weights = emphasis
    elif split == "weighted":
        # Minimising Σ cells/ε² under Σ ε gives ε ∝ cells^(1/3); under Σ ρ, with variance 1/ρ, ρ ∝ cells^(1/2).
        # Class totals come for free with any count table.
        power = 0.5 if mechanism == "gaussian" else 1 / 3
        sizes = [1 if item.kind == "coarse" else item.cells for item in items]
        weights = [round(size**power * 2**20) * factor for size, factor in zip(sizes, emphasis, strict=True)]
        weights[0] = Fraction(0) if counted else weights[0]
    else:
        raise BudgetError(f"split must be 'equal', 'weighted' or a mapping of shares, not {split!r}")
    whole = sum(weights)
    return [weight / whole for weight in weights]


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
    emphasis = [_emphasis(schema, item, Fraction(2)) for item in items]
    parts = {name: Fraction(0) for name in shares}
    for item, factor in zip(items, emphasis, strict=True):
        if item.feature in parts:
            parts[item.feature] += factor
    return [
        shares[item.feature] * factor / parts[item.feature] if item.feature in shares else Fraction(0)
        for item, factor in zip(items, emphasis, strict=True)
    ]


def _unit(
    budget: Budget, mechanism: str, items: list[Item], adjacency: Adjacency, contributions: int
) -> tuple[Fraction | None, str]:
    """The whole amount to share out, in ε or ρ, and how it follows from the budget."""
    if not budget.private:
        return None, "none: no noise was added"
    if mechanism in {"laplace", "knorm"}:
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
    if contributions == 1 and all(item.kind in COUNTS for item in items):
        moved = 1 if adjacency is Adjacency.ADD_REMOVE else 2
        tight = counting_rho(budget.epsilon, budget.delta, tuple((item.share, moved) for item in items))
        if tight > rho:
            rho, accounting = (
                tight,
                "privacy loss distributions of the discrete Gaussian, composed by dp-accounting",
            )
    return rho, accounting


def _promised(item: Item, unit: Fraction | None, smooth: Smooth) -> Item:
    """The item with its cost; the law, β, s and the trim follow from the class counts that are released first."""
    if unit is None:
        return item
    smooth.check(unit * item.share)
    measure = "rho" if smooth.accounting == "rho" else "epsilon"
    how = "global or smooth sensitivity" if smooth.sensitivity == "auto" else "smooth sensitivity"
    return replace(item, charge=SmoothCharge(how, item.what, measure, unit * item.share, smooth.delta))


def charged(item: Item, unit: Fraction | None, mechanism: str, adjacency: Adjacency, contributions: int) -> Item:
    """The item with its noise: scale Δ₁/ε, or σ² = Δ₂²/(2ρ)."""
    if unit is None:
        return item
    sensitivity, spent = item.sensitivity(adjacency, contributions), unit * item.share
    if mechanism in {"laplace", "knorm"}:
        charge = Charge(
            "discrete Laplace", item.what, "L1", str(sensitivity.l1), sensitivity.l1 / spent, "epsilon", spent
        )
    else:
        charge = Charge(
            "discrete Gaussian", item.what, "L2 squared", str(sensitivity.l2_squared),
            sensitivity.l2_squared / (2 * spent), "rho", spent,
        )  # fmt: skip
    return replace(item, charge=charge)


def _check_bundles(budget: Budget, smooth: Smooth | None, split: Any) -> None:
    if budget.kind not in {"pure", "none"}:
        raise BudgetError("K-norm noise spends pure epsilon: leave delta at 0, or use the gaussian mechanism")
    if smooth is not None:
        raise BudgetError("K-norm noise is for counts: use mechanism='laplace' with smooth sensitivity")
    if isinstance(split, Mapping):
        raise BudgetError("K-norm noise releases tables together: leave split at 'weighted'")


def bundled(items: list[Item]) -> list[Item]:
    """The items with the number of the K-norm draw that each count table belongs to."""
    tables = [place for place, item in enumerate(items) if item.kind in BUNDLED]
    if not tables:
        raise BudgetError("K-norm noise is for count tables, and this model has none: use mechanism='laplace'")
    result = list(items)
    for which, bundle in enumerate(bundle_tables([items[place].cells for place in tables])):
        for place in bundle:
            result[tables[place]] = replace(items[tables[place]], bundle=which)
    return result


def _bundle_shares(items: list[Item], counted: bool, emphasis: list[Fraction]) -> list[Fraction]:
    """Shares that minimise the total error: each draw's in proportion to the cube root of what it errs by at ε = 1."""
    members: dict[int, list[int]] = {}
    for item in items:
        if item.bundle is not None:
            members.setdefault(item.bundle, []).append(item.cells)
    weights = []
    for item, factor in zip(items, emphasis, strict=True):
        if item.bundle is not None:
            weight = bundle_cost(members[item.bundle]) ** (1 / 3) / len(members[item.bundle])
        else:
            weight = 0.0 if item.kind == "class" and counted else (2 * item.cells) ** (1 / 3)
        weights.append(round(weight * 2**20) * (factor if item.bundle is None else 1))
    whole = sum(weights)
    return [Fraction(weight) / whole for weight in weights]


def bundle_charges(plan: Plan) -> tuple[Item, ...]:
    """The items of a plan with one charge for each bundle: scale Δ/ε in the norm of what one row can change."""
    from discreet.mechanisms.knorm import KNorm

    assert plan.budget.epsilon is not None
    found: dict[int, tuple[Charge, dict[int, float], float]] = {}
    for which in sorted({item.bundle for item in plan.items if item.bundle is not None}):
        inside = [item for item in plan.items if item.bundle == which]
        spent = sum((item.share for item in inside), Fraction(0)) * plan.budget.epsilon
        move = inside[0].sensitivity(plan.adjacency, plan.contributions).l1
        names = ", ".join(item.feature for item in inside)
        charge = Charge("K-norm", f"rows by class and each of {names}", "K", str(move), move / spent, "epsilon", spent)
        found[which] = charge, *KNorm([item.cells for item in inside]).moments(1 / charge.spread)
    return tuple(
        item
        if item.bundle is None
        else replace(
            item,
            charge=found[item.bundle][0],
            noise=(found[item.bundle][1][item.cells], found[item.bundle][2]),
        )
        for item in plan.items
    )
