"""Counting inside engines: the same integers as row by row, whatever the columns hold, and no rows where not needed."""

import math
import threading
import time
from contextlib import contextmanager
from datetime import date
from decimal import Decimal
from unittest.mock import patch

import duckdb
import numpy as np
import pandas as pd
import pyarrow.parquet as parquet
import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from discreet import Categorical, DataError, Date, Numeric, PrivateNB, Schema, Table, collect, sources
from discreet.errors import ConnectionLostError
from discreet.sources import Stream, sqlcount, watching
from discreet.sources.contract import by_the_rule
from discreet.sources.postgres import Postgres
from discreet.statistics import DETAILS
from tests.sources import typed_tables as engines
from tests.sources.tables_of import NAMES, RULES, SCHEMAS

QUIET = settings(
    max_examples=16, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow]
)


@st.composite
def tables(draw, kinds):
    """A schema, the kind of each column, and a few rows: mostly of values that have a place."""
    schema = draw(st.sampled_from(SCHEMAS))
    held = {name: draw(st.sampled_from(kinds)) for name in NAMES}
    held["n"], held["r"] = (draw(st.sampled_from([one for one in kinds if one not in {"text", "enum"}])) for _ in "nr")
    held["c"] = draw(st.sampled_from(["integer", "text", "boolean"]))
    pools = {name: draw(st.sampled_from(engines.POOLS[kind])) for name, kind in held.items()}
    pools["c"] = draw(st.sampled_from([{"integer": [0, 1], "text": ["1"], "boolean": [True]}[held["c"]], pools["c"]]))
    record = st.fixed_dictionaries({name: st.sampled_from(pool) for name, pool in pools.items()})
    return schema, held, draw(st.lists(record, min_size=1, max_size=6))


def counted(data, schema, **rules):
    with watching() as readings:
        try:
            found = collect(data, schema, detail=DETAILS, **rules)
        except DataError as error:
            return str(error), None
    return found, [(one.values, one.rows) for one in readings]


def in_memory(records, schema):
    return pd.DataFrame({n: pd.Series([r[n] for r in records], dtype=object) for n in [*schema.names, schema.target]})


def check(data, schema, records):
    """By the rule if every value has a place, absorbed as in memory otherwise, and refused by the same sentence."""
    expected = by_the_rule(schema, records)
    found = counted(data(), schema)[0]
    assert found == expected if expected is not None else isinstance(found, str)
    assert counted(data(), schema, unexpected="absorb") == counted(
        in_memory(records, schema), schema, unexpected="absorb"
    )
    bad = [one for one in records if by_the_rule(schema, [one]) is None]
    # Past 2**53 an array of integers names a bad one to the last digit, and an array of objects its double.
    if len(bad) == 1 and not any(isinstance(one, int) and abs(one) > 2**53 for one in bad[0].values()):
        assert found == counted(in_memory(records, schema), schema)[0]


@QUIET
@given(drawn=tables(list(engines.OF_DUCKDB)))
def test_generated_sql_counts_as_the_rule_does_on_duckdb(drawn):
    schema, kinds, records = drawn
    check(lambda: engines.in_duckdb(kinds, records), schema, records)


@pytest.fixture(scope="module")
def connection(postgres):
    with postgres.connect() as opened:
        yield opened


@settings(QUIET, max_examples=24)
@given(drawn=tables([*engines.OF_DUCKDB, "numeric"]))
def test_generated_sql_counts_as_the_rule_does_on_postgresql(drawn, connection):
    schema, kinds, records = drawn
    table = engines.in_postgres(connection, kinds, records)
    with patch.object(Postgres, "select", side_effect=AssertionError("rows are read")):
        check(lambda: table, schema, records)


@settings(QUIET, max_examples=16)
@given(drawn=tables([*engines.OF_DUCKDB, "numeric"]))
def test_streamed_rows_count_as_the_rule_does_on_postgresql(drawn, connection):
    schema, kinds, records = drawn
    table = engines.in_postgres(connection, kinds, records)
    with patch.object(Postgres, "count", Stream.count):  # as codes, and as they are
        check(lambda: table, schema, records)
        with patch.object(Postgres, "coded", Stream.coded):
            check(lambda: table, schema, records)


WRITTEN = [
    "<5",
    "1,5",
    "12 kg",
    "250g",
    "≥3",
    "-",
    "01.02.2020",
    "2020-02-29",
    "Monday",
    "7",
    "1e5",
    "x",
    "12:30",
    None,
]
DAYS = [date(2020, 1, 1), date(1999, 12, 31), date(2031, 5, 5), None]


@st.composite
def ruled(draw):
    """Columns whose values a rule of the schema reads: texts, numbers and days, mostly of one kind."""
    held = {name: draw(st.sampled_from(["text", "text", "double", "integer", "date"])) for name in NAMES} | {
        "c": "integer"
    }
    every = {"text": WRITTEN, "date": DAYS, "integer": [1, 0, 20200101, None], "double": [0.0, 0.5, 1e5, 3.25, None]}
    pools = {name: every[kind] for name, kind in held.items()}
    record = st.fixed_dictionaries({name: st.sampled_from(pool) for name, pool in (pools | {"c": [0, 1]}).items()})
    return held, draw(st.lists(record, min_size=1, max_size=6))


@settings(QUIET, max_examples=6, phases=[Phase.generate])
@given(drawn=ruled())
def test_values_that_a_rule_reads_count_alike_on_postgresql_and_duckdb(drawn, connection):
    kinds, records = drawn
    table = engines.in_postgres(connection, kinds, records)
    check(lambda: table, RULES, records)
    duck = duckdb.default_connection()
    engines.create(duck.execute, kinds, records, engines.OF_DUCKDB | {"date": "DATE"}, "?")
    check(lambda: Table(duck, "people"), RULES, records)


def test_an_engine_counts_no_number_that_is_on_a_scale_and_no_date():
    kinds = {"n": "double", "d": "integer", "p": "double", "c": "integer"}
    engine = engines.in_duckdb(kinds, [{"n": 10.0, "d": 20200101, "p": 5.0, "c": 0}])
    features = [Numeric("n", 1, 100, transform="log"), Date("d", "2020-01-01", "2020-12-31", format="%Y%m%d")]
    schema = Schema([*features, Numeric("p", 0, 10, parse="comma")], "c", [0, 1])
    assert sqlcount.Counting(engine, schema, DETAILS, total=False).streamed == {"n", "d"}


@pytest.mark.parametrize("engine", ["duckdb", "postgresql"])
@pytest.mark.parametrize(
    "lower, upper, step", [(0, 16, 1), (-1e6, 1e6, None), (1e17, 1e17 + 64, None), (0.1, 0.7, 0.1)]
)
def test_ties_ends_and_neighbours_of_every_point_are_rounded_alike(engine, lower, upper, step, connection):
    feature = Numeric("x", lower, upper, step=step, bins=4)
    schema = Schema([feature], "y", [0, 1])
    points = np.unique(np.linspace(-feature.lattice.half, feature.lattice.half, 41).astype(int))
    ties = [float(feature.lattice.middle + (k + shift) * feature.lattice.step) for k in points for shift in (0, 0.5)]
    near = [math.nextafter(x, to) for x in ties for to in (-math.inf, math.inf)]
    values = [*ties, *near, lower, upper, 5e-324, -5e-324, -0.0, 1e-300, 1.7e308, -1.7e308]
    records = [{"x": x, "y": i % 2} for i, x in enumerate(values)]
    kinds = {"x": "double", "y": "integer"}
    make = engines.in_duckdb if engine == "duckdb" else lambda *given: engines.in_postgres(connection, *given)
    assert collect(make(kinds, records), schema, detail=DETAILS) == by_the_rule(schema, records)
    made = make(kinds, records)
    assert collect(made, schema) == collect(pd.DataFrame(records), schema)


def test_sums_do_not_wrap_and_end_where_64_bits_do():
    feature = Numeric("x", 0, 2**21, step=1.0, bins=2)
    schema = Schema([feature], "y", [0, 1])
    answers = [(0, 1, 2**24, (2**24) * 2**20, 2**64)]
    engine = engines.in_duckdb({"x": "double", "y": "integer"}, [])
    with patch.object(engine, "ask", lambda query: answers):
        with pytest.raises(ValueError, match="64-bit"):
            collect(engine, schema)
        assert collect(engine, schema, unexpected="absorb").squares["x"].tolist() == [2**63 - 1, 0]


MIXED = Schema(
    [Categorical("a", ["x", "y"]), Categorical("b", [1, 2], other="more"), Numeric("n", 0, 1, bins=3, missing="bin"),
     Numeric("m", 0, 10, bins=2)], "y", ["no", "yes"],
)  # fmt: skip
KINDS = {"a": "text", "b": "integer", "n": "double", "m": "decimal", "y": "text"}


def rows(count=200):
    rng = np.random.default_rng(3)
    return [
        {"a": str(rng.choice(["x", "y"])), "b": int(rng.integers(1, 5)), "n": float(rng.normal()),
         "m": Decimal(int(rng.integers(0, 100))) / 8, "y": str(rng.choice(["no", "yes"]))}
        for _ in range(count)
    ]  # fmt: skip


def test_a_row_is_left_out_for_any_column_and_every_absorbed_value_is_told(connection):
    damaged = rows()
    for spot, (name, value) in enumerate(
        [("a", "z"), ("a", None), ("n", math.inf), ("m", None), ("y", "maybe"), ("y", None), ("b", None)]
    ):
        damaged[7 * spot] = damaged[7 * spot] | {name: value}
    damaged[0]["n"] = -math.inf  # in a row that is left out, so that it is not told of
    table = engines.in_postgres(connection, KINDS, damaged)
    with patch.object(Postgres, "select", side_effect=AssertionError("rows are read")):
        found = counted(table, MIXED, unexpected="absorb")
    assert found == counted(in_memory(damaged, MIXED), MIXED, unexpected="absorb")
    assert found[1] == [(2, 5)]
    assert found[0].counts.sum() == 195


@pytest.mark.parametrize(
    "name, value", [("a", "z"), ("a", None), ("n", math.inf), ("m", None), ("y", "it's"), ("y", None)]
)
def test_a_bad_value_is_refused_by_the_sentence_of_a_local_reading(name, value, connection):
    damaged = rows(20)
    damaged[5][name] = value
    told = counted(engines.in_postgres(connection, KINDS, damaged), MIXED)[0]
    assert isinstance(told, str)
    assert told == counted(in_memory(damaged, MIXED), MIXED)[0]


def test_features_that_cannot_be_counted_are_streamed_alone(connection, postgres):
    kinds = {**KINDS, "n": "text", "b": "date"}
    records = [row | {"n": f" {row['n']!r} ", "b": None} for row in rows()]
    schema = Schema(
        [MIXED.features[0], Categorical("b", [1], missing="category"), *MIXED.features[2:]], "y", MIXED.classes
    )
    table = engines.in_postgres(connection, kinds, records)
    with postgres.asked() as asked:
        assert collect(table, schema) == collect(in_memory(records, schema), schema)
    (cursor,) = [one for one in asked if "CURSOR" in one or "COPY" in one]
    assert '"n"' in cursor and '"b"' in cursor and '"a"' not in cursor and '"m"' not in cursor
    records[3]["n"] = "none"
    for unexpected in ("refuse", "absorb"):
        table = engines.in_postgres(connection, kinds, records)
        rules = {"unexpected": unexpected}
        assert counted(table, schema, **rules) == counted(in_memory(records, schema), schema, **rules)


def test_a_column_of_too_many_values_is_streamed(connection, postgres):
    records = [row | {"a": f"{i}"} for i, row in enumerate(rows(60))]
    schema = Schema([Categorical("a", ["x"], other="more"), *MIXED.features[1:]], "y", MIXED.classes)
    table = engines.in_postgres(connection, KINDS, records)
    with patch.object(sqlcount, "MOST", 40), postgres.asked() as asked:
        assert collect(table, schema) == collect(in_memory(records, schema), schema)
    (cursor,) = [one for one in asked if "CURSOR" in one or "COPY" in one]
    assert '"a"' in cursor and '"b"' not in cursor


def test_no_rows_are_pulled_and_no_star_is_asked_for(connection, postgres):
    table = engines.in_postgres(connection, KINDS, rows())
    expected = collect(in_memory(rows(), MIXED), MIXED)
    with postgres.asked() as asked:
        assert collect(table, MIXED) == expected
        assert sources.open(table, MIXED).class_counts().tolist() == expected.counts.tolist()
        PrivateNB(1.0, schema=MIXED).fit(table)
    read = [one for one in asked if "people" in one and "::regclass" not in one]  # but for the catalogue
    assert read and all("GROUP BY" in one and "CURSOR" not in one and "COPY" not in one for one in read)
    assert not any("*" in one.replace("count(*)", "").replace(" * ", "") for one in read)


def test_progress_is_told_statement_by_statement(connection):
    told = []
    collect(engines.in_postgres(connection, KINDS, rows()), MIXED, progress=lambda *step: told.append(step))
    assert told[:2] == [(0, None), (0, told[-1][1])] and [done for done, _ in told[1:]] == list(range(len(told) - 1))


@pytest.mark.parametrize("policy", ["refuse", "absorb"])
def test_class_counts_are_of_the_rows_that_stay(policy, connection):
    records = rows(50)
    if policy == "absorb":
        records[3]["m"] = records[4]["y"] = None
    table = engines.in_postgres(connection, KINDS, records)
    opened = sources.open(table, MIXED, unexpected=policy)
    assert opened.class_counts().tolist() == opened.statistics().counts.tolist()
    assert opened.class_counts().sum() == (48 if policy == "absorb" else 50)
    engines.in_postgres(connection, KINDS, [])
    if policy == "refuse":
        with pytest.raises(DataError, match="no rows"):
            sources.open(table, MIXED).class_counts()
    assert collect(table, MIXED, empty=True) == collect(in_memory([], MIXED), MIXED, empty=True)


def test_texts_are_parted_by_their_bytes_whatever_the_collation(connection):
    connection.execute(
        "CREATE COLLATION IF NOT EXISTS loose (provider = icu, locale = 'und-u-ks-level1', deterministic = false)"
    )
    connection.execute("DROP TABLE IF EXISTS people")
    connection.execute("CREATE TEMP TABLE people (a text COLLATE loose, y varchar(9) COLLATE loose)")
    connection.execute("INSERT INTO people VALUES ('a', 'no'), ('A', 'yes'), ('á', 'yes'), ('a', 'NO')")
    assert connection.execute("SELECT count(DISTINCT a) FROM people").fetchone() == (1,)
    schema = Schema([Categorical("a", ["a", "A"], other="more")], "y", ["no", "yes", "NO"])
    assert collect(Table(connection, "people"), schema).tables["a"].tolist() == [[1, 0, 0], [0, 1, 1], [1, 0, 0]]
    strict = Schema([Categorical("a", ["a", "A"])], "y", ["no", "yes"])
    assert collect(Table(connection, "people"), strict, unexpected="absorb").tables["a"].tolist() == [[1, 0], [0, 1]]


@pytest.mark.parametrize("value", [1e-100, -1e-300, 5e-324, 1e290])
def test_products_that_vanish_under_wide_bounds_are_points_too(value, connection):
    schema = Schema([Numeric("n", -8e307, 8e307, bins=4)], "y", [0, 1])
    table = engines.in_postgres(connection, {"n": "double", "y": "integer"}, [{"n": value, "y": 0}])
    assert collect(table, schema, detail=DETAILS) == by_the_rule(schema, [{"n": value, "y": 0}])


def test_what_an_owner_makes_of_numbers_changes_no_integer(postgres):
    from psycopg.types.numeric import FloatLoader

    schema = Schema([Numeric("n", 0, 1, bins=2)], "y", [0, 1])
    with postgres.connect() as own:
        own.execute("CREATE TEMP TABLE fine AS SELECT i / 3000.0::float8 AS n, 0 AS y FROM generate_series(1, 2999) i")
        expected = collect(Table(own, "fine"), schema, detail=DETAILS)
        for kind in ("numeric", "int8"):
            own.adapters.register_loader(kind, FloatLoader)
        assert collect(Table(own, "fine"), schema, detail=DETAILS) == expected


def test_a_very_long_text_is_streamed_like_any_other(connection):
    connection.execute("DROP TABLE IF EXISTS long; CREATE TABLE long AS SELECT repeat('x', 40000000) AS t, 0 AS y")
    schema = Schema([Categorical("t", ["a"], other="o")], "y", [0, 1])
    with patch.object(Postgres, "count", lambda *_, **__: None), patch.object(Postgres, "coded", Postgres.rows):
        assert collect(Table(connection, "long"), schema).tables["t"].tolist() == [[0, 1], [0, 0]]
    connection.execute("DROP TABLE long")


def test_texts_are_copied_as_they_are(connection):
    texts = ["", None, "a", '"', "a,b", "a\nb", "\r\n", "\\.", "\\N", "NULL", " ", "é", "\ufeff", "'"]
    schema = Schema([Categorical("a", [one for one in texts if one is not None], missing="category")], "y", [0, 1])
    records = [{"a": one, "y": 0} for one in [*texts, *texts[:5]]]
    table = engines.in_postgres(connection, {"a": "text", "y": "integer"}, records)
    opened = sources.open(table, schema)
    with patch("discreet.sources.postgres.BYTES", 8):
        found = [rows.columns[0].encode().tolist() for rows in opened.rows()]
        held = opened.held()
    expected = sources.open(in_memory(records, schema), schema).held().columns[0].tolist()
    assert len(found) > 9 and [code for part in found for code in part] == expected
    assert sorted(held.columns[0].tolist()) == sorted(expected)


def test_enumerations_and_columns_of_any_name(connection):
    connection.execute(
        "DO $$ BEGIN CREATE TYPE mood AS ENUM ('sad', 'ok'); EXCEPTION WHEN duplicate_object THEN END $$"
    )
    kinds = {'a "b" %s': "enum", "l": "double", "y": "boolean"}
    records = [{'a "b" %s': one, "l": 0.5, "y": one == "ok"} for one in ("sad", "ok", "ok")]
    schema = Schema([Categorical('a "b" %s', ["ok", "sad"]), Numeric("l", 0, 1, bins=2)], "y", [False, True])
    assert collect(engines.in_postgres(connection, kinds, records), schema).tables['a "b" %s'].tolist() == [
        [0, 1],
        [2, 0],
    ]


def test_adult_with_damaged_values_counts_alike(data_dir, connection):
    schema = Schema.from_manifest(data_dir / "datasets.json", "adult")
    frame = parquet.read_table(data_dir / "adult.parquet").to_pandas()[:4000]
    rng = np.random.default_rng(1)
    for name in [*schema.names, schema.target]:
        frame[name] = frame[name].astype(object)
        spots = rng.choice(len(frame), 30, replace=False)
        number = isinstance(next((one for one in schema.features if one.name == name), None), Numeric)
        frame.loc[spots, name] = [None, math.inf, math.nan] * 10 if number else [None, "?", " "] * 10
    kinds = {f.name: "double" if isinstance(f, Numeric) else "text" for f in schema.features} | {schema.target: "text"}
    engines.create(connection.execute, kinds, [], engines.OF_POSTGRES, "%s")
    with connection.cursor().copy("COPY people FROM STDIN") as copy:
        for row in frame[list(kinds)].itertuples(index=False):
            copy.write_row([None if one is None else str(one) if kinds[n] == "text" else float(one)
                            for n, one in zip(kinds, row, strict=True)])  # fmt: skip
    found = counted(Table(connection, "people"), schema, unexpected="absorb")
    assert found == counted(frame, schema, unexpected="absorb")
    assert found[1][0][1] > 100


# ---- people, rights and connections


IDS = Schema([Numeric("n", 0, 1, bins=2)], "y", [0, 1], id="who")


@pytest.mark.parametrize(
    "kind, ids, most, missing",
    [
        ("text", ["a", "b", "a", "1", "2"], 2, False), ("text", ["1", " 1", "1.0", "b"], 3, False),
        ("text", ["", "x", None], 1, True), ("integer", [1, 2, 2, 2**53, 2**53 + 1], 2, False),
        ("text", ["12345678901234567", "12345678901234568", "007", "7"], 2, False),
        ("double", [0.0, -0.0, 1.5], 2, False), ("double", [math.nan, 1.0, 1.0], 2, True),
        ("decimal", [Decimal("1.0"), Decimal("1.5")], 1, False), ("boolean", [True, True, None], 2, True),
        ("text", [" ", "\t", "x"], 1, False),
        ("numeric", [Decimal("1e400"), Decimal("2e400"), Decimal(7), Decimal(7)], 2, False),
        ("numeric", [Decimal(2**70), Decimal(2**70 + 1), Decimal("1e400")], 2, False),
    ],
)  # fmt: skip
def test_people_are_counted_by_the_server_as_they_are_here(kind, ids, most, missing, connection):
    records = [{"n": 0.5, "y": 0, "who": one} for one in ids]
    table = engines.in_postgres(connection, {"n": "double", "y": "integer", "who": kind}, records)
    stream = table.stream()
    found = stream.people(IDS)
    stream.close()
    assert (found.most()[0], found.missing) == (most, missing)
    frame = pd.DataFrame({"n": 0.5, "y": 0, "who": pd.Series(ids, dtype=object)})
    for unexpected in ("refuse", "absorb"):
        for contributions in (1, 3):
            rules = {"unexpected": unexpected, "contributions": contributions}
            assert counted(table, IDS, **rules) == counted(frame, IDS, **rules)


def test_the_reader_of_some_columns_needs_no_more(connection, postgres):
    connection.execute("DROP TABLE IF EXISTS clinic; CREATE TABLE clinic (n float8, secret text, y int, late date)")
    connection.execute("INSERT INTO clinic VALUES (0.25, 's', 0, 'infinity'), (0.75, 't', 1, '2020-01-01')")
    connection.execute("DROP ROLE IF EXISTS reader; CREATE ROLE reader LOGIN PASSWORD 'a secret of the tests'")
    connection.execute("GRANT SELECT (n, y, late) ON clinic TO reader")
    schema = Schema([Numeric("n", 0, 1, bins=2)], "y", [0, 1])
    with postgres.connect("reader") as reader:
        table = Table(reader, "clinic")
        assert collect(table, schema).tables["n"].tolist() == [[1, 0], [0, 1]]
        assert sum(len(rows.columns[0].values) for rows in sources.open(table, schema).rows()) == 2
        dated = Schema([Categorical("late", ["2020-01-01"], other="later")], "y", [0, 1])
        assert collect(Table(reader, "public.clinic"), dated).tables["late"].tolist() == [[0, 1], [1, 0]]
        with pytest.raises(DataError, match=r"no column 'secret' \(they have 'n', 'y', 'late'\)"):
            collect(table, Schema([Categorical("secret", ["s"])], "y", [0, 1]))
        with pytest.raises(DataError, match='refuses to read "nowhere": relation'):
            collect(Table(reader, "nowhere"), schema)
        with pytest.raises(DataError, match="refuses to read"):
            collect(Table(reader, "pg_catalog.pg_authid"), schema)
    connection.execute("DROP TABLE clinic; DROP ROLE reader")


@pytest.mark.parametrize("autocommit", [True, False])
def test_a_connection_is_left_as_it_was(autocommit, postgres):
    from psycopg.rows import dict_row

    with postgres.connect(autocommit=autocommit, row_factory=dict_row) as opened:
        opened.execute("CREATE TABLE own AS SELECT 0.5::float8 AS n, 1 AS y")  # seen by this transaction alone, if open
        before = opened.info.transaction_status
        schema = Schema([Numeric("n", 0, 1, bins=2)], "y", [0, 1])
        assert collect(Table(opened, "own"), schema).counts.tolist() == [0, 1]
        assert opened.info.transaction_status == before
        assert opened.execute("SELECT count(*) AS rows FROM own").fetchone() == {"rows": 1}
        opened.execute("DROP TABLE own")


def test_statements_that_see_different_rows_are_not_put_together(postgres, connection):
    """In a transaction of its owner's that sees what others commit, rows are read in one statement instead."""
    connection.execute("DROP TABLE IF EXISTS busy; CREATE TABLE busy (a text, b text, y int)")
    connection.execute("INSERT INTO busy VALUES ('x', 'x', 0), ('x', 'x', 1)")
    schema = Schema([Categorical("a", ["x"]), Categorical("b", ["x"])], "y", [0, 1])
    with postgres.connect(autocommit=False) as own, patch.object(sqlcount, "GROUPS", 1):
        own.execute("SELECT 1")
        ask, met = sqlcount.Counting._branch, []

        def meanwhile(self, members, where):
            if len(met) == 1:
                connection.execute("INSERT INTO busy VALUES ('x', 'x', 0)")
            met.append(members)
            return ask(self, members, where)

        with patch.object(sqlcount.Counting, "_branch", meanwhile):
            assert collect(Table(own, "busy"), schema).counts.tolist() == [2, 1]
        met.clear()
        own.rollback()
        with patch.object(sqlcount.Counting, "_branch", meanwhile):  # one state of the table
            assert collect(Table(own, "busy"), schema).counts.tolist() == [2, 1]
    connection.execute("DROP TABLE busy")


def test_ids_and_rows_that_two_statements_see_differently_are_refused(postgres, connection):
    connection.execute("DROP TABLE IF EXISTS people; CREATE TABLE people AS SELECT 0.5::float8 AS n, 1 AS y, 7 AS who")
    schema = Schema([Numeric("n", 0, 1, bins=2)], "y", [0, 1], id="who")
    with postgres.connect(autocommit=False) as own:
        table = Table(own, "people")
        assert collect(table, schema, contributions=1).counts.sum() == 1
        own.execute("SELECT 1")  # a transaction of the owner's, in which a statement sees what is committed by then
        for unexpected in ("refuse", "absorb"):
            with pytest.raises(DataError, match="REPEATABLE READ"):
                collect(table, schema, contributions=1, unexpected=unexpected)
        assert collect(table, schema.having(id=None)).counts.sum() == 1
        own.rollback()
        own.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ")
        assert collect(table, schema, contributions=1).counts.sum() == 1
    connection.execute("DROP TABLE people")


def test_a_view_that_answers_differently_each_time_is_refused_where_people_have_a_limit(connection):
    schema, limited = IDS.having(id=None), IDS
    base = "CREATE TEMP TABLE drawn AS SELECT 0.5::float8 AS n, i % 2 AS y, i AS who FROM generate_series(1, 9) i;"
    connection.execute(f"DROP TABLE IF EXISTS drawn CASCADE; {base}")
    views = {
        "plain": ("SELECT n, y, round(who) AS who FROM drawn", True),
        "now": ("SELECT n, y, who FROM drawn WHERE now() > '2000-01-01'", True),
        "random": ("SELECT n, y, who FROM drawn WHERE random() < 2", False),
        "shuffled": ("SELECT n, y, who + (floor(random() * 9))::int AS who FROM drawn", False),
        "within": ('SELECT * FROM "pg_temp".random', False),
        "sampled": ("SELECT * FROM drawn TABLESAMPLE bernoulli (100)", False),
        "quoted": ('SELECT n, y, who FROM drawn WHERE pg_temp."may, (be)"(who)', False),
        "operated": ("SELECT n, y, who FROM drawn WHERE who OPERATOR(pg_temp.<~>) who", False),
        "compared": ("SELECT n, y, who FROM drawn WHERE ROW(who, n) < ROW(99, n)", True),
        "added": ("SELECT min(n) AS n, y, who FROM drawn GROUP BY y, who HAVING pg_temp.luck(who) > 0", False),
        "settled": ("SELECT * FROM kept_once", True),
        "first": ("SELECT n, y, who FROM drawn LIMIT 9", False),
        "later": ("SELECT n, y, who FROM (SELECT * FROM drawn OFFSET 0) few", False),
        "one_each": ("SELECT DISTINCT ON (who) n, y, who FROM drawn", False),
        "apart": ("SELECT DISTINCT n, y, who FROM drawn", True),
        "stamped": ("SELECT n, y, who FROM drawn WHERE statement_timestamp() > '2000-01-01'", False),
        "elsewhere": ("SELECT n, y, who FROM far", False),
        "named": ('SELECT n, y, who, 1 AS ":funcid 1598 (random() TABLESAMPLE" FROM drawn', True),
    }
    connection.execute(
        "CREATE FUNCTION pg_temp.\"may, (be)\"(int) RETURNS bool VOLATILE LANGUAGE sql AS 'SELECT $1 > 0';"
        "CREATE FUNCTION pg_temp.alike(int, int) RETURNS bool VOLATILE LANGUAGE sql AS 'SELECT $1 = $2';"
        "CREATE OPERATOR pg_temp.<~> (LEFTARG = int, RIGHTARG = int, FUNCTION = pg_temp.alike);"
        "CREATE FUNCTION pg_temp.step(int, int) RETURNS int VOLATILE LANGUAGE sql AS 'SELECT $2';"
        "CREATE AGGREGATE pg_temp.luck(int) (SFUNC = pg_temp.step, STYPE = int, INITCOND = '0');"
        "CREATE MATERIALIZED VIEW kept_once AS SELECT 0.5::float8 AS n, i % 2 AS y, i AS who "
        "FROM generate_series(1, 9) i WHERE random() < 2;"
        "CREATE EXTENSION IF NOT EXISTS file_fdw; CREATE SERVER IF NOT EXISTS files FOREIGN DATA WRAPPER file_fdw;"
        "CREATE FOREIGN TABLE far (n float8, y int, who int) SERVER files "
        "OPTIONS (program 'for i in 1 2 3 4 5 6 7 8 9; do echo 0.5,$((i % 2)),$i; done', format 'csv')"
    )
    for name, (made, fine) in views.items():
        connection.execute(f"CREATE TEMP VIEW {name} AS {made}")
        table = Table(connection, name)
        assert collect(table, schema).counts.sum() == 9  # nobody is counted before
        if fine:
            assert collect(table, limited, contributions=1).counts.sum() == 9
            continue
        for unexpected in ("refuse", "absorb"):
            with pytest.raises(DataError, match="may answer differently each time"):
                collect(table, limited, contributions=1, unexpected=unexpected)
    connection.execute(
        "DROP TABLE drawn CASCADE; DROP MATERIALIZED VIEW kept_once CASCADE; DROP EXTENSION file_fdw CASCADE"
    )


def test_a_row_policy_that_answers_differently_each_time_is_refused_too(connection):
    connection.execute(
        "CREATE TABLE guarded AS SELECT 0.5::float8 AS n, i % 2 AS y, i AS who FROM generate_series(1, 9) i;"
        "CREATE ROLE guest; GRANT SELECT ON guarded TO guest; ALTER TABLE guarded ENABLE ROW LEVEL SECURITY;"
        "CREATE POLICY calm ON guarded FOR SELECT USING (who < 100);"
        "CREATE POLICY other ON guarded FOR INSERT WITH CHECK (random() < 2);"
        "CREATE VIEW behind AS SELECT * FROM guarded; GRANT SELECT ON behind TO guest"
    )
    wild = "CREATE POLICY wild ON guarded FOR SELECT USING (random() < 2)"
    for made in (None, wild):
        connection.execute(made or "SELECT 1")
        for role, name, fine in [
            ("guest", "guarded", not made),
            ("guest", "behind", not made),
            (None, "guarded", True),
        ]:
            connection.execute(f"SET ROLE {role or 'NONE'}")
            table = Table(connection, name)
            assert collect(table, IDS.having(id=None)).counts.sum() == 9
            if fine:  # whoever owns a table is not kept by its policies
                assert collect(table, IDS, contributions=1).counts.sum() == 9
                continue
            with pytest.raises(DataError, match="row policy"):
                collect(table, IDS, contributions=1)
        connection.execute("SET ROLE NONE")
    connection.execute("DROP TABLE guarded CASCADE; DROP ROLE guest")


def test_a_server_without_an_encoding_has_names_too(postgres, connection):
    connection.execute("CREATE DATABASE old ENCODING 'SQL_ASCII' TEMPLATE template0 LC_COLLATE 'C' LC_CTYPE 'C'")
    frame = pd.DataFrame({"größe": ["klein", "groß", "klein"], "n": [0.5, 0.25, 0.5], "y": [0, 1, 1], "who": [1, 1, 2]})
    schema = Schema([Categorical("größe", ["klein", "groß"]), Numeric("n", 0, 1)], "y", [0, 1], id="who")
    with postgres.connect(dbname="old") as own:
        own.execute('CREATE TABLE "maße" ("größe" text, n float8, y int, who int)'.encode())
        for row in frame.itertuples(index=False):
            values = ", ".join(f"'{one}'" for one in row)
            own.execute(f'INSERT INTO "maße" VALUES ({values})'.encode())
        table = Table(own, "maße")
        assert collect(table, schema, contributions=2) == collect(frame, schema)
        assert sources.open(table, schema).held().counts.tolist() == [1, 2]
        assert collect(table, schema, contributions=1, unexpected="absorb").counts.sum() == 2
    connection.execute("DROP DATABASE old")


@contextmanager
def killed(connection, opened):
    """End a connection from outside as soon as it is in the middle of a query."""

    def kill():
        for _ in range(1000):
            who = "pid = %s AND state = 'active' AND query ~ '^(SELECT l,|COPY|FETCH)'"
            if connection.execute(
                f"SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE {who}", [opened.info.backend_pid]
            ).fetchall():
                return
            time.sleep(0.01)

    thread = threading.Thread(target=kill)
    thread.start()
    yield
    thread.join()


@pytest.mark.parametrize("how", ["counted", "streamed"])
def test_a_lost_connection_is_one_sentence(how, postgres, connection):
    schema = Schema([Numeric("n", 0, 1, bins=2)], "y", [0, 1])
    nap = "0.5 + 0 * length(pg_sleep(0.001)::text)"  # a millisecond for each row
    connection.execute(f"CREATE VIEW slow AS SELECT {nap} AS n, 1 AS y FROM generate_series(1, 9999)")
    with postgres.connect() as opened:
        with killed(connection, opened), pytest.raises(ConnectionLostError, match="was lost before"):
            if how == "counted":
                collect(Table(opened, "slow"), schema)
            else:
                for _ in sources.open(Table(opened, "slow"), schema).rows():
                    pass
        with pytest.raises(ConnectionLostError):
            collect(Table(opened, "slow"), schema)
    connection.execute("DROP VIEW slow")
