"""Skewed, zero-inflated numbers: three made-up tables, on which the automatic choice stands beside DP-EBM."""

from __future__ import annotations

import math
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.model_selection import train_test_split

from benchmarks.common import line
from benchmarks.peers import environments, runner
from benchmarks.peers.bars import EPSILONS
from benchmarks.peers.prepared import Feature, Prepared
from benchmarks.peers.splits import TEST_SHARE
from benchmarks.peers.tasks import FAMILY, Journal, Task
from discreet import Categorical, Numeric, Schema

METHODS = ("auto", "dp-ebm")
LIMIT = 900  # seconds
Made = tuple[Schema, np.ndarray, np.ndarray]


def words(rng: np.random.Generator, rows: int = 4500) -> Made:
    """54 frequencies in per cent, most of them zero, and three lengths of runs: like words in messages."""
    y = (rng.random(rows) < 0.4).astype(np.int64)
    columns = []
    for _ in range(54):
        there = rng.beta(1, 4)
        odds = math.log(there / (1 - there)) + np.where(y == 1, rng.normal(0, 1), 0.0)
        amount = rng.lognormal(rng.normal(-0.5, 0.5), 0.9, rows) * np.where(y == 1, rng.lognormal(0, 0.2), 1.0)
        columns.append(np.where(rng.random(rows) < 1 / (1 + np.exp(-odds)), np.minimum(amount, 100), 0.0))
    for middle in (0.8, 2.5, 4.5):
        columns.append(np.clip(rng.lognormal(middle + 0.5 * y, 1.0, rows), 1, 10_000))
    features = [Numeric(f"word{j}", 0, 100) for j in range(54)] + [Numeric(f"run{j}", 1, 10_000) for j in range(3)]
    return Schema(features, "y", [0, 1]), np.column_stack(columns), y


def claims(rng: np.random.Generator, rows: int = 20_000) -> Made:
    """Counts, amounts with round figures, a code that stands for unknown, and two categories: like insurance."""
    y = (rng.random(rows) < 0.15).astype(np.int64)
    counts = [rng.negative_binomial(0.5, 0.5 / (0.5 + (1 + y * lift) * 0.6), rows) for lift in (0.2, 0.6, 1.2, 0.0)]
    paid = np.where(rng.random(rows) < 0.15 + 0.15 * y, rng.lognormal(7 + 0.6 * y, 1.1, rows), 0.0)
    round_sums = np.array([0, 500, 1000, 2500, 5000, 7500, 10_000])
    usual, other = (np.array(p) / sum(p) for p in ((60, 8, 4, 12, 3, 9, 4), (60, 3, 10, 4, 11, 3, 9)))
    fixed = np.where(y == 1, rng.choice(round_sums, rows, p=other), rng.choice(round_sums, rows, p=usual))
    days = np.where(rng.random(rows) < 0.3 - 0.15 * y, 99_999, rng.exponential(400 * (1 - 0.4 * y), rows).astype(int))
    value = rng.lognormal(10 + 0.3 * y, 0.8, rows)
    kind, region = rng.integers(0, 4, rows), (rng.integers(0, 6, rows) + y * rng.integers(0, 2, rows)) % 6
    columns = [*(np.minimum(one, 200) for one in counts), np.minimum(paid, 1e6), fixed, days, np.minimum(value, 1e6)]
    features = [
        *(Numeric(f"count{j}", 0, 200, integer=True) for j in range(4)),
        Numeric("paid", 0, 1e6),
        Numeric("fixed", 0, 100_000, integer=True),
        Numeric("days", 0, 99_999, integer=True),
        Numeric("value", 0, 1e6),
        Categorical("kind", range(4)),
        Categorical("region", range(6)),
    ]
    return Schema(features, "y", [0, 1]), np.column_stack([*columns, kind, region]).astype(float), y


def meters(rng: np.random.Generator, rows: int = 8000) -> Made:
    """Ten skewed amounts with generous bounds and ten bells: where one shape does not speak for all."""
    y = (rng.random(rows) < 0.5).astype(np.int64)
    skewed = [rng.gamma(0.7, 1 + 0.35 * y * rng.random(), rows) * 10**power for power in np.linspace(0, 3, 10)]
    bells = [rng.normal(0.15 * y * rng.random(), 1, rows) for _ in range(10)]
    tops = [100 * 10**power for power in np.linspace(0, 3, 10)]
    columns = [np.minimum(one, top) for one, top in zip(skewed, tops, strict=True)] + [np.clip(b, -6, 6) for b in bells]
    features = [Numeric(f"use{j}", 0, float(top)) for j, top in enumerate(tops)]
    features += [Numeric(f"level{j}", -6, 6) for j in range(10)]
    return Schema(features, "y", [0, 1]), np.column_stack(columns), y


TABLES: dict[str, Callable[[np.random.Generator], Made]] = {"words": words, "claims": claims, "meters": meters}


def made(name: str, seeds: int) -> Prepared:
    """One of the tables, with a split for each seed; the table itself is the same for all."""
    schema, X, y = TABLES[name](np.random.default_rng([7, len(name)]))
    features = tuple(
        Feature(f.name, None, (f.lower, f.upper)) if isinstance(f, Numeric) else Feature(f.name, f.cells, None)
        for f in schema.features
    )
    parts = [train_test_split(np.arange(len(y)), test_size=TEST_SHARE, random_state=seed) for seed in range(seeds)]
    return Prepared(name, features, 2, X, y, dict(enumerate(parts)), schema.to_dict())  # type: ignore[arg-type]


def run(
    seeds: int | None = None, folder: Path = Path("results"), peers: Path | None = None, jobs: int = 1,
    epsilons: Sequence[float] = EPSILONS, methods: Sequence[str] = METHODS, **_: Any,
) -> list[dict[str, Any]]:  # fmt: skip
    """AUC of both at the same ε on the same splits; ahead or level within two standard errors of the difference."""
    count, journal = seeds or 5, Journal(_place(folder))
    asked = [method for method in methods or METHODS if method in METHODS]
    editions = {FAMILY[method]: environments.edition(FAMILY[method]) for method in METHODS}
    tasks = [
        Task(name, "made", method, editions[FAMILY[method]], epsilon, seed)
        for name in TABLES for method in asked for epsilon in epsilons for seed in range(count)
    ]  # fmt: skip
    todo = [task for task in tasks if not journal.done(task, LIMIT)]
    pythons = {
        family: environments.interpreter(family, peers or environments.cache_dir())
        for family in {task.family for task in todo}
    }
    with tempfile.TemporaryDirectory() as temporary:
        prepared = {name: Path(temporary) / f"{name}.npz" for name in TABLES}
        for name, path in prepared.items():
            made(name, count).save(path)
        runner.run(todo, journal, prepared, pythons, jobs=jobs, limit=LIMIT, tell=lambda _: None)
    scores = {(t.data, t.method, t.epsilon, t.seed): journal.rows[t]["auc"] for t in tasks}
    return [_line(scores, name, epsilon, count, asked) for name in TABLES for epsilon in epsilons]


def _place(folder: Path) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    return folder / "skewed.jsonl"


def _line(
    scores: dict[Any, float | None], name: str, epsilon: float, seeds: int, methods: Sequence[str]
) -> dict[str, Any]:
    own, peer = (np.array([scores.get((name, m, epsilon, s)) for s in range(seeds)], float) for m in METHODS)
    unit = f"AUC (s.e. {own.std(ddof=1) / math.sqrt(seeds):.3f}, {seeds} seeds"
    if len(methods) < 2 or np.isnan(peer).any():
        return line(f"{name}, epsilon = {epsilon:g}", float(own.mean()), unit + ")")
    gap = own - peer
    level = bool(gap.mean() >= -2 * gap.std(ddof=1) / math.sqrt(seeds))
    bar = "not behind within 2 s.e."
    return line(f"{name}, epsilon = {epsilon:g}", float(own.mean()), f"{unit}; DP-EBM {peer.mean():.3f})", bar, level)
