"""What nodes hand to the sampler, alone, in a federation and in shares: neighbours, answered alike, send alike."""

from fractions import Fraction

import numpy as np
import pytest

from discreet import Budget, BudgetError, Categorical, FederatedNB, Ledger, Numeric, Schema, collect
from discreet.bayes.plan import make_plan
from discreet.federated.shares import share_plan
from discreet.mechanisms.shares import ExactShares
from discreet.nodes.site import node_update
from tests.recorder import replayed, with_rows

SCHEMA = Schema([Categorical("c", [0, 1, 2]), Numeric("a", 0, 4, integer=True, bins=4)], "y", [0, 1])
NEIGHBOURS = [("add-remove", 1), ("add-remove", 2), ("replace", 1)]


def rows_of(size=60):
    rng = np.random.default_rng(5)
    X, y = np.column_stack([rng.integers(0, 3, size), rng.integers(0, 5, size)]), rng.integers(0, 2, size)
    X[:2], y[:2] = 0, 0
    return X, y


def neighbour(data, adjacency, moved):
    if adjacency == "add-remove":
        return with_rows(data, [[2, 4]] * moved, [1] * moved), tuple(range(moved))
    X, y = data[0].copy(), data[1].copy()
    X[:moved], y[:moved] = [2, 4], 1
    return (X, y), ()


@pytest.mark.parametrize(("adjacency", "moved"), NEIGHBOURS)
def test_an_update_costs_epsilon_and_holds_nothing_exact(monkeypatch, adjacency, moved):
    data = rows_of()
    other, inserted = neighbour(data, adjacency, moved)

    def sent(rows):
        ledger = Ledger(Budget(1))
        terms = {"adjacency": adjacency, "contributions": moved, "node": "a", "round_id": "r", "ledger": ledger}
        update = node_update(rows[0], SCHEMA, Budget(1), y=rows[1], **terms)
        assert ledger.spent == 1
        return update.to_bytes()

    tape = replayed(monkeypatch, sent, data, other, inserted=inserted, loudness=0)
    assert tape.loss() == pytest.approx(1)


@pytest.mark.parametrize("weighting", ["sum", "inverse-variance"])
@pytest.mark.parametrize(("adjacency", "moved"), NEIGHBOURS)
def test_a_federation_costs_what_its_node_spends(monkeypatch, adjacency, moved, weighting):
    """The row is at the second of three nodes; the others send what they would have sent."""
    data = rows_of()
    other, inserted = neighbour(data, adjacency, moved)

    def fitted(rows):
        where = np.concatenate([np.ones(len(rows[1]) - 58, int), np.arange(58) % 3])
        ledger = Ledger(Budget(1))
        settings = {"partition": where, "adjacency": adjacency, "contributions": moved, "weighting": weighting}
        model = FederatedNB(1, schema=SCHEMA, n_nodes=3, **settings).fit(*rows, ledger=ledger)
        assert ledger.spent == 1 == Fraction(model.certificate_.epsilon)
        return model.model_.to_dict(), model.nodes_

    tape = replayed(monkeypatch, fitted, data, other, inserted=inserted, loudness=0)
    assert tape.loss() == pytest.approx(1)
    third = len(tape.events) // 3
    assert sum(event.loss for event in tape.events[third : 2 * third]) == pytest.approx(1)


class Shares:
    """Writes down what is asked of noise shares, and adds nothing."""

    def __init__(self, monkeypatch):
        self.asked = []
        for law in ("laplace", "skellam"):
            monkeypatch.setattr(ExactShares, law, self._of(law))

    def _of(self, law):
        def draw(_, values, spread, part):
            self.asked.append((law, values.shape, spread, part))
            return values

        return draw


def test_shares_are_sized_for_the_honest_who_are_left(monkeypatch):
    """Of ten nodes one may collude and three may leave: six shares must make the whole noise."""
    watched, (X, y) = Shares(monkeypatch), rows_of()
    plan = make_plan(SCHEMA, Budget(1), mechanism="laplace")
    shared = share_plan(plan, 10, colluding=1, dropouts=3)
    shared.vector(collect(X, SCHEMA, y))
    planned = [(2, item.cells) for item in plan.items]
    assert [(shape, spread) for _, shape, spread, _ in watched.asked] == [
        (shape, item.charge.spread) for shape, item in zip(planned, plan.items, strict=True)
    ]
    assert {part for *_, part in watched.asked} == {Fraction(1, 6)}
    assert sum(1 / spread for _, _, spread, _ in watched.asked) == 1  # a row moves one cell of every table
    with pytest.raises(BudgetError, match="fewer nodes"):
        shared.release(np.zeros(shared.length, np.int64), 6)


def test_a_secure_fit_has_the_noise_of_all_nodes(monkeypatch):
    watched = Shares(monkeypatch)
    FederatedNB(2, schema=SCHEMA, n_nodes=8, secure=True, honest=6).fit(*rows_of())
    assert {part for *_, part in watched.asked} == {Fraction(8, 6)}
    assert sum(1 / spread for _, _, spread, _ in watched.asked) == 2


def test_skellam_shares_are_wide_enough(monkeypatch):
    """The Rényi bound of Skellam noise, written out here, with the variances that reach the sampler."""
    watched = Shares(monkeypatch)
    FederatedNB(1, 1e-5, SCHEMA, n_nodes=5, secure=True, adjacency="replace").fit(*rows_of())
    variances = [float(spread) for law, _, spread, _ in watched.asked if law == "skellam"]
    assert variances and {part for *_, part in watched.asked} == {1}
    best = 1.0
    for order in range(2, 400):
        divergence = sum(
            order * 2 / (2 * v) + min(((2 * order - 1) * 2 + 6 * 2) / (4 * v * v), 3 * 2 / (2 * v)) for v in variances
        )
        log = (order - 1) * (divergence - 1) + order * np.log1p(-1 / order) - np.log(order - 1)
        best = min(best, float(np.exp(min(log, 0.0))))
    assert 0.9e-5 < best <= 1e-5 * (1 + 1e-6)
