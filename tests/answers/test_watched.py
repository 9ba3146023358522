"""What private answers hand to samplers, deals and choices, from the fit to the last label."""

from fractions import Fraction

import numpy as np
import pytest
from sklearn.base import BaseEstimator, ClassifierMixin

from discreet import Budget, Categorical, Ledger, PrivatePredictor, Schema
from tests.privacy.test_ranged import alike
from tests.recorder import recorded, replayed, with_rows

SCHEMA = Schema([Categorical(f"f{j}", [0, 1]) for j in range(3)], "y", ["n", "p"])
ASKED = np.array([[a, b, c] for a in (0, 1) for b in (0, 1) for c in (0, 1)])
NEIGHBOURS = [("add-remove", 1), ("add-remove", 2), ("replace", 1)]


def rows_of(size):
    rng = np.random.default_rng(6)
    X = rng.integers(0, 2, (size, 3))
    return X, np.where(X[:, 0] ^ (rng.random(size) < 0.25), "p", "n")


def neighbour(data, adjacency, moved):
    if adjacency == "add-remove":
        return with_rows(data, [[1, 1, 0]] * moved, ["n"] * moved), tuple(range(moved))
    X, y = data[0].copy(), data[1].copy()
    X[0], y[0] = 1 - X[0], "n" if y[0] == "p" else "p"
    return (X, y), ()


def call(epsilon=1, delta=0, **settings):
    def answered(data):
        ledger = Ledger(Budget(epsilon, delta), composition="basic" if delta else None)
        predictor = PrivatePredictor(epsilon, delta, SCHEMA, queries=10, **settings).fit(*data, ledger=ledger)
        assert ledger.spent == epsilon or delta
        return predictor.predict(ASKED).tolist(), predictor.parts_, predictor.certificate_

    return answered


@pytest.mark.parametrize("parts", [15, "auto"])
@pytest.mark.parametrize(("adjacency", "moved"), NEIGHBOURS)
def test_a_row_moves_one_vote_of_each_answer(monkeypatch, adjacency, moved, parts):
    """79 rows make nine parts and 80 ten, so that an exact count would show."""
    data = rows_of(79)
    other, inserted = neighbour(data, adjacency, moved)
    fit = call(adjacency=adjacency, contributions=moved, parts=parts)
    moves = set()
    for seed in range(5):
        tape = replayed(monkeypatch, fit, data, other, inserted=inserted, loudness=0, seed=seed)
        bought, answers = tape.of("laplace"), tape.of("permute-and-flip")
        if adjacency == "add-remove" and parts == "auto":
            assert [event.public for event in bought] == [(Fraction(50 * moved), (1,))]
            assert bought[0].loss == pytest.approx(1 / 50)
        else:
            assert not bought
        left = Fraction(49, 50) if bought else Fraction(1)
        assert len(answers) == 8 and {event.public[0] for event in answers} == {left / 10 / (2 * moved)}
        moves |= {int(np.abs(np.subtract(event.given, event.other)).max()) for event in answers}
        assert tape.loss() <= 1 + 1e-9
        assert [event.given for event in tape.of("deal")] == [15 if parts == 15 else 9, 79]
    assert 0 < max(moves) <= moved


def test_rows_vote_where_they_were_dealt(monkeypatch):
    """A part with rows has one vote, and one without has none."""
    tape, _ = recorded(monkeypatch, lambda: call(parts=200)(rows_of(79)))
    hands = tape.of("deal")[1].outcome % 200
    assert {sum(event.given) for event in tape.of("permute-and-flip")} == {len(np.unique(hands))}


def test_answers_under_delta_cost_what_their_losses_allow(monkeypatch):
    """The worst law of ten alike choices of that range takes up most of δ, and that of a fifth more all of it."""
    tape, (_, _, certificate) = recorded(monkeypatch, lambda: call(1, 1e-6, parts=15, adjacency="replace")(rows_of(79)))
    (rate,) = {event.public[0] for event in tape.of("exponential")}
    assert not tape.of("permute-and-flip")
    assert 0.7e-6 < alike(2 * float(rate), 10, 1) <= 1e-6
    assert float(Fraction(certificate.rho)) == pytest.approx(10 * (2 * float(rate)) ** 2 / 8)
    assert "worst privacy losses" in certificate.accounting


def test_the_count_is_bought_before_the_losses_are_composed(monkeypatch):
    """Under add-remove the number of rows costs a fiftieth of ε, and people with two rows have answers half as sure."""
    fit = call(1, 1e-6, contributions=2)
    tape, (_, _, certificate) = recorded(monkeypatch, lambda: fit(rows_of(79)))
    (rate,) = {event.public[0] for event in tape.of("exponential")}
    (count,) = tape.of("laplace")
    assert count.public[0] == 2 / Fraction(1, 50)
    assert 0.7e-6 < alike(4 * float(rate), 10, 0.98) <= 1e-6
    assert float(Fraction(certificate.rho)) == pytest.approx(10 * (4 * float(rate)) ** 2 / 8 + 0.02**2 / 2)


def test_only_so_many_answers_and_each_row_once(monkeypatch):
    predictor = PrivatePredictor(1, schema=SCHEMA, queries=10, parts=15)

    def asked():
        predictor.fit(*rows_of(79))
        return predictor.predict(ASKED).tolist(), predictor.predict(ASKED).tolist()

    tape, (one, two) = recorded(monkeypatch, asked)
    assert one == two and len(tape.of("permute-and-flip")) == len(ASKED)
    assert predictor.remaining_ == 2
    assert predictor.ledger_.parts[0].cost == Fraction(8, 10)


class Guessing(ClassifierMixin, BaseEstimator):
    """Answers by NumPy's global generator, when it is asked as well as when it is fitted."""

    def fit(self, X, y):
        self.leaning_ = np.random.random()
        return self

    def predict(self, X):
        places = 1 + X @ 2.0 ** np.arange(X.shape[1])
        return ((np.random.random(len(X)) + self.leaning_) * places % 1 < 0.5).astype(np.int64)


def test_voters_that_draw_when_asked_share_nothing(monkeypatch):
    """A row of a rare class turns a part that knows one class, and fits nothing, into one that fits and draws."""
    X, _ = rows_of(120)
    data = X, np.where(np.arange(120) % 6 == 0, "p", "n")

    def answered(rows):
        np.random.seed(0)
        return call(parts=40, voter=Guessing())(rows)

    for seed in range(6):
        other = with_rows(data, [[1, 1, 0]], ["p"])
        tape = replayed(monkeypatch, answered, data, other, inserted=(0,), seed=seed)
        for event in tape.of("permute-and-flip"):
            assert np.abs(np.subtract(event.given, event.other)).max() <= 1
