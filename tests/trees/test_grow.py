"""Growing: the rates of all choices and the scales of all noise, against the budget, and that the noise is used."""

from fractions import Fraction

import numpy as np
import pytest

from discreet import Budget, Categorical, Schema
from discreet.privacy.budget import Adjacency
from discreet.sources import HeldRows
from discreet.trees import grow
from discreet.trees.plan import STEPS, plan_forest, plan_tree

SCHEMA = Schema([Categorical(f"f{j}", [0, 1]) for j in range(4)], "y", [0, 1, 2])
EPSILON = Fraction(3, 2)
DEPTH = 2
NEIGHBOURS = [(Adjacency.ADD_REMOVE, 1, 1), (Adjacency.REPLACE, 1, 2), (Adjacency.ADD_REMOVE, 3, 3)]


class Recorder:
    """A sampler that writes down what it is asked for and adds whole numbers that are known."""

    name, simulation = "recorded", False

    def __init__(self):
        self.asked, self.given = [], []

    def laplace(self, values, scale):
        self.asked.append((values.shape, scale))
        self.given.append(values + 3)
        return self.given[-1]


@pytest.fixture
def chosen(monkeypatch):
    """(number of scores, rate, law) of every private choice; the choice is the last."""
    asked = []

    def choose(scores, rate, *, law=grow.CHOICES[0], coins):
        asked.append((len(scores), rate, law))
        return len(scores) - 1

    monkeypatch.setattr(grow, "choose", choose)
    return asked


@pytest.fixture(scope="module")
def rows():
    rng = np.random.default_rng(0)
    return HeldRows(SCHEMA, rng.integers(0, 2, (200, 4)).astype(np.uint8).T, rng.integers(0, 3, 200))


@pytest.mark.parametrize(("adjacency", "contributions", "steps"), NEIGHBOURS)
@pytest.mark.parametrize("split", grow.CHOICES)
def test_choices_and_leaves_of_a_tree(chosen, rows, split, adjacency, contributions, steps):
    plan = plan_tree(SCHEMA, Budget(EPSILON), adjacency=adjacency, contributions=contributions, depth=DEPTH,
                     split=split, leaf_share=Fraction(1, 3))  # fmt: skip
    sampler = Recorder()
    grown = grow.grow_tree(rows, plan, sampler)
    # Two thirds of ε over the levels; a score moves by STEPS either way, so that a choice costs twice its rate's worth.
    rate = EPSILON * Fraction(2, 3) / DEPTH / steps / (2 * STEPS)
    assert chosen == [(4, rate, split), (3, rate, split), (3, rate, split)]
    assert sampler.asked == [((4, 3), steps / (EPSILON / 3))]
    assert np.array_equal(grown.counts[grown.nodes.leaf], sampler.given[0])
    assert not grown.counts[~grown.nodes.leaf].any()
    assert sampler.given[0].sum() == len(rows) + 3 * 12


@pytest.mark.parametrize(("adjacency", "contributions", "steps"), NEIGHBOURS)
def test_noisy_counts_of_a_tree(chosen, rows, adjacency, contributions, steps):
    plan = plan_tree(SCHEMA, Budget(EPSILON), adjacency=adjacency, contributions=contributions, depth=DEPTH,
                     split="noisy-counts")  # fmt: skip
    sampler = Recorder()
    grow.grow_tree(rows, plan, sampler)
    level = EPSILON / (DEPTH + 1) / steps
    assert chosen == []
    # A row is counted once in each of the schema's four questions, answered above or not.
    assert sampler.asked == [((2, n, 3), 4 / level) for n in (4, 3, 3)] + [((4, 3), 1 / level)]


@pytest.mark.parametrize(("adjacency", "contributions", "steps"), NEIGHBOURS)
@pytest.mark.parametrize("leaves", ["counts", "labels"])
@pytest.mark.parametrize("trees", [7, "auto"])
def test_leaves_and_size_of_a_forest(chosen, rows, trees, leaves, adjacency, contributions, steps):
    plan = plan_forest(SCHEMA, Budget(EPSILON), adjacency=adjacency, contributions=contributions, depth=DEPTH,
                       trees=trees, leaves=leaves)  # fmt: skip
    sampler = Recorder()
    grown = grow.grow_forest(rows, plan, sampler)
    counted = trees == "auto" and adjacency is Adjacency.ADD_REMOVE
    share = EPSILON / steps
    size = [((1,), 20 / share)] if counted else []
    own, ends = share * Fraction(19, 20) if counted else share, 4 * len(grown.nodes.roots)
    if leaves == "labels":
        assert sampler.asked == size
        assert chosen == [(3, own, grow.CHOICES[0])] * ends  # a row moves one score, up: monotone
        assert grown.counts[grown.nodes.leaf].tolist() == [[0, 0, 1]] * ends
    else:
        assert chosen == []
        assert sampler.asked == [*size, ((ends, 3), 1 / own)]
        assert np.array_equal(grown.counts[grown.nodes.leaf], sampler.given[-1])
        assert sampler.given[-1].sum() == len(rows) + 3 * 3 * ends  # every row is in one leaf of one tree
