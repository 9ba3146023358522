"""What an audit needs of a node: every byte that leaves it, on the neighbours that move it farthest."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from discreet.audit import AuditCase, Pair, case_at_one
from discreet.bayes.audits import ADDED, SCHEMA, NoisyRelease, _pairs, columns_of
from discreet.bayes.plan import Plan
from discreet.nodes.settings import Settings, node_plan
from discreet.nodes.site import node_update
from discreet.nodes.update import Update
from discreet.privacy.budget import Budget


class NodeIntegers(NoisyRelease):
    """All integers of an update, drawn many times at once by the code that nodes use."""

    @cached_property
    def plan(self) -> Plan:
        """The plan of a node with these settings."""
        settings = Settings.of(self.settings.get("adjacency", "add-remove"), self.settings["numeric"], "weighted", 1)
        return node_plan(SCHEMA, settings, Budget(self.epsilon, self.settings.get("delta", 0)), "auto")


def audited_update(epsilon: float, data: Sequence[tuple[Any, ...]]) -> Update:
    """An update of a node with these rows."""
    X, y = columns_of(data)
    return node_update(X, SCHEMA, Budget(epsilon), node="audited", y=y)


@dataclass(frozen=True)
class WholeUpdate:
    """What arrives at a coordinator: an update through its bytes, declared rows and all."""

    epsilon: float

    def __call__(self, data: Sequence[tuple[Any, ...]]) -> Any:
        """One update, read back from the wire."""
        sent = audited_update(self.epsilon, data).to_bytes()
        read = Update.from_bytes(sent)
        return np.concatenate([np.ravel(values) for values in read.values.values()] + [[read.rows, len(sent)]])


def node_case(
    name: str, note: str, build: Callable[[float], Any], samples: int, adjacency: str = "add-remove", delta: float = 0.0
) -> AuditCase:
    """A case on the rows of one node; the first row of a node is a neighbour of none."""
    first = [Pair((), (ADDED,), "the first row of a node")] if adjacency == "add-remove" else []
    pairs = [*_pairs(adjacency), *first]
    return case_at_one(name, build, pairs, note, adjacency=adjacency, samples=samples, delta=delta)


def audit_cases() -> list[AuditCase]:
    """A node's integers under both adjacencies and laws, and the whole update."""
    cases = []
    for what, numeric, adjacency, delta in (
        ("tables", "histogram", "add-remove", 0.0),
        ("moments", "gaussian", "add-remove", 0.0),
        ("moments", "gaussian", "replace", 0.0),
        ("tables", "histogram", "add-remove", 1e-5),
    ):
        settings: dict[str, Any] = {"numeric": numeric, "adjacency": adjacency, "delta": delta}
        name = f"federated-update-{what}-{adjacency}{'-gaussian' if delta else ''}"
        build = lambda epsilon, settings=settings: NodeIntegers(epsilon, settings)  # noqa: E731
        cases.append(node_case(name, "every integer that leaves a node", build, 40_000, adjacency, delta))
    note = "an update as it is read from the wire, with its declared rows and its length"
    return [*cases, node_case("federated-update-bytes", note, WholeUpdate, 2_000)]
