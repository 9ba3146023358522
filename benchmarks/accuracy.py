"""Accuracy and AUC on the Adult test split, beside the non-private twin; releases are simulated with fixed seeds."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pyarrow.compute as pc
import pyarrow.parquet as parquet

from benchmarks.common import data_dir, line
from discreet import PrivateNB, Schema
from discreet.evaluation.exact import evaluate

BARS = {1.0: 0.895, 0.1: 0.87}


def run(data: str | None = None, fits: int = 20, **_: Any) -> list[dict[str, Any]]:
    """One line per ε: the mean AUC of several fits."""
    place = data_dir(data)
    if place is None:
        return [line("Adult", None, "the data are not here: pass --data DIR")]
    rows = parquet.read_table(place / "adult.parquet")
    train, test = (rows.filter(pc.equal(rows["split"], part)) for part in ("train", "test"))
    schema = Schema.from_manifest(place / "datasets.json", "adult")
    results = []
    for numeric in ("histogram", "gaussian"):
        for epsilon in (0.1, 0.5, 1.0, 4.0, math.inf):
            count = 1 if epsilon == math.inf else fits
            figures = [
                evaluate(PrivateNB(epsilon, schema=schema, numeric=numeric, random_state=s).fit(train).model_, test)
                for s in range(count)
            ]
            auc = np.array([f["auc"] for f in figures])
            accuracy = np.mean([f["accuracy"] for f in figures])
            bar = BARS.get(epsilon) if numeric == "histogram" else None
            error = auc.std() / math.sqrt(count)
            unit = f"AUC (s.e. {error:.4f}, accuracy {accuracy:.4f}, {count} fits)"
            limit, met = ("", None) if bar is None else (f">= {bar:g}", bool(auc.mean() >= bar))
            results.append(line(f"Adult, {numeric}, epsilon = {epsilon:g}", float(auc.mean()), unit, limit, met))
    return results
