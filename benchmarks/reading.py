"""How long released tables take to be read: numbers along chains of bins, beside reading their counts as they are."""

from __future__ import annotations

from typing import Any

import numpy as np

from benchmarks.common import best_of, line
from discreet import Budget, Numeric, Schema, collect
from discreet.bayes.estimate import estimate
from discreet.bayes.plan import make_plan
from discreet.bayes.release import release
from discreet.mechanisms.noise import SimulationSampler


def run(repeats: int = 5, **_: Any) -> list[dict[str, Any]]:
    """Two lines for 14 numbers and for 100 in the bins of the schema: milliseconds, and a multiple of plain reading."""
    results = []
    for many in (14, 100):
        schema = Schema([Numeric(f"x{i}", 0, 1) for i in range(many)], target="y", classes=[0, 1])
        rng = np.random.default_rng(7)
        statistics = collect(rng.random((20_000, many)), schema, rng.integers(0, 2, 20_000))
        released = release(statistics, make_plan(schema, Budget(1), together=True), SimulationSampler(1))
        seconds, plain = (
            best_of(repeats, lambda how=how, released=released: estimate(released, 1.0, how))
            for how in ("shrunk", "plain")
        )
        results.append(line(f"{many} numbers of 16 bins", 1000 * seconds, "ms"))
        results.append(line(f"{many} numbers of 16 bins", seconds / plain, "of plain reading's time"))
    return results
