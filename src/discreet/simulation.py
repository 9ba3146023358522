"""Simulation: rows of a made-up law of a schema, and how accurate a fit to so many of them is at several epsilon."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from discreet.bayes.likelihoods.histogram import decode
from discreet.models import pick
from discreet.schema import Schema

SEED = 20_262  # any constant: the law of a schema is always the same
STRENGTH = 2.0  # standard deviation of the log-odds that all features together make between two classes
MOST = 20_000  # rows that are drawn; of more, rows times epsilon is kept
TEST = 4_000
EPSILONS = (0.1, 0.3, 1.0, 3.0, 10.0, math.inf)


def made_up(schema: Schema, size: int, seed: int) -> Any:
    """An Arrow table of rows that nobody has: even classes, features that are independent in each and say little."""
    import pyarrow as pa

    law, rng = np.random.default_rng(SEED), np.random.default_rng([SEED, seed])
    groups = rng.integers(0, len(schema.classes), size)
    columns: dict[str, list[Any]] = {}
    for feature in schema.features:
        usual = -0.7 * np.log1p(law.permutation(feature.cells))
        apart = law.normal(0, STRENGTH / math.sqrt(2 * len(schema.features)), (len(schema.classes), feature.cells))
        columns[feature.name] = decode(feature, pick(np.exp(usual + apart)[groups], rng.random(size)), rng)
    columns[schema.target] = [schema.classes[group] for group in groups]
    if schema.id is not None:
        columns[schema.id] = list(range(size))
    return pa.table(columns)


def curve(estimator: Any, schema: Schema, rows: int, repeats: int = 2) -> list[dict[str, Any]]:
    """The accuracy of an estimator on made-up rows, fitted to so many others, at several epsilon."""
    drawn = min(rows, MOST)
    test = made_up(schema, TEST, 0)
    found = []
    for epsilon in EPSILONS:
        spent = epsilon * rows / drawn  # fewer rows with less noise: what counts is rows times epsilon
        right = []
        for seed in range(1, (1 if math.isinf(epsilon) else repeats) + 1):
            fitted = type(estimator)(**{**estimator.get_params(deep=False), "epsilon": spent, "random_state": seed})
            right.append(fitted.fit(made_up(schema, drawn, seed)).score(test))
        found.append({"epsilon": epsilon, "accuracy": float(np.mean(right))})
    return found


def odds(epsilon: float) -> list[dict[str, float]]:
    """How sure an attacker can become that a person is in the data, by how sure they were: e^epsilon times the odds."""
    found = []
    for before in (0.01, 0.1, 0.5, 0.9):
        ratio = before / (1 - before) * math.exp(min(epsilon, 700.0))
        found.append({"before": before, "after": ratio / (1 + ratio)})
    return found
