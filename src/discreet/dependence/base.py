"""What both estimators share: rows held once, tables sized by class counts."""

from __future__ import annotations

from abc import abstractmethod
from typing import Any

from discreet.dependence.plan import NetworkPlan
from discreet.dependence.rows import HeldRows, hold_rows
from discreet.estimators.base import Reading
from discreet.estimators.counted import CountedEstimator
from discreet.estimators.counts import ClassCounts, noisy_counts
from discreet.mechanisms.noise import Sampler


class NetworkEstimator(CountedEstimator):
    """An estimator that reads the rows once and sizes its tables by noisy class counts."""

    @abstractmethod
    def _model(self, held: HeldRows, plan: NetworkPlan, counts: ClassCounts, sampler: Sampler) -> Any:
        """The released model."""

    def _release(self, reading: Reading, plan: NetworkPlan, sampler: Sampler, counts: ClassCounts | None = None) -> Any:
        held = hold_rows(reading.X, plan.schema, reading.y, **reading.terms)
        if counts is None:
            counts = noisy_counts(held.by_class(len(plan.schema.classes)), plan.count, sampler)
        return self._model(held, plan, counts, sampler)
