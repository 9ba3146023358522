"""What an audit needs of private answers: labels of a few rows, on neighbours that move a vote."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.answers.plan import make_answer_plan
from discreet.answers.predictor import Answers
from discreet.answers.votes import Voters
from discreet.audit import AuditCase, Pair, case_at_one
from discreet.domain import exact
from discreet.mechanisms.noise import SimulationSampler
from discreet.privacy.budget import Adjacency, Budget
from discreet.schema import Categorical, Schema

SCHEMA = Schema([Categorical("a", [0, 1])], "y", [0, 1])
ROW = np.zeros((1, 1), np.int64)
MANY, DELTA = 12, Fraction(1, 100)


@dataclass(frozen=True)
class Labels:
    """One label by the votes of three parts; `factor` cuts the noise: one half is what votes that all rise would need.

    A data set lists the part, cell and class of each row: audits hold the deal fixed, as the proof does.
    """

    epsilon: float
    adjacency: str = "add-remove"
    factor: Fraction = Fraction(1)

    def sample(self, data: Sequence[tuple[int, int, int]], size: int, *, rng: np.random.Generator) -> NDArray[Any]:
        """Labels, one answer per row; the coins are seeded by `rng` for speed and have the law of the system's."""
        plan = make_answer_plan(
            SCHEMA, Budget(exact(self.epsilon)), queries=1, parts=3, adjacency=Adjacency.of(self.adjacency)
        )
        assert plan.each is not None
        plan = replace(plan, each=plan.each / self.factor)
        part, cell, label = np.array(data, np.int64).T
        voters = Voters(SCHEMA, cell[:, None], label, part, 3)
        sampler = SimulationSampler(rng)
        return np.array([Answers(plan, sampler).give(ROW, voters) for _ in range(size)])


@dataclass(frozen=True)
class ManyLabels:
    """How many of MANY labels by the same votes are of the second class, as a fit with a δ chooses them.

    `factor` times what each may cost: four is what a quarter of the noise needs.
    """

    epsilon: float
    factor: Fraction = Fraction(1)

    def sample(self, data: Sequence[tuple[int, int, int]], size: int, *, rng: np.random.Generator) -> NDArray[Any]:
        """Numbers, one per release; the coins are seeded by `rng` for speed and have the law of the system's."""
        near = Adjacency.REPLACE
        plan = make_answer_plan(SCHEMA, Budget(exact(self.epsilon), DELTA), queries=MANY, parts=3, adjacency=near)
        assert plan.each is not None and plan.law == "exponential"
        plan = replace(plan, each=plan.each * self.factor)
        part, cell, label = np.array(data, np.int64).T
        voters, sampler = Voters(SCHEMA, cell[:, None], label, part, 3), SimulationSampler(rng)
        return np.array(
            [[sum(int(Answers(plan, sampler).give(ROW, voters)[0]) for _ in range(MANY))] for _ in range(size)]
        )


def audit_cases() -> list[AuditCase]:
    """A label under both adjacencies, and a control whose odds forget that a vote lost is a vote won.

    And many labels with a δ, beside labels that have four times what each may cost.
    """

    agreed = ((0, 0, 1), (1, 0, 1), (2, 0, 1))
    added = [Pair(agreed, (*agreed, (2, 0, 0)), "a row turns the vote of its part")]
    moved = [Pair(agreed, (*agreed[:2], (2, 0, 0)), "a row changes its class, and its part the vote")]
    many = "twelve labels under a delta"
    settled: dict[str, Any] = {"adjacency": "replace", "samples": 4_000, "delta": float(DELTA)}
    replaced, note = partial(Labels, adjacency="replace"), "a label chosen by votes"
    return [
        case_at_one("private-answers-add-remove", Labels, added, note, samples=20_000),
        case_at_one("private-answers-replace", replaced, moved, note, adjacency="replace", samples=20_000),
        case_at_one(
            "control-private-answers-monotone", partial(replaced, factor=Fraction(1, 2)), moved,
            "odds for votes that only rise, where one falls too", adjacency="replace", samples=40_000,
        ),
        case_at_one("private-answers-delta", ManyLabels, moved, many, **settled),
        case_at_one(
            "control-private-answers-delta", partial(ManyLabels, factor=Fraction(4)), moved,
            "four times the epsilon for each", **settled,
        ),
    ]  # fmt: skip
