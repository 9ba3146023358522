"""What an audit needs of a federation: every byte that leaves a node, on the neighbours that move it farthest."""

from __future__ import annotations

import importlib
import importlib.util
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.audit import AuditCase, Claim, Pair
from discreet.bayes.audits import FEW, SCHEMA, columns_of
from discreet.bayes.plan import Plan
from discreet.bayes.release import exact_bundles, noised
from discreet.federated.update import Settings, Update, node_plan, node_update
from discreet.mechanisms.noise import ExactSampler
from discreet.privacy.budget import Budget
from discreet.sources import collect

SECURE = "discreet.federated.secure.audits"


@dataclass(frozen=True)
class NodeIntegers:
    """All integers of an update, drawn many times at once by the code that nodes use."""

    epsilon: float
    settings: dict[str, Any] = field(default_factory=dict)

    @cached_property
    def plan(self) -> Plan:
        """The plan of a node with these settings."""
        settings = Settings.of(self.settings.get("adjacency", "add-remove"), self.settings["numeric"], "weighted", 1)
        return node_plan(SCHEMA, settings, Budget(self.epsilon, self.settings.get("delta", 0)), "auto")

    def sample(self, data: Sequence[tuple[Any, ...]], size: int, *, rng: np.random.Generator) -> NDArray[Any]:
        """Noisy integers, one update per row; the noise is the exact one and ignores `rng`."""
        X, y = columns_of(data)
        statistics = collect(X, SCHEMA, y, detail=self.plan.detail, empty=True)
        drawn = []
        for bundle in exact_bundles(statistics, self.plan):
            copies = {key: np.tile(values, (size, 1)) for key, values in bundle.items()}
            drawn += list(noised(copies, self.plan, ExactSampler()).values())
        return np.concatenate(drawn, axis=1)


@dataclass(frozen=True)
class WholeUpdate:
    """What arrives at a coordinator: an update through its bytes, declared rows and all."""

    epsilon: float

    def __call__(self, data: Sequence[tuple[Any, ...]]) -> Any:
        """One update, read back from the wire."""
        X, y = columns_of(data)
        sent = node_update(X, SCHEMA, Budget(self.epsilon), node="audited", y=y).to_bytes()
        read = Update.from_bytes(sent)
        return np.concatenate([np.ravel(values) for values in read.values.values()] + [[read.rows, len(sent)]])


def _pairs(adjacency: str) -> list[Pair]:
    if adjacency == "add-remove":
        added = ("r", 1001.0, 1)
        return [
            Pair(FEW, (*FEW, added), "one more row, at the end of the bounds"),
            Pair((), (added,), "the first row of a node"),
        ]
    return [
        Pair((*FEW, ("p", 1001.0, 0)), (*FEW, ("q", 1001.0, 1)), "a row at the end of the bounds changes its label"),
    ]


def audit_cases() -> list[AuditCase]:
    """A node's integers under both adjacencies and laws, the whole update, and the sum of noise shares if there."""
    cases = []
    for numeric, adjacency, delta in (
        ("histogram", "add-remove", 0.0),
        ("gaussian", "add-remove", 0.0),
        ("gaussian", "replace", 0.0),
        ("histogram", "add-remove", 1e-5),
    ):
        settings: dict[str, Any] = {"numeric": numeric, "adjacency": adjacency, "delta": delta}
        what = "tables" if numeric == "histogram" else "moments"
        cases.append(
            AuditCase(
                name=f"federated-update-{what}-{adjacency}{'-gaussian' if delta else ''}",
                claim=Claim(1.0, delta),
                build=lambda epsilon, settings=settings: NodeIntegers(epsilon, settings),  # type: ignore[misc]
                pairs=lambda epsilon, adjacency=adjacency: _pairs(adjacency),  # type: ignore[misc]
                adjacency=adjacency,
                note="every integer that leaves a node",
                samples=40_000,
            )
        )
    cases.append(
        AuditCase(
            name="federated-update-bytes",
            claim=Claim(1.0),
            build=WholeUpdate,
            pairs=lambda epsilon: _pairs("add-remove"),
            adjacency="add-remove",
            note="an update as it is read from the wire, with its declared rows and its length",
            samples=2_000,
        )
    )
    if _exists(SECURE):
        cases += importlib.import_module(SECURE).audit_cases()
    return cases


def _exists(module: str) -> bool:
    parent = module.rpartition(".")[0]
    return importlib.util.find_spec(parent) is not None and importlib.util.find_spec(module) is not None
