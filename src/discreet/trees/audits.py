"""What an audit needs of trees: whole releases (questions and leaves) and neighbours that move them far."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.audit import AuditCase, Claim, Pair
from discreet.mechanisms.noise import ExactSampler
from discreet.privacy.budget import Adjacency, Budget
from discreet.schema import Categorical, Schema
from discreet.sources import HeldRows
from discreet.trees.grow import GrownTrees, grow_forest, grow_tree
from discreet.trees.plan import plan_forest, plan_tree

SCHEMA = Schema([Categorical("a", [0, 1]), Categorical("b", [0, 1])], "y", [0, 1])
Row = tuple[int, int, int]
FEW: tuple[Row, ...] = ((0, 0, 0), (1, 1, 1))


def _coded(rows: Sequence[Row]) -> HeldRows:
    table = np.array(rows, np.int64).reshape(-1, 3)
    return HeldRows(SCHEMA, list(table[:, :2].T.astype(np.uint8)), table[:, 2])


@dataclass(frozen=True)
class ReleasedTree:
    """The question at the root of a tree of depth one (or none), and the noisy counts of its leaves."""

    epsilon: float
    settings: dict[str, Any] = field(default_factory=dict)
    adjacency: Adjacency = Adjacency.ADD_REMOVE

    def grow(self, data: Sequence[Row]) -> GrownTrees:
        """One release by the code that fits use, with exact noise and choices."""
        plan = plan_tree(SCHEMA, Budget(self.epsilon), adjacency=self.adjacency, **self.settings)
        return grow_tree(_coded(data), plan, ExactSampler())

    def sample(self, data: Sequence[Row], size: int, *, rng: np.random.Generator) -> NDArray[Any]:
        """Releases, one per row; the randomness is the operating system's and ignores `rng`."""
        return np.stack([_flat(self.grow(data)) for _ in range(size)])


@dataclass(frozen=True)
class ReleasedForest:
    """The leaves of a forest of two random trees of depth one, with their questions."""

    epsilon: float
    settings: dict[str, Any] = field(default_factory=dict)
    adjacency: Adjacency = Adjacency.ADD_REMOVE

    def sample(self, data: Sequence[Row], size: int, *, rng: np.random.Generator) -> NDArray[Any]:
        """Releases, one per row; the randomness is the operating system's and ignores `rng`."""
        plan = plan_forest(
            SCHEMA, Budget(self.epsilon), adjacency=self.adjacency, depth=1, **{"trees": 2, **self.settings}
        )
        coded = _coded(data)
        return np.stack([_flat(grow_forest(coded, plan, ExactSampler())) for _ in range(size)])


def _flat(grown: GrownTrees) -> NDArray[np.int64]:
    asked = grown.nodes.feature[~grown.nodes.leaf]
    return np.concatenate([asked, grown.counts[grown.nodes.leaf].ravel()])


def _pairs(adjacency: Adjacency) -> Callable[[float], list[Pair]]:
    if adjacency is Adjacency.ADD_REMOVE:
        return lambda epsilon: [Pair((), ((1, 0, 1),), "the first row"), Pair(FEW, (*FEW, (0, 1, 1)), "a third row")]
    return lambda epsilon: [
        Pair((*FEW, (0, 0, 0)), (*FEW, (0, 0, 1)), "a label changes"),
        Pair((*FEW, (0, 1, 0)), (*FEW, (1, 0, 0)), "a row answers every question the other way"),
    ]


def audit_cases() -> list[AuditCase]:
    """Trees by choice and by noisy counts, forests by counts and by labels, under both adjacencies; two controls."""
    cases = []
    for adjacency in Adjacency:
        built: dict[str, Callable[[float], Any]] = {
            "tree": lambda e, a=adjacency: ReleasedTree(e, {"depth": 1}, a),  # type: ignore[misc]
            "tree-noisy-counts": lambda e, a=adjacency: ReleasedTree(e, {"depth": 1, "split": "noisy-counts"}, a),  # type: ignore[misc]
            "forest": lambda e, a=adjacency: ReleasedForest(e, {}, a),  # type: ignore[misc]
            "forest-labels": lambda e, a=adjacency: ReleasedForest(e, {"leaves": "labels"}, a),  # type: ignore[misc]
        }
        cases += [
            AuditCase(
                name=f"{name}-{adjacency.value}",
                claim=Claim(1.0),
                build=build,
                pairs=_pairs(adjacency),
                adjacency=adjacency.value,
                note="questions and leaves as a release draws them",
                samples=4_000,
            )
            for name, build in built.items()
        ]
    controls: dict[str, tuple[Callable[[float], Any], str]] = {
        "control-tree-replaced-row": (
            lambda epsilon: ReleasedTree(epsilon, {"depth": 0}),
            "a replaced row charged as if it were one row more or less",
        ),
        "control-forest-replaced-row": (
            lambda epsilon: ReleasedForest(epsilon, {"trees": 1}),
            "leaves of a forest scaled to one row although a label change moves two counts",
        ),
    }
    cases += [
        AuditCase(
            name=name,
            claim=Claim(1.0),
            build=build,
            pairs=lambda epsilon: [Pair((*FEW, (0, 0, 0)), (*FEW, (0, 0, 1)), "a label changes")],
            adjacency="replace",
            control=True,
            note=note,
            samples=12_000,
        )
        for name, (build, note) in controls.items()
    ]
    return cases
