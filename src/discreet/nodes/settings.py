"""Settings: what all nodes of a federation or a network have in common, and budgets as plain values."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache, partial
from typing import Any

from discreet.bayes.plan import Plan, make_plan
from discreet.bayes.streamed import streamed
from discreet.errors import BudgetError
from discreet.privacy.budget import Adjacency, Budget, number
from discreet.schema import Schema


@dataclass(frozen=True)
class Settings:
    """What all nodes have in common beside the schema; budgets and laws of noise may differ."""

    adjacency: Adjacency = Adjacency.ADD_REMOVE
    numeric: str = "histogram"
    split: str | tuple[tuple[str, Fraction], ...] = "weighted"
    contributions: int = 1

    @classmethod
    def of(cls, adjacency: Any, numeric: str, split: Any, contributions: int) -> Settings:
        """Settings out of what a user wrote; `make_plan` checks the rest."""
        if isinstance(split, Mapping):
            split = tuple(sorted((str(name), number(share, f"the share of {name!r}")) for name, share in split.items()))
        return cls(Adjacency.of(adjacency), numeric, split, contributions)

    @property
    def options(self) -> dict[str, Any]:
        """The settings as `make_plan` and `node_update` take them."""
        split = self.split if isinstance(self.split, str) else dict(self.split)
        return {**vars(self), "split": split}

    def plain(self) -> dict[str, Any]:
        """The settings as values for JSON, which `of` takes back."""
        split = self.split if isinstance(self.split, str) else {name: str(share) for name, share in self.split}
        return {**vars(self), "adjacency": str(self.adjacency), "split": split}

    @property
    def unit(self) -> str:
        """Whom a node's ledger counts for."""
        rows = "one row" if self.contributions == 1 else f"{self.contributions} rows"
        return f"{self.adjacency} neighbours, {rows} per person"


@lru_cache(4096)
def node_plan(schema: Schema, settings: Settings, budget: Budget, mechanism: str, steps: int | None = None) -> Plan:
    """The plan of a node, which follows from public knowledge: nobody has to believe a node about its noise.

    With `steps` it is that of a stream: the budget is for the running sums of all steps together.
    """
    if mechanism in {"knorm", "residual"}:
        raise BudgetError("updates carry laplace or gaussian noise: tables noised together are for one curator")
    mechanism = "auto" if mechanism == "none" else mechanism
    if steps is None:
        return make_plan(schema, budget, mechanism=mechanism, **settings.options)
    make = partial(_one_release, schema, settings)
    return streamed(make, budget, "gaussian" if mechanism == "auto" and budget.kind == "zcdp" else mechanism, steps)


def _one_release(schema: Schema, settings: Settings, budget: Budget, mechanism: str) -> Plan:
    """The plan of one release in a stream; of tables noised together nodes have none to choose from."""
    if mechanism == "residual":
        raise BudgetError("tables noised together are for one curator")
    return make_plan(schema, budget, mechanism=mechanism, **settings.options)


def plain_budget(budget: Budget) -> dict[str, str | None]:
    """A budget as values for JSON: exact fractions, and None for what it has not."""
    parts = ("epsilon", "delta", "rho")
    return {name: None if (part := getattr(budget, name)) is None else str(part) for name in parts}


def read_budget(epsilon: Any, delta: Any, rho: Any) -> Budget:
    """The budget that `plain_budget` wrote."""
    return Budget(rho=rho) if rho is not None else Budget(float("inf") if epsilon is None else epsilon, delta)


def budget_rho(budget: Budget) -> Fraction | None:
    """The ρ that a budget keeps to, where it has one: ε-DP is ε²/2-zCDP."""
    if budget.kind == "pure" and budget.epsilon is not None:
        return budget.epsilon**2 / 2
    return budget.rho


def budget_kind(budget: Budget) -> str:
    """Which budgets go together in one model: those without noise, those of epsilon, those of rho."""
    return budget.kind if budget.kind in {"none", "zcdp"} else "epsilon"
