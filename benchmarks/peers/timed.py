"""Times one fit of one library in a process of its own: `python timed.py JSON`, with NumPy and that library alone.

Prints, as JSON, the seconds of the first fit and of the best one, of the best prediction, the process's peak memory
beyond what it held before the first fit, and the time to read the same bytes once on all cores.
"""

from __future__ import annotations

import json
import os
import re
import sys
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np


def made_up(rows: int, codes: int, numbers: int, categories: int, classes: int) -> tuple[Any, Any, Any]:
    """Codes, numbers within ±6 and labels; every feature says a little about the class."""
    rng = np.random.default_rng(0)
    y = rng.integers(0, classes, rows)
    shift = np.clip(y, 0, 1)
    held = [np.minimum(rng.integers(0, categories, rows) + (shift & rng.integers(0, 2, rows)), categories - 1)
            for _ in range(codes)]  # fmt: skip
    drawn = [rng.normal(size=rows) + 0.3 * shift for _ in range(numbers)]
    return held, drawn, y


def _frame(held: list[Any], drawn: list[Any]) -> Any:
    import pandas as pd

    return pd.DataFrame({f"c{j}": one for j, one in enumerate(held)} | {f"x{j}": one for j, one in enumerate(drawn)})


def _discreet(spec: dict[str, Any], held: list[Any], drawn: list[Any], y: Any) -> tuple[Callable[[], Any], Any]:
    from discreet import Categorical, Numeric, Schema
    from discreet.kinds import REGISTRY

    schema = Schema(
        [*(Categorical(f"c{j}", range(spec["categories"])) for j in range(len(held))),
         *(Numeric(f"x{j}", -6, 6) for j in range(len(drawn)))],
        "y", range(spec["classes"]),
    )  # fmt: skip
    made = REGISTRY.find(spec["kind"]).make(epsilon=1.0, schema=schema, **spec["settings"])
    data = _frame(held, drawn) if spec["input"] == "frame" else np.column_stack([*held, *drawn])
    return lambda: made.fit(data, y), lambda rows: made.predict(data[:rows])


def _scikit_learn(spec: dict[str, Any], held: list[Any], drawn: list[Any], y: Any) -> tuple[Callable[[], Any], Any]:
    from sklearn.naive_bayes import CategoricalNB, GaussianNB

    parts = [(CategoricalNB(), np.column_stack(held))] if held else []
    parts += [(GaussianNB(), np.column_stack(drawn))] if drawn else []
    return (
        lambda: [model.fit(data, y) for model, data in parts],
        lambda rows: [model.predict(data[:rows]) for model, data in parts],
    )


def _diffprivlib(spec: dict[str, Any], held: list[Any], drawn: list[Any], y: Any) -> tuple[Callable[[], Any], Any]:
    from diffprivlib.models import GaussianNB

    data = np.column_stack([*held, *drawn])
    ends = [(0, spec["categories"] - 1)] * len(held) + [(-6, 6)] * len(drawn)
    bounds = tuple(np.array([end[side] for end in ends], float) for side in (0, 1))
    model = GaussianNB(epsilon=1.0, bounds=bounds)
    return lambda: model.fit(data, y), lambda rows: model.predict(data[:rows])


LIBRARIES = {"discreet": _discreet, "scikit-learn": _scikit_learn, "diffprivlib": _diffprivlib}


def _peak() -> float:
    """The high-water mark of this process's memory in MiB."""
    with open("/proc/self/status") as file:
        found = re.search(r"VmHWM:\s+(\d+) kB", file.read())
    return int(found[1]) / 1024 if found else float("nan")


def _best(repeats: int, task: Callable[[], Any]) -> float:
    times = []
    for _ in range(repeats):
        start = time.perf_counter()
        task()
        times.append(time.perf_counter() - start)
    return min(times)


def one_read(columns: list[Any], repeats: int) -> float:
    """Seconds to add up the same bytes, each core a part of every column."""
    cores = os.cpu_count() or 1
    parts = [part for column in columns for part in np.array_split(column, cores)]
    with ThreadPoolExecutor(cores) as pool:
        return _best(repeats, lambda: list(pool.map(np.sum, parts)))


def measure(spec: dict[str, Any]) -> dict[str, float]:
    """All figures of one case."""
    held, drawn, y = made_up(*(spec[key] for key in ("rows", "codes", "numbers", "categories", "classes")))
    fit, predict = LIBRARIES[spec["library"]](spec, held, drawn, y)
    before = _peak()
    first = _best(1, fit)
    found = {"first": first, "peak": _peak() - before, "fit": min(first, _best(spec["repeats"], fit))}
    if spec["predicted"]:
        rows = min(spec["predicted"], spec["rows"])
        predict(rows)
        found["predict"] = _best(spec["repeats"], lambda: predict(rows))
    if spec["library"] == "discreet":
        found["read"] = one_read([*held, *drawn, y], max(spec["repeats"], 3))
    return found


if __name__ == "__main__":
    print(json.dumps(measure(json.loads(sys.argv[1]))))
