"""What an audit needs of trees: whole releases (questions and leaves) and neighbours that move them far."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.audit import AuditCase, Pair, case_at_one
from discreet.mechanisms.noise import ExactSampler
from discreet.privacy.budget import Adjacency, Budget
from discreet.schema import Categorical, Schema
from discreet.sources import HeldRows
from discreet.trees.grow import GrownTrees, grow_forest, grow_tree
from discreet.trees.plan import TreePlan, plan_forest, plan_tree

SCHEMA = Schema([Categorical("a", [0, 1]), Categorical("b", [0, 1])], "y", [0, 1])
Row = tuple[int, int, int]
FEW: tuple[Row, ...] = ((0, 0, 0), (1, 1, 1))
# Either question tells the classes apart, and one more row is right by one of them and wrong by the other.
EVEN: tuple[Row, ...] = ((1, 0, 1),) * 10 + ((0, 1, 0),) * 10


def _coded(rows: Sequence[Row]) -> HeldRows:
    table = np.array(rows, np.int64).reshape(-1, 3)
    return HeldRows(SCHEMA, list(table[:, :2].T.astype(np.uint8)), table[:, 2])


@dataclass(frozen=True)
class ReleasedTree:
    """The question at the root of a tree of depth one (or none), and the noisy counts of its leaves."""

    epsilon: float
    settings: dict[str, Any] = field(default_factory=dict)
    adjacency: Adjacency = Adjacency.ADD_REMOVE

    @property
    def plan(self) -> TreePlan:
        """The plan of such a tree."""
        settings = dict(self.settings)
        budget = Budget(self.epsilon, settings.pop("delta", 0))
        return plan_tree(SCHEMA, budget, adjacency=self.adjacency, **settings)

    def grow(self, data: Sequence[Row]) -> GrownTrees:
        """One release by the code that fits use, with exact noise and choices."""
        return grow_tree(_coded(data), self.plan, ExactSampler())

    def sample(self, data: Sequence[Row], size: int, *, rng: np.random.Generator) -> NDArray[Any]:
        """Releases, one per row; the randomness is the operating system's and ignores `rng`."""
        return np.stack([_flat(self.grow(data)) for _ in range(size)])


class UnsharedLevels(ReleasedTree):
    """A control: each level chooses at the sum of what all levels have, which is for all of them together."""

    @property
    def plan(self) -> TreePlan:
        """The honest plan with as many times the ε of a choice as there are levels."""
        honest = super().plan
        assert honest.rho is not None and honest.row_split is not None
        return replace(honest, row_split=honest.row_split * honest.depth)


class ReleasedForest(ReleasedTree):
    """The leaves of a forest of two random trees of depth one, with their questions."""

    def grow(self, data: Sequence[Row]) -> GrownTrees:
        """One release by the code that fits use, with exact noise."""
        settings = {"depth": 1, "trees": 2, **self.settings}
        plan = plan_forest(SCHEMA, Budget(self.epsilon), adjacency=self.adjacency, **settings)
        return grow_forest(_coded(data), plan, ExactSampler())


def _flat(grown: GrownTrees) -> NDArray[np.int64]:
    asked = grown.nodes.feature[~grown.nodes.leaf]
    return np.concatenate([asked, grown.counts[grown.nodes.leaf].ravel()])


def audit_cases() -> list[AuditCase]:
    """Trees by choice and by noisy counts, forests by counts and by labels, under both adjacencies; three controls."""
    label = Pair((*FEW, (0, 0, 0)), (*FEW, (0, 0, 1)), "a label changes")
    turned = Pair((*FEW, (0, 1, 0)), (*FEW, (1, 0, 0)), "a row answers every question the other way")
    pairs = {
        Adjacency.ADD_REMOVE: [Pair((), ((1, 0, 1),), "the first row"), Pair(FEW, (*FEW, (0, 1, 1)), "a third row")],
        Adjacency.REPLACE: [label, turned],
    }
    released: list[tuple[str, type[ReleasedTree], dict[str, Any]]] = [
        ("tree", ReleasedTree, {"depth": 1}),
        ("tree-noisy-counts", ReleasedTree, {"depth": 1, "split": "noisy-counts"}),
        ("forest", ReleasedForest, {}),
        ("forest-labels", ReleasedForest, {"leaves": "labels"}),
    ]
    cases = [
        case_at_one(
            f"{name}-{near.value}", partial(kind, settings=settings, adjacency=near), pairs[near],
            "questions and leaves as a release draws them", adjacency=near.value, samples=4_000,
        )
        for near in Adjacency
        for name, kind, settings in released
    ]  # fmt: skip
    torn = {
        Adjacency.ADD_REMOVE: [Pair(EVEN, (*EVEN, (1, 1, 0)), "one more row, which two questions dispute")],
        Adjacency.REPLACE: [Pair((*EVEN, (1, 1, 0)), (*EVEN, (1, 1, 1)), "the label of a row that two dispute")],
    }
    deep = {"depth": 20, "delta": Fraction(1, 1000), "leaf_share": Fraction(1, 10)}
    cases += [
        case_at_one(
            f"tree-delta-{near.value}", partial(ReleasedTree, settings=deep, adjacency=near),
            [*pairs[near], *torn[near]],
            "questions of a deep tree, whose levels add up as concentrated privacy", adjacency=near.value,
            samples=4_000, delta=1e-3,
        )
        for near in Adjacency
    ]  # fmt: skip
    controls: list[tuple[str, type[ReleasedTree], dict[str, Any], str]] = [
        ("tree", ReleasedTree, {"depth": 0}, "a replaced row charged as if it were one row more or less"),
        ("forest", ReleasedForest, {"trees": 1},
         "leaves of a forest scaled to one row although a label change moves two counts"),
    ]  # fmt: skip
    cases.append(
        case_at_one(
            "control-tree-delta-levels", partial(UnsharedLevels, settings=deep), torn[Adjacency.ADD_REMOVE],
            "every level of a deep tree spends what all of them have together", samples=12_000, delta=1e-3,
        )
    )  # fmt: skip
    return cases + [
        case_at_one(
            f"control-{name}-replaced-row", partial(kind, settings=settings), [label], note,
            adjacency="replace", samples=12_000,
        )
        for name, kind, settings, note in controls
    ]  # fmt: skip
