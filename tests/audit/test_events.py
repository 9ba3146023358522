"""Views, cells and events: exact on every double, and the same after a trip through JSON."""

import json
import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from discreet.audit.events import Event, cut
from discreet.audit.projections import (
    Projection,
    Score,
    cell_index,
    low_bits,
    lowest_bit,
    row_code,
    view_from_dict,
)
from discreet.audit.search import find_events


@given(st.floats(allow_nan=False, allow_infinity=False).filter(lambda x: x != 0))
def test_lowest_bit_against_exact_fractions(x):
    place = int(lowest_bit(np.array([x]))[0])
    odd = Fraction(x) / Fraction(2) ** place
    assert odd.denominator == 1 and odd.numerator % 2 == 1


def test_lowest_bit_sets_special_values_apart():
    assert lowest_bit(np.array([0.0, -0.0, np.inf, np.nan])).tolist() == [2000.0, 2001.0, 3000.0, 3000.0]


def test_low_bits_are_those_of_the_double():
    x = np.array([1.0, np.nextafter(1.0, 2.0), np.nextafter(1.0, 0.0)])
    assert low_bits(x, 3).tolist() == [0.0, 1.0, 7.0]


def test_row_code_sees_every_bit_and_column():
    base = np.array([[1.0, 2.0]])
    others = [[np.nextafter(1.0, 2.0), 2.0], [1.0, np.nextafter(2.0, 0.0)], [2.0, 1.0], [1.0, -2.0]]
    assert len({row_code(base)[0], *row_code(np.array(others)).tolist()}) == 5


def test_cells_tell_edges_from_gaps():
    values = np.array([-5.0, 0.0, 0.5, 1.0, 9.0, np.nan, -np.inf, np.inf])
    assert cell_index(values, np.array([0.0, 1.0])).tolist() == [0, 1, 2, 3, 4, 5, 0, 4]


@pytest.mark.parametrize(
    ("chosen", "words"),
    [
        ((0, 1), "x <= 0"),
        ((0,), "x < 0"),
        ((3, 4), "x >= 1"),
        ((1,), "x = 0"),
        ((1, 2, 3), "x in [0, 1]"),
        ((2,), "x in (0, 1)"),
        ((0, 5), "x < 0 or is missing"),
        ((0, 4), "x < 0 or > 1"),
        ((5,), "x is missing"),
        ((), "x never"),
    ],
)
def test_words_and_membership_agree(chosen, words):
    event = Event(Projection("coordinate", (0,)), (0.0, 1.0), chosen)
    assert event.words(["x"]) == words
    rows = np.array([[-1.0], [0.0], [0.5], [1.0], [2.0], [np.nan]])
    assert np.flatnonzero(event.holds(rows)).tolist() == list(chosen)


def test_views_compute_what_they_say():
    rows = np.array([[1.0, 5.0, np.nan], [2.0, -3.0, 4.0]])
    assert Projection("difference", (0, 1)).apply(rows).tolist() == [-4.0, 5.0]
    assert Projection("sum", (0, 1)).apply(rows).tolist() == [6.0, -1.0]
    assert Projection("missing").apply(rows).tolist() == [1.0, 0.0]
    assert Projection("largest").apply(rows)[1] == 4.0 and Projection("smallest").apply(rows)[1] == -3.0
    with pytest.raises(ValueError):
        Projection("no such").apply(rows)


def test_events_survive_json_bit_for_bit():
    rows = np.random.default_rng(0).normal(size=(500, 2))
    part = Projection("coordinate", (0,))
    score = Score((part, Projection("low bits", (1,), 3)), ((0.1,), (1.0, 2.0)), ((0.1, 0.2, 0.3, 0.4), (1.0,) * 6))
    for view in (part, score):
        event = Event(view, (0.1 + 0.2, 1.1, math.inf), (1, 2, 7))
        again = Event.from_dict(json.loads(json.dumps(event.to_dict())))
        assert again == event
        assert np.array_equal(again.holds(rows), event.holds(rows))
        assert view_from_dict(view.to_dict()) == view


def test_cut_keeps_atoms_and_tails():
    values = np.concatenate([np.random.default_rng(0).normal(size=5000), np.full(50, 0.123)])
    edges = cut(values)
    assert 0.123 in edges and len(edges) < 600
    assert (values > edges[-1]).sum() == 0 and (values >= edges[-3]).sum() < 20
    assert cut(np.array([3.0, 1.0, np.nan, 3.0])).tolist() == [1.0, 3.0]
    assert cut(np.array([np.nan])).size == 0


def test_search_finds_an_atom_that_only_one_side_has():
    rng = np.random.default_rng(0)
    left, right = rng.normal(size=(4000, 2)), rng.normal(size=(4000, 2))
    left[rng.random(4000) < 0.02, 1] = 0.25
    event, _ = find_events(left, right, delta=0.0, alpha=0.01)
    # P(no hit in a fresh 2 % sample of 4000) < 1e-35.
    fresh = rng.normal(size=(4000, 2))
    assert event.holds(fresh).mean() < 0.01
    fresh[:, 1] = 0.25
    assert event.holds(fresh).all()


def test_search_of_constant_outputs_is_no_error():
    same = np.ones((100, 1))
    event, other = find_events(same, same, delta=0.0, alpha=0.01)
    assert event.holds(same).sum() == other.holds(same).sum()


def test_classifier_beats_every_single_view():
    # Four coordinates that each tell a little: only their combination tells a lot.
    rng = np.random.default_rng(1)

    def draw(size):
        # Sixteenths, so that no low-order bit tells the sides apart.
        return np.round(16 * rng.normal(size=(size, 4))) / 16

    signs = np.array([1.0, -1.0, 1.0, -1.0])
    event, _ = find_events(draw(20_000) + signs, draw(20_000), delta=0.0, alpha=0.01)
    p, q = event.holds(draw(50_000) + signs).mean(), event.holds(draw(50_000)).mean()
    assert isinstance(event.view, Score)
    # At p = 2 %, one coordinate has a log ratio of 2.9 at best, a difference 4.3, the signed sum 6.7.
    assert p > 0.02 and math.log(p / max(q, 1e-5)) > 4.4
