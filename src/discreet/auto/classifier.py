"""PrivateClassifier: buys the number of rows, chooses a kind of model by it, and fits that with what is left."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Self

import numpy as np
from sklearn.utils.validation import check_is_fitted

from discreet.auto.families import fit_family
from discreet.auto.rule import Choice, choose, draws
from discreet.bayes.model import NaiveBayesModel
from discreet.errors import BudgetError, ModelError
from discreet.estimators.base import ScoreEstimator
from discreet.estimators.counts import FIRST, MORE, ClassCounts, CountPlan, bought_counts, count_charge, is_rough
from discreet.kinds import Kind, find
from discreet.mechanisms.noise import Sampler, laplace_variance, sampler_for
from discreet.models import ReleasedModel
from discreet.privacy.budget import LEAST
from discreet.privacy.ledger import Charge, Node, Sequential, SmoothCharge
from discreet.privacy.payer import PAID, Payer
from discreet.privacy.plan import Protected, checked_contributions
from discreet.schema import Schema
from discreet.selection.kbest import narrowed
from discreet.sources import Progress, Source, check_lasting, is_outside

TOGETHER = "class counts, then the model"
STEPS = (
    ("rows by class", FIRST, "discrete Laplace"),
    ("again, if rough", MORE, "discrete Laplace, or that of the model"),
    ("the model", 1 - FIRST - MORE, "that of the chosen kind of model"),
)
ROWS = (1_000, 10_000, 100_000, 1_000_000)  # for which a plan says what would be chosen


@dataclass(frozen=True)
class AutoPlan(Protected):
    """What is known before a row is read: the counts' cost, and that all the rest goes to the model they lead to."""

    model: str
    generative: bool = False

    @property
    def counts(self) -> CountPlan:
        """The purchase of class counts: once, and again where they are rough."""
        return CountPlan(
            self.schema, self.budget, self.adjacency, self.contributions, self._counting(FIRST),
            further=self._counting(MORE), unexpected=self.unexpected,
        )  # fmt: skip

    def _counting(self, share: Fraction) -> Charge | None:
        """What counts cost with that share of the budget; None without privacy."""
        if self.budget.epsilon is None:
            return None
        return count_charge(self.budget.epsilon * share, self.adjacency, self.contributions)

    @property
    def node(self) -> Sequential:
        """The ledger entry, as far as it is known before the counts are."""
        if self.budget.epsilon is None:
            return Sequential(TOGETHER, ())
        # The rest is one part: a model of many rows has all of it, and squares of epsilon add up to less than its own.
        first, rest = self.budget.epsilon * FIRST, self.budget.epsilon * (1 - FIRST)
        return Sequential(TOGETHER, (
            count_charge(first, self.adjacency, self.contributions),
            SmoothCharge("that of the chosen kind of model", "rows by class again if need be, and the model", "epsilon",
                         rest, self.budget.delta),
        ))  # fmt: skip

    def rows(self) -> list[dict[str, Any]]:
        """The steps as a list of plain records, for people and machines."""
        whole = self.budget.epsilon
        return [
            {
                "step": step,
                "share": float(share),
                "cost": None if whole is None else float(share * whole),
                "mechanism": mechanism if whole is not None else "none",
            }
            for step, share, mechanism in STEPS
        ]

    def choices(self, rows: Sequence[int] = ROWS) -> list[tuple[int, Choice]]:
        """What would be chosen if there were that many rows, alike in number for every class: a public computation."""
        classes = len(self.schema.classes)
        return [
            (
                size,
                choose(
                    self.schema, ClassCounts(np.full(classes, size / classes), 0.0, None), self._left(size),
                    adjacency=self.adjacency, contributions=self.contributions, model=self.model,
                    delta=self.budget.delta, generative=self.generative,
                ),
            )
            for size in rows
        ]  # fmt: skip

    def _left(self, rows: int) -> Fraction | float:
        """The budget of a model of so many rows."""
        first = self._counting(FIRST)
        if first is None or self.budget.epsilon is None:
            return math.inf
        again = is_rough(rows, laplace_variance(float(first.spread)), len(self.schema.classes))
        return self.budget.epsilon * (1 - FIRST - MORE * again)

    def to_dict(self) -> dict[str, Any]:
        """The plan as plain values."""
        return {
            "model": self.model,
            "adjacency": str(self.adjacency),
            "contributions": self.contributions,
            "epsilon": None if self.budget.epsilon is None else float(self.budget.epsilon),
            "delta": float(self.budget.delta),
            "steps": self.rows(),
        }

    def __str__(self) -> str:
        lines = [f"{row['step']:<15}  {row['share']:>6.1%}  {row['mechanism']}" for row in self.rows()]
        return "\n".join([f"{self.budget}, {self.adjacency} neighbours, model {self.model}", *lines])


class PrivateClassifier(ScoreEstimator):
    """The kind of model that promises most at this budget, with differential privacy.

    A small part of the budget buys the number of rows in each class. From it, ε and the schema, all of which anybody
    may know, follow the kind of model and its resolution; how well a model would do on the rows is not looked at.

    Parameters
    ----------
    epsilon : float, default 1.0
        The privacy budget of each fit, the number of rows included; `math.inf` gives a fit without privacy.
    {schema}
    model : {"auto", "naive-bayes", "selective", "additive", "additive-pairs", "tan", "joint"}
        The kind of model; "auto" chooses one, and `choice_` says which and why.
    generative : bool
        Whether rows are to be drawn from the model (`model_.sample`): "auto" then chooses among kinds that can.
    {adjacency}
    bins : {"auto", "schema"}
        Numbers in as many bins as rows and budget can fill, or in those of the schema. Edges that the schema lists one
        by one are always kept.
    {contributions, random_state, bounds, edges, bounds_share, unexpected, delta}

    Attributes
    ----------
    choice_ : Choice
        The kind of model, the numbers that decided, and the reason in words.
    counts_ : ClassCounts
        The bought numbers of rows.
    model_ : the released model, of the chosen kind
    {certificate_, classes_}
    """

    model_: ReleasedModel
    _spends_delta = True

    def __init__(
        self, epsilon: float = 1.0, schema: Schema | str | None = None, model: str = "auto",
        adjacency: str = "add-remove", bins: str = "auto", contributions: int = 1, random_state: Any = None,
        bounds: str = "declared", edges: str | None = None, bounds_share: float = 0.1, unexpected: str = "refuse",
        delta: float = 0.0, generative: bool = False,
    ) -> None:  # fmt: skip
        self._configure(locals())

    def _plan(self, schema: Schema, *_: Any) -> AutoPlan:
        asked = find(self.model)  # or a sentence that names all kinds
        if self.generative and asked.name != "auto" and not draws(asked):
            raise BudgetError(
                f"no rows can be drawn from a {asked.words}: leave the kind of model out, or use naive-bayes"
            )
        own = asked.name != "auto" and asked.automatic == Kind.automatic  # which plans for this very schema
        if own and isinstance(schema, Schema):  # what it refuses is refused before anything is charged
            asked.make(epsilon=self.epsilon, schema=schema, **self._people()).plan()
        if self.bins not in {"auto", "schema"}:
            raise BudgetError(f"bins must be 'auto' or 'schema', not {self.bins!r}")
        budget = self._budget()
        if budget.epsilon is not None and budget.epsilon * FIRST < LEAST:
            raise BudgetError(f"epsilon = {budget.epsilon} is too little: a hundredth of it would have to buy counts")
        people = self._people()
        contributions = checked_contributions(people["contributions"])
        return AutoPlan(
            schema, budget, people["adjacency"], contributions, str(self.model), bool(self.generative),
            unexpected=people["unexpected"],
        )  # fmt: skip

    def _known_cost(self, *_: Any) -> Node:
        return self._plan(self.schema).node

    def _sampler(self) -> Sampler:
        return sampler_for(_one_stream(self.random_state))

    def _fit(self, X: Any, y: Any, payer: Payer, progress: Progress | None, *bought: Any) -> Self:
        check_lasting(X)
        return super()._fit(X, y, payer, progress, *bought)

    def _release(self, source: Source, plan: AutoPlan, sampler: Sampler, *_: Any) -> ReleasedModel:
        schema, budget = plan.schema, plan.budget
        counts = bought_counts(source.class_counts(), plan.counts, sampler)
        rest = math.inf if budget.epsilon is None else budget.epsilon - counts.cost
        choice = choose(
            schema, counts, rest, adjacency=plan.adjacency, contributions=plan.contributions, model=self.model,
            delta=budget.delta if self.bins == "auto" else 0, generative=bool(self.generative),
        )  # fmt: skip
        fitted = fit_family(
            choice.model, source, None, schema=schema, counts=counts, epsilon=rest, delta=budget.delta,
            adjacency=str(plan.adjacency), bins=self.bins, contributions=plan.contributions,
            random_state=getattr(sampler, "rng", None), ledger=PAID, progress=source.progress,
            unexpected=plan.unexpected,
        )  # fmt: skip
        self.counts_, self.choice_, self._among = counts, choice, schema.names
        if counts.certificate is None or not counts.certificate.private:
            return fitted
        whole = counts.certificate.then(fitted.certificate, plan.node.what)
        return fitted.with_certificate(whole.whichever(budget.delta))

    @property
    def class_count_(self) -> Any:
        """The noisy rows per class that were bought, in the order of `classes_`."""
        check_is_fitted(self)
        return self.counts_.values[self._order]

    def to_sklearn(self) -> Any:
        """The released model as a fitted scikit-learn pipeline, if it is Naive Bayes; no other kind has its like."""
        from discreet.bayes.export import to_sklearn

        check_is_fitted(self)
        if not isinstance(self.model_, NaiveBayesModel) or self.model_.schema.names != self._among:
            chosen = " of chosen features" if isinstance(self.model_, NaiveBayesModel) else ""
            raise ModelError(
                f"{self.model_.NAME}{chosen} has no counterpart in scikit-learn: keep this model, or ask for "
                "model='naive-bayes'"
            )
        return to_sklearn(self.model_, hasattr(self, "feature_names_in_"), np.maximum(self.counts_.values, 0.0))

    def _narrowed(self, X: Any) -> Any:
        asked = self.model_.schema.names  # fewer than those of the fit, where features were chosen
        return X if asked == getattr(self, "_among", asked) or is_outside(X) else narrowed(X, asked, self._among)


def _one_stream(random_state: Any) -> Any:
    """A generator that all steps of a fit share: the same seed in each step would repeat its noise."""
    if isinstance(random_state, int | np.integer) and not isinstance(random_state, bool) and random_state >= 0:
        return np.random.default_rng([int(random_state), 0xD15C])
    return random_state
