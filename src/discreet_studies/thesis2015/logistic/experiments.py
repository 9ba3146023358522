"""The logistic experiments of thesis2015: six data sets at ε = 0.1, and Gaussian toys of growing dimension."""

from __future__ import annotations

import math
import time
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np

from discreet import sources
from discreet.linear import PrivateLogisticRegression, PrivateSVC
from discreet.linear.encode import Encoding
from discreet.schema import Categorical, Numeric, Schema
from discreet_studies.data import DataSet, load, monte_carlo
from discreet_studies.published.thesis2015_logistic import BOUNDS, LAMBDAS, REASON, hits, objective, output, tuned
from discreet_studies.study import SAMPLER
from discreet_studies.tasks import Task, seed_of

DATA = ("xwindows", "mushroom", "adult", "news20_w100")
SETS = ("xwindows", "mushroom", "adult", "newsgroup", "newsgroup2", "newsgroup3")
# Classes of the newsgroups and how many rows of the first are kept.
_GROUPS = {"newsgroup": (0, 1, None), "newsgroup2": (2, 3, 1223), "newsgroup3": (1, 3, 1213)}
PAPER = {"paper-objective": objective, "paper-output": output}
OURS = ("objective", "output", "functional", "svm")
TOY = ("plain", "paper-objective", "fm-sens1", "fm-sens2", "objective", "functional")
TEST_SHARE = 0.3
TOY_TEST = 20_000


@dataclass(frozen=True)
class Size:
    """How much of the study a run covers."""

    repeats: int
    lambdas: tuple[float, ...]
    tried: int
    dims: tuple[int, ...]
    most: int
    step: int
    small_epsilon: bool


FULL = Size(10, LAMBDAS, 5, (1, 2, 5, 10, 20, 50, 100), 17, 1, True)
FAST = Size(3, (1e-2, 1.0, 1e1, 1e2, 1e4), 1, (1, 2, 5, 10, 20), 15, 1, False)


def tasks(fast: bool) -> list[Task]:
    """All tasks of a run."""
    size = FAST if fast else FULL
    mode = (("fast", int(fast)),)
    planned = []
    for data in SETS:
        for repeat in range(size.repeats):
            for method in ("plain", "majority", *PAPER, *OURS):
                epsilon = math.inf if method in ("plain", "majority") else 0.1
                planned.append(Task("accuracy", data, method, epsilon, repeat=repeat, options=mode, cost=3.0))
    for dims in size.dims:
        for power in range(4, size.most + 1, size.step):
            for repeat in range(size.repeats):
                for method in TOY:
                    for epsilon in (0.1, 0.01) if size.small_epsilon and dims <= 20 else (0.1,):
                        if method == "plain" and epsilon != 0.1:
                            continue
                        level = math.inf if method == "plain" else epsilon
                        options = (*mode, ("dims", dims), ("rows", 1 << power))
                        planned.append(Task("toy", "toy", method, level, repeat=repeat, options=options, cost=0.2))
    return planned


def execute(task: Task, seed: int, directory: Path) -> dict[str, Any]:
    """One measurement."""
    train, test = _toy(task) if task.experiment == "toy" else _rows(directory, task.data, task.repeat)
    start = time.perf_counter()
    accuracy, ridge = _accuracy(task, seed, train, test)
    private = task.method not in ("plain", "majority", *PAPER)
    return {
        "accuracy": accuracy,
        "regularisation": ridge,
        "train_rows": len(train),
        "fit_seconds": time.perf_counter() - start,
        "private": private,
        "not_private_because": None if private else REASON if task.method in PAPER else "no noise is added",
        "simulation": task.method not in ("plain", "majority"),
        "sampler": SAMPLER,
    }


def _accuracy(task: Task, seed: int, train: DataSet, test: DataSet) -> tuple[float, float | None]:
    toy = task.experiment == "toy"
    numeric = "scaled" if toy else "binned"
    if task.method == "majority":
        return float(np.mean(test.y == np.bincount(train.y, minlength=2).argmax())), None
    if task.method in PAPER:
        size, rng = FAST if task.option("fast") else FULL, np.random.default_rng(seed)
        encoding = Encoding(plus_minus(train.schema), "scaled" if toy or _binary(train.schema) else "binned")
        design = encoding.design(sources.open(train.X, encoding.schema, train.y).held())
        weights, ridge = tuned(PAPER[task.method], design, task.epsilon, rng, lambdas=size.lambdas, tried=size.tried)
        return hits(encoding.design(sources.open(test.X, encoding.schema, test.y).held()), weights), ridge
    settings: dict[str, Any] = {
        "epsilon": task.epsilon,
        "schema": train.schema,
        "numeric": numeric,
        "random_state": seed,
    }
    estimator: PrivateLogisticRegression | PrivateSVC
    if task.method == "svm":
        estimator = PrivateSVC(**settings)
    elif task.method in BOUNDS:
        # A looser bound is the same mechanism at a smaller ε; rows are replaced, as in the thesis.
        columns = len(train.schema.features) + 1
        settings["epsilon"] *= BOUNDS["fm-merged"](columns) / BOUNDS[task.method](columns)
        estimator = PrivateLogisticRegression(**settings, method="functional", adjacency="replace")
    else:
        method = "objective" if task.method == "plain" else task.method
        estimator = PrivateLogisticRegression(**settings, method=method)
    fitted = estimator.fit(train.X, train.y)
    return float(fitted.score(test.X, test.y)), fitted.model_.settings["ridge"]


def _binary(schema: Schema) -> bool:
    return all(isinstance(f, Categorical) and f.cells == 2 for f in schema.features)


def plus_minus(schema: Schema) -> Schema:
    """The same schema with features of two categories read as numbers, which scale to −1 and 1."""
    if not _binary(schema):
        return schema
    return Schema([Numeric(f.name, 0, 1, integer=True) for f in schema.features], schema.target, schema.classes)


@lru_cache(maxsize=6)
def dataset(directory: Path, name: str) -> DataSet:
    """A data set of the study."""
    if name not in _GROUPS:
        return load(directory, name)
    whole = load(directory, "news20_w100")
    first, second, most = _GROUPS[name]
    few, many = (np.flatnonzero(whole.y == k) for k in (first, second))
    if most is not None:
        few = np.sort(np.random.default_rng(seed_of("rows", name)).choice(few, most, replace=False))
    rows = np.sort(np.concatenate([few, many]))
    schema = Schema(whole.schema.features, whole.schema.target, [0, 1])
    return DataSet(name, schema, whole.X[rows], (whole.y[rows] == second).astype(np.int64))


@lru_cache(maxsize=4)
def _rows(directory: Path, name: str, repeat: int) -> tuple[DataSet, DataSet]:
    data = dataset(directory, name)
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
