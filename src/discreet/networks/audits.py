"""What an audit needs of networks: whole releases, and the neighbours that move them farthest."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.audit import AuditCase, Claim, Pair
from discreet.bayes.counts import ClassCounts, count_charge, noisy_counts
from discreet.mechanisms.noise import ExactSampler
from discreet.networks.joint import plan_joint, release_joint
from discreet.networks.rows import HeldRows
from discreet.networks.tan import TanRelease, plan_tan, release_tan
from discreet.privacy.budget import Adjacency, Budget
from discreet.schema import Categorical, Numeric, Schema

BITS = Schema([Categorical(name, [0, 1]) for name in "abc"], "y", [0, 1])
SCHEMA = Schema([Categorical("a", [0, 1]), Numeric("b", 0, 1, integer=True)], "y", [0, 1])
Row = tuple[int, int, int]
FEW: tuple[Row, ...] = ((0, 0, 0), (1, 1, 1))


def held(rows: Sequence[Row]) -> HeldRows:
    """Rows (a, b, class) as a fit holds them."""
    table = np.array(rows, np.int64).reshape(-1, 3)
    half = SCHEMA.numeric[0].lattice.half
    return HeldRows(
        (table[:, 0].astype(np.int32), np.where(table[:, 1] > 0, half, -half).astype(np.int32)), table[:, 2]
    )


@dataclass(frozen=True)
class ReleasedJoint:
    """Class counts and the joint table as a fit draws them, by the exact sampler."""

    epsilon: float
    adjacency: Adjacency = Adjacency.ADD_REMOVE

    def sample(self, data: Sequence[Row], size: int, *, rng: np.random.Generator) -> NDArray[Any]:
        """Releases, one per row; the randomness is the operating system's and ignores `rng`."""
        plan, rows = plan_joint(SCHEMA, Budget(self.epsilon), adjacency=self.adjacency), held(data)
        sampler = ExactSampler()
        return np.stack([self._once(rows, plan, sampler) for _ in range(size)])

    def _once(self, rows: HeldRows, plan: Any, sampler: ExactSampler) -> NDArray[Any]:
        counts = noisy_counts(rows.by_class(2), plan.count, sampler)
        return release_joint(rows, plan, counts, sampler).counts.ravel()


@dataclass(frozen=True)
class ReleasedTan:
    """The pairs that a fit chooses and their noisy tables, after class counts that are given."""

    epsilon: float
    adjacency: Adjacency = Adjacency.ADD_REMOVE

    def sample(self, data: Sequence[Row], size: int, *, rng: np.random.Generator) -> NDArray[Any]:
        """Releases, one per row; the randomness is the operating system's and ignores `rng`."""
        counts = ClassCounts(np.array([500.0, 500.0]), 1.0, count_charge(Fraction(1)))
        plan = plan_tan(BITS, Budget(self.epsilon), adjacency=self.adjacency, counts=counts)
        rows, sampler = bits(data), ExactSampler()
        return np.stack([_flat(release_tan(rows, plan, counts, sampler)) for _ in range(size)])


def bits(rows: Sequence[Row]) -> HeldRows:
    """Rows (a, b, class) with a third feature that is always zero."""
    table = np.array(rows, np.int64).reshape(-1, 3)
    a, b = table[:, 0].astype(np.int32), table[:, 1].astype(np.int32)
    return HeldRows((a, b, np.zeros_like(a)), table[:, 2])


def _flat(released: TanRelease) -> NDArray[Any]:
    """Which pairs were chosen, in order, then their tables."""
    tables = released.tables
    chosen = [3 * a + b for a, b in tables.pairs]
    return np.concatenate([chosen, *(table.ravel() for table in tables.tables)])


def _pairs(adjacency: Adjacency) -> Callable[[float], list[Pair]]:
    if adjacency is Adjacency.ADD_REMOVE:
        return lambda epsilon: [Pair((), ((1, 0, 1),), "the first row"), Pair(FEW, (*FEW, (0, 1, 1)), "a third row")]
    return lambda epsilon: [Pair((*FEW, (0, 0, 0)), (*FEW, (0, 0, 1)), "a label changes")]


def audit_cases() -> list[AuditCase]:
    """Each network under both adjacencies, and what goes wrong when a replaced row is charged as one row."""
    cases = [
        AuditCase(
            name=f"joint-histogram-{adjacency.value}",
            claim=Claim(1.0),
            build=lambda epsilon, a=adjacency: ReleasedJoint(epsilon, a),  # type: ignore[misc]
            pairs=_pairs(adjacency),
            adjacency=adjacency.value,
            note="the joint table as a release draws it, after the class counts and the marginals",
            samples=1_500,
        )
        for adjacency in Adjacency
    ]
    cases += [
        AuditCase(
            name=f"tan-{adjacency.value}",
            claim=Claim(1.0),
            build=lambda epsilon, a=adjacency: ReleasedTan(epsilon, a),  # type: ignore[misc]
            pairs=_pairs(adjacency),
            adjacency=adjacency.value,
            note="two chosen pairs and their K-norm tables as a release draws them",
            samples=1_500,
        )
        for adjacency in Adjacency
    ]
    cases.append(
        AuditCase(
            name="control-tan-replaced-row",
            claim=Claim(1.0),
            build=lambda epsilon: ReleasedTan(6 * epsilon),
            pairs=lambda epsilon: [Pair((*FEW, (0, 0, 0)), (*FEW, (0, 0, 1)), "a label changes")],
            adjacency="replace",
            control=True,
            note="scaled to one row although a label change touches two classes, and to six times the budget",
            samples=1_000,
        )
    )
    cases.append(
        AuditCase(
            name="control-joint-replaced-row",
            claim=Claim(1.0),
            build=lambda epsilon: ReleasedJoint(4 * epsilon),
            pairs=lambda epsilon: [Pair((*FEW, (0, 0, 0)), (*FEW, (0, 0, 1)), "a label changes")],
            adjacency="replace",
            control=True,
            note="scaled to one row although a label change moves two cells, and to four times the budget",
            samples=1_000,
        )
    )
    return cases
