"""The public grid: every value has its octave, whatever its size, and cells cover the limits without gaps."""

from itertools import pairwise

import numpy as np
import pytest

from discreet import Numeric
from discreet.bounds.grid import PARTS, Octaves

FEATURES = [
    Numeric("x", bounds="private"),
    Numeric("x", bounds="private", integer=True),
    Numeric("x", 0, 1e9),
    Numeric("x", -5, 12, integer=True),
    Numeric("x", 1900, 2030, integer=True),
    Numeric("x", -1e-6, 0),
    Numeric("x", 1000, 1001),
]


@pytest.mark.parametrize("feature", FEATURES, ids=str)
def test_cells_hold_their_values(feature):
    grid = Octaves.of(feature)
    spans = grid.spans()
    assert all(a[1] <= b[0] + (1 if feature.integer else grid.anchor + 2.0**grid.low) for a, b in pairwise(spans))
    rng = np.random.default_rng(0)
    values = grid.anchor + np.ldexp(rng.uniform(-1, 1, 4000), rng.integers(-30, 64, 4000))
    values = np.clip(np.rint(values) if feature.integer else values, feature.lower, feature.upper)
    codes = grid.codes(values)
    assert codes.min() >= 0 and codes.max() < grid.size * PARTS
    for value, cell in zip(values.tolist(), (codes // PARTS).tolist(), strict=True):
        low, high = spans[cell]
        if cell == grid.below:
            assert abs(value - grid.anchor) < 2.0**grid.low
        elif grid.anchor in (0.0, feature.lower) and value > grid.anchor:
            assert low <= value < high or value == feature.upper
        else:
            assert low <= value <= high


def test_cells_rise_with_values():
    for feature in FEATURES:
        grid = Octaves.of(feature)
        values = np.unique(np.clip(np.linspace(-3000, 3000, 999), feature.lower, feature.upper))
        values = np.unique(np.rint(values)) if feature.integer else values
        assert (np.diff(grid.codes(values)) >= 0).all()


def test_an_octave_of_few_integers_has_as_many_parts():
    grid = Octaves.of(Numeric("x", 0, 1000, integer=True))
    assert [grid.most_parts(cell) for cell in range(5)] == [1, 1, 2, 4, 8] and grid.most_parts(grid.size - 1) == PARTS
    counts = grid.count(np.array([0.0, 5.0, 5.0, 1000.0]))
    assert counts.sum() == 4 and counts.reshape(-1, PARTS).sum(axis=1)[3] == 2
