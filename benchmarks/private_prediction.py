"""Accuracy of private answers by the number of queries, beside a model released at the same budget; simulated."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pyarrow.parquet as parquet
from sklearn.tree import DecisionTreeClassifier

from benchmarks.common import data_dir, line
from discreet import PrivateNB, PrivatePredictor, Schema, sources
from discreet.answers.votes import FittedVoters, Voters
from discreet.mechanisms.choose import choose, coins_of
from discreet.mechanisms.deal import deal
from discreet.mechanisms.noise import sampler_for

SETS = ("mushroom", "kr_vs_kp", "nursery", "adult")
QUERIES = (1, 3, 10, 30, 100, 300)
BUDGETS = ((0.1, 0.0), (1.0, 0.0), (1.0, 1e-6))
VOTERS = {"Naive Bayes": None, "tree": DecisionTreeClassifier(random_state=0)}
FITS, ROWS = 4, 300


def run(data: str | None = None, sets: tuple[str, ...] = SETS, **_: Any) -> list[dict[str, Any]]:
    """For each data set and budget: the released model, answers by the bound on queries, and where they cross."""
    place = data_dir(data)
    if place is None:
        return [line("private prediction", None, "the data are not here: pass --data DIR")]
    results = []
    for name in sets:
        rows = parquet.read_table(place / f"{name}.parquet").to_pandas()
        schema = Schema.from_manifest(place / "datasets.json", name)
        order = np.random.default_rng(0).permutation(len(rows))
        train, test = rows.iloc[order[: len(rows) * 4 // 5]], rows.iloc[order[len(rows) * 4 // 5 :]]
        X, y = test[list(schema.names)], test[schema.target].to_numpy()
        for epsilon, delta in BUDGETS:
            what = f"{name}, epsilon = {epsilon:g}" + (f", delta = {delta:g}" if delta else "")
            noise = "auto" if delta else "knorm"
            released = [
                PrivateNB(epsilon, delta, schema=schema, mechanism=noise, random_state=s).fit(train).score(X, y)
                for s in range(5)
            ]
            level, crossing = float(np.mean(released)), 0
            results.append(line(f"{what}: released PrivateNB", level, "accuracy"))
            for queries in QUERIES:
                best = 0.0
                for kind, voter in VOTERS.items():
                    found = [
                        _accuracy(train, X, y, epsilon, delta, schema, queries, seed, voter) for seed in range(FITS)
                    ]
                    share, error = float(np.mean(found)), float(np.std(found)) / math.sqrt(FITS)
                    best = max(best, share)
                    unit = f"accuracy (s.e. {error:.3f})"
                    results.append(line(f"{what}: {queries} queries, {kind} votes", share, unit))
                crossing = queries if best >= level else crossing
            results.append(line(f"{what}: answers are not worse up to", crossing, "queries"))
    return results


def _accuracy(
    train: Any, X: Any, y: Any, epsilon: float, delta: float, schema: Schema, queries: int, seed: int, voter: Any
) -> float:
    """The share of right answers of one predictor; each of many rows is asked as if it were among the `queries`."""
    plan = PrivatePredictor(epsilon, delta, schema=schema, queries=queries, voter=voter).plan()
    sampler = sampler_for(seed)
    held = sources.open(train, schema).held()
    cells, labels = held.cells.astype(np.int64), held.labels
    parts = plan.parts_for(len(labels))  # the noise on the number of rows does not matter here
    where = deal(len(labels), parts, sampler)
    voters = (
        Voters(schema, cells, labels, where, parts)
        if voter is None
        else FittedVoters(schema, cells, labels, where, parts, voter, deal(parts, 1 << 31, sampler))
    )
    spots = np.random.default_rng(seed).choice(len(y), min(ROWS, len(y)), replace=False)
    sample = sources.open(X.iloc[spots], schema, y[spots]).held()
    asked, truth = sample.cells.astype(np.int64), sample.labels
    coins = coins_of(sampler)
    answers = [choose(votes, plan.rate, law=plan.law, coins=coins) for votes in voters.votes(asked)]
    return float(np.mean(np.array(answers) == truth))
