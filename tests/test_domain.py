"""Values become codes and lattice points by rules that do not depend on where they come from."""

from __future__ import annotations

import math
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from discreet.domain import DEFAULT_HALF, MAX_HALF, Lattice, Lookup, bin_cuts, bin_starts, exact, text


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (1, "1"),
        (1.0, "1"),
        ("1", "1"),
        (Decimal("1.0"), "1"),
        (np.int8(1), "1"),
        (np.uint64(2**63), str(2**63)),
        (np.float32(1), "1"),
        (True, "true"),
        (np.False_, "false"),
        (0.5, "0.5"),
        (Decimal("0.5"), "0.5"),
        (-0.0, "0"),
        (1e20, "100000000000000000000"),
        (b"ab", "ab"),
        (" 1", " 1"),
        (math.inf, "inf"),
    ],
)
def test_the_text_of_a_category(value, expected):
    assert text(value) == expected


@pytest.mark.parametrize("value", [1, 1.0, "1", "01", "1.0", " 1 ", "+1", True, np.int16(1), np.float32(1), Decimal(1)])
def test_an_integer_category_is_found_in_any_type(value):
    assert Lookup([0, 1, 2]).find(value) == 1


@pytest.mark.parametrize("value", [3, 1.5, "one", "", "true", "1.5", "1e0", None, -1, "-1", math.nan])
def test_an_integer_category_is_not_found_for_another_value(value):
    assert Lookup([0, 1, 2]).find(value) is None


def test_negative_zero_and_padded_zero_are_zero():
    lookup = Lookup([-7, 0])
    assert [lookup.find(value) for value in ("-0", "00", "0.0", 0.0, -0.0, "-7", "-07", -7.0)] == [
        1,
        1,
        1,
        1,
        1,
        0,
        0,
        0,
    ]


@pytest.mark.parametrize(
    ("value", "code"), [(True, 1), (False, 0), (1, 1), (0, 0), (1.0, 1), ("true", 1), ("False", 0)]
)
def test_boolean_categories(value, code):
    assert Lookup([False, True]).find(value) == code


def test_text_categories_stay_texts():
    lookup = Lookup(["1", "01", "yes"])
    assert [lookup.find(value) for value in ("1", 1, 1.0, "01", "yes")] == [0, 0, 0, 1, 2]
    assert lookup.find("1.0") == 0 and lookup.find(True) == 0 and lookup.find("YES") is None


def test_the_other_bucket_takes_what_is_not_listed_and_its_own_name():
    lookup = Lookup(["a", "b"], other="z")
    assert [lookup.code(value) for value in ("a", "b", "z", "c", 7)] == [0, 1, 2, 2, 2]
    assert lookup.find("c") is None
    assert Lookup(["a"]).code("c") is None


def test_exact_is_the_fraction_a_person_means():
    assert exact(0.1) == Fraction(1, 10)
    assert exact("1/3") == Fraction(1, 3)
    assert exact(np.float64(0.3)) == Fraction(3, 10)
    with pytest.raises(ValueError, match="nan"):
        exact(math.nan)


def test_the_default_lattice_has_65536_steps_per_half_range():
    lattice = Lattice.of(-1.0, 3.0)
    assert (lattice.middle, lattice.half, lattice.step) == (1.0, DEFAULT_HALF, Fraction(2, DEFAULT_HALF))
    assert DEFAULT_HALF == 2**16


@pytest.mark.parametrize("upper", range(1, 40))
def test_integers_are_lattice_points_and_half_is_even(upper):
    lattice = Lattice.of(0.0, float(upper), integer=True)
    assert lattice.half % 2 == 0
    points = [lattice.point(value) for value in range(upper + 1)]
    assert points[0] == -lattice.half and points[-1] == lattice.half
    assert len(set(points)) == upper + 1
    assert [lattice.value(point) for point in points] == list(range(upper + 1))


def test_a_step_is_kept_as_one_of_its_multiples():
    lattice = Lattice.of(0.0, 1.0, step=0.1)
    assert (Fraction(1, 10) / lattice.step).denominator == 1
    assert [lattice.value(lattice.point(k / 10)) for k in range(11)] == [k / 10 for k in range(11)]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((0.0, 1.0, False, 0.3), "must divide"),
        ((0.0, 1.0, False, 1e-9), "choose a larger one"),
        ((-1e308, 1e308), "too far apart"),
        ((0.0, 5e-324), "too close together"),
    ],
)
def test_impossible_lattices_are_refused(arguments, message):
    with pytest.raises(ValueError, match=message):
        Lattice.of(*arguments)


def test_an_explicit_step_may_make_as_many_points_as_allowed_and_no_more():
    assert Lattice.of(0.0, float(2 * MAX_HALF), step=1.0).half == MAX_HALF
    with pytest.raises(ValueError, match="lattice points"):
        Lattice.of(0.0, float(2 * MAX_HALF + 4), step=1.0)


def test_a_wide_integer_range_falls_back_to_the_default_lattice():
    lattice = Lattice.of(0.0, 2.0**60, integer=True)
    assert lattice.half == DEFAULT_HALF
    assert lattice.point(0) == -DEFAULT_HALF and lattice.point(2.0**60) == DEFAULT_HALF


@pytest.mark.parametrize("value", [1e9, 1e308, -1e308])
def test_any_finite_value_is_clipped_to_the_ends(value):
    lattice = Lattice.of(-1.0, 1.0)
    assert lattice.point(value) == math.copysign(lattice.half, value)


bounds = st.tuples(st.integers(-(10**6), 10**6), st.integers(1, 10**6)).map(lambda b: (b[0] / 8, (b[0] + b[1]) / 8))


@given(bounds, st.floats(allow_nan=False, allow_infinity=False, width=32))
def test_every_value_has_a_lattice_point_in_range(limits, value):
    lattice = Lattice.of(*limits)
    assert -lattice.half <= lattice.point(value) <= lattice.half


@given(bounds, st.integers(-DEFAULT_HALF, DEFAULT_HALF))
def test_points_and_values_are_inverse(limits, point):
    lattice = Lattice.of(*limits)
    assert lattice.point(lattice.value(point)) == point
    assert limits[0] <= lattice.value(point) <= limits[1]


@given(bounds, st.integers(0, 10**7))
def test_points_are_symmetrical_about_the_middle(limits, eighths):
    lattice = Lattice.of(*limits)
    away = eighths / 16
    assert lattice.point(lattice.middle + away) == -lattice.point(lattice.middle - away)
    assert lattice.point(lattice.middle) == 0


@given(bounds, st.lists(st.integers(0, 10**6), min_size=2, max_size=20))
def test_points_keep_the_order_of_values(limits, eighths):
    lattice = Lattice.of(*limits)
    points = [lattice.point(limits[0] + value / 64) for value in sorted(eighths)]
    assert points == sorted(points)


def cell(lattice, cuts, value):
    return sum(cut <= lattice.point(value) for cut in cuts)


@given(bounds, st.integers(1, 300), st.booleans())
def test_a_value_on_an_edge_opens_its_bin(limits, bins, integer):
    if integer:
        limits = (math.floor(limits[0]), math.floor(limits[0]) + math.ceil(limits[1] - limits[0]))
    low, high = map(float, limits)
    lattice = Lattice.of(low, high, integer)
    starts = bin_starts(low, high, integer, bins)
    cuts = bin_cuts(lattice, starts)
    assert [cell(lattice, cuts, start) for start in (low, *starts)] == list(range(len(starts) + 1))
    assert cell(lattice, cuts, high) == len(starts)
    assert cell(lattice, cuts, low - 1) == 0 and cell(lattice, cuts, high + 1) == len(starts)


@given(st.integers(-1000, 1000), st.integers(1, 500), st.integers(1, 40))
def test_integer_bins_hold_almost_equally_many_integers(low, width, bins):
    lattice = Lattice.of(float(low), float(low + width), integer=True)
    cuts = bin_cuts(lattice, bin_starts(float(low), float(low + width), True, bins))
    sizes = np.bincount([cell(lattice, cuts, value) for value in range(low, low + width + 1)])
    assert len(sizes) == min(bins, width + 1)
    assert sizes.max() - sizes.min() <= 1


@pytest.mark.parametrize(
    ("edges", "message"),
    [
        ([0.0, 0.5], "from lower to upper"),
        ([0.1, 1.0], "from lower to upper"),
        ([0.0], "from lower to upper"),
        ([0.0, 0.6, 0.5, 1.0], "must rise"),
        ([0.0, 0.5, 0.5, 1.0], "must rise"),
        ([0.0, math.nan, 1.0], "must rise"),
    ],
)
def test_malformed_edges_are_refused(edges, message):
    with pytest.raises(ValueError, match=message):
        bin_starts(0.0, 1.0, False, edges)


def test_edges_closer_than_a_lattice_step_are_refused():
    lattice = Lattice.of(0.0, 1.0)
    with pytest.raises(ValueError, match="use fewer bins"):
        bin_cuts(lattice, [0.5, 0.5 + 1e-9])
    with pytest.raises(ValueError, match="use fewer bins"):
        bin_cuts(lattice, [1e-9])
