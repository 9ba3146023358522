"""Whatever bytes arrive, a node or coordinator raises one of its own errors and loses nothing."""

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from discreet.federated.secure import MessageError, Round, SecureError, SecureNode, wire
from tests.federated.secure.helpers import STAGES, advance, setting

FUZZ = settings(max_examples=60, deadline=None, suppress_health_check=list(HealthCheck))
PARTS = st.lists(st.binary(max_size=80), max_size=6)


@given(PARTS)
def test_packing_is_undone(parts):
    assert wire.unpack(wire.pack(parts)) == parts


@given(st.binary(max_size=200))
def test_unpacking_accepts_one_encoding_only(blob):
    try:
        parts = wire.unpack(blob)
    except MessageError:
        return
    assert wire.pack(parts) == blob


@given(st.sampled_from(sorted(wire.KINDS)), PARTS)
def test_any_kind_with_any_parts(kind, parts):
    message = wire.encode(kind, *parts)
    assert wire.decode(message, kind, len(parts)) == parts
    with pytest.raises(MessageError):
        wire.decode(message, kind, len(parts) + 1)


def test_other_versions_and_kinds_are_named():
    with pytest.raises(MessageError, match="version 2"):
        wire.kind_of(b"DSA\x02\x00")
    with pytest.raises(MessageError, match="unknown kind"):
        wire.kind_of(b"DSA\x01\xff")
    for blob in (b"", b"DSA\x01", b"nonsense", "text", None):
        with pytest.raises(MessageError, match="no message"):
            wire.kind_of(blob)
    with pytest.raises(MessageError, match="out of order"):
        wire.read_names(wire.pack([b"b", b"a"]))
    with pytest.raises(MessageError, match="not text"):
        wire.read_names(wire.pack([b"\xff"]))


def mutated(data, message):
    """A message with a bit flipped, a piece cut out or bytes put in; or something else altogether."""
    way = data.draw(st.sampled_from(["flip", "cut", "insert", "nest", "random"]))
    at = data.draw(st.integers(0, len(message) - 1))
    if way == "flip":
        return message[:at] + bytes([message[at] ^ data.draw(st.integers(1, 255))]) + message[at + 1 :]
    if way == "cut":
        return message[:at] + message[at + data.draw(st.integers(1, 40)) :]
    if way == "insert":
        return message[:at] + data.draw(st.binary(min_size=1, max_size=20)) + message[at:]
    if way == "nest":
        return message[:5] + wire.pack(data.draw(PARTS))
    return data.draw(st.binary(max_size=100))


@pytest.mark.parametrize("stage", STAGES)
@FUZZ
@given(st.data())
def test_a_mutated_request_never_gets_a_share_or_an_unknown_error(stage, data):
    _, nodes, coordinator, _, _ = setting(3, length=2)
    advance(nodes, coordinator, stage)
    name = list(nodes)[1]
    good = coordinator.message(name)
    bad = mutated(data, good)
    if bad == good:
        return
    with pytest.raises(SecureError):
        nodes[name].answer(bad)
    if not nodes[name].ended:  # garbage changes nothing: the true request is still answered
        assert nodes[name].answer(good)


@pytest.mark.parametrize("stage", STAGES)
@FUZZ
@given(st.data())
def test_a_mutated_answer_is_refused_or_noticed_when_the_sum_is_opened(stage, data):
    _, nodes, coordinator, held, _ = setting(3, length=2)
    advance(nodes, coordinator, stage)
    name = list(nodes)[1]
    good = nodes[name].answer(coordinator.message(name))
    bad = mutated(data, good)
    try:
        coordinator.receive(name, bad)
    except SecureError:
        coordinator.receive(name, good)
        advance_rest(nodes, coordinator)
        assert coordinator.result.tolist() == np.sum(list(held.values()), axis=0).tolist()
        return
    if bad == good:
        return
    # A changed encrypted share or unmasking share looks like any other until others use it, and a changed vector
    # is a different vector: nobody could tell.
    assert stage in {"key list", "share list", "unmask"}
    if stage == "unmask":  # the other two suffice
        advance_rest(nodes, coordinator, without=name)
        assert coordinator.result.tolist() == np.sum(list(held.values()), axis=0).tolist()
    if stage == "key list":
        for other in set(nodes) - {name}:
            coordinator.receive(other, nodes[other].answer(coordinator.message(other)))
        with pytest.raises(SecureError):
            coordinator.close()
            advance_rest(nodes, coordinator)
        assert not coordinator.done


def advance_rest(nodes, coordinator, without=None):
    while not coordinator.done:
        for name in set(coordinator.awaiting) - {without}:
            coordinator.receive(name, nodes[name].answer(coordinator.message(name)))
        coordinator.close()


@FUZZ
@given(st.data())
def test_a_damaged_memory_is_refused(data):
    round_, nodes, coordinator, held, signing = setting(3, length=2)
    advance(nodes, coordinator, "share list")
    name = next(iter(nodes))
    memory = nodes[name].to_bytes()
    assert Round.from_bytes(round_.to_bytes()) == round_
    assert SecureNode.from_bytes(memory, signing[name], lambda: held[name]).to_bytes() == memory
    bad = mutated(data, memory)
    if bad != memory:
        with pytest.raises(SecureError):
            SecureNode.from_bytes(bad, signing[name], lambda: held[name])
