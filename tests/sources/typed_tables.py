"""Tables of typed columns in engines that count by generated SQL, for the tests of the generator."""

from __future__ import annotations

import math
from decimal import Decimal

import duckdb
import numpy as np

from discreet import Table
from discreet.sources import Stream, register
from discreet.sources.sql import DUCKDB, SPARK
from discreet.sources.sqlcoded import Coding
from discreet.sources.sqlcount import Counting
from discreet.sources.stored import objects
from discreet.sources.streams import require

SINGLE = [float(np.float32(value)) for value in (0.1, 1.5, 0.0, 7.0, 16777217.0)]
DOUBLES = [0.1, 1.0, 0.0, -0.0, 7.0, 0.5, 2.5, -2.5, 1 / 3, 2.0**53, 1e308, 5e-324, -1e-310, -398213422469.3047]
TEXTS = ["1", "1.0", " 1 ", "true", "True", "x", "X", "a", "é", "", " ", "it's", "a\\b", "\\", "%s", "a", "another"]
WHOLE = [0, 1, 2, 7, -1, 2**53, 2**53 + 1, 2**62]
SMALL = [Decimal("1.0000"), Decimal("0.1000"), Decimal("-398213422469.3047"), Decimal("0"), Decimal("2.5")]
LONG = [Decimal("1.00"), Decimal("1"), Decimal("0.1"), Decimal("-398213422469.0000000001"), Decimal("1e-310")]
UNLIMITED = [*LONG, Decimal("1e400"), Decimal("-1e-400"), Decimal(f"{2**1024 - 2**970}"), Decimal("4.9e-324"),
             Decimal("NaN"), Decimal("Infinity")]  # fmt: skip
POOLS = {  # the values that a column of a kind may hold, the common ones first
    "double": [DOUBLES, [*DOUBLES, math.nan, math.inf, -math.inf, None]],
    "real": [SINGLE, [*SINGLE, math.nan, -math.inf, None]],
    "integer": [WHOLE, [*WHOLE, None]],
    "boolean": [[True, False], [True, False, None]],
    "decimal": [SMALL, [*SMALL, None]],
    "text": [TEXTS, [*TEXTS, None]],
    "numeric": [LONG, [*LONG, *UNLIMITED, None]],  # a decimal without limits
}
OF_POSTGRES = {
    "double": "float8", "real": "float4", "integer": "int8", "boolean": "bool", "decimal": "numeric(20, 4)",
    "text": "text", "numeric": "numeric", "enum": "mood", "date": "date",
}  # fmt: skip
OF_DUCKDB = {
    "double": "DOUBLE", "real": "FLOAT", "integer": "BIGINT", "boolean": "BOOLEAN", "decimal": "DECIMAL(20, 4)",
    "text": "VARCHAR",
}  # fmt: skip


OF_SPARK = {
    "double": "double", "real": "float", "integer": "bigint", "boolean": "boolean", "decimal": "decimal(20, 4)",
    "text": "string",
}  # fmt: skip


def create(execute, kinds, records, types, mark):
    """A table `people` with one column of each kind, and its rows."""
    execute("DROP TABLE IF EXISTS people")
    execute(f"CREATE TEMP TABLE people ({', '.join(f'{quoted(name)} {types[kind]}' for name, kind in kinds.items())})")
    for record in records:
        execute(f"INSERT INTO people VALUES ({', '.join([mark] * len(kinds))})", [record[name] for name in kinds])


def quoted(name):
    return '"' + name.replace('"', '""') + '"'


class Generated(Stream):
    """A DuckDB table that is counted by the generated SQL, as a warehouse would be."""

    dialect, steady = DUCKDB, True

    def __init__(self, connection, kinds):
        self.connection, self.kinds, self.source = connection, kinds, "people"
        self.names, self.asked = list(kinds), []

    def item(self, name):
        return quoted(name)

    def ask(self, query):
        self.asked.append(query)
        return self.connection.execute(query).fetchall()

    def batches(self, wanted):
        raise AssertionError("rows are read, though all of them can be counted")

    def select(self, words, raw, rest):
        found = self.ask(f"SELECT {', '.join([*words, *(item for item, _ in raw.values())])} FROM {rest}")
        columns = [[row[i] for row in found] for i in range(len(words) + len(raw))]
        packed = np.array(columns[: len(words)], np.int64).reshape(len(words), -1).T
        if found:
            yield packed, {n: objects(one) for n, one in zip(raw, columns[len(words) :], strict=True)}

    def count(self, schema, detail, *, total, absorbed):
        require(schema, self.names, labelled=True)
        return Counting(self, schema, detail, total=total).run(absorbed)

    def histograms(self, schema, grids, *, total, absorbed):
        return Counting(self, schema, (), total=total).histograms(grids, absorbed)

    def coded(self, schema, *, identified=False):
        return Coding(self, schema, identified=identified).rows()


class OnSpark(Generated):
    """The same on Spark SQL, for executors without packages."""

    dialect = SPARK

    def item(self, name):
        return SPARK.quote(name)

    def ask(self, query):
        return [tuple(row) for row in self.connection.sql(query).collect()]


register("generated SQL", lambda data: isinstance(data, Generated), lambda data, **_: data, counts=True)


def in_duckdb(kinds, records):
    connection = duckdb.default_connection()
    create(connection.execute, kinds, records, OF_DUCKDB, "?")
    return Generated(connection, kinds)


def in_spark(session, kinds, records):
    columns = ", ".join(f"{SPARK.quote(name)} {OF_SPARK[kind]}" for name, kind in kinds.items())
    rows = [tuple(record[name] for name in kinds) for record in records]
    session.createDataFrame(rows, columns).createOrReplaceTempView("people")
    return OnSpark(session, kinds)


def in_postgres(connection, kinds, records):
    create(connection.execute, kinds, records, OF_POSTGRES, "%s")
    return Table(connection, "people")
