"""The plan: how a budget is split over the statistics, made from public knowledge before any data are read."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from fractions import Fraction
from typing import Any

from discreet.bayes.bundling import (
    based,
    based_charges,
    based_shares,
    bundle_charges,
    bundle_shares,
    bundled,
    check_bundles,
    check_smooth,
    error_of,
    residual_of,
    too_slow,
)
from discreet.bayes.items import SMOOTH, Item, Kind, Plan, charged
from discreet.bayes.likelihoods import likelihood_of
from discreet.bayes.settings import Smooth, choose_accounting, smooth_settings
from discreet.errors import BudgetError
from discreet.privacy.budget import Adjacency, Budget, number
from discreet.privacy.calibrate import counting_rho, moving_rho, zcdp_rho
from discreet.privacy.ledger import SmoothCharge, cost
from discreet.privacy.plan import checked_contributions, moved_rows
from discreet.privacy.unexpected import REFUSE, check_unexpected
from discreet.schema import Numeric, Schema

MECHANISMS = ("auto", "laplace", "gaussian", "knorm", "residual")
CONCENTRATED = {"gaussian", "residual"}  # mechanisms that spend ρ
COUNTS = {"class", "table", "present", "coarse"}
COARSE = 256  # cells of the histogram that a bought spread is read off
__all__ = ["COUNTS", "MECHANISMS", "SMOOTH", "Item", "Kind", "Plan", "make_plan"]


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
    together: bool = False,
    unexpected: str = REFUSE,
    **numbers: Any,
) -> Plan:
    """Split a budget over the statistics that Naive Bayes needs; raises if it does not suffice.

    With `together` the mechanism "auto" may noise count tables together (K-norm, or Gaussian in a residual basis),
    where that errs less, and take pure ε where that errs less than Gaussian noise: for whoever releases all tables of a
    class at once. `numbers` are the settings of `smooth_settings`: sensitivity, estimator, noise, trim and spread.
    """
    settings: dict[str, Any] = {
        "adjacency": adjacency, "numeric": numeric, "split": split, "contributions": contributions,
        "numeric_weight": numeric_weight, **numbers,
    }  # fmt: skip
    policy = check_unexpected(unexpected)
    plan = replace(_make_plan(schema, budget, mechanism=mechanism, **settings), unexpected=policy)
    # Shares by feature, in any form, leave nothing to bundle.
    if not together or mechanism != "auto" or split != "weighted" or _weight(numeric_weight) != 2:
        return plan
    if plan.smooth is not None or not budget.private:
        return plan
    try:
        bundling = "knorm" if budget.kind == "pure" else "residual"
        bundles = replace(_make_plan(schema, budget, mechanism=bundling, **settings), unexpected=policy)
        plan = plan if too_slow(bundles) or error_of(bundles) >= error_of(plan) else bundles
    except BudgetError:  # nothing to bundle
        pass
    if budget.kind == "approximate":  # what is pure is valid for every δ, and may err less
        pure = make_plan(schema, budget.pure, together=True, unexpected=policy, **settings)
        return pure if error_of(pure) < error_of(plan) else plan
    return plan


def _make_plan(
    schema: Schema,
    budget: Budget,
    *,
    adjacency: Adjacency,
    mechanism: str,
    numeric: str,
    split: str | Mapping[str, Any],
    contributions: int,
    numeric_weight: Any,
    **numbers: Any,
) -> Plan:
    likelihood_of(numeric)  # refuses a name that nobody registered
    if mechanism not in MECHANISMS:
        raise BudgetError(f"mechanism must be one of {', '.join(MECHANISMS)}, not {mechanism!r}")
    contributions = checked_contributions(contributions)
    smooth = smooth_settings(schema, budget, numeric=numeric, **numbers)
    items = _items(schema, numeric, smooth)
    if smooth is not None:
        smooth = replace(smooth, steps=moved_rows(adjacency, contributions))
        if budget.private:
            accounting, mechanism = choose_accounting(smooth, budget, mechanism, len(items))
            parts = sum(item.kind in SMOOTH for item in items)
            delta = budget.delta / parts if accounting == "epsilon and delta" else Fraction(0)
            smooth = replace(smooth, accounting=accounting, delta=delta)
    if mechanism == "auto":
        mechanism = "laplace" if budget.kind in {"pure", "none"} else "gaussian"
    if mechanism == "knorm":
        budget = budget.pure if smooth is None and budget.kind == "approximate" else budget
        check_bundles(budget, smooth, split)
        items = bundled(items)
    if mechanism == "residual":
        check_smooth(smooth, split, "a residual basis", "gaussian")
        items = based(items)
    if mechanism == "laplace" and budget.delta and (smooth is None or smooth.accounting == "epsilon"):
        budget = budget.pure  # it spends no delta, and the certificate should not claim that it did
    shares = _shares(schema, items, split, mechanism, _weight(numeric_weight))
    items = [replace(item, share=share) for item, share in zip(items, shares, strict=True)]
    items = [item for item in items if item.share]
    unit, accounted = _unit(budget, mechanism, items, adjacency, contributions)
    if smooth is not None and smooth.accounting == "epsilon and delta":
        accounted = "epsilon and delta, both added up exactly (basic composition)"
    plan = Plan(
        schema, budget, adjacency, contributions, mechanism if budget.private else "none", numeric, accounted,
        unit if budget.private and mechanism in CONCENTRATED else None,
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
    if mechanism == "residual" and budget.private:
        plan = replace(plan, items=based_charges(plan))
    if unit is not None and (
        cost(plan.node, "rho" if mechanism in CONCENTRATED else "epsilon") > unit
        or cost(plan.node, "delta") > budget.delta
    ):
        raise BudgetError("the split spends more than the budget")
    return plan


def _items(schema: Schema, numeric: str, smooth: Smooth | None) -> list[Item]:
    items = [Item("class", schema.target, 1)]
    for feature in schema.features:
        if not isinstance(feature, Numeric) or likelihood_of(numeric).statistic == "table":
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


def _emphasis(schema: Schema, items: list[Item], weight: Fraction) -> list[Fraction]:
    """How much of the budget each statistic should get beside an equally large one of a categorical feature."""
    numbers = {feature.name for feature in schema.numeric}
    return [
        weight / 2 * (Fraction(1, 3) if item.kind == "coarse" else 1)
        if item.feature in numbers and item.kind != "present"
        else Fraction(1)
        for item in items
    ]


def _shares(schema: Schema, items: list[Item], split: Any, mechanism: str, weight: Fraction) -> list[Fraction]:
    """The share of the budget for each statistic; they add up to one at most, exactly."""
    counted = any(item.kind in {"table", "present"} for item in items)
    if mechanism == "knorm":
        return bundle_shares(items, counted, _emphasis(schema, items, weight))
    if mechanism == "residual":
        return based_shares(items, _emphasis(schema, items, weight))
    if isinstance(split, Mapping):
        return _explicit(schema, items, split, counted)
    emphasis = _emphasis(schema, items, weight)
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
    emphasis = _emphasis(schema, items, Fraction(2))
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
        if mechanism == "residual":
            tight = moving_rho(budget.epsilon, budget.delta, residual_of(items).moves(adjacency))
        else:
            moved = moved_rows(adjacency)
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
    hows = {"auto": "global or smooth sensitivity", "global": "Laplace noise by the public bounds and class counts"}
    how = hows.get(smooth.sensitivity, "smooth sensitivity")
    return replace(item, charge=SmoothCharge(how, item.what, measure, unit * item.share, smooth.delta))
