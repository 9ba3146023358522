"""What a search hands to samplers and coins in a real fit: who is dealt where, at which rates, and nothing exact."""

from fractions import Fraction

import numpy as np
import pytest

from discreet import Budget, Categorical, Ledger, PrivateGridSearch, PrivateNB, Schema
from discreet.mechanisms.deal import FINE
from tests.recorder import replayed, with_rows

SCHEMA = Schema([Categorical(f"f{j}", [0, 1]) for j in range(3)], "y", ["n", "p"])
GRID = {"smoothing": [0.5, 1.0, 2.0]}
EPSILON = 4.0
HELD, TRAINED = 0, FINE - 1  # what a row draws that is for validation, and one that is for training


@pytest.fixture(scope="module")
def rows():
    rng = np.random.default_rng(2)
    X = rng.integers(0, 2, (90, 3))
    return X, np.where(X[:, 0] ^ (rng.random(90) < 0.1), "p", "n")


def call(**settings):
    def fitted(data):
        ledger = Ledger(Budget(EPSILON))
        search = PrivateGridSearch(PrivateNB(schema=SCHEMA), GRID, epsilon=EPSILON, **settings)
        search.fit(*data, ledger=ledger)
        assert ledger.spent == EPSILON == Fraction(search.certificate_.epsilon)
        assert Fraction(search.model_.certificate.epsilon) == EPSILON
        return search.best_index_, search.model_.to_dict()

    return fitted


def neighbour(rows, adjacency):
    if adjacency == "add-remove":
        return with_rows(rows, [[1, 0, 1]], ["p"]), (0,)
    X, y = rows[0].copy(), rows[1].copy()
    X[0], y[0] = 1 - X[0], "n" if y[0] == "p" else "p"
    return (X, y), ()


@pytest.mark.parametrize("fresh", [HELD, TRAINED])
def test_a_row_more_is_trained_on_or_scored_on(monkeypatch, rows, fresh):
    other, inserted = neighbour(rows, "add-remove")
    tape = replayed(monkeypatch, call(refit=0.25), rows, other, inserted=inserted, fresh=fresh)
    (choice,) = tape.of("permute-and-flip")
    spot = tape.events.index(choice)
    fits, final = tape.events[1:spot], tape.events[spot + 1 :]
    assert tape.events[0].kind == "deal"
    assert choice.public == (3, 3)  # three quarters of ε, all scores moved the same way, three candidates
    assert sum(event.loss for event in final) == pytest.approx(1)
    if fresh == HELD:
        assert sum(event.loss for event in fits) == 0
        assert [abs(a - b) <= 1 for a, b in zip(choice.given, choice.other, strict=True)] == [True] * 3
        assert choice.given != choice.other and choice.loss <= 3
    else:
        assert choice.given == choice.other
        assert sum(event.loss for event in fits) == pytest.approx(3)
    assert tape.loss() <= EPSILON * (1 + 1e-9)


def test_a_changed_row_moves_scores_apart(monkeypatch, rows):
    for seed in range(6):  # the row is trained on in some of these deals and scored on in others
        other, inserted = neighbour(rows, "replace")
        settings = call(adjacency="replace", refit=0.25)
        tape = replayed(monkeypatch, settings, rows, other, inserted=inserted, seed=seed)
        (choice,) = tape.of("permute-and-flip")
        assert choice.public == (Fraction(3, 2), 3)
        assert tape.loss() <= EPSILON * (1 + 1e-9)
        held = tape.events[0].outcome[0] < FINE // 4
        assert tape.loss("laplace", "tables", "gaussian") == pytest.approx(1 if held else 4)
        assert held or choice.given == choice.other


@pytest.mark.parametrize("eta", [0, 1])
@pytest.mark.parametrize("fresh", [HELD, TRAINED])
def test_a_run_costs_its_part_whichever_way_the_row_is_dealt(monkeypatch, rows, fresh, eta):
    other, inserted = neighbour(rows, "add-remove")
    settings = call(method="random-stopping", eta=eta)
    tape = replayed(monkeypatch, settings, rows, other, inserted=inserted, fresh=fresh, runs=1)
    assert tape.of("runs")[0].public == (eta, Fraction(1, 30))
    score = tape.of("laplace")[-1]
    assert score.public == (Fraction(2 + eta, 4), (1,))
    assert tape.loss() == pytest.approx(EPSILON / (2 + eta))
    assert (score.loss > 0) == (fresh == HELD)


def test_every_run_deals_anew_and_none_is_exact(monkeypatch, rows):
    other, inserted = neighbour(rows, "add-remove")
    settings = call(method="random-stopping")
    tape = replayed(monkeypatch, settings, rows, other, inserted=inserted, fresh=HELD, runs=5)
    assert len(tape.of("deal")) == len([event for event in tape.of("laplace") if event.public[1] == (1,)]) == 5
    assert tape.loss() == pytest.approx(5 * EPSILON / 2)
