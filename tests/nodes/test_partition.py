"""Partitions: every row has a node, nodes are as uneven as they say, and budgets are as declared."""

import math

import numpy as np
import pytest

from discreet import BudgetError
from discreet.nodes.partition import PARTITIONS, assign, clusters, node_budgets, node_sizes


@pytest.mark.parametrize("partition", PARTITIONS)
def test_partitions_place_every_row(partition):
    rng = np.random.default_rng(0)
    y = rng.integers(0, 3, 2000)
    cells = rng.integers(0, 3, (2000, 4))
    where = assign(y, 7, partition, rng=rng, cells=cells)
    assert where.shape == (2000,)
    assert where.min() >= 0
    assert where.max() < 7


def test_partitions_are_as_uneven_as_they_say():
    rng = np.random.default_rng(0)
    even, linear, exponential, log = (
        node_sizes(100_000, 4000, p, rng=rng) * 4000 for p in ("uniform", "uniform-1-10", "exponential", "log-uniform")
    )
    assert even.std() == 0
    assert linear.std() == pytest.approx(9 / math.sqrt(12) / 5.5, rel=0.05)
    assert exponential.std() == pytest.approx(1, rel=0.1)
    assert log.std() > 1.5
    y = rng.integers(0, 2, 20_000)
    share = [y[assign(y, 10, "label-skew", rng=rng) == node].mean() for node in range(10)]
    assert np.std(share) > 0.15


def test_clusters_put_like_rows_together():
    rng = np.random.default_rng(0)
    kinds = rng.integers(0, 2, 600)
    cells = np.where(rng.random((600, 8)) < 0.9, kinds[:, None], 1 - kinds[:, None])
    found = clusters(cells, 2, rng=rng)
    agreement = (found == kinds).mean()
    assert max(agreement, 1 - agreement) > 0.95
    with pytest.raises(BudgetError, match="cells"):
        assign(kinds, 3, "clustered", rng=rng)


def test_budgets_of_nodes():
    rng = np.random.default_rng(0)
    assert node_budgets(None, 3, 0.5, rng=rng) == [0.5] * 3
    drawn = np.log(node_budgets("log-uniform", 5000, 1.0, rng=rng))
    assert (drawn.min() >= math.log(0.01), drawn.max() <= math.log(10)) == (True, True)
    assert drawn.mean() == pytest.approx(math.log(0.01 * 10) / 2, abs=0.15)
