"""Rows counted where they are: rows per second of each engine, as a share of those of a frame in memory."""

from __future__ import annotations

import os
import shutil
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as parquet

from benchmarks.common import best_of, line, made_up_rows, made_up_schema
from discreet import collect, sources

GROUP = 1 << 19  # rows of a row group


def run(rows: int = 5_000_000, repeats: int = 5, **_: Any) -> list[dict[str, Any]]:
    """Lines for the rate in memory and the share of it that each engine has; all count the same integers."""
    import duckdb
    import polars as pl

    schema = made_up_schema()
    codes, numbers, y = made_up_rows(rows, seed=0)
    columns = [column.copy() for column in (*codes.T, *numbers.T, y)]
    table = pa.table(columns, [*schema.names, schema.target])
    with tempfile.TemporaryDirectory() as folder, spark_session() as spark:
        path = str(Path(folder) / "rows.parquet")
        parquet.write_table(table, path, row_group_size=GROUP)
        known: dict[str, Callable[[], Any]] = {
            "polars lazy, in memory": lambda: pl.from_arrow(table).lazy(),  # type: ignore[union-attr]
            "polars lazy, Parquet": lambda: pl.scan_parquet(path),
            "DuckDB, Parquet file": lambda: path,
            "DuckDB relation, Parquet": lambda: duckdb.connect().read_parquet(path),
        }
        if spark is not None:
            known["Spark local[2], Parquet"] = lambda: spark.read.parquet(path)
        expected = collect(table, schema)
        memory = best_of(repeats, lambda: collect(table, schema))
        found = [line("in memory", rows / memory / 1e6, "million rows/s")]
        for name, make in known.items():
            data = make()
            assert collect(data, schema) == expected, name
            ours = best_of(min(repeats, 3), lambda data=data: collect(data, schema))  # type: ignore[misc]
            found.append(line(name, memory / ours, f"of that rate ({rows / ours / 1e6:.2g} million rows/s)"))
        if spark is not None:
            data = spark.read.parquet(path)
            ours = best_of(1, lambda: sources.open(data, schema).held())
            found.append(line("Spark local[2], rows held as codes", memory / ours, "of the rate of counting in memory"))
    return found


@contextmanager
def spark_session() -> Iterator[Any]:
    """A Spark session of two cores, or None without Java or pyspark."""
    try:
        from pyspark.sql import SparkSession
    except ImportError:
        yield None
        return
    if shutil.which("java") is None:
        yield None
        return
    os.environ["PYSPARK_PYTHON"] = sys.executable
    builder = SparkSession.builder.master("local[2]").config("spark.ui.enabled", "false")
    for key, value in {"spark.driver.bindAddress": "127.0.0.1", "spark.driver.host": "127.0.0.1",
                       "spark.ui.showConsoleProgress": "false", "spark.driver.memory": "2g"}.items():  # fmt: skip
        builder = builder.config(key, value)
    session = builder.getOrCreate()
    session.sparkContext.setLogLevel("OFF")
    try:
        yield session
    finally:
        session.stop()
