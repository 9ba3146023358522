"""What an audit needs of the automatic choice: its counts and the whole model that they lead to."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from discreet.audit import AuditCase, Pair, case_at_one
from discreet.auto.classifier import PrivateClassifier
from discreet.schema import Categorical, Schema

SCHEMA = Schema([Categorical("a", [0, 1])], "y", [0, 1])
Row = tuple[int, int]


@dataclass(frozen=True)
class AutomaticFit:
    """All that a fit publishes: bought counts, the kind of model, and its scores for every row there can be."""

    epsilon: float

    def __call__(self, data: Sequence[Row]) -> Any:
        """Fit once with exact noise."""
        rows = np.array(data, np.int64).reshape(-1, 2)
        fitted = PrivateClassifier(self.epsilon, SCHEMA).fit(rows[:, :1], rows[:, 1])
        scores = fitted.predict_log_proba(np.array([[0], [1]]))
        return np.concatenate([fitted.counts_.values, scores[:, 0]])


def audit_cases() -> list[AuditCase]:
    """A whole fit, from the bought counts to the scores."""
    few: tuple[Row, ...] = ((0, 0), (0, 1))
    pairs = [Pair(few, (*few, (1, 1)), "the first row of a cell")]
    note = "the counts that decide, and the scores of the model they lead to"
    return [case_at_one("automatic-fit", AutomaticFit, pairs, note, samples=2_000)]
