"""What robust aggregation costs without liars and buys with them: accuracy on Adult, simulated with fixed seeds."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow.compute as pc
import pyarrow.parquet as parquet

from benchmarks.common import data_dir, line
from discreet import Budget, Schema, sources
from discreet.bayes.estimate import estimate
from discreet.bayes.score import most_probable
from discreet.federated.robust import robust_estimate
from discreet.federated.stack import Stack
from discreet.nodes.partition import assign
from discreet.nodes.settings import Settings, node_plan
from discreet.sources import read_rows
from discreet_studies.giaretta2022.simulate import noised_stack

LIARS = 0.1
METHODS = ("sum", "trimmed", "median-of-means")


def lied(stack: Stack, nodes: int) -> Stack:
    """A tenth of the nodes tell each class's statistics as the other's, of five times as many rows as they have."""
    values = {key: table.copy() for key, table in stack.values.items()}
    bad = np.arange(round(LIARS * nodes))
    for table in values.values():
        table[bad] = 5 * table[bad][:, ::-1]
    return Stack(stack.plan, values, stack.variances)


def run(data: str | None = None, trials: int = 10, **_: Any) -> list[dict[str, Any]]:
    """For each N and ε: accuracy of the sum and of both robust rules, first among honest nodes, then with liars."""
    place = data_dir(data)
    if place is None:
        return [line("Adult", None, "the data are not here: pass --data DIR")]
    table = parquet.read_table(place / "adult.parquet")
    train, test = (table.filter(pc.equal(table["split"], part)) for part in ("train", "test"))
    schema = Schema.from_manifest(place / "datasets.json", "adult")
    coded, truth = sources.open(train, schema).held(), sources.open(test, schema).held().labels
    (rows,) = read_rows(test, schema, labelled=False)

    def accuracy(stack: Stack, method: str) -> float:
        made = estimate(stack.sum()) if method == "sum" else robust_estimate(stack, method, LIARS)
        return float((most_probable(rows, *made) == truth).mean())

    results = []
    for nodes in (20, 100):
        for epsilon in (1.0, 10.0):
            plan = node_plan(schema, Settings(), Budget(epsilon), "auto")
            found: dict[tuple[str, str], list[float]] = {}
            for seed in range(trials):
                rng = np.random.default_rng([nodes, seed])
                parts = coded.parts(assign(coded.labels, nodes, "uniform", rng=rng), nodes, plan.detail)
                honest = noised_stack(parts, [plan] * nodes, rng=rng)
                for method in METHODS:
                    found.setdefault(("honest", method), []).append(accuracy(honest, method))
                    found.setdefault(("liars", method), []).append(accuracy(lied(honest, nodes), method))
            for who in ("honest", "liars"):
                base = np.mean(found[who, "sum"])
                for method in METHODS:
                    mean = float(np.mean(found[who, method]))
                    note = "" if method == "sum" else f", {mean - base:+.4f} beside the sum"
                    what = f"Adult, N = {nodes}, epsilon = {epsilon:g}, {who}: {method}"
                    results.append(line(what, mean, f"accuracy ({trials} trials{note})"))
    return results
