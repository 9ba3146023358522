"""A stack of updates: the same statistic of all nodes in one array, with the noise of each, for weights and medians."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.bayes.plan import Plan
from discreet.bayes.release import Release
from discreet.nodes.update import Key

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Stack:
    """`values[key]` has a node, a class and a cell axis; `variances[key]` is the noise of each node.

    `plan` is of any one node: only the layout of its statistics is used.
    """

    plan: Plan
    values: Mapping[Key, Floats]
    variances: Mapping[Key, Floats]

    @classmethod
    def of(cls, releases: Sequence[Release]) -> Stack:
        """The stack of some releases with the same layout."""
        plan = releases[0].plan
        keys = [item.key for item in plan.items]
        noise = np.array([[item.variance for item in one.plan.items] for one in releases])
        return cls(
            plan,
            {key: np.stack([one.values[key] for one in releases]).astype(np.float64) for key in keys},
            {key: noise[:, i] for i, key in enumerate(keys)},
        )

    @cached_property
    def counted(self) -> tuple[Floats, Floats]:
        """Rows per node and class from all count tables by inverse variance, and each node's variance of them."""
        tables = [item for item in self.plan.items if item.kind in {"class", "table", "present"}]
        spreads = np.stack([self.variances[item.key] * item.cells for item in tables])  # table, node
        sums = np.stack([self.values[item.key].sum(axis=2) for item in tables])  # table, node, class
        with np.errstate(divide="ignore", invalid="ignore"):
            weights = np.where(spreads.min(axis=0) > 0, 1 / spreads, spreads == 0)
        variance = np.where(spreads.min(axis=0) > 0, 1 / weights.sum(axis=0), 0.0)
        return np.einsum("tn,tnc->nc", weights / weights.sum(axis=0), sums), variance

    @property
    def noiseless(self) -> bool:
        """Whether no node added any noise."""
        return not any(variance.any() for variance in self.variances.values())

    def one(self, node: int, plan: Plan) -> Release:
        """The update of one node, whose plan this is."""
        return Release(plan, {key: values[node] for key, values in self.values.items()})

    def sum(self, nodes: NDArray[Any] | slice = slice(None)) -> Release:
        """The plain sum over some nodes."""
        return Release(
            self.plan,
            {key: values[nodes].sum(axis=0) for key, values in self.values.items()},
            noise={key: float(variance[nodes].sum()) for key, variance in self.variances.items()},
        )
