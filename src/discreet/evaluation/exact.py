"""Evaluation: accuracy, balanced accuracy, AUC and confusion of a model on labelled rows, batch by batch."""

from __future__ import annotations

import math
from functools import partial
from typing import Any, Protocol

import numpy as np

from discreet import sources
from discreet.domain import text
from discreet.errors import DataError
from discreet.schema import Schema
from discreet.sources import Progress, Rows


class Scoring(Protocol):
    """What a released model of any kind can do: score rows, the best class highest."""

    schema: Schema

    @property
    def probabilistic(self) -> bool:
        """Whether its scores are log-probabilities."""

    @property
    def by_codes(self) -> bool:
        """Whether a row's scores follow from its cells and lattice points alone."""

    def score_rows(self, rows: Rows) -> Any:
        """One score per row and class."""

    def most_frequent(self) -> int | None:
        """The class it holds to be the most frequent, if it knows."""


def evaluate(
    model: Scoring, data: Any, y: Any = None, *, progress: Progress | None = None, unexpected: str = "refuse"
) -> dict[str, Any]:
    """Figures on labelled rows of any source; AUC is one-against-rest, averaged over classes if more than two."""
    classes = len(model.schema.classes)
    source = sources.open(data, model.schema, y, progress=progress, unexpected=unexpected)
    parts = list(source.tables(partial(_scored, model), empty=True, coded=model.by_codes))
    if not sum(len(part["truth"]) for part in parts):
        raise DataError("there are no rows to evaluate on")
    truth, score = (np.concatenate([part[name] for part in parts]) for name in ("truth", "score"))
    confusion = np.zeros((classes, classes), np.int64)
    np.add.at(confusion, (truth, score.argmax(axis=1)), 1)
    return {
        "n": len(truth),
        **rates(confusion),
        "auc": _auc(truth, score, model.probabilistic),
        "log_loss": _log_loss(truth, score) if model.probabilistic else None,
        "classes": [text(label) for label in model.schema.classes],
        "confusion": confusion.tolist(),
    }


def _scored(model: Scoring, rows: Rows) -> dict[str, Any]:
    """The class and the scores of every row."""
    assert rows.label is not None
    codes = rows.label.encode()
    if (codes == len(model.schema.classes)).any():
        rows.label.complain()
    return {"truth": codes, "score": np.asarray(model.score_rows(rows), np.float64)}


def _log_loss(truth: Any, score: Any) -> float:
    """The mean of what was lost, to the last bit the same in whatever order rows come."""
    return -math.fsum(score[np.arange(len(truth)), truth]) / len(truth)


def rates(confusion: Any) -> dict[str, float]:
    """Accuracy, and its mean over the classes that occur."""
    there = confusion.sum(axis=1) > 0
    recall = np.diag(confusion)[there] / confusion.sum(axis=1)[there]
    return {
        "accuracy": float(np.trace(confusion) / confusion.sum()),
        "balanced_accuracy": float(recall.mean()),
    }


def _auc(truth: Any, score: Any, probabilistic: bool = True) -> float | None:
    from sklearn.metrics import roc_auc_score

    if score.shape[1] == 2:
        if len(np.unique(truth)) < 2:
            return None
        with np.errstate(over="ignore"):
            return float(roc_auc_score(truth == 1, np.clip(score[:, 1] - score[:, 0], -1e300, 1e300)))
    areas = []
    for k in np.unique(truth):
        if (truth != k).any():
            areas.append(roc_auc_score(truth == k, np.exp(score[:, k]) if probabilistic else score[:, k]))
    return float(np.mean(areas)) if areas else None


def majority(model: Scoring, figures: dict[str, Any]) -> dict[str, Any]:
    """The figures of always answering the class that the model holds to be the most frequent, or else that is."""
    confusion = np.array(figures["confusion"])
    constant, most = np.zeros_like(confusion), model.most_frequent()
    constant[:, int(confusion.sum(axis=1).argmax()) if most is None else most] = confusion.sum(axis=1)
    return {**rates(constant), "auc": 0.5, "n": figures["n"]}
