"""Blocks: every row's weights add up to exactly one in every block, whatever the source delivers."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from discreet import Categorical, DataError, Numeric, Schema, sources
from discreet.additive import blocks as room
from discreet.additive.blocks import UNIT, Blocks, Level, between, check_blocks, place_knots
from discreet.sources import GONE


def dense(blocks, held):
    codes, values = blocks.encode(held)
    out = np.zeros((len(codes), blocks.columns), np.int64)
    for j in range(codes.shape[1]):
        np.add.at(out, (np.arange(len(codes)), codes[:, j].astype(int)), values[:, j].astype(np.int64))
    out[:, -1] = values[:, -1]
    return out


@pytest.mark.parametrize("numeric", ["smooth", "binned"])
def test_every_block_adds_up_to_one(schema, frame, numeric):
    blocks = place_knots(schema, 5, finer=True, numeric=numeric)
    blocks = Blocks(schema, blocks.knots, ((0, 1), (0, 3), (2, 4)))
    whole = dense(blocks, sources.open(frame, schema).held().columns)
    assert (whole >= 0).all()
    for start, stop in zip(blocks.starts[:-1], blocks.starts[1:], strict=True):
        assert (whole[:, start:stop].sum(axis=1) == UNIT).all()
    assert (whole[:, -1] == UNIT).all()


def test_a_line_through_the_knots():
    """Weights interpolate: Σ weight·knot is the value, to half a unit."""
    schema = Schema([Numeric("x", 0, 8)], "y", [0, 1])
    blocks = place_knots(schema, 4, finer=True)
    values = np.array([0.0, 0.01, 0.5, 1.99, 2.0, 5.3, 8.0, 11.0, -3.0])
    held = sources.open(values[:, None], schema, np.zeros(9, int)).held().columns
    lattice = schema.features[0].lattice
    knots = np.array([lattice.value(k) for k in blocks.knots[0]])
    assert knots[0] == 0 and knots[-1] == 8 and {2.0, 4.0, 6.0, 1.0, 0.5, 2**-5} <= set(knots)
    shown = dense(blocks, held)[:, :-1] / UNIT @ knots
    assert np.abs(shown - np.clip(values, 0, 8)).max() < 8 / UNIT + 1e-4
    place, right = between(np.array([-(1 << 16), 1 << 16]), blocks.knots[0])
    assert place[0] == 0 and right[0] == 0 and right[1] == UNIT


@pytest.mark.parametrize("numeric", ["smooth", "binned"])
def test_tables_have_what_is_found_of_every_point(schema, numeric, monkeypatch):
    """All points of each lattice, and missing ones, of many rows and of few."""
    halves = [getattr(getattr(one, "lattice", None), "half", 0) for one in schema.features]
    number = next(j for j, half in enumerate(halves) if half)
    levels = (Level(3, (-5, 40), (1, 0, 1)), Level(number, (7,), (0, 1)))
    blocks = place_knots(schema, 20, finer=True, numeric=numeric, levels=levels)
    blocks = replace(blocks, pairs=((0, 2), (1, 3)))
    size, rng = 2 * max(halves) + 1, np.random.default_rng(0)
    held = [
        np.resize(np.arange(-half, half + 1), size).astype(np.int32) if half else rng.integers(0, 3, size)
        for half in halves
    ]
    held[3][rng.random(size) < 0.1] = GONE
    assert size > room.SMALL and halves[3]
    codes, values = blocks.encode(held)
    monkeypatch.setattr(room, "SMALL", size + 1)
    plain = blocks.encode(held)
    assert np.array_equal(codes, plain[0]) and np.array_equal(values, plain[1])
    assert not np.array_equal(codes[:, 0], codes[:, -1])


def test_integers_have_knots_on_integers_and_declared_bins_are_kept():
    features = [
        Numeric("i", 0, 3, integer=True),
        Numeric("wide", 0, 1001, integer=True),
        Numeric("edges", 0, 10, bins=[0, 1, 5, 10]),
        Numeric("few", 0, 10, bins=4),
    ]
    blocks = place_knots(Schema(features, "y", [0, 1]), 7, finer=True)
    values = [[f.lattice.value(k) for k in knots] for f, knots in zip(features, blocks.knots, strict=True)]
    assert values[0] == [0, 1, 2, 3]
    assert all(v == int(v) for v in values[1])
    assert values[2] == pytest.approx([0, 1, 5, 10], abs=1e-3)
    assert values[3] == pytest.approx([0, 2.5, 5, 7.5, 10], abs=1e-3)


def test_missing_and_other_have_columns_of_their_own():
    schema = Schema([Numeric("x", 0, 1, missing="bin"), Categorical("c", ["a"], other="more")], "y", [0, 1])
    blocks = place_knots(schema, 2)
    frame = pd.DataFrame({"x": [np.nan, 0.5, 1.0], "c": ["a", "b", "zzz"], "y": [0, 1, 1]})
    whole = dense(blocks, sources.open(frame, schema).held().columns) // UNIT
    assert whole.tolist() == [[0, 0, 0, 1, 1, 0, 1], [0, 1, 0, 0, 0, 1, 1], [0, 0, 1, 0, 0, 1, 1]]
    pair = Blocks(schema, blocks.knots, ((0, 1),))
    assert (dense(pair, sources.open(frame, schema).held().columns)[:, 6:-1].argmax(axis=1) == [8, 5, 7]).all()


def test_bad_values_are_refused():
    schema = Schema([Numeric("x", 0, 1), Categorical("c", ["a", "b"])], "y", [0, 1])
    good = pd.DataFrame({"x": [0.5, 0.1], "c": ["a", "b"], "y": [0, 1]})
    for column, value in (("x", np.nan), ("x", np.inf), ("c", "z"), ("c", None), ("y", 7)):
        bad = good.astype(object)
        bad.loc[1, column] = value
        with pytest.raises(DataError, match=f"'{column}'"):
            sources.open(bad, schema).held()


def test_features_of_one_cell_say_nothing():
    schema = Schema([Categorical("c", ["a"]), Categorical("d", ["a", "b"])], "y", [0, 1])
    assert place_knots(schema, 2).singles == (1,)
    lonely = place_knots(Schema([Categorical("c", ["a"])], "y", [0, 1]), 2)
    assert lonely.singles == (0,) and lonely.columns == 2


def test_blocks_of_files_are_checked():
    schema = Schema([Numeric("x", 0, 1), Categorical("c", ["a", "b"])], "y", [0, 1])
    half = schema.features[0].lattice.half
    check_blocks(Blocks(schema, ((-half, 0, half), None), ((0, 1),)))
    for knots, pairs in (
        (((-half, half),), ()),
        (((-half, 0), None), ()),
        (((-half, 0, 0, half), None), ()),
        (((-half, 0.5, half), None), ()),
        ((None, (0, 1)), ()),
        ((None, None), ((1, 0),)),
        ((None, None), ((0, 2),)),
        ((None, None), ((0, 1), (0, 1))),
    ):
        with pytest.raises(ValueError):
            check_blocks(Blocks(schema, knots, pairs))
