"""The experiments of yilmaz2020: oracles on discrete data, buckets and bell curves of numbers, dimensions."""

from __future__ import annotations

import time
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np

from discreet.schema import Numeric, Schema
from discreet_studies.data import DataSet, Split, load, monte_carlo
from discreet_studies.methods import Setting
from discreet_studies.published.yilmaz2020 import is_private
from discreet_studies.study import SAMPLER, measure
from discreet_studies.tasks import Option, Task, seed_of
from discreet_studies.yilmaz2020.methods import (
    BASELINES,
    METHODS,
    OURS_BUCKETS,
    OURS_DISCRETE,
    OURS_GAUSSIAN,
    PAPER_ALL,
    PAPER_BUCKETS,
    PAPER_DISCRETE,
    PAPER_GAUSSIAN,
)

DISCRETE_DATA = ("car", "kr_vs_kp", "mushroom", "connect4")
CONTINUOUS_DATA = ("australian", "pima")
DATA = (*DISCRETE_DATA, *CONTINUOUS_DATA)
BUCKETS = {"australian": 2, "pima": 4}
FEATURES = {"australian": 14, "pima": 8}
PAPER_DIMS = {("australian", "pca"): 1, ("australian", "dca"): 1, ("pima", "pca"): 6, ("pima", "dca"): 1}
TEST_SHARE = 0.2
THETAS = (0.1, 0.25, 0.5, 0.75, 0.9)
SHARES = (0.0625, 0.25, 1.0)  # of the training rows
THETA_METHODS = ("the", "paper-the", "paper-all-the")
ROWS_METHODS = ("auto", "paper-de", "paper-oue", "paper-all-de", "paper-all-oue")
SMALL = 0.5  # what the paper calls a small ε, at most


@dataclass(frozen=True)
class Size:
    """How much of everything a run does."""

    repeats: dict[str, int]
    epsilons: tuple[float, ...]
    dimension_epsilons: tuple[float, ...]
    few: int  # repeats of the two experiments whose settings the paper does not print


FULL = Size(
    repeats=dict.fromkeys(DATA, 100),
    epsilons=(0.1, 0.25, 0.5, 1.0, 1.5, 2.0, 3.0, 4.0, 5.0),
    dimension_epsilons=(0.5, 1.0, 2.0, 4.0),
    few=100,
)
FAST = Size(
    repeats={"car": 60, "kr_vs_kp": 30, "mushroom": 24, "connect4": 8, "australian": 32, "pima": 32},
    epsilons=(0.1, 0.5, 1.0, 2.0, 5.0),
    dimension_epsilons=(2.0,),
    few=20,
)
_SECONDS = {"car": 0.01, "kr_vs_kp": 0.04, "mushroom": 0.06, "connect4": 0.4, "australian": 0.02, "pima": 0.02}


def tasks(fast: bool) -> list[Task]:
    """All tasks of a run, those on the same split next to each other."""
    size = FAST if fast else FULL
    planned: list[Task] = []
    for data in DATA:
        for repeat in range(size.repeats[data]):
            planned += _discrete(size, data, repeat) if data in DISCRETE_DATA else _continuous(size, data, repeat)
    return planned


def _discrete(size: Size, data: str, repeat: int) -> list[Task]:
    def task(method: str, epsilon: float) -> Task:
        return Task("discrete", data, method, epsilon, repeat=repeat, cost=_SECONDS[data])

    planned = [
        *(task(method, float("inf")) for method in ("plain", "majority")),
        *(task(m, e) for m in (*PAPER_DISCRETE, *PAPER_ALL, *OURS_DISCRETE) for e in size.epsilons),
    ]
    if repeat < size.few:
        planned += [
            Task("theta", data, m, e, repeat=repeat, options=(("theta", theta),), cost=_SECONDS[data])
            for m in THETA_METHODS
            for e in (0.5, 1.0, 2.0, 4.0)
            for theta in THETAS
        ]
        planned += [
            Task("rows", data, m, e, repeat=repeat, options=(("share", share),), cost=_SECONDS[data])
            for m in ROWS_METHODS
            for e in (0.5, 1.0)
            for share in SHARES
        ]
    return planned


def _continuous(size: Size, data: str, repeat: int) -> list[Task]:
    count = BUCKETS[data]

    def task(experiment: str, method: str, epsilon: float, projection: str, dims: int) -> Task:
        options: tuple[Option, ...] = (("projection", projection), ("dims", dims), ("buckets", count))
        return Task(experiment, data, method, epsilon, repeat=repeat, options=options, cost=_SECONDS[data])

    planned = []
    for projection in ("none", "pca", "dca"):
        dims = PAPER_DIMS.get((data, projection), FEATURES[data])
        single = dims if projection == "none" else 1
        planned.append(task("buckets", "plain", float("inf"), projection, dims))
        planned.append(task("gaussian", "plain-gaussian", float("inf"), projection, single))
        for epsilon in size.epsilons:
            planned += [task("buckets", m, epsilon, projection, dims) for m in (*PAPER_BUCKETS, *OURS_BUCKETS)]
            planned += [task("gaussian", m, epsilon, projection, single) for m in (*PAPER_GAUSSIAN, *OURS_GAUSSIAN)]
    planned += [
        task("dimensions", method, epsilon, projection, dims)
        for method in ("paper-buckets-de", "buckets-auto")
        for projection in ("pca", "dca")
        for dims in range(1, FEATURES[data] + 1)
        for epsilon in size.dimension_epsilons
    ]
    planned.append(task("buckets", "majority", float("inf"), "none", FEATURES[data]))
    return planned


def execute(task: Task, seed: int, directory: Path) -> dict[str, Any]:
    """One measurement."""
    data = dataset(directory, task.data)
    split = _split(directory, task.data, task.repeat)
    train, test = data.take(split.train), data.take(split.test)
    if task.option("share"):  # the rows of a split are in the order of the file: a part of them is drawn
        rng = np.random.default_rng(seed_of("share of the rows", split.seed, task.option("share")))
        train = train.take(np.sort(rng.choice(len(train), round(task.option("share") * len(train)), replace=False)))
    method = METHODS[task.method]
    setting = Setting(data.schema, task.epsilon, 0.0, len(train), seed, dict(task.options))
    start = time.perf_counter()
    scores = method.fit(setting, train.X, train.y)
    fit_seconds = time.perf_counter() - start
    noisy = task.method not in BASELINES
    return {
        **measure(scores(test.X), test.y, len(data.schema.classes)),
        "train_rows": len(train),
        "test_rows": len(test),
        "split_seed": str(split.seed),
        "fit_seconds": fit_seconds,
        "private": is_private(method, str(task.option("projection", "none"))),
        "not_private_because": method.reason or None,
        "simulation": noisy,
        "sampler": SAMPLER if noisy else "none",
    }


@lru_cache(maxsize=8)
def dataset(directory: Path, name: str) -> DataSet:
    """A data set of the study; those with numbers have all their columns read as numbers, as in the paper."""
    data = load(directory, name)
    if name in DISCRETE_DATA:
        return data
    features = [
        f if isinstance(f, Numeric) else Numeric(f.name, 0, max(f.cells - 1, 1), integer=True)
        for f in data.schema.features
    ]
    return DataSet(name, Schema(features, data.schema.target, data.schema.classes), data.X, data.y)


@lru_cache(maxsize=4)
def _split(directory: Path, name: str, repeat: int) -> Split:
    return monte_carlo(dataset(directory, name), repeat, TEST_SHARE)
