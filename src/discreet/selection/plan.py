"""The plan of a selection: which score, which mechanism, at which cost; made before any data are read."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from fractions import Fraction
from numbers import Integral
from typing import Any, ClassVar

from discreet.errors import BudgetError
from discreet.mechanisms.choose import concentrated_cost, exponential_errs_less
from discreet.mechanisms.joint import check_events
from discreet.privacy.budget import Adjacency, Budget
from discreet.privacy.ledger import Charge, Sequential, concentrated
from discreet.privacy.plan import Protected, checked_contributions, moved_rows
from discreet.privacy.ranged import ranged_accounting, ranged_epsilon
from discreet.privacy.unexpected import REFUSE, check_unexpected
from discreet.schema import Schema
from discreet.selection.scores import SCORES, Score, make_score

MECHANISMS = {
    "permute-and-flip": "permute-and-flip, one feature after another",
    "gumbel": "exponential mechanism, one feature after another",
    "mask": "exponential mechanism over masks",
    "joint": "joint exponential mechanism",
    "sparse-vector": "sparse vector technique",
    "noisy-scores": "discrete Laplace noise on every score, then ranking",
    "noisy-tables": "discrete Laplace noise on every table, then ranking",
}
SELECTORS = tuple(MECHANISMS)
CONCENTRATED = {"gumbel", "permute-and-flip"}  # that may spend a δ
COUNTED = Fraction(1, 10)  # of the budget buys the class counts that a balanced score is weighted by
__all__ = ["SCORES", "SELECTORS", "SelectionPlan", "make_selection_plan"]


@dataclass(frozen=True)
class SelectionPlan(Protected):
    """What will be chosen, by which mechanism, at which cost."""

    k: int
    score: Score
    selector: str
    threshold: int | None
    node: Sequential = field(repr=False)
    each: Fraction | None = None  # ε of every draw where their losses add up under a δ
    counts_alone: ClassVar[tuple[str, ...]] = ("bins",)  # that stand in for rows

    @property
    def epsilon(self) -> Fraction:
        """What the choice itself costs."""
        assert self.budget.epsilon is not None
        return self.budget.epsilon * (1 - self.counted)

    @property
    def counted(self) -> Fraction:
        """The share of the budget that buys class counts."""
        return COUNTED if self.score.name == "balanced" else Fraction(0)

    @property
    def rate(self) -> Fraction:
        """What a unit of score multiplies the chance of an item by, as a power of e."""
        if self.each is not None:
            return self.each / self.score.reach
        return _rate(self.selector, self.epsilon, self.k, self.score)

    @property
    def rho(self) -> Fraction | None:
        """The ρ of everything, ε²/2 for what is pure; None where costs add up as ε."""
        return None if self.each is None else concentrated(self.node)

    @property
    def accounting(self) -> str:
        """How costs add up."""
        if self.each is None:
            return "pure epsilon, costs added up exactly"
        how = ranged_accounting("draws", self.k)
        bought = self.budget.epsilon * self.counted if self.budget.epsilon is not None else 0
        return f"{how}; pure epsilon of the class counts ({bought}) added to epsilon" if bought else how

    @property
    def scales(self) -> tuple[Fraction, Fraction]:
        """The scales of the noise on the threshold and on the scores of the sparse vector technique."""
        return _scales(self.epsilon, self.k, self.score)

    def to_dict(self) -> dict[str, Any]:
        """The plan as plain values."""
        return {
            "schema_hash": self.schema.hash,
            "adjacency": str(self.adjacency),
            "contributions": self.contributions,
            "k": self.k,
            "score": self.score.name,
            "selector": self.selector,
            "threshold": self.threshold,
            "epsilon": None if self.budget.epsilon is None else float(self.budget.epsilon),
        }


def _rate(selector: str, epsilon: Fraction, k: int, score: Score) -> Fraction:
    return epsilon / (2 * score.reach) if selector == "joint" else epsilon / (k * score.reach)


def _each(selector: str, budget: Budget, k: int, score: Score) -> Fraction | None:
    """ε of every draw of the exponential mechanism if k of them are (ε, δ) together; None if adding up ε gives as much.

    Permute-and-flip has no bounded range: it stays at pure ε, unless the exponential mechanism errs less.
    """
    if selector not in CONCENTRATED or not budget.delta or budget.epsilon is None:
        return None
    left = budget.epsilon * (1 - (COUNTED if score.name == "balanced" else 0))
    found = ranged_epsilon(left, budget.delta, k)
    better = found > left / k if selector == "gumbel" else exponential_errs_less(found * k / left)
    return found if better else None


def _scales(epsilon: Fraction, k: int, score: Score) -> tuple[Fraction, Fraction]:
    """A quarter for the threshold: near the best share for k from 1 to 20 (1 : (2k)^(2/3)), and never far from it."""
    first = epsilon / 4
    return Fraction(score.sensitivity) / first, Fraction(k * score.reach) / (epsilon - first)


def feature_count(k: Any, schema: Schema) -> int:
    """A whole number of features that the schema has."""
    if isinstance(k, bool) or not isinstance(k, Integral) or not 1 <= int(k) <= len(schema.features):
        raise BudgetError(
            f"k must be a whole number from 1 to the {len(schema.features)} features of the schema, not {k!r}"
        )
    return int(k)


def make_selection_plan(
    schema: Schema, budget: Budget, k: Any, *, score: Any = "hits", selector: Any = "permute-and-flip",
    adjacency: Adjacency = Adjacency.ADD_REMOVE, contributions: Any = 1, max_rows: int | None = None,
    threshold: Any = None, unexpected: str = REFUSE,
) -> SelectionPlan:  # fmt: skip
    """Check what the user asked for and price it."""
    if selector not in SELECTORS:
        raise BudgetError(f"selector must be one of {', '.join(SELECTORS)}, not {selector!r}")
    if budget.rho is not None:
        raise BudgetError("features are selected within epsilon and delta: give those instead of rho")
    count, rows = feature_count(k, schema), checked_contributions(contributions)
    if selector == "joint":
        check_events(count, len(schema.features))
    policy = check_unexpected(unexpected)
    scored = make_score(score, schema, adjacency, rows, max_rows, varying=policy != REFUSE)
    bar = _threshold(threshold, selector, budget, count, scored, len(schema.features))
    each = _each(selector, budget, count, scored)
    selector, budget = (selector, budget.pure) if each is None else ("gumbel", budget)
    node = Sequential("feature selection", _charges(schema, budget, count, scored, selector, adjacency, rows, each))
    return SelectionPlan(schema, budget, adjacency, rows, count, scored, selector, bar, node, each, unexpected=policy)


def _threshold(given: Any, selector: str, budget: Budget, k: int, score: Score, size: int) -> int | None:
    if selector != "sparse-vector":
        if given is not None:
            raise BudgetError("threshold is for selector='sparse-vector'")
        return None
    if given is not None:
        if isinstance(given, bool) or not isinstance(given, Integral) or not 0 <= int(given) < 2**53:
            raise BudgetError(f"threshold must be a whole number of at least 0, not {given!r}")
        return int(given)
    if score.name in {"hits", "balanced"}:
        raise BudgetError(
            f"the score {score.name!r} of a useless feature is not near zero: give a threshold, or use score='count'"
        )
    if budget.epsilon is None:
        return 0
    # Of D useless features about one passes: the noise on a score exceeds b·ln(D/2) with chance 1/D.
    return math.ceil(_scales(budget.epsilon, k, score)[1] * math.ceil(64 * math.log(max(size / 2, 2.0))) / 64)


def _charges(
    schema: Schema, budget: Budget, k: int, score: Score, selector: str, adjacency: Adjacency, contributions: int,
    each: Fraction | None,
) -> tuple[Charge, ...]:  # fmt: skip
    if budget.epsilon is None:
        return ()
    charges = []
    moved = moved_rows(adjacency, contributions)
    epsilon = budget.epsilon
    if score.name == "balanced":
        spent = epsilon * COUNTED
        charges.append(
            Charge("discrete Laplace", "rows by class", "L1", str(moved), moved / spent, "epsilon", spent)
        )  # fmt: skip
        epsilon -= spent
    what = f"{k} of {len(schema.features)} features by {score.name}"
    if selector == "noisy-tables":
        reach, norm = moved * len(schema.features), "L1"
        spread = Fraction(reach) / epsilon
    elif selector == "noisy-scores":
        reach, norm = score.sensitivity * len(schema.features), "L1"
        spread = Fraction(reach) / epsilon
    elif selector == "sparse-vector":
        fence, spread = _scales(epsilon, k, score)
        spent, moves = Fraction(score.sensitivity) / fence, str(score.sensitivity)
        charges.append(
            Charge("discrete Laplace", "threshold of the sparse vector technique", "L1", moves, fence, "epsilon", spent)
        )
        epsilon -= spent
        reach, norm = score.reach, "range of score changes"
    else:
        reach, norm, spread = score.reach, "range of score changes", 1 / _rate(selector, epsilon, k, score)
    if each is not None:
        spent = concentrated_cost(each, "exponential") * k
        charges.append(Charge(MECHANISMS[selector], what, norm, str(reach), score.reach / each, "rho", spent))
        return tuple(charges)
    charges.append(Charge(MECHANISMS[selector], what, norm, str(reach), spread, "epsilon", epsilon))
    return tuple(charges)
