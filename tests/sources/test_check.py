"""The check of rows against a schema: every difference at once, in exact numbers, with an edit for each."""

from __future__ import annotations

import sqlite3
from datetime import date

import pandas as pd
import pytest

from discreet import Categorical, Date, Numeric, Schema, Table
from discreet.sources.check import check_rows
from discreet.sources.recognise import dates, numbers

SCHEMA = Schema(
    [
        Categorical("ward", ["A1", "A2", "Z9"]),
        Categorical("other", ["x"], other="rest", missing="category"),
        Numeric("crp", 0, 10),
        Numeric("skewed", 1, 100, transform="log", missing="bin"),
        Numeric("comma", 0, 10),
        Date("day", "2020-01-01", "2021-12-31", unit="month"),
        Numeric("absent", 0, 1),
    ],
    "ill",
    ["no", "yes", "maybe"],
    id="person",
)
ROWS = pd.DataFrame(
    {
        "ward": ["A1"] * 6 + ["B1", "B1", "B2", None],
        "other": ["x"] * 3 + ["q"] * 6 + [None],
        "crp": ["1", "2", "<5", "n/a", "30", "40", "-1", "5", "6", None],
        "skewed": [0.5, 1, 10, 100, 1000, 5, 5, 5, 5, None],
        "comma": ["1,5", "2,5", "3", "4,25", "1,0", "2,0", "3,0", "9,5", "0,5", "7,7"],
        "day": ["2020-05-01", "1999-01-01", "31.12.2020", "2021-01-01", *["2020-01-01"] * 6],
        "absnt": [0.5] * 10,
        "ill": ["no"] * 4 + ["yes"] * 4 + ["ill", None],
        "person": [1, 1, 1, *range(2, 9)],
    }
)


def found_in(data, **rules):
    return {
        (one.column, one.what.split(" (")[0].split(",")[0]): one for one in check_rows(data, SCHEMA, **rules).findings
    }


@pytest.mark.parametrize("kind", ["memory", "csv", "parquet", "sqlite"])
def test_every_difference_is_found_at_once(kind, tmp_path):
    data = ROWS
    if kind == "csv":
        ROWS.to_csv(data := tmp_path / "d.csv", index=False)
    elif kind == "parquet":
        ROWS.to_parquet(data := tmp_path / "d.parquet")
    elif kind == "sqlite":
        connection = sqlite3.connect(":memory:")
        ROWS.to_sql("rows", connection, index=False)
        data = Table(connection, "rows")
    found = found_in(data)
    counts = {key: one.rows for key, one in found.items() if one.problem}
    assert counts == {
        ("absent", "a column that the data do not have"): 10,
        ("ward", "values that the schema does not list"): 3,
        ("ward", "missing values without a place"): 1,
        ("crp", "texts that are no numbers"): 2,
        ("crp", "missing values without a place"): 1,
        ("crp", "values below lower = 0"): 1,
        ("crp", "values above upper = 10"): 2,
        ("skewed", "values below lower = 1"): 1,
        ("skewed", "values above upper = 100"): 1,
        ("comma", "texts that are no numbers"): 9,
        ("day", "texts that are no dates"): 1,
        ("day", "values below start = 2020-01-01"): 1,
        ("ill", "labels that are not among the classes"): 1,
        ("ill", "rows without a class"): 1,
        ("ill", "classes that no row has"): 0,
        ("person", "somebody has 3 rows"): 3,
    }
    assert found["ward", "values that the schema does not list"].values == {"B1": 2, "B2": 1}
    assert "'B1', 'B2'" in found["ward", "values that the schema does not list"].edit
    assert "call it 'absnt'" in found["absent", "a column that the data do not have"].edit
    assert (
        found["crp", "texts that are no numbers"].edit
        == 'declare parse = "below=half; missing=n/a" and missing = "bin"'
    )
    assert found["comma", "texts that are no numbers"].edit == 'declare parse = "comma"'
    assert found["crp", "values above upper = 10"].share == 0.2
    assert ("person", "somebody has 3 rows") not in found_in(data, contributions=3)
    notes = [one.column for one in found.values() if not one.problem]
    assert sorted(notes) == ["(table)", "other", "other", "skewed", "ward"]


def test_rows_that_fit_have_no_problems(tmp_path):
    schema = Schema([Categorical("a", ["x", "y"])], "c", [0, 1])
    (tmp_path / "d.csv").write_text("a,c\nx,0\ny,1\n")
    checked = check_rows(tmp_path / "d.csv", schema)
    assert (checked.rows, checked.findings) == (2, [])
    (tmp_path / "d.csv").write_text("a,c\nx,0\ny,1\nx,0,7,8\n")
    assert [one.column for one in check_rows(tmp_path / "d.csv", schema).problems] == ["(file)"]


@pytest.mark.parametrize(
    ("values", "rule"),
    [
        (["<5", "12", "7.5", "n/a"], "below=half; missing=n/a"),
        (["1,5", "2,25", "10"], "comma"),
        (["1.234,5", "2.000"], "comma; thousands"),
        (["1,234.50", "7"], "thousands"),
        (["12 kg", "13kg", "-"], "unit=kg; missing=-"),
        ([">100", "€ 7", "8"], "above=limit; unit=€"),
        (["E11", "E12", "I25"], None),
        (["12A", "12B", "13C"], None),
        (["red", "green", "5"], None),
        (["1", "2.5"], ""),
    ],
)
def test_rules_for_dirty_numbers_are_recognised(values, rule):
    found = numbers(dict.fromkeys(values, 1))
    assert (None if found is None else found.rule) == rule


def test_dates_are_recognised():
    assert dates({"2020-01-31": 1, "n/a": 1}).format is None
    assert dates({"31.01.2020": 1}).format == "%d.%m.%Y" and not dates({"31/01/2020": 1}).either
    assert dates({"03/01/2020": 1}).either and dates({"20200131": 1}).low == date(2020, 1, 31)
    assert dates({"12": 1}) is None and dates({"red": 3}) is None


def test_a_file_with_none_of_the_columns_and_the_end_as_declared(tmp_path):
    (tmp_path / "none.csv").write_text("p,q\n1,2\n3,4\n")
    found = check_rows(tmp_path / "none.csv", SCHEMA)
    assert found.rows == 2 and sum("do not have" in one.what for one in found.findings) == 9
    schema = Schema([Date("day", "2020-01-15", "2021-12-31", unit="month")], "ill", ["no", "yes"])
    rows = pd.DataFrame({"day": ["2019-01-01", "2022-01-01"], "ill": ["no", "yes"]})
    words = " ".join(one.what for one in check_rows(rows, schema).findings)
    assert "start = 2020-01-15" in words and "end = 2021-12-31" in words


def test_a_key_that_comes_late_or_never(tmp_path):
    schema = Schema([Numeric("a", 0, 9), Numeric("c", 0, 9, missing="bin"), Numeric("e", 0, 9)], "y", ["no", "yes"])
    (tmp_path / "r.jsonl").write_text('{"a": 1, "y": "no"}\n' * 101 + '{"a": 1, "y": "yes", "c": 2}\n')
    found = {one.column: one.what for one in check_rows(tmp_path / "r.jsonl", schema).findings}
    assert found == {"c": "missing values", "e": "a column that the data do not have"}
