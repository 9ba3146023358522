"""What smooth sensitivity costs: against the global-sensitivity fit in the same run, and as the rows grow."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pandas as pd

from benchmarks.common import best_of, line
from discreet import Numeric, PrivateNB, Schema, SmoothSettings

ROWS, FEATURES = 1_700_000, 13
GROWTH = (100_000, 1_000_000, 10_000_000)
WIDE = 4  # features of the growth run, so that ten million rows fit into memory


def made_up(rows: int, features: int) -> tuple[np.ndarray, np.ndarray, Schema]:
    """Normal numbers within bounds twenty deviations away, two classes."""
    rng = np.random.default_rng(0)
    label = rng.integers(0, 2, rows).astype(np.int8)
    numbers = rng.normal(size=(rows, features)) + 0.3 * label[:, None]
    schema = Schema(features=[Numeric(f"x{j}", -20, 20) for j in range(features)], target="y", classes=[0, 1])
    return numbers, label, schema


def run(repeats: int = 5, **_: Any) -> list[dict[str, Any]]:
    """Ratios for a matrix and a data frame, then the slope of time against rows on log-log axes."""
    numbers, label, schema = made_up(ROWS, FEATURES)
    frame = pd.DataFrame({f"x{j}": numbers[:, j].copy() for j in range(FEATURES)})
    results = []
    for kind, data in (("matrix", numbers), ("data frame", frame)):
        times = {}
        for sensitivity in ("global", "smooth", "auto"):
            classifier = PrivateNB(1.0, schema=schema, numeric="gaussian", smooth=SmoothSettings(sensitivity))
            classifier.fit(data, label)  # compile and tune once
            times[sensitivity] = best_of(repeats, lambda c=classifier, d=data: c.fit(d, label))
        for sensitivity in ("smooth", "auto"):
            ratio = times[sensitivity] / times["global"]
            what = f"{sensitivity} fit, {kind}, {ROWS / 1e6:g} M rows x {FEATURES} numbers ({times[sensitivity]:.3f} s)"
            bar, met = ("<= 5", ratio <= 5) if sensitivity == "smooth" else ("", None)
            results.append(line(what, ratio, "of the global fit's time", bar, met))
    numbers, label, schema = made_up(GROWTH[-1], WIDE)
    classifier = PrivateNB(1.0, schema=schema, numeric="gaussian", smooth=SmoothSettings())
    seconds = [best_of(max(2, repeats // 2), lambda n=rows: classifier.fit(numbers[:n], label[:n])) for rows in GROWTH]
    for first, last in ((0, 2), (0, 1), (1, 2)):
        slope = math.log(seconds[last] / seconds[first]) / math.log(GROWTH[last] / GROWTH[first])
        what = f"smooth fit, growth from {GROWTH[first]:.0e} to {GROWTH[last]:.0e} rows"
        results.append(line(what, slope, "log-log slope", "<= 1.1", slope <= 1.1))
    return results
