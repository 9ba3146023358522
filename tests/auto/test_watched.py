"""What the automatic choice hands to samplers in a real fit: the counts that it follows are the noisy ones."""

import itertools
from fractions import Fraction

import numpy as np
import pytest

from discreet import Budget, Categorical, Ledger, Numeric, PrivateClassifier, Schema
from discreet.auto.rule import choose
from discreet.bayes.bins import bin_count
from discreet.estimators.counts import ClassCounts, count_charge, is_rough
from discreet.mechanisms.noise import laplace_variance
from discreet.privacy.ledger import cost
from discreet.selection.classifier import features_worth
from tests.recorder import recorded, replayed, with_rows

BITS = Schema([Categorical(f"f{j}", [0, 1]) for j in range(4)], "y", ["n", "p"])
FREE = Schema([Numeric("a", 0, 8), Numeric("b", -1, 1)], "y", ["n", "p"])


def bits(size):
    rng = np.random.default_rng(1)
    X = rng.integers(0, 2, (size, 4))
    X[:, 1] = X[:, 0] ^ (rng.random(size) < 0.1)
    y = np.where(X[:, 2] ^ (rng.random(size) < 0.2), "p", "n")
    X[:2], y[:2] = 0, "n"
    return X, y


def points(size):
    rng = np.random.default_rng(2)
    X = np.column_stack([rng.uniform(0, 8, size), rng.uniform(-1, 1, size)])
    X[:2] = [0.1, -0.9]
    return X, np.array(["n", "p"])[(X[:, 0] > 4).astype(int)]


def neighbour(data, adjacency, moved=1):
    row = [1, 0, 1, 1] if data[0].dtype.kind == "i" else [7.9, 0.9]
    if adjacency == "add-remove":
        return with_rows(data, [row] * moved, ["p"] * moved), tuple(range(moved))
    X, y = data[0].copy(), data[1].copy()
    X[:moved], y[:moved] = row, "p"
    return (X, y), ()


def call(schema, model, epsilon=1, **settings):
    def fitted(data):
        ledger = Ledger(Budget(epsilon))
        estimator = PrivateClassifier(epsilon, schema, model, **settings).fit(*data, ledger=ledger)
        assert ledger.spent == epsilon == Fraction(estimator.certificate_.epsilon)
        assert cost(ledger.nodes[0], "epsilon") == epsilon  # counts and model by name, not as a grant alone
        assert sum(Fraction(charge.cost) for charge in estimator.certificate_.charges()) == epsilon
        return estimator.model_.to_dict()

    return fitted


@pytest.mark.parametrize(("adjacency", "moved"), [("add-remove", 1), ("add-remove", 2), ("replace", 1)])
@pytest.mark.parametrize(
    ("schema", "model"),
    [
        (BITS, "naive-bayes"),
        (BITS, "tan"),
        (BITS, "selective"),
        (FREE, "joint"),
        (FREE, "naive-bayes"),
    ],
)
def test_counts_and_model_cost_epsilon_together(monkeypatch, schema, model, adjacency, moved):
    data = (bits if schema is BITS else points)((60 if model == "selective" else 6000) * moved)
    other, inserted = neighbour(data, adjacency, moved)
    fit = call(schema, model, adjacency=adjacency, contributions=moved)
    tape = replayed(monkeypatch, fit, data, other, inserted=inserted)
    steps = moved * (2 if adjacency == "replace" else 1)
    moves = bool(data[1][0] != other[1][0] or inserted)
    again = model == "selective" or adjacency == "replace"  # 60 rows are few, and so are 6000 that may be replaced
    assert tape.events[0].public == (Fraction(100 * steps), (2,))
    assert tape.events[0].loss == pytest.approx(moves / 100)
    assert (tape.events[1].public == (25 * steps, (2,))) == again
    assert tape.events[1].loss == pytest.approx(4 * moves / 100) or not again
    counts = 0.05 if again else 0.01
    if model == "tan":  # scores of pairs rarely move by all that they might
        assert tape.loss() <= 1 + 1e-9
        assert tape.loss("laplace", "tables") == pytest.approx(counts + (1 - counts) * 0.7)
    elif model == "selective":  # the counts were bought: nothing more is paid for a number of rows
        (drawn,) = (event for event in tape.events if "several" in event.kind)
        assert drawn.public[0] == Fraction(95, 200) / (drawn.public[1] * steps) and drawn.loss <= 0.475 + 1e-9
        assert tape.loss("laplace", "tables") == pytest.approx(0.05 + 0.475)
    else:
        assert tape.loss() == pytest.approx(1)
    calibrations = [event for event in tape.of("laplace") if event.public[1] == (2, 6)]
    assert len(calibrations) == (model == "naive-bayes")


def test_the_choice_follows_the_noisy_counts(monkeypatch):
    """Around the number of rows from which on another kind of model would be chosen."""
    exact = [
        (n, choose(BITS, ClassCounts(np.array([n / 2, n / 2]), 1.0, None), Fraction(95, 100)).model)
        for n in range(30, 300)
    ]
    turns = [n for (n, one), (_, two) in itertools.pairwise(exact) if one != two]
    assert turns
    for size in turns[:1]:
        data = bits(size)
        other, inserted = neighbour(data, "add-remove")
        kinds = []

        def fitted(rows, kinds=kinds):
            estimator = PrivateClassifier(1, BITS).fit(*rows)
            kinds.append(estimator.choice_.model)
            return kinds[0], estimator.counts_.values.tolist()

        replayed(monkeypatch, lambda rows: fitted(rows), data, other, inserted=inserted, loudness=0)
        assert len(set(kinds)) == 1


def test_whether_counts_are_bought_again_follows_the_first_ones(monkeypatch):
    """A row more would make the noise small beside the rows, if the exact number of rows were asked."""
    spread = count_charge(Fraction(1, 100)).spread
    rough = [is_rough(n, laplace_variance(float(spread)), 2) for n in range(3900, 4100)]
    size = 3900 + rough.index(False) - 1
    data = bits(size)
    other, inserted = neighbour(data, "add-remove")
    tape = replayed(monkeypatch, call(BITS, "naive-bayes"), data, other, inserted=inserted, loudness=0)
    assert [event.public[0] for event in tape.of("laplace")[:2]] == [100, 25]
    tape, _ = recorded(monkeypatch, lambda: call(BITS, "naive-bayes")(other), loudness=0)
    assert 25 not in [event.public[0] for event in tape.of("laplace")]


def test_the_calibration_follows_the_noisy_counts(monkeypatch):
    """From 632 rows on, at 19/20 of ε = 1, a calibration of two classes is worth its share."""
    data = bits(631)
    other, inserted = neighbour(data, "add-remove")
    tape = replayed(monkeypatch, call(BITS, "naive-bayes"), data, other, inserted=inserted, loudness=0)
    assert not [event for event in tape.of("laplace") if event.public[1] == (2, 6)]
    tape, _ = recorded(monkeypatch, lambda: call(BITS, "naive-bayes")(other), loudness=0)
    assert [event for event in tape.of("laplace") if event.public[1] == (2, 6)]


def test_bins_follow_the_noisy_counts(monkeypatch):
    """The cells of every number are the same for a row more, where an exact number of rows would change them."""
    sizes = range(100, 400)
    turns = [n for n in sizes if bin_count(n, 0.95, 2, 2) != bin_count(n + 1, 0.95, 2, 2)]
    assert turns
    for size in turns[:3]:
        data = points(size)
        other, inserted = neighbour(data, "add-remove")
        tape = replayed(monkeypatch, call(FREE, "naive-bayes"), data, other, inserted=inserted, loudness=0)
        assert tape.loss() == pytest.approx(1)


@pytest.mark.parametrize("schema", [BITS, FREE])
def test_how_many_features_are_chosen_follows_the_noisy_counts(monkeypatch, schema):
    """The draw and the tables are alike for a row more, where an exact number of rows would change them."""
    features, half = len(schema.features), Fraction(95, 200)

    def shape(n):
        kept = features_worth(n, half, 1, features)
        return kept, bin_count(n, 0.475, kept, 2) if schema is FREE else 0

    turns = [n for n in range(30, 400) if shape(n) != shape(n + 1)]
    assert turns
    for size in turns[:3]:
        data = (bits if schema is BITS else points)(size)
        other, inserted = neighbour(data, "add-remove")
        tape = replayed(monkeypatch, call(schema, "selective"), data, other, inserted=inserted, loudness=0)
        assert tape.loss() <= 1 + 1e-9
