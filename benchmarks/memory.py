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

# The least that a fit of a file takes: its values are decoded and thrown away, by as many threads as there are cores.
DECODERS = {
    "Arrow, a row group for each thread": """
import os, sys, time
from concurrent.futures import ThreadPoolExecutor
import pyarrow.parquet as parquet
start = time.perf_counter()
facts = parquet.read_metadata(sys.argv[1])
def decode(group):
    file = parquet.ParquetFile(sys.argv[1], metadata=facts, buffer_size=1 << 20, pre_buffer=False)
    file.read_row_group(group, use_threads=False)
with ThreadPoolExecutor(len(os.sched_getaffinity(0))) as pool:
    list(pool.map(decode, range(facts.num_row_groups)))
print(0, time.perf_counter() - start)
""",
    "DuckDB": """
import sys, time
import duckdb
duckdb.sql("SET enable_progress_bar = false")
start = time.perf_counter()
names = duckdb.sql(f"SELECT * FROM read_parquet('{sys.argv[1]}') LIMIT 0").columns
duckdb.sql(f"SELECT {', '.join(f'sum({name})' for name in names)} FROM read_parquet('{sys.argv[1]}')").fetchall()
print(0, time.perf_counter() - start)
""",
}


def write_file(path: Path, rows: int, seed: int = 0, compression: str = "zstd") -> None:
    """A Parquet file of made-up rows, written piece by piece."""
    import pyarrow as pa
    import pyarrow.parquet as parquet

    names, writer = made_up_schema().names, None
    for start in range(0, rows, CHUNK):
        codes, numbers, y = made_up_rows(min(CHUNK, rows - start), seed=seed + start)
        columns = {name: pa.array(codes[:, j].astype("int8")) for j, name in enumerate(names[: codes.shape[1]])}
        columns |= {name: pa.array(numbers[:, j]) for j, name in enumerate(names[codes.shape[1] :])}
        table = pa.table({**columns, "y": pa.array(y.astype("int8"))})
        writer = writer or parquet.ParquetWriter(path, table.schema, compression=compression)
        writer.write_table(table)
    if writer:
        writer.close()


def fitted(file_rows: int, *numbers: str) -> tuple[list[tuple[float, float]], float]:
    """For each model of numbers the peak resident memory in GiB and the seconds of a fit; those of the best decoder."""
    found = []
    with tempfile.TemporaryDirectory() as folder:
        path, schema = Path(folder) / "rows.parquet", Path(folder) / "schema.json"
        write_file(path, file_rows)
        made_up_schema().save(schema)
        for numeric in numbers:
            found.append(measured(CODE, path, schema, numeric))
        floor = min(measured(code, path, schema, "")[1] for code in DECODERS.values())
    return found, floor


def measured(code: str, path: Path, schema: Path, numeric: str, where: Path | None = None) -> tuple[float, float]:
    """GiB and seconds that a program in a process of its own prints, by the source of another checkout if named."""
    environment = dict(os.environ) if where is None else {**os.environ, "PYTHONPATH": str(where / "src")}
    environment.pop("OMP_NUM_THREADS", None)  # Arrow has no more threads than it says
    command = [sys.executable, "-c", code, path, schema, numeric]
    output = subprocess.run(command, env=environment, capture_output=True, text=True, check=True).stdout
    peak, seconds = map(float, output.split())
    return peak, seconds


def run(file_rows: int = 50_000_000, **_: Any) -> list[dict[str, Any]]:
    """One line per model of numbers: the peak resident memory in GiB."""
    results = []
    models = ("histogram", "gaussian")
    found, floor = fitted(file_rows, *models)
    for numeric, (peak, seconds) in zip(models, found, strict=True):
        what = f"fit {file_rows / 1e6:g} M rows of Parquet, {numeric} ({file_rows / seconds / 1e6:.1f} M rows/s)"
        results.append(line(what, peak, "GiB resident", "< 2", peak < 2))
        results.append(line(what, seconds / floor, "of the time in which the best reader decodes the file"))
    return results
