"""Schema files: columns declared together, patterns, and every way in which a schema may be passed."""

from __future__ import annotations

import json

import pytest
from sklearn.base import clone

from discreet import Categorical, Date, Numeric, PrivateClassifier, PrivateNB, Schema, SchemaError

FILE = """
target = "ill"
classes = ["no", "yes"]
id = "patient"
columns = ["patient", "lab_a", "lab_b", "lab_c", "x1", "x2", "ill"]

[[features]]
columns = ["lab_*"]
lower = 0.1
upper = 500
transform = "log"
parse = "comma; below"

[[features]]
name = "lab_b"
categories = ["low", "high"]

[[features]]
columns = ["x2", "x1"]
start = 2020-01-01
end = 2024-12-31
unit = "quarter"
"""


def test_columns_declared_together_are_features_of_their_own(tmp_path):
    (tmp_path / "s.toml").write_text(FILE)
    schema = Schema.load(tmp_path / "s.toml")
    log = {"transform": "log", "parse": "below=half; comma"}
    dates = [Date(name, "2020-01-01", "2024-12-31", unit="quarter") for name in ("x2", "x1")]
    expected = [
        Numeric("lab_a", 0.1, 500, **log),
        Numeric("lab_c", 0.1, 500, **log),
        Categorical("lab_b", ["low", "high"]),
    ]
    assert schema == Schema([*expected, *dates], "ill", ["no", "yes"], id="patient")
    assert Schema.from_dict(json.loads(json.dumps(schema.to_dict()))).hash == schema.hash


@pytest.mark.parametrize(
    "old, new, words",
    [
        ('columns = ["patient",', 'kolumns = ["patient",', "needs the names of the table's columns"),
        ('"lab_*"', '"lob_*"', "no column that is listed and not yet declared fits the pattern 'lob_*'"),
        ('"lab_*"', '"x1"', "the feature 'x1' is declared twice"),
        ('columns = ["lab_*"]', 'columns = ["lab_*"]\nname = "z"', "has both a name and columns"),
        ('columns = ["lab_*"]', 'columns = "lab_*"', "a list of names or patterns"),
    ],
)
def test_columns_that_name_nothing_are_refused(old, new, words, tmp_path):
    (tmp_path / "s.toml").write_text(FILE.replace(old, new, 1))
    with pytest.raises(SchemaError, match=words.replace("*", r"\*")):
        Schema.load(tmp_path / "s.toml")


@pytest.mark.parametrize("kind", [PrivateNB, PrivateClassifier])
@pytest.mark.parametrize("way", ["path", "text", "dict", "schema"])
def test_a_schema_is_passed_in_any_form(kind, way, tmp_path):
    schema = Schema([Categorical("a", ["0", "1"])], "y", [0, 1])
    schema.save(path := tmp_path / "s.toml")
    given = {"path": path, "text": str(path), "dict": schema.to_dict(), "schema": schema}[way]
    estimator = clone(kind(schema=given, epsilon=1.0, random_state=0))
    assert estimator.plan().schema == schema and estimator.get_params()["schema"] == schema
    X, y = [["0"], ["1"]] * 20, [0, 1] * 20
    assert clone(estimator).fit(X, y).model_.schema.names == ("a",)


def test_a_schema_that_is_none_says_why():
    with pytest.raises(SchemaError, match="cannot read the schema no-such"):
        PrivateNB(schema="no-such.toml").plan()
    with pytest.raises(SchemaError, match="the schema lacks 'classes'"):
        PrivateNB(schema={"target": "y"}).plan()
    with pytest.raises(SchemaError, match="a schema is a Schema, the path of its file or a dictionary, not int"):
        PrivateNB(schema=3).plan()
