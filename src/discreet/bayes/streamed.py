"""The plan of a stream: one budget for the models after each of up to T steps (proof: docs/proofs/running.md)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from typing import Any

from discreet.bayes.bundling import error_of, residual_of
from discreet.bayes.items import Item, Plan
from discreet.errors import BudgetError
from discreet.mechanisms.running import MOST, Root, Tree, best_tree
from discreet.privacy.budget import Budget
from discreet.privacy.calibrate import zcdp_rho
from discreet.privacy.ledger import Charge
from discreet.privacy.plan import checked_count

GAUSSIAN = ("gaussian", "residual")
Make = Callable[..., Plan]


def streamed(make: Make, budget: Budget, mechanism: str, steps: Any) -> Plan:
    """The plan of up to `steps` steps that errs least: pure ε by a tree of blocks, or Gaussian noise by a root.

    `make(budget, mechanism=…)` is the plan of one release.
    """
    steps = checked_count(steps, "stream", MOST)
    if not budget.private:
        return replace(_allowed(make(budget, mechanism=mechanism)), stream=Tree(steps, steps, 1))
    found = []
    if budget.kind != "pure":
        kinds = GAUSSIAN if mechanism == "auto" else (mechanism,) if mechanism in GAUSSIAN else ()
        for kind in kinds:
            try:
                found.append(_rooted(make, budget, kind, Root(steps)))
            except BudgetError:
                if mechanism != "auto":
                    raise
    if mechanism not in GAUSSIAN or budget.kind == "pure":  # which says that Gaussian noise needs a delta
        found.append(_treed(make, budget.pure, mechanism, best_tree(steps)))
    return min(found, key=lambda plan: error_of(plan) * plan.stream.mean_square if plan.stream else 0.0)


def _allowed(plan: Plan) -> Plan:
    if plan.smooth is not None:
        raise BudgetError("trimmed statistics of steps do not add up: leave smooth out in a stream")
    return plan


def _treed(make: Make, budget: Budget, mechanism: str, tree: Tree) -> Plan:
    """Each block is one release at its level's share of ε: a row is in one block of each level."""
    assert budget.epsilon is not None
    return replace(_allowed(make(Budget(budget.epsilon / tree.reach), mechanism=mechanism)), budget=budget, stream=tree)


def _rooted(make: Make, budget: Budget, mechanism: str, root: Root) -> Plan:
    """Each step is one release of integers in which a row counts as often as its column of C says.

    (ε, δ) by way of ρ: exact losses of other calibrations are for a row that moves integers by one.
    """
    rho, accounting = budget.rho, "rho of zCDP, costs added up exactly"
    if rho is None:
        assert budget.epsilon is not None
        rho = zcdp_rho(budget.epsilon, budget.delta)
        accounting += ", then the tight conversion to (epsilon, delta)"
    plan = _allowed(make(Budget(rho=rho), mechanism=mechanism))
    items = tuple(_widened(item, root.reach) for item in plan.items)
    basis = [item for item in items if item.bundle is not None]
    if basis and isinstance(basis[0].charge, Charge):
        cells, total = residual_of(basis).variances(basis[0].charge.spread)
        variances = iter(cells)
        items = tuple(item if item.bundle is None else replace(item, noise=(next(variances), total)) for item in items)
    return replace(plan, items=items, budget=budget, accounting=accounting, rho=rho, stream=root)


def _widened(item: Item, reach: int) -> Item:
    """The item with noise for a row whose squares add up to `reach` times those of one release, at the same cost."""
    charge = item.charge
    assert isinstance(charge, Charge) and charge.measure == "rho"
    moved = str(Fraction(charge.sensitivity) * reach)
    return replace(item, charge=replace(charge, sensitivity=moved, spread=charge.spread * reach))
