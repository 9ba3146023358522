"""Ten million rows with damaged values in every container and engine: the same integers everywhere, or an error."""

from __future__ import annotations

import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as parquet

from benchmarks.common import line
from benchmarks.engines import spark_session
from discreet import Categorical, Numeric, Schema, Table, collect
from discreet.sources import Address, watching
from discreet.statistics import Statistics

ROWS = 10_000_000
SCHEMA = Schema(
    [
        *(Categorical(f"t{j}", ["never", "seldom", "often"], other="else") for j in range(2)),
        *(Categorical(f"c{j}", range(10)) for j in range(2)),
        *(Numeric(f"x{j}", -3, 3, bins=16, missing="bin") for j in range(2)),
        Numeric("whole", 0, 100, integer=True, bins=10),
        Numeric("exact", 0, 8, step=0.25, bins=8),
    ],
    "y", [0, 1],
)  # fmt: skip


def damaged(rows: int) -> pa.Table:
    """Made-up rows; one value in a hundred is missing, infinite, halfway between points, or has no place."""
    rng = np.random.default_rng(0)
    y = rng.integers(0, 2, rows).astype(np.int16)
    columns: dict[str, Any] = {}
    words = pa.array(["never", "seldom", "often", "Often ", "ńever", "\t"])  # an empty text is missing in a CSV file
    for j in range(2):
        codes = np.where(rng.random(rows) < 0.01, rng.integers(3, 6, rows), rng.integers(0, 3, rows))
        columns[f"t{j}"] = words.take(pa.array(codes))
        columns[f"c{j}"] = np.where(rng.random(rows) < 1e-3, 11, rng.integers(0, 10, rows)).astype(np.int32)
        odd = rng.choice([np.nan, np.inf, -np.inf, 1e300, -0.0, 5e-324, 3.0000000000000004], rows)
        numbers = np.where(rng.random(rows) < 0.01, odd, rng.normal(size=rows) + 0.3 * y)
        columns[f"x{j}"] = pa.array(numbers, mask=rng.random(rows) < 0.01)
    columns["whole"] = rng.integers(-5, 110, rows)
    columns["exact"] = rng.integers(-8, 80, rows) / 8  # every other one is halfway between two points
    return pa.table({**{name: columns[name] for name in SCHEMA.names}, "y": y})


def run(rows: int = ROWS, **_: Any) -> list[dict[str, Any]]:
    """A line for each container and engine: seconds to count, where the integers are those of the first."""
    table, found = damaged(rows), []
    expected: tuple[Statistics, int, int] | None = None
    for name, opened in _places(table):
        start = time.perf_counter()
        with watching() as readings:
            counted = collect(opened(), SCHEMA, unexpected="absorb")
        seconds = time.perf_counter() - start
        told = (counted, sum(one.values for one in readings), sum(one.rows for one in readings))
        expected = expected or told
        same = told == expected
        found.append(line(f"{name}, {rows / 1e6:g} M rows", seconds, "s", "the same integers", same))
    return found


def _places(table: pa.Table) -> Iterator[tuple[str, Callable[[], Any]]]:
    import duckdb
    import polars as pl

    yield "Arrow", lambda: table
    yield "pandas", table.to_pandas
    yield "polars", lambda: pl.from_arrow(table)
    yield "polars lazy", lambda: pl.from_arrow(table).lazy()  # type: ignore[union-attr]
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder)
        parquet.write_table(table, place / "rows.parquet", row_group_size=1 << 19)
        yield "Parquet", lambda: str(place / "rows.parquet")
        yield "polars lazy, Parquet", lambda: pl.scan_parquet(place / "rows.parquet")
        yield "DuckDB relation", lambda: duckdb.connect().read_parquet(str(place / "rows.parquet"))
        with duckdb.connect(str(place / "rows.db")) as base:
            base.execute(f"CREATE TABLE rows AS SELECT * FROM read_parquet('{place / 'rows.parquet'}')")
            base.execute(f"COPY rows TO '{place / 'rows.csv'}' (HEADER, QUOTE '\"', FORCE_QUOTE (t0, t1))")
        yield "DuckDB table", lambda: Address(f"duckdb:{place / 'rows.db'}", "rows")
        yield "CSV", lambda: str(place / "rows.csv")
        with spark_session() as spark:
            if spark is not None:
                yield "Spark local[2], Parquet", lambda: spark.read.parquet(str(place / "rows.parquet"))
        with _postgres(place / "rows.csv") as connection:
            if connection is not None:
                yield "PostgreSQL", lambda: Table(connection, "rows")


@contextmanager
def _postgres(path: Path) -> Iterator[Any]:
    """A connection to a server with the rows, or None where there is none."""
    import pytest
    from tests.postgres import running

    try:
        with running() as server, server.connect() as connection:
            kinds = {"t": "text", "c": "int", "x": "float8", "w": "int", "e": "float8", "y": "int"}
            columns = ", ".join(f"{name} {kinds[name[0]]}" for name in [*SCHEMA.names, "y"])
            connection.execute(f"CREATE UNLOGGED TABLE rows ({columns})")
            with path.open("rb") as file, connection.cursor().copy("COPY rows FROM STDIN (FORMAT csv, HEADER)") as copy:
                while part := file.read(1 << 22):
                    copy.write(part)
            yield connection
    except pytest.skip.Exception:
        yield None
