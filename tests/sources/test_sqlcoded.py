"""Codes from engines: the rows that memory holds, whatever columns hold, and nothing raw where a statement can code."""

import math
import re
from unittest.mock import patch

import numpy as np
import pandas as pd
import pyarrow.parquet as parquet
import pytest
from hypothesis import given, settings

from discreet import (
    Categorical,
    DataError,
    Numeric,
    PrivateGridSearch,
    PrivateHoldout,
    PrivateNB,
    PrivateTreeClassifier,
    Schema,
    Table,
    kinds,
    sources,
)
from discreet.bounds import settle_schema
from discreet.bounds.grid import Octaves
from discreet.bounds.plan import make_settle_plan
from discreet.bounds.release import count_finest
from discreet.calibration import calibrated
from discreet.evaluation.exact import evaluate
from discreet.evaluation.plan import make_evaluation_plan
from discreet.evaluation.release import count_rows
from discreet.privacy.budget import Adjacency, Budget
from discreet.sources import sqlcoded, sqlcount, watching
from discreet.sources.contract import by_the_rule
from tests.sources import typed_tables as engines
from tests.sources.test_sql import KINDS, MIXED, QUIET, in_memory, rows, tables

STREAMED = patch("discreet.sources.postgres.Postgres.rows", side_effect=AssertionError("rows are read"))


@pytest.fixture(scope="module")
def connection(postgres):
    with postgres.connect() as opened:
        yield opened


def held(data, schema, **rules):
    """The rows that are held, in an order of their own, and what was absorbed; or why they are refused."""
    with watching() as readings:
        try:
            found = sources.open(data, schema, **rules).held()
        except DataError as error:
            return str(error)
    table = np.stack([*(one.astype(np.int64) for one in found.columns), found.labels])
    kinds = [one.dtype for one in [*found.columns, found.labels]]
    return table[:, np.lexsort(table)].tolist(), kinds, [(one.values, one.rows) for one in readings]


def check(data, schema, records):
    bad = [one for one in records if by_the_rule(schema, [one]) is None]
    found = held(data(), schema)
    assert isinstance(found, str) == bool(bad)
    if not bad or (len(bad) == 1 and not any(isinstance(one, int) and abs(one) > 2**53 for one in bad[0].values())):
        assert found == held(in_memory(records, schema), schema)
    assert held(data(), schema, unexpected="absorb") == held(in_memory(records, schema), schema, unexpected="absorb")


def spread(data, schema, **rules):
    plan = make_settle_plan(schema, Budget(1.0), bounds="private", **rules)
    with watching() as readings:
        try:
            found = count_finest(data, plan)
        except DataError as error:
            return str(error)
    return {name: one.tolist() for name, one in found.items()}, [(one.values, one.rows) for one in readings]


def check_spread(data, schema, records):
    for rules in ({}, {"unexpected": "absorb"}):
        found, expected = spread(data(), schema, **rules), spread(in_memory(records, schema), schema, **rules)
        assert found == expected or (isinstance(found, str) and isinstance(expected, str))


@QUIET
@given(drawn=tables(list(engines.OF_DUCKDB)))
def test_rows_come_as_memory_holds_them_from_duckdb(drawn):
    schema, kinds, records = drawn
    check(lambda: engines.in_duckdb(kinds, records), schema, records)
    check_spread(lambda: engines.in_duckdb(kinds, records), schema, records)


@settings(QUIET, max_examples=24)
@given(drawn=tables([*engines.OF_DUCKDB, "numeric"]))
def test_rows_come_as_memory_holds_them_from_postgresql(drawn, connection):
    schema, kinds, records = drawn
    table = engines.in_postgres(connection, kinds, records)
    with STREAMED:
        check(lambda: table, schema, records)
        check_spread(lambda: table, schema, records)


@pytest.mark.parametrize("engine", ["duckdb", "postgresql"])
@pytest.mark.parametrize(
    "lower, upper, integer",
    [(-1e6, 1e6, False), (0, 2**20, True), (3.0, 1e9, False), (-7.5, -0.1, False), (-4.0, 1024.0, False),
     (-1e300, 1e300, False), (-100, 7, True), (-1e-250, 1e-250, False), (-1e-290, 1e-290, False)],
)  # fmt: skip
def test_octaves_are_told_apart_to_the_last_bit(engine, lower, upper, integer, connection):
    feature = Numeric("x", lower, upper, integer=integer, bins=4)
    schema, grid = Schema([feature], "y", [0, 1]), Octaves.of(feature)
    powers = range(grid.low - 2, min(grid.low + max(grid.below, grid.above) + 2, 1024), 1 + grid.size // 30)
    steps = [math.ldexp(1 + part / 128, power) for power in powers for part in (0, 1, 63.5, 127) if power >= -1022]
    there = [grid.anchor + sign * step for step in steps for sign in (-1, 1)]
    near = [math.nextafter(one, to) for one in there for to in (-math.inf, math.inf)]
    values = [*there, *near, lower, upper, 0.0, -0.0, 5e-324, -5e-324, 1.7e308, -1.7e308]
    records = [{"x": one, "y": 0} for one in values if math.isfinite(one)]
    kinds = {"x": "double", "y": "integer"}
    make = engines.in_duckdb if engine == "duckdb" else lambda *given: engines.in_postgres(connection, *given)
    if grid.low < sqlcount.FINEST and engine == "duckdb":
        pytest.skip("these are streamed, which this engine of the tests refuses")
    assert spread(make(kinds, records), schema) == spread(in_memory(records, schema), schema)


def damaged(count=200):
    found = rows(count)
    for spot, (name, value) in enumerate(
        [("a", "z"), ("a", None), ("n", math.inf), ("m", None), ("y", "maybe"), ("y", None), ("b", None)]
    ):
        found[7 * spot] = found[7 * spot] | {name: value}
    found[0]["n"] = -math.inf
    return found


def test_what_is_absorbed_or_refused_is_what_memory_absorbs_or_refuses(connection):
    records = damaged()
    table = engines.in_postgres(connection, KINDS, records)
    with STREAMED:
        found = held(table, MIXED, unexpected="absorb")
        assert found == held(in_memory(records, MIXED), MIXED, unexpected="absorb")
    assert found[2] == [(2, 5)]
    for name, value in [("a", "z"), ("a", None), ("n", math.inf), ("m", None), ("y", "it's"), ("y", None)]:
        records = rows(20)
        records[5][name] = value
        told = held(engines.in_postgres(connection, KINDS, records), MIXED)
        assert isinstance(told, str) and told == held(in_memory(records, MIXED), MIXED)


def test_alike_rows_come_once_and_count_as_often_as_they_are(connection, postgres):
    records = [row | {"n": 0.25, "m": row["m"] // 4} for row in rows(900)]
    table = engines.in_postgres(connection, KINDS, records)
    expected = held(in_memory(records, MIXED), MIXED)
    with postgres.asked() as asked, patch.object(sqlcoded, "PIECE", 70):
        assert held(table, MIXED) == expected
    (fetched,) = [one for one in asked if "CURSOR" in one]
    assert "GROUP BY w0" in fetched and "count(*)" in fetched
    with postgres.asked() as asked:  # rows of their own come one by one
        held(engines.in_postgres(connection, KINDS, rows(900)), MIXED)
    (fetched,) = [one for one in asked if "CURSOR" in one]
    assert "GROUP BY" not in fetched


def test_a_column_that_no_statement_codes_comes_beside_the_codes(connection, postgres):
    kinds = {**KINDS, "n": "text", "b": "date"}
    records = [row | {"n": f" {row['n']!r} ", "b": None} for row in rows()]
    schema = Schema(
        [MIXED.features[0], Categorical("b", [1], missing="category"), *MIXED.features[2:]], "y", MIXED.classes
    )
    for kind in ("date", "text"):  # through a cursor, and copied
        table = engines.in_postgres(connection, {**kinds, "b": kind}, records)
        with postgres.asked() as asked:
            assert held(table, schema) == held(in_memory(records, schema), schema)
        (bare,) = [selected(one) for one in asked if "COPY" in one or "CURSOR" in one]
        assert bare == (["i2", "i3"] if kind == "date" else ["i3"])  # after the label and the first feature
    records[3]["n"] = "none"
    table = engines.in_postgres(connection, kinds, records)
    for rules in ({}, {"unexpected": "absorb"}):
        assert held(table, schema, **rules) == held(in_memory(records, schema), schema, **rules)


def test_a_column_of_too_many_values_comes_beside_the_codes(connection, postgres):
    records = [row | {"a": f"{i}"} for i, row in enumerate(rows(60))]
    schema = Schema([Categorical("a", ["x"], other="more"), *MIXED.features[1:]], "y", MIXED.classes)
    table = engines.in_postgres(connection, KINDS, records)
    for where, limit in ((sqlcoded, "LISTED"), (sqlcount, "MOST")):
        with patch.object(where, limit, 40), STREAMED:
            assert held(table, schema) == held(in_memory(records, schema), schema)
    with patch.object(sqlcoded, "LISTED", 1):  # not even the classes
        assert held(table, schema) == held(in_memory(records, schema), schema)


def test_rows_of_people_with_too_many_are_reduced_beside_their_codes(connection):
    schema = Schema(MIXED.features, "y", MIXED.classes, id="who")
    records = [row | {"who": i % 30} for i, row in enumerate(rows(90))]
    table = engines.in_postgres(connection, KINDS | {"who": "integer"}, records)
    with STREAMED:
        found = sources.open(table, schema, contributions=2, unexpected="absorb").held()
        assert len(found) == 60
    told = held(table, schema, contributions=2)
    assert told == held(pd.DataFrame(records), schema, contributions=2) and "who" in told


def test_where_statements_may_see_different_rows_one_statement_reads_them(postgres, connection):
    connection.execute("DROP TABLE IF EXISTS busy; CREATE TABLE busy (a text, n float8, y int)")
    connection.execute("INSERT INTO busy VALUES ('x', 0.5, 0), ('x', 0.25, 1)")
    schema = Schema([Categorical("a", ["x", "z"]), Numeric("n", 0, 1, bins=2)], "y", [0, 1])
    with postgres.connect(autocommit=False) as own:
        own.execute("SELECT 1")
        with postgres.asked() as asked:
            assert sources.open(Table(own, "busy"), schema).held().counts.tolist() == [1, 1]
        assert [one for one in asked if "COPY" in one and '"a"' in one] and not any("GROUP BY" in one for one in asked)
        own.rollback()
        found, listed = sqlcount.Counting.values, []

        def fewer(self):
            listed.append(found(self))
            listed[-1]["a"].pop("x")
            return listed[-1]

        with patch.object(sqlcount.Counting, "values", fewer), pytest.raises(DataError, match="other values"):
            sources.open(Table(own, "busy"), schema).held()
    connection.execute("DROP TABLE busy")


# ---- what a server is asked


def selected(statement):
    """The columns that a statement hands out as they are."""
    outer = re.sub(r"^.*?(?=SELECT)", "", statement)[len("SELECT ") :]
    depth, items = 0, [""]
    for word in re.split(r"([(),]| FROM )", outer):
        depth += (word == "(") - (word == ")")
        if not depth and word == " FROM ":
            break
        if word == "," and not depth:
            items.append("")
        else:
            items[-1] += word
    return [one.strip() for one in items if re.fullmatch(r'\s*("[^"]*"|i\d+)(::\w+)?\s*', one)]


def handed_out(asked):
    """Statements that hand out rows, or columns of them as they are."""
    read = [one for one in asked if "people" in one and "pg_attribute" not in one and "CREATE" not in one]
    assert read
    return [one for one in read if selected(one) or "COPY" in one or "SELECT *" in one]


def test_the_check_of_statements_sees_what_is_handed_out():
    assert selected('COPY (SELECT 1, "a", CAST("b" AS bigint) FROM people) TO STDOUT') == ['"a"']
    assert not selected('COPY (SELECT CAST(CASE WHEN "a" < 1 THEN 1 END AS bigint) * 1 FROM people) TO STDOUT')
    assert len(handed_out(['SELECT "a" FROM people', "SELECT * FROM people", 'SELECT 1 + ("a") FROM people'])) == 2


@pytest.mark.parametrize("kind", [one.name for one in kinds.kinds()])
def test_no_kind_of_model_asks_for_raw_values(kind, connection, postgres):
    records = rows(400)
    table = engines.in_postgres(connection, KINDS, records)
    with postgres.asked() as asked, STREAMED:
        kinds.find(kind).make(epsilon=1.0, schema=MIXED).fit(table)
    assert not handed_out(asked)
    read = [one for one in asked if 'FROM "people"' in one]
    assert read and all("GROUP BY" in one or "CURSOR" in one for one in read)


def test_bounds_and_evaluations_ask_for_no_raw_values(connection, postgres):
    records = rows(400)
    table = engines.in_postgres(connection, KINDS, records)
    model = PrivateNB(1.0, schema=MIXED, random_state=1).fit(in_memory(records, MIXED)).model_
    plan = make_evaluation_plan(model, Budget(1.0), adjacency=Adjacency.of("add-remove"))
    with postgres.asked() as asked, STREAMED:
        settle_schema(MIXED, table, 1.0, bounds="private")
        found = count_rows(model, plan, table)
    assert not handed_out(asked)
    for one, expected in zip(found, count_rows(model, plan, in_memory(records, MIXED)), strict=True):
        assert one.tolist() == expected.tolist() and one.sum() == 400
    curves = PrivateNB(1.0, schema=MIXED, numeric="gaussian", random_state=1).fit(in_memory(records, MIXED)).model_
    assert not curves.by_codes  # whose scores go by the numbers themselves: they are read
    plan = make_evaluation_plan(curves, Budget(1.0), adjacency=Adjacency.of("add-remove"))
    both = [count_rows(curves, plan, one) for one in (table, in_memory(records, MIXED))]
    assert [one.tolist() for one in both[0]] == [one.tolist() for one in both[1]]


def test_holdouts_searches_and_exact_figures_ask_for_no_raw_values(connection, postgres):
    records = rows(400)
    frame = in_memory(records, MIXED)
    table = engines.in_postgres(connection, KINDS, records)
    model = PrivateNB(1.0, schema=MIXED, random_state=1).fit(frame).model_
    with postgres.asked() as asked, STREAMED:
        held = PrivateHoldout(PrivateNB(math.inf, schema=MIXED)).fit(table)
        PrivateHoldout(PrivateTreeClassifier(1.0, schema=MIXED)).fit(table)
        PrivateGridSearch([PrivateNB(), PrivateTreeClassifier()], epsilon=1.0, schema=MIXED).fit(table)
        assert evaluate(model, table) == evaluate(model, frame)
    assert not handed_out(asked)
    assert 30 < held.evaluation_.rows.value < 140
    known = MIXED.having(id="who")
    records = [row | {"who": f"id {i % 300}"} for i, row in enumerate(damaged(400))]
    table = engines.in_postgres(connection, KINDS | {"who": "text"}, records)
    with postgres.asked() as asked, STREAMED:
        PrivateHoldout(PrivateNB(1.0, schema=known, contributions=2, unexpected="absorb")).fit(table)
    assert {name for one in handed_out(asked) for name in selected(one)} == {"i5"}  # who it is, and nothing else


def test_parted_rows_and_calibrations_ask_for_no_raw_values(connection, postgres):
    records = damaged(400)
    table, frame = engines.in_postgres(connection, KINDS, records), in_memory(records, MIXED)
    fine = rows(400)
    model = PrivateNB(1.0, schema=MIXED, random_state=1).fit(in_memory(fine, MIXED)).model_
    with STREAMED:
        for j in range(4):
            opened = [sources.open(one, MIXED, unexpected="absorb") for one in (table, frame)]
            found, expected = (sources.collect_parted(one, lambda size, j=j: np.full(size, j)) for one in opened)
            assert found == expected and found[j].counts.sum() > 390
    expected = calibrated(model, in_memory(fine, MIXED), epsilon=1.0, random_state=2)._fields()
    table = engines.in_postgres(connection, KINDS, fine)
    with postgres.asked() as asked, STREAMED:
        assert calibrated(model, table, epsilon=1.0, random_state=2)._fields() == expected
    assert not handed_out(asked)


def test_adult_with_damaged_values_is_held_alike(data_dir, connection):
    schema = Schema.from_manifest(data_dir / "datasets.json", "adult")
    frame = parquet.read_table(data_dir / "adult.parquet").to_pandas()[:4000]
    rng = np.random.default_rng(1)
    numbers = {one.name for one in schema.features if isinstance(one, Numeric)}
    for name in [*schema.names, schema.target]:
        frame[name] = frame[name].astype(object)
        spots = rng.choice(len(frame), 30, replace=False)
        frame.loc[spots, name] = [None, math.inf, math.nan] * 10 if name in numbers else [None, "?", " "] * 10
    kinds = {name: "double" if name in numbers else "text" for name in [*schema.names, schema.target]}
    engines.create(connection.execute, kinds, [], engines.OF_POSTGRES, "%s")
    with connection.cursor().copy("COPY people FROM STDIN") as copy:
        for row in frame[list(kinds)].itertuples(index=False):
            copy.write_row([None if one is None else str(one) if kinds[n] == "text" else float(one)
                            for n, one in zip(kinds, row, strict=True)])  # fmt: skip
    table = Table(connection, "people")
    with STREAMED:
        found = held(table, schema, unexpected="absorb")
        bounds = spread(table, schema, unexpected="absorb")
    assert found == held(frame, schema, unexpected="absorb") and found[2][0][1] > 100
    assert bounds == spread(frame, schema, unexpected="absorb")
