"""The experiments of lopuhaa2021: accuracy of every classifier at every ε by cross-validation, and what rows buy."""

from __future__ import annotations

import math
import time
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np

from discreet.evaluation.exact import rates
from discreet.linear import few
from discreet.schema import Schema
from discreet_studies.data import DataSet, Split, cross_validation, load
from discreet_studies.lopuhaa2021.methods import METHODS, PAPER, THREE
from discreet_studies.methods import Setting
from discreet_studies.study import SAMPLER
from discreet_studies.tasks import Option, Task, seed_of

DATA = ("adult", "mushroom", "nursery", "spect", "votes", "skin")
LARGE, SMALL = ("adult", "mushroom", "nursery", "skin"), ("spect", "votes")
NUMBERS = ("adult", "skin")  # data sets with numeric attributes: on the others bell curves have nothing to model
PRINTED = (1e-11, 0.001, 0.005, 0.01, 0.05, 0.1, 0.25, 0.5, 0.75, 1.0)
BEYOND = (3.0, 10.0)  # the text speaks of ε above 3, which the printed set does not reach
FOLDS = 10
ALGORITHMS = {"paper-nb": "naive-bayes", "paper-svm": "svm", "paper-tree": "tree"}
TREES = ("tree", "tree-counts", "paper-tree")
EXTRA = ("lr", "forest", "svm-codes")
ROWS = (500, 2000, 7000)  # training rows of the same data set
WIDTHS = (5, 11, 22)  # attributes of the same data set
FAST_ROWS = {"adult": 8_000, "skin": 8_000, "nursery": 6_000}


def repeats(method: str, data: str, fast: bool) -> tuple[int, int]:
    """How often folds are dealt out, and how many of the ten are measured each time.

    As in the paper 100 repeats (trees: 10) of all ten folds; methods that it has not, and no claim needs, have fewer.
    """
    if fast:
        return 3, 1
    if method in EXTRA:
        return (3, FOLDS) if data in SMALL else (3, 1)
    return (10 if method in TREES else 100), FOLDS


def tasks(fast: bool) -> list[Task]:
    """All tasks of a run, those on the same folds next to each other."""
    planned = []
    for name in DATA:
        size = FAST_ROWS.get(name) if fast else None
        options: tuple[Option, ...] = (("rows", size),) if size else ()
        most = max(repeats(method, name, fast)[0] for method in METHODS)
        for repeat in range(most):
            for method in METHODS:
                times, folds = repeats(method, name, fast)
                if repeat >= times or (method == "bell" and name not in NUMBERS):
                    continue
                planned += [
                    Task("sweep", name, method, epsilon, repeat=repeat, options=(*options, ("folds", folds)))
                    for epsilon in (*PRINTED, *BEYOND, math.inf)
                    if not (method == "tree-counts" and math.isinf(epsilon))
                ]
    planned += _parts("rows", "train", ROWS[:2] if fast else ROWS, LARGE, 3 if fast else 6)
    planned += _parts("attributes", "width", WIDTHS, ("mushroom", "spect"), 3 if fast else 10)
    return [*planned, *(Task("audit", "votes", method, 1.0) for method in ALGORITHMS)]


def _parts(experiment: str, option: str, sizes: tuple[int, ...], data: tuple[str, ...], times: int) -> list[Task]:
    """The same data set with fewer rows to train on, or fewer attributes."""
    return [
        Task(experiment, name, method, epsilon, repeat=repeat, options=((option, size),))
        for name in data
        for repeat in range(times)
        for size in sizes
        for method in (*THREE, *PAPER)
        for epsilon in (0.1, 1.0, math.inf)
        if not (method == "svm" and (name == "skin" or math.isinf(epsilon)))
    ]


def execute(task: Task, seed: int, directory: Path) -> dict[str, Any]:
    """One measurement: the mean over folds of one repeat, or what an audit finds."""
    if task.experiment == "audit":
        from discreet_studies.controls import found_epsilon

        return {"epsilon_found": found_epsilon(f"lopuhaa2021-{ALGORITHMS[task.method]}", seed, 60_000)}
    with few.compiled():
        return _measured(task, seed, directory)


def _measured(task: Task, seed: int, directory: Path) -> dict[str, Any]:
    method, noisy = METHODS[task.method], math.isfinite(task.epsilon)
    found, seconds, trained = [], 0.0, 0
    for fold in range(int(task.option("folds", 1))):
        train, test = _rows(task, directory, fold)
        start = time.perf_counter()
        setting = Setting(train.schema, task.epsilon, 0.0, len(train), seed_of(seed, fold))
        scores = method.fit(setting, train.X, train.y)
        seconds, trained = seconds + time.perf_counter() - start, len(train)
        classes = len(train.schema.classes)
        confusion = np.zeros((classes, classes), np.int64)
        np.add.at(confusion, (test.y, scores(test.X).argmax(axis=1)), 1)
        found.append(rates(confusion))
    return {
        **{name: float(np.mean([one[name] for one in found])) for name in found[0]},
        "count": len(found),
        "train_rows": trained,
        "fit_seconds": seconds,
        "private": method.private and noisy,
        "not_private_because": method.reason or (None if noisy else "no noise is added"),
        "simulation": noisy,
        "sampler": SAMPLER if noisy else "none",
    }


def _rows(task: Task, directory: Path, fold: int) -> tuple[DataSet, DataSet]:
    train, test = _fold(directory, task.data, task.option("rows"), task.repeat, fold)
    some, width = task.option("train"), task.option("width")
    if some is not None:
        rng = np.random.default_rng(seed_of("some rows", task.data, task.repeat))
        train = train.take(rng.permutation(len(train))[: int(some)])
    if width is not None:
        rng = np.random.default_rng(seed_of("some attributes", task.data, task.repeat))
        kept = np.sort(rng.permutation(train.X.shape[1])[: int(width)])
        train, test = (_narrow(one, kept) for one in (train, test))
    return train, test


def _narrow(data: DataSet, kept: Any) -> DataSet:
    schema = Schema([data.schema.features[int(j)] for j in kept], data.schema.target, data.schema.classes)
    return DataSet(data.name, schema, data.X[:, kept], data.y)


@lru_cache(maxsize=12)
def _fold(directory: Path, name: str, rows: int | None, repeat: int, fold: int) -> tuple[DataSet, DataSet]:
    data = load(directory, name, (), rows)
    split: Split = cross_validation(data, repeat, fold, FOLDS)
    return data.take(split.train), data.take(split.test)
