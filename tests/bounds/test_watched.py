"""What a settlement hands to the sampler, in the call that people make: neighbours, answered alike, settle alike."""

from fractions import Fraction

import numpy as np
import pytest

from discreet import Budget, Categorical, Ledger, Numeric, PrivateNB, Schema, settle_schema
from tests.recorder import recorded, replayed

SCHEMA = Schema(
    [Numeric("a", -100, 900, bins=4, bounds="private"), Numeric("b", 0, 64, integer=True, bins=3, missing="bin")],
    "y",
    ["n", "p"],
)
EPSILON = 2.0


@pytest.fixture(scope="module")
def rows():
    rng = np.random.default_rng(4)
    return np.column_stack([rng.normal(60, 25, 240), rng.integers(0, 40, 240)])


def call(**settings):
    def settled(data):
        found = settle_schema(SCHEMA, data, EPSILON, **settings)
        return found.schema, found.certificate

    return settled


def neighbour(rows, adjacency, moved):
    """Rows far from all others, where a count of one shows, put before all others or in place of the first."""
    new = np.array([[812.0, 63.0], [-77.0, 62.0]])[:moved]
    if adjacency == "replace":
        return np.concatenate([new, rows[moved:]]), ()
    return np.concatenate([new, rows]), tuple(range(moved))


@pytest.mark.parametrize("adjacency", ["add-remove", "replace"])
@pytest.mark.parametrize("moved", [1, 2])
@pytest.mark.parametrize("edges", ["private", "declared"])
def test_a_neighbour_costs_epsilon_and_changes_nothing_else(monkeypatch, rows, adjacency, moved, edges):
    terms = {"bounds": "private", "edges": edges, "adjacency": adjacency, "contributions": moved}
    other, inserted = neighbour(rows, adjacency, moved)
    for seed in range(3):
        tape = replayed(monkeypatch, call(**terms), rows, other, inserted=inserted, seed=seed)
        assert len(tape.of("laplace")) == (4 if edges == "private" else 2) == len(tape.events)
        assert tape.loss() == pytest.approx(EPSILON)


def test_the_two_looks_have_half_of_the_budget_each(monkeypatch, rows):
    tape, (_, certificate) = recorded(monkeypatch, lambda: call(bounds="private")(rows))
    assert tape.spreads == [2 / Fraction(1)] * 4  # two numbers at each look
    assert [Fraction(charge.spread) for charge in certificate.charges()] == [Fraction(2)] * 2
    assert [Fraction(charge.cost) for charge in certificate.charges()] == [Fraction(1)] * 2


def test_the_whole_cost_is_charged(rows):
    ledger = Ledger(Budget(3))
    settle_schema(SCHEMA, rows, 0.5, ledger=ledger)
    assert ledger.spent == Fraction(1, 2)


@pytest.mark.parametrize(("adjacency", "moved"), [("add-remove", 1), ("add-remove", 2), ("replace", 1)])
def test_a_fit_that_buys_bounds_first_costs_what_it_says(monkeypatch, rows, adjacency, moved):
    schema = Schema([SCHEMA.features[0], Categorical("c", ["u", "v"])], "y", ["n", "p"])
    rng = np.random.default_rng(1)
    table = np.empty((len(rows), 2), object)
    table[:, 0], table[:, 1] = rows[:, 0], rng.choice(["u", "v"], len(rows))
    y = rng.choice(["n", "p"], len(rows))
    far = np.array([[812.0, "v"]], object)
    if adjacency == "replace":
        swapped = "p" if y[0] == "n" else "n"
        other = np.concatenate([far, table[1:]]), np.concatenate([[swapped], y[1:]])
    else:
        other = np.concatenate([far] * moved + [table]), np.concatenate([["n"] * moved, y])
    settings = {"bounds": "private", "adjacency": adjacency, "contributions": moved, "bounds_share": 0.25}

    def fitted(data):
        ledger = Ledger(Budget(1))
        estimator = PrivateNB(1.0, schema=schema, **settings)
        estimator.fit(*data, ledger=ledger)
        assert ledger.spent == 1 and Fraction(estimator.certificate_.epsilon) == 1
        return estimator.model_.to_dict()

    inserted = tuple(range(moved)) if adjacency == "add-remove" else ()
    tape = replayed(monkeypatch, fitted, (table, y), other, inserted=inserted)
    looks, tables = tape.events[:2], tape.events[2:]
    assert sum(event.loss for event in looks) == pytest.approx(0.25)
    assert sum(event.loss for event in tables) == pytest.approx(0.75)


def test_how_octaves_are_cut_is_read_off_the_noisy_rows(monkeypatch):
    """Few rows in the middle octaves, where one more would change how finely they are cut."""
    rng = np.random.default_rng(0)
    for size in range(1, 40):
        rows = np.column_stack([rng.choice([3.0, 6.0, 9.0, 20.0], size), rng.integers(1, 9, size)])
        other = np.concatenate([[[6.0, 3.0]], rows])
        tape = replayed(monkeypatch, call(bounds="private"), rows, other, inserted=(0,), seed=size)
        assert tape.loss() == pytest.approx(EPSILON)
