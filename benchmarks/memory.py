"""Resident memory while a large Parquet file is fitted, in a process of its own."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from benchmarks.common import line, made_up_rows, made_up_schema

CHUNK = 1_000_000
CODE = """
import re, sys, time
from discreet import PrivateNB, Schema
start = time.perf_counter()
PrivateNB(1.0, schema=Schema.load(sys.argv[2]), numeric=sys.argv[3]).fit(sys.argv[1])
seconds = time.perf_counter() - start
# The kernel's own high-water mark of this program; getrusage would also count the parent's memory at the fork.
peak = re.search(r"VmHWM:\\s+(\\d+) kB", open("/proc/self/status").read())
print(int(peak[1]) / 2**20, seconds)
"""


def write_file(path: Path, rows: int, seed: int = 0) -> None:
    """A Parquet file of made-up rows, written piece by piece."""
    import pyarrow as pa
    import pyarrow.parquet as parquet

    names, writer = made_up_schema().names, None
    for start in range(0, rows, CHUNK):
        codes, numbers, y = made_up_rows(min(CHUNK, rows - start), seed=seed + start)
        columns = {name: pa.array(codes[:, j].astype("int8")) for j, name in enumerate(names[: codes.shape[1]])}
        columns |= {name: pa.array(numbers[:, j]) for j, name in enumerate(names[codes.shape[1] :])}
        table = pa.table({**columns, "y": pa.array(y.astype("int8"))})
        writer = writer or parquet.ParquetWriter(path, table.schema, compression="zstd")
        writer.write_table(table)
    if writer:
        writer.close()


def fitted(file_rows: int, *numbers: str) -> list[tuple[float, float]]:
    """For each model of numbers: the peak resident memory in GiB, and the seconds of a fit."""
    found = []
    with tempfile.TemporaryDirectory() as folder:
        path, schema = Path(folder) / "rows.parquet", Path(folder) / "schema.json"
        write_file(path, file_rows)
        made_up_schema().save(schema)
        for numeric in numbers:
            found.append(measured(CODE, path, schema, numeric))
    return found


def measured(code: str, path: Path, schema: Path, numeric: str, where: Path | None = None) -> tuple[float, float]:
    """GiB and seconds that a program in a process of its own prints, by the source of another checkout if named."""
    environment = os.environ if where is None else {**os.environ, "PYTHONPATH": str(where / "src")}
    command = [sys.executable, "-c", code, path, schema, numeric]
    output = subprocess.run(command, env=environment, capture_output=True, text=True, check=True).stdout
    peak, seconds = map(float, output.split())
    return peak, seconds


def run(file_rows: int = 50_000_000, **_: Any) -> list[dict[str, Any]]:
    """One line per model of numbers: the peak resident memory in GiB."""
    results = []
    models = ("histogram", "gaussian")
    for numeric, (peak, seconds) in zip(models, fitted(file_rows, *models), strict=True):
        what = f"fit {file_rows / 1e6:g} M rows of Parquet, {numeric} ({file_rows / seconds / 1e6:.1f} M rows/s)"
        results.append(line(what, peak, "GiB resident", "< 2", peak < 2))
    return results
