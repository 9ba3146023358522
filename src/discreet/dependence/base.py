"""The road that both estimators walk: plan, charge, read once, release, estimate."""

from __future__ import annotations

from abc import abstractmethod
from typing import Any, Self

from discreet import sources
from discreet.bayes.base import ScoreEstimator
from discreet.bayes.counts import ClassCounts, noisy_counts
from discreet.dependence.plan import NetworkPlan
from discreet.mechanisms.noise import Sampler, bytes_of, sampler_for
from discreet.privacy.budget import Adjacency, Budget
from discreet.privacy.payer import Payer, paying
from discreet.schema import Schema
from discreet.sources import HeldRows, Progress


class NetworkEstimator(ScoreEstimator):
    """An estimator that reads the rows once and sizes its tables by noisy class counts."""

    adjacency: Any
    contributions: Any
    unexpected: Any

    @abstractmethod
    def _plan(self, schema: Schema, counts: ClassCounts | None) -> NetworkPlan:
        """How the budget is split."""

    @abstractmethod
    def _model(self, held: HeldRows, plan: NetworkPlan, counts: ClassCounts, sampler: Sampler) -> Any:
        """The released model."""

    def plan(self) -> NetworkPlan:
        """How the budget would be spent, from public knowledge alone."""
        return self._plan(self._public_schema(), None)

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

        The whole cost is known and charged to the `account` (or `ledger`), if there is one, before a row is read.
        `counts` are noisy rows by class that the caller has bought; the certificate then covers what comes on top.
        """
        payer = paying(ledger, account, X, self)
        if isinstance(self.schema, str):
            payer.allow_inference(Budget(self.epsilon))
        schema = self._schema_for(X, y)
        plan = self._plan(schema, counts)
        payer.charge(plan.node, plan.budget, plan.unit, self, schema=schema)
        sampler = sampler_for(self.random_state)
        held = sources.open(
            X, schema, y, contributions=plan.contributions, unexpected=plan.unexpected, draw=bytes_of(sampler),
            progress=progress,
        ).held()  # fmt: skip
        if counts is None:
            counts = noisy_counts(held.counts, plan.count, sampler)
        self.model_ = self._model(held, plan, counts, sampler)
        self.certificate_ = self.model_.certificate
        self._describe(X, schema)
        return self

    def _settings(self) -> dict[str, Any]:
        return {
            "adjacency": Adjacency.of(self.adjacency),
            "contributions": self.contributions,
            "unexpected": self.unexpected,
        }
