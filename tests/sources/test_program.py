"""Programs: every way to a bin is the rule of the feature, at every point of its lattice."""

from __future__ import annotations

import numpy as np
import pytest

from discreet.schema import Numeric
from discreet.sources.columns import GONE, Numbers, Points
from discreet.sources.program import LINE, Program, ahead, even_bins
from discreet.sources.sweep import CHUNK, EVEN, RULE, TILE

FEATURES = {
    "even": Numeric("x", 0, 1, bins=16),
    "odd number of bins": Numeric("x", -3.7, 11.2, bins=7),
    "one bin": Numeric("x", 0, 1, bins=1),
    "many bins": Numeric("x", 0, 1, bins=200),
    "whole numbers": Numeric("x", 17, 90, integer=True, bins=9),
    "few whole numbers": Numeric("x", 0, 5, integer=True, bins=6),
    "a step": Numeric("x", 0, 10, step=0.25, bins=4),
    "missing": Numeric("x", 0, 1, bins=12, missing="bin"),
    "edges": Numeric("x", 0, 10, bins=(0.0, 1.0, 2.0, 5.0, 10.0)),
    "many edges": Numeric("x", 0, 100, bins=tuple(float(x) for x in [*range(0, 90, 2), 100])),
}


@pytest.mark.parametrize("name", FEATURES)
def test_every_lattice_point_gets_the_bin_of_the_rule(name: str) -> None:
    feature = FEATURES[name]
    half, cuts = feature.lattice.half, np.array(feature.cuts, np.int64)
    points = np.append(np.arange(-half, half + 1), GONE).astype(np.int32)
    expected = np.searchsorted(cuts, points, side="right")
    expected[-1] = len(cuts) + 1  # missing and infinite come after the bins
    program = Program([Points(feature, points)])
    (index,) = program.codes([[0]], 0, len(points))
    np.testing.assert_array_equal(index, expected)
    (index,) = Program([Numbers(feature, np.array([np.nan, np.inf, -np.inf]))]).codes([[0]], 0, 3)
    assert index.tolist() == [len(cuts) + 1, len(cuts) + 2, len(cuts) + 2]
    assert (program.whole[1, RULE] == EVEN) == ("edges" not in name and "whole numbers" not in name)  # of one width


def test_a_cut_that_is_one_point_off_is_noticed() -> None:
    cuts = list(Numeric("x", 0, 1, bins=16).cuts)
    half = Numeric("x", 0, 1, bins=16).lattice.half
    assert even_bins(cuts, half) is not None
    for spot in range(len(cuts)):
        for shift in (-1, 1):
            moved = [*cuts[:spot], cuts[spot] + shift, *cuts[spot + 1 :]]
            found = even_bins(moved, half)
            points = np.arange(2 * half + 1)
            if found is not None:  # another product may still be right, but then everywhere
                bins = np.minimum((points * found[0] + found[1]) >> 32, len(cuts))
                np.testing.assert_array_equal(bins, np.searchsorted(moved, points - half, side="right"))


def test_the_lines_that_are_called_for_are_those_of_the_rows() -> None:
    x = Numeric("x", 0, 1)
    matrix, wide = np.zeros((9, 5)), np.zeros((9, 100))
    backwards = matrix[::-1]
    shapes = {  # columns, and how many of the bytes of a tile's rows are called for
        "a matrix": ([matrix[:, j] for j in range(5)], 5 * 8),
        "some of its columns": ([matrix[:, j] for j in (3, 1)], 5 * 8),
        "columns": ([np.zeros(9), np.zeros(9, np.float32), np.zeros(9, np.int8)], 8 + 4 + 1),
        "one of many": ([wide[:, 7]], 0),
        "backwards": ([backwards[:, 1]], 0),
        "one value": ([np.broadcast_to(np.zeros(()), (9,))], 0),
    }
    for name, (arrays, bytes_of_a_row) in shapes.items():
        program = Program([Numbers(x, values) for values in arrays])
        called = {
            address + TILE * stride + row * step
            for address, stride, step in ahead(program.whole[1:]).tolist() for row in range(0, TILE, CHUNK)
        }  # fmt: skip
        for values in arrays if bytes_of_a_row else ():
            near = values.__array_interface__["data"][0] + TILE * values.strides[0]
            spots = near + np.arange(TILE) * values.strides[0]
            lines = [line // LINE for spot in called for line in (spot, spot + LINE - 1)]  # of the last rows, the next
            assert np.isin(spots // LINE, lines).all(), name
        assert len(called) <= bytes_of_a_row * TILE // CHUNK, name
