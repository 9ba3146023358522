"""What a δ adds: the automatic choice at (ε, 1e-6) beside pure ε, on the test rows of the reference data."""

from __future__ import annotations

import math
from collections.abc import Sequence
from time import process_time
from typing import Any

import numpy as np
from sklearn.metrics import roc_auc_score

from benchmarks.common import data_dir, line
from benchmarks.peers import splits
from benchmarks.peers.bars import EPSILONS
from discreet import PrivateClassifier
from discreet_studies.data import load

DELTA = 1e-6
USUAL = ("kr_vs_kp", "census_kdd")


def run(
    data: str | None = None, seeds: int | None = None, datasets: Sequence[str] = (), epsilons: Sequence[float] = (),
    **_: Any,
) -> list[dict[str, Any]]:  # fmt: skip
    """AUC (accuracy with several classes) of simulated fits with and without a δ, seed by seed on the same splits."""
    place = data_dir(data)
    if place is None:
        return [line("all data sets", None, "the data are not here: pass --data DIR")]
    found = []
    for name in datasets or USUAL:
        table = load(place, name)
        for epsilon in epsilons or EPSILONS:
            scores: dict[float, list[float]] = {0.0: [], DELTA: []}
            chosen, took = "", {0.0: 0.0, DELTA: 0.0}
            for seed in range(seeds or 5):
                fit, test = splits.split(place, name, len(table), seed)
                for delta, kept in scores.items():
                    began = process_time()
                    model = PrivateClassifier(epsilon, table.schema, delta=delta, random_state=seed)
                    P = model.fit(table.X[fit], table.y[fit]).predict_proba(table.X[test])
                    took[delta] += (process_time() - began) / (seeds or 5)
                    chosen, truth = model.choice_.model, table.y[test]
                    two = len(table.schema.classes) == 2
                    right = model.classes_[P.argmax(axis=1)] == truth
                    kept.append(float(roc_auc_score(truth, P[:, 1]) if two else right.mean()))
            gained = np.subtract(scores[DELTA], scores[0.0])
            error = float(gained.std(ddof=1)) / math.sqrt(len(gained)) if len(gained) > 1 else math.nan
            what = f"{name}, epsilon = {epsilon:g}"
            found += [
                line(f"{what}, pure", float(np.mean(scores[0.0])), f"score, {took[0.0]:.1f} s"),
                line(f"{what}, with a delta", float(np.mean(scores[DELTA])), f"score, {chosen}, {took[DELTA]:.1f} s"),
                line(f"{what}, gained", float(gained.mean()), f"s.e. {error:.4f}", ">= -2 s.e.",
                     bool(gained.mean() >= -2 * error)),
            ]  # fmt: skip
    return found
