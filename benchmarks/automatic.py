"""The automatic choice: seconds to fit on Adult, and accuracy on tables that scikit-learn brings along."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pyarrow.compute as pc
import pyarrow.parquet as parquet
from sklearn import datasets
from sklearn.model_selection import train_test_split

from benchmarks.common import best_of, data_dir, line
from discreet import Numeric, PrivateClassifier, PrivateNB, Schema
from discreet.sources import collect

BUNDLED = {"breast cancer": "load_breast_cancer", "wine": "load_wine", "digits": "load_digits", "iris": "load_iris"}


def run(data: str | None = None, seeds: int = 5, **_: Any) -> list[dict[str, Any]]:
    """Times with exact noise, best of three; accuracies of simulated fits on tables that scikit-learn brings along."""
    return [*_seconds(data), *_accuracy(seeds)]


def _seconds(data: str | None) -> list[dict[str, Any]]:
    place = data_dir(data)
    if place is None:
        return [line("Adult", None, "the data are not here: pass --data DIR")]
    rows = parquet.read_table(place / "adult.parquet")
    train = rows.filter(pc.equal(rows["split"], "train"))
    schema = Schema.from_manifest(place / "datasets.json", "adult")
    PrivateClassifier(1.0, schema, "additive").fit(train)  # the first fit of a process loads compiled kernels
    one_pass = best_of(3, lambda: collect(train, schema, detail=("bins",)))
    results = []
    for model, most in (("naive-bayes", None), ("additive", 5.0)):
        taken = best_of(3, lambda model=model: PrivateClassifier(1.0, schema, model).fit(train))  # type: ignore[misc]
        bar = {} if most is None else {"bar": f"<= {most:g}", "met": taken <= most}
        results.append(line(f"Adult, {model}, fit", taken, "seconds", **bar))
    plain = best_of(3, lambda: PrivateNB(1.0, schema=schema).fit(train))
    after = plain - one_pass
    results.append(line("Adult, Naive Bayes beyond its one pass", after, "seconds", "<= 1", after <= 1))
    return results


def _accuracy(seeds: int) -> list[dict[str, Any]]:
    results = []
    for name, loader in BUNDLED.items():
        X, y = getattr(datasets, loader)(return_X_y=True)
        schema = _roomy(X, y)
        for epsilon in (0.5, 1.0, 4.0, math.inf):
            scores, chosen = [], set()
            for seed in range(seeds):
                a, b, u, v = train_test_split(X, y, test_size=0.2, random_state=seed)
                fitted = PrivateClassifier(epsilon, schema, random_state=seed).fit(a, u)
                scores.append(fitted.score(b, v))
                chosen.add(fitted.choice_.model)
            error = float(np.std(scores, ddof=1)) / math.sqrt(seeds)
            unit = f"accuracy (s.e. {error:.3f}, {seeds} splits, {' or '.join(sorted(chosen))})"
            results.append(line(f"{name}, epsilon = {epsilon:g}", float(np.mean(scores)), unit))
    return results


def _roomy(X: Any, y: Any) -> Schema:
    """Bounds as someone might guess them: zero to the next power of ten, and 16 shades for pixels."""
    tops = [16.0 if X.shape[1] == 64 else 10.0 ** math.ceil(math.log10(column.max())) for column in X.T]
    features = [Numeric(f"x{j}", 0, top) for j, top in enumerate(tops)]
    return Schema(features, "y", [int(label) for label in np.unique(y)])
