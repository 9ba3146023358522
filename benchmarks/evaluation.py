"""Private evaluation: how often its intervals hold the exact figures, how wide they are, and what a hold-out costs."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as parquet

from benchmarks.common import data_dir, line
from discreet import PrivateClassifier, PrivateHoldout, PrivateNB, Schema
from discreet.evaluation.exact import evaluate
from discreet.evaluation.figures import figures
from discreet.evaluation.plan import make_evaluation_plan
from discreet.evaluation.release import add_noise, count_rows
from discreet.mechanisms.noise import SimulationSampler
from discreet.privacy.budget import Adjacency, Budget

RUNS, SPLITS = 400, 40  # of 12 the standard error alone is a quarter of what may be lost
METRICS = ("accuracy", "balanced_accuracy", "auc")
OTHERS = ("mushroom", "pima", "nursery", "connect4", "census_kdd")
KINDS = {"naive Bayes": PrivateNB, "auto": PrivateClassifier}


def run(data: str | None = None, **_: Any) -> list[dict[str, Any]]:
    """Adult with its bars, other data sets without, then the hold-out."""
    place = data_dir(data)
    if place is None:
        return [line("Adult", None, "the data are not here: pass --data DIR")]
    results = []
    train, test, schema = _split(place, "adult")
    for name, kind in KINDS.items():
        model = kind(1.0, schema=schema, random_state=0).fit(train).model_
        for epsilon in (0.05, 0.2, 1.0):
            results += _coverage(f"Adult, {name}", model, test, epsilon, barred=epsilon == 0.2)
    for other in OTHERS:
        train, test, schema = _split(place, other)
        model = PrivateNB(1.0, schema=schema, random_state=0).fit(train).model_
        for epsilon in (0.2, 1.0):
            results += _coverage(f"{other}, naive Bayes", model, test, epsilon)
    return results + _holdout(place)


def _holdout(place: Path) -> list[dict[str, Any]]:
    """What dealing a fifth of the rows aside costs in AUC on the test split, and how often the figures hold it."""
    train, test, schema = _split(place, "adult")
    results = []
    for name, kind in KINDS.items():
        whole, held, right = [], [], 0
        for seed in range(SPLITS):
            whole.append(evaluate(kind(1.0, schema=schema, random_state=seed).fit(train).model_, test)["auc"])
            part = PrivateHoldout(kind(1.0, schema=schema), share=0.2, random_state=seed).fit(train)
            held.append(evaluate(part.model_, test)["auc"])
            right += part.evaluation_.auc.low <= held[-1] <= part.evaluation_.auc.high
        lost = np.array(whole) - np.array(held)
        unit = f"AUC lost (s.e. {lost.std() / SPLITS**0.5:.4f}, {np.mean(whole):.4f} without; {right} of {SPLITS} hold)"
        what = f"Adult, {name}, epsilon = 1, share 0.2 held out"
        results.append(line(what, float(lost.mean()), unit, "<= 0.003", bool(lost.mean() <= 0.003)))
    return results


def _split(place: Path, name: str) -> tuple[pa.Table, pa.Table, Schema]:
    """Training and test rows: the data set's own split if it has one, else a third of the rows, drawn once."""
    rows = parquet.read_table(place / f"{name}.parquet")
    schema = Schema.from_manifest(place / "datasets.json", name)
    if "split" in rows.column_names and {"train", "test"} <= set(pc.unique(rows["split"]).to_pylist()):
        train, test = (rows.filter(pc.equal(rows["split"], part)) for part in ("train", "test"))
        return train, test, schema
    held = np.random.default_rng(0).random(len(rows)) < 1 / 3
    return rows.filter(pa.array(~held)), rows.filter(pa.array(held)), schema


def _coverage(what: str, model: Any, test: pa.Table, epsilon: float, *, barred: bool = False) -> list[dict[str, Any]]:
    """Rows are scored and counted once; only the release is repeated."""
    exact = evaluate(model, test)
    plan = make_evaluation_plan(model, Budget(epsilon), adjacency=Adjacency.ADD_REMOVE)
    tables, sampler = count_rows(model, plan, test), SimulationSampler(1)
    found = [
        figures(add_noise(tables, plan, sampler), plan, model.schema, probabilistic=True, confidence=0.95)
        for _ in range(RUNS)
    ]
    results = []
    for metric in METRICS:
        got = [getattr(one, metric) for one in found]
        truth = exact[metric]
        noise = float(np.mean([one.noise_low <= truth <= one.noise_high for one in got]))
        whole = float(np.mean([one.low <= truth <= one.high for one in got]))
        half = float(np.mean([(one.high - one.low) / 2 for one in got]))
        half_noise = float(np.mean([(one.noise_high - one.noise_low) / 2 for one in got]))
        bias = float(np.mean([one.value for one in got])) - truth
        bar = barred and metric == "auc"
        unit = f"of {RUNS} (with sampling error {whole:.3f}; exact {truth:.4f}, bias {bias:+.4f})"
        title = f"{what}, epsilon = {epsilon:g}: {metric.replace('_', ' ')}"
        results.append(
            line(f"{title}, coverage", noise, unit, ">= 0.93" if bar else "", noise >= 0.93 if bar else None)
        )
        results.append(
            line(f"{title}, half-width", half, f"of it noise {half_noise:.4f}", "<= 0.012" if bar else "",
                 half <= 0.012 if bar else None)
        )  # fmt: skip
    return results
