"""What the benchmarks share: made-up tables, timing, and where the reference data are."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from discreet import Categorical, Numeric, Schema
from discreet.sources import in_threads, workers

CATEGORICAL, NUMERIC, CATEGORIES = 8, 6, 10


def best_of(repeats: int, task: Callable[[], Any]) -> float:
    """The shortest of several runs, in seconds."""
    times = []
    for _ in range(repeats):
        start = time.perf_counter()
        task()
        times.append(time.perf_counter() - start)
    return min(times)


def one_read(arrays: list[np.ndarray], repeats: int) -> float:
    """The shortest time in which all cores together read every byte of some arrays once, and add it up."""
    import numba

    @numba.njit(nogil=True, fastmath=True)
    def total(values: Any) -> Any:
        found = values[0]
        for i in range(1, len(values)):
            found += values[i]
        return found

    threads = workers()
    parts = [[np.array_split(values, threads)[k] for values in arrays] for k in range(threads)]
    in_threads(lambda part: [total(values) for values in part], parts)  # compile once
    return best_of(repeats, lambda: in_threads(lambda part: [total(values) for values in part], parts))


def line(what: str, measured: float | None, unit: str, bar: str = "", met: bool | None = None) -> dict[str, Any]:
    """One line of the report: a figure, its unit, the bar it is held to, and whether it meets it."""
    figure = None if measured is None else float(f"{measured:.4g}")
    return {"what": what, "measured": figure, "unit": unit, "bar": bar, "met": met}


def made_up_schema() -> Schema:
    """8 categorical and 6 numeric features, 2 classes."""
    return Schema(
        features=[
            *(Categorical(f"c{j}", range(CATEGORIES)) for j in range(CATEGORICAL)),
            *(Numeric(f"x{j}", -6, 6) for j in range(NUMERIC)),
        ],
        target="y",
        classes=[0, 1],
    )


def made_up_rows(size: int, seed: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Codes, numbers and labels of random rows in which every feature says a little about the class."""
    rng = np.random.default_rng(seed)
    y = rng.integers(0, 2, size)
    codes = np.minimum(
        rng.integers(0, CATEGORIES, (size, CATEGORICAL)) + (y[:, None] & rng.integers(0, 2, (size, 1))), 9
    )
    return codes, rng.normal(size=(size, NUMERIC)) + 0.3 * y[:, None], y


def data_dir(given: str | None) -> Path | None:
    """The reference data sets: --data, DISCREET_DATA, or beside the checkout; None if they are nowhere."""
    places = [given, os.environ.get("DISCREET_DATA"), Path(__file__).parents[2] / "shared" / "data"]
    for place in places:
        if place and (Path(place) / "datasets.json").exists():
            return Path(place)
    return None
