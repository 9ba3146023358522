"""Prediction sets at 90 %: how often they hold the true class, and how large they are beside non-private ones."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pyarrow.parquet as parquet

from benchmarks.common import data_dir, line
from discreet import PrivateHoldout, PrivateNB, Schema
from discreet.models import leads

NAMES = ("adult", "connect4", "skin", "census_kdd", "nursery", "mushroom", "car", "kr_vs_kp")
EPSILONS = (0.5, 1.0, 4.0)
ROWS, TEST, COVERAGE = 30_000, 10_000, 0.9


def run(data: str | None = None, seeds: int = 100, datasets: Any = None, epsilons: Any = None, **_: Any) -> list[Any]:
    """Naive Bayes with a fifth of at most 30,000 rows held out; non-private: split conformal of the same model."""
    place = data_dir(data)
    if place is None:
        return [line("prediction sets", None, "the data are not here: pass --data DIR")]
    results = []
    for name in datasets or NAMES:
        schema = Schema.from_manifest(place / "datasets.json", name)
        table = parquet.read_table(place / f"{name}.parquet", columns=[*schema.names, schema.target])
        plain = np.mean([_plain(schema, *_split(table, seed), seed) for seed in range(min(seeds, 10))], axis=0)
        for epsilon in epsilons or EPSILONS:
            found = np.array([_private(schema, *_split(table, seed), epsilon, seed) for seed in range(seeds)])
            covered, size, exact = found.mean(axis=0)
            what = f"{name}, epsilon = {epsilon:g}"
            error = found[:, 0].std(ddof=1) / math.sqrt(seeds)
            unit = f"of test rows ({seeds} seeds, s.e. {error:.4f}; non-private {plain[0]:.4f})"
            results.append(line(f"{what}, coverage", covered, unit, ">= 0.89", bool(covered >= 0.89)))
            whole = table.num_rows >= ROWS + TEST // 2
            unit = f"times the size of non-private sets ({plain[1]:.3f}); of this model's, calibrated exactly: "
            bar = {"bar": "<= 1.1", "met": bool(size / plain[1] <= 1.1)} if whole else {}
            results.append(line(f"{what}, size {size:.3f}", size / plain[1], f"{unit}{size / exact:.4f}", **bar))
    return results


def _split(table: Any, seed: int) -> tuple[Any, Any]:
    order = np.random.default_rng(seed).permutation(table.num_rows)
    cut = min(ROWS, int(0.7 * len(order)))
    return table.take(order[:cut]), table.take(order[cut : cut + TEST])


def _private(schema: Schema, train: Any, test: Any, epsilon: float, seed: int) -> tuple[float, float, float]:
    """Coverage and mean size of private sets, and the size for the same model if other rows calibrate it exactly."""
    model = PrivateHoldout(PrivateNB(epsilon, schema=schema), random_state=seed).fit(train).model_
    truth = _places(schema, test)
    held = model.predict_set(test, COVERAGE)
    half = test.num_rows // 2
    exact = _conformal(model, test.slice(0, half), test.slice(half))
    return held[np.arange(len(truth)), truth].mean(), held.sum(axis=1).mean(), exact.sum(axis=1).mean()


def _plain(schema: Schema, train: Any, test: Any, seed: int) -> tuple[float, float]:
    """The same of a non-private model and split conformal prediction on a fifth of the rows."""
    kept = np.random.default_rng(seed).random(train.num_rows) >= 0.2
    model = PrivateNB(math.inf, schema=schema).fit(train.filter(kept)).model_
    truth, held = _places(schema, test), _conformal(model, train.filter(~kept), test)
    return held[np.arange(len(truth)), truth].mean(), held.sum(axis=1).mean()


def _conformal(model: Any, calibration: Any, test: Any) -> Any:
    truth, found = _places(model.schema, calibration), _leads(model, calibration)
    own = np.sort(found[np.arange(len(truth)), truth])
    missed = math.floor((1 - COVERAGE) * (len(own) + 1) + 1e-9)
    least = own[missed - 1] if missed else -math.inf
    asked = _leads(model, test)
    held = asked > least if missed else asked >= least
    held[np.arange(len(held)), asked.argmax(axis=1)] = True
    return held


def _leads(model: Any, rows: Any) -> Any:
    return leads(model.predict_log_proba(rows), True)


def _places(schema: Schema, rows: Any) -> Any:
    place = {label: k for k, label in enumerate(schema.classes)}
    return np.array([place[label] for label in rows[schema.target].to_pylist()])
