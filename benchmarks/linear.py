"""Linear models on the Adult test split: AUC by ε and seconds to fit beside scikit-learn's."""

from __future__ import annotations

import math
import time
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pyarrow.compute as pc
import pyarrow.parquet as parquet

from benchmarks.common import data_dir, line
from discreet import PrivateLogisticRegression, PrivateSVC, Schema
from discreet.errors import RepeatedFitWarning
from discreet.evaluation.exact import evaluate

BARS = {1.0: 0.86, 0.1: 0.80}
MODELS: dict[str, Callable[..., Any]] = {
    "SVM": PrivateSVC,
    "logistic, objective": PrivateLogisticRegression,
    "logistic, output": lambda *a, **k: PrivateLogisticRegression(*a, method="output", **k),
    "logistic, functional": lambda *a, **k: PrivateLogisticRegression(*a, method="functional", **k),
}


def run(data: str | None = None, fits: int = 10, **_: Any) -> list[dict[str, Any]]:
    """The mean AUC of several fits with the exact sampler, any warning an error; and the time of one fit."""
    place = data_dir(data)
    if place is None:
        return [line("Adult", None, "the data are not here: pass --data DIR")]
    rows = parquet.read_table(place / "adult.parquet")
    train, test = (rows.filter(pc.equal(rows["split"], part)) for part in ("train", "test"))
    schema = Schema.from_manifest(place / "datasets.json", "adult")
    results = []
    for name, build in MODELS.items():
        for epsilon in (0.1, 1.0, math.inf):
            count, figures, seconds = 1 if epsilon == math.inf else fits, [], []
            for _repeat in range(count):
                with warnings.catch_warnings():
                    warnings.simplefilter("error")
                    warnings.simplefilter("ignore", RepeatedFitWarning)  # the same data again and again, on purpose
                    start = time.perf_counter()
                    model = build(epsilon, schema).fit(train).model_
                    seconds.append(time.perf_counter() - start)
                    figures.append(evaluate(model, test))
            auc = np.array([f["auc"] for f in figures])
            accuracy = np.mean([f["accuracy"] for f in figures])
            error = auc.std() / math.sqrt(count)
            unit = f"AUC (s.e. {error:.4f}, accuracy {accuracy:.4f}, {count} fits, {min(seconds):.2f} s each)"
            bar = BARS.get(epsilon) if name in ("SVM", "logistic, objective") else None
            limit, met = ("", None) if bar is None else (f">= {bar:g}", bool(auc.mean() >= bar))
            results.append(line(f"Adult, {name}, epsilon = {epsilon:g}", float(auc.mean()), unit, limit, met))
            if epsilon == 1.0 and bar is not None:
                fit = float(np.median(seconds))
                results.append(line(f"Adult, {name}, fit", fit, "seconds, median", "<= 2", fit <= 2))
    results.append(_beside_scikit_learn(schema, train))
    return results


def _beside_scikit_learn(schema: Schema, train: Any) -> dict[str, Any]:
    """A fit without privacy from the table, against scikit-learn's from the matrix that is already encoded."""
    from sklearn.linear_model import LogisticRegression

    def best(task: Callable[[], Any]) -> float:
        times = []
        for _ in range(3):
            start = time.perf_counter()
            task()
            times.append(time.perf_counter() - start)
        return min(times)

    ours = PrivateLogisticRegression(math.inf, schema)
    fitted = ours.fit(train)
    dense = fitted.model_.encoding.matrix(train)
    labels = np.array(train.column(schema.target).to_pylist())
    theirs = LogisticRegression(fit_intercept=False, C=1.0, tol=1e-8, solver="newton-cholesky")
    ratio = best(lambda: ours.fit(train)) / best(lambda: theirs.fit(dense, labels))
    return line("Adult, logistic, time without privacy", ratio, "of scikit-learn's newton-cholesky", "<= 1", ratio <= 1)
