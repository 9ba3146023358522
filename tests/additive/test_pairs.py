"""Pairs: how far one row moves every score, that the right pair is found, and what it is worth."""

import itertools
from fractions import Fraction

import numpy as np
import pytest

from discreet import Categorical, Numeric, PrivateAdditiveClassifier, Schema
from discreet.additive.blocks import place_knots
from discreet.additive.pairs import WHOLE, candidates, choose_pairs, masses, residuals
from discreet.mechanisms.choose import choice_rate
from discreet.mechanisms.noise import SimulationSampler


@pytest.mark.parametrize("classes", [2, 3, 7])
def test_a_row_has_residuals_of_at_most_two(classes):
    """Whatever the scores are; and a row's residuals do not depend on the rows beside it."""
    rng = np.random.default_rng(0)
    scores = rng.normal(size=(4000, classes)) * np.exp(rng.uniform(-4, 6, (4000, 1)))
    scores[:3] = [[0.0] * classes, [700.0] + [-700.0] * (classes - 1), [1e150] + [0.0] * (classes - 1)]
    labels = rng.integers(0, classes, 4000)
    points = residuals(scores, labels)
    sizes = np.abs(points).sum(axis=1)
    assert sizes.max() <= 2 * WHOLE
    assert sizes.max() >= 2 * WHOLE - 2 * classes
    assert (points.sum(axis=1) == 0).all()
    p = np.exp(scores[3:] - scores[3:].max(axis=1, keepdims=True))
    p /= p.sum(axis=1, keepdims=True)
    assert np.abs(points[3:] / WHOLE - (p - np.eye(classes)[labels[3:]])).max() < classes / WHOLE
    order = rng.permutation(4000)
    assert (residuals(scores[order], labels[order]) == points[order]).all()
    for i in range(50):
        assert (residuals(scores[i : i + 1], labels[i : i + 1])[0] == points[i]).all()


@pytest.mark.parametrize("classes", [2, 3])
def test_sensitivity_by_enumeration(classes):
    """Every data set of up to three rows of a small domain, with every row more: no score moves by more than two."""
    schema = Schema(
        [Categorical("a", [0, 1]), Categorical("b", [0, 1]), Categorical("c", [0, 1])], "y", [*range(classes)]
    )
    blocks = place_knots(schema, 2)
    pairs = candidates(blocks)
    assert pairs == [(0, 1), (0, 2), (1, 2)]
    rng = np.random.default_rng(1)
    kinds = [(*cells, y) for cells in itertools.product((0, 1), repeat=3) for y in range(classes)]
    table = rng.normal(size=(8, classes)) * 4  # released scores: a function of the row

    def scores(rows):
        if not rows:
            return [0] * len(pairs)
        X, y = np.array([row[:3] for row in rows]), np.array([row[3] for row in rows])
        points = residuals(table[X @ [4, 2, 1]], y)
        return masses(blocks, [([X[:, j].astype(np.uint8) for j in range(3)], points)], pairs)

    most = 0
    for size in range(3):
        for rows in itertools.combinations_with_replacement(kinds, size):
            here = scores(list(rows))
            for extra in kinds:
                there = scores([*rows, extra])
                most = max(most, *(abs(a - b) for a, b in zip(here, there, strict=True)))
    assert most <= 2 * WHOLE
    assert most >= 1.9 * WHOLE


def test_choice_asks_for_its_share(monkeypatch):
    import discreet.additive.pairs as room

    asked = []

    def watched(scores, rate, *, coins):
        asked.append((len(scores), rate))
        return int(np.argmax(scores))

    monkeypatch.setattr(room, "choose", watched)
    pairs = [(0, 1), (0, 2), (1, 2)]
    for moved in (1, 2):
        asked.clear()
        chosen = choose_pairs([5, 9, 7], pairs, 2, Fraction(1, 2), moved, SimulationSampler(np.random.default_rng(0)))
        assert chosen == ((0, 2), (1, 2))
        rate = choice_rate(Fraction(1, 4), 2 * WHOLE * moved)
        assert asked == [(3, rate), (2, rate)] and rate == Fraction(1, 4) / (4 * WHOLE * moved)


@pytest.mark.parametrize("classes", [2, 3])
def test_finds_what_single_features_cannot_say(classes):
    """The class is the sum of two features, modulo the number of classes: no feature alone says anything."""
    rng = np.random.default_rng(0)
    X = rng.integers(0, classes, (20_000, 4))
    X = np.column_stack([X, rng.uniform(0, 1, 20_000)])
    y = ((X[:, 1] + X[:, 3]) % classes).astype(int)
    names = list(range(classes))
    features = [Categorical(f"f{j}", names) for j in range(4)] + [Numeric("x", 0, 1)]
    schema = Schema(features, "y", names)
    alone = PrivateAdditiveClassifier(2.0, schema, pairs=0, random_state=0).fit(X, y)
    paired = PrivateAdditiveClassifier(2.0, schema, pairs=2, random_state=0).fit(X, y)
    assert (1, 3) in paired.model_.blocks.pairs and len(paired.model_.blocks.pairs) == 2
    assert alone.score(X, y) < 0.6 and paired.score(X, y) > 0.95


def test_auto_looks_for_pairs_where_there_is_budget():
    rng = np.random.default_rng(0)
    X, y = rng.integers(0, 3, (4000, 4)), rng.integers(0, 3, 4000)
    features = [Categorical(f"f{j}", [0, 1, 2]) for j in range(4)]
    several, two = Schema(features, "y", [0, 1, 2]), Schema(features, "y", [0, 1])
    rich, poor = (PrivateAdditiveClassifier(e, several, random_state=0).fit(X, y).model_ for e in (8.0, 0.5))
    assert len(rich.blocks.pairs) == 4 and not poor.blocks.pairs
    assert not PrivateAdditiveClassifier(8.0, two, random_state=0).fit(X, y % 2).model_.blocks.pairs
