"""What an audit needs of networks: whole releases, and the neighbours that move them farthest."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.audit import AuditCase, Pair, case_at_one
from discreet.dependence.joint import joint_counts, plan_joint, release_joint
from discreet.dependence.pairs import pair_tables
from discreet.dependence.tan import TABLES, gaussian_tables, noised_tables, plan_tan
from discreet.estimators.counts import ClassCounts, count_charge
from discreet.mechanisms.noise import ExactSampler
from discreet.privacy.budget import Adjacency, Budget
from discreet.schema import Categorical, Numeric, Schema
from discreet.sources import HeldRows

BITS = Schema([Categorical(name, [0, 1]) for name in "abc"], "y", [0, 1])
SCHEMA = Schema([Categorical("a", [0, 1]), Numeric("b", 0, 1, integer=True)], "y", [0, 1])
PAIRS_TAKEN = [(0, 1), (0, 2)]
Row = tuple[int, int, int]
FEW: tuple[Row, ...] = ((0, 0, 0), (1, 1, 1))
BEFORE: dict[Adjacency, tuple[Row, ...]] = {
    Adjacency.ADD_REMOVE: FEW,
    Adjacency.REPLACE: (*FEW, (0, 1, 0)),
}
AFTER: tuple[Row, ...] = (*FEW, (0, 1, 1))
NOTES = {Adjacency.ADD_REMOVE: "one more row", Adjacency.REPLACE: "a label changes, and with it two classes"}
BOUGHT = ClassCounts(np.array([500.0, 500.0]), 1.0, count_charge(Fraction(1)))
MANY = Schema([Categorical(f"m{j}", [0, 1]) for j in range(20)], "y", [0, 1])
DELTA, TAKEN = Fraction(1, 50), 8  # a δ at which few runs tell, and Gaussian noise on one table is the quieter
LITTLE = Fraction(1, 100)  # of the budget for what comes before the tables: the rest is seen in one place


def held(rows: Sequence[Row]) -> HeldRows:
    """Rows (a, b, class) as a fit holds them."""
    table = np.array(rows, np.int64).reshape(-1, 3)
    half = SCHEMA.numeric[0].lattice.half
    columns = table[:, 0].astype(np.uint8), np.where(table[:, 1] > 0, half, -half).astype(np.int32)
    return HeldRows(SCHEMA, columns, table[:, 2])


class LastDraw(ExactSampler):
    """The exact sampler, which remembers what it noised last and by how much: so that it can be drawn many times.

    `factor` is that of Gaussian variances.
    """

    def __init__(self, factor: Fraction = Fraction(1)) -> None:
        self.factor = factor

    def laplace(self, values: NDArray[np.int64], scale: Fraction) -> NDArray[np.int64]:
        self.values, self.again = values, partial(super().laplace, scale=scale)
        return self.again(values)

    def gaussian(self, values: NDArray[np.int64], variance: Fraction) -> NDArray[np.int64]:
        self.values, self.again = values, partial(super().gaussian, variance=variance * self.factor)
        return self.again(values)


@dataclass(frozen=True)
class ReleasedJoint:
    """The joint table as a fit draws it, after marginals, by the exact sampler.

    Noise is for `adjacency`; the rows that are asked about differ by `asked`. With a δ it is Gaussian, and `factor` is
    that of its variance. Each release is followed by how much
    nearer it is to the rows after than to those before, which anybody can compute: nothing tells them apart better.
    """

    epsilon: float
    adjacency: Adjacency = Adjacency.ADD_REMOVE
    asked: Adjacency = Adjacency.ADD_REMOVE
    delta: Fraction = Fraction(0)
    factor: Fraction = Fraction(1)

    def sample(self, data: Sequence[Row], size: int, *, rng: np.random.Generator) -> NDArray[Any]:
        """Releases, one per row; the randomness is the operating system's and ignores `rng`."""
        budget = Budget(self.epsilon, self.delta)
        plan = plan_joint(SCHEMA, budget, LITTLE, adjacency=self.adjacency, counts=BOUGHT)
        assert plan.budget.delta == self.delta  # which noise it is, is public
        last = LastDraw(self.factor)
        schema = release_joint(held(data), plan, BOUGHT, last).schema
        assert [feature.cells for feature in schema.features] == [2, 2]
        ends = [joint_counts(held(end).codes(schema), held(end).labels, schema) for end in (BEFORE[self.asked], AFTER)]
        tables = last.again(np.tile(last.values, (size, 1, 1)))
        far = [(np.abs(tables - end) ** (2 if self.delta else 1)).sum(axis=(1, 2)) for end in ends]
        return np.column_stack([far[0] - far[1], tables.reshape(size, -1)])


@dataclass(frozen=True)
class ReleasedTan:
    """The K-norm tables of two pairs, as a fit draws those it has chosen, after class counts that are given.

    As above, each release is followed by how much nearer it is to the rows after, in the norm of its noise.
    """

    epsilon: float
    adjacency: Adjacency = Adjacency.ADD_REMOVE
    asked: Adjacency = Adjacency.ADD_REMOVE

    def sample(self, data: Sequence[Row], size: int, *, rng: np.random.Generator) -> NDArray[Any]:
        """Releases, one per row; the randomness is the operating system's and ignores `rng`."""
        plan = plan_tan(BITS, Budget(self.epsilon), LITTLE, adjacency=self.adjacency, counts=BOUGHT)
        own, *ends = (
            pair_tables(bits(rows).codes(BITS), bits(rows).labels, BITS, PAIRS_TAKEN)
            for rows in (data, BEFORE[self.asked], AFTER)
        )
        sampler = ExactSampler()
        return np.stack([_flat(noised_tables(own, plan.epsilons[TABLES], plan, sampler)[0], ends) for _ in range(size)])


@dataclass(frozen=True)
class GaussianTan:
    """The Gaussian tables of many pairs of one class, as a fit draws them; how much nearer they are to a row more.

    `factor` cuts the variance.
    """

    epsilon: float
    factor: Fraction = Fraction(1)

    def sample(self, data: int, size: int, *, rng: np.random.Generator) -> NDArray[Any]:
        """Releases, one per row, of classes of no row or of one; the randomness is the operating system's."""
        plan = plan_tan(MANY, Budget(self.epsilon, DELTA), LITTLE, adjacency=Adjacency.ADD_REMOVE, counts=BOUGHT)
        classes = np.zeros((size, 2, 2), np.int64)
        classes[:, 0, 0] = data
        noisy, _, _ = gaussian_tables([classes] * TAKEN, plan.rhos[TABLES] / self.factor, plan, ExactSampler())
        beside = [table[:, 0, 0] - (table[:, 1].sum(axis=1) + table[:, 0, 1]) / 3 for table in noisy]
        return np.asarray(np.sum(beside, axis=0)[:, None])


def bits(rows: Sequence[Row]) -> HeldRows:
    """Rows (a, b, class) with a third feature that is always zero."""
    table = np.array(rows, np.int64).reshape(-1, 3)
    a, b = table[:, :2].T.astype(np.uint8)
    return HeldRows(BITS, (a, b, np.zeros_like(a)), table[:, 2])


def _flat(tables: Sequence[NDArray[Any]], ends: Sequence[Sequence[NDArray[Any]]]) -> NDArray[Any]:
    """How much nearer to the rows after, then the tables."""
    far = [
        np.max([np.abs(one - own).sum(axis=(1, 2)) for one, own in zip(tables, end, strict=True)], axis=0).sum()
        for end in ends
    ]
    return np.concatenate([[far[0] - far[1]], *(table.ravel() for table in tables)])


def audit_cases() -> list[AuditCase]:
    """Each network under both adjacencies, and what goes wrong when a replaced row is charged as one row."""
    joint = "the joint table as a release draws it after the marginals, which have a hundredth of the budget"
    tan = "K-norm tables of two pairs; the choice of pairs, audited as a mechanism, has a hundredth of the budget"
    wrong = "scaled to one row although a label change moves two classes"
    one, two = Adjacency.ADD_REMOVE, Adjacency.REPLACE
    listed: list[tuple[str, type[ReleasedJoint | ReleasedTan], Adjacency, Adjacency, str, int]] = [
        ("joint-histogram-add-remove", ReleasedJoint, one, one, joint, 16_000),
        ("joint-histogram-replace", ReleasedJoint, two, two, joint, 16_000),
        ("tan-add-remove", ReleasedTan, one, one, tan, 8_000),
        ("tan-replace", ReleasedTan, two, two, tan, 8_000),
        ("control-joint-replaced-row", ReleasedJoint, one, two, wrong, 16_000),
        ("control-tan-replaced-row", ReleasedTan, one, two, wrong, 10_000),
    ]
    row = [Pair(0, 1, "a class of no row, and of one")]
    many, quiet = "Gaussian tables of eight pairs", partial(GaussianTan, factor=Fraction(1, 16))
    gaussian = [
        case_at_one("tan-gaussian", GaussianTan, row, many, samples=3_000, delta=float(DELTA)),
        case_at_one(
            "control-tan-gaussian-quiet", quiet, row, "a quarter of the deviation", samples=3_000, delta=float(DELTA)
        ),
    ]
    cell, near = "the joint table by Gaussian noise", Adjacency.REPLACE
    noted = partial(ReleasedJoint, adjacency=near, asked=near, delta=DELTA)
    moved = [Pair(BEFORE[near], AFTER, NOTES[near])]
    for_delta: dict[str, Any] = {"adjacency": near.value, "samples": 6_000, "delta": float(DELTA)}
    gaussian += [
        case_at_one("joint-histogram-gaussian", noted, moved, cell, **for_delta),
        case_at_one(
            "control-joint-gaussian-third", partial(noted, factor=Fraction(1, 9)), moved, "a third of the deviation",
            **for_delta,
        ),
    ]  # fmt: skip
    return gaussian + [
        case_at_one(
            name, partial(kind, adjacency=noise, asked=asked), [Pair(BEFORE[asked], AFTER, NOTES[asked])], note,
            adjacency=asked.value, samples=samples,
        )
        for name, kind, noise, asked, note, samples in listed
    ]  # fmt: skip
