"""Features of more than 65,536 cells: no code may wrap around."""

import math

import numpy as np
import pytest

from discreet import Categorical, PrivateNB, Schema, sources
from discreet.dependence import PrivateJointHistogram, PrivateTAN
from discreet.sources import encode_rows, read_rows
from discreet.sources.coded import cell_type

CELLS = 70_000


@pytest.fixture(scope="module")
def wide():
    return Schema([Categorical("a", list(range(CELLS)))], "y", [0, 1])


def rows():
    """Every category once; those beyond 65,536 are of the other class than those they would wrap around to."""
    a = np.arange(CELLS)
    return a[:, None], (a ^ a >> 16) & 1


def test_codes_do_not_wrap(wide):
    X, y = rows()
    assert np.array_equal(sources.open(X, wide, y).held().codes(wide)[:, 0], X[:, 0])
    assert np.array_equal(encode_rows(next(read_rows(X, wide, y)))[:, 0], X[:, 0])
    few = sources.open(X[-9:], wide, y[-9:]).held()  # a few rows are encoded without compiled loops
    assert np.array_equal(few.cells[:, 0], X[-9:, 0])


def test_the_type_is_the_smallest_that_fits():
    assert np.iinfo(cell_type(1 << 16)).max == (1 << 16) - 1
    assert [cell_type(size) for size in (256, 257, (1 << 16) + 1)] == [np.uint8, np.uint16, np.uint32]


@pytest.mark.parametrize("estimator", [PrivateNB, PrivateTAN, PrivateJointHistogram])
def test_categories_beyond_are_learnt(estimator, wide):
    X, y = rows()
    assert estimator(math.inf, schema=wide).fit(X, y).score(X, y) == 1.0
