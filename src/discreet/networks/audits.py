"""What an audit needs of networks: whole releases, and the neighbours that move them farthest."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.audit import AuditCase, Claim, Pair
from discreet.bayes.counts import noisy_counts
from discreet.mechanisms.noise import ExactSampler
from discreet.networks.joint import plan_joint, release_joint
from discreet.networks.rows import HeldRows
from discreet.privacy.budget import Adjacency, Budget
from discreet.schema import Categorical, Numeric, Schema

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
    cases.append(
        AuditCase(
            name="control-joint-replaced-row",
            claim=Claim(1.0),
            build=lambda epsilon: ReleasedJoint(2 * epsilon),
            pairs=lambda epsilon: [Pair((*FEW, (0, 0, 0)), (*FEW, (0, 0, 1)), "a label changes")],
            adjacency="replace",
            control=True,
            note="scaled to one row although a label change moves two cells, and to twice the budget",
            samples=1_500,
        )
    )
    return cases
