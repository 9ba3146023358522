"""Algorithms 1 to 3 of lopuhaa2021 as audit controls, each on the smallest data that show what its proof leaves out."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.audit import AuditCase, Claim, Pair
from discreet.schema import Numeric, Schema
from discreet_studies.published.lopuhaa2021 import (
    binary_questions,
    depth_of,
    huber,
    noisy_moments,
    own_range,
    svm_budget,
    tree_scale,
)

Floats = NDArray[np.float64]
Rows = tuple[tuple[float, int], ...]  # a number and a class
NUMBER = Schema([Numeric("x", 0, 100)], "y", [0, 1])
QUERIES = 3  # class counts, means, deviations
STEPS, FAR = 2.0**12, 2.0**20


def _grid(values: Any) -> Floats:
    """On a grid, lest the bits of floating-point noise give it away before the size of it does."""
    return np.asarray(np.rint(np.clip(values, -FAR, FAR) * STEPS) / STEPS)


def _arrays(data: Rows) -> tuple[Floats, NDArray[np.int64]]:
    return np.array([x for x, _ in data]), np.array([y for _, y in data], np.int64)


@dataclass(frozen=True)
class BayesAsPublished:
    """Algorithm 1: noisy count, mean and deviation of one number in the first of two classes."""

    epsilon: float

    def sample(self, data: Rows, size: int, *, rng: np.random.Generator) -> Floats:
        """Many releases by the code of the study: a column each."""
        x, y = _arrays(data)
        exact = np.bincount(y, minlength=2).astype(np.float64)
        feature, scale = NUMBER.features[0], QUERIES / self.epsilon
        assert isinstance(feature, Numeric)
        centre = np.array(noisy_moments(x, y, feature, exact, np.zeros((2, 2))))[:, 0]
        reach = np.array(noisy_moments(x, y, feature, exact, np.ones((2, 2))))[:, 0] - centre
        noise = scale * rng.laplace(0, 1, (size, 3))
        return _grid(np.column_stack([exact[0] + noise[:, 0], centre + noise[:, 1:] * reach]))


@dataclass(frozen=True)
class SupportAsPublished:
    """Algorithm 2: the weight of one number, scaled by the range of the rows themselves."""

    epsilon: float

    def sample(self, data: Rows, size: int, *, rng: np.random.Generator) -> Floats:
        """Many minima: of one weight the minimum is where the slope without noise is the noise turned round."""
        x, y = _arrays(data)
        low, span = own_range(x[:, None])
        signed = (x - low[0]) / span[0] * np.where(y == 1, 1.0, -1.0)
        amount, ridge = svm_budget(self.epsilon, len(x))
        noise = rng.laplace(0, 2 / amount, size)
        most = (np.abs(signed).sum() + np.abs(noise).max()) / (len(x) * ridge)
        weights = np.linspace(-most, most, 20_001)
        slopes = (huber(weights[:, None] * signed)[1] * signed).sum(axis=1) + len(x) * ridge * weights
        return _grid(np.interp(-noise, slopes, weights)[:, None])


@dataclass(frozen=True)
class TreeAsPublished:
    """Algorithm 3: the labels of the two leaves of a tree that asks whether one number is above the median."""

    epsilon: float

    def sample(self, data: Rows, size: int, *, rng: np.random.Generator) -> Floats:
        """Many trees: with one attribute the question is the same, and the leaves are labelled by noisy counts."""
        x, y = _arrays(data)
        bits, _ = binary_questions(NUMBER, x[:, None])
        scale = tree_scale(self.epsilon, bits.shape[1], depth_of(NUMBER))
        counts = np.stack([np.bincount(y[bits[:, 0] == side], minlength=2) for side in (False, True)])
        noisy = counts + scale * rng.laplace(0, 1, (size, 2, 2))
        return np.asarray(noisy.argmax(axis=2), np.float64)


def _sorted(size: int) -> Rows:
    """So many rows of the first class at 0, and as many of the second at 1."""
    return ((0.0, 0),) * size + ((1.0, 1),) * size


def audit_cases() -> list[AuditCase]:
    """One case for each algorithm, all with one row more or less, the reading of "adjacent" that suits the paper."""
    controls = (
        ("naive-bayes", BayesAsPublished, ((50.0, 0),), ((50.0, 0), (50.0, 0)), "a class of one row gets a second",
         "noise divided by the exact size of a class: its size gives that number away"),
        ("svm", SupportAsPublished, _sorted(50), (*_sorted(50), (100.0, 1)), "a row far beyond all others comes",
         "columns scaled by the rows' own range: one row moves all the others"),
        ("tree", TreeAsPublished, _sorted(50), (*_sorted(50), (1.0, 1)), "the median moves from 0.5 to 1",
         "numbers cut at the rows' own median: one row changes the answers of all"),
    )  # fmt: skip
    return [
        AuditCase(
            name=f"control-lopuhaa2021-{name}",
            claim=Claim(1.0),
            build=build,
            pairs=lambda epsilon, a=before, b=after, words=words: [Pair(a, b, words)],  # type: ignore[misc]
            adjacency="add-remove",
            control=True,
            note=note,
            samples=60_000,
        )
        for name, build, before, after, words, note in controls
    ]
