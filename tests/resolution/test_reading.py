"""Reading fine tables: what noise hides is pooled, what stands out is kept, and only the noisy table is asked."""

import numpy as np
import pytest

from discreet import Numeric
from discreet.resolution.grids import COARSE, PARTS, fine_cells, relative_cells, with_edges
from discreet.resolution.pooled import DENSE, LOW, parts_for, read_pooled
from discreet.resolution.reading import left_over, levels, quantiles, read, shares


def noisy(rng, counts, scale):
    return counts + np.rint(rng.laplace(0, scale, counts.shape))


def test_noise_alone_says_nothing():
    rng = np.random.default_rng(0)
    seen = read(noisy(rng, np.zeros((2, 500)), 200.0), 2 * 200.0**2, 1000.0, 0.3)
    assert np.abs(seen.excess).max() < 0.1 and seen.shares.sum() == pytest.approx(1)


def test_spikes_and_slopes_are_both_read():
    rng = np.random.default_rng(1)
    rows, cells = 40_000, 500
    chance = np.full(cells, 0.2)
    chance[250:] = 0.5
    size = np.full(cells, rows * 0.8 / cells)
    size[100], chance[100] = rows * 0.2, 0.9
    table = np.stack([size * (1 - chance), size * chance])
    second = float(table[1].sum() / rows)
    seen = read(noisy(rng, table, 20.0), 2 * 20.0**2, rows, second)
    assert seen.shares[100] == pytest.approx(0.2, abs=0.02)
    assert seen.excess[100] - np.median(seen.excess[:90]) > 0.5
    assert np.median(seen.excess[300:]) - np.median(seen.excess[:90]) == pytest.approx(0.3, abs=0.08)
    assert {100, 101} <= set(quantiles(seen.shares, 8))  # a heavy cell stays alone
    spots = np.arange(cells) + 0.5
    over = left_over(seen, spots, np.array([0.0, 240, 260, 500]))
    assert over[100] > 0.4 and np.abs(over[300:]).mean() < 0.1
    label, count = levels(seen.shares, seen.excess, rows, second * (1 - second), 100.0)
    assert 2 <= count <= 12 and label[100] not in {label[50], label[400]}


def test_a_spike_of_one_of_several_classes_is_read():
    """Noise and spread of a class are those of one among several: pure noise says nothing, a spike stands out."""
    rng = np.random.default_rng(4)
    quiet = [read(noisy(rng, np.zeros((4, 300)), 150.0), 2 * 150.0**2, 1000.0, 0.25, k) for k in range(4)]
    assert max(np.abs(one.excess).max() for one in quiet) < 0.1
    size, rows = np.full(300, 60.0), 20_000
    table = np.stack([size / 4] * 4)
    table[:, 70] += [200, 200, 1600, 0]
    part = shares(noisy(rng, table, 15.0).sum(axis=0), 8 * 15.0**2, rows)
    seen = [
        read(noisy(rng, table, 15.0), 2 * 15.0**2, rows, float(table[k].sum() / table.sum()), k, part) for k in range(4)
    ]
    assert part[70] == pytest.approx(0.1, abs=0.02)
    high = [one.excess[70] - np.median(one.excess) for one in seen]
    assert int(np.argmax(high)) == 2 and high[2] > 0.4 and high[3] < -0.15


def test_the_finer_the_table_the_less_it_matters_how_fine():
    """A smooth shape has about the same reading from 60 cells as from 480."""
    rng = np.random.default_rng(2)
    spot = (np.arange(480) + 0.5) / 480
    size = 30_000 * np.exp(-((spot - 0.4) ** 2) / 0.02)
    table = noisy(rng, size / size.sum() * 30_000, 15.0)
    fine = shares(table, 2 * 15.0**2, 30_000).reshape(60, 8).sum(axis=1)
    coarse = shares(table.reshape(60, 8).sum(axis=1), 16 * 15.0**2, 30_000)
    assert np.abs(fine - coarse).sum() < 0.05


@pytest.mark.parametrize(
    "feature",
    [
        Numeric("a", 0, 100_000, integer=True),
        Numeric("b", -3, 4),
        Numeric("c", 17, 90, integer=True),
        Numeric("d", 0, 1, integer=True),
        Numeric("e", 0, 1e9),
        Numeric("f", 0, 10, step=0.5),
    ],
)
def test_grids_follow_the_declaration_alone(feature):
    fine = fine_cells(feature)
    assert fine.having(feature.bins) == feature and 2 <= fine.cells <= 540
    if feature.name == "c":
        assert fine.cells == 74
    cells, places = relative_cells(feature)
    assert len(places) == cells.cells and list(places) == sorted(set(places)) and places[0] == 0
    assert max(places) <= len(PARTS)
    assert with_edges(feature, []).cells == 2


def test_low_values_get_edges_and_others_do_not():
    cells = len(PARTS) + 1
    even = np.diff([0.0, *PARTS, 1.0]) * 8000
    assert read_pooled(np.rint(even).astype(np.int64), 10.0, 8, 1000.0, 6) is None
    low = np.zeros(cells, np.int64)
    low[0], low[3:14], low[-1] = 5000, 250, 250
    edges = read_pooled(low, 10.0, 8, 1000.0, 6)
    assert edges is not None and edges[0] == PARTS[0] and 3 <= len(edges) <= 5 and edges == sorted(edges)


def test_little_budget_has_few_cells_and_must_be_sure():
    assert parts_for(DENSE, 0.99) == COARSE and parts_for(DENSE, 1.0) == PARTS and LOW in COARSE
    low = np.zeros(len(COARSE) + 1, np.int64)
    low[0], low[-1] = 6400, 1600  # four fifths of the values of eight numbers of a thousand rows
    edges = read_pooled(low, 100.0, 8, 1000.0, 6, COARSE)
    assert edges is not None and edges[0] == COARSE[0] and set(edges) <= set(COARSE)
    # Seven low cells of deviation √2·scale each: at 427 they may be a fifth of the values too many, at 428 more.
    assert read_pooled(low, 427.0, 8, 1000.0, 6, COARSE) is not None
    assert read_pooled(low, 428.0, 8, 1000.0, 6, COARSE) is None
