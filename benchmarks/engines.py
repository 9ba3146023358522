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
from discreet import Numeric, Schema, collect, sources

GROUP = 1 << 19  # rows of a row group
GROUPS = 1 << 14  # of one packed key


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
            theirs = best_of(min(repeats, 3), packed(spark, path, schema, rows))
            ours = best_of(min(repeats, 3), lambda: collect(spark.read.parquet(path), schema))
            what = f"Spark local[2] beside Spark's own packed SQL ({ours:.3g} s and {theirs:.3g} s)"
            found.append(line(what, theirs / ours, "times as fast", ">= 1", theirs >= ours))
            data = spark.read.parquet(path)
            ours = best_of(1, lambda: sources.open(data, schema).held())
            found.append(line("Spark local[2], rows held as codes", memory / ours, "of the rate of counting in memory"))
    return found


def packed(spark: Any, path: str, schema: Schema, rows: int) -> Callable[[], None]:
    """The same tables by SQL alone: several features in the key of one group-by, and moments in one more.

    Of what was tried (grouping sets, one column at a time, filters) this is what Spark is quickest at.
    """
    spark.read.parquet(path).createOrReplaceTempView("made_up")
    keys: list[str] = []
    room = 0
    for one in schema.features:
        bins = one.cells
        code = one.name
        if isinstance(one, Numeric):
            low, width = one.lower, (one.upper - one.lower) / bins
            code = f"CAST(least(greatest(floor(({one.name} - {low}) / {width}), 0), {bins - 1}) AS INT)"
        if room // bins:
            keys[-1], room = f"({keys[-1]}) * {bins} + {code}", room // bins
        else:
            keys.append(f"{schema.target} * {bins} + {code}")
            room = GROUPS // (len(schema.classes) * bins)
    tables = " UNION ALL ".join(
        f"SELECT {i} AS part, {key} AS place, count(*) AS n FROM made_up GROUP BY 2" for i, key in enumerate(keys)
    )
    points = [
        f"rint(({one.name} - {one.lattice.middle}) * {one.lattice.inverse})"
        for one in schema.features
        if isinstance(one, Numeric)
    ]
    sums = ", ".join(f"sum(CAST({point} AS BIGINT)), sum(CAST({point} * {point} AS BIGINT))" for point in points)
    moments = f"SELECT {schema.target}, count(*), {sums} FROM made_up GROUP BY 1"

    def ask() -> None:
        assert sum(row.n for row in spark.sql(tables).collect()) == rows * len(keys)
        assert sum(row[1] for row in spark.sql(moments).collect()) == rows

    return ask


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
