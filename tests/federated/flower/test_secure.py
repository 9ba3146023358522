"""Rounds under masks over a grid: an exact sum, ledgers that pay before masked inputs leave, and no way back."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from flwr.app import Message

from discreet.bayes.model import NaiveBayesModel
from discreet.errors import DiscreetError
from discreet.federated import Settings
from discreet.federated.flower.answers import AnsweringSite, FederatedTerms, SecureTerms
from discreet.federated.flower.client import make_app
from discreet.federated.flower.keys import make_keys
from discreet.federated.flower.records import Request, refusal_record
from discreet.federated.flower.server import conduct
from discreet.federated.flower.task import RoundTask
from discreet.federated.shares import SharePlan, share_plan
from discreet.nodes.refusals import NodeRefusal
from discreet.nodes.settings import node_plan
from discreet.privacy.budget import Budget
from tests.federated.flower.local import LocalGrid

pytestmark = pytest.mark.usefixtures("one_engine")


@pytest.fixture(scope="module")
def ring(tmp_path_factory):
    return make_keys(tmp_path_factory.mktemp("keys") / "ring", ["a", "b", "c", "d"])


@pytest.fixture
def members(tmp_path, schema, frame, ring):
    """Four houses for rounds in which one node may drop out."""
    schema.save(tmp_path / "schema.json")
    opened = {}
    for i, name in enumerate("abcd"):
        frame.iloc[150 * i : 150 * (i + 1)].to_parquet(tmp_path / f"{name}.parquet")
        masks = SecureTerms.of(ring.directory, name, 0, 1)
        data, ledger = str(tmp_path / f"{name}.parquet"), tmp_path / f"{name}.ledger"
        opened[name] = AnsweringSite(FederatedTerms(name, data, schema, Budget(1), Budget(2), ledger, secure=masks))
    yield opened
    for house in opened.values():
        house.close()


@pytest.fixture
def task(tmp_path, ring):
    return RoundTask(
        str(tmp_path / "schema.json"), str(tmp_path / "model.json"), 4, wait=3, resend=0.3, stage=1.0, secure=True,
        keys=str(ring.directory), epsilon=1.0, colluding=0, dropouts=1,
    )  # fmt: skip


@pytest.fixture
def vectors(monkeypatch):
    """Every unmasked vector that was drawn; only a test sees them."""
    drawn = []
    real = SharePlan.vector

    def spy(self, statistics, sampler=None):
        drawn.append(real(self, statistics, sampler))
        return drawn[-1]

    monkeypatch.setattr(SharePlan, "vector", spy)
    return drawn


def apps(members):
    return {name: make_app(house) for name, house in members.items()}


def same_model(schema, task, vectors, survivors):
    plan = node_plan(schema, task.settings, Budget(1), "auto")
    shared = share_plan(plan, 4, dropouts=1)
    total = np.sum(np.stack(vectors), axis=0, dtype=np.int64)
    return NaiveBayesModel.load(task.out).to_dict() == shared.model(total, survivors).to_dict()


def test_the_opened_sum_is_the_sum_of_the_vectors(members, schema, task, vectors):
    grid = LocalGrid(apps(members))
    result = conduct(grid, task, lambda *_: None)
    assert [row["node"] for row in result["nodes"]] == list("abcd")
    assert all(row["rows"] is None for row in result["nodes"])
    assert len(vectors) == 4 and same_model(schema, task, vectors, 4)
    assert all(len(house.journal.entries()) == 1 for house in members.values())
    seen = b"".join(bytes(content["secure"]["message"]) for _, content in grid.contents)
    assert all(vector.tobytes() not in seen for vector in vectors)  # none crossed the wire unmasked
    kept = [path for house in members.values() for path in house.rounds.iterdir()]
    assert len(kept) == 12 and {path.stat().st_mode & 0o777 for path in kept} == {0o600}


def test_lost_answers_are_given_again_and_a_restarted_node_goes_on(members, schema, task, vectors):
    current = apps(members)

    def spoil(name, count, reply):
        if name == "a" and count % 2 == 0:  # every answer of node a is lost once, and it restarts in between
            terms = members["a"].terms
            members["a"].close()
            members["a"] = AnsweringSite(terms)
            grid.apps["a"] = make_app(members["a"])
            return None
        return reply

    grid = LocalGrid(current, spoil)
    result = conduct(grid, replace(task, stage=120.0, resend=0.2), lambda *_: None)
    assert len(result["nodes"]) == 4 and len(vectors) == 4
    assert same_model(schema, task, vectors, 4)
    assert len(members["a"].journal.entries()) == 1


@pytest.mark.parametrize("silent_from", [0, 1, 2, 3, 4])
def test_one_dropout_at_each_stage_is_survived(members, schema, task, vectors, silent_from):
    grid = LocalGrid(apps(members), lambda name, count, reply: None if name == "d" and count >= silent_from else reply)
    result = conduct(grid, replace(task, resend=9.0, stage=0.6), lambda *_: None)
    in_sum = 4 if silent_from >= 3 else 3
    assert len(result["nodes"]) == in_sum
    if silent_from != 2:  # there d has drawn a vector that never arrives
        assert same_model(schema, task, vectors, in_sum)


def test_too_few_survivors_open_nothing(members, task):
    grid = LocalGrid(apps(members), lambda name, count, reply: None if name in "cd" and count >= 2 else reply)
    with pytest.raises(DiscreetError, match="no model was written"):
        conduct(grid, replace(task, resend=9.0, stage=0.3), lambda *_: None)


def test_a_refusal_of_one_attempt_does_not_forbid_the_next(members, schema, task, vectors):
    """Two nodes cannot go on with the first round, for which one may drop out; all answer the second."""

    def spoil(name, count, reply):
        if name in "cd" and count == 1:
            reply.content = refusal_record(NodeRefusal.SECURE)
        return reply

    said = []
    result = conduct(LocalGrid(apps(members), spoil), task, lambda *event: said.append(event))
    assert len(result["nodes"]) == 4 and result["refused"] == {}
    assert [event for event, _ in said].count("given up") == 1
    assert len(vectors) == 4 and same_model(schema, task, vectors, 4)


def test_nodes_that_cannot_pay_end_the_attempts_when_too_few_are_left(members, task):
    for name in "cd":
        house = members[name]
        house.journal.answer("before", "q", Budget(2), lambda: b"x")
    said = []
    with pytest.raises(DiscreetError, match="does not pay"):
        conduct(LocalGrid(apps(members)), task, lambda *event: said.append(event))
    assert [event for event, _ in said].count("given up") == 1
    assert all(len(house.journal.entries()) == 1 for house in members.values())  # nobody pays for a hopeless attempt


def test_an_answer_of_a_node_that_has_gone_offline_counts(members, schema, task, vectors):
    class Fading(LocalGrid):
        """Node d is offline whenever its answer is on the way; answers come a turn late."""

        def get_nodes(self):
            away = any(identity.startswith("d-") for identity in self.waiting)
            return [info for info in super().get_nodes() if info.name != "d" or not away]

        def pull_messages(self, identities):
            self.turn = not getattr(self, "turn", False)
            return [] if self.turn else super().pull_messages(identities)

    result = conduct(Fading(apps(members)), replace(task, stage=120.0), lambda *_: None)
    assert len(result["nodes"]) == 4 and same_model(schema, task, vectors, 4)


def test_by_default_one_node_may_read_the_model():
    assert RoundTask("s", "o", 1).colluding == 1 == SecureTerms({}, None).colluding


def test_a_node_under_masks_gives_no_plain_update(members, schema):
    grid = LocalGrid(apps(members))
    request = Request("plain", schema.hash, Settings())
    grid.push_messages([Message(request.record(), dst_node_id=100, message_type="train")])
    assert dict(grid.contents[-1][1]["refusal"]) == {"reason": "secure"}
    assert members["a"].journal.entries() == []


@pytest.mark.parametrize("other", [{"epsilon": 2.0}, {"dropouts": 0}, {"colluding": 1}, {"numeric": "gaussian"}])
def test_terms_that_differ_are_refused_before_anything_is_paid(members, task, other):
    accepted = "numeric" in other  # the coordinator chooses the model of numbers; nodes follow
    if accepted:
        assert conduct(LocalGrid(apps(members)), replace(task, **other), lambda *_: None)["nodes"]
        return
    with pytest.raises(DiscreetError, match="cannot go on with this secure round"):
        conduct(LocalGrid(apps(members)), replace(task, **other), lambda *_: None)
    assert all(house.journal.entries() == [] for house in members.values())


def test_a_coordinator_with_other_public_keys_is_refused(members, task, tmp_path):
    false = make_keys(tmp_path / "false", ["a", "b", "c", "d"])
    with pytest.raises(DiscreetError, match="cannot go on with this secure round"):
        conduct(LocalGrid(apps(members)), replace(task, keys=str(false.directory)), lambda *_: None)


def test_an_empty_ledger_is_not_overdrawn(members, task):
    for _ in range(2):
        conduct(LocalGrid(apps(members)), task, lambda *_: None)
    with pytest.raises(DiscreetError, match="does not pay"):
        conduct(LocalGrid(apps(members)), task, lambda *_: None)
    assert all(len(house.journal.entries()) == 2 for house in members.values())
