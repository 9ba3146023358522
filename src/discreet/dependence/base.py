"""What both estimators share: rows held once, tables sized by class counts."""

from __future__ import annotations

from abc import abstractmethod
from typing import Any

from discreet.dependence.plan import NetworkPlan
from discreet.estimators.base import CountedEstimator
from discreet.estimators.counts import ClassCounts, noisy_counts
from discreet.mechanisms.noise import Sampler
from discreet.privacy.certificate import Certificate
from discreet.sources import HeldRows, Source

BINS = "bins of the schema"


class NetworkEstimator(CountedEstimator):
    """An estimator that reads the rows once and sizes its tables by noisy class counts."""

    @abstractmethod
    def _model(self, held: HeldRows, plan: NetworkPlan, counts: ClassCounts, sampler: Sampler) -> Any:
        """The released model."""

    def _release(self, source: Source, plan: NetworkPlan, sampler: Sampler, counts: ClassCounts | None = None) -> Any:
        held = source.held()
        if counts is None:
            counts = noisy_counts(held.counts, plan.count, sampler)
        model = self._model(held, plan, counts, sampler)
        made: Certificate = model.certificate
        if made.private and model.schema != plan.schema:  # bins that follow from what was bought say so
            model.schema = model.schema.having(provenance=(*model.schema.provenance, made.provenance(BINS)))
        return model
