"""Bins by a public rule: more rows or budget give more of them, declared ones stay, and integers get no empty ones."""

from __future__ import annotations

import math
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from discreet import BudgetError, Categorical, Numeric, PrivateNB, Schema
from discreet.bayes.bins import HALVINGS, LEAST, LOW, MOST, SEVERAL, bin_count, binned, cut_low, rebinned

SCHEMA = Schema(
    [
        Numeric("amount", 0, 99_999, integer=True),
        Numeric("share", 0, 1),
        Numeric("rooms", 0, 5, integer=True, missing="bin"),
        Numeric("kept", 0, 1, bins=7),
        Numeric("edges", 0, 10, bins=[0, 1, 10]),
        Categorical("kind", ["a", "b"]),
    ],
    target="y",
    classes=[0, 1],
    id="person",
)


@given(st.floats(1, 1e9), st.floats(1e-3, 100), st.integers(1, 500), st.integers(2, 50))
def test_more_rows_and_budget_never_give_fewer_bins(rows: float, epsilon: float, features: int, classes: int) -> None:
    count = bin_count(rows, epsilon, features, classes)
    assert LEAST <= count <= MOST
    assert bin_count(2 * rows, epsilon, features, classes) >= count
    assert bin_count(rows, 2 * epsilon, features, classes) >= count
    assert bin_count(rows, epsilon, features + 1, classes) <= count


def test_fewer_classes_that_share_the_rows_have_more_bins() -> None:
    share = [binned(SCHEMA, 300, 1.0, classes=classes).features[1].cells for classes in (2, 1.5, 1)]
    assert share[0] == binned(SCHEMA, 300, 1.0).features[1].cells
    assert share == sorted(set(share))


def test_declared_bins_stay_and_all_else_of_the_schema() -> None:
    few, many = binned(SCHEMA, 30, 0.1), binned(SCHEMA, 10**6, 1)
    for made in (few, many):
        assert made.features[3:] == SCHEMA.features[3:]
        assert (made.id, made.target, made.classes) == ("person", "y", (0, 1))
        assert made.names == SCHEMA.names
        assert Schema.from_dict(made.to_dict()) == made
        assert [(f.lower, f.upper, f.missing) for f in made.numeric] == [
            (f.lower, f.upper, f.missing) for f in SCHEMA.numeric
        ]
    assert few.features[1].cells == LEAST
    assert many.features[1].cells == MOST + HALVINGS
    assert many.features[2].cells == 7  # six values and the missing
    assert SCHEMA.hash != many.hash


@given(st.integers(-50, 50), st.integers(1, 10_000_000), st.integers(2, 40), st.integers(0, 8))
def test_integers_never_get_an_empty_bin(lower: int, width: int, count: int, halvings: int) -> None:
    feature = rebinned(Numeric("x", lower, lower + width, integer=True), count, halvings)
    starts = [lower, *feature.edges[1:-1]]
    assert all(float(edge).is_integer() for edge in starts)
    assert all(a < b for a, b in pairwise(starts))
    assert starts[-1] <= lower + width
    assert feature.cells <= count + halvings


@given(st.floats(0, 50), st.floats(1e-3, 1e6), st.integers(SEVERAL, MOST))
def test_ranges_from_zero_up_get_narrower_bins_at_their_lower_end(lower: float, width: float, count: int) -> None:
    feature = Numeric("x", lower, lower + width)
    edges = np.array(cut_low(feature, count).edges)
    widths = np.diff(edges)
    assert len(widths) == count
    assert (edges[0], edges[-1]) == (feature.lower, feature.upper)
    assert (np.diff(widths) >= -1e-9 * width).all()
    assert edges[1] - edges[0] == pytest.approx(width / count**LOW, rel=1e-6)


@pytest.mark.parametrize(
    "feature",
    [
        Numeric("x", -1, 3),
        Numeric("x", 1, 1000, transform="log"),
        Numeric("x", -3, 9, integer=True),
        Numeric("x", 1, 7, integer=True),  # as many values as bins
    ],
)
def test_other_ranges_are_cut_evenly(feature: Numeric) -> None:
    assert cut_low(feature, 7) == rebinned(feature, 7)


def test_few_bins_are_even() -> None:
    assert cut_low(Numeric("x", 0, 9), SEVERAL - 1).edges == (0, 3, 6, 9)


@given(st.integers(0, 50), st.integers(1, 100_000), st.integers(2, 40))
def test_low_bins_of_integers_are_never_empty(lower: int, width: int, count: int) -> None:
    feature = cut_low(Numeric("x", lower, lower + width, integer=True), count)
    if width < count:
        assert feature.cells == width + 1
    starts = [lower, *feature.edges[1:-1]]
    assert all(float(edge).is_integer() for edge in starts)
    assert all(a < b for a, b in pairwise([*starts, lower + width + 1]))


def test_a_derived_schema_fits() -> None:
    rng = np.random.default_rng(0)
    schema = binned(Schema([Numeric("x", 0, 1), Numeric("z", 0, 1)], "y", [0, 1]), 500, 1.0)
    y = rng.integers(0, 2, 500)
    X = np.column_stack([(y + rng.random(500)) / 2, rng.random(500)])
    assert PrivateNB(1.0, schema=schema, random_state=0).fit(X, y).score(X, y) > 0.9


@pytest.mark.parametrize("rows", ["many", None, True, math.nan, math.inf])
def test_bad_numbers_of_rows_are_refused(rows: Any) -> None:
    with pytest.raises(BudgetError, match="number of rows"):
        binned(SCHEMA, rows, 1.0)


def test_without_privacy_only_the_rows_decide() -> None:
    assert binned(SCHEMA, 64, math.inf).features[1].cells == 13 + HALVINGS
