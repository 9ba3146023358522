"""Trees and forests at ε = 1 beside the published figures of a well-known library, and the seconds of a fit."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pyarrow.compute as pc
import pyarrow.parquet as parquet

from benchmarks.common import best_of, data_dir, line
from discreet import PrivateForestClassifier, PrivateTreeClassifier, Schema
from discreet.evaluation.exact import evaluate
from discreet_studies.data import cross_validation, load

KINDS = {"tree": PrivateTreeClassifier, "forest": PrivateForestClassifier}
BARS = {"mushroom": 0.88, "votes": 0.87}


def run(data: str | None = None, repeats: int = 5, fits: int = 10, **_: Any) -> list[dict[str, Any]]:
    """AUC on Adult's test split (mean of several fits), accuracy by ten folds on Mushroom and Votes, and times."""
    place = data_dir(data)
    if place is None:
        return [line("trees", None, "the data are not here: pass --data DIR")]
    rows = parquet.read_table(place / "adult.parquet")
    train, test = (rows.filter(pc.equal(rows["split"], part)) for part in ("train", "test"))
    schema = Schema.from_manifest(place / "datasets.json", "adult")
    results = []
    for name, kind in KINDS.items():
        for epsilon in (0.1, 1.0):
            figures = [
                evaluate(kind(epsilon, schema=schema, random_state=s).fit(train).model_, test) for s in range(fits)
            ]
            auc, accuracy = (np.array([f[key] for f in figures]) for key in ("auc", "accuracy"))
            unit = f"AUC (s.e. {auc.std() / math.sqrt(fits):.4f}, accuracy {accuracy.mean():.4f}, {fits} fits)"
            bar = ("> 0.63", bool(auc.mean() > 0.63)) if epsilon == 1.0 else ("", None)
            results.append(line(f"Adult, {name}, epsilon = {epsilon:g}", float(auc.mean()), unit, *bar))
        for name_of_data, bar in BARS.items():
            found = _folds(place, name_of_data, kind)
            unit = f"accuracy (s.e. {found.std() / math.sqrt(len(found)):.4f}, 10 folds)"
            results.append(
                line(f"{name_of_data}, {name}, epsilon = 1", found.mean(), unit, f"> {bar}", bool(found.mean() > bar))
            )
    exact = {
        "tree": lambda: PrivateTreeClassifier(1.0, schema=schema).fit(rows),
        "forest of 100 trees": lambda: PrivateForestClassifier(1.0, schema=schema, n_estimators=100).fit(rows),
    }
    for name, fit in exact.items():
        fit()  # compiled loops are loaded once
        seconds = best_of(repeats, fit)
        results.append(line(f"Adult, {name}, exact noise, {rows.num_rows} rows", seconds, "s", "<= 1", seconds <= 1))
    return results


def _folds(place: Any, name: str, kind: Any) -> np.ndarray:
    data, found = load(place, name), []
    for fold in range(10):
        split = cross_validation(data, 0, fold, 10)
        train, test = data.take(split.train), data.take(split.test)
        found += [
            kind(1.0, schema=data.schema, random_state=100 * s + fold).fit(train.X, train.y).score(test.X, test.y)
            for s in range(3)
        ]
    return np.array(found)
