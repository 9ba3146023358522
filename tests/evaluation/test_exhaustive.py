"""Private evaluation by enumeration: the law of the release on every small table and every neighbour of it."""

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest

from discreet import Categorical, PrivateNB, Schema, evaluate_privately
from discreet.evaluation import evaluate as room
from tests.laws import laplace_log_pmf

TWO = Schema([Categorical("a", [0, 1])], "y", [0, 1])
THREE = Schema([Categorical("a", [0, 1, 2])], "y", [0, 1, 2])


class Recorder:
    name, simulation = "recorder", False

    def __init__(self):
        self.seen = []

    def laplace(self, values, scale):
        self.seen.append((values.copy(), scale))
        return values


def released(monkeypatch, model, rows, adjacency):
    """What the production call gives to the sampler for some rows: exact tables and their scales."""
    sampler = Recorder()
    monkeypatch.setattr(room, "sampler_for", lambda random_state: sampler)
    X = np.array([[a] for a, _ in rows]).reshape(-1, 1)
    evaluate_privately(model, X, np.array([y for _, y in rows], int), epsilon=0.5, adjacency=adjacency)
    return sampler.seen


def worst_ratio(left, right, factor):
    """The largest log-ratio of the two laws over all outputs near both tables.

    Each noise is independent, so the largest of a sum is the sum of the largest of each cell.
    """
    total = 0.0
    for (first, scale), (second, same) in zip(left, right, strict=True):
        assert scale == same
        outputs = np.arange(-6, 9)[:, None]
        laws = [laplace_log_pmf(outputs - one.ravel(), float(scale) * factor) for one in (first, second)]
        total += (laws[0] - laws[1]).max(axis=0).sum()
    return total


@pytest.mark.parametrize("adjacency", ["add-remove", "replace"])
@pytest.mark.parametrize("schema", [TWO, THREE], ids=["two", "three"])
def test_every_neighbour_of_every_small_table(monkeypatch, schema, adjacency):
    cells = list(itertools.product(schema.features[0].categories, schema.classes))
    X, y = np.array([[c] for c in schema.classes * 4]), np.array(schema.classes * 4)
    model = PrivateNB(math.inf, schema=schema).fit(X, y).model_
    most = 2 if schema is TWO else 1
    sizes = range(most + 2)
    laws = {
        rows: released(monkeypatch, model, rows, adjacency)
        for size in sizes
        for rows in itertools.combinations_with_replacement(cells, size)
    }
    worst = short = 0.0
    for rows in laws:
        if adjacency == "add-remove":
            near = [tuple(sorted((*rows, extra))) for extra in cells]
        else:
            near = [tuple(sorted((*rows[:i], new, *rows[i + 1 :]))) for i in range(len(rows)) for new in cells]
        for other in near:
            if other in laws:
                for left, right in ((rows, other), (other, rows)):
                    worst = max(worst, worst_ratio(laws[left], laws[right], 1.0))
                    short = max(short, worst_ratio(laws[left], laws[right], 0.8))
    assert worst == pytest.approx(0.5, abs=1e-9)
    assert short > 0.6  # a fifth less noise breaks the claim


def test_the_scales_are_exact_fractions(monkeypatch):
    X, y = np.array([[0], [1], [2]]), np.array([0, 1, 2])
    model = PrivateNB(math.inf, schema=THREE).fit(X, y).model_
    scales = [scale for _, scale in released(monkeypatch, model, [], "add-remove")]
    assert scales == [Fraction(8), Fraction(8), Fraction(8), Fraction(8)]
