"""A node holds a coordinator at every step to the round it was invited to, and answers a charge once."""

from __future__ import annotations

import os
import shutil
import time
from dataclasses import replace

import pytest

from discreet.federated import Settings
from discreet.federated.flower.answers import AnsweringSite, FederatedTerms, SecureTerms
from discreet.federated.flower.keys import make_keys
from discreet.federated.flower.records import Request
from discreet.federated.secure import SecureCoordinator
from discreet.federated.secure.node import STEPS
from discreet.federated.shares import SharePlan
from discreet.nodes.refusals import NodeRefusedError
from discreet.privacy.budget import Budget

pytestmark = pytest.mark.usefixtures("one_engine")


@pytest.fixture(scope="module")
def ring(tmp_path_factory):
    return make_keys(tmp_path_factory.mktemp("keys") / "ring", ["a", "b", "c", "d"])


@pytest.fixture
def members(tmp_path, schema, frame, ring):
    opened = {}
    for i, name in enumerate("abcd"):
        frame.iloc[20 * i : 20 * (i + 1)].to_parquet(tmp_path / f"{name}.parquet")
        masks = SecureTerms.of(ring.directory, name, 0, 1)
        data, ledger = str(tmp_path / f"{name}.parquet"), tmp_path / f"{name}.ledger"
        opened[name] = AnsweringSite(FederatedTerms(name, data, schema, Budget(1), Budget(3), ledger, secure=masks))
    yield opened
    for house in opened.values():
        house.close()


def begin(members, schema):
    """A coordinator of a fresh round, and the request that goes with its steps."""
    house = members["a"]
    shared = house.shared_plan(Request("0" * 64, schema.hash, Settings()))
    coordinator = SecureCoordinator(shared.open_round(house.terms.secure.registry))
    return coordinator, Request(coordinator.round.digest.hex(), schema.hash, Settings())


def advance(members, coordinator, request, until):
    while coordinator.stage != until:
        step(members, coordinator, request)


def step(members, coordinator, request):
    for name in coordinator.awaiting:
        coordinator.receive(name, members[name].masked(request, coordinator.message(name)))
    coordinator.close()


def reopen(members, name, terms):
    members[name].close()
    members[name] = AnsweringSite(terms)


@pytest.mark.parametrize("stage", STEPS)
def test_a_request_with_other_settings_is_refused_at_every_step(members, schema, stage):
    coordinator, request = begin(members, schema)
    advance(members, coordinator, request, stage)
    paid = len(members["a"].journal.entries())
    other = replace(request, settings=Settings(split="equal"))  # a vector of the same length, with other noise
    with pytest.raises(NodeRefusedError):
        members["a"].masked(other, coordinator.message("a"))
    assert len(members["a"].journal.entries()) == paid
    while not coordinator.done:  # and the round goes on with its own question
        step(members, coordinator, request)


@pytest.mark.parametrize("stage", STEPS[1:])
@pytest.mark.parametrize("change", [{"budget": Budget(2)}, {"mechanism": "gaussian", "budget": Budget(1, 1e-6)}])
def test_terms_that_change_within_a_round_end_it(members, schema, stage, change):
    coordinator, request = begin(members, schema)
    advance(members, coordinator, request, stage)
    paid = len(members["a"].journal.entries())
    reopen(members, "a", replace(members["a"].terms, **change))
    with pytest.raises(NodeRefusedError):
        members["a"].masked(request, coordinator.message("a"))
    assert len(members["a"].journal.entries()) == paid


@pytest.mark.parametrize("stage", STEPS[1:])
def test_a_node_that_expects_more_to_collude_does_not_go_on(members, schema, stage):
    coordinator, request = begin(members, schema)
    advance(members, coordinator, request, stage)
    terms = members["a"].terms
    reopen(members, "a", replace(terms, secure=replace(terms.secure, colluding=1, dropouts=0)))
    with pytest.raises(NodeRefusedError):
        members["a"].masked(request, coordinator.message("a"))


@pytest.mark.parametrize("lost_at", ["survivors", "unmask", "end"])
@pytest.mark.parametrize("whole", [True, False])
def test_a_lost_memory_ends_the_round_and_draws_nothing(members, schema, monkeypatch, lost_at, whole):
    drawn = []
    real = SharePlan.vector
    monkeypatch.setattr(SharePlan, "vector", lambda self, counts: drawn.append(1) or real(self, counts))
    coordinator, request = begin(members, schema)
    while not coordinator.done and coordinator.stage != lost_at:
        step(members, coordinator, request)
    assert len(drawn) == 4
    for house in members.values():
        if whole:
            shutil.rmtree(house.rounds)
        else:
            (house.rounds / f"{request.round_id}.round").unlink()
    again = SecureCoordinator(coordinator.round)
    for house in members.values():
        with pytest.raises(NodeRefusedError):
            house.masked(request, again.message(house.terms.node))
    assert len(drawn) == 4
    assert all(len(house.journal.entries()) == 1 for house in members.values())


def test_secrets_of_rounds_that_came_to_no_end_are_swept(members, schema):
    left, request = begin(members, schema)
    advance(members, left, request, "survivors")
    house = members["a"]
    house.sweep()
    assert len(list(house.rounds.iterdir())) == 3  # they may still come to an end
    old = time.time() - 90000
    for path in house.rounds.iterdir():
        os.utime(path, (old, old))
    recent, other = begin(members, schema)
    step(members, recent, other)
    house.sweep()
    assert {path.name[:64] for path in house.rounds.iterdir()} == {other.round_id}
    with pytest.raises(NodeRefusedError):
        house.masked(request, SecureCoordinator(left.round).message("a"))
    while not recent.done:
        step(members, recent, other)


def test_a_crash_between_charge_and_masked_input_costs_the_charge(members, schema, monkeypatch):
    coordinator, request = begin(members, schema)
    advance(members, coordinator, request, "share list")
    real = SharePlan.vector

    def crash(self, counts):
        raise KeyboardInterrupt

    monkeypatch.setattr(SharePlan, "vector", crash)
    with pytest.raises(KeyboardInterrupt):
        members["a"].masked(request, coordinator.message("a"))
    monkeypatch.setattr(SharePlan, "vector", real)
    reopen(members, "a", members["a"].terms)
    with pytest.raises(NodeRefusedError):
        members["a"].masked(request, coordinator.message("a"))
    assert len(members["a"].journal.entries()) == 1
