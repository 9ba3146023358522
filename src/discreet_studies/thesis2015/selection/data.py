"""Data of the thesis: every feature binary, two classes, split as its table 3.1 says."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from discreet.schema import Categorical, Numeric, Schema
from discreet.statistics import Statistics
from discreet_studies.data import DataSet, Split, declared_split, load, monte_carlo
from discreet_studies.tasks import seed_of

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]
BINS = 5
TEST_SHARE = 0.3
# Two of four groups; of the rarer one only so many documents, which gives the thesis' sizes.
NEWSGROUPS = {"newsgroup": (0, 1, None), "newsgroup2": (2, 3, 1200), "newsgroup3": (1, 3, 1200)}
DROPPED = ("stalk_root",)  # has missing values
SYNTHETIC = {"dense": (0.8, 0.5), "sparse": (0.01, 0.03)}
ROWS, WIDTH = 3000, 300
REAL = ("xwindows", "mushroom", "adult", *NEWSGROUPS)
SOURCES = ("xwindows", "mushroom", "adult", "news20_w100")


@dataclass(frozen=True, eq=False)
class Bench:
    """Binary training and test rows, the training rows' exact statistics, and the mutual informations (in bits)."""

    schema: Schema
    statistics: Statistics
    train: Integers
    labels: Integers
    test: Floats
    truth: Integers
    information: Floats

    @property
    def majority(self) -> float:
        """The share of the larger class among all rows."""
        counts = np.bincount(np.concatenate([self.labels, self.truth]))
        return float(counts.max() / counts.sum())


@lru_cache(maxsize=8)
def bench(directory: Path, name: str) -> Bench:
    """A data set of the thesis, made ready."""
    X, y, split = _rows(directory, name)
    schema = Schema([Categorical(f"f{j}", [0, 1]) for j in range(X.shape[1])], "y", [0, 1])
    train, labels = X[split.train].astype(np.int64), y[split.train]
    on = np.stack([train[labels == c].sum(axis=0) for c in (0, 1)])
    counts = np.bincount(labels, minlength=2)
    tables = {f"f{j}": np.stack([counts - on[:, j], on[:, j]], axis=1) for j in range(X.shape[1])}
    statistics = Statistics(schema, counts, tables)
    bits = np.array([mutual_information(table) for table in tables.values()])
    return Bench(schema, statistics, train, labels, X[split.test].astype(np.float64), y[split.test], bits)


def mutual_information(table: Integers) -> float:
    """The mutual information of class and feature, in bits."""
    share = table / max(table.sum(), 1)
    product = share.sum(axis=1, keepdims=True) * share.sum(axis=0, keepdims=True)
    some = share > 0
    return float((share[some] * np.log2(share[some] / product[some])).sum())


def _rows(directory: Path, name: str) -> tuple[Integers, Integers, Split]:
    if name in SYNTHETIC:
        rng = np.random.default_rng(seed_of("thesis2015", name))
        y = rng.integers(0, 2, 2 * ROWS)
        chance = np.array(SYNTHETIC[name])[y][:, None] * rng.uniform(0.9, 1.1, WIDTH)
        X = (rng.random((2 * ROWS, WIDTH)) < np.minimum(chance, 1.0)).astype(np.int64)
        return X, y, Split(np.arange(ROWS), np.arange(ROWS, 2 * ROWS), 0)
    if name in NEWSGROUPS:
        first, second, most = NEWSGROUPS[name]
        data = load(directory, "news20_w100")
        rows = [np.flatnonzero(data.y == group) for group in (first, second)]
        if most is not None:
            rng = np.random.default_rng(seed_of("thesis2015", name))
            rows[0] = np.sort(rng.choice(rows[0], most, replace=False))
        kept = data.take(np.concatenate(rows))
        y = (kept.y == second).astype(np.int64)
        return kept.X.astype(np.int64), y, monte_carlo(DataSet(name, data.schema, kept.X, y), 0, TEST_SHARE)
    data = load(directory, name)
    split = declared_split(directory, name) or monte_carlo(data, 0, TEST_SHARE)
    return _binary(data), data.y, split


def _binary(data: DataSet) -> Integers:
    """Features of two values as they are, others one column for each value, numbers by equal bins of public bounds."""
    columns = []
    for j, feature in enumerate(data.schema.features):
        if feature.name in DROPPED:
            continue
        if isinstance(feature, Numeric):
            width = (feature.upper - feature.lower) / BINS
            codes = np.clip((data.X[:, j] - feature.lower) // width, 0, BINS - 1).astype(np.int64)
            cells = BINS
        else:
            codes, cells = data.X[:, j].astype(np.int64), feature.cells
        columns += [codes == value for value in (range(1, 2) if cells == 2 else range(cells))]
    return np.stack(columns, axis=1).astype(np.int64)
