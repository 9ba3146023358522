"""PrivateAdditiveClassifier: additive logistic and softmax regression with differential privacy, for scikit-learn."""

from __future__ import annotations

from typing import Any, Self

import numpy as np

from discreet import sources
from discreet.additive.budget import AdditivePlan, plan_additive
from discreet.additive.fit import Fitted, fit_additive, start_at
from discreet.additive.model import AdditiveModel
from discreet.additive.plan import plan_fit
from discreet.additive.release import released_weights
from discreet.bayes.base import ScoreEstimator
from discreet.bayes.certificates import MODEL
from discreet.bayes.counts import ELSEWHERE, ClassCounts, noisy_counts
from discreet.errors import BudgetError
from discreet.linear.classifier import REFUSALS
from discreet.mechanisms.noise import Sampler, bytes_of, sampler_for
from discreet.mechanisms.vectors import bits_of
from discreet.privacy.budget import Adjacency, Budget
from discreet.privacy.certificate import Certificate, certify, covering, standing
from discreet.privacy.ledger import Charge, Sequential
from discreet.privacy.payer import Payer, paying
from discreet.privacy.unexpected import ABSORB, FIXED
from discreet.schema import Schema
from discreet.sources import Progress


class PrivateAdditiveClassifier(ScoreEstimator):
    """Log-odds as a sum of one shape per feature (and tables of pairs), by K-norm objective perturbation.

    Parameters
    ----------
    epsilon : float, default 1.0
        The privacy budget of each fit; `math.inf` gives the non-private twin.
    schema : Schema or "infer"
        What is public about the data. "infer" reads it off the training data, which is a disclosure that the
        certificate states; without a schema there is no fit.
    adjacency : {"add-remove", "replace"}
        Neighbours differ by one row more or less, or by one changed row (then the number of rows is public).
    pairs : int or "auto"
        How many pairs of features get a table of their own, chosen privately by what a first model leaves
        unexplained; "auto" looks for pairs where there are several classes and budget to spare.
    numeric : {"smooth", "binned"}
        Numbers as a line through public knots, as many as the noise lets be told apart, or by the schema's bins.
    contributions : int, default 1
        The most rows one person may have in the data. If the schema names an id column, this is enforced.
    random_state : int, Generator or None
        A seed makes the fit a reproducible simulation, which is not for release; the certificate says so.
    unexpected : {"refuse", "absorb"}
        What happens to values without a place in the schema and to people with too many rows: an error, which is
        outside the guarantee, or a place by public rules (docs/unexpected.md): the guarantee then covers every table.

    Attributes
    ----------
    model_ : AdditiveModel
    certificate_ : Certificate
    classes_, n_features_in_, feature_names_in_ : as in scikit-learn
    """

    model_: AdditiveModel

    def __init__(
        self,
        epsilon: float = 1.0,
        schema: Schema | str | None = None,
        adjacency: str = "add-remove",
        pairs: int | str = "auto",
        numeric: str = "smooth",
        contributions: int = 1,
        random_state: Any = None,
        unexpected: str = "refuse",
    ) -> None:
        self.epsilon = epsilon
        self.schema = schema
        self.adjacency = adjacency
        self.pairs = pairs
        self.numeric = numeric
        self.contributions = contributions
        self.random_state = random_state
        self.unexpected = unexpected

    def plan(self) -> AdditivePlan:
        """How the budget would be spent, from public knowledge alone."""
        return self._plan(self._public_schema(), None)

    def _plan(self, schema: Schema, counts: ClassCounts | None) -> AdditivePlan:
        return plan_additive(
            schema,
            Budget(self.epsilon),
            adjacency=Adjacency.of(self.adjacency),
            contributions=self.contributions,
            pairs=self.pairs,
            numeric=self.numeric,
            buys_counts=counts is None,
            unexpected=self.unexpected,
        )

    def fit(
        self,
        X: Any,
        y: Any = None,
        *,
        ledger: Payer | None = None,
        account: Any = None,
        progress: Progress | None = None,
        counts: ClassCounts | None = None,
    ) -> Self:
        """Fit to an array or data frame with labels `y`, or to a file or database table that has the target.

        `counts` are noisy rows per class that the caller has paid for; without them 4 % of the budget buy them. The
        whole cost is known and charged to the `account` (or `ledger`), if there is one, before a row is read.
        """
        payer = paying(ledger, account, X, self)
        if isinstance(self.schema, str):
            # The cost does not depend on the schema, which is read off the rows only once the ledger can pay for it.
            payer.allow_inference(Budget(self.epsilon), self._plan(self.schema, counts).node)  # type: ignore[arg-type]
        schema = self._schema_for(X, y)
        plan = self._plan(schema, counts)
        if counts is not None and len(counts.values) != len(schema.classes):
            raise BudgetError(f"there must be one count per class: {len(schema.classes)}, not {len(counts.values)}")
        sampler = sampler_for(self.random_state)
        payer.charge(plan.node, plan.budget, plan.unit, self, schema=schema)
        rows = sources.open(
            X, schema, y, contributions=plan.contributions, unexpected=plan.unexpected, draw=bytes_of(sampler),
            progress=progress,
        ).held()  # fmt: skip
        known = counts if counts is not None else noisy_counts(rows.counts, plan.count_charge, sampler)
        fitted = fit_additive(rows, plan, known, sampler)
        self.certificate_ = release_certificate(fitted, plan, sampler)
        self.model_ = AdditiveModel(fitted.blocks, fitted.weights, self.certificate_)
        self._describe(X, schema)
        return self


def release_certificate(fitted: Fitted, plan: AdditivePlan, sampler: Sampler) -> Certificate:
    """What an additive release guarantees."""
    private, schema = plan.budget.private, plan.schema
    simulation = private and sampler.simulation
    stated = [*standing(schema, plan.contributions)]
    if private:
        stated.append("logarithm, root and exponential of this machine are exact to two units in the last place")
        stated.append(FIXED if plan.unexpected == ABSORB else REFUSALS)
        if not plan.buys_counts:
            stated.append(ELSEWHERE)
    parts: tuple[Charge, ...] = fitted.charges if plan.count_charge is None else (plan.count_charge, *fitted.charges)
    names = f"noise vectors from {bits_of(sampler).name}, within the solver's tolerance of exact draws"
    return certify(
        Sequential("additive model", parts),
        plan.budget,
        adjacency=plan.adjacency,
        contributions=plan.contributions,
        identified=schema.id is not None,
        unexpected=plan.unexpected,
        simulation=simulation,
        sampler=f"{names} and {sampler.name}" if private else "none",
        schema_hash=schema.hash,
        rho=None,
        accounting="pure epsilon, added up over steps" if private else "none",
        covers=covering(MODEL, schema, usable=private and not simulation),
        assumptions=tuple(stated),
    )


def twin_of(model: AdditiveModel, data: Any, y: Any = None, *, progress: Progress | None = None) -> AdditiveModel:
    """The same blocks fitted without noise: for comparison, never for release."""
    sampler = sampler_for(None)
    rows = sources.open(data, model.schema, y, contributions=1, progress=progress).held()
    counts = noisy_counts(rows.counts, None, sampler)
    exact = plan_fit(model.blocks, None, counts)
    weights = released_weights(model.blocks.design(rows), exact, start_at(model.blocks, counts), sampler)
    plan = plan_additive(model.schema, Budget(np.inf))
    return AdditiveModel(model.blocks, weights, release_certificate(Fitted(model.blocks, weights, ()), plan, sampler))
