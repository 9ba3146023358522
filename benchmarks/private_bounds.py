"""AUC on the Adult test split with tight, loose and bought bounds; releases are simulated with fixed seeds."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pyarrow.compute as pc
import pyarrow.parquet as parquet

from benchmarks.common import data_dir, line
from discreet import Numeric, PrivateNB, Schema
from discreet.evaluation.exact import evaluate

LOOSE = 1e9


def run(data: str | None = None, fits: int = 10, **_: Any) -> list[dict[str, Any]]:
    """One line per ε and way to bounds; the bar is to win back three quarters of what loose bounds lose at ε ≥ 1."""
    place = data_dir(data)
    if place is None:
        return [line("Adult", None, "the data are not here: pass --data DIR")]
    rows = parquet.read_table(place / "adult.parquet")
    train, test = (rows.filter(pc.equal(rows["split"], part)) for part in ("train", "test"))
    tight = Schema.from_manifest(place / "datasets.json", "adult")
    loose, unknown = (
        Schema([make(f) if isinstance(f, Numeric) else f for f in tight.features], tight.target, tight.classes)
        for make in (
            lambda f: Numeric(f.name, 0, LOOSE, integer=f.integer),
            lambda f: Numeric(f.name, integer=f.integer, bounds="private"),
        )
    )
    ways: dict[str, dict[str, Any]] = {
        "tight bounds": {"schema": tight},
        "bounds 0..1e9": {"schema": loose},
        "bounds 0..1e9, private edges": {"schema": loose, "edges": "private"},
        "no bounds, private bounds and edges": {"schema": unknown},
        "no bounds, private bounds, equal bins": {"schema": unknown, "edges": "declared"},
    }
    results = []
    for epsilon in (0.1, 0.5, 1.0, 4.0):
        means: dict[str, float] = {}
        for way, settings in ways.items():
            auc = np.array(
                [
                    evaluate(PrivateNB(epsilon, mechanism="knorm", random_state=s, **settings).fit(train).model_, test)[
                        "auc"
                    ]
                    for s in range(fits)
                ]
            )
            means[way] = float(auc.mean())
            unit = f"AUC (s.e. {auc.std() / math.sqrt(fits):.4f}, {fits} fits)"
            bar, met = "", None
            if "private edges" in way and epsilon >= 1:
                least = means["tight bounds"] - 0.25 * (means["tight bounds"] - means["bounds 0..1e9"])
                bar, met = f">= {least:.4f}", means[way] >= least
            results.append(line(f"Adult, epsilon = {epsilon:g}, {way}", means[way], unit, bar, met))
    return results
