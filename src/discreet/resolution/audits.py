"""What an audit needs of a look at numbers: the pooled and the fine tables, on neighbours far from the rest."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet import sources
from discreet.audit import AuditCase, Pair, case_at_one
from discreet.bayes.release import release
from discreet.mechanisms.noise import ExactSampler
from discreet.privacy.budget import Adjacency, Budget
from discreet.resolution.fine import fine_plan, fine_statistics, finely
from discreet.resolution.grids import relative_cells
from discreet.resolution.pooled import pooled_counts, pooled_plan, relatively
from discreet.schema import Numeric, Schema

SCHEMA = Schema([Numeric(name, 0, 3, integer=True) for name in "abc"], "y", [0, 1])
Rows = Sequence[tuple[int, ...]]
FEW: Rows = ((0, 1, 0, 0), (0, 0, 1, 1), (1, 1, 1, 0))


def _opened(schema: Schema, data: Rows) -> Any:
    rows = np.array(data, np.int64)
    return sources.open(rows[:, :-1], schema, rows[:, -1], contributions=1)


@dataclass(frozen=True)
class PooledTable:
    """Values of three numbers by relative position in one table, drawn many times at once by the sampler of releases.

    `factor` cuts the noise: one third is what a row would need that is counted once.
    """

    epsilon: float
    adjacency: str = "add-remove"
    factor: Fraction = Fraction(1)

    def sample(self, data: Rows, size: int, *, rng: np.random.Generator) -> NDArray[Any]:
        """Noisy tables, one look per row; the noise is the exact one and ignores `rng`."""
        plan = pooled_plan(SCHEMA, Budget(self.epsilon), adjacency=Adjacency.of(self.adjacency))
        assert plan.charge is not None
        exact = np.tile(pooled_counts(_opened(relatively(SCHEMA), data), SCHEMA), (size, 1))
        noisy = ExactSampler().laplace(exact, plan.charge.spread * self.factor)
        return noisy[:, list(relative_cells(SCHEMA.numeric[0])[1])]  # the cells that a whole number can be in


@dataclass(frozen=True)
class FineTables:
    """Rows by class and fine cell of three numbers: one look."""

    epsilon: float

    def __call__(self, data: Rows) -> NDArray[Any]:
        """Release once with exact noise."""
        plan = fine_plan(SCHEMA, Budget(self.epsilon))
        released = release(fine_statistics(_opened(finely(SCHEMA), data), plan), plan, ExactSampler())
        return np.concatenate([np.ravel(table) for table in released.values.values()])


def audit_cases() -> list[AuditCase]:
    """Both looks, the pooled one under both adjacencies, and a control whose noise forgets that a row counts thrice."""
    added = [Pair(FEW, (*FEW, (3, 3, 3, 1)), "one more row, at the upper end of every number")]
    moved = [Pair((*FEW, (3, 3, 3, 1)), (*FEW, (0, 0, 0, 1)), "a row goes from one end to the other")]
    replaced, third = partial(PooledTable, adjacency="replace"), partial(PooledTable, factor=Fraction(1, 3))
    note, broken = "the pooled table of relative positions", "noise for one number where a row is counted for three"
    return [
        case_at_one("pooled-table-add-remove", PooledTable, added, note, samples=6_000),
        case_at_one("pooled-table-replace", replaced, moved, note, adjacency="replace", samples=6_000),
        case_at_one("control-pooled-table-one-number", third, added, broken, samples=6_000),
        case_at_one("fine-tables", FineTables, added, "the fine tables of numbers by class", samples=1_000),
    ]
