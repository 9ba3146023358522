"""Continual release: a model after each of 365 days for one budget, beside the one-shot model of the same rows."""

from __future__ import annotations

import math
from time import process_time
from typing import Any

import numpy as np
from sklearn.metrics import roc_auc_score

from benchmarks.common import data_dir, line
from benchmarks.peers import splits
from discreet import PrivateNB
from discreet_studies.data import DataSet, load

STEPS, EPSILON, DELTA, FIRST, BAR = 365, 1.0, 1e-6, 90, 0.015
DAYS = (90, 120, 150, 180, 225, 270, 320, 365)


def run(data: str | None = None, seeds: int | None = None, **_: Any) -> list[dict[str, Any]]:
    """AUC of simulated streams of Adult on its test rows; the rows fall on days by chance, day by day in one step."""
    place = data_dir(data)
    if place is None:
        return [line("Adult", None, "the data are not here: pass --data DIR")]
    table, found = load(place, "adult"), []
    lost: dict[str, list[list[float]]] = {}
    once, began = [], process_time()
    for seed in range(seeds or 5):
        fit, test = (table.take(rows) for rows in splits.split(place, "adult", len(table), seed))
        day = np.random.default_rng([seed, 1]).integers(1, STEPS + 1, len(fit))
        shot = [_auc(_made(fit, seed, d).fit(fit.X[day <= d], fit.y[day <= d]), test) for d in DAYS]
        once.append(shot)
        for name, settings in _KINDS.items():
            stream, scores = _made(fit, seed, 0, **settings), []
            for d in range(1, STEPS + 1):
                stream.partial_fit(fit.X[day == d], fit.y[day == d])
                scores += [_auc(stream, test)] if d in DAYS else []
            lost.setdefault(name, []).append([a - b for a, b in zip(shot, scores, strict=True)])
    took = (process_time() - began) / len(once)
    for place_, d in enumerate(DAYS):
        found.append(line(f"one-shot model of the rows to day {d}", float(np.mean(once, axis=0)[place_]), "AUC"))
    for name, rows in lost.items():
        gaps = np.array(rows)
        mean, error = gaps.mean(axis=0), gaps.std(axis=0, ddof=1) / math.sqrt(len(gaps)) if len(gaps) > 1 else None
        for i, d in enumerate(DAYS):
            told = "AUC lost" if error is None else f"AUC lost, s.e. {error[i]:.4f}"
            held = name == MEASURED
            found.append(line(f"{name}, day {d}", float(mean[i]), told, f"<= {BAR}" if held else "",
                              bool(mean[i] <= BAR) if held else None))  # fmt: skip
    return [*found, line("streams, one-shot models and batches of one seed", took, "s of processor time")]


MEASURED = f"stream of {STEPS}, epsilon = 1, delta = 1e-6"
_KINDS: dict[str, dict[str, Any]] = {
    MEASURED: {"stream": STEPS},
    f"stream of {STEPS}, epsilon = 1, pure": {"stream": STEPS, "delta": 0.0},
    "batches whose noise adds up": {},
}


def _made(table: DataSet, seed: int, day: int, **settings: Any) -> PrivateNB:
    rng = np.random.default_rng([seed, day, 2])
    return PrivateNB(**{"epsilon": EPSILON, "delta": DELTA, "schema": table.schema, "random_state": rng, **settings})


def _auc(model: PrivateNB, test: DataSet) -> float:
    return float(roc_auc_score(test.y, model.predict_proba(test.X)[:, 1]))
