"""Bundling: count tables that share one draw, what each draw may spend, and whether it errs less."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from fractions import Fraction
from functools import lru_cache
from math import lgamma
from typing import Any

import numpy as np

from discreet.bayes.items import Item, Plan
from discreet.bayes.settings import Smooth
from discreet.errors import BudgetError
from discreet.mechanisms.knorm import KNorm
from discreet.mechanisms.residual import Residual
from discreet.privacy.budget import Adjacency, Budget
from discreet.privacy.ledger import Charge

DIMENSIONS = 160  # of one draw at most: its law is then computed in a tenth of a second


@lru_cache(4096)
def cell_square(size: int) -> float:
    """The mean square of one cell of a table of norm at most one, drawn evenly with sum zero.

    The common sum of all tables adds to every cell alike; it says nothing about a feature, so it is left out here.
    """
    if size < 2:
        return 0.0
    k = np.arange(1, size)
    logs = -np.array([lgamma(n + 1) + lgamma(size - n + 1) + lgamma(n) + lgamma(size - n) for n in k.tolist()])
    weights = np.exp(logs - logs.max())
    # Half of the norm is spread over k positive cells, half over the others; n parts of one add up to 2/(n+1) squared.
    spread = ((2 / (k + 1) + 2 / (size - k + 1)) * weights).sum() / weights.sum() / 4
    return float(spread * (size - 1) / (size + 1) / size)


def bundle_cost(sizes: list[int]) -> float:
    """Σ over the tables of cells times the variance of a cell, for one draw at ε = 1."""
    dim = 1 + sum(size - 1 for size in sizes)
    return (dim + 1) * (dim + 2) * sum(size * cell_square(size) for size in sizes)


def bundle_tables(sizes: list[int]) -> list[list[int]]:
    """The tables (by place) in bundles of similar size that make the total of cost^(1/3) least.

    Each bundle of cost A at share w of the budget errs by A/w²; the best shares are in proportion to A^(1/3), and the
    total error is then the cube of their sum. Tables of one size stay together, unless there are too many dimensions
    for one draw: m draws of a part each, at a share of 1/m each, err by hardly more than one draw of all.
    """
    wide = [[place] for place, size in enumerate(sizes) if size > DIMENSIONS]
    kinds = sorted({size for size in sizes if size <= DIMENSIONS})
    counts = [sizes.count(size) for size in kinds]
    best, cut = [0.0] + [np.inf] * len(kinds), [0] * (len(kinds) + 1)
    for stop in range(1, len(kinds) + 1):
        for start in range(stop):
            inside = [kinds[i] for i in range(start, stop) for _ in range(counts[i])]
            total = best[start] + bundle_cost(inside) ** (1 / 3)
            if total < best[stop]:
                best[stop], cut[stop] = total, start
    bundles: list[list[int]] = []
    stop = len(kinds)
    while stop:
        low, high = kinds[cut[stop]], kinds[stop - 1]
        inside = sorted((place for place, size in enumerate(sizes) if low <= size <= high), key=sizes.__getitem__)
        bundles[:0] = _parts(inside, sizes)
        stop = cut[stop]
    return bundles + wide


def _parts(places: list[int], sizes: list[int]) -> list[list[int]]:
    """The tables dealt out to as few draws as keep to the dimensions of one."""
    parts = 1
    while any(1 + sum(sizes[p] - 1 for p in places[i::parts]) > DIMENSIONS for i in range(parts)):
        parts += 1
    return [sorted(places[i::parts]) for i in range(parts)]


BUNDLED = {"table", "present"}
RESIDUAL = "discrete Gaussian, residual basis"
LEAST = 1.0  # cost of a draw at ε = 1: half of what a table of two cells costs
SLOW = 10_000  # rows of noise on a class total: a draw walks from sum to sum, and this many take about a second


def check_bundles(budget: Budget, smooth: Smooth | None, split: Any) -> None:
    """Refuse what K-norm noise cannot do."""
    if budget.kind not in {"pure", "none"}:
        raise BudgetError("K-norm noise spends pure epsilon: leave delta at 0, or use the gaussian mechanism")
    check_smooth(smooth, split, "K-norm noise", "laplace")


def check_smooth(smooth: Smooth | None, split: Any, what: str, instead: str) -> None:
    """Refuse what no noise on tables together can do."""
    if smooth is not None:
        raise BudgetError(f"{what} is for counts: use mechanism={instead!r} with smooth sensitivity")
    if isinstance(split, Mapping):
        raise BudgetError(f"{what} releases tables together: leave split at 'weighted'")


def bundled(items: list[Item]) -> list[Item]:
    """The items with the number of the K-norm draw that each count table belongs to."""
    tables = [place for place, item in enumerate(items) if item.kind in BUNDLED]
    if not tables:
        raise BudgetError("K-norm noise is for count tables, and this model has none: use mechanism='laplace'")
    result = list(items)
    groups = [group for group in bundle_tables([items[place].cells for place in tables]) if len(group) > 1]
    for which, group in enumerate(groups):  # a table alone needs no bundle: its K-norm noise is Laplace noise
        for place in group:
            result[tables[place]] = replace(items[tables[place]], bundle=which)
    return result


def residual_of(items: Sequence[Item]) -> Residual:
    """The basis of count tables that are released together by Gaussian noise."""
    return Residual(tuple(item.cells for item in items if item.bundle is not None))


def based(items: list[Item]) -> list[Item]:
    """The items with all count tables in one bundle, for Gaussian noise in a residual basis."""
    if not any(item.kind in BUNDLED for item in items):
        raise BudgetError("a residual basis is for count tables, and this model has none: use mechanism='gaussian'")
    return [replace(item, bundle=0) if item.kind in BUNDLED else item for item in items]


def based_shares(items: list[Item], emphasis: list[Fraction]) -> list[Fraction]:
    """Shares of ρ that minimise the total error: each draw's in proportion to the root of what it errs by at ρ = 1."""
    basis = residual_of(items)
    reach = basis.reach(Adjacency.ADD_REMOVE)
    error = sum((size - 1) / float(weight) for size, weight in zip(basis.sizes, basis.weights, strict=True))
    tables = math.sqrt(max(error, 1.0) * float(reach)) / len(basis.sizes)
    weights = [
        round((tables if item.bundle is not None else 0.0 if item.kind == "class" else 1.0) * 2**20)
        * (factor if item.bundle is None else 1)
        for item, factor in zip(items, emphasis, strict=True)
    ]
    whole = sum(weights)
    return [Fraction(weight) / whole for weight in weights]


def based_charges(plan: Plan) -> tuple[Item, ...]:
    """The items of a plan with one charge for all tables in a residual basis."""
    assert plan.rho is not None
    inside = [item for item in plan.items if item.bundle is not None]
    basis = residual_of(inside)
    spent = sum((item.share for item in inside), Fraction(0)) * plan.rho
    reach = basis.reach(plan.adjacency, plan.contributions)
    names = ", ".join(item.feature for item in inside)
    charge = Charge(
        RESIDUAL, f"rows by class and each of {names}", "L2 squared, in units of the noise at a spread of one",
        str(reach), reach / (2 * spent), "rho", spent,
    )  # fmt: skip
    cells, total = basis.variances(charge.spread)
    noise = iter(cells)
    return tuple(
        item if item.bundle is None else replace(item, charge=charge, noise=(next(noise), total)) for item in plan.items
    )


def bundle_shares(items: list[Item], counted: bool, emphasis: list[Fraction]) -> list[Fraction]:
    """Shares that minimise the total error: each draw's in proportion to the cube root of what it errs by at ε = 1."""
    members: dict[int, list[int]] = {}
    for item in items:
        if item.bundle is not None:
            members.setdefault(item.bundle, []).append(item.cells)
    weights = []
    for item, factor in zip(items, emphasis, strict=True):
        if item.bundle is not None:
            weight = _weight(members[item.bundle]) / len(members[item.bundle])
        elif item.kind in BUNDLED:
            weight = _weight([item.cells])
        else:
            weight = 0.0 if item.kind == "class" and counted else (2 * item.cells) ** (1 / 3)
        weights.append(round(weight * 2**20) * (factor if item.bundle is None else 1))
    whole = sum(weights)
    return [Fraction(weight) / whole for weight in weights]


def _weight(sizes: list[int]) -> float:
    """Tables of one cell err by nothing but their common sum; they still tell the size of each class."""
    return float(max(bundle_cost(sizes), LEAST) ** (1 / 3))


def bundle_charges(plan: Plan) -> tuple[Item, ...]:
    """The items of a plan with one charge for each bundle: scale Δ/ε in the norm of what one row can change."""
    assert plan.budget.epsilon is not None
    found: dict[int, tuple[Charge, dict[int, float], float]] = {}
    for which in sorted({item.bundle for item in plan.items if item.bundle is not None}):
        inside = [item for item in plan.items if item.bundle == which]
        spent = sum((item.share for item in inside), Fraction(0)) * plan.budget.epsilon
        move = inside[0].sensitivity(plan.adjacency, plan.contributions).l1
        names = ", ".join(item.feature for item in inside)
        charge = Charge("K-norm", f"rows by class and each of {names}", "K", str(move), move / spent, "epsilon", spent)
        noise = KNorm([item.cells for item in inside])
        noise.check(1 / charge.spread)  # before anything is charged
        found[which] = charge, *noise.moments(1 / charge.spread)
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


def error_of(plan: Plan) -> float:
    """The mean squared error of all statistics together, each in units of what one row can change.

    A table's noisy sum is known better from all tables, so only what its cells err by beside it counts.
    """
    total = 0.0
    for item in plan.items:
        reach = float(item.sensitivity(plan.adjacency, plan.contributions).l1)
        error = item.cells * item.variance
        if item.kind in BUNDLED:
            error -= item.total_variance / item.cells
        total += error / reach**2
    return total


def too_slow(plan: Plan) -> bool:
    """Whether exact draws would take long: the noise is then so large that nobody would miss them."""
    return any(item.bundle is not None and is_slow(item.total_variance) for item in plan.items)


def is_slow(variance: float) -> bool:
    """Whether one exact draw with this variance of the common sum would take long."""
    return variance > SLOW**2
