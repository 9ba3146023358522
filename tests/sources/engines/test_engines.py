"""Every engine gives the integers of rows in memory, keeps their rules, and hands over no more than was asked for."""

from __future__ import annotations

import math
from datetime import date, datetime
from decimal import Decimal

import numpy as np
import pyarrow as pa
import pyarrow.parquet as parquet
import pytest

from discreet import (
    Adjacency,
    Budget,
    Categorical,
    DataError,
    Date,
    Numeric,
    PrivateClassifier,
    PrivateNB,
    Schema,
    collect,
    settle_schema,
    sources,
)
from discreet.evaluation.plan import make_evaluation_plan
from discreet.evaluation.release import count_rows
from discreet.sources.contract import by_the_rule
from discreet.statistics import DETAILS
from tests.sources.tables_of import SCHEMAS

pytestmark = pytest.mark.filterwarnings("ignore::FutureWarning:pyspark")


@pytest.fixture(scope="module")
def adult(data_dir, tmp_path_factory):
    """Adult with damaged values: unknown and missing categories, numbers that are none; the schema and the file."""
    table = parquet.read_table(data_dir / "adult.parquet").to_pandas()
    schema = Schema.from_manifest(data_dir / "datasets.json", "adult")
    rng = np.random.default_rng(7)
    for feature in (*schema.features, schema.label):
        column = table[feature.name].astype(object if feature in (*schema.categorical, schema.label) else float)
        spots = rng.random(len(table))
        column[spots < 0.002] = None
        column[(spots >= 0.002) & (spots < 0.004)] = np.inf if feature in schema.numeric else "broken"
        table[feature.name] = column
    table["another"] = "not named by the schema"
    path = tmp_path_factory.mktemp("adult") / "rows.parquet"
    parquet.write_table(pa.Table.from_pandas(table, preserve_index=False), path, row_group_size=10_000)
    return schema, path, table


def test_adult_with_damaged_values(adult, engine):
    schema, path, table = adult
    data = engine(path)
    with sources.watching() as here:
        expected = collect(table, schema, unexpected="absorb")
    with sources.watching() as there:
        found = collect(data, schema, unexpected="absorb")
    assert found == expected and expected.counts.sum() > 40_000
    assert there == here and here[0].rows > 1000
    with pytest.raises(DataError, match=r"^column '[^']+' (holds|has) "):
        collect(data, schema)


def test_held_rows_are_those_of_memory(adult, engine):
    schema, path, table = adult
    here, there = (sources.open(data, schema, unexpected="absorb").held() for data in (table, engine(path)))
    assert there.read == len(table) and len(there) == len(here)
    pairs = [np.stack([*held.columns, held.labels], axis=1, dtype=np.int64) for held in (here, there)]
    ordered = [rows[np.lexsort(rows.T)] for rows in pairs]
    assert np.array_equal(*ordered)


def test_one_bad_row_is_refused_in_the_same_words(schema, frame, engine, tmp_path):
    bad = frame.assign(weight=frame.weight.where(frame.index != 417, np.inf))
    bad.to_parquet(tmp_path / "rows.parquet")
    data, words = engine(tmp_path / "rows.parquet"), []
    for given in (bad, data):
        with pytest.raises(DataError) as refusal:
            collect(given, schema)
        words.append(str(refusal.value))
    assert words[0] == words[1]


# One table for each way of storing values; NaN and text are met by all of them.
TYPED = {
    "t": [True, False, True, None, False],
    "i": [0, 1, 7, 2**53 - 1, None],
    "b": ["true", "False", "1.0", None, "x"],
    "m": ["1", "0.10", "2020-01-01", " 1 ", "1.10"],
    "n": [0.5, 7.0, -0.0, None, float("nan")],
    "r": [Decimal("-398213422469.3047"), Decimal("-398213422469.0000000001"), None, Decimal("1.10"), Decimal("0.1")],
    "c": ["yes", "1", "False", "yes", "1.0"],
}


def test_a_row_counts_by_itself(engine, tmp_path):
    """collect(D + r) == collect(D) + collect([r]), and both are the rule's, value by value."""
    schema = SCHEMAS[0]
    records = [dict(zip(TYPED, row, strict=True)) for row in zip(*TYPED.values(), strict=True)]
    path, counted = tmp_path / "rows.parquet", []
    table = pa.table({**TYPED, "r": pa.array(TYPED["r"], pa.decimal128(38, 10))})
    for rows in (table, table[:-1], table[-1:]):
        parquet.write_table(rows, path)
        counted.append(collect(engine(path), schema, detail=DETAILS))
    assert counted[0] == counted[1] + counted[2] == by_the_rule(schema, records)


@pytest.fixture(scope="module")
def people(schema, frame, tmp_path_factory):
    """600 rows of 250 people, whose ids are numbers or texts."""
    rng = np.random.default_rng(3)
    rows = frame.assign(who=rng.integers(0, 250, len(frame)))
    rows = rows.assign(named=[f"{one}.0" if one % 2 else f"p{one}" for one in rows.who], weight=rows.weight.fillna(0))
    path = tmp_path_factory.mktemp("people") / "rows.parquet"
    rows.to_parquet(path)
    return rows, path


@pytest.mark.parametrize("name", ["who", "named"])
def test_people_are_counted_over_all_partitions(schema, people, engine, name):
    rows, path = people
    known, most = schema.having(id=name), int(rows[name].value_counts().max())
    data = engine(path)
    assert collect(data, known, contributions=most) == collect(rows, known)
    with pytest.raises(DataError, match=f"{name!r} stands in more than {most - 1} rows"):
        collect(data, known, contributions=most - 1)
    if name == "who":
        kept = collect(data, known, contributions=2, unexpected="absorb")
        assert kept.counts.sum() == np.minimum(rows[name].value_counts(), 2).sum()


def test_class_counts_bounds_and_fits(schema, people, engine):
    rows, path = people
    data = engine(path)
    assert np.array_equal(sources.open(data, schema).class_counts(), sources.open(rows, schema).class_counts())
    bought = [settle_schema(schema, one, 1.0, bounds="private", random_state=1).schema for one in (rows, data)]
    assert bought[0] == bought[1]
    models = [PrivateNB(1.0, schema=schema, random_state=1).fit(one).model_ for one in (rows, data)]
    assert models[0].to_dict() == models[1].to_dict()
    plan = make_evaluation_plan(models[0], Budget(1.0), adjacency=Adjacency.of("add-remove"))
    tables = [count_rows(models[0], plan, one) for one in (rows, data)]
    assert all(np.array_equal(*pair) for pair in zip(*tables, strict=True))
    chosen = PrivateClassifier(1.0, schema=schema).fit(data)
    assert sorted(chosen.predict(data)) == sorted(chosen.predict(rows))  # partitions have an order of their own


def test_no_rows_are_one_sentence(schema, frame, engine, tmp_path):
    frame.iloc[:0].to_parquet(tmp_path / "rows.parquet")
    with pytest.raises(DataError, match="there are no rows"):
        collect(engine(tmp_path / "rows.parquet"), schema)


def test_progress_is_told_before_the_first_row_is_here(engine, schema, frame, tmp_path):
    told = []
    frame.to_parquet(tmp_path / "rows.parquet")
    collect(engine(tmp_path / "rows.parquet"), schema, progress=lambda *step: told.append(step))
    assert told[0][0] == 0 and len(told) > 1


# Values as people write them, every column a text as in a file that nobody cleaned; then as types of their own.
WRITTEN = {
    "lab": ["<5", "7,5", "1.250,5", "n/a", "12 mg", None, "> 100", "x", "3", "-"],
    "seen": ["01.02.2020", "2020-03-15", "31.12.1999", None, "15.6.2021", "29.02.2021", "1.1.2022", "", "x", "2020-02"],
    "gain": ["1", "9", "99999", "-3", None, "1e3", "2.5", "inf", "nan", "100000"],
    "count": ["0", "4", "9", "16", "25", None, "-1", "100", "3.7", "x"],
    "day": ["2024-01-01", "2024-01-06", "2024-01-07", None, "01.02.2020", "x", "2023-12-31", "2024-02-29", "", "1"],
    "code": ["E11.9", "e10", "I10", "F32", None, "", "E1", "J45.0", "Z", "I1a"],
    "y": ["no", "yes", "no", "yes", "no", "yes", "no", "yes", "no", "yes"],
}
DAYS = [date(2020, 2, 1), date(1999, 12, 31), date(2031, 1, 1), None, date(2024, 2, 29)] * 2
TYPES = {
    "seen": DAYS,
    "day": [None if day is None else datetime(day.year, day.month, day.day, 23, 59, 59, 999_999) for day in DAYS],
    "gain": [1.0, 9.0, 99999.0, -3.0, None, 1000.0, 2.5, math.inf, math.nan, 1e5],
    "count": [0, 4, 9, 16, 25, None, -1, 100, 3, 2**53],
    "lab": [5, 7, 1250, None, 12, -1, 100, 3, 2, 0],
}
RULES = Schema(
    [
        Numeric("lab", 0, 200, parse="comma; thousands; below=half; above; unit=mg; missing=n/a|-", missing="bin"),
        Date("seen", "2000-01-01", "2021-12-31", unit="month", format="%d.%m.%Y", missing="bin"),
        Numeric("gain", 1, 99999, transform="log", missing="bin"),
        Numeric("count", 0, 100, transform="sqrt", missing="bin"),
        Categorical("day", transform="weekday", missing="category"),
        Categorical("code", ["E*", "I1?", "F32"], match="pattern", other="else", missing="category"),
    ],
    target="y",
    classes=["no", "yes"],
)


@pytest.mark.parametrize("typed", [False, True], ids=["written", "typed"])
def test_values_as_people_write_them_are_read_alike(engine, tmp_path, typed):
    """Parse rules, dates, scales and patterns: the rule's integers, row by row, and the same row refused."""
    columns = {**WRITTEN, **(TYPES if typed else {})}
    frame, path = pa.table(columns), tmp_path / "rows.parquet"
    records = frame.to_pylist()
    fits = [by_the_rule(RULES, [one]) for one in records]
    assert 3 <= sum(one is not None for one in fits) < len(fits)
    good = frame.filter(pa.array([one is not None for one in fits]))
    parquet.write_table(good, path)
    data = engine(path)
    expected = by_the_rule(RULES, good.to_pylist())
    assert collect(data, RULES, detail=DETAILS) == collect(good, RULES, detail=DETAILS) == expected
    held = [sources.open(one, RULES).held() for one in (good, data)]
    here, there = (np.stack([*one.columns, one.labels], axis=1, dtype=np.int64) for one in held)
    assert np.array_equal(here[np.lexsort(here.T)], there[np.lexsort(there.T)])
    parquet.write_table(frame, path)
    data = engine(path)
    assert collect(data, RULES, unexpected="absorb") == collect(frame, RULES, unexpected="absorb")
    with pytest.raises(DataError, match=r"^column '[^']+' (holds|has) "):
        collect(data, RULES)


@pytest.mark.parametrize("typed", [False, True], ids=["written", "typed"])
def test_a_server_reads_values_as_people_write_them(postgres, typed):
    """The same rows in PostgreSQL."""
    from discreet import Table

    columns = {**WRITTEN, **(TYPES if typed else {})}
    frame = pa.table(columns)
    kinds = {"seen": "date", "day": "timestamp", "gain": "float8", "count": "int8", "lab": "int4"} if typed else {}
    records = frame.to_pylist()
    good = [one for one in records if by_the_rule(RULES, [one]) is not None]
    with postgres.connect() as connection:
        for rows, expected in ((good, by_the_rule(RULES, good)), (records, None)):
            named = ", ".join(f'"{name}" {kinds.get(name, "text")}' for name in columns)
            connection.execute(f"DROP TABLE IF EXISTS written; CREATE TABLE written ({named})")
            with connection.cursor().copy("COPY written FROM STDIN") as copy:
                for row in rows:
                    copy.write_row([row[name] for name in columns])
            data, here = Table(connection, "written"), pa.Table.from_pylist(rows, frame.schema)
            if expected is not None:
                assert collect(data, RULES, detail=DETAILS) == expected
            else:
                assert collect(data, RULES, unexpected="absorb") == collect(here, RULES, unexpected="absorb")
        connection.execute("DROP TABLE written")
