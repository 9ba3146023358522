"""Chosen features with a δ: half of it for the choice, half for the tables, and nothing where neither can use it."""

from fractions import Fraction

import numpy as np
import pytest

from discreet import Budget, BudgetError, Categorical, Ledger, PrivateClassifier, Schema, SelectiveNB
from discreet.mechanisms.noise import ExactSampler
from discreet.privacy.calibrate import zcdp_rho
from discreet.privacy.certificate import WHICHEVER
from discreet.privacy.ledger import cost
from discreet.selection.select import DRAWS
from tests.privacy.test_ranged import alike
from tests.recorder import with_rows

DELTA = Fraction(1, 10**6)
MANY = Schema([Categorical(f"f{j}", [0, 1]) for j in range(140)], "y", ["n", "p"])
PEOPLE = [("add-remove", 1), ("add-remove", 2), ("replace", 1)]


def rows(size=700):
    rng = np.random.default_rng(5)
    X = rng.integers(0, 2, (size, 140))
    X[0] = 0
    y = np.where(X[:, :20].sum(axis=1) + rng.normal(0, 2, size) > 10, "p", "n")
    y[0] = "n"
    return X, y


@pytest.mark.parametrize(("adjacency", "moved"), PEOPLE)
def test_choice_and_tables_cost_epsilon_and_delta_together(monkeypatch, adjacency, moved):
    """Neighbours for which the same features are drawn: what the draw and the noise were asked for."""
    data = rows()
    if adjacency == "add-remove":
        other = with_rows(data, [[1] * 140] * moved, ["p"] * moved)
    else:
        other = data[0].copy(), data[1].copy()
        other[0][0] = 1
    drawn, noisy = [], []

    def draw(scores, k, rate, *, odds):
        drawn.append((np.array(scores), k, float(rate)))
        return np.arange(k)

    def gaussian(_, values, variance):
        noisy.append((values.astype(float), float(variance)))
        return values

    monkeypatch.setitem(DRAWS, "gumbel", draw)
    monkeypatch.setattr(ExactSampler, "gaussian", gaussian)
    for given in (data, other):
        ledger = Ledger(Budget(4, DELTA), "basic")
        model = SelectiveNB(4, MANY, 110, adjacency=adjacency, contributions=moved, delta=DELTA)
        made = model.fit(*given, ledger=ledger).certificate_
        assert (ledger.totals.epsilon, ledger.totals.delta) == (4, DELTA)
        assert (made.epsilon, made.delta) == ("4", str(DELTA)) and WHICHEVER in made.assumptions
        assert "of the choice" in made.accounting and made.rho is not None
    (one, k, rate), (two, *_) = drawn
    assert k == 110
    reach = moved * (2 if adjacency == "replace" else 1)
    assert np.ptp(one - two) <= reach
    assert 0.3 * float(DELTA) < alike(rate * reach, 110, 2.0) <= float(DELTA) / 2
    size = len(noisy) // 2
    assert {variance for _, variance in noisy[:size]} == {variance for _, variance in noisy[size:]}
    pairs = zip(noisy[:size], noisy[size:], strict=True)
    rho = sum(float(np.square(a - b).sum()) / (2 * variance) for (a, variance), (b, _) in pairs)
    least = float(zcdp_rho(Fraction(2), DELTA / 2))
    assert 0.5 * least < rho <= least * (1.25 if moved == 1 else 1 + 1e-9)  # exact losses allow some more than rho


@pytest.mark.parametrize("adjacency", ["add-remove", "replace"])
def test_a_number_of_features_decided_later_is_paid_for(adjacency):
    ledger = Ledger(Budget(4, DELTA), "basic")
    model = SelectiveNB(4, MANY, adjacency=adjacency, delta=DELTA)
    promise = model.plan()
    made = model.fit(*rows(), ledger=ledger).certificate_
    assert ledger.nodes == [promise] and (ledger.totals.epsilon, ledger.totals.delta) == (4, DELTA)
    assert (made.epsilon, made.delta) == ("4", str(DELTA))


def test_few_features_leave_delta_whole():
    few = Schema(MANY.features[:4], "y", ["n", "p"])
    for k in (2, 4, "auto"):
        model = SelectiveNB(1, few, k, delta=DELTA)
        assert not cost(model.plan(), "delta")
        X, y = rows()
        made = model.fit(X[:, :4], y).certificate_
        assert made.delta == "0" and "nothing is spent of the delta" in made.accounting


def test_the_delta_is_charged_before_a_row_is_read():
    ledger = Ledger(Budget(4), "basic")
    with pytest.raises(BudgetError):
        SelectiveNB(4, MANY, 110, delta=DELTA).fit("there is no such file.csv", ledger=ledger)
    assert not ledger.totals.epsilon


def test_the_automatic_choice_passes_it_on():
    made = PrivateClassifier(1, MANY, "selective", delta=DELTA).fit(*rows(3000))
    assert made.certificate_.delta == str(DELTA)
    assert {one.mechanism for one in made.certificate_.charges()} >= {
        "exponential mechanism, one feature after another"
    }
