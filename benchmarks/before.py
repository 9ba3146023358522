"""Before and after: the same tasks by another version of the source and by this one, in turns of fresh processes.

`--file-rows N` compares fits of a Parquet file of so many rows alone, also with the time of readers that decode it, and
`--compression` says how it is packed.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from benchmarks import memory
from benchmarks.common import line, made_up_schema
from discreet.errors import DataError

ROOT = Path(__file__).parents[1]
_MADE = """
import sys, time
began = time.perf_counter()
import numpy as np
rng = np.random.default_rng(0)
rows, folder = int(sys.argv[1]), sys.argv[2]
def made(rows):
    import pandas as pd
    y = rng.integers(0, 2, rows)
    codes = {f"c{j}": rng.integers(0, 8, rows) for j in range(8)}
    return pd.DataFrame({**codes, **{f"x{j}": rng.normal(size=rows) + y for j in range(6)}}), y
def schema(words=False):
    from discreet import Categorical, Numeric, Schema
    features = [Categorical(f"c{j}", [f"w{k}" for k in range(8)] if words else list(range(8))) for j in range(8)]
    return Schema([*features, *(Numeric(f"x{j}", -6, 6) for j in range(6))], "y", [0, 1])
def timed(task, repeats=3):
    times = []
    for _ in range(repeats + 1):
        start = time.perf_counter()
        task()
        times.append(time.perf_counter() - start)
    print(min(times[1:]))
"""
TASKS = {
    "fit a data frame": "X, y = made(rows); from discreet import PrivateNB; m = PrivateNB(1.0, schema=schema());"
    "timed(lambda: m.fit(X, y))",
    "fit a matrix": "X, y = made(rows); X = X.to_numpy(); from discreet import PrivateNB;"
    "m = PrivateNB(1.0, schema=schema()); timed(lambda: m.fit(X, y))",
    "predict a data frame": "X, y = made(rows); from discreet import PrivateNB;"
    "m = PrivateNB(1.0, schema=schema()).fit(X, y); timed(lambda: m.predict(X))",
    "read a CSV file": "from discreet import collect; timed(lambda: collect(folder + '/d.csv', schema()), 2)",
    "read a Parquet file": "from discreet import collect; timed(lambda: collect(folder + '/d.parquet', schema()), 2)",
    "count words in objects": "X, y = made(rows // 10); X = X.astype(object)\n"
    "w = np.array([f'w{k}' for k in range(8)], object)\n"
    "for j in range(8): X[f'c{j}'] = w[X[f'c{j}'].astype(int)]\n"
    "from discreet import collect; timed(lambda: collect(X, schema(True), y))",
    "count a list of lists": "X, y = made(rows // 10); X = X.to_numpy().tolist(); y = y.tolist();"
    "from discreet import collect; timed(lambda: collect(X, schema(), y))",
    "first fit of a process": "X, y = made(600); start = time.perf_counter(); from discreet import PrivateNB;"
    "PrivateNB(1.0, schema=schema()).fit(X, y); print(time.perf_counter() - start)",
}


def run(
    source: Path | None = None, rows: int = 1_000_000, repeats: int = 3, file_rows: int | None = None,
    compression: str = "zstd", **_: Any
) -> list[dict[str, Any]]:  # fmt: skip
    """One line per task: this version's time as a share of the other's."""
    if source is None or not (source / "src" / "discreet").is_dir():
        raise DataError("name the other version with --source DIR: a directory that holds its src/discreet")
    if file_rows is not None:
        return _of_a_file(source, file_rows, repeats, compression)
    results = []
    with tempfile.TemporaryDirectory() as folder:
        _run(ROOT, rows, folder, "X, y = made(rows); X['y'] = y; X.to_csv(folder + '/d.csv', index=False);"
             "X.to_parquet(folder + '/d.parquet'); print(0)")  # fmt: skip
        for name, task in TASKS.items():
            times: dict[Path, list[float]] = {source: [], ROOT: []}
            for turn in range(2 * repeats):
                where = (source, ROOT)[turn % 2]
                times[where].append(_run(where, rows, folder, task))
            ratio = min(times[ROOT]) / min(times[source])
            results.append(line(f"{name} ({min(times[source]):.3g} s before)", ratio, "of the time before"))
    return results


def _of_a_file(source: Path, file_rows: int, repeats: int, compression: str) -> list[dict[str, Any]]:
    """Rows per second beside the other version, memory, and the time beside one decoding of the file."""
    with tempfile.TemporaryDirectory() as folder:
        path, schema = Path(folder) / "rows.parquet", Path(folder) / "schema.json"
        memory.write_file(path, file_rows, compression=compression)
        made_up_schema().save(schema)
        turns = [("before", source, memory.CODE), ("after", ROOT, memory.CODE)]
        turns += [(name, ROOT, code) for name, code in memory.DECODERS.items()]
        peaks, times = [0.0], {name: list[float]() for name, *_ in turns}
        for name, where, code in turns * repeats:
            peak, seconds = memory.measured(code, path, schema, "histogram", where)
            times[name].append(seconds)
            if name == "after":
                peaks.append(peak)
    before, after = (min(times.pop(name)) for name in ("before", "after"))
    what = f"fit {file_rows / 1e6:g} M rows of Parquet, {compression} ({before:.3g} s before, {after:.3g} s now)"
    return [
        line(what, before / after, "times the rows per second before", ">= 2", before / after >= 2),
        *(line(what, after / min(took), f"of the time in which a reader decodes it: {name}, {min(took):.3g} s")
          for name, took in times.items()),
        line(what, max(peaks), "GiB resident", "< 2", max(peaks) < 2),
    ]  # fmt: skip


def _run(where: Path, rows: int, folder: str, task: str) -> float:
    environment = {**os.environ, "PYTHONPATH": str(where / "src")}
    command = [sys.executable, "-c", _MADE + task, str(rows), folder]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
    return float(done.stdout.split()[-1])
