"""What an audit needs of selection: every selector, on neighbours that a choice without its factors would betray."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.audit import AuditCase, Pair, case_at_one
from discreet.mechanisms.noise import ExactSampler
from discreet.mechanisms.odds import Odds
from discreet.privacy.budget import Adjacency, Budget
from discreet.schema import Categorical, Schema
from discreet.selection.classifier import SelectiveNB
from discreet.selection.plan import SELECTORS, make_selection_plan
from discreet.selection.select import select
from discreet.sources import BINS, collect

SCHEMA = Schema([Categorical(name, [0, 1]) for name in "abcd"], "y", [0, 1])
K = 2
Rows = Sequence[tuple[int, ...]]
# Two features follow the class, two oppose or ignore it. One more row lifts the last two, or lowers the first two.
FEW = ((1, 1, 0, 0, 1), (0, 0, 0, 0, 0), (1, 1, 0, 1, 1))
LIFTING = (0, 0, 1, 1, 1)
WIDE = 32
VAST = 60  # enough draws for their rho to add up to less than their epsilon
DELTA = 1e-5


def _schema(width: int) -> Schema:
    return Schema([Categorical(f"f{j}", [0, 1]) for j in range(width)], "y", [0, 1])


def _anchored(width: int, *rows: tuple[int, ...]) -> Rows:
    """Rows after some that every feature gets right: then each 1 of a row of class 1 is a hit, and each 0 none."""
    return (*(((0,) * (width + 1), (1,) * (width + 1)) * 6), *rows)


def _arrays(rows: Rows) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    table = np.array(rows, np.int64)
    return table[:, :-1], table[:, -1]


@dataclass(frozen=True)
class Choices:
    """Chosen features, drawn many times by the code that releases use."""

    epsilon: float
    settings: dict[str, Any] = field(default_factory=dict)
    k: int = K
    halves: bool = False
    delta: float = 0.0
    louder: int = 1  # a control takes a rate that many times too high

    def sample(self, data: Rows, size: int, *, rng: np.random.Generator) -> NDArray[Any]:
        """The chosen features in the order of choice, one selection per row; the draws are exact and ignore `rng`."""
        X, y = _arrays(data)
        schema = _schema(X.shape[1])
        statistics = collect(X, schema, y, detail=BINS)
        given = {**self.settings, "adjacency": Adjacency.of(self.settings["adjacency"])}
        plan = make_selection_plan(schema, Budget(self.epsilon, self.delta), self.k, **given)
        if plan.each is not None:
            plan = replace(plan, each=self.louder * plan.each)
        sampler, odds = ExactSampler(), Odds()
        chosen = np.array([select(statistics, plan, sampler=sampler, odds=odds).chosen for _ in range(size)])
        return (chosen < X.shape[1] // 2).sum(axis=1, keepdims=True) if self.halves else chosen


@dataclass(frozen=True)
class SelectiveFit:
    """The chosen features and every noisy count of a fitted SelectiveNB."""

    epsilon: float

    def __call__(self, data: Rows) -> NDArray[Any]:
        """Fit once and return what is published: −1 where a feature was not chosen."""
        X, y = _arrays(data)
        fitted = SelectiveNB(self.epsilon, SCHEMA, k=1).fit(X, y)
        mask = np.isin(np.arange(len(SCHEMA.features)), fitted.selection_.chosen).astype(np.int64)
        return np.concatenate([mask, *(np.ravel(table) for table in fitted.release_.values.values())])


def _pairs(adjacency: str) -> list[Pair]:
    if adjacency == "add-remove":
        return [
            Pair(FEW, (*FEW, LIFTING), "one more row, in which the features behind are right"),
            Pair(FEW, (*FEW, (1, 1, 0, 0, 0)), "one more row, in which the features ahead are wrong"),
        ]
    return [
        Pair((*FEW, (1, 1, 0, 0, 1)), (*FEW, (0, 0, 1, 1, 1)), "a row turns from the features ahead to those behind"),
        Pair((*FEW, (1, 1, 0, 0, 1)), (*FEW, (1, 1, 0, 0, 0)), "a row changes its label"),
    ]


def _sharp_cases() -> list[AuditCase]:
    """One of two features by a row that turns from one to the other, and half of many by a row that lifts half."""
    half = WIDE // 2
    behind = ((0, 1, 1),) * 2
    before, after = _anchored(2, *behind, (0, 1, 1)), _anchored(2, *behind, (1, 0, 1))
    one = [Pair(before, after, "a row turns from the feature ahead to the one behind")]
    many = [Pair(_anchored(WIDE), _anchored(WIDE, (1,) * half + (0,) * half + (1,)), "one row lifts half the features")]
    chosen = "the feature chosen", "how many of the first half of the features are chosen"
    return [
        case_at_one(
            f"selection-{selector}-{k}-of-{width}-{near}",
            partial(
                Choices, settings={"selector": selector, "score": "hits", "adjacency": near}, k=k, halves=k > 1
            ),
            pairs, chosen[k > 1], adjacency=near, samples=6_000,
        )
        for selector in ("mask", "gumbel", "permute-and-flip")
        for k, width, near, pairs in ((1, 2, "replace", one), (half, WIDE, "add-remove", many))
    ]  # fmt: skip


def _concentrated_cases() -> list[AuditCase]:
    """Half of many features by draws whose rho add up, and a control whose draws are forty times too sure."""
    half = VAST // 2
    pairs = [
        Pair(_anchored(VAST), _anchored(VAST, (1,) * half + (0,) * half + (1,)), "one row lifts half the features")
    ]
    settings = {"selector": "gumbel", "score": "hits", "adjacency": "add-remove"}
    build = partial(Choices, settings=settings, k=half, halves=True, delta=DELTA)
    note = "how many of the first half of the features are chosen"
    return [
        case_at_one("selection-gumbel-with-delta", build, pairs, note, samples=2_000, delta=DELTA),
        case_at_one(
            "control-selection-gumbel-with-delta", partial(build, louder=40), pairs, "draws at forty times their rate",
            samples=2_000, delta=DELTA,
        ),
    ]  # fmt: skip


def audit_cases() -> list[AuditCase]:
    """Every selector under add-remove neighbours, every score, both adjacencies, and a whole fit."""
    asked = [(name, "count" if name == "sparse-vector" else "hits", "add-remove") for name in SELECTORS]
    asked += [("mask", "count", "add-remove"), ("mask", "balanced", "add-remove")]
    asked += [("mask", "hits", "replace"), ("mask", "count", "replace"), ("joint", "hits", "replace")]
    asked.append(("mask", "mutual-information", "add-remove"))
    cases = []
    for selector, score, near in asked:
        given: dict[str, Any] = {"selector": selector, "score": score, "adjacency": near}
        given |= {"max_rows": 8} if score == "mutual-information" else {}
        name, build = f"selection-{selector}-{score}-{near}", partial(Choices, settings=given)
        note = "the features chosen, in order"
        cases.append(case_at_one(name, build, _pairs(near), note, adjacency=near, samples=6_000))
    note = "the features chosen and the noisy counts of a fitted SelectiveNB"
    fitted = case_at_one("selective-naive-bayes-fit", SelectiveFit, _pairs("add-remove"), note, samples=1_000)
    return [*cases, fitted, *_sharp_cases(), *_concentrated_cases()]
