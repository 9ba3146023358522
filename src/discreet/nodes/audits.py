"""What an audit needs of a node: every byte that leaves it, on the neighbours that move it farthest."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.audit import AuditCase, Pair, case_at_one
from discreet.bayes.audits import ADDED, SCHEMA, NoisyRelease, _pairs, columns_of
from discreet.bayes.plan import Plan
from discreet.bayes.release import exact_bundles, noised
from discreet.mechanisms.noise import ExactSampler
from discreet.mechanisms.running import combined
from discreet.nodes.settings import Settings, node_plan
from discreet.nodes.site import node_update
from discreet.nodes.update import Update
from discreet.privacy.budget import Budget
from discreet.sources import collect


class NodeIntegers(NoisyRelease):
    """All integers of an update, drawn many times at once by the code that nodes use."""

    @cached_property
    def plan(self) -> Plan:
        """The plan of a node with these settings."""
        settings = Settings.of(self.settings.get("adjacency", "add-remove"), self.settings["numeric"], "weighted", 1)
        return node_plan(SCHEMA, settings, Budget(self.epsilon, self.settings.get("delta", 0)), "auto")


@dataclass(frozen=True)
class RunningUpdates:
    """The running sums that leave a node after each step of a stream; all rows are in the first step.

    With `redrawn` it is a node that forgets what it drew, and answers for the first step with fresh noise every time.
    """

    epsilon: float
    settings: dict[str, Any]
    redrawn: bool = False
    steps: int = 4

    def sample(self, data: Sequence[tuple[Any, ...]], size: int, *, rng: np.random.Generator) -> NDArray[Any]:
        """Sums of all steps, one stream per row, rounded as nodes round them; the noise is exact and ignores `rng`."""
        adjacency, delta = self.settings["adjacency"], self.settings.get("delta", 0)
        budget = Budget(self.epsilon, delta)
        plan = node_plan(SCHEMA, Settings.of(adjacency, "histogram", "weighted", 1), budget, "auto", self.steps)
        assert plan.stream is not None
        X, y = columns_of(data)
        bundles = exact_bundles(collect(X, SCHEMA, y, detail=plan.detail, empty=True), plan)
        empty = {key: np.zeros_like(values) for key, values in bundles[0].items()}
        left: list[NDArray[Any]] = []
        for bundle in bundles:
            drawn: list[Any] = []
            for step in [1] * self.steps if self.redrawn else range(1, self.steps + 1):
                drawn = [] if self.redrawn else drawn
                for coefficients in plan.stream.emitted(step):
                    held = [bundle if len(coefficients) - i == step else empty for i in range(len(coefficients))]
                    sums = {key: combined([one[key] for one in held], coefficients) for key in bundle}
                    copies = {key: np.tile(values, (size, 1)) for key, values in sums.items()}
                    drawn.append(noised(copies, plan, ExactSampler()))
                weights = plan.stream.weights(step)
                left += [np.rint(np.tensordot(weights, np.stack([one[key] for one in drawn]), 1)) for key in bundle]
        return np.concatenate(left, axis=1)


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
    name: str, note: str, build: Callable[[float], Any], samples: int, adjacency: str = "add-remove",
    delta: float = 0.0, control: bool = False,
) -> AuditCase:  # fmt: skip
    """A case on the rows of one node; the first row of a node is a neighbour of none."""
    first = [Pair((), (ADDED,), "the first row of a node")] if adjacency == "add-remove" else []
    pairs = [*_pairs(adjacency), *first]
    return case_at_one(name, build, pairs, note, adjacency=adjacency, samples=samples, delta=delta, control=control)


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
    stream = "the running sums of every step that leave a node"
    forgot = "a node that draws the noise of a step again whenever it is asked, as by restarts that forgot it"
    for adjacency, delta, redrawn in (
        ("add-remove", 0.0, False), ("replace", 0.0, False), ("add-remove", 1e-5, False), ("add-remove", 0.0, True),
    ):  # fmt: skip
        sums = partial(RunningUpdates, settings={"adjacency": adjacency, "delta": delta}, redrawn=redrawn)
        name = f"{'control-' * redrawn}federated-stream-{adjacency}{'-gaussian' if delta else ''}"
        told, samples = forgot if redrawn else stream, 5_000 if delta else 20_000
        cases.append(node_case(name, told, sums, samples, adjacency, delta, control=redrawn))
    note = "an update as it is read from the wire, with its declared rows and its length"
    return [*cases, node_case("federated-update-bytes", note, WholeUpdate, 2_000)]
