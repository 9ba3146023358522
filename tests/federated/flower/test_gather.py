"""A round over a grid that loses, repeats and forges: the same bytes again, one charge, and no stranger's update."""

from __future__ import annotations

import json
from dataclasses import replace

import numpy as np
import pytest
from flwr.app import Array, ArrayRecord, ConfigRecord, Message, RecordDict

from discreet.errors import DiscreetError
from discreet.federated import Aggregate, Settings, Update
from discreet.federated.flower.client import make_app
from discreet.federated.flower.gather import Patience, gather
from discreet.federated.flower.records import Request, read_update, update_record
from discreet.federated.flower.server import conduct
from discreet.federated.flower.task import RoundTask
from discreet.nodes.refusals import NodeRefusal, NodeRefusedError
from tests.federated.flower.local import LocalGrid

pytestmark = pytest.mark.usefixtures("one_engine")

EMPTY = ConfigRecord({"metadata": "{}"})
QUICK = Patience(wait=120, resend=0.05, poll=0.01)


def apps(houses):
    return {name: make_app(house) for name, house in houses.items()}


@pytest.fixture
def request_(schema):
    return Request("round-1", schema.hash, Settings())


def test_model_equals_the_aggregate_of_what_the_ledgers_keep(houses, schema, request_):
    outcome = gather(LocalGrid(apps(houses)), request_, Aggregate(schema), expected=3, patience=QUICK)
    twin = Aggregate(schema)
    for name in outcome.aggregate.members:
        twin.add(Update.from_bytes(houses[name].journal.kept("round-1")))
    assert outcome.aggregate.model().to_dict() == twin.model().to_dict()
    twin.remove("a")
    assert outcome.aggregate.model().to_dict() != twin.model().to_dict()
    assert [row["epsilon"] for row in outcome.table()] == [1.0] * 3


def test_statistics_travel_as_64_bit_integers_only(houses, schema, request_):
    grid = LocalGrid(apps(houses))
    gather(grid, request_, Aggregate(schema), expected=3, patience=QUICK)
    for _, content in grid.contents:
        arrays = [array.numpy() for array in content.array_records["update"].values()]
        assert arrays and all(array.dtype == np.int64 for array in arrays)
        assert not content.metric_records


def test_lost_answers_are_asked_for_again_and_paid_once(houses, schema, request_):
    def spoil(name, count, reply):
        if name == "a" and count < 2:
            return None  # the answer never arrives
        return "unavailable" if name == "b" and count < 2 else reply

    events = []
    grid = LocalGrid(apps(houses), spoil)
    outcome = gather(grid, request_, Aggregate(schema), expected=3, patience=QUICK, report=lambda *e: events.append(e))
    assert len(outcome.aggregate) == 3
    assert grid.counts["a"] >= 3 and ("asked again", "a") in events and ("lost", "b") in events
    answers = {read_update(content).digest for name, content in grid.contents if name == "a"}
    assert len(answers) == 1
    assert all(len(house.journal.entries()) == 1 for house in houses.values())


def test_a_node_cannot_speak_for_another(houses, schema, request_):
    def spoil(name, count, reply):
        if name == "b":
            return Message(update_record(houses["a"].update(request_)), reply_to=_origin(reply))
        return reply

    def _origin(reply):
        made = Message(RecordDict(), dst_node_id=101, message_type="train")
        made.metadata.__dict__["_message_id"] = reply.metadata.reply_to_message_id
        return made

    outcome = gather(
        LocalGrid(apps(houses), spoil), request_, Aggregate(schema), expected=3, at_least=2, known=3, patience=QUICK
    )
    assert sorted(outcome.aggregate.members) == ["a", "c"]
    assert "another name" in outcome.refused["b"]


class Fading(LocalGrid):
    """A grid on which node b is offline as soon as it was asked, and whose answers come a turn late."""

    turns = 0

    def get_nodes(self):
        return [info for info in super().get_nodes() if info.name != "b" or not self.counts["b"]]

    def pull_messages(self, identities):
        self.turns += 1
        return super().pull_messages(identities) if self.turns % 2 == 0 else []


def test_a_node_that_goes_offline_cannot_speak_for_another(houses, schema, request_):
    def spoil(name, count, reply):
        reply.content.config_records["about"], reply.content.array_records["update"] = forged
        return reply

    as_c = update_record(houses["c"].update(request_))
    forged = as_c.config_records["about"], as_c.array_records["update"]
    grid = Fading({"b": make_app(houses["b"])}, spoil)
    aggregate = Aggregate(schema)
    with pytest.raises(DiscreetError, match="b: the update bears another name"):
        gather(grid, request_, aggregate, expected=1, known=1, named=True, patience=QUICK)
    assert len(aggregate) == 0


def test_with_keys_an_answer_without_a_registered_name_is_refused(houses, schema, request_):
    grid = LocalGrid({"": make_app(houses["b"])})
    with pytest.raises(DiscreetError, match="not registered"):
        gather(grid, request_, Aggregate(schema), expected=1, known=1, named=True, patience=QUICK)
    assert len(gather(grid, request_, Aggregate(schema), expected=1, patience=QUICK).aggregate) == 1


def test_a_busy_node_is_asked_again(houses, schema, tmp_path):
    """A house for each message: while another process has the ledger, the question stays open."""
    terms = houses["a"].terms
    config = {
        "name": "a", "data": terms.data, "schema": str(tmp_path / "schema.json"), "epsilon": 1.0,
        "total-epsilon": 2.0, "ledger": str(terms.ledger),
    }  # fmt: skip

    def spoil(name, count, reply):
        houses["a"].close()
        return reply

    grid = LocalGrid({"a": make_app()}, spoil, {"a": config})
    request = Request("r", schema.hash, Settings())
    outcome = gather(grid, request, Aggregate(schema), expected=1, known=1, patience=QUICK)
    assert grid.counts["a"] == 2 and sorted(outcome.aggregate.members) == ["a"] and outcome.refused == {}
    assert dict(grid.contents[0][1]["refusal"]) == {"reason": "busy"}


@pytest.mark.parametrize(
    "content",
    [
        RecordDict(),
        RecordDict({"update": ArrayRecord({"class:": Array(np.zeros((2, 2)))})}),
        RecordDict({"update": ArrayRecord({"table:age": Array(np.zeros((2, 2), np.int64))}), "about": EMPTY}),
        RecordDict({"update": ArrayRecord({}), "about": ConfigRecord({"metadata": 3})}),
        RecordDict({"update": ArrayRecord({"table:age": Array("int64", (2, 2), "numpy.ndarray", b"junk")})}),
        RecordDict({"update": ArrayRecord({"table:age": Array("object", (1,), "pickle", b"junk")})}),
    ],
)  # fmt: skip
def test_what_cannot_be_read_is_refused(content):
    with pytest.raises(DiscreetError):
        read_update(content)


def test_an_unknown_reason_is_a_plain_failure():
    with pytest.raises(NodeRefusedError) as caught:
        read_update(RecordDict({"refusal": ConfigRecord({"reason": "my rows are 7, 8 and 9"})}))
    assert caught.value.reason is NodeRefusal.FAILED


def test_refusals_end_a_round_that_cannot_be_filled(houses, schema):
    for name in ("one", "two"):
        gather(
            LocalGrid(apps(houses)),
            Request(name, schema.hash, Settings()),
            Aggregate(schema),
            expected=3,
            patience=QUICK,
        )
    with pytest.raises(DiscreetError, match=r"0 of 3 nodes have answered and 3 have refused.*does not pay"):
        gather(
            LocalGrid(apps(houses)), Request("three", schema.hash, Settings()), Aggregate(schema),
            expected=3, known=3, patience=Patience(60, 1, 0.01),
        )  # fmt: skip


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({"schema_hash": "0" * 64}, NodeRefusal.SCHEMA),
        ({"settings": Settings(contributions=3)}, NodeRefusal.SETTINGS),
        ({"settings": Settings.of("replace", "histogram", "weighted", 1)}, NodeRefusal.SETTINGS),
    ],
)
def test_a_node_keeps_to_its_own_terms(houses, request_, change, reason):
    with pytest.raises(NodeRefusedError) as caught:
        houses["a"].update(replace(request_, **change))
    assert caught.value.reason is reason
    assert houses["a"].journal.entries() == []


@pytest.mark.parametrize(
    "change",
    [
        {"split": {"age": "1e999999999"}}, {"split": "odd"}, {"contributions": True}, {"contributions": 1.0},
        {"round": ""}, {"round": "a\nb"}, {"round": "x" * 201}, {"adjacency": "none"},
        {"extra": "1"}, {"numeric": None},
    ],
)  # fmt: skip
def test_a_request_that_is_none_is_refused(request_, change):
    text = json.dumps(json.loads(request_.text()) | change)
    with pytest.raises(NodeRefusedError) as caught:
        Request.read(RecordDict({"request": ConfigRecord({"json": text})}))
    assert caught.value.reason is NodeRefusal.REQUEST
    assert Request.read(request_.record()) == request_


def test_a_question_that_makes_no_plan_costs_nothing(houses, request_):
    with pytest.raises(NodeRefusedError):
        houses["a"].update(replace(request_, settings=Settings(numeric="oracle")))
    assert houses["a"].journal.entries() == []


def test_same_round_under_other_settings_is_refused(houses, request_):
    houses["a"].update(request_)
    with pytest.raises(NodeRefusedError) as caught:
        houses["a"].update(replace(request_, settings=Settings(split="equal")))
    assert caught.value.reason is NodeRefusal.ROUND


def test_a_refusal_says_nothing_of_rows_or_files(houses, request_, tmp_path):
    secret = tmp_path / "patients-of-ward-7.parquet"
    houses["a"].terms = replace(houses["a"].terms, data=str(secret))
    grid = LocalGrid({"a": make_app(houses["a"])})
    message = Message(request_.record(), dst_node_id=100, message_type="train")
    grid.push_messages([message])
    ((_, content),) = grid.contents
    assert {key: dict(value) for key, value in content.items()} == {"refusal": {"reason": "failed"}}
    garbage = Message(RecordDict({"request": ConfigRecord({"json": "[1]"})}), dst_node_id=100, message_type="train")
    grid.push_messages([garbage])
    assert dict(grid.contents[-1][1]["refusal"]) == {"reason": "request"}


def test_a_supernode_of_flower_s_own_reads_its_configuration(houses, schema, request_, tmp_path):
    """The app as `flwr run` uses it: one house per message, out of --node-config."""
    for house in houses.values():
        house.close()
    configs = {
        name: {
            "name": name, "data": str(tmp_path / f"{name}.parquet"), "schema": str(tmp_path / "schema.json"),
            "epsilon": 1.0, "total-epsilon": 2.0, "ledger": str(tmp_path / f"{name}.ledger"),
        }
        for name in houses
    }  # fmt: skip
    grid = LocalGrid(dict.fromkeys(houses, make_app()), configs=configs)
    task = RoundTask(str(tmp_path / "schema.json"), str(tmp_path / "model.json"), 3, wait=60)
    result = conduct(grid, task, lambda *_: None)
    assert {row["node"] for row in result["nodes"]} == {"a", "b", "c"}
    assert json.loads((tmp_path / "model.json").read_text())["certificate"]["epsilon"] == "1"
    del configs["a"]["ledger"]
    with pytest.raises(DiscreetError, match="no model was written"):
        conduct(LocalGrid({"a": make_app()}, configs=configs), replace(task, nodes=1, known=1), lambda *_: None)


def test_cut_off_robust_and_overlap_reach_the_aggregate(houses, schema, tmp_path):
    task = RoundTask(str(tmp_path / "schema.json"), str(tmp_path / "model.json"), 3, wait=60, overlap=True)
    conduct(LocalGrid(apps(houses)), task, lambda *_: None)
    assert json.loads((tmp_path / "model.json").read_text())["certificate"]["epsilon"] == "3"
    cut = replace(task, weighting="cut-off", cutoff=1e9, robust=0.2).aggregate(schema)
    assert (cut.weighting, cut.cutoff, cut.robust, cut.overlap) == ("cut-off", 1e9, 0.2, True)
    read = RoundTask.read({**replace(task, weighting="cut-off", cutoff=2.5).config()})
    assert (read.cutoff, read.overlap) == (2.5, True)
    assert conduct(LocalGrid(apps(houses)), replace(task, weighting="cut-off", cutoff=1e9), lambda *_: None)["nodes"]


def test_a_watch_can_end_a_round(houses, schema, request_):
    def watch():
        raise DiscreetError("the nodes are gone")

    with pytest.raises(DiscreetError, match="are gone"):
        gather(LocalGrid({}), request_, Aggregate(schema), expected=1, patience=QUICK, watch=watch)


def test_a_round_that_was_cut_off_goes_on(houses, schema, tmp_path):
    state = tmp_path / "state"
    state.mkdir()
    task = RoundTask(
        str(tmp_path / "schema.json"), str(tmp_path / "model.json"), 3, state=str(state), wait=0.5, resend=0.1
    )
    some = {name: app for name, app in apps(houses).items() if name != "c"}
    with pytest.raises(DiscreetError, match="2 of 3 nodes have answered"):
        conduct(LocalGrid(some), task, lambda *_: None)
    grid = LocalGrid(apps(houses))
    conduct(grid, replace(task, wait=60), lambda *_: None)
    assert grid.counts == {"a": 0, "b": 0, "c": 1}
    assert all(len(house.journal.entries()) == 1 for house in houses.values())
    conduct(LocalGrid(apps(houses)), task, lambda *_: None)  # a finished round is followed by a new one
    assert all(len(house.journal.entries()) == 2 for house in houses.values())
