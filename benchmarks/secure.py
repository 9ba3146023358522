"""What secure aggregation and noise shares cost a node and the coordinator, with a vector of Adult's size."""

from __future__ import annotations

from typing import Any

import numpy as np

from benchmarks.common import best_of, line
from discreet.bayes.plan import make_plan
from discreet.demo import adult
from discreet.federated.secure import KeySigner, Round, SecureCoordinator, SecureNode
from discreet.federated.secure.local import run_round
from discreet.federated.shares import share_plan
from discreet.mechanisms.shares import ExactShares
from discreet.privacy.budget import Budget

SIZES = (3, 20, 100)


def run(repeats: int = 5, **_: Any) -> list[dict[str, Any]]:
    """Noise shares by law, then rounds without and with one node in five dropping out before its masked input."""
    schema, results = adult().schema, []
    for delta, law in ((0, "Laplace"), (1e-6, "Skellam")):
        for nodes in SIZES:
            shared = share_plan(make_plan(schema, Budget(1, delta)), nodes)
            zeros = [np.zeros((len(schema.classes), item.cells), np.int64) for item in shared.plan.items]

            def draw(shared: Any = shared, zeros: Any = zeros) -> None:
                for item, block in zip(shared.plan.items, zeros, strict=True):
                    getattr(ExactShares(), shared.law)(block, item.charge.spread, shared.part)

            what = f"{law} shares of {shared.length} integers, {nodes} nodes"
            results.append(line(what, 1e3 * best_of(repeats, draw), "ms per node"))
    length = share_plan(make_plan(schema, Budget(1)), 3).length
    for nodes in SIZES:
        for gone in (0, max(1, nodes // 5)):
            signers = {f"node {i:03d}": KeySigner.generate() for i in range(nodes)}
            registry = {name: signer.public for name, signer in signers.items()}
            round_ = Round.open(registry, length, dropouts=gone)
            machines = {
                name: SecureNode(round_, name, signer, lambda: np.ones(length, np.int64))
                for name, signer in signers.items()
            }
            drops = {"share list": list(signers)[:gone]}
            outcome = run_round(machines, SecureCoordinator(round_), drops=drops)
            if not (outcome.total == nodes - gone).all():
                raise AssertionError("the sum is wrong")
            name = list(signers)[-1]
            what = f"{nodes} nodes, {gone} dropping out"
            results += [
                line(f"{what}: a node's time", 1e3 * outcome.seconds[name], "ms"),
                line(f"{what}: the coordinator's time", 1e3 * outcome.coordinator_seconds, "ms"),
                line(f"{what}: a node sends", outcome.sent[name] / 1000, "kB"),
                line(f"{what}: a node receives", outcome.received[name] / 1000, "kB"),
                line(f"{what}: sent over the bare vector", outcome.sent[name] / (8 * length), "times"),
            ]
    return results
