"""Synthetic rows: what a boosted model trained on them reaches on the real test rows of Adult, and how soon."""

from __future__ import annotations

import tempfile
import time
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as parquet

from benchmarks.common import data_dir, line
from discreet import PrivateClassifier, PrivateNB, PrivateTAN, Schema
from discreet.cli.synthesize import usefulness

KINDS = {
    "rows of Naive Bayes": PrivateNB,
    "rows of the automatic choice (generative)": partial(PrivateClassifier, generative=True),
    "designed rows of the automatic choice": PrivateClassifier,
    "rows of tree-augmented Naive Bayes": PrivateTAN,
}
ROWS = 32_561


def run(data: str | None = None, seeds: int = 5, **_: Any) -> list[dict[str, Any]]:
    """Releases of Adult's training rows at epsilon = 1, as many drawn rows, scikit-learn's boosting, the test split."""
    place = data_dir(data)
    if place is None:
        return [line("Adult", None, "the data are not here: pass --data DIR")]
    rows = parquet.read_table(place / "adult.parquet")
    train, test = (rows.filter(pc.equal(rows["split"], part)) for part in ("train", "test"))
    schema = Schema.from_manifest(place / "datasets.json", "adult")
    results = []
    with tempfile.TemporaryDirectory() as folder:
        real, drawn, tests = (Path(folder) / f"{name}.parquet" for name in ("real", "drawn", "test"))
        parquet.write_table(train, real)
        parquet.write_table(test, tests)
        results.append(line("Adult's own training rows", usefulness(schema, str(real), str(tests))["auc"], "AUC"))
        for name, kind in KINDS.items():
            found, taken = [], []
            for seed in range(seeds):
                start = time.perf_counter()
                model = kind(1.0, schema=schema).fit(train).model_
                draw = model.design if name.startswith("designed") else model.sample
                parquet.write_table(pa.table(draw(ROWS, seed)), drawn)
                taken.append(time.perf_counter() - start)
                found.append(usefulness(schema, str(drawn), str(tests))["auc"])
            error = np.std(found, ddof=1) / np.sqrt(seeds)
            barred = "tree" not in name
            best = {"bar": ">= 0.885", "met": bool(np.mean(found) >= 0.885)} if barred else {}
            quick = {"bar": "<= 5", "met": bool(max(taken) <= 5)} if barred else {}
            what = f"{name} at epsilon = 1"
            results.append(line(what, float(np.mean(found)), f"AUC ({seeds} fits, s.e. {error:.4f})", **best))
            results.append(line(f"{what}, fit and draw", max(taken), "seconds, the longest", **quick))
    return results
