"""PrivateClassifier: buys the number of rows, chooses a kind of model by it, and fits that with what is left."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from numbers import Integral
from typing import Any, Self

import numpy as np

from discreet import sources
from discreet.auto.families import fit_family
from discreet.auto.rule import MODELS, choose
from discreet.bayes.base import ScoreEstimator
from discreet.bayes.counts import SHARE, ClassCounts, count_charge, noisy_counts, with_counts
from discreet.bounds.plan import SettlePlan
from discreet.errors import BudgetError
from discreet.mechanisms.noise import bytes_of, sampler_for
from discreet.models import Model
from discreet.privacy.budget import Adjacency, Budget
from discreet.privacy.ledger import Charge, Sequential, SmoothCharge
from discreet.privacy.payer import Payer, paying
from discreet.privacy.unexpected import REFUSE, check_unexpected
from discreet.schema import Schema
from discreet.sources import Progress, check_lasting


@dataclass(frozen=True)
class AutoPlan:
    """What is known before a row is read: the counts' cost, and that all the rest goes to the model they lead to."""

    budget: Budget
    adjacency: Adjacency
    contributions: int
    model: str
    unexpected: str = REFUSE

    @property
    def charge(self) -> Charge | None:
        """The cost of the class counts; None without privacy."""
        if self.budget.epsilon is None:
            return None
        return count_charge(self.budget.epsilon * SHARE, self.adjacency, self.contributions)

    @property
    def node(self) -> Sequential:
        """The ledger entry, as far as it is known before the counts are."""
        if self.charge is None or self.budget.epsilon is None:
            return Sequential("class counts, then the model", ())
        rest = _rest(self.budget.epsilon - self.charge.cost)
        return Sequential("class counts, then the model", (self.charge, rest))

    @property
    def unit(self) -> str:
        """Whom the cost is counted for."""
        return f"{self.adjacency} neighbours with up to {self.contributions} row(s) per person"

    def rows(self) -> list[dict[str, Any]]:
        """The steps as a list of plain records, for people and machines."""
        whole = self.budget.epsilon
        return [
            {
                "step": part.what,
                "share": float(share),
                "cost": None if whole is None else float(share * whole),
                "mechanism": part.mechanism if whole is not None else "none",
            }
            for part, share in ((count_charge(SHARE), SHARE), (_rest(1 - SHARE), 1 - SHARE))
        ]

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
        lines = [f"{row['step']:<14}  {row['share']:>6.1%}  {row['mechanism']}" for row in self.rows()]
        return "\n".join([f"{self.budget}, {self.adjacency} neighbours, model {self.model}", *lines])


def _rest(epsilon: Fraction) -> SmoothCharge:
    return SmoothCharge("that of the chosen kind of model", "the model", "epsilon", epsilon)


class PrivateClassifier(ScoreEstimator):
    """The kind of model that promises most at this budget, with differential privacy.

    A small part of the budget buys the number of rows in each class. From it, ε and the schema, all of which anybody
    may know, follow the kind of model and its resolution; how well a model would do on the rows is not looked at.

    Parameters
    ----------
    epsilon : float, default 1.0
        The privacy budget of each fit, the number of rows included; `math.inf` gives a fit without privacy.
    schema : Schema or "infer"
        What is public about the data. "infer" reads it off the training data, which is a disclosure that the
        certificate states; without a schema there is no fit.
    model : {"auto", "naive-bayes", "additive", "additive-pairs", "tan", "joint"}
        The kind of model; "auto" chooses one, and `choice_` says which and why.
    adjacency : {"add-remove", "replace"}
        Neighbours differ by one row more or less, or by one changed row (then the number of rows is public).
    bins : {"auto", "schema"}
        Numbers in as many bins as rows and budget can fill, or in those of the schema. Edges that the schema lists one
        by one are always kept.
    contributions : int, default 1
        The most rows one person may have in the data. If the schema names an id column, this is enforced.
    random_state : int, Generator or None
        A seed makes the fit a reproducible simulation, which is not for release; the certificate says so.
    bounds, edges, bounds_share
        As in `PrivateNB`: bounds and bins that are not known can be bought first.
    unexpected : {"refuse", "absorb"}
        What happens to values without a place in the schema and to people with too many rows: an error, which is
        outside the guarantee, or a place by public rules (docs/unexpected.md): the guarantee then covers every table.

    Attributes
    ----------
    choice_ : Choice
        The kind of model, the numbers that decided, and the reason in words.
    counts_ : ClassCounts
        The bought numbers of rows.
    model_ : the released model, of the chosen kind
    certificate_ : Certificate
    classes_, n_features_in_, feature_names_in_ : as in scikit-learn
    """

    model_: Model

    def __init__(
        self,
        epsilon: float = 1.0,
        schema: Schema | str | None = None,
        model: str = "auto",
        adjacency: str = "add-remove",
        bins: str = "auto",
        contributions: int = 1,
        random_state: Any = None,
        bounds: str = "declared",
        edges: str | None = None,
        bounds_share: float = 0.1,
        unexpected: str = "refuse",
    ) -> None:
        self.epsilon = epsilon
        self.schema = schema
        self.model = model
        self.adjacency = adjacency
        self.bins = bins
        self.contributions = contributions
        self.random_state = random_state
        self.bounds = bounds
        self.edges = edges
        self.bounds_share = bounds_share
        self.unexpected = unexpected

    def plan(self) -> AutoPlan:
        """How the budget would be spent, as far as it is known before the number of rows is bought."""
        self._check()
        bought = self._purchase()
        if bought is not None:
            plan: AutoPlan = bought.rest.plan()
            return plan
        self._public_schema()
        return self._plan()

    def _plan(self) -> AutoPlan:
        return AutoPlan(
            Budget(self.epsilon), Adjacency.of(self.adjacency), int(self.contributions), str(self.model),
            check_unexpected(self.unexpected),
        )  # fmt: skip

    def settlement(self) -> SettlePlan | None:
        """How bounds and bins would be bought, if any are."""
        bought = self._purchase()
        return None if bought is None else bought.plan

    def _check(self) -> None:
        if self.model not in MODELS:
            raise BudgetError(f"model must be one of {', '.join(MODELS)}, not {self.model!r}")
        if self.bins not in {"auto", "schema"}:
            raise BudgetError(f"bins must be 'auto' or 'schema', not {self.bins!r}")
        given = self.contributions
        if isinstance(given, bool) or not isinstance(given, Integral) or int(given) < 1:
            raise BudgetError("contributions must be a whole number of rows, at least 1")

    def fit(
        self,
        X: Any,
        y: Any = None,
        *,
        ledger: Payer | None = None,
        account: Any = None,
        progress: Progress | None = None,
    ) -> Self:
        """Fit to an array or data frame with labels `y`, or to a file or database table that has the target.

        What the whole fit costs is known, and refused if the `account` (or `ledger`) does not have it, before the first
        row is read.
        """
        self._check()
        check_lasting(X)
        payer = paying(ledger, account, X, self)
        if self._fit_settled(X, y, payer, progress):
            return self
        plan = self._plan()
        budget, adjacency = plan.budget, plan.adjacency
        sampler = sampler_for(_one_stream(self.random_state))
        if isinstance(self.schema, str):
            payer.allow_inference(budget, plan.node)
        payer.afford(budget, plan.node)
        schema = self._schema_for(X, y)
        if plan.charge is not None:
            counting = Sequential("rows by class", (plan.charge,))
            payer.charge(counting, Budget(plan.charge.cost), plan.unit, self, schema=schema)
        rows = sources.open(
            X, schema, y, contributions=plan.contributions, unexpected=plan.unexpected, draw=bytes_of(sampler),
            progress=progress,
        )  # fmt: skip
        counts = noisy_counts(rows.class_counts(), plan.charge, sampler)
        rest = math.inf if budget.epsilon is None else budget.epsilon - _spent(counts)
        choice = choose(schema, counts, rest, adjacency=adjacency, contributions=plan.contributions, model=self.model)
        fitted = fit_family(
            choice, rows, None, schema=schema, counts=counts, epsilon=rest, adjacency=str(adjacency), bins=self.bins,
            contributions=plan.contributions, random_state=getattr(sampler, "rng", None), ledger=payer,
            progress=progress, unexpected=plan.unexpected,
        )  # fmt: skip
        self.counts_, self.choice_ = counts, choice
        self.model_ = with_counts(fitted, counts, self.epsilon)
        self.certificate_ = self.model_.certificate
        self._describe(X, schema)
        return self


def _spent(counts: ClassCounts) -> Fraction:
    return Fraction(0) if counts.charge is None else counts.charge.cost


def _one_stream(random_state: Any) -> Any:
    """A generator that all steps of a fit share: the same seed in each step would repeat its noise."""
    if isinstance(random_state, int | np.integer) and not isinstance(random_state, bool) and random_state >= 0:
        return np.random.default_rng([int(random_state), 0xD15C])
    return random_state
