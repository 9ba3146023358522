"""Tables of mixed values in every container and source, for the tests of the row rule."""

from __future__ import annotations

import csv
import itertools
import math
import sqlite3
from datetime import date, datetime, time, timedelta, timezone
from decimal import Decimal
from fractions import Fraction

import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.feather as feather
import pyarrow.parquet as parquet

from discreet import Categorical, Date, Numeric, Schema, Table, sources
from discreet.bounds.plan import make_settle_plan
from discreet.bounds.release import count_finest
from discreet.linear.encode import Encoding
from discreet.privacy.budget import Budget
from discreet.sources import RowTable
from discreet.values import number
from tests.linear.designs import read_design

NUMBERS = [
    *(True, False, 0, 1, 2, -1, 7, 3.0, 1.0, 0.0, -0.0, 0.5, 1.5, -2.5, 2**53, 2**53 + 1, 2**62, 2**63, 2**64, 10**30),
    *(10**400, -(10**400), 1e20, 1e308, 5e-324, math.inf, -math.inf, 0.1, 1 / 3, 123456789.123),
    *(np.True_, np.False_, np.int8(1), np.uint64(2**63), np.int64(-1), np.float32(0.1), np.float16(0.1), np.float64(1)),
    *(np.longdouble(1), Decimal("1"), Decimal("1.00"), Decimal("1.10"), Decimal("0.1"), Decimal("-0"), Decimal("1E+2")),
    *(Decimal("-398213422469.3047"), Decimal("-398213422469.0000000001"), Decimal("Infinity"), Fraction(1, 2), 1 + 0j),
]
MISSING = [
    None,
    math.nan,
    np.float32("nan"),
    Decimal("NaN"),
    Decimal("sNaN"),
    pd.NA,
    pd.NaT,
    np.datetime64("NaT"),
    np.ma.masked,
]
TEXTS = [
    *("1", "1.0", "01", " 1 ", "0", "0.0", "-0", "true", "True", "false", "False", "TRUE", "x", "y", "a", "b", "", " "),
    *(
        "1e0",
        "1e3",
        "1_000",
        "nan",
        "NaN",
        "nan(abc)",
        "inf",
        "-Infinity",
        "0x10",
        "1e400",
        "+-1",
        "１",
        "\u00a01",
        "+1",
    ),
    *(
        "<5",
        "< 1,5",
        "≥3",
        "1.234,5",
        "1,234",
        "1'234",
        "12 kg",
        "250g",
        "kg 3",
        "-",
        "01.02.2020",
        "31.12.1999 ",
        "2020-02",
    ),
    *("2020-01-01 10:00:00", "2020-01-01T23:00:00-05:00", "20200101", "Monday", "1e5", "12:30"),
    *("+1", "0.1", "0.10", "1.10", "2020-01-01", "None", "another", "(missing)", "é", "-398213422469.3047"),
    *(np.str_("a"), np.str_("1"), b"a", b"1", b"1.0", b"\xff", bytearray(b"b")),
]
ODD = [
    *(date(2020, 1, 1), datetime(2020, 1, 1), datetime(2020, 1, 1, 12, 30), np.datetime64("2020-01-01")),
    *(np.datetime64("2020-01-01T12:30", "ns"), pd.Timestamp("2020-01-01"), pd.Timestamp("2020-01-01 12:30")),
    *(datetime(2020, 1, 1, tzinfo=timezone(timedelta(hours=2))), timedelta(days=1), pd.Timedelta(days=1), time(1, 2)),
    *([1, 2], ["a"], (1,), {"a": 1}, {"x"}, object(), np.array([1]), np.array(1), 1 + 2j, pd.Interval(0, 1), "\ud800"),
]
MIXED = [*NUMBERS, *MISSING, *TEXTS, *ODD]

SCHEMAS = [
    Schema(
        features=[
            Categorical("t", ["True", "False", "a"], other="another", missing="category"),
            Categorical("i", [0, 1, 7], other="another", missing="category"),
            Categorical("b", [False, True], other="another", missing="category"),
            Categorical("m", ["1", 2, "0.1", "x", "2020-01-01", "1.10"], other="another", missing="category"),
            Numeric("n", -2, 8, integer=True, bins=4, missing="bin"),
            Numeric("r", -398213422470, -398213422469, bins=3, missing="bin"),
        ],
        target="c",
        classes=["yes", 1, False],
    ),
    Schema(
        features=[
            Categorical("t", ["1.0", "true", "b", "0"], other="z"),
            Categorical("i", [2**53, -1, 1, 0]),
            Categorical("b", [True, "2020-01-01 12:30:00"], missing="category"),
            Categorical("m", ["a", "01", "inf", "9007199254740993", "2020-01-01 00:00:00"], other="1"),
            Numeric("n", 0, 1, bins=2),
            Numeric("r", -1e3, 1e3, missing="bin"),
        ],
        target="c",
        classes=[0, 1],
    ),
]
RULES = Schema(  # values that need a rule of their own
    features=[
        Categorical("t", transform="weekday", other="another", missing="category"),
        Date("i", "1999-06-15", "2021-01-01", unit="quarter", bins=5, missing="bin"),
        Date("b", "2019-12-30", "2020-03-01", unit="week", format="%d.%m.%Y", missing="bin"),
        Categorical("m", ["1*", "[a-x]", "*:*", "?"], match="pattern", other="another", missing="category"),
        Numeric("n", 0.5, 1e6, bins=4, missing="bin", transform="log", parse="comma; thousands; below; missing=-|x"),
        Numeric("r", 0, 1e3, bins=[0, 1, 10, 1e3], missing="bin", transform="sqrt", parse="unit=kg|g*0.001; above"),
    ],
    target="c",
    classes=[0, 1],
)
FINITE = [value for value in [*NUMBERS, *TEXTS] if math.isfinite(number(value))]
WHOLE = [0, 1, True, False, 1.0, "1", "01", Decimal("1.0"), -1, 2**53, np.int8(1), -0.0, "1.0"]
ALIKE = [  # columns of one type, or that a container brings to one
    [True, False],
    [True, None],
    [1, 0, 7, 2**53 + 1],
    [1, None, 2**53 + 1],
    [1.0, 0.5, -0.0],
    [1, 1.5],
    ["a", "b", "x", "1", "True"],
    ["1", "1.0", None],
    [Decimal("1.10"), Decimal("0.1"), Decimal("-398213422469.3047"), Decimal("-398213422469.0000000001")],
    [date(2020, 1, 1), None],
    [datetime(2020, 1, 1), datetime(2020, 1, 1, 12, 30), None],
    [pd.Timestamp("2020-01-01"), pd.Timestamp("2020-01-01 12:30"), "2020-01-01"],
]


TYPED = [[0, 1], [True, False], [1.0, 0.0], ["0", "1"], ["1.0", "01"], [Decimal("1.00"), Decimal("0")]]


def pools_of(name, kind):
    """What the values of a column are drawn from, one pool per table: of one type, mostly fine ones, or any at all."""
    usual = {"n": FINITE, "r": FINITE, "i": WHOLE, "c": WHOLE[:8]}.get(name, [*NUMBERS, *TEXTS])
    if kind == "alike":
        return {"n": [*TYPED, [0.5, 1], [1, 10**30]], "r": [*TYPED, *ALIKE[:6], ALIKE[8]]}.get(
            name, TYPED if name in "ic" else ALIKE
        )
    return [usual, usual, *ALIKE] if kind == "fine" else [usual, usual, usual, MIXED, MISSING, NUMBERS, TEXTS]


KINDS = ["alike", "alike", "fine", "wild"]
NAMES = ["t", "i", "b", "m", "n", "r"]
FRESH = itertools.count()


def columns(records):
    return {name: [record[name] for record in records] for name in [*NAMES, "c"]}


def series(values):
    result = np.empty(len(values), object)
    for i, value in enumerate(values):
        result[i] = value
    return result


def pandas_objects(records):
    return pd.DataFrame({name: pd.Series(series(values), dtype=object) for name, values in columns(records).items()})


def attempt(*errors):
    """A container that cannot hold some rows gives no table of them."""

    def wrap(make):
        def attempted(*arguments):
            try:
                return make(*arguments)
            except errors:
                return None

        return attempted

    return wrap


HARD = attempt(Exception, pl.exceptions.PanicException)  # building is the container's own affair; reading is ours


@HARD
def pandas_inferred(records):
    return pd.DataFrame({name: pd.Series(values) for name, values in columns(records).items()})


@HARD
def pandas_nullable(records):
    return pandas_objects(records).convert_dtypes()


@HARD
def pandas_arrow(records):
    tame(value for values in columns(records).values() for value in values)
    return pandas_objects(records).convert_dtypes(dtype_backend="pyarrow")


@HARD
def pandas_category(records):
    return pandas_objects(records).astype("category")


def tame(values):
    """Refuse what makes Arrow or polars crash the process: their own affair, and out of reach of our reading."""
    kinds = (bool, int, float, str, bytes, type(None), date, datetime, timedelta, time, list, dict, tuple, type(pd.NA))
    for value in values:
        fine = value.is_finite() if isinstance(value, Decimal) else isinstance(value, kinds)
        if not fine or (isinstance(value, str) and value == "\ud800"):
            raise TypeError(value)
    return values


def arrow_column(values):
    tame(values)
    return pa.array(values, from_pandas=True)


def arrow_table(records):
    return pa.table({name: arrow_column(values) for name, values in columns(records).items()})


arrow = HARD(arrow_table)


@HARD
def arrow_dictionary(records):
    return pa.table({name: arrow_column(values).dictionary_encode() for name, values in columns(records).items()})


@HARD
def arrow_chunks(records):
    table = arrow_table(records)
    return pa.concat_tables([table[:1], table[1:]])


@HARD
def polars_inferred(records):
    tame(value for values in columns(records).values() for value in values)
    return pl.DataFrame({name: pl.Series(values) for name, values in columns(records).items()})


@HARD
def polars_objects(records):
    return pl.DataFrame({name: pl.Series(values, dtype=pl.Object) for name, values in columns(records).items()})


MEMORY = {
    "pandas objects": pandas_objects,
    "pandas inferred": pandas_inferred,
    "pandas nullable": pandas_nullable,
    "pandas arrow": pandas_arrow,
    "pandas category": pandas_category,
    "arrow": arrow,
    "arrow dictionary": arrow_dictionary,
    "arrow chunks": arrow_chunks,
    "polars inferred": polars_inferred,
    "polars objects": polars_objects,
}


def features_of(records):
    return [[record[name] for name in NAMES] for record in records], [record["c"] for record in records]


def object_array(records):
    rows, labels = features_of(records)
    matrix = np.empty((len(rows), len(NAMES)), object)
    for i, row in enumerate(rows):
        for j, value in enumerate(row):
            matrix[i, j] = value
    return matrix, series(labels)


PAIRS = {  # (X, y)
    "lists": features_of,
    "tuples": lambda records: (tuple(map(tuple, features_of(records)[0])), tuple(features_of(records)[1])),
    "object array": object_array,
}


def written(value):
    """A value as a CSV field."""
    if value is None or value is pd.NA or value is pd.NaT or value is np.ma.masked or value != value:
        return ""
    return value.decode("utf-8", "replace") if isinstance(value, bytes | bytearray) else str(value)


def file_of(folder, suffix):
    return folder / f"{next(FRESH)}{suffix}"


@HARD
def csv_file(records, folder):
    path = file_of(folder, ".csv")
    with open(path, "w", encoding="utf-8", newline="") as out:
        writer = csv.writer(out)
        writer.writerow([*NAMES, "c"])
        for record in records:
            writer.writerow([written(record[name]) for name in [*NAMES, "c"]])
    return path


@HARD
def parquet_file(records, folder):
    table = arrow_table(records)
    path = file_of(folder, ".parquet")
    parquet.write_table(table, path)
    return path


@HARD
def arrow_file(records, folder):
    path = file_of(folder, ".arrow")
    feather.write_feather(arrow_table(records), path)
    return path


@HARD
def duckdb_table(records, folder):
    connection, table = duckdb.connect(), arrow_table(records)
    connection.register("given", table)
    connection.execute("CREATE TABLE people AS SELECT * FROM given")
    return Table(connection, "people")


@HARD
def sqlite_table(records, folder):
    connection = sqlite3.connect(":memory:")
    connection.execute(f"CREATE TABLE people ({', '.join([*NAMES, 'c'])})")  # no types: every value as it is
    marks = ", ".join("?" * 7)
    for record in records:
        connection.execute(f"INSERT INTO people VALUES ({marks})", [record[name] for name in [*NAMES, "c"]])
    return Table(connection, "people")


@HARD
def polars_lazy(records, folder):
    return pl.from_arrow(arrow_table(records)).lazy()


@HARD
def duckdb_relation(records, folder):
    return duckdb.connect().from_arrow(arrow_table(records))


class Rows:
    """A DB-API connection to rows of any Python values."""

    def __init__(self, records):
        self.records = records

    def cursor(self):
        return Cursor(self.records)


class Cursor:
    def __init__(self, records):
        self.records, self.rows = records, []
        self.description = [(name,) for name in [*NAMES, "c"]]

    def execute(self, query):
        wanted = [part.strip().strip('"') for part in query.split("FROM")[0].removeprefix("SELECT").split(",")]
        names = [*NAMES, "c"] if wanted == ["*"] else wanted
        self.rows = [] if "1 = 0" in query else [tuple(record[name] for name in names) for record in self.records]

    def fetchmany(self, size):
        rows, self.rows = self.rows[:size], self.rows[size:]
        return rows

    def close(self):
        pass


def database(records, folder):
    return Table(Rows(records), "people")


SOURCES = {
    "csv": csv_file,
    "parquet": parquet_file,
    "arrow file": arrow_file,
    "duckdb": duckdb_table,
    "duckdb relation": duckdb_relation,
    "polars lazy": polars_lazy,
    "sqlite": sqlite_table,
    "database": database,
}


def stacked(parts):
    return [np.concatenate(arrays) for arrays in zip(*parts, strict=True)]


def codes(data, schema):
    found = sources.open(data, schema).held()
    return found.cells, found.labels


def design(data, schema):
    found = read_design(data, None, Encoding(schema, "scaled"))
    return found.codes, found.values, found.labels


def points(data, schema):
    found = sources.open(data, schema).held()
    return *found.columns, found.labels


def labels(data, schema):
    return (sources.open(data, schema, contributions=1).class_counts()[None, :],)


def bounds(data, schema):
    plan = make_settle_plan(schema, Budget(1.0), bounds="private")
    return tuple(counts[None, :] for counts in count_finest(data, plan).values())


def dealt(data, schema):
    held = RowTable.of(data, schema)
    X, y = held.take(np.arange(held.size))
    assert y is None
    return codes(X, schema)


def added(parts):
    return [sum(arrays) for arrays in zip(*parts, strict=True)]


def same_arrays(left, right):
    return all(np.array_equal(a, b) for a, b in zip(left, right, strict=True))


HELD = {  # how models read rows that they hold, and how what was read of single rows goes together
    "codes": (codes, stacked),
    "design": (design, stacked),
    "points": (points, stacked),
    "labels": (labels, added),
    "bounds": (bounds, added),
    "dealt": (dealt, stacked),
}
