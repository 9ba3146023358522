"""Yilmaz, Al-Rubaie and Chang's Naive Bayes under local privacy, as published: estimates, scaling and projections."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.local.bulk import People
from discreet.local.campaign import Campaign
from discreet.local.classifier import survey
from discreet.local.estimate import Tally
from discreet.local.projections import discriminant, principal
from discreet.schema import Numeric, Schema
from discreet.sources import read_rows
from discreet_studies.methods import Method, Scores, Setting
from discreet_studies.published import Record

Floats = NDArray[np.float64]
Indices = NDArray[np.int64]
THETA = 0.25
RIDGE = 0.01
NARROWEST = 1e-4  # the paper does not say what a negative variance becomes: this, of numbers in −1 … 1
RAW = (
    "PCA or DCA directions are computed from the private rows, and projected numbers are scaled by their smallest and "
    "largest values, both without any noise"
)
EVERY_INPUT = "every person reports every input with the whole ε each, which costs (number of features + 1)·ε"
ORACLES = {"de": "grr", "sue": "sue", "oue": "oue", "she": "she", "the": "the"}
TITLES = {"de": "DE", "sue": "SUE", "oue": "OUE", "she": "SHE", "the": f"THE({THETA})"}


def positive(counts: Any) -> Floats:
    """Negative estimates are set to 1 (and so is zero, whose logarithm would rule a class out for ever)."""
    return np.where(np.asarray(counts) > 0, counts, 1.0)


@dataclass(frozen=True, eq=False)
class PublishedModel:
    """Naive Bayes as the paper estimates it, over bins or bell curves of the columns that `view` makes of a row."""

    schema: Schema
    log_prior: Floats
    log_tables: dict[int, Floats] = field(default_factory=dict)
    curves: tuple[Floats, Floats] | None = None
    view: Callable[[Floats], Floats] = field(default=lambda X: X)
    record: Record | None = None

    def scores(self, X: Floats) -> Floats:
        """log P(class, row), one column per class."""
        seen = self.view(X)
        total = np.tile(self.log_prior, (len(seen), 1))
        for column, table in self.log_tables.items():
            feature, values = self.schema.features[column], seen[:, column]
            if isinstance(feature, Numeric):
                cells = np.searchsorted(np.array(feature.edges[1:-1]), values, side="right")
            else:
                cells = values.astype(np.int64)
            total += table.T[cells]
        if self.curves is not None:
            mean, variance = self.curves
            gap = seen[:, None, :] - mean[None]
            total += (-0.5 * gap**2 / variance[None] - 0.5 * np.log(variance)[None]).sum(axis=2)
        return total


def every_input(campaign: Campaign, X: Floats, y: Indices, rng: np.random.Generator) -> list[Tally]:
    """Reports of everybody about everything, each with the whole ε: what one report per person is not."""
    (rows,) = read_rows(X, campaign.schema, y)
    people, tallies = People(campaign.schema, rows), []
    for question in campaign.questions:
        (values,) = people.answers(question.input, slice(None))
        support = question.mechanism.simulate(np.bincount(values, minlength=question.mechanism.d), rng)
        tallies.append(Tally(question.input.index, question.mechanism, len(y), support))
    return tallies


def frequencies(
    setting: Setting, schema: Schema, X: Floats, y: Indices, *, oracle: str, everything: bool = False
) -> PublishedModel:
    """Section III-A: one oracle for all inputs, the class prior from its own input, negative estimates set to 1."""
    rng = np.random.default_rng(setting.seed)
    name = ORACLES[oracle]
    theta = float(setting.options.get("theta", THETA)) if name == "the" else None
    campaign = Campaign(schema, setting.epsilon, oracle=name, theta=theta)
    tallies = every_input(campaign, X, y, rng) if everything else survey(campaign, X, y, rng=rng)
    classes, tables = len(schema.classes), {}
    prior = np.full(classes, 1 / classes)
    for one in tallies:
        if not one.reports:
            continue
        counts = positive(one.mechanism.estimate(one.support, one.reports)).reshape(classes, -1)
        if one.index == 0:
            prior = counts[:, 0] / counts.sum()
        else:
            tables[(one.index - 1) // 3] = np.log(counts / counts.sum(axis=1, keepdims=True))
    return PublishedModel(schema, np.log(prior), tables)


# ---- numbers: the ranges of the features are known; what shapes their projections is read off the private rows


def known(schema: Schema) -> Callable[[Floats], Floats]:
    """Scaling to −1 … 1 by the feature ranges, which the paper takes as known."""
    low, high = (np.array([getattr(f, end) for f in schema.numeric], dtype=np.float64) for end in ("lower", "upper"))
    return lambda rows: np.clip(2 * (rows - low) / (high - low) - 1, -1, 1)


def unit(X: Floats) -> Callable[[Floats], Floats]:
    """Scaling to −1 … 1 by the smallest and largest values of the rows."""
    low, high = X.min(axis=0), X.max(axis=0)
    width = np.where(high > low, high - low, 1.0)
    return lambda rows: np.clip(2 * (rows - low) / width - 1, -1, 1)


def prepared(setting: Setting, X: Floats, y: Indices) -> Callable[[Floats], Floats]:
    """The paper's preparation: scale by known ranges, project by PCA or DCA of the rows themselves, scale again."""
    scale, kind = known(setting.schema), setting.options.get("projection", "none")
    if kind == "none":
        return scale
    points, dims = scale(X), int(setting.options["dims"])
    directions = (principal(points) if kind == "pca" else discriminant(points, y, RIDGE))[:dims]
    again = unit(points @ directions.T)
    return lambda rows: again(scale(rows) @ directions.T)


def buckets(setting: Setting, X: Floats, y: Indices, *, oracle: str) -> PublishedModel:
    """Section III-B, first solution: equal-width buckets, then as for discrete features."""
    view = prepared(setting, X, y)
    seen, count = view(X), int(setting.options["buckets"])
    features = [Numeric(f"f{j}", -1, 1, bins=count) for j in range(seen.shape[1])]
    schema = Schema(features, setting.schema.target, setting.schema.classes)
    model = frequencies(setting, schema, seen, y, oracle=oracle)
    return PublishedModel(schema, model.log_prior, model.log_tables, view=view, record=_record(setting))


def gaussian(setting: Setting, X: Floats, y: Indices, *, approach: int) -> PublishedModel:
    """Section III-B, second solution: sums of numbers and of squares in a vector of classes, by one of three ways."""
    view, rng, epsilon = prepared(setting, X, y), np.random.default_rng(setting.seed), setting.epsilon
    seen, classes = view(X), len(setting.schema.classes)
    n = seen.shape[1]
    groups = rng.integers(0, 3 if approach == 1 else 1 + 2 * n, len(y))
    p, q = _direct(classes, epsilon)
    mine = y[groups == 0]
    said = np.where(rng.random(len(mine)) < p - q, mine, rng.integers(0, classes, len(mine)))
    counts = (np.bincount(said, minlength=classes) - len(mine) * q) / (p - q)
    prior = positive(counts) / positive(counts).sum()
    moments = np.zeros((2, classes, n))
    for power in (1, 2):
        for j in range(n):
            asked = groups == (power if approach == 1 else 1 + 2 * j + power - 1)
            if asked.any():
                vector = np.zeros((int(asked.sum()), classes))
                vector[np.arange(len(vector)), y[asked]] = seen[asked, j] ** power
                moments[power - 1, :, j] = _noisy(vector, approach, n, epsilon, rng).mean(axis=0)
    mean = moments[0] / prior[:, None]
    variance = np.maximum(moments[1] / prior[:, None] - mean**2, NARROWEST)
    return PublishedModel(
        setting.schema, np.log(prior), curves=(mean, variance), view=view, record=_record(setting)
    )  # fmt: skip


def _direct(classes: int, epsilon: float) -> tuple[float, float]:
    whole = math.exp(epsilon) + classes - 1
    return math.exp(epsilon) / whole, 1 / whole


def _noisy(vector: Floats, approach: int, n: int, epsilon: float, rng: np.random.Generator) -> Floats:
    """A vector per person with every element perturbed: Lap(2n/ε), one bit, or Lap(2/ε).

    One bit for each element is ε-private as it stands: a class's element falls from its value to 0 and another's rises
    from 0, whose ratios 2e^ε/(e^ε+1) and (e^ε+1)/2 multiply to e^ε.
    """
    if approach == 2:
        size = (math.exp(epsilon) + 1) / (math.exp(epsilon) - 1)
        up = rng.random(vector.shape) < (vector / size + 1) / 2
        return np.where(up, size, -size)
    return vector + rng.laplace(0, (2 * n if approach == 1 else 2) / epsilon, vector.shape)


def _record(setting: Setting) -> Record | None:
    """What is not private about it: nothing without a projection."""
    if setting.options.get("projection", "none") == "none":
        return None
    return Record("yilmaz2020", setting.epsilon, 0.0, RAW)


def is_private(method: Method, projection: str) -> bool:
    """Numbers on known ranges are as private as their reports; projections of the private rows themselves are not."""
    return method.private or (method.reason == RAW and projection == "none")


def _discrete(oracle: str, everything: bool = False) -> Method:
    def fit(setting: Setting, X: Floats, y: Indices) -> Scores:
        return frequencies(setting, setting.schema, X, y, oracle=oracle, everything=everything).scores

    if everything:
        title = f"{TITLES[oracle]}, every input from everybody"
        return Method(f"paper-all-{oracle}", title, fit, private=False, reason=EVERY_INPUT)
    # One report of a sound oracle about declared categories: the estimate is the paper's, the privacy holds.
    return Method(f"paper-{oracle}", f"{TITLES[oracle]}, as published", fit, private=True)


def _continuous(name: str, title: str, build: Callable[..., Any]) -> Method:
    def fit(setting: Setting, X: Floats, y: Indices) -> Scores:
        scores: Scores = build(setting, X, y).scores
        return scores

    return Method(name, f"{title}, as published", fit, private=False, reason=RAW)


DISCRETE = tuple(_discrete(oracle) for oracle in ORACLES)
EVERYTHING = tuple(_discrete(oracle, everything=True) for oracle in ORACLES)
BUCKETS = tuple(
    _continuous(f"paper-buckets-{oracle}", f"buckets by {TITLES[oracle]}", partial(buckets, oracle=oracle))
    for oracle in ("de", "oue")
)
APPROACHES = tuple(
    _continuous(f"paper-approach-{number}", title, partial(gaussian, approach=number))
    for number, title in ((1, "Laplace on all numbers"), (2, "one bit"), (3, "Laplace on one number"))
)
METHODS = (*DISCRETE, *EVERYTHING, *BUCKETS, *APPROACHES)
