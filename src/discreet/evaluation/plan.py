"""The plan of a private evaluation: which tables of counts, at what cost (proof: docs/proofs/evaluation.md)."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from discreet.evaluation.edges import Scale, made_up_scores, scales
from discreet.evaluation.exact import Scoring
from discreet.evaluation.sets import set_edges
from discreet.privacy.budget import Adjacency, Budget
from discreet.privacy.ledger import Charge, Node, Sequential
from discreet.privacy.plan import Protected, checked_contributions, moved_rows
from discreet.privacy.unexpected import REFUSE, check_unexpected

SETS_ROWS = Fraction(1, 4)  # of what prediction sets cost: the number of rows, the rest is for their scores
CONFUSION_SHARE = Fraction(1, 4)  # of the budget, if there are more than two classes; the scores' tables share the rest


@dataclass(frozen=True, eq=False)
class EvaluationPlan(Protected):
    """What is known before a row is read: the bins, and a charge for each table in which a row has one cell.

    Two classes have one table, by true class and score bin, whose margins are the confusion table. More have the
    confusion table and, for each class, a table of whether a row is of the class by the bin of its score.
    Where prediction sets are counted, two tables follow: of all rows, and by the lead of a true class that is not the
    best one.
    """

    scales: tuple[Scale, ...]
    charges: tuple[Charge, ...]
    edges: Any = None  # of the bins that prediction sets rest on, if they are counted

    @property
    def classes(self) -> int:
        """How many classes there are."""
        return len(self.schema.classes)

    @property
    def node(self) -> Node:
        """The ledger entry."""
        return self.charges[0] if len(self.charges) == 1 else Sequential("an evaluation", self.charges)


def make_evaluation_plan(
    model: Scoring,
    budget: Budget,
    *,
    adjacency: Adjacency,
    contributions: Any = 1,
    unexpected: str = REFUSE,
    sets: Fraction = Fraction(0),
) -> EvaluationPlan:
    """The plan for a released model, from public knowledge alone."""
    contributions = checked_contributions(contributions)
    budget = budget.pure
    classes = len(model.schema.classes)
    charges = evaluation_charges(budget, classes, adjacency=adjacency, contributions=contributions, sets=sets)
    scores = made_up_scores(model)
    edges = set_edges(scores, model.probabilistic) if sets else None
    return EvaluationPlan(
        model.schema, budget, adjacency, contributions, tuple(scales(scores, model.probabilistic)), charges, edges,
        unexpected=check_unexpected(unexpected),
    )  # fmt: skip


def evaluation_charges(
    budget: Budget, classes: int, *, adjacency: Adjacency, contributions: int = 1, sets: Fraction = Fraction(0)
) -> tuple[Charge, ...]:
    """The cost of each table; known before there is a model. `sets` is the part for prediction sets."""
    if budget.epsilon is None:
        return ()
    reach = moved_rows(adjacency, contributions)

    def charge(what: str, epsilon: Fraction) -> Charge:
        return Charge("discrete Laplace", what, "L1", str(reach), reach / epsilon, "epsilon", epsilon)

    whole, own = budget.epsilon * (1 - sets), budget.epsilon * sets
    covered: tuple[Charge, ...] = ()
    if sets:
        covered = (
            charge("rows held out, for prediction sets", own * SETS_ROWS),
            charge("rows by the lead of their class if another is ahead", own * (1 - SETS_ROWS)),
        )
    if classes == 2:
        return (charge("rows by true class and score", whole), *covered)
    each = whole * (1 - CONFUSION_SHARE) / classes
    return (
        charge("rows by true and predicted class", whole * CONFUSION_SHARE),
        *(charge(f"rows by the score of class {k + 1}, of it or not", each) for k in range(classes)),
        *covered,
    )
