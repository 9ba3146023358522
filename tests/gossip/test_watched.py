"""What gossiping nodes hand to the sampler: a row moves the noised integers of its own node alone."""

from fractions import Fraction

import numpy as np
import pytest

from discreet import Budget, Categorical, GossipNB, Ledger, Schema
from discreet.gossip.sharing import GossipTerms, SharingSite
from discreet.nodes.settings import Settings
from tests.recorder import recorded, replayed, with_rows

SCHEMA = Schema([Categorical("c", [0, 1, 2]), Categorical("d", [0, 1])], "y", [0, 1])


def rows_of(size=40):
    rng = np.random.default_rng(5)
    X, y = np.column_stack([rng.integers(0, 3, size), rng.integers(0, 2, size)]), rng.integers(0, 2, size)
    X[0], y[0] = 0, 0
    return X, y


@pytest.mark.parametrize("adjacency", ["add-remove", "replace"])
def test_a_network_costs_what_its_node_spends(monkeypatch, adjacency):
    data = rows_of()
    other, inserted = with_rows(data, [[2, 1]], [1]), (0,)
    if adjacency == "replace":
        other, inserted = (np.vstack([[2, 1], data[0][1:]]), np.append([1], data[1][1:])), ()

    def fitted(rows):
        where = np.concatenate([np.ones(len(rows[1]) - 39, int), np.arange(39) % 3])
        ledger, rng = Ledger(Budget(1)), np.random.default_rng
        monkeypatch.setattr(np.random, "default_rng", lambda *seed: rng(0))  # who talks to whom is not private
        model = GossipNB(1, schema=SCHEMA, n_nodes=3, rounds=20, partition=where, adjacency=adjacency)
        model.fit(*rows, ledger=ledger)
        monkeypatch.setattr(np.random, "default_rng", rng)
        assert ledger.spent == 1 == Fraction(model.certificate_.epsilon)
        return model.model_.to_dict()

    tape = replayed(monkeypatch, fitted, data, other, inserted=inserted)
    third = len(tape.events) // 3
    assert tape.loss() == sum(event.loss for event in tape.events[third : 2 * third]) == pytest.approx(1)


def test_what_a_node_shares_is_its_noised_update(monkeypatch, tmp_path):
    """The first share holds the integers that the sampler returned, in units of 2⁻⁶⁴, and a weight of one."""
    X, y = rows_of()
    lines = ["c,d,y", *(f"{c},{d},{label}" for (c, d), label in zip(X, y, strict=True))]
    (tmp_path / "rows.csv").write_text("\n".join(lines) + "\n")
    (tmp_path / "state").mkdir()
    terms = GossipTerms("a", str(tmp_path / "rows.csv"), SCHEMA, Budget(1), tmp_path / "state", mechanism="laplace")
    tape, house = recorded(monkeypatch, lambda: SharingSite(terms))
    try:
        share = house.machine.own
        drawn = np.concatenate([event.outcome for event in tape.of("laplace")])
        assert sorted(share.values) == sorted(int(value) << 64 for value in drawn) and share.weight == 1 << 64
        assert sum(1 / event.public[0] for event in tape.of("laplace")) == 2  # one for each of two classes
        assert [entry.cost for entry in house.journal.entries()] == [Budget(1)]
    finally:
        house.close()
    again, house = recorded(monkeypatch, lambda: SharingSite(terms))
    house.close()
    assert not again.events  # what was paid for once is kept, not drawn again


@pytest.mark.parametrize(("adjacency", "moved", "steps"), [("add-remove", 2, 2), ("replace", 1, 2), ("replace", 2, 4)])
def test_a_site_keeps_to_its_terms(monkeypatch, tmp_path, adjacency, moved, steps):
    """What one row moves, each of two tables in one cell, times the steps between neighbours, costs the budget."""
    (tmp_path / "rows.csv").write_text("c,d,y\n1,0,1\n2,1,0\n")
    (tmp_path / "state").mkdir()
    settings = Settings.of(adjacency, "histogram", "weighted", moved)
    terms = GossipTerms("a", str(tmp_path / "rows.csv"), SCHEMA, Budget(1), tmp_path / "state", settings, "laplace")
    tape, house = recorded(monkeypatch, lambda: SharingSite(terms))
    house.close()
    assert sum(1 / event.public[0] for event in tape.of("laplace")) * steps == 2  # one for each of two classes
