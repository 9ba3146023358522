"""Rows in PostgreSQL: counting beside them by generated SQL against streaming them, on a server of the run's own."""

from __future__ import annotations

import io
from typing import Any
from unittest.mock import patch

import pandas as pd
import pytest
from tests.postgres import running

from benchmarks.common import best_of, line, made_up_rows, made_up_schema
from discreet import Table, collect
from discreet.additive import PrivateAdditiveClassifier
from discreet.sources import Stream
from discreet.sources.postgres import Postgres

ROWS = 1_000_000


def run(rows: int = ROWS, repeats: int = 2, **_: Any) -> list[dict[str, Any]]:
    """Seconds to count by SQL and by streaming, of at most a million rows, and the first as a share of the second.

    The same for an additive model, which holds rows: as codes that the server finds, and as raw values.
    """
    rows = min(rows, ROWS)
    try:
        with running() as server, server.connect() as connection:
            _fill(connection, rows)
            table, schema = Table(connection, "rows"), made_up_schema()
            counted = collect(table, schema)
            beside = best_of(repeats, lambda: collect(table, schema))
            coded = best_of(repeats, lambda: PrivateAdditiveClassifier(1.0, schema=schema, random_state=0).fit(table))
            with patch.object(Postgres, "count", Stream.count), patch.object(Postgres, "coded", Stream.coded):
                assert collect(table, schema) == counted
                streamed = best_of(1, lambda: collect(table, schema))
                raw = best_of(1, lambda: PrivateAdditiveClassifier(1.0, schema=schema, random_state=0).fit(table))
    except pytest.skip.Exception as reason:
        return [line(f"PostgreSQL ({reason})", None, "")]
    what = f"PostgreSQL, {rows / 1e6:g} M x {len(schema.features)}"
    return [
        line(f"{what}, counted by SQL", beside, "s"),
        line(f"{what}, streamed", streamed, "s"),
        line(f"{what}, counted by SQL", beside / streamed, "of streaming's time", "<= 0.5", beside <= streamed / 2),
        line(f"{what}, additive model, rows as codes", coded, "s"),
        line(f"{what}, additive model, rows streamed", raw, "s"),
    ]


def _fill(connection: Any, rows: int) -> None:
    codes, numbers, y = made_up_rows(rows, seed=0)
    names = made_up_schema().names
    kinds = [*["int"] * codes.shape[1], *["float8"] * numbers.shape[1], "int"]
    columns = ", ".join(f'"{name}" {kind}' for name, kind in zip([*names, "y"], kinds, strict=True))
    connection.execute(f"CREATE UNLOGGED TABLE rows ({columns})")
    with connection.cursor().copy("COPY rows FROM STDIN (FORMAT csv)") as copy:
        for start in range(0, rows, 100_000):
            part = slice(start, start + 100_000)
            text = io.StringIO()
            frame = pd.concat([pd.DataFrame(codes[part]), pd.DataFrame(numbers[part]), pd.Series(y[part])], axis=1)
            frame.to_csv(text, header=False, index=False)
            copy.write(text.getvalue())
    connection.execute("ANALYZE rows")
