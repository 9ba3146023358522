"""The state machines: mass is conserved under any interleaving of what networks and crashes do."""

import contextlib
import json

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from discreet.gossip.membership import MemberEntry, farewell_of, final_ack
from discreet.gossip.protocol import (
    MEMORY,
    REACH,
    WINDOW,
    Ack,
    Message,
    Published,
    PublishedEstimate,
    PushShare,
    PushSum,
    merged,
)
from discreet.gossip.vector import BITS
from discreet.gossip.wire import (
    WIDEST,
    Envelope,
    ack_from_bytes,
    ack_to_bytes,
    from_bytes,
    state_from_text,
    state_to_text,
    to_bytes,
)
from discreet.nodes.refusals import ProtocolError
from tests.gossip.common import total_of

NAMES = ("a", "b", "c", "d")
peers = st.sampled_from(NAMES)
integers = st.integers(-(2**70), 2**70)


@given(st.lists(integers, min_size=1, max_size=5), st.integers(0, 2**70))
def test_halves_add_up_to_the_last_bit(values, weight):
    share = PushShare(tuple(values), weight)
    kept, sent = share.halves()
    assert kept + sent == share
    assert all(abs(k - s) <= 1 for k, s in zip(kept.values, sent.values, strict=True))
    assert sum(map(abs, kept.values)) + sum(map(abs, sent.values)) == sum(map(abs, values))
    assert kept.weight >= sent.weight


class Anything(RuleBasedStateMachine):
    """Four nodes; the network holds copies of messages and acknowledgements that it delivers, loses or repeats.

    Every call is written down before its message is let out, as a driver must; a crash goes back to what was written.
    """

    def __init__(self):
        super().__init__()
        self.nodes = {
            name: PushSum(name, PushShare((3**i * (-1) ** i, 7 + i), 1 << 20)) for i, name in enumerate(NAMES)
        }
        self.disk = {name: state_to_text(node) for name, node in self.nodes.items()}
        self.start = total_of(node.own for node in self.nodes.values())
        self.messages: list[Message] = []
        self.acks: list[tuple[str, str, Ack]] = []
        self.farewells: dict[str, MemberEntry] = {}

    def write(self, name):
        self.disk[name] = state_to_text(self.nodes[name])

    @rule(sender=peers, receiver=peers)
    def send(self, sender, receiver):
        if self.nodes[sender].may_send(receiver):
            message = self.nodes[sender].send(receiver)
            self.write(sender)
            self.messages.append(message)

    @rule(sender=peers, receiver=peers)
    def resend(self, sender, receiver):
        self.messages += self.nodes[sender].waiting(receiver)

    @precondition(lambda self: self.messages)
    @rule(data=st.data(), copies=st.booleans())
    def deliver_in_any_order(self, data, copies):
        at = data.draw(st.integers(0, len(self.messages) - 1))
        message = self.messages[at] if copies else self.messages.pop(at)
        ack = self.nodes[message.receiver].receive(from_bytes(to_bytes(Envelope("", message))).message)
        self.write(message.receiver)
        self.acks.append((message.receiver, message.sender, ack))

    @precondition(lambda self: self.messages)
    @rule(data=st.data())
    def lose(self, data):
        self.messages.pop(data.draw(st.integers(0, len(self.messages) - 1)))

    @precondition(lambda self: self.acks)
    @rule(data=st.data(), copies=st.booleans(), written=st.booleans())
    def acknowledge_late_or_never(self, data, copies, written):
        at = data.draw(st.integers(0, len(self.acks) - 1))
        receiver, sender, ack = self.acks[at] if copies else self.acks.pop(at)
        self.nodes[sender].acknowledged(receiver, ack_from_bytes(ack_to_bytes(ack)))
        if written:
            self.write(sender)

    @rule(name=peers)
    def crash_and_restart(self, name):
        self.nodes[name] = state_from_text(self.disk[name])

    @rule(name=peers, half=st.booleans())
    def crash_before_writing(self, name, half):
        """A node dies after it has changed its memory and before that was written: nothing of it got out."""
        other = next(one for one in NAMES if one != name)
        if half and self.nodes[name].may_send(other):
            self.nodes[name].send(other)
        elif self.messages and self.messages[0].receiver == name:
            self.nodes[name].receive(self.messages[0])
        self.nodes[name] = state_from_text(self.disk[name])

    @precondition(lambda self: sum(node.closed for node in self.nodes.values()) < 2)
    @rule(name=peers)
    def leave(self, name):
        self.nodes[name].close()
        self.write(name)
        self.farewells.setdefault(
            name, MemberEntry(name, "", b"", b"", phase=3, farewell=farewell_of(self.nodes[name]))
        )

    @rule(name=peers, sender=peers, written=st.booleans())
    def hear_a_farewell(self, name, sender, written):
        if name in self.farewells and name != sender:
            self.nodes[sender].acknowledged(name, final_ack(self.farewells[name], sender))
            if written:
                self.write(sender)

    @rule(name=peers, heir=peers)
    def hand_over(self, name, heir):
        if self.nodes[name].closed and heir != name:
            message = self.nodes[name].hand_over(heir)
            self.write(name)
            if message is not None:
                self.messages.append(message)

    @invariant()
    def mass_is_conserved(self):
        """What nodes hold, and what waits at a sender and was not taken in by its receiver, is all there was."""
        for states in (self.nodes, {name: state_from_text(text) for name, text in self.disk.items()}):
            held = [node.own for node in states.values()]
            for node in states.values():
                for peer in NAMES:
                    ack = states[peer].acknowledgement(node.node)
                    held += [m.share for m in node.waiting(peer) if not ack.covers(m.number)]
            assert total_of(held) == self.start


TestAnything = Anything.TestCase
TestAnything.settings = settings(
    max_examples=60, stateful_step_count=60, deadline=None, suppress_health_check=list(HealthCheck)
)


def test_a_double_count_would_be_found():
    """The invariant has teeth: a receiver that forgets what it took in breaks it."""
    run = Anything()
    run.send("a", "b")
    message = run.messages[0]
    run.nodes["b"].receive(message)
    run.nodes["b"].incoming.clear()
    run.nodes["b"].receive(message)
    with pytest.raises(AssertionError):
        run.mass_is_conserved()


def test_leaving_hands_everything_over_and_takes_nothing_more():
    a, b, c = (PushSum(name, PushShare((value,), 8)) for name, value in (("a", 1), ("b", 20), ("c", 300)))
    late = a.send("b")
    b.close()
    gift = b.hand_over("c")
    assert b.hand_over("c") is None and not b.empty
    b.acknowledged("c", c.receive(gift))
    assert b.empty
    ack = b.receive(late)
    assert ack.closed and not ack.covers(late.number)
    a.acknowledged("b", ack)
    assert total_of([a.own, c.own]) == PushShare((321,), 24)
    assert not a.waiting("b")
    with pytest.raises(ProtocolError):
        b.send("a")


def test_windows_are_bounded():
    a, b = PushSum("a", PushShare((1 << 90,), 1 << 90)), PushSum("b", PushShare((0,), 0))
    messages = [a.send("b") for _ in range(WINDOW)]
    assert not a.may_send("b")
    with pytest.raises(ProtocolError):
        a.send("b")
    far = Message("a", "b", REACH + 1, messages[0].share)
    assert b.receive(far) == Ack(0)
    for message in reversed(messages):
        ack = b.receive(message)
    a.acknowledged("b", ack)
    assert ack == Ack(WINDOW) and not a.waiting("b")


@pytest.mark.parametrize(
    "message",
    [
        Message("b", "x", 1, PushShare((1, 2), 1)),
        Message("a", "a", 1, PushShare((1, 2), 1)),
        Message("b", "a", 1, PushShare((1,), 1)),
        Message("b", "a", 1, PushShare((1, 2), -1)),
        Message("b", "a", 0, PushShare((1, 2), 1)),
    ],
)
def test_impossible_messages_are_refused_and_change_nothing(message):
    a = PushSum("a", PushShare((1, 2), 1))
    with pytest.raises(ProtocolError):
        a.receive(message)
    assert a.own == PushShare((1, 2), 1)


def test_acknowledging_what_was_never_sent_is_refused():
    a = PushSum("a", PushShare((8,), 8))
    a.send("b")
    with pytest.raises(ProtocolError):
        a.acknowledged("b", Ack(2))
    with pytest.raises(ProtocolError):
        a.acknowledged("b", Ack(0, (5,)))
    assert a.waiting("b")


@settings(max_examples=200)
@given(st.binary(max_size=200))
def test_garbage_is_refused_as_such(raw):
    for read in (from_bytes, ack_from_bytes):
        try:
            read(raw)
        except ProtocolError:
            continue
        assert read is ack_from_bytes and isinstance(json.loads(raw), list)


@given(st.lists(integers, min_size=1, max_size=9), st.integers(0, 2**80), st.data())
def test_cut_messages_are_refused(values, weight, data):
    raw = to_bytes(Envelope("n", Message("a", "b", 3, PushShare(tuple(values), weight)), (), {"c": "h:1"}))
    assert from_bytes(raw).message.share == PushShare(tuple(values), weight)
    cut = raw[: data.draw(st.integers(0, len(raw) - 1))]
    with contextlib.suppress(ProtocolError):
        assert from_bytes(cut).message.share != PushShare(tuple(values), weight)  # fewer values: another shape


def test_wide_values_are_refused_and_never_make_a_state_unreadable():
    a = PushSum("a", PushShare((1, 1), 1 << 64))
    with pytest.raises(ProtocolError, match="cannot be read"):
        from_bytes(to_bytes(Envelope("n", Message("b", "a", 1, PushShare((2**511 - 1, 0), 1)))))
    widest = 2 ** (8 * WIDEST - 1) - 1
    for number in range(1, 9):
        a.receive(
            from_bytes(to_bytes(Envelope("n", Message("b", "a", number, PushShare((widest, -widest), 1))))).message
        )
    assert state_from_text(state_to_text(a)).own == a.own == PushShare((1 + 8 * widest, 1 - 8 * widest), (1 << 64) + 8)
    total = PushShare(
        (20_000 * (2**63 - 1) << BITS, -20_000 * 2**63 << BITS), 20_000 << BITS
    )  # all that can honestly be
    assert from_bytes(to_bytes(Envelope("n", Message("a", "b", 1, total)))).message.share == total


def test_spread_is_what_a_node_sees():
    a = PushSum("a", PushShare((100, 10), 10))
    assert a.spread(0.1) == float("inf") and a.gap(0.1) == 0
    for number in range(1, MEMORY + 1):
        a.receive(Message("b", "a", number, PushShare((100, 11), 10)))
    own = a.estimate()
    assert a.spread(0.1) == pytest.approx((1.1 - own[1]) / own[1])
    assert a.spread(50.0) == pytest.approx((1.1 - own[1]) / 50)


def test_algorithm_4_by_hand():
    before, last = PublishedEstimate(2, np.array([10.0])), PublishedEstimate(5, np.array([4.0]))
    made = merged(before, last, np.array([8.0]))
    assert made.steps == 6
    assert made.values[0] == pytest.approx((2 * 10 + 5 * 4 + 8) / 8)


def test_published_keeps_the_last_two():
    node = Published("a", [8.0])
    assert node.step().values[0] == 8.0 and node.spread(1.0) == float("inf")
    node.receive(PublishedEstimate(1, np.array([2.0])))
    assert node.step().values[0] == pytest.approx((2 + 8) / 2)
    node.receive(PublishedEstimate(3, np.array([6.0])))
    assert node.step().values[0] == pytest.approx((1 * 2 + 3 * 6 + 8) / 5)
    assert node.step().steps == 4
    assert node.spread(1.0) == pytest.approx((5.6 - 2) / 5.6)
    with pytest.raises(ProtocolError):
        node.receive(PublishedEstimate(1, np.array([np.nan])))
