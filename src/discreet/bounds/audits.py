"""What an audit needs of a settlement: the noisy counts behind bounds, on neighbours far from the rest."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.audit import AuditCase, Pair, case_at_one
from discreet.bounds.plan import make_settle_plan
from discreet.bounds.release import by_octave, count_finest, noisy
from discreet.mechanisms.noise import ExactSampler
from discreet.privacy.budget import Adjacency, Budget
from discreet.schema import Numeric, Schema

DELTA = Fraction(1, 50)  # at which few runs tell
MANY = 20
WIDE = Schema(
    [Numeric(f"n{j}", -3, 3, integer=True, bins=4, bounds="private") for j in range(MANY)], "y", [0, 1]
)  # fmt: skip
SCHEMA = Schema([Numeric(name, -3, 3, integer=True, bins=4, bounds="private") for name in "abc"], "y", [0, 1])
FEW = ((0, 1, 0), (0, 0, 1), (1, 1, 1))


@dataclass(frozen=True)
class NoisyOctaves:
    """The counts by octave behind the bounds of three numbers, drawn many times at once by the sampler of releases.

    `factor` cuts the noise: one third is what a row would need that is in one number only.
    """

    epsilon: float
    adjacency: str = "add-remove"
    factor: Fraction = Fraction(1)

    def sample(self, data: Sequence[tuple[int, ...]], size: int, *, rng: np.random.Generator) -> NDArray[Any]:
        """Noisy counts, one settlement per row; the noise is the exact one and ignores `rng`."""
        plan = make_settle_plan(
            SCHEMA, Budget(self.epsilon), edges="declared", adjacency=Adjacency.of(self.adjacency)
        )  # fmt: skip
        assert plan.octaves is not None
        charge = replace(plan.octaves, spread=plan.octaves.spread * self.factor)
        finest = count_finest(np.array(data, np.int64), plan)
        tables = [by_octave(finest[feature.name]) for feature in plan.features]
        return np.concatenate([noisy(np.tile(one, (size, 1)), charge, ExactSampler()) for one in tables], axis=1)


@dataclass(frozen=True)
class GaussianOctaves:
    """The counts by octave behind the bounds of many numbers, which a row raises together.

    A row moves one count of each number by one, so what tells most is how far these counts rose together.
    `factor` cuts the variance.
    """

    epsilon: float
    factor: Fraction = Fraction(1)

    def sample(self, data: Sequence[tuple[int, ...]], size: int, *, rng: np.random.Generator) -> NDArray[Any]:
        """Sums of noisy counts of the outermost octaves; the noise is the exact one and ignores `rng`."""
        plan = make_settle_plan(WIDE, Budget(self.epsilon, DELTA), edges="declared")
        assert plan.octaves is not None and plan.rho is not None
        charge = replace(plan.octaves, spread=plan.octaves.spread * self.factor)
        finest = count_finest(np.array(data, np.int64), plan)
        last = np.array([by_octave(finest[feature.name])[-1] for feature in plan.features])
        return np.asarray(noisy(np.tile(last, (size, 1)), charge, ExactSampler()).sum(axis=1, keepdims=True))


def audit_cases() -> list[AuditCase]:
    """A settlement under both adjacencies, and a control whose noise forgets that a row is in every number."""

    added = [Pair(FEW, (*FEW, (3, -3, 3)), "one more row, in the outermost octaves")]
    moved = [Pair((*FEW, (3, -3, 3)), (*FEW, (-3, 3, -3)), "a row goes from one end to the other")]
    replaced, third = partial(NoisyOctaves, adjacency="replace"), partial(NoisyOctaves, factor=Fraction(1, 3))
    many = [Pair(((0,) * MANY,), ((0,) * MANY, (3,) * MANY), "one more row, in the outermost octave of every number")]
    one, told = partial(GaussianOctaves, factor=Fraction(1, 9)), "Gaussian noise behind the bounds of many numbers"
    note, broken = "the counts behind the bounds of numbers", "noise for one number where a row is in three"
    return [
        case_at_one("settlement-add-remove", NoisyOctaves, added, note, samples=6_000),
        case_at_one("settlement-replace", replaced, moved, note, adjacency="replace", samples=6_000),
        case_at_one("settlement-gaussian", GaussianOctaves, many, told, samples=6_000, delta=float(DELTA)),
        case_at_one(
            "control-settlement-gaussian-quiet",
            one,
            many,
            "a third of the deviation",
            samples=6_000,
            delta=float(DELTA),
        ),
        case_at_one("control-settlement-one-number", third, added, broken, samples=6_000),
    ]
