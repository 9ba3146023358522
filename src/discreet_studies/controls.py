"""As-published variants as audit controls: their claims must be found violated."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.audit import AuditCase, Claim, Pair
from discreet.schema import Numeric, Schema
from discreet_studies.methods import Setting
from discreet_studies.published import lopuhaa2021_controls as lopuhaa2021
from discreet_studies.published import thesis2015_controls as thesis2015
from discreet_studies.published.giaretta2022 import LocalRows, local_maxima, local_updates
from discreet_studies.published.thesis2015_selection import iterative_sampling, mask_by_tables
from discreet_studies.published.yilmaz2020 import prepared as projected
from discreet_studies.published.zafarani2021 import TRIM, Access, algorithm1_curve

ACCESSES = 3  # class counts, mean and deviation of one number: each gets a third of the budget
COUNT_SCALE = 2**0.5
NUMBER = Schema([Numeric("x", 0, 100)], "y", [0, 1])
GRID, FAR = 2.0**16, 2.0**20


class _Constant:
    """A generator whose only draw is known: 0 shows where a noisy value is centred, 1 how far its noise reaches."""

    def __init__(self, value: float) -> None:
        self.value = value

    def standard_cauchy(self) -> float:
        """The constant."""
        return self.value


@dataclass(frozen=True)
class SmoothAsPublished:
    """Counts, means and deviations of one number in two classes, as Algorithm 1 of zafarani2021 releases them."""

    epsilon: float

    def sample(self, data: tuple[tuple[float, ...], ...], size: int, *, rng: np.random.Generator) -> NDArray[Any]:
        """Many releases: a column each for a class's count, mean and deviation."""
        access = Access(self.epsilon / ACCESSES, 0.0)
        columns = []
        for values in data:
            curve: Any = partial(algorithm1_curve, np.sort(np.array(values)), access, noise="cauchy", trim=TRIM)
            centre = np.array(curve(rng=_Constant(0.0)))
            reach = np.array(curve(rng=_Constant(1.0))) - centre
            columns.append(len(values) + COUNT_SCALE / access.epsilon * rng.standard_cauchy(size))
            columns += list((centre + reach * rng.standard_cauchy((size, 2))).T)
        # On a grid, lest the bits of floating-point noise give it away before the labels do.
        return np.rint(np.clip(np.stack(columns, axis=1), -FAR, FAR) * GRID) / GRID


@dataclass(frozen=True)
class SumAsPublished:
    """Count, sum and sum of squares of one number in one class, as a node of giaretta2022 releases them."""

    epsilon: float

    def sample(self, data: tuple[float, ...], size: int, *, rng: np.random.Generator) -> NDArray[Any]:
        """Many updates by the code of the study: a column each for n, S and Q."""
        rows = LocalRows(NUMBER, np.array(data)[:, None], np.zeros(len(data), np.int64))
        where = np.zeros(len(data), np.int64)
        exact = local_updates(rows, where, np.array([self.epsilon]), rng=rng).exact
        most = local_maxima(rows, 0, where, 1)[0, 0]
        spent = self.epsilon / rows.queries
        noise = rng.laplace(0, 1, (size, 3)) * np.array([1.0, most, most**2]) / spent
        values = noise + np.array([exact[name][0, 0] for name in ("n", "S x", "Q x")])
        return np.asarray(np.rint(np.clip(values, -FAR, FAR) * 16) / 16)


@dataclass(frozen=True)
class SelectionAsPublished:
    """Some features by their scores, as thesis2015 may have drawn them."""

    epsilon: float
    iterative: bool = False

    def sample(self, data: tuple[float, ...], size: int, *, rng: np.random.Generator) -> NDArray[Any]:
        """Which features are chosen, as a mask, or how many of the first half, many times."""
        scores = np.array(data)
        masks = np.zeros((size, len(scores)), np.int64)
        for row in masks:
            if self.iterative:
                row[iterative_sampling(scores, 1, self.epsilon, 1.0, rng=rng)] = 1
            else:
                row[mask_by_tables(scores, len(scores) // 2, self.epsilon / 2, rng=rng)] = 1
        return masks if self.iterative else masks[:, : len(scores) // 2].sum(axis=1, keepdims=True)


@dataclass(frozen=True)
class EveryInputAsPublished:
    """A person's answers about every input, each by direct encoding with the whole ε: yilmaz2020 in that reading."""

    epsilon: float

    def sample(self, data: tuple[int, ...], size: int, *, rng: np.random.Generator) -> NDArray[Any]:
        """Reports about inputs of two values each, true with probability e^ε/(e^ε + 1)."""
        true = np.exp(self.epsilon) / (np.exp(self.epsilon) + 1)
        lies = rng.random((size, len(data))) >= true
        return np.asarray(np.array(data)[None, :] ^ lies.astype(np.int64))


@dataclass(frozen=True)
class ProjectionAsPublished:
    """The directions and ranges that devices are told, by the code of the study: PCA of the private rows."""

    epsilon: float

    def sample(self, data: tuple[tuple[float, float], ...], size: int, *, rng: np.random.Generator) -> NDArray[Any]:
        """Where a public point lands, in hundredths: the same every time, since no noise is added."""
        schema = Schema([Numeric("a", -1, 1), Numeric("b", -1, 1)], "y", [0, 1])
        rows = np.array(data, dtype=np.float64)
        setting = Setting(schema, self.epsilon, 0.0, len(rows), 0, {"projection": "pca", "dims": 1, "buckets": 2})
        view = projected(setting, rows, np.arange(len(rows)) % 2)
        landed = np.rint(100 * np.abs(view(np.array([[0.25, 0.5]]))))
        return np.repeat(landed, size, axis=0)


def _local_cases() -> list[AuditCase]:
    rows = ((-0.5, 0.0), (0.5, 0.1), (0.4, -0.1))
    return [
        AuditCase(
            name="control-yilmaz2020-every-input",
            claim=Claim(1.0),
            build=EveryInputAsPublished,
            pairs=lambda epsilon: [Pair((0, 0, 0, 0), (1, 1, 1, 1), "another row")],
            adjacency="replace",
            control=True,
            note="every person reports every input with the whole budget each",
        ),
        AuditCase(
            name="control-yilmaz2020-projection",
            claim=Claim(1.0),
            build=ProjectionAsPublished,
            pairs=lambda epsilon: [Pair(rows, (*rows[:2], (1.0, 1.0)), "one of three rows changes")],
            adjacency="replace",
            control=True,
            note="directions and ranges of projections are read off the private rows",
            samples=4_000,
        ),
    ]


def _selection_cases() -> list[AuditCase]:
    # On binary features and two classes a row lifts any of the scores by one and leaves the others as they are.
    ahead, farther = ((gap,) * 20 + (0.0,) * 20 for gap in (1.0, 2.0))
    controls = (
        ("mask-without-t", ahead, farther, "a mask of twenty features drawn with the sensitivity of one"),
        ("iterative", (0.0,) * 10, (0.0,) * 9 + (1.0,), "features passed over are not paid for, the best comes first"),
    )
    return [
        AuditCase(
            name=f"control-thesis2015-{name}",
            claim=Claim(1.0),
            build=lambda epsilon, name=name: SelectionAsPublished(epsilon, name == "iterative"),  # type: ignore[misc]
            pairs=lambda epsilon, a=before, b=after: [Pair(a, b, "one row lifts scores by one")],  # type: ignore[misc]
            adjacency="add-remove",
            control=True,
            note=note,
            samples=60_000,
        )
        for name, before, after, note in controls
    ]


def audit_cases() -> list[AuditCase]:
    """zafarani2021, giaretta2022, thesis2015 and lopuhaa2021 as published, on pairs that show the gaps in proofs."""
    half = 0.5  # with the twentieth row of a class one row is trimmed at either end, and its bound falls
    pairs = [
        Pair(((half,) * 20, (half,) * 19), ((half,) * 19, (half,) * 20), "one of 39 rows changes its label"),
        Pair(((0.0, 0.0, 1.0), (0.0,)), ((0.0, 0.0), (0.0, 1.0)), "one of four rows changes its label"),
    ]
    return [
        AuditCase(
            name="control-zafarani2021-as-published",
            claim=Claim(1.0),
            build=SmoothAsPublished,
            pairs=lambda epsilon: pairs,
            adjacency="replace",
            control=True,
            note="smooth sensitivity with known class sizes: a label change touches two classes",
        ),
        AuditCase(
            name="control-giaretta2022-as-published",
            claim=Claim(1.0),
            build=SumAsPublished,
            pairs=lambda epsilon: [
                Pair((1.0, 1.0, 1.0), (1.0, 1.0, 8.0), "the largest of three values changes"),
            ],
            adjacency="replace",
            control=True,
            note="noise scaled to the largest value of the local rows: its size gives that value away",
        ),
        *_local_cases(),
        *_selection_cases(),
        *thesis2015.audit_cases(),
        *lopuhaa2021.audit_cases(),
    ]


def found_epsilon(name: str, seed: int, samples: int = 20_000) -> float:
    """The lower bound on ε that an audit by that seed finds for the control of that name, which claims ε = 1."""
    case = next(case for case in audit_cases() if case.name == f"control-{name}")
    return float(case.run(samples=samples, seed=seed).lower_bound)
