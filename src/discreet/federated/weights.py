"""Weights: how much each node counts, from its known noise and its noised size, never from true statistics."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from discreet.bayes.plan import COUNTS, Plan
from discreet.federated.plausible import reach

if TYPE_CHECKING:
    from discreet.federated.aggregate import Aggregate


def noise_level(plan: Plan, rows: int | None) -> float:
    """The expected relative error of an update, averaged over its integers.

    The true statistics are private. What stands in for them is the node's noised number of rows spread evenly: a
    cell of a table with k cells and C classes is taken to hold rows/(C·k), a sum to be rows/C times half its reach.
    """
    size = max(float(rows or 0), 1.0)
    classes = len(plan.schema.classes)
    errors, integers = 0.0, 0
    for item in plan.items:
        typical = size / classes / item.cells if item.kind in COUNTS else size / classes * reach(item) / 2
        errors += classes * item.cells * float(np.sqrt(item.variance)) / typical
        integers += classes * item.cells
    return errors / integers


def node_shares(aggregate: Aggregate) -> dict[str, float]:
    """Each node's share of the rows that the model rests on."""
    sizes = {
        name: float(member.rows or 0) if aggregate.counts(member) else 0.0 for name, member in aggregate.members.items()
    }
    whole = sum(sizes.values())
    return {name: size / whole if whole else 0.0 for name, size in sizes.items()}
