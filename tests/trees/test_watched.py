"""What a tree and a forest hand to samplers, choices and deals in a real fit."""

from fractions import Fraction

import numpy as np
import pytest

from discreet import Budget, Categorical, Ledger, PrivateForestClassifier, PrivateTreeClassifier, Schema
from tests.privacy.test_ranged import alike
from tests.recorder import recorded, replayed, with_rows

SCHEMA = Schema([Categorical(f"f{j}", [0, 1]) for j in range(4)], "y", ["n", "p"])
NEIGHBOURS = [("add-remove", 1), ("add-remove", 2), ("replace", 1)]
EPSILON = 2


def rows_of(size):
    rng = np.random.default_rng(1)
    X = rng.integers(0, 2, (size, 4))
    y = np.where(X[:, 0] ^ (rng.random(size) < 0.2), "p", "n")
    X[:2], y[:2] = [0, 0, 0, 0], "n"
    return X, y


def neighbour(data, adjacency, moved):
    if adjacency == "add-remove":
        return with_rows(data, [[1, 1, 1, 1]] * moved, ["n"] * moved), tuple(range(moved))
    X, y = data[0].copy(), data[1].copy()
    X[:moved], y[:moved] = 1, "p"
    return (X, y), ()


def call(kind, **settings):
    def fitted(data):
        ledger = Ledger(Budget(EPSILON))
        estimator = kind(EPSILON, schema=SCHEMA, **settings).fit(*data, ledger=ledger)
        assert ledger.spent == EPSILON == Fraction(estimator.certificate_.epsilon)
        assert sum(Fraction(charge.cost) for charge in estimator.certificate_.charges()) == EPSILON
        return estimator.model_.to_dict()

    return fitted


@pytest.mark.parametrize("split", ["permute-and-flip", "exponential"])
@pytest.mark.parametrize(("adjacency", "moved"), NEIGHBOURS)
def test_questions_and_leaves_of_a_tree(monkeypatch, adjacency, moved, split):
    data, steps = rows_of(160), moved * (2 if adjacency == "replace" else 1)
    other, inserted = neighbour(data, adjacency, moved)
    fit = call(PrivateTreeClassifier, split=split, adjacency=adjacency, contributions=moved, depth=2, leaf_share=0.25)
    tape = replayed(monkeypatch, fit, data, other, inserted=inserted)
    *questions, leaves = tape.events
    # Three quarters of ε over two levels; a row moves a score by 1024 parts either way.
    assert {event.kind for event in questions} == {split} and len(questions) == 3
    assert {event.public[0] for event in questions} == {Fraction(3, 4) / (2 * 1024 * steps)}
    assert leaves.kind == "laplace" and leaves.loss == pytest.approx(0.5)
    assert tape.loss() <= EPSILON * (1 + 1e-9)


@pytest.mark.parametrize(("adjacency", "moved"), NEIGHBOURS)
def test_questions_under_delta_cost_what_their_losses_allow(monkeypatch, adjacency, moved):
    """The worst law of twelve alike choices of a level's range takes up most of δ; ε²/8 each is the ρ in words."""
    data, steps = rows_of(160), moved * (2 if adjacency == "replace" else 1)
    other, inserted = neighbour(data, adjacency, moved)
    made = []

    def fit(rows):
        ledger = Ledger(Budget(EPSILON, 1e-6), composition="basic")
        settings = {"adjacency": adjacency, "contributions": moved, "depth": 12, "leaf_share": 0.25, "delta": 1e-6}
        estimator = PrivateTreeClassifier(EPSILON, schema=SCHEMA, **settings).fit(*rows, ledger=ledger)
        assert ledger.totals.epsilon <= EPSILON and ledger.totals.delta <= Fraction(1, 10**6)
        made.append(estimator.certificate_)
        return estimator.model_.to_dict()

    tape = replayed(monkeypatch, fit, data, other, inserted=inserted)
    *questions, leaves = tape.events
    assert {event.kind for event in questions} == {"exponential"}
    (rate,) = {event.public[0] for event in questions}
    rho = 12 * (2 * 1024 * steps * float(rate)) ** 2 / 8
    assert 0.6e-6 < alike(2 * 1024 * steps * float(rate), 12, 0.75 * EPSILON) <= 1e-6
    assert leaves.kind == "laplace" and leaves.loss == pytest.approx(0.25 * EPSILON)
    found = made[0]
    assert (Fraction(found.epsilon), Fraction(found.delta)) == (EPSILON, Fraction(1, 10**6))
    assert float(Fraction(found.rho)) == pytest.approx(rho + (0.25 * EPSILON) ** 2 / 2)
    levels = [float(Fraction(charge.cost)) for charge in found.charges() if charge.measure == "rho"]
    assert len(levels) == 12 and sum(levels) == pytest.approx(rho)


@pytest.mark.parametrize(("adjacency", "moved"), NEIGHBOURS)
def test_noisy_counts_of_every_question(monkeypatch, adjacency, moved):
    data = rows_of(160)
    other, inserted = neighbour(data, adjacency, moved)
    fit = call(PrivateTreeClassifier, split="noisy-counts", adjacency=adjacency, contributions=moved, depth=2)
    tape = replayed(monkeypatch, fit, data, other, inserted=inserted)
    root, *below, leaves = tape.events
    assert root.loss == pytest.approx(2 / 3) and leaves.loss == pytest.approx(2 / 3)
    assert 0.7 * 2 / 3 < sum(event.loss for event in below) <= 2 / 3 * (1 + 1e-9)


@pytest.mark.parametrize("leaves", ["counts", "labels"])
@pytest.mark.parametrize("trees", [4, "auto"])
@pytest.mark.parametrize(("adjacency", "moved"), NEIGHBOURS)
def test_trees_and_leaves_of_a_forest(monkeypatch, adjacency, moved, trees, leaves):
    """109 rows make five trees and 110 six, so that an exact count would show."""
    data, steps = rows_of(109), moved * (2 if adjacency == "replace" else 1)
    other, inserted = neighbour(data, adjacency, moved)
    fit = call(PrivateForestClassifier, leaves=leaves, n_estimators=trees, adjacency=adjacency, contributions=moved)
    tape = replayed(monkeypatch, fit, data, other, inserted=inserted, loudness=0)
    bought = adjacency == "add-remove" and trees == "auto"
    left = Fraction(19, 10) if bought else Fraction(2)
    assert [event.given for event in tape.of("deal")] == [109]
    if bought:
        assert tape.events[0].public == (Fraction(10 * moved), (1,)) and tape.events[0].loss == pytest.approx(0.1)
    if leaves == "counts":
        assert tape.of("laplace")[-1].loss == pytest.approx(float(left))
    else:
        chosen = tape.of("permute-and-flip")
        assert {event.public[0] for event in chosen} == {left / steps}
        assert 0 < sum(event.loss for event in chosen) <= float(left) * (1 + 1e-9)


def test_what_is_dealt_decides_where_a_row_is_counted(monkeypatch):
    """The same rows, dealt otherwise, are counted in other leaves."""
    counts = []
    for seed in (1, 2):
        settings = {"n_estimators": 4, "leaves": "counts", "depth": 0}
        tape, _ = recorded(monkeypatch, lambda s=settings: call(PrivateForestClassifier, **s)(rows_of(109)), seed=seed)
        hands = tape.of("deal")[0].outcome % 4
        totals = tape.of("laplace")[-1].given.sum(axis=1)
        assert np.array_equal(totals, np.bincount(hands, minlength=4))
        counts.append(totals.tolist())
    assert counts[0] != counts[1]
