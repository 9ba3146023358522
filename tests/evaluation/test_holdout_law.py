"""Hold-outs by enumeration: the joint law of model and measurement over all coins, for all small neighbours.

The production call is made with its coins and the noisy training table given; what then reaches the samplers is the
exact table of each side, and with the known laws of noise that is the density of the two releases together. The rows
held out are scored by the very model that the training release makes.
"""

import itertools
import math

import numpy as np
import pytest

from discreet import Categorical, PrivateHoldout, PrivateNB, Schema
from discreet.evaluation import holdout as room
from discreet.sources import Source
from discreet.sources.part import deal_rows as deal
from tests.laws import laplace_log_pmf

SCHEMA = Schema([Categorical("a", [0, 1])], "y", [0, 1])
CELLS = list(itertools.product([0, 1], [0, 1]))
EPSILON, SHARE = 1.0, 0.3
TRAINED = [np.array([[2, 0], [0, 2]]), np.array([[0, 1], [2, 0]]), np.array([[-1, 3], [1, 1]])]  # models that differ


class Given:
    """A sampler that notes exact tables and answers with a given one."""

    name, simulation = "given", False

    def __init__(self, answer=None):
        self.answer, self.seen = answer, []

    def laplace(self, values, scale):
        self.seen.append((values.copy(), float(scale)))
        return values if self.answer is None else self.answer[len(self.seen) - 1].reshape(values.shape)


class Fixed:
    keyed = False
    salt = None

    def __init__(self, bits):
        self.bits = np.array(bits, bool)

    def held(self, start, size, keys=None):
        return self.bits[start : start + size]


def log_density(monkeypatch, rows, bits, trained, adjacency, tested=None, sets=0):
    """log-densities of (this training release, each of many tables of the rows held out), given the coins."""
    train, test = Given(trained), Given()
    monkeypatch.setattr("discreet.estimators.base.sampler_for", lambda random_state: train)
    monkeypatch.setattr(room, "sampler_for", lambda random_state: test)
    monkeypatch.setattr(room, "RowCoins", lambda share, sampler: Fixed(bits))
    counted = Source.statistics
    monkeypatch.setattr(Source, "statistics", lambda self, detail: counted(self, detail, empty=True))
    if tested is not None:  # a fault: other rows are measured than those held out
        monkeypatch.setattr(room, "deal_rows", lambda X, s, y, coins, **k: (deal(X, s, y, coins, **k)[0], (X, y)))
    X, y = np.array([[a] for a, _ in rows]).reshape(-1, 1), np.array([label for _, label in rows], int)
    nb = PrivateNB(EPSILON, schema=SCHEMA, mechanism="laplace", adjacency=adjacency)
    PrivateHoldout(nb, share=SHARE, sets=sets).fit(X, y)
    monkeypatch.undo()
    first = sum(
        laplace_log_pmf(trained[i].reshape(values.shape) - values, scale).sum()
        for i, (values, scale) in enumerate(train.seen)
    )
    found = np.full(1, first)
    for table, scale in test.seen:
        few = [-1, 0, 2] if table.size == 4 and not sets else [-1, 2]
        outputs = np.array(list(itertools.product(few, repeat=table.size)))
        found = np.add.outer(found, laplace_log_pmf(outputs - table.ravel(), scale).sum(axis=1)).ravel()
    return found


def law(monkeypatch, rows, adjacency, fault=None, sets=0):
    """log-density of the two releases, coins drawn: one line per training release."""
    lines = []
    for trained in TRAINED:
        if fault == "position":
            ways = [tuple(i % 2 == 1 for i in range(len(rows)))]
        else:
            ways = list(itertools.product([False, True], repeat=len(rows)))
        parts = [
            log_density(monkeypatch, rows, bits, trained, adjacency, "all" if fault == "again" else None, sets)
            + (0.0 if fault == "position" else sum(math.log(SHARE if b else 1 - SHARE) for b in bits))
            for bits in ways
        ]
        lines.append(np.logaddexp.reduce(parts, axis=0))
    return np.concatenate(lines)


def pairs(adjacency):
    for size in range(2):
        for rows in itertools.product(CELLS, repeat=size):
            if adjacency == "add-remove":
                for extra in CELLS:
                    yield rows, (extra, *rows)
            else:
                for i, new in itertools.product(range(size), CELLS):
                    yield rows, (*rows[:i], new, *rows[i + 1 :])
    if adjacency == "replace":
        for first, second, new in itertools.product(CELLS[:2], CELLS[1:3], CELLS):
            yield (first, second), (new, second)


@pytest.mark.parametrize("adjacency", ["add-remove", "replace"])
@pytest.mark.parametrize("sets", [0.5])
def test_the_two_releases_together_cost_epsilon(monkeypatch, adjacency, sets):
    laws, worst = {}, 0.0
    for left, right in pairs(adjacency):
        for rows in (left, right):
            if rows not in laws:
                laws[rows] = law(monkeypatch, rows, adjacency, sets=sets)
        worst = max(worst, float(np.abs(laws[left] - laws[right]).max()))
    assert 0.7 * EPSILON < worst <= EPSILON + 1e-9


def test_measuring_the_training_rows_too_costs_more(monkeypatch):
    left, right = law(monkeypatch, (), "add-remove", "again"), law(monkeypatch, ((0, 0),), "add-remove", "again")
    assert np.abs(left - right).max() > 1.3 * EPSILON


def test_dealing_by_position_costs_more(monkeypatch):
    rows = ((0, 0), (1, 1))
    left = law(monkeypatch, rows, "add-remove", "position")
    right = law(monkeypatch, ((1, 1), *rows), "add-remove", "position")
    assert np.abs(left - right).max() > 1.5 * EPSILON
