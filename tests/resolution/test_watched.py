"""What a look at numbers hands to samplers: exact counts go through noise, and all else follows from what came out."""

from fractions import Fraction

import numpy as np
import pytest

from discreet import Budget, Ledger, Numeric, PrivateClassifier, Schema, sources
from discreet.auto.shapes import shaped
from discreet.estimators.counts import ClassCounts
from discreet.resolution import fine, pooled
from tests.recorder import recorded, replayed, with_rows

NINE = Schema([Numeric(f"x{j}", 0, 100) for j in range(9)], "y", ["n", "p"])
TWO = Schema([Numeric("gain", 0, 1000, integer=True), Numeric("age", 0, 90, missing="bin")], "y", ["n", "p"])
THREE = Schema(TWO.features, "y", ["n", "p", "q"])
FINE = (TWO, THREE)
FAR = {9: [[99.0] * 9, [50.0] * 9], 2: [[999, 88.0], [3, np.nan]]}


def skewed(schema, size=1000):
    rng = np.random.default_rng(3)
    X = np.minimum(rng.lognormal(0, 1, (size, len(schema.features))), 60)
    if schema in FINE:
        X[:, 0] = np.where(rng.random(size) < 0.3, 0, 20 * rng.integers(1, 50, size))
    y = np.where(X[:, 0] // 20 % 2 == 1 if schema in FINE else X[:, 0] > 1, "p", "n")
    if schema is THREE:
        y[X[:, 0] // 20 % 5 == 2] = "q"
    y[: size // 10] = rng.choice(schema.classes, size // 10)
    return X, y


def rich(monkeypatch, schema):
    """Whether fine tables pay is decided by the schema alone."""
    for name in ("RICH", "RICHER"):
        monkeypatch.setattr(fine, name, 1e-9 if schema in FINE else 1e9)


def neighbour(data, adjacency, moved):
    rows = FAR[data[0].shape[1]][:moved]
    if adjacency == "add-remove":
        return with_rows(data, rows, ["p"] * moved), tuple(range(moved))
    X, y = data[0].copy(), data[1].copy()
    X[:moved], y[:moved] = rows, "p"
    return (X, y), ()


def looked(schema, weights, adjacency, moved):
    """A look, by the function that the automatic choice calls; the counts are the same, as they were bought before."""
    counts = ClassCounts(np.array([600.0, 400.0, 300.0][: len(schema.classes)]), 1.0, None)

    def look(data):
        source = sources.open(data[0], schema, data[1], contributions=moved)
        people = {"adjacency": adjacency, "contributions": moved, "unexpected": "refuse", "random_state": None}
        found = shaped(source, None, schema, counts, Fraction(10), weights=weights, **people)
        assert found.epsilon + Fraction(found.certificate.epsilon) == 10
        return found.schema.to_dict(), found.levels, found.certificate.epsilon

    return look


@pytest.mark.parametrize(("adjacency", "moved"), [("add-remove", 1), ("add-remove", 2), ("replace", 1)])
@pytest.mark.parametrize("schema", [NINE, TWO, THREE])
def test_a_look_costs_its_share_and_nothing_else_is_seen(monkeypatch, schema, adjacency, moved):
    rich(monkeypatch, schema)
    data = skewed(schema)
    other, inserted = neighbour(data, adjacency, moved)
    tape = replayed(monkeypatch, looked(schema, True, adjacency, moved), data, other, inserted=inserted, loudness=0.05)
    spent = float(10 * (fine if schema in FINE else pooled).SHARE)
    assert tape.loss() == pytest.approx(spent)


@pytest.mark.parametrize("schema", [NINE, TWO, THREE])
def test_a_look_changes_knots_and_finds_spikes(monkeypatch, schema):
    rich(monkeypatch, schema)
    _, (found, levels, _) = recorded(
        monkeypatch, lambda: looked(schema, True, "add-remove", 1)(skewed(schema)), loudness=0.05
    )
    assert all(isinstance(one["bins"], list | tuple) for one in found["features"])
    assert bool(levels) == (schema in FINE)


@pytest.mark.parametrize("schema", [NINE, TWO, THREE])
def test_knots_follow_the_noisy_tables(monkeypatch, schema):
    """The same rows under other noise have other knots: they are read off what came out."""
    rich(monkeypatch, schema)
    look, data = looked(schema, True, "add-remove", 1), skewed(schema)
    found = [recorded(monkeypatch, lambda: look(data), seed=seed, loudness=3)[1][0]["features"] for seed in (1, 2, 3)]
    assert any(one != found[0] for one in found[1:])


@pytest.mark.parametrize("model", ["additive", "naive-bayes", "selective"])
@pytest.mark.parametrize("schema", [NINE, TWO, THREE])
def test_counts_look_and_model_cost_epsilon_together(monkeypatch, schema, model):
    rich(monkeypatch, schema)
    X, y = skewed(schema)
    ledger = Ledger(Budget(2))
    fitted = PrivateClassifier(2, schema, model).fit(X, y, ledger=ledger)
    charges = list(fitted.certificate_.charges())
    assert ledger.spent == 2 == sum(Fraction(charge.cost) for charge in charges)
    words = "relative position" if schema is NINE else "rows by class and" if model == "additive" else "nothing"
    looks = [one for one in charges if words in one.what]
    share = (fine if schema in FINE else pooled).SHARE
    assert sum(Fraction(one.cost) for one in looks) == ((2 - fitted.counts_.cost) * share if looks else 0)
    assert bool(looks) == (schema is NINE or model == "additive")
    assert fitted.predict(X).shape == y.shape
    again = type(fitted.model_).from_dict(fitted.model_.to_dict())
    asked = X[:, [schema.names.index(name) for name in again.schema.names]]
    assert again.predict(asked).tolist() == fitted.model_.predict(asked).tolist()


@pytest.mark.parametrize("schema", FINE)
def test_a_fit_without_privacy_looks_too(monkeypatch, schema):
    rich(monkeypatch, schema)
    X, y = skewed(schema)
    fitted = PrivateClassifier(float("inf"), schema, "additive").fit(X, y)
    assert fitted.model_.blocks.levels and not fitted.certificate_.private and fitted.score(X, y) > 0.7
