"""The estimators of this package with their default settings; a seed makes the releases repeatable simulations."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

import discreet
from benchmarks.peers.prepared import Prepared
from discreet import Schema

DELTA = 1e-6


def score(data: Prepared, method: str, epsilon: float, seed: int) -> Any:
    """Scores of the test rows, one column per class of the schema; and the kind of model, if it chose one."""
    if data.schema is None:
        raise ValueError("the prepared data lack the schema")
    train, test = data.splits[seed]
    model = ESTIMATORS[method](epsilon, Schema.from_dict(data.schema), seed).fit(data.X[train], data.y[train])
    with np.errstate(divide="ignore"):
        scores = model.predict_log_proba(data.X[test])
    chosen = getattr(model, "choice_", None)
    return scores if chosen is None else (scores, str(getattr(chosen, "model", chosen)))


def _bayes(epsilon: float, schema: Schema, seed: int) -> Any:
    return discreet.PrivateNB(epsilon, schema=schema, random_state=seed)


def _logistic(epsilon: float, schema: Schema, seed: int) -> Any:
    return discreet.PrivateLogisticRegression(epsilon, schema=schema, random_state=seed)


def _auto(epsilon: float, schema: Schema, seed: int) -> Any:
    return discreet.PrivateClassifier(epsilon=epsilon, schema=schema, model="auto", random_state=seed)


def _auto_delta(epsilon: float, schema: Schema, seed: int) -> Any:
    return discreet.PrivateClassifier(epsilon=epsilon, delta=DELTA, schema=schema, model="auto", random_state=seed)


ESTIMATORS: dict[str, Callable[[float, Schema, int], Any]] = {
    "nb": _bayes,
    "logistic": _logistic,
    "auto": _auto,
    "auto-delta": _auto_delta,
}
