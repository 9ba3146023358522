"""A house: rows that cannot be counted are told to their owner and to nobody else."""

from __future__ import annotations

from dataclasses import replace

import pytest

from discreet import Account, Budget
from discreet.errors import DiscreetError
from discreet.federated import Settings
from discreet.federated.flower.answers import AnsweringSite
from discreet.federated.flower.node import Connection, FlowerNode
from discreet.federated.flower.records import Request
from discreet.nodes.refusals import NodeRefusal, NodeRefusedError
from discreet.privacy.nodes import Sequential
from discreet.privacy.payer import unit_of

pytestmark = pytest.mark.usefixtures("one_engine")

ROWS = [("ill", "perhaps"), ("ill", None), ("age", None)]


@pytest.mark.parametrize(("column", "value"), ROWS)
def test_a_row_that_cannot_be_counted_keeps_a_node_from_starting(houses, frame, tmp_path, column, value):
    """Its owner is told; the coordinator never gets an answer that depends on it."""
    spoilt = frame.astype({column: object}).iloc[:50]
    spoilt.loc[spoilt.index[7], column] = value
    spoilt.to_csv(tmp_path / "spoilt.csv", index=False)
    terms = replace(houses["a"].terms, data=str(tmp_path / "spoilt.csv"), ledger=tmp_path / "other.ledger")
    with pytest.raises(DiscreetError):
        FlowerNode(terms, Connection("127.0.0.1:1"), lambda *_: None)
    AnsweringSite(terms).close()  # the ledger is free and nothing was charged
    FlowerNode(replace(terms, data=houses["a"].terms.data), Connection("127.0.0.1:1"), lambda *_: None).site.close()


@pytest.mark.parametrize(("column", "value"), ROWS)
def test_rows_and_disks_that_fail_later_look_alike(houses, schema, frame, tmp_path, column, value):
    spoilt = frame.astype({column: object}).iloc[:50]
    spoilt.loc[spoilt.index[7], column] = value
    spoilt.to_csv(tmp_path / "spoilt.csv", index=False)
    reasons = set()
    for name, data in (("a", tmp_path / "spoilt.csv"), ("b", tmp_path / "absent.csv")):
        houses[name].terms = replace(houses[name].terms, data=str(data))
        with pytest.raises(NodeRefusedError) as caught:
            houses[name].update(Request("r", schema.hash, Settings()))
        reasons.add(caught.value.reason)
    assert reasons == {NodeRefusal.FAILED}


def test_the_owner_of_a_running_node_is_told_why_it_failed(houses, schema, frame, tmp_path, monkeypatch):
    """The coordinator hears one word; before, the owner did too."""
    heard = []
    houses["a"].close()
    running = FlowerNode(houses["a"].terms, Connection("127.0.0.1:1"), lambda *said: heard.append(said))
    spoilt = frame.astype({"colour": object}).iloc[:50]
    spoilt.loc[spoilt.index[7], "colour"] = "mauve"
    spoilt.to_csv(tmp_path / "spoilt.csv", index=False)

    def asked() -> None:
        running.site.terms = replace(running.site.terms, data=str(tmp_path / "spoilt.csv"))
        running.site.update(Request("r", schema.hash, Settings()))

    monkeypatch.setattr(running, "join", asked)
    with pytest.raises(NodeRefusedError):
        running.run()
    assert [event for event, _ in heard] == ["failed"] and "mauve" in heard[0][1]


def test_rounds_are_charged_to_the_account_of_the_rows_too(houses, schema, tmp_path):
    account = Account.create(tmp_path / "rows.account", Budget(1.5))
    house = houses["a"]
    cost = house.terms.budget.epsilon
    house.terms = replace(house.terms, account=account, data=str(tmp_path / "absent.csv"))
    whole = house.terms
    with pytest.raises(NodeRefusedError):
        house.update(Request("r0", schema.hash, Settings()))
    assert account.spent == 0 and not house.journal.entries()  # rows that are not there cost nothing
    house.terms = replace(whole, data=houses["b"].terms.data)
    first = house.update(Request("r1", schema.hash, Settings()))
    assert house.update(Request("r1", schema.hash, Settings())) == first
    assert account.spent == cost and account.entries()[0].unit == unit_of("add-remove", 1)
    Account.open(account.path).charge(Sequential("another", ()), Budget(account.room.epsilon))
    with pytest.raises(NodeRefusedError) as caught:
        house.update(Request("r2", schema.hash, Settings()))
    assert caught.value.reason is NodeRefusal.BUDGET and len(house.journal.entries()) == 1
