"""Inputs: every row is read by one person's client as the tables read it in bulk."""

from __future__ import annotations

import math
from decimal import Decimal

import numpy as np
import pandas as pd
import pytest

from discreet import Categorical, Numeric, Schema
from discreet.errors import DataError
from discreet.local.bulk import People
from discreet.local.entropy import GivenSource, WordSource
from discreet.local.inputs import Person, as_square, half_of, input_of, placeless, point_features
from discreet.sources import read_rows

SCHEMA = Schema(
    features=[
        Categorical("colour", ["red", "green"], other="another", missing="category"),
        Categorical("grade", [1, 2, 30]),
        Categorical("flag", [True, False]),
        Numeric("age", 0, 100, integer=True, bins=[0, 18, 65, 100]),
        Numeric("weight", -2.5, 2.5, bins=7),
        Numeric("income", 0, 1000, bins=4, missing="bin"),
    ],
    target="ill",
    classes=["no", "yes"],
)

NOTHING = GivenSource(b"")  # where every value has a place nothing is drawn


def rows(size: int) -> pd.DataFrame:
    rng = np.random.default_rng(5)
    return pd.DataFrame(
        {
            "colour": rng.choice(["red", "green", "blue", None], size),
            "grade": rng.choice([1, 2, 30], size),
            "flag": rng.choice([True, False], size),
            "age": rng.integers(-10, 120, size),
            "weight": np.where(rng.random(size) < 0.3, np.round(rng.normal(0, 2, size), 1), rng.normal(0, 2, size)),
            "income": np.where(rng.random(size) < 0.3, np.nan, rng.normal(500, 400, size)),
            "ill": rng.choice(["no", "yes"], size),
        }
    )


def test_one_person_is_read_as_the_bulk_is() -> None:
    frame = rows(500)
    (batch,) = read_rows(frame, SCHEMA)
    people = People(SCHEMA, batch)
    everyone = np.arange(len(frame))
    numbers = [1, 4, 7, 10, 11, 12, 13, 14, 15, 16, 0, 19, 20]
    for index in numbers:
        asked = input_of(SCHEMA, index)
        answers = people.answers(asked, everyone)
        for i, row in enumerate(frame.to_dict("records")):
            alone = Person.read(SCHEMA, row, None, NOTHING).answer(SCHEMA, asked)
            assert len(alone) == len(answers) == 1 + asked.numeric
            for mine, all_of_them in zip(alone, answers, strict=True):
                assert np.array_equal(mine, all_of_them[i])


def test_the_numbering_does_not_depend_on_how_numbers_are_reported() -> None:
    assert input_of(SCHEMA, 0).kind == "class"
    assert [input_of(SCHEMA, 10 + i).kind for i in range(3)] == ["cells", "mean", "square"]
    assert input_of(SCHEMA, 10).feature == SCHEMA.features[3]
    assert [input_of(SCHEMA, 19 + i).kind for i in range(2)] == ["means", "squares"]
    assert [one.name for one in point_features(SCHEMA)] == ["age", "weight"]


@pytest.mark.parametrize("index", [-1, 2, 3, 8, 17, 18, 21, 10**9])
def test_an_input_that_the_schema_lacks_is_refused(index: int) -> None:
    with pytest.raises(DataError, match="no input number"):
        input_of(SCHEMA, index)


def test_squares_fill_their_range() -> None:
    feature = SCHEMA.numeric[0]
    half = feature.lattice.half
    assert half_of(feature, "square") == half**2
    assert {as_square(k, half) for k in (-half, half)} == {half**2}
    assert as_square(0, half) == -(half**2)


GOOD = {"colour": "red", "grade": 1, "flag": True, "age": 3, "weight": 0.5, "income": 10, "ill": "no"}


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"grade": 4}, "'grade' is '4'"),
        ({"grade": None}, "'grade' is missing"),
        ({"age": math.nan}, "'age' is missing"),
        ({"age": math.inf}, "infinite"),
        ({"age": 10**400}, "infinite"),
        ({"age": "old"}, "not a number"),
        ({"ill": "perhaps"}, "not one of the classes"),
        ({"ill": None}, "a missing value"),
    ],
)
def test_a_value_without_a_place_is_named_and_drawn(change: dict[str, object], words: str) -> None:
    (sentence,) = placeless(SCHEMA, GOOD | change)
    assert words in sentence
    drawn = [Person.read(SCHEMA, GOOD | change, None, WordSource(np.random.default_rng(i))) for i in range(40)]
    assert len({(one.label, one.cells, one.points) for one in drawn}) > 1
    known = Person.read(SCHEMA, GOOD, None, NOTHING)
    (column,) = change
    for one in drawn:
        for place, name in enumerate(SCHEMA.names):
            assert name == column or (one.cells[place], one.points[place]) == (known.cells[place], known.points[place])
        assert column == SCHEMA.target or one.label == known.label


def test_what_a_mapping_does_not_name_is_missing() -> None:
    assert Person.read(SCHEMA, {**GOOD, "colour": None}, None, NOTHING) == Person.read(
        SCHEMA, {name: value for name, value in GOOD.items() if name != "colour"}, None, NOTHING
    )
    assert len(placeless(SCHEMA, {})) == 5  # of seven: colour and income have a place for what is missing


def test_spare_cells_come_before_a_draw() -> None:
    schema = Schema(
        [
            Categorical("a", ["x"], other="?"),
            Categorical("b", ["x"], missing="category"),
            Numeric("n", 0, 1, missing="bin"),
        ],
        target="y", classes=["no", "yes"],
    )  # fmt: skip
    row = {"a": None, "b": "what", "n": "text", "y": "no"}
    assert Person.read(schema, row, None, NOTHING).cells == (1, 1, schema.features[2].missing_code)


def test_rows_come_as_mappings_or_sequences() -> None:
    expected = Person.read(SCHEMA, GOOD, None, NOTHING)
    assert Person.read(SCHEMA, list(GOOD.values()), None, NOTHING) == expected
    assert Person.read(SCHEMA, list(GOOD.values())[:-1], "no", NOTHING) == expected
    assert Person.read(SCHEMA, {k: v for k, v in GOOD.items() if k != "ill"}, "no", NOTHING) == expected
    odd = GOOD | {"weight": Decimal("0.5"), "grade": np.int64(1), "age": np.float32(3)}
    assert Person.read(SCHEMA, odd, None, NOTHING) == expected
    for bad in ("text", 5, [1, 2]):
        with pytest.raises(DataError):
            Person.read(SCHEMA, bad, None, NOTHING)
