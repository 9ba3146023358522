"""PrivateAdditiveClassifier: additive logistic and softmax regression with differential privacy, for scikit-learn."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, Self

import numpy as np

from discreet import sources
from discreet.additive.blocks import Level, check_levels
from discreet.additive.budget import AdditivePlan, plan_additive
from discreet.additive.fit import Fitted, fit_additive, start_at
from discreet.additive.model import AdditiveModel
from discreet.additive.plan import plan_fit
from discreet.additive.release import released_weights
from discreet.estimators.base import CountedEstimator
from discreet.estimators.counts import ClassCounts, noisy_counts
from discreet.linear.classifier import REFUSALS
from discreet.mechanisms.noise import Sampler, sampler_for
from discreet.mechanisms.vectors import bits_of
from discreet.privacy.budget import Budget
from discreet.privacy.certificate import Certificate
from discreet.privacy.certifier import certify
from discreet.privacy.ledger import Node, Sequential, cost
from discreet.privacy.payer import Payer, attempt, paying
from discreet.privacy.unexpected import ABSORB, FIXED
from discreet.schema import Schema
from discreet.sources import Progress, Source


class PrivateAdditiveClassifier(CountedEstimator):
    """Log-odds as a sum of one shape per feature (and tables of pairs), by objective perturbation.

    The noise is that of the K-norm; with a `delta` it is normal where that promises less error.

    Parameters
    ----------
    {epsilon, schema, adjacency}
    pairs : int or "auto"
        How many pairs of features get a table of their own, chosen privately by what a first model leaves
        unexplained; "auto" looks for pairs where there are several classes and budget to spare.
    numeric : {"smooth", "binned"}
        Numbers as a line through public knots, as many as the noise lets be told apart, or by the schema's bins.
    {contributions, random_state, unexpected, delta}

    Attributes
    ----------
    model_ : AdditiveModel
    {certificate_, classes_}
    """

    model_: AdditiveModel
    _spends_delta = True

    def __init__(
        self, epsilon: float = 1.0, schema: Schema | str | None = None, adjacency: str = "add-remove",
        pairs: int | str = "auto", numeric: str = "smooth", contributions: int = 1, random_state: Any = None,
        unexpected: str = "refuse",
        delta: float = 0.0,
    ) -> None:  # fmt: skip
        self._configure(locals())

    def fit(
        self, X: Any, y: Any = None, *, ledger: Payer | None = None, account: Any = None,
        progress: Progress | None = None, counts: ClassCounts | None = None, levels: tuple[Level, ...] = (),
        **unknown: Any,
    ) -> Self:  # fmt: skip
        """Fit to an array or data frame with labels `y`, or to a file or database table that has the target.

        The whole cost is known and charged to the `account` (or `ledger`), if there is one, before a row is read.
        `counts` are noisy rows by class that the caller has bought, as the certificate says; `levels` are groups of
        cells of numbers that are public, or that were read off a release which was paid for.
        """
        self._refuse(unknown)
        with attempt():
            return self._fit(X, y, paying(ledger, account, X, self), progress, counts, levels)

    def _plan(self, schema: Schema, counts: ClassCounts | None = None, *_: Any) -> AdditivePlan:
        return plan_additive(
            schema, self._budget(), **self._people(), pairs=self.pairs, numeric=self.numeric, buys_counts=counts is None
        )

    def _known_cost(self, counts: ClassCounts | None = None, *_: Any) -> Node:
        settings = self._people() | {"buys_counts": counts is None}
        return plan_additive(self.schema, self._budget(), **settings).node  # whatever the schema will be

    def _check_bought(
        self, plan: Any, counts: ClassCounts | None = None, levels: tuple[Level, ...] = (), *_: Any
    ) -> None:  # fmt: skip
        super()._check_bought(plan, counts)
        check_levels(plan.schema, levels)

    def _release(
        self, source: Source, plan: AdditivePlan, sampler: Sampler, counts: ClassCounts | None = None,
        levels: tuple[Level, ...] = (),
    ) -> AdditiveModel:  # fmt: skip
        rows = source.held()
        known = counts if counts is not None else noisy_counts(rows.counts, plan.count_charge, sampler)
        fitted = fit_additive(rows, plan, known, sampler, levels)
        certificate = release_certificate(fitted, plan, sampler, known)
        return AdditiveModel(fitted.blocks, fitted.weights, certificate, fitted.noise)


def release_certificate(
    fitted: Fitted, plan: AdditivePlan, sampler: Sampler, counts: ClassCounts | None = None
) -> Certificate:
    """What an additive release guarantees."""
    parts: tuple[Node, ...] = fitted.charges if plan.count_charge is None else (plan.count_charge, *fitted.charges)
    node = Sequential("additive model", parts)
    spends = bool(cost(node, "delta"))
    machine = "logarithm, root and exponential of this machine are exact to two units in the last place"
    found = certify(
        plan if spends else replace(plan, budget=plan.budget.pure),
        node=node,
        sampler=(
            f"noise vectors from {bits_of(sampler).name}, within the solver's tolerance of exact draws",
            sampler.name,
        ),
        simulation=sampler.simulation,
        accounting=f"{'epsilon and delta' if spends else 'pure epsilon'}, added up over steps",
        assumptions=(machine, FIXED if plan.unexpected == ABSORB else REFUSALS) if plan.budget.private else (),
        elsewhere=() if counts is None else counts.elsewhere(),
    )
    return found.whichever(plan.budget.delta)  # noisy counts decide which noise it is


def twin_of(model: AdditiveModel, data: Any, y: Any = None, *, progress: Progress | None = None) -> AdditiveModel:
    """The same blocks fitted without noise: for comparison, never for release."""
    sampler = sampler_for(None)
    rows = sources.open(data, model.schema, y, contributions=1, progress=progress).held()
    counts = noisy_counts(rows.counts, None, sampler)
    exact = plan_fit(model.blocks, None, counts)
    weights = released_weights(model.blocks.design(rows), exact, start_at(model.blocks, counts), sampler)
    plan = plan_additive(model.schema, Budget(np.inf))
    return AdditiveModel(model.blocks, weights, release_certificate(Fitted(model.blocks, weights, ()), plan, sampler))
