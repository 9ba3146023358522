"""DP-EBM with its own defaults: public bounds and feature types, (ε, 1e-6)-privacy; two classes only."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np

from benchmarks.peers.prepared import Prepared, spread

DELTA = 1e-6


def score(data: Prepared, method: str, epsilon: float, seed: int) -> Any:
    """Scores of the test rows, one column per class."""
    from interpret.privacy import DPExplainableBoostingClassifier

    train, test = data.splits[seed]
    table = _table(data)
    model = DPExplainableBoostingClassifier(
        epsilon=epsilon,
        delta=DELTA,
        feature_types=["continuous" if f.categories is None else "nominal" for f in data.features],
        privacy_bounds={f.name: f.bounds for f in data.features if f.bounds is not None},
        n_jobs=1,
        random_state=seed,
    )
    with warnings.catch_warnings():
        warnings.filterwarnings(
            "error", message="Possible privacy violation"
        )  # bounds read off the data would be a leak
        model.fit(table.iloc[train], data.y[train])
    with np.errstate(divide="ignore"):
        return spread(np.log(model.predict_proba(table.iloc[test])), model.classes_, data.classes)


def _table(data: Prepared) -> Any:
    """Numbers as numbers, categories as texts."""
    import pandas as pd

    columns = {}
    for j, feature in enumerate(data.features):
        values = data.X[:, j]
        columns[feature.name] = (
            values if feature.categories is None else np.char.add("c", values.astype(int).astype(str)).astype(object)
        )
    return pd.DataFrame(columns)
