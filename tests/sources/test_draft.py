"""A draft reads off the data what a person then has to replace by public knowledge, and says so."""

from __future__ import annotations

import sqlite3

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.feather as feather
import pytest

from discreet import Categorical, DataError, Date, Numeric, PrivateNB, Schema, SchemaError, Table
from discreet.sources.draft import WARNING, draft

SIZE = 60


@pytest.fixture(scope="module")
def people():
    rng = np.random.default_rng(1)
    return pd.DataFrame(
        {
            "name": [f"person number {i}" for i in range(SIZE)],
            "colour": rng.choice(["red", "green"], SIZE),
            "flag": rng.choice(["yes", "no"], SIZE),
            "code": rng.choice(["007", "010"], SIZE),
            "stage": rng.integers(1, 5, SIZE),
            "age": np.arange(SIZE) + 20,
            "weight": np.round(rng.normal(70, 10, SIZE), 2),
            "note": [None] * SIZE,
            "ill": rng.choice(["no", "yes"], SIZE),
        }
    )


def write(people, folder, kind):
    if kind == "csv":
        people.to_csv(folder / "d.csv", index=False)
        return folder / "d.csv"
    if kind == "parquet":
        people.to_parquet(folder / "d.parquet")
        return folder / "d.parquet"
    if kind == "arrow":
        feather.write_feather(people, folder / "d.arrow")
        return folder / "d.arrow"
    if kind == "polars":
        return pl.from_pandas(people)
    if kind == "pyarrow":
        return pa.Table.from_pandas(people, preserve_index=False)
    if kind == "sqlite":
        connection = sqlite3.connect(":memory:")
        people.to_sql("people", connection, index=False)
        return Table(connection, "people")
    return people


KINDS = ["csv", "parquet", "arrow", "pandas", "polars", "pyarrow", "sqlite"]


@pytest.mark.parametrize("kind", KINDS)
def test_a_draft_of_any_source(kind, people, tmp_path):
    found = draft(write(people, tmp_path, kind), target="ill")
    schema = found.schema
    assert schema.inferred and schema.target == "ill" and schema.classes == ("no", "yes")
    features = {feature.name: feature for feature in schema.features}
    assert set(features) == {"colour", "flag", "code", "stage", "age", "weight"}
    assert features["colour"].categories == ("green", "red")
    assert features["flag"].categories == ("no", "yes")
    assert features["code"].categories == ("007", "010")
    assert features["stage"].categories == (1, 2, 3, 4)
    assert isinstance(features["age"], Numeric) and features["age"].integer
    assert features["age"].lower <= 20 and features["age"].upper >= 79
    weight = features["weight"]
    assert isinstance(weight, Numeric) and not weight.integer
    assert weight.lower <= people.weight.min() and people.weight.max() <= weight.upper
    assert weight.upper - weight.lower < 1.1 * (people.weight.max() - people.weight.min())
    assert "identifier" in found.left_out["name"] and "no values" in found.left_out["note"]
    assert set(found.left_out) == {"name", "note"}


@pytest.mark.parametrize("kind", KINDS)
def test_a_draft_fits_the_data_it_was_read_off(kind, people, tmp_path):
    data = write(people, tmp_path, kind)
    schema = draft(data, target="ill").schema
    schema.save(tmp_path / "s.toml")
    fitted = PrivateNB(schema=Schema.load(tmp_path / "s.toml"), epsilon=1.0).fit(data)
    assert any("read off the data" in assumption for assumption in fitted.certificate_.assumptions)
    assert set(fitted.predict(data)) <= {"no", "yes"} and len(fitted.predict(data)) == SIZE
    declared = Schema(features=schema.features, target="ill", classes=schema.classes)
    certificate = PrivateNB(schema=declared, epsilon=1.0).fit(data).certificate_
    assert not any("read off the data" in assumption for assumption in certificate.assumptions)


def test_the_warning_says_that_a_draft_is_a_disclosure():
    assert "discloses" in WARNING and "Replace" in WARNING and "publicly known" in WARNING


def test_infer_is_the_same_draft(people):
    assert Schema.infer(people, target="ill") == draft(people, target="ill").schema
    apart = Schema.infer(people.drop(columns="ill"), people.ill)
    assert apart.target == "target" and apart.classes == ("no", "yes") and "ill" not in apart.names


def test_an_array_gets_names_by_position():
    X = np.column_stack([np.arange(30.0), np.tile([0.0, 1.0, np.nan], 10)])
    schema = draft(X, np.tile([3, 1], 15)).schema
    assert schema.names == ("x0", "x1") and schema.classes == (1, 3)
    assert schema.features[1].missing == "bin"
    assert PrivateNB(schema=schema).fit(X, np.tile([3, 1], 15)).predict(X).shape == (30,)


def test_missing_values_get_a_place_of_their_own(tmp_path):
    (tmp_path / "d.csv").write_text("c,x,y\na,1.5,n\n,2.5,p\nb,,n\n")
    schema = draft(tmp_path / "d.csv", target="y").schema
    assert [feature.missing for feature in schema.features] == ["category", "bin"]
    assert PrivateNB(schema=schema).fit(tmp_path / "d.csv").model_ is not None


def test_types_read_off_a_csv(tmp_path):
    rows = "\n".join(f"{i},{i / 2},0{i % 7},1e{i % 3},{'true' if i % 2 else 'false'},{i % 2}" for i in range(20))
    (tmp_path / "d.csv").write_text("whole,half,padded,power,flag,y\n" + rows + "\n")
    schema = draft(tmp_path / "d.csv", target="y").schema
    features = {feature.name: feature for feature in schema.features}
    assert features["whole"].integer and not features["half"].integer
    assert features["padded"].categories == tuple(f"0{i}" for i in range(7))
    assert isinstance(features["power"], Numeric) and features["power"].upper >= 100
    assert features["flag"].categories == ("false", "true")
    assert schema.classes == (0, 1)


def test_booleans_and_dates(tmp_path):
    data = pd.DataFrame({"b": [True, False], "d": pd.to_datetime(["2020-01-01", "2021-01-01"]), "y": [1.0, 2.0]})
    found = draft(data, target="y")
    flag, day = found.schema.features
    assert flag == Categorical("b", [False, True]) and found.schema.classes == (1, 2)
    assert day == Date("d", "2020-01-01", "2021-01-31", unit="week") and "public days" in found.seen["d"][0]


@pytest.mark.parametrize(
    "values",
    [
        np.arange(20) + 1_700_000_000_000_001,
        np.arange(20) + 1_700_000_000_000_000_001,
        1e12 + np.arange(20) / 100,
        np.arange(20) * 1e-300,
        np.array([-0.001, 1e9] * 10),
        np.full(20, 7.5),
        np.full(20, 0.0),
        np.array([-1e300, 1e300] * 10),
        np.linspace(0.1, 0.3, 20).astype(np.float32),
    ],
    ids=[
        "sixteen digits",
        "nanoseconds",
        "close floats",
        "tiny",
        "wide",
        "constant",
        "zeros",
        "huge",
        "single precision",
    ],
)
def test_the_drafted_bounds_hold_the_data(values):
    feature = draft(pd.DataFrame({"x": values, "y": [0, 1] * 10}), target="y").schema.features[0]
    assert feature.lower <= values.min() and values.max() <= feature.upper
    if float(values.min()) < float(values.max()):
        points = [feature.lattice.point(float(v)) for v in (values.min(), values.max())]
        assert points[0] < points[1]


@pytest.mark.parametrize("name", ["a{}", "{}", "a b", 'q"uote', "per%cent", "se;mi", "SELECT"])
def test_awkward_column_names(name, tmp_path):
    data = pd.DataFrame({name: np.arange(20.0), "y": [0, 1] * 10})
    assert draft(data, target="y").schema.names == (name,)
    data.to_csv(tmp_path / "d.csv", index=False)
    assert draft(tmp_path / "d.csv", target="y").schema.names == (name,)


@pytest.mark.parametrize(
    ("data", "options", "error", "words"),
    [
        ({"x": [1.0, 2.0], "y": [0, 1]}, {"target": "z"}, DataError, "no column 'z' to serve as the target"),
        ({"x": [1.0, 2.0], "ill": [0, 1]}, {"target": "il"}, DataError, "target: did you mean 'ill'?"),
        ({"x": [1.0, 2.0], "y": [0, 0]}, {"target": "y"}, SchemaError, "at least two classes"),
        ({"x": [1.0, np.inf], "y": [0, 1]}, {"target": "y"}, DataError, "column 'x' holds an infinite value"),
        ({"y": [0, 1]}, {"target": "y"}, DataError, "no column could serve as a feature"),
        ({"x": [None, None], "y": [0, 1]}, {"target": "y"}, DataError, "no column could serve as a feature"),
        ({"x": [], "y": []}, {"target": "y"}, DataError, "no rows"),
        ({"x": range(1500), "y": range(1500)}, {"target": "y"}, DataError, "holds numbers .more than 1,000"),
        ({"x": [1.0, 2.0], "y": [0.5, 1.5]}, {"target": "y"}, (DataError, SchemaError), "class"),
    ],
)
def test_data_that_cannot_be_drafted(data, options, error, words):
    with pytest.raises(error, match=words):
        draft(pd.DataFrame(data), **options)


def test_numbers_that_cannot_be_classes_are_seen_among_texts(tmp_path):
    ages = [*map(str, range(18, 95)), "unknown", "n/a"] * 3
    pd.DataFrame({"x": range(len(ages)), "age": ages}).to_csv(tmp_path / "d.csv", index=False)
    with pytest.raises(DataError, match="79 different ones"):
        draft(tmp_path / "d.csv", target="age")


def test_a_line_that_is_too_long_is_said_to_be(tmp_path):
    (tmp_path / "d.csv").write_text("a,y\n" + "x" * 3_000_000 + ",1\n")
    with pytest.raises(DataError, match="CSV Error on Line: 2 Maximum line size"):
        draft(tmp_path / "d.csv", target="y")


def test_a_table_of_names_alone_says_so(tmp_path):
    (tmp_path / "d.csv").write_text("a,b,y\n")
    with pytest.raises(DataError, match="no rows to draft"):
        draft(tmp_path / "d.csv", target="y")


def test_texts_that_differ_in_case_alone_are_pointed_out(tmp_path):
    sexes = ["m", "M", "f", "f", "m "] * 20
    pd.DataFrame({"sex": sexes, "on": ["Yes", "no"] * 50, "y": [0, 1] * 50}).to_csv(tmp_path / "d.csv", index=False)
    seen = draft(tmp_path / "d.csv", target="y").seen
    assert "'M' and 'm' and 'm ' differ in case or spaces alone: each is a category here" in seen["sex"]
    assert not any("differ" in line for line in seen["on"])


def test_labels_that_are_none_are_refused():
    with pytest.raises(DataError, match="every row needs a class"):
        draft(np.ones((2, 1)), np.array([0, np.nan]))
    with pytest.raises(DataError, match="continuous"):
        draft(np.ones((3, 1)), np.array([0.1, 0.5, 0.9]))


def test_private_nb_may_infer_but_says_so(people):
    X = people[["colour", "age"]]
    fitted = PrivateNB(schema="infer").fit(X, people.ill)
    assert any("read off the data" in assumption for assumption in fitted.certificate_.assumptions)
