"""What every plan has: whom it protects, how far a neighbour moves, and how what users ask for is checked."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from numbers import Integral
from typing import Any, Protocol

from discreet.errors import BudgetError
from discreet.privacy.budget import Adjacency, Budget
from discreet.privacy.nodes import Node
from discreet.privacy.payer import unit_of
from discreet.privacy.unexpected import REFUSE, check_unexpected
from discreet.schema import Schema


def checked_count(given: Any, name: str, most: int | None = None, least: int = 1) -> int:
    """A whole number in its range, or an error that names the setting."""
    whole = not isinstance(given, bool) and isinstance(given, Integral)
    if not whole or int(given) < least or (most is not None and int(given) > most):
        span = f"of at least {least}" if most is None else f"from {least} to {most}"
        raise BudgetError(f"{name} must be a whole number {span}, not {given!r}")
    return int(given)


def checked_contributions(given: Any) -> int:
    """The most rows of one person, as a whole number above zero."""
    return checked_count(given, "contributions")


def moved_rows(adjacency: Adjacency, contributions: int = 1) -> int:
    """Rows that come or go between neighbours: a replaced row leaves one place and enters another."""
    return contributions * (1 if adjacency is Adjacency.ADD_REMOVE else 2)


class Planned(Protocol):
    """What a certificate asks of a plan."""

    @property
    def schema(self) -> Schema:
        """What is public about the data."""

    @property
    def budget(self) -> Budget:
        """What may be spent."""

    @property
    def adjacency(self) -> Adjacency:
        """Which tables are neighbours."""

    @property
    def contributions(self) -> int:
        """The most rows of one person."""

    @property
    def unexpected(self) -> str:
        """What becomes of rows that do not fit."""

    @property
    def node(self) -> Node:
        """The ledger entry."""

    @property
    def unit(self) -> str:
        """Whom the cost is counted for."""

    @property
    def trusts(self) -> tuple[str, ...]:
        """What is taken on trust of a source that holds no rows."""


@dataclass(frozen=True)
class Protected:
    """The people that a release protects: the part of a plan that is the same for every kind of release."""

    schema: Schema
    budget: Budget
    adjacency: Adjacency
    contributions: int
    unexpected: str = field(default=REFUSE, kw_only=True)
    trusts: tuple[str, ...] = field(default=(), kw_only=True)

    def __post_init__(self) -> None:
        checked_contributions(self.contributions)
        check_unexpected(self.unexpected)

    def _repr_html_(self) -> str:
        from discreet.html import page
        from discreet.privacy.certificate import record, tabled

        facts = [("budget", self.budget), ("neighbours", self.adjacency), ("rows of one person", self.contributions)]
        node = getattr(self, "node", None)
        rows = tabled(record(node)) if isinstance(node, Node) else []
        return page("Plan: how the budget would be spent", facts, ["mechanism", "what", "noise", "cost"], rows)

    @property
    def unit(self) -> str:
        """Whom the cost is counted for."""
        return unit_of(self.adjacency, self.contributions)

    @property
    def moves(self) -> int:
        """Rows that come or go between neighbours, all rows of one person together."""
        return moved_rows(self.adjacency, self.contributions)

    @property
    def moved(self) -> int:
        """How many rows' worth a neighbour with one row moves a sum: one, or two if a row is replaced."""
        return moved_rows(self.adjacency)


@dataclass(frozen=True)
class Paid(Protected):
    """A plan of which nothing matters any more but its ledger entry."""

    node: Node


def check_smoothing(given: Any) -> float:
    """The number of rows to add to every cell; for none at all, so few that no cell is impossible.

    What is no number from zero up is refused.
    """
    try:
        smoothing = float(given)
    except (TypeError, ValueError):
        smoothing = -1.0
    if not smoothing >= 0 or math.isinf(smoothing):
        raise BudgetError(f"smoothing must be a number from zero up, not {given!r}")
    return max(smoothing, 1e-10)
