"""The logistic experiments of thesis2015: six data sets at ε = 0.1, and Gaussian toys of growing dimension."""

from __future__ import annotations

import math
import time
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np

from discreet import PrivateNB, sources
from discreet.linear import PrivateLogisticRegression, PrivateSVC
from discreet.linear.encode import Encoding
from discreet.schema import Categorical, Numeric, Schema
from discreet_studies.data import DataSet, load, monte_carlo
from discreet_studies.published.thesis2015_logistic import (
    BOUNDS,
    LAMBDAS,
    REASON,
    exact,
    hits,
    objective,
    output,
    tuned,
)
from discreet_studies.study import SAMPLER
from discreet_studies.tasks import Task, seed_of
from discreet_studies.thesis2015.selection.data import NEWSGROUPS, bench, newsgroup, newsgroup_split
from discreet_studies.thesis2015.selection.trials import choose

DATA = ("xwindows", "mushroom", "adult", "news20_w100")
SETS = ("xwindows", "mushroom", "adult", "newsgroup", "newsgroup2", "newsgroup3")
PAPER = {"paper-objective": objective, "paper-output": output}
BASELINES = ("plain", "plain-tuned", "plain-bayes", "majority")
TUNED = {**PAPER, "plain-tuned": exact}  # λ by cross-validation, as for all classifiers of the thesis
OURS = ("objective", "output", "functional", "svm")
TOY = ("plain", "paper-objective", "fm-sens1", "fm-sens2", "objective", "functional")
NARROW = ("plain", "paper-objective", "fm-sens2")  # of many dimensions, and of the smaller ε but for the first
TEST_SHARE = 0.3
TOY_TEST = 20_000


FEW = 3  # repeats of what has no noise and takes longest
WIDE = 1000  # dimensions of the widest toy that is run; its 2^20 rows would take eight gigabytes
CHOOSERS = ("oracle", "mi-mask", "count-mask", "hits-flip")  # figure 4.2, and the library's own choice


@dataclass(frozen=True)
class Size:
    """How much of the study a run covers."""

    repeats: int
    lambdas: tuple[float, ...]
    tried: int
    most: dict[int, int]  # the largest power of two of rows, by dimension
    small: dict[int, int]  # the same at ε = 0.01
    widths: tuple[int, ...]


FULL = Size(
    10, LAMBDAS, 5, {1: 13, 2: 13, 5: 14, 10: 15, 20: 16, 50: 17, 100: 16}, {1: 16, 2: 17, 5: 18, 10: 18, 20: 17},
    (5, 20, 60),
)  # fmt: skip
FAST = Size(3, (1e-2, 1.0, 1e1, 1e2, 1e4), 1, {1: 10, 2: 11, 5: 12, 10: 12}, {}, (5, 20))


def tasks(fast: bool) -> list[Task]:
    """All tasks of a run."""
    size = FAST if fast else FULL
    mode = (("fast", int(fast)),)
    planned = []
    for data in SETS:
        for repeat in range(size.repeats):
            for method in (*BASELINES, *PAPER, *OURS):
                if method == "plain-tuned" and repeat >= FEW:
                    continue  # 45 fits, of which those of small λ take minutes
                epsilon = math.inf if method in BASELINES else 0.1
                planned.append(Task("accuracy", data, method, epsilon, repeat=repeat, options=mode, cost=3.0))
            planned += [
                Task("selected", data, f"{chooser}+{method}", 0.1, repeat=repeat, options=(*mode, ("k", k)))
                for k in size.widths
                for chooser in CHOOSERS
                for method in ("paper-objective", "objective")
                if (chooser == "hits-flip") == (method == "objective")
            ]
    for epsilon, reach in ((0.1, size.most), (0.01, size.small)):
        for dims, top in reach.items():
            planned += _toys(mode, epsilon, dims, range(4 if epsilon == 0.1 else 10, top + 1), size.repeats)
    if not fast:
        planned += [
            Task("toy", "toy", "plain", math.inf, repeat=r, options=(*mode, ("dims", WIDE), ("rows", 1 << power)))
            for power in (11, 13)
            for r in range(2)
        ]
    return planned


def _toys(mode: tuple[Any, ...], epsilon: float, dims: int, powers: range, repeats: int) -> list[Task]:
    planned = []
    for power in powers:
        for repeat in range(repeats):
            for method in TOY if epsilon == 0.1 and dims <= 20 else NARROW if epsilon == 0.1 else NARROW[1:]:
                level = math.inf if method == "plain" else epsilon
                options = (*mode, ("dims", dims), ("rows", 1 << power))
                planned.append(Task("toy", "toy", method, level, repeat=repeat, options=options, cost=0.2))
    return planned


def execute(task: Task, seed: int, directory: Path) -> dict[str, Any]:
    """One measurement."""
    start = time.perf_counter()
    if task.experiment == "selected":
        train, accuracy, ridge = _selected(task, seed, directory)
    else:
        train, test = _toy(task) if task.experiment == "toy" else _rows(directory, task.data, task.repeat)
        accuracy, ridge = _accuracy(task, task.method, task.epsilon, seed, train, test)
    private = not any(name in task.method for name in ("plain", "majority", "paper", "oracle"))
    return {
        "accuracy": accuracy,
        "regularisation": ridge,
        "train_rows": len(train),
        "fit_seconds": time.perf_counter() - start,
        "private": private,
        "not_private_because": None if private else REASON if "paper" in task.method else "no noise is added",
        "simulation": task.method not in BASELINES,
        "sampler": SAMPLER,
    }


def _selected(task: Task, seed: int, directory: Path) -> tuple[DataSet, float, float | None]:
    """Figure 4.2: features chosen at half the budget, Algorithm 7 or the library's with the other half."""
    held, rng = bench(directory, task.data), np.random.default_rng(seed)
    chooser, method = task.method.split("+")
    chosen = np.sort(choose(chooser, held, int(task.option("k")), task.epsilon / 2, rng))
    schema = Schema([held.schema.features[int(j)] for j in chosen], held.schema.target, [0, 1])
    train = DataSet(task.data, schema, held.train[:, chosen].astype(np.float64), held.labels)
    test = DataSet(task.data, schema, held.test[:, chosen], held.truth)
    spent = task.epsilon if chooser == "oracle" else task.epsilon / 2
    return train, *_accuracy(task, method, spent, seed, train, test)


def _accuracy(
    task: Task, method: str, epsilon: float, seed: int, train: DataSet, test: DataSet
) -> tuple[float, float | None]:
    toy = task.experiment == "toy"
    numeric = "scaled" if toy else "binned"
    if method == "majority":
        return float(np.mean(test.y == np.bincount(train.y, minlength=2).argmax())), None
    if method == "plain-bayes":
        return float(PrivateNB(math.inf, schema=train.schema).fit(train.X, train.y).score(test.X, test.y)), None
    if method in TUNED:
        size, rng = FAST if task.option("fast") else FULL, np.random.default_rng(seed)
        encoding = Encoding(plus_minus(train.schema), "scaled" if toy or _binary(train.schema) else "binned")
        design = encoding.design(sources.open(train.X, encoding.schema, train.y).held())
        weights, ridge = tuned(
            TUNED[method], design, epsilon, rng, lambdas=size.lambdas, tried=1 if toy else size.tried
        )
        return hits(encoding.design(sources.open(test.X, encoding.schema, test.y).held()), weights), ridge
    settings: dict[str, Any] = {
        "epsilon": epsilon,
        "schema": train.schema,
        "numeric": numeric,
        "random_state": seed,
    }
    estimator: PrivateLogisticRegression | PrivateSVC
    if method == "svm":
        estimator = PrivateSVC(**settings)
    elif method in BOUNDS:
        # A looser bound is the same mechanism at a smaller ε; rows are replaced, as in the thesis.
        columns = len(train.schema.features) + 1
        settings["epsilon"] *= BOUNDS["fm-merged"](columns) / BOUNDS[method](columns)
        estimator = PrivateLogisticRegression(**settings, method="functional", adjacency="replace")
    else:
        how = "objective" if method == "plain" else method
        estimator = PrivateLogisticRegression(**settings, method=how)
    fitted = estimator.fit(train.X, train.y)
    return float(fitted.score(test.X, test.y)), fitted.model_.settings["ridge"]


def _binary(schema: Schema) -> bool:
    return all(isinstance(f, Categorical) and f.cells == 2 for f in schema.features)


def plus_minus(schema: Schema) -> Schema:
    """The same schema with features of two categories read as numbers, which scale to −1 and 1."""
    if not _binary(schema):
        return schema
    return Schema([Numeric(f.name, 0, 1, integer=True) for f in schema.features], schema.target, schema.classes)


@lru_cache(maxsize=4)
def _rows(directory: Path, name: str, repeat: int) -> tuple[DataSet, DataSet]:
    if name in NEWSGROUPS:
        data = newsgroup(directory, name)
        split = newsgroup_split(data, repeat)
    else:
        data = load(directory, name)
        split = monte_carlo(data, repeat, TEST_SHARE)
    return data.take(split.train), data.take(split.test)


def _toy(task: Task) -> tuple[DataSet, DataSet]:
    dims, rows = int(task.option("dims")), int(task.option("rows"))
    return gaussians(dims, rows, task.repeat), gaussians(dims, TOY_TEST, task.repeat, test=True)


@lru_cache(maxsize=4)
def gaussians(dims: int, rows: int, repeat: int, *, test: bool = False) -> DataSet:
    """Two normal classes in so many dimensions, apart so that the best classifier is right nine times in ten."""
    rng = np.random.default_rng(seed_of("toy", dims, rows, repeat, test))
    apart = math.sqrt(4 / dims) * 1.2815515655446004
    y = rng.integers(0, 2, rows)
    X = rng.normal(size=(rows, dims)) + apart * y[:, None]
    # Public bounds: the middle of both classes and three deviations either way.
    schema = Schema([Numeric(f"x{k}", apart / 2 - 3, apart / 2 + 3) for k in range(dims)], "y", [0, 1])
    return DataSet("toy", schema, X, y)
