"""One rule from a single value to its category, its number and its person, whatever type a container stores it in."""

from __future__ import annotations

import itertools
import math
from datetime import UTC, date, datetime, timedelta, timezone
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

from discreet import Categorical, Schema, SchemaError
from discreet.values import UNREADABLE, Lookup, is_missing, moment, number, person, read, same_number, text

# All representations of one value: containers turn each into another without loss.
SAME = {
    "one": [
        True,
        1,
        1.0,
        np.True_,
        np.int8(1),
        np.uint64(1),
        np.float16(1),
        np.float32(1),
        np.longdouble(1),
        Decimal("1"),
        Decimal("1.00"),
        Decimal("1E+0"),
        Fraction(1),
        1 + 0j,
        np.array(1),
        pa.scalar(1),
    ],
    "zero": [False, 0, 0.0, -0.0, np.False_, np.int64(0), np.float32(-0.0), Decimal("0"), Decimal("-0.00"), -0j],
    "seven": [7, 7.0, np.int16(7), Decimal("7.0")],
    "half": [0.5, np.float32(0.5), Decimal("0.50"), Fraction(1, 2)],
    "tenth": [0.1, Decimal("0.1"), Decimal("0.10"), np.float64(0.1), Fraction(1, 10)],
    "large": [2**53, 2**53 + 1, 2.0**53, np.int64(2**53 + 1), Decimal(2**53 + 1)],
    "infinite": [math.inf, np.float32("inf"), Decimal("Infinity")],
    "text": ["a", np.str_("a"), b"a", np.bytes_(b"a"), bytearray(b"a"), memoryview(b"a"), pa.scalar("a")],
    "digit": ["1", np.str_("1"), b"1"],
    "day": [
        date(2020, 1, 1),
        datetime(2020, 1, 1),
        np.datetime64("2020-01-01"),
        np.datetime64("2020-01-01", "ns"),
        pd.Timestamp("2020-01-01"),
        np.datetime64("2020-01", "M"),
        pa.scalar(date(2020, 1, 1)),
        moment(1577836800, 1, False),
    ],
    "time": [
        datetime(2020, 1, 1, 12, 30),
        np.datetime64("2020-01-01T12:30"),
        pd.Timestamp("2020-01-01 12:30"),
        np.datetime64("2020-01-01T12:30:00", "ns"),
        moment(1577881800 * 10**9, 10**9, False),
    ],
    "fraction": [
        datetime(2020, 1, 1, 0, 0, 0, 500000),
        np.datetime64("2020-01-01T00:00:00.5", "ms"),
        pd.Timestamp("2020-01-01 00:00:00.5"),
    ],
    "instant": [
        datetime(2020, 1, 1, 2, tzinfo=timezone(timedelta(hours=2))),
        datetime(2020, 1, 1, tzinfo=UTC),
        pd.Timestamp("2020-01-01", tz="UTC"),
        moment(1577836800, 1, True),
    ],
    "span": [timedelta(days=1), pd.Timedelta(days=1), np.timedelta64(1, "D"), np.timedelta64(86400 * 10**9, "ns")],
    "interval": [pd.Interval(0, 1), pd.Interval(0.0, 1.0)],
    "missing": [
        None,
        math.nan,
        np.nan,
        np.float32("nan"),
        Decimal("NaN"),
        Decimal("sNaN"),
        pd.NA,
        pd.NaT,
        np.datetime64("NaT"),
        np.timedelta64("NaT"),
        np.ma.masked,
        complex("nan"),
        pa.scalar(None),
    ],
}
DECLARED = [0, 1, 7, True, False, 2**53, "0", "1", "1.0", "01", "true", "True", "a", "0.1", "0.10", "0.5", "inf"]
DECLARED += ["9007199254740993", "2020-01-01", "2020-01-01 00:00:00", "2020-01-01T12:30:00", "(0, 1]", "1 day, 0:00:00"]


@pytest.mark.parametrize("name", SAME)
def test_all_representations_of_a_value_read_alike(name):
    assert len({repr(read(value)) for value in SAME[name]}) == 1


def lists():
    """Every list of up to three of the declared values that a schema accepts."""
    for size in (1, 2, 3):
        for chosen in itertools.combinations(DECLARED, size):
            if len({text(value) for value in chosen}) == size and same_number(chosen) is None:
                yield chosen


def test_all_representations_of_a_value_have_one_cell_under_every_declared_list():
    count = 0
    for chosen in lists():
        lookup = Lookup(chosen)
        for values in SAME.values():
            assert len({lookup.find(value) for value in values}) == 1, (chosen, values)
            count += 1
    assert count > 10_000


def test_a_declared_text_is_found_as_it_stands_and_every_category_by_itself():
    for chosen in lists():
        lookup = Lookup(chosen)
        assert [lookup.find(text(value)) for value in chosen] == list(range(len(chosen)))
        assert [lookup.find(value) for value in chosen if not isinstance(value, str)] == [
            code for code, value in enumerate(chosen) if not isinstance(value, str)
        ]


@pytest.mark.parametrize(
    ("chosen", "value", "code"),
    [
        (["1.0"], 1, 0),
        (["1.0", "1"], 1, 1),
        (["1.0", "1"], "1.0", 0),
        (["true"], 1, 0),
        (["True"], 1.0, 0),
        (["true", "1"], True, 1),
        (["1"], "1.0", 0),
        (["0"], "-0.0", 0),
        (["1"], "01", None),
        (["1"], " 1 ", None),
        (["1.0"], "1", None),
        ([1], "true", None),
        ([1], "1e0", None),
        ([1, "1.0"], 1.0, 0),
        ([2**53], 2**53 + 1, 0),
        (["0.10"], Decimal("0.1"), 0),
        (["2020-01-01 00:00:00"], date(2020, 1, 1), 0),
        (["2020-01-01T12:30:00"], datetime(2020, 1, 1, 12, 30), 0),
        (["2020-01-01"], "2020-01-01 00:00:00", None),
        (["[1]"], [1], None),
        (["None", "nan"], None, None),
        (["1"], np.array([1]), None),
    ],
)
def test_which_category_a_value_is(chosen, value, code):
    assert Lookup(chosen).find(value) == code


class Silent:
    def __str__(self):
        raise RuntimeError("no")


class Hostile(Silent):
    def __eq__(self, other):
        raise RuntimeError("no")

    def __hash__(self):
        raise RuntimeError("no")


@pytest.mark.parametrize("value", [Silent(), Hostile(), [1], {"a": 1}, {1}, np.array([1, 2]), 1 + 2j, np.zeros((2, 2))])
def test_what_cannot_be_read_is_no_category_and_no_number(value):
    assert read(value) is UNREADABLE and not is_missing(value)
    assert Lookup(["a", "1"], other="z").code(value) == 2
    assert math.isinf(number(value))
    assert isinstance(text(value), str)


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        *((True, 1.0), (np.int8(-3), -3.0), (2**53 + 1, 2.0**53), (10**400, math.inf), (-(10**400), -math.inf)),
        *(
            (Decimal("0.1"), 0.1),
            (Decimal("1e999"), math.inf),
            (Fraction(1, 3), 1 / 3),
            (np.float32(0.1), 0.1 + 1.490116e-9),
        ),
        *(("1_000", 1000.0), (" 7 ", 7.0), ("１", 1.0), (b"2.5", 2.5), ("nan", math.nan), ("0x10", math.inf)),
        *(
            ("", math.inf),
            ("nan(abc)", math.inf),
            (date(2020, 1, 1), math.inf),
            (timedelta(1), math.inf),
            (None, math.nan),
        ),
    ],
)
def test_the_number_of_a_value(value, expected):
    assert number(value) == pytest.approx(expected, rel=1e-12, nan_ok=True)


def test_spellings_of_one_person():
    assert {person(value) for value in (1, 1.0, "1", "01", "1.0", " 1 ", True, Decimal("1"), b"1", "+1.")} == {1.0}
    assert person(0.0) == person(-0.0) == person("-0") and math.copysign(1, person(-0.0)) == 1
    assert len({person(value) for value in ("a", "A", " a", "12e4567", "1e5", "nan", "inf", "", "1-2")}) == 9
    assert person(None) is None and person(pd.NA) is None and person(math.nan) is None


@pytest.mark.parametrize("values", [[True, 1], [0, False], [2**53, 2**53 + 1], [-(2**60), -(2**60) + 1]])
def test_categories_that_no_column_can_tell_apart_are_refused(values):
    with pytest.raises(SchemaError, match="cannot tell apart: keep one of them"):
        Categorical("a", values)
    with pytest.raises(SchemaError, match="the list of classes lists"):
        Schema([Categorical("a", [1])], "y", values)
