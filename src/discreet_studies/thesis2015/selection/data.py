"""Data of the thesis: every feature binary, two classes, split as its table 3.1 says."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from discreet.schema import Categorical, Numeric, Schema
from discreet.statistics import Statistics
from discreet_studies.data import MANIFEST, DataSet, Split, declared_split, load, monte_carlo
from discreet_studies.tasks import seed_of

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]
TEST_SHARE = 0.3
# Two of four groups: how many documents there are of the first, and how many of each train. Appendix A prints the
# latter of the two imbalanced ones, and their sizes in all leave 1,200 documents of the rarer group.
NEWSGROUPS: dict[str, tuple[int, int, int | None, tuple[int, int] | None]] = {
    "newsgroup": (0, 1, None, None),
    "newsgroup2": (2, 3, 1200, (856, 3807)),
    "newsgroup3": (1, 3, 1200, (849, 3814)),
}
DROPPED = ("stalk_root",)  # has missing values
# Adult as a 0/1 table of 123 columns is public under the name a9a: numbers in fifths, but gains and losses by whether
# there are any; no column for a missing value. The cuts are round numbers near the fifths.
CUTS = {
    "age": (26, 33, 41, 50), "fnlwgt": (107_000, 159_000, 196_000, 260_000), "education_num": (8, 9, 10, 12),
    "capital_gain": (0,), "capital_loss": (0,), "hours_per_week": (34, 39, 40, 47),
}  # fmt: skip
# Classes' rates, rows to train on (as many test), and features.
SYNTHETIC = {
    "dense": (0.8, 0.5, 3000, 300), "dense-1000": (0.8, 0.5, 1000, 500), "sparse": (0.01, 0.03, 3000, 300),
    "sparse-30000": (0.01, 0.03, 30_000, 300), "sparse-60000": (0.01, 0.03, 60_000, 300),
}  # fmt: skip
PROXY = "xwindows-proxy"  # rows drawn from Naive Bayes of XWindows, four times as many
PROXY_ROWS = 3600
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
    return made(
        schema, X[split.train].astype(np.int64), y[split.train], X[split.test].astype(np.float64), y[split.test]
    )


def made(schema: Schema, train: Integers, labels: Integers, test: Floats, truth: Integers) -> Bench:
    """Rows with their statistics and mutual informations."""
    on = np.stack([train[labels == c].sum(axis=0) for c in (0, 1)])
    counts = np.bincount(labels, minlength=2)
    tables = {f"f{j}": np.stack([counts - on[:, j], on[:, j]], axis=1) for j in range(train.shape[1])}
    statistics = Statistics(schema, counts, tables)
    bits = np.array([mutual_information(table) for table in tables.values()])
    return Bench(schema, statistics, train, labels, test, truth, bits)


def mutual_information(table: Integers) -> float:
    """The mutual information of class and feature, in bits."""
    share = table / max(table.sum(), 1)
    product = share.sum(axis=1, keepdims=True) * share.sum(axis=0, keepdims=True)
    some = share > 0
    return float((share[some] * np.log2(share[some] / product[some])).sum())


def _rows(directory: Path, name: str) -> tuple[Integers, Integers, Split]:
    if name in SYNTHETIC:
        first, second, rows, width = SYNTHETIC[name]
        rng = np.random.default_rng(seed_of("thesis2015", name))
        rates = np.array([first, second])[:, None] * rng.uniform(0.9, 1.1, width)
        return _drawn(np.minimum(rates, 1.0), rows, rng)
    if name == PROXY:
        X, y, split = _rows(directory, "xwindows")
        train, labels = X[split.train], y[split.train]
        rates = np.stack([(train[labels == c].sum(axis=0) + 1) / ((labels == c).sum() + 2) for c in (0, 1)])
        return _drawn(rates, PROXY_ROWS, np.random.default_rng(seed_of("thesis2015", name)))
    if name in NEWSGROUPS:
        return _newsgroup(directory, name)
    data = load(directory, name)
    split = declared_split(directory, name) or monte_carlo(data, 0, TEST_SHARE)
    return _binary(directory, data), data.y, split


def _drawn(rates: Floats, rows: int, rng: np.random.Generator) -> tuple[Integers, Integers, Split]:
    """Rows of even classes by the rate of every feature in each, half of them to train on."""
    y = rng.integers(0, 2, 2 * rows)
    X = (rng.random((2 * rows, rates.shape[1])) < rates[y]).astype(np.int64)
    return X, y, Split(np.arange(rows), np.arange(rows, 2 * rows), 0)


def newsgroup(directory: Path, name: str) -> DataSet:
    """The documents of two groups, of the first as many as the thesis' sizes leave."""
    first, second, most, _ = NEWSGROUPS[name]
    data = load(directory, "news20_w100")
    rows = [np.flatnonzero(data.y == group) for group in (first, second)]
    if most is not None:
        rng = np.random.default_rng(seed_of("thesis2015", name))
        rows[0] = np.sort(rng.choice(rows[0], most, replace=False))
    kept = data.take(np.concatenate(rows))
    schema = Schema(data.schema.features, data.schema.target, [0, 1])
    return DataSet(name, schema, kept.X, (kept.y == second).astype(np.int64))


def _newsgroup(directory: Path, name: str) -> tuple[Integers, Integers, Split]:
    data = newsgroup(directory, name)
    return data.X.astype(np.int64), data.y, newsgroup_split(data, 0)


def newsgroup_split(data: DataSet, repeat: int) -> Split:
    """Seven tenths of the documents train, of every class as many as the thesis prints where it does."""
    counts = NEWSGROUPS[data.name][3]
    if counts is None:
        return monte_carlo(data, repeat, TEST_SHARE)
    seed = seed_of("thesis2015 split", data.name, repeat)
    rng = np.random.default_rng(seed)
    train = [rng.permutation(np.flatnonzero(data.y == c))[: counts[c]] for c in (0, 1)]
    chosen = np.sort(np.concatenate(train))
    return Split(chosen, np.setdiff1d(np.arange(len(data)), chosen), seed)


def _binary(directory: Path, data: DataSet) -> Integers:
    """A column for each value that occurs, as in the public 0/1 tables of 112 and 123 columns; words as they are."""
    declared = Schema.from_manifest(directory / MANIFEST, data.name)
    columns = []
    for j, feature in enumerate(declared.features):
        if feature.name in DROPPED:
            continue
        if isinstance(feature, Numeric):
            codes = np.searchsorted(CUTS[feature.name], data.X[:, j], side="left")
            columns += [codes == value for value in range(len(CUTS[feature.name]) + 1)]
            continue
        codes = data.X[:, j].astype(np.int64)
        if tuple(feature.categories) == (0, 1):
            columns.append(codes == 1)
            continue
        columns += [codes == v for v, text in enumerate(feature.categories) if text != "?" and (codes == v).any()]
    return np.stack(columns, axis=1).astype(np.int64)
