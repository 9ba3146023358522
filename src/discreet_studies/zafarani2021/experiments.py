"""The experiments of zafarani2021: ε sweep, (ε, δ), budget weights, and run time against the number of rows."""

from __future__ import annotations

import time
from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np

from discreet.schema import Categorical, Numeric, Schema
from discreet_studies.data import DataSet, Split, cross_validation, load
from discreet_studies.methods import Setting
from discreet_studies.published.trimmed_replace import literal_bound
from discreet_studies.published.zafarani2021 import TRIM, unit
from discreet_studies.study import SAMPLER, measure
from discreet_studies.tasks import Option, Task, seed_of
from discreet_studies.zafarani2021.methods import (
    APPROXIMATE,
    BASELINES,
    BASES,
    CONCENTRATED,
    METHODS,
    PURE,
    TIMED,
    WEIGHTED,
)

# The attributes of the census file nearest to those of Adult; its other 27 are left out, as in the paper.
CENSUS = (
    "age", "capital_gains", "capital_losses", "dividends_from_stocks", "weeks_worked_in_year", "class_of_worker",
    "education", "marital_stat", "major_occupation_code", "detailed_household_summary_in_household", "race", "sex",
    "country_of_birth_self",
)  # fmt: skip
DATA = ("adult", "census_kdd", "skin", "seeds", "glass", "mushroom")
HUMAN = ("adult", "census_kdd")
OTHER = ("skin", "seeds", "glass")
SYNTHETIC = ("synthetic-numeric", "synthetic-categorical")
WEIGHTS = ("1:2", "1:1", "2:1", "3:1")
DELTAS = ("1/n", "1/n^2")
QUADRATIC_ROWS = 20_000
LAW_DATA, LAW_EPSILONS = ("adult", "skin", "seeds"), (0.5, 1.0, 2.0, 10.0)


@dataclass(frozen=True)
class Size:
    """How much of everything a run does."""

    repeats: int
    folds: int
    epsilons: tuple[float, ...]
    approximate_epsilons: tuple[float, ...]
    weight_epsilons: tuple[float, ...]
    rows: dict[str, int]
    weight_repeats: int
    timed_rows: tuple[int, ...]
    timed_repeats: int


FULL = Size(
    repeats=5, folds=10,
    epsilons=(0.05, 0.1, 0.25, 0.5, 1.0, 2.0, 5.0, 10.0),
    approximate_epsilons=(0.1, 0.25, 0.5, 1.0, 2.0, 5.0, 10.0),
    weight_epsilons=(0.05, 0.1, 0.25, 0.5, 1.0, 2.0),
    rows={}, weight_repeats=5,
    timed_rows=(1000, 2000, 5000, 10_000, 20_000, 50_000, 110_000, 250_000, 500_000, 1_000_000, 1_700_000),
    timed_repeats=3,
)  # fmt: skip
FAST = Size(
    repeats=1, folds=10,
    epsilons=(0.1, 0.5, 1.0, 3.0, 10.0),
    approximate_epsilons=(0.5, 1.0, 10.0),
    weight_epsilons=(0.05, 0.1, 0.5, 1.0),
    rows={"census_kdd": 40_000, "skin": 40_000}, weight_repeats=1,
    timed_rows=(1000, 2000, 5000, 10_000, 20_000, 50_000, 100_000, 300_000, 1_000_000),
    timed_repeats=2,
)  # fmt: skip
# For the estimate of the time left only: rows of the whole data sets, curves to release (numbers times classes), and
# the seconds that planning a curve takes where it is not negligible.
_ROWS = {"adult": 49_000, "census_kdd": 299_000, "skin": 245_000, "mushroom": 8_000}
_CURVES = {"adult": 12, "census_kdd": 10, "skin": 6, "seeds": 21, "glass": 63, "mushroom": 0}
_PLANNING = {"smooth-gaussian": 0.04, "smooth": 0.003, "smooth-t": 0.003, "bun-steinke": 0.003, "auto": 0.003}


def tasks(fast: bool) -> list[Task]:
    """All tasks of a run, those on the same folds next to each other."""
    size = FAST if fast else FULL
    return [*_sweep(size), *_weights(size), *_times(size)]


def _sweep(size: Size) -> list[Task]:
    planned = []
    for name in DATA:
        options: tuple[Option, ...] = (("folds", size.folds),)
        if name in size.rows:
            options = (*options, ("rows", size.rows[name]))
        for repeat in range(size.repeats):
            for fold in range(size.folds):
                common: dict[str, Any] = {
                    "data": name,
                    "repeat": repeat,
                    "fold": fold,
                    "options": options,
                }
                planned += [Task("sweep", method=m, epsilon=float("inf"), **common) for m in BASELINES]
                planned += [Task("sweep", method=m, epsilon=e, **common) for m in PURE for e in size.epsilons]
                planned += [
                    Task("approximate", method=m, epsilon=e, delta=delta, **common)
                    for m in APPROXIMATE
                    for delta in DELTAS
                    for e in size.approximate_epsilons
                ]
                if name in LAW_DATA:
                    planned += [
                        Task("laws", method=m, epsilon=e, delta="1/n^2", **common)
                        for m in CONCENTRATED
                        for e in LAW_EPSILONS
                    ]
    return [replace(task, cost=_cost(task)) for task in planned]


def _cost(task: Task) -> float:
    rows = task.option("rows") or _ROWS.get(task.data, 10_000)
    return 0.005 + rows * 5e-7 + _CURVES.get(task.data, 10) * _PLANNING.get(task.method, 0.0)


def _weights(size: Size) -> list[Task]:
    return [
        Task("weights", name, method, epsilon, repeat=repeat, fold=fold,
             options=(("folds", size.folds), ("weight", weight)), cost=0.05)
        for name in ("adult", *SYNTHETIC)
        for repeat in range(size.weight_repeats * (1 if name == "adult" or size is FAST else 2))
        for fold in range(size.folds)
        for method in (*WEIGHTED, *(BASES if name in SYNTHETIC else ()))
        for weight in (WEIGHTS if method in WEIGHTED else ("2:1",))
        for epsilon in size.weight_epsilons
    ]  # fmt: skip


def _times(size: Size) -> list[Task]:
    return [
        Task("time", "adult", method, 1.0, repeat=repeat, options=(("n", rows),), alone=True, cost=0.05 + rows * 1e-6)
        for repeat in range(size.timed_repeats)
        for rows in size.timed_rows
        for method in TIMED
        if method != "paper-literal" or rows <= QUADRATIC_ROWS
    ]


def execute(task: Task, seed: int, directory: Path) -> dict[str, Any]:
    """One measurement."""
    if task.experiment == "time":
        return _time(task, seed, directory)
    data = dataset(directory, task.data, task.option("rows"))
    split = _split(directory, task.data, task.option("rows"), task.repeat, task.fold, task.option("folds"))
    train, test = data.take(split.train), data.take(split.test)
    method, n = METHODS[task.method], len(train)
    delta = {"0": 0.0, "1/n": 1 / n, "1/n^2": 1 / n**2}[task.delta]
    options = {"weight": task.option("weight")} if task.option("weight") else {}
    setting = Setting(data.schema, task.epsilon, delta, n, seed, options)
    start = time.perf_counter()
    scores = method.fit(setting, train.X, train.y)
    fit_seconds = time.perf_counter() - start
    return {
        **measure(scores(test.X), test.y, len(data.schema.classes)),
        "train_rows": n,
        "test_rows": len(test),
        "delta_value": delta,
        "split_seed": str(split.seed),
        "fit_seconds": fit_seconds,
        **_stated(task.method),
    }


def _stated(name: str) -> dict[str, Any]:
    method = METHODS["paper-smooth" if name == "paper-literal" else name]
    noisy = name not in BASELINES
    return {
        "private": method.private,
        "not_private_because": method.reason or None,
        "simulation": noisy,
        "sampler": SAMPLER if noisy else "none",
    }


def dataset(directory: Path, name: str, rows: int | None = None) -> DataSet:
    """A data set of the study by name."""
    if name in SYNTHETIC:
        return synthetic(name)
    return load(directory, name, CENSUS if name == "census_kdd" else (), rows)


@lru_cache(maxsize=4)
def _split(directory: Path, name: str, rows: int | None, repeat: int, fold: int, folds: int) -> Split:
    return cross_validation(dataset(directory, name, rows), repeat, fold, folds)


@lru_cache(maxsize=2)
def synthetic(name: str, rows: int = 10_000) -> DataSet:
    """Five numbers in [0, 100] and five categories out of five, of which only one kind depends on the class."""
    rng = np.random.default_rng(seed_of(name, rows))
    y = rng.integers(0, 2, rows)
    speaking = name == "synthetic-numeric"
    middle = 50 + (8 * (y - 0.5) if speaking else np.zeros(rows))
    numbers = np.clip(rng.normal(middle[:, None], 12, (rows, 5)), 0, 100)
    plain, tilted = np.full(5, 0.2), np.array([0.32, 0.26, 0.2, 0.14, 0.08])
    laws = np.array([plain, plain]) if speaking else np.array([tilted, tilted[::-1]])
    spots = rng.random((rows, 5, 1)) > np.cumsum(laws, axis=1)[y][:, None, :-1]
    features: list[Numeric | Categorical] = [Numeric(f"number{i}", 0, 100) for i in range(5)]
    features += [Categorical(f"category{i}", list(range(5))) for i in range(5)]
    X = np.column_stack([numbers, spots.sum(axis=2)]).astype(np.float64)
    return DataSet(name, Schema(features, "label", [0, 1]), X, y.astype(np.int64))


def _time(task: Task, seed: int, directory: Path) -> dict[str, Any]:
    """Processor seconds to fit Adult's rows drawn with replacement; a fit before it keeps compilation out."""
    data, rows = dataset(directory, task.data), int(task.option("n"))
    rng = np.random.default_rng(seed_of("rows to time", rows, task.repeat))
    drawn = data.take(rng.integers(0, len(data), rows))
    setting = Setting(data.schema, task.epsilon, 0.0, rows, seed)

    def fit(some: DataSet) -> None:
        if task.method == "paper-literal":
            _literal(some, task.epsilon, replace(setting, n=len(some)))
        else:
            METHODS[task.method].fit(replace(setting, n=len(some)), some.X, some.y)

    # Compiled loops only serve tables that are large enough, so the fit before must be as large; the search need not.
    fit(drawn.take(np.arange(min(rows, 500))) if task.method == "paper-literal" else drawn)
    start = time.process_time()
    fit(drawn)
    return {"fit_seconds": time.process_time() - start, "train_rows": rows, **_stated(task.method)}


def _literal(data: DataSet, epsilon: float, setting: Setting) -> None:
    """Algorithm 1 with the smooth bounds of every number and class found by the paper's own search."""
    schema = data.schema
    METHODS["paper-global"].fit(setting, data.X, data.y)  # what both algorithms do: counts, means and deviations
    access = epsilon / (2 * len(schema.numeric) + len(schema.categorical) + 1)
    for column, feature in enumerate(schema.features):
        if not isinstance(feature, Numeric):
            continue
        values = unit(feature, data.X[:, column])
        for group in range(len(schema.classes)):
            x = np.sort(values[data.y == group])
            for power in (1, 2):
                literal_bound(x, int(TRIM * len(x)), access, power)
