"""The plan of private answers: what one label costs, and how many parts vote on it."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import partial
from numbers import Integral
from typing import Any

from discreet.errors import BudgetError
from discreet.mechanisms.choose import choice_rate, concentrated_cost, exponential_errs_less
from discreet.privacy.budget import Adjacency, Budget
from discreet.privacy.ledger import Charge, Sequential
from discreet.privacy.plan import Protected, checked_contributions, checked_count
from discreet.privacy.ranged import ranged_accounting, ranged_epsilon
from discreet.privacy.unexpected import REFUSE, check_unexpected
from discreet.schema import Schema

COUNT_SHARE = Fraction(1, 50)  # of the budget, for a noisy number of rows where parts are chosen by it
VOTES = 8  # votes of margin, beside the noise of one answer, that parts aim at
ROWS, MORE_ROWS = 4, 20  # rows of each class that a part should have at least, on average; more for other models
MOST_PARTS = 20_000
ENTRIES = 1 << 26  # of all parts' tables together: 256 MiB


@dataclass(frozen=True)
class AnswerPlan(Protected):
    """How a budget pays for `queries` labels: each is one private choice among the classes by the votes of parts."""

    queries: int
    parts: int | None
    law: str
    each: Fraction | None
    count: Charge | None
    answers: Charge | None
    rho: Fraction | None
    accounting: str
    rows: int = ROWS
    most: int = MOST_PARTS

    @property
    def node(self) -> Sequential:
        """The ledger entry of all answers together."""
        return Sequential("private answers", tuple(one for one in (self.count, self.answers) if one is not None))

    @property
    def rate(self) -> Fraction | None:
        """How fast the odds of a class fall with its votes."""
        return None if self.each is None else choice_rate(self.each, self.contributions)

    def parts_for(self, rows: int) -> int:
        """How many parts: enough votes to drown the noise of an answer, but a few rows of each class in every part."""
        if self.parts is not None:
            return self.parts
        enough = self.most if self.rate is None else math.ceil(VOTES / self.rate)
        return max(1, min(enough, rows // (self.rows * len(self.schema.classes)), self.most))


def most_parts(schema: Schema) -> int:
    """How many Naive Bayes models fit in memory, by the cells of their tables: a public rule."""
    entries = len(schema.classes) * (1 + sum(feature.cells for feature in schema.features))
    if entries > ENTRIES:
        raise BudgetError(
            f"the tables of one part alone have {entries} cells and all parts together may have {ENTRIES}: declare "
            "fewer categories, bins or features, or pass another voter"
        )
    return min(MOST_PARTS, ENTRIES // entries)


def make_answer_plan(
    schema: Schema, budget: Budget, *, queries: Any, parts: Any = "auto", adjacency: Adjacency = Adjacency.ADD_REMOVE,
    contributions: Any = 1, tables: bool = True, unexpected: str = REFUSE,
) -> AnswerPlan:  # fmt: skip
    """Split a budget over a bounded number of answers, from public knowledge alone.

    Parts hold `tables` of Naive Bayes, unless another voter is fitted on each, which wants more rows.
    """
    queries, contributions = checked_count(queries, "queries"), checked_contributions(contributions)
    most = most_parts(schema) if tables else MOST_PARTS
    automatic = isinstance(parts, str) and parts == "auto"
    if not automatic and (isinstance(parts, bool) or not isinstance(parts, Integral) or not 1 <= int(parts) <= most):
        why = "" if most == MOST_PARTS else f" (as many as fit in {ENTRIES} cells)"
        raise BudgetError(f"parts must be 'auto' or a whole number from 1 to {most}{why}, not {parts!r}")
    if budget.kind == "zcdp":
        raise BudgetError("private answers are paid for with epsilon, with or without a delta")
    make = partial(
        AnswerPlan, schema, budget, adjacency, contributions, queries, None if automatic else int(parts),
        rows=ROWS if tables else MORE_ROWS, most=most, unexpected=check_unexpected(unexpected),
    )  # fmt: skip
    if budget.epsilon is None:
        return make("permute-and-flip", None, None, None, None, "none: no noise was added")
    # Under replacement the number of rows is public, but not how many of them are left out.
    buys = automatic and (adjacency is Adjacency.ADD_REMOVE or unexpected != REFUSE)
    spent = budget.epsilon * COUNT_SHARE if buys else Fraction(0)
    count = Charge(
        "discrete Laplace", "rows", "L1", str(contributions), contributions / spent, "epsilon", spent
    ) if buys else None  # fmt: skip
    left = budget.epsilon - spent
    each, law, rho, accounting = left / queries, "permute-and-flip", None, "pure epsilon, costs added up exactly"
    if budget.delta:
        ranged = ranged_epsilon(left, budget.delta, queries)
        if exponential_errs_less(ranged / each):
            each, law, accounting = ranged, "exponential", ranged_accounting("answers", queries)
            rho = concentrated_cost(each, law) * queries
    cost = each * queries if rho is None else rho
    answers = Charge(
        law, f"at most {queries} labels, each chosen at epsilon {each}", "votes", str(contributions),
        1 / choice_rate(each, contributions), "epsilon" if rho is None else "rho", cost,
    )  # fmt: skip
    if rho is not None and count is not None:
        rho += count.cost**2 / 2
        accounting += f"; pure epsilon of the rows ({count.cost}) added to epsilon, and its square over two to rho"
    return make(law, each, count, answers, rho, accounting)
