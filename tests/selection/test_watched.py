"""What a selection hands to samplers and choices in a real fit: scores, rates, scales, and nothing exact besides."""

from fractions import Fraction

import numpy as np
import pytest

from discreet import Budget, Categorical, Ledger, PrivateSelectKBest, Schema, SelectiveNB
from discreet.selection.classifier import features_worth
from tests.recorder import recorded, replayed, with_rows

SCHEMA = Schema([Categorical(f"f{j}", [0, 1]) for j in range(4)], "y", ["n", "p"])
NEIGHBOURS = [("add-remove", 1), ("add-remove", 2), ("replace", 1)]
DRAWN = ["permute-and-flip", "gumbel", "mask", "joint"]
EPSILON = 2


def rows_of(size=120):
    rng = np.random.default_rng(8)
    y = rng.random(size) < 0.3
    X = np.column_stack([y ^ (rng.random(size) < flip) for flip in (0.1, 0.2, 0.3, 0.4)]).astype(int)
    X[:2], y[:2] = 0, False
    return X, np.where(y, "p", "n")


def neighbour(data, adjacency, moved):
    """A row that every score counts: it is what each feature alone would say."""
    if adjacency == "add-remove":
        return with_rows(data, [[0, 0, 0, 0]] * moved, ["n"] * moved), tuple(range(moved))
    X, y = data[0].copy(), data[1].copy()
    X[0], y[0] = [1, 1, 1, 0], "p"
    return (X, y), ()


def call(**settings):
    def chosen(data):
        ledger = Ledger(Budget(EPSILON))
        chooser = PrivateSelectKBest(2, EPSILON, SCHEMA, **settings).fit(*data, ledger=ledger)
        assert ledger.spent == EPSILON == Fraction(chooser.certificate_.epsilon)
        assert sum(Fraction(charge.cost) for charge in chooser.certificate_.charges()) == EPSILON
        return chooser.names_, chooser.certificate_

    return chosen


@pytest.mark.parametrize("selector", DRAWN)
@pytest.mark.parametrize("score", ["hits", "balanced", "count"])
@pytest.mark.parametrize(("adjacency", "moved"), NEIGHBOURS)
def test_draws_of_features(monkeypatch, adjacency, moved, score, selector):
    data = rows_of()
    other, inserted = neighbour(data, adjacency, moved)
    fit = call(criterion=score, selector=selector, adjacency=adjacency, contributions=moved)
    tape = replayed(monkeypatch, fit, data, other, inserted=inserted)
    steps, left = moved * (2 if adjacency == "replace" else 1), Fraction(EPSILON)
    counts = tape.of("laplace")
    if score == "balanced":
        assert [event.public[0] for event in counts] == [5 * steps]  # a tenth of ε for the counts of classes
        assert counts[0].loss == pytest.approx(0.2)
        left -= Fraction(1, 5)
    else:
        assert not counts
    (drawn,) = [event for event in tape.events if "several" in event.kind]
    # The change of one score against another's: a row that comes moves all the same way, in 64ths where weighted.
    reach = steps * (64 if score == "balanced" else 1)
    assert drawn.public == (left / (2 * reach), 2)
    assert drawn.loss <= float(left) * (1 + 1e-9)
    assert tape.loss() <= EPSILON * (1 + 1e-9)


@pytest.mark.parametrize(("adjacency", "moved"), NEIGHBOURS)
def test_noise_on_scores_and_on_tables(monkeypatch, adjacency, moved):
    data, steps = rows_of(), moved * (2 if adjacency == "replace" else 1)
    other, inserted = neighbour(data, adjacency, moved)
    terms = {"adjacency": adjacency, "contributions": moved}
    tape = replayed(monkeypatch, call(selector="noisy-tables", **terms), data, other, inserted=inserted)
    assert [event.public[0] for event in tape.of("laplace")] == [Fraction(2 * steps)] * 4
    assert tape.loss() == pytest.approx(EPSILON)
    tape = replayed(monkeypatch, call(selector="noisy-scores", **terms), data, other, inserted=inserted)
    assert [event.public for event in tape.of("laplace")] == [(Fraction(2 * moved), (4,))]  # hits move by one a row
    assert tape.loss() <= EPSILON * (1 + 1e-9)
    assert tape.loss() == pytest.approx(EPSILON) or adjacency == "replace"


@pytest.mark.parametrize(("adjacency", "moved"), NEIGHBOURS)
def test_the_sparse_vector_technique(monkeypatch, adjacency, moved):
    """A quarter of ε for the threshold and the rest for two scores that pass."""
    data, steps = rows_of(), moved * (2 if adjacency == "replace" else 1)
    other, inserted = neighbour(data, adjacency, moved)
    fit = call(selector="sparse-vector", criterion="count", threshold=20, adjacency=adjacency, contributions=moved)
    tape = replayed(monkeypatch, fit, data, other, inserted=inserted)
    fence, query = tape.of("laplace")
    assert fence.public == (Fraction(2 * steps), (1,)) and fence.given.tolist() == [20]
    assert query.public == (Fraction(4 * steps, 3), (4,))
    assert np.abs(query.given - query.other).max() <= steps


@pytest.mark.parametrize("adjacency", ["add-remove", "replace"])
def test_a_model_on_chosen_features(monkeypatch, adjacency):
    numbers = [features_worth(n, Fraction(98, 100), 1, 4) for n in range(400)]
    turns = [n for n in range(30, 399) if numbers[n] != numbers[n + 1]]
    assert turns
    for size in turns[:2]:  # an exact number of rows would choose another number of features
        data = rows_of(size)
        other, inserted = neighbour(data, adjacency, 1)

        def fitted(rows):
            ledger = Ledger(Budget(EPSILON))
            estimator = SelectiveNB(EPSILON, SCHEMA, adjacency=adjacency).fit(*rows, ledger=ledger)
            assert ledger.spent == EPSILON == Fraction(estimator.certificate_.epsilon)
            assert sum(Fraction(charge.cost) for charge in estimator.certificate_.charges()) == EPSILON
            return estimator.model_.to_dict()

        tape = replayed(monkeypatch, fitted, data, other, inserted=inserted, loudness=0)
        spot = next(i for i, event in enumerate(tape.events) if "several" in event.kind)
        before, drawn, tables = tape.events[:spot], tape.events[spot], tape.events[spot + 1 :]
        if adjacency == "add-remove":
            assert [event.public for event in before] == [(Fraction(25), (1,))]
        left = Fraction(49, 25) if before else Fraction(2)
        assert drawn.public[0] == left / 2 / (drawn.public[1] * (1 if adjacency == "add-remove" else 2))
        assert sum(event.loss for event in tables) == pytest.approx(float(left / 2))


def test_class_weights_follow_the_noisy_counts(monkeypatch):
    tapes = [recorded(monkeypatch, lambda: call(criterion="balanced")(rows_of()), seed=seed)[0] for seed in (1, 5)]
    noisy, scores = ([tape.events[spot] for tape in tapes] for spot in (0, 1))
    assert noisy[0].outcome.tolist() != noisy[1].outcome.tolist()
    assert scores[0].given.tolist() != scores[1].given.tolist()


@pytest.mark.parametrize("adjacency", ["add-remove", "replace"])
def test_a_row_apart_from_all_others_moves_information_by_nearly_its_bound(monkeypatch, adjacency):
    """Of n equal rows one becomes, or is joined by, the only one that differs: log₂ n + 1/ln 2 bits a feature."""
    X, y = np.zeros((500, 4), int), np.full(500, "n")
    other, inserted = with_rows((X, y), [[1, 1, 1, 1]], ["p"]), (0,)
    if adjacency == "replace":
        other, inserted = (np.vstack([[[1, 1, 1, 1]], X[1:]]), np.append(["p"], y[1:])), ()
    fit = call(criterion="mutual-information", selector="noisy-scores", max_rows=501, adjacency=adjacency)
    tape = replayed(monkeypatch, fit, (X, y), other, inserted=inserted)
    assert 0.85 * EPSILON < tape.loss() <= EPSILON
