"""One node at a time: who is let in, what is refused, joining late, leaving, and what a restart needs."""

import asyncio
import contextlib
import json
import sqlite3
from dataclasses import replace

import numpy as np
import pytest

from discreet import Account, Budget, BudgetError, DataError, DiscreetError
from discreet.gossip.links import Pace
from discreet.gossip.membership import MemberEntry, Roster, View, state_member
from discreet.gossip.protocol import Message, PushShare
from discreet.gossip.sharing import GossipTerms, SharingSite
from discreet.gossip.store import LEDGER, StateError, StateFile, find_state, state_file
from discreet.gossip.vector import BITS, share_of, sum_of
from discreet.gossip.wire import Envelope, to_bytes
from discreet.nodes.journal import Journal
from discreet.nodes.refusals import ProtocolError
from tests.gossip.common import SCHEMA, audit_states, total_of, write_rows
from tests.ports import free_ports

grpc = pytest.importorskip("grpc")
from discreet.gossip.keys import NetworkKeys, add_keys, make_keys, revoke  # noqa: E402
from discreet.gossip.links import SERVICE, ask, open_channel  # noqa: E402
from discreet.gossip.node import GossipNode  # noqa: E402

pytestmark = pytest.mark.usefixtures("one_engine")

QUICK = Pace(beat=0.02, tolerance=1e-9, expected=3, wait=240, linger=20, timeout=60)


def weight_of(machine):
    """The weight that a node holds or has on its way."""
    pending = [share for link in machine.outgoing.values() for share in link.pending.values()]
    return total_of([machine.own, *pending]).weight


@pytest.fixture
def place(tmp_path):
    make_keys(tmp_path / "keys", ["a", "b", "c"])
    for i, name in enumerate("abcd"):
        write_rows(tmp_path / f"{name}.csv", 40 + 10 * i, i)
        (tmp_path / f"state-{name}").mkdir()
    return tmp_path


def terms(place, node_name, **changes):
    return replace(
        GossipTerms(node_name, str(place / f"{node_name}.csv"), SCHEMA, Budget(1), place / f"state-{node_name}"),
        **changes,
    )


def node(place, name, ports, pace=QUICK, peers=None, **changes):
    known = {p: f"127.0.0.1:{ports[p]}" for p in (peers or ports) if p != name}
    ring = NetworkKeys(place / "keys").ring(name)
    return GossipNode(terms(place, name, **changes), ring, f"127.0.0.1:{ports[name]}", known, pace)


def ports_for(names):
    return dict(zip(names, free_ports(len(names)), strict=True))


def run(work):
    return asyncio.run(asyncio.wait_for(work, 300))


async def answer(channel, raw):
    return await channel.unary_unary(f"/{SERVICE}/Exchange")(raw, timeout=60)


def test_only_members_get_in_and_only_under_their_own_name(place):
    make_keys(place / "foreign", ["a", "b"])
    ports = ports_for("abc")
    server = node(place, "a", ports)
    address, width = f"127.0.0.1:{ports['a']}", server.site.layout.size
    ours, theirs = NetworkKeys(place / "keys").ring("b"), NetworkKeys(place / "foreign").ring("b")

    def envelope(sender, network=server.terms.network, size=width):
        return to_bytes(Envelope(network, Message(sender, "a", 1, PushShare((0,) * size, 1))))

    async def refused(channel, raw, *codes):
        with pytest.raises(grpc.aio.AioRpcError) as caught:
            await answer(channel, raw)
        assert caught.value.code() in codes, caught.value
        await channel.close()

    async def scene():
        listens = asyncio.Event()
        server.report = lambda words: listens.set()
        life = asyncio.create_task(server.run())
        await listens.wait()
        before = weight_of(server.machine)
        shut = grpc.StatusCode.UNAVAILABLE
        await refused(open_channel(theirs, "a", address), envelope("b"), shut)  # does not know our authority
        stranger = replace(theirs, authority=ours.authority)  # knows it, but shows a foreign certificate
        await refused(open_channel(stranger, "a", address), envelope("b"), shut)
        bare = grpc.aio.secure_channel(
            address, grpc.ssl_channel_credentials(ours.authority), options=[("grpc.ssl_target_name_override", "a")]
        )
        await refused(bare, envelope("b"), shut)  # shows no certificate at all
        await refused(grpc.aio.insecure_channel(address), envelope("b"), shut)
        await refused(open_channel(ours, "c", address), envelope("b"), shut)  # whoever listens there is not c
        denied = grpc.StatusCode.PERMISSION_DENIED
        await refused(open_channel(ours, "a", address), envelope("c"), denied)  # b says it is c
        await refused(open_channel(ours, "a", address), envelope("b", "0" * 64), grpc.StatusCode.FAILED_PRECONDITION)
        bad = grpc.StatusCode.INVALID_ARGUMENT
        await refused(open_channel(ours, "a", address), envelope("b", size=width + 1), bad)
        await refused(open_channel(ours, "a", address), b"garbage", bad)
        huge = b"\0" * (QUICK.largest + 1)
        await refused(open_channel(ours, "a", address, 4 * QUICK.largest), huge, grpc.StatusCode.RESOURCE_EXHAUSTED)
        assert weight_of(server.machine) == before
        with pytest.raises(DiscreetError, match="own wish"):
            await ask(ours, "a", address, "Leave")
        assert (await ask(ours, "a", address, "Status"))["members"] == 1
        good = await answer(open_channel(ours, "a", address), envelope("b"))
        assert good == b"[1,[],false]"
        life.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await life

    run(scene())
    server.close()


def test_a_late_joiner_is_found_and_a_leaver_hands_its_share_over(place):
    add_keys(place / "keys", ["d"])
    ports = ports_for("abcd")
    pace = replace(QUICK, expected=4)
    early = [node(place, name, ports, pace, peers="abc") for name in "abc"]

    async def scene():
        lives = {one.name: asyncio.create_task(one.run()) for one in early}
        await asyncio.sleep(0.5)
        joiner = node(place, "d", ports, pace, peers="a")  # knows one address, and is known to nobody
        lives["d"] = asyncio.create_task(joiner.run())
        while len(early[2].members) < 4:
            await asyncio.sleep(0.02)
        assert "d" in early[2].view.peers
        await ask(NetworkKeys(place / "keys").ring("c"), "c", f"127.0.0.1:{ports['c']}", "Leave")
        ends = {name: await life for name, life in lives.items()}
        for one in (*early, joiner):
            one.close()
        return ends

    ends = run(scene())
    assert ends == {"a": "finished", "b": "finished", "c": "left", "d": "finished"}
    machines, held, brought, sums, _ = audit_states([place / f"state-{name}" for name in "abcd"])
    assert held == brought and machines["c"].empty
    for name in "abd":
        assert (sum_of(machines[name].own, 4) == sums).all()
    with pytest.raises(StateError, match="has left"):
        SharingSite(terms(place, "c"))


@pytest.mark.parametrize("heard", [False, True])
def test_what_was_on_its_way_to_a_leaver_comes_back_after_it_has_gone(place, heard):
    ports = ports_for("abc")
    a = node(place, "a", ports)
    message = a.machine.send("c")  # on disk, and then the node dies
    a._save()
    a.close()
    b, c = (node(place, name, ports) for name in "bc")
    if heard:  # the message came in, and the answer did not get back
        c.machine.receive(message)

    async def scene():
        lives = [asyncio.create_task(one.run()) for one in (b, c)]
        await asyncio.sleep(0.5)
        c.leave()
        assert await lives[1] == "left"
        c.close()
        again = node(place, "a", ports)
        ends = await asyncio.gather(again.run(), lives[0])
        assert not again.machine.waiting("c")
        again.close()
        b.close()
        return ends

    assert run(scene()) == ["finished", "finished"]
    machines, held, brought, sums, _ = audit_states([place / f"state-{name}" for name in "abc"])
    assert held == brought
    assert (sum_of(machines["a"].own, 3) == sums).all() and (sum_of(machines["b"].own, 3) == sums).all()


def test_nobody_else_can_say_that_a_node_has_left(place):
    ports = ports_for("abc")
    a, b, c = (node(place, name, ports) for name in "abc")
    a.roster.merge(c.roster.entries["c"])
    a.machine.send("c")
    with pytest.raises(ProtocolError, match="farewell"):
        a.roster.merge(replace(c.roster.entries["c"], version=9, phase=3, farewell="{}", seal=b.ring.sign("{}")))
    c.leave()
    gone = c.roster.entries["c"]
    with pytest.raises(ProtocolError, match="farewell"):
        a.roster.merge(replace(gone, farewell='{"a": [1, []]}'))
    assert a.phase == a.roster.entries["c"].phase == 0
    assert a.roster.merge(gone)
    a._heed_farewells()
    assert not a.machine.waiting("c") and "c" not in a.view.peers
    assert a.machine.own.weight == 2**BITS
    back = replace(gone, version=99, phase=0).signed(c.ring.sign)  # whoever has left stays so, even by its own word
    assert not a.roster.merge(back) and a.roster.entries["c"] == gone
    for one in (a, b, c):
        one.close()


def test_without_all_members_there_is_no_end_and_the_state_is_kept(place):
    ports = ports_for("abc")
    alone = node(place, "a", ports, replace(QUICK, wait=0.5))
    assert run(alone.run()) == "late"
    assert alone.why_late() == "1 of 3 members known"
    alone.close()
    again = node(place, "a", ports)
    assert again.machine.own == alone.machine.own and again.beats == alone.beats > 0
    again.close()


@pytest.mark.parametrize(("phases", "end"), [("srs", "late"), ("sss", "finished"), ("l", "late")])
def test_a_node_that_gives_up_does_not_call_it_an_end(place, phases, end):
    ports = ports_for("abc")
    pace = replace(QUICK, wait=0.3)
    a, b, c = (node(place, name, ports, pace) for name in "abc")
    if phases == "l":
        a.leave()  # with nobody there to take its share
    else:
        for one in (a, b, c):
            a.roster.merge(one.roster.entries[one.name])
        for one, phase in zip((a, b, c), phases, strict=True):
            one.roster.move(one.name, one.ring.sign, phase="rs".index(phase), among=a.roster.among)
            a.roster.merge(one.roster.entries[one.name])
    assert run(a.run()) == end
    assert a.why_late() == {"srs": "not settled yet: b", "sss": "not settled yet: "}.get(
        phases, "no peer has taken all of its share yet"
    )
    for one in (a, b, c):
        one.close()


def test_a_node_that_took_part_does_not_begin_anew(place):
    SharingSite(terms(place, "a")).close()
    again = SharingSite(terms(place, "a"))
    with pytest.raises(BudgetError, match="another process"):
        SharingSite(terms(place, "a"))
    again.close()
    assert len(again.update.values) == 2
    (state,) = (place / "state-a").glob("state-*.db")
    kept = state.read_bytes()
    with contextlib.closing(sqlite3.connect(state)) as db, db:
        db.execute("DELETE FROM state")
    for damage in (lambda: None, lambda: state.write_bytes(b""), state.unlink):
        damage()
        with pytest.raises(StateError, match="took part already"):
            SharingSite(terms(place, "a"))
    state.write_bytes(kept)
    SharingSite(terms(place, "a")).close()
    with pytest.raises(BudgetError, match="does not pay"):
        SharingSite(terms(place, "a", name="another round"))


@pytest.mark.parametrize("moment", ["before the state", "before the mark"])
def test_a_crash_between_charge_and_state_is_not_a_second_charge(place, moment):
    first = SharingSite(terms(place, "a"))  # charged, and nothing sent yet
    first.close()
    with sqlite3.connect(place / "state-a" / LEDGER) as db:
        assert db.execute("DELETE FROM about WHERE name LIKE 'used %'").rowcount == 1
    if moment == "before the state":
        first.store.path.unlink()
    second = SharingSite(terms(place, "a"))
    assert second.update == first.update and second.machine.own == first.machine.own
    assert len(second.journal.entries()) == 1
    second.close()


def test_one_ledger_pays_for_several_rounds_as_far_as_it_goes(place):
    drawn = []
    for name in ("spring", "summer", "spring"):
        house = SharingSite(terms(place, "a", name=name, total=Budget(2)))
        drawn.append(house.update)
        assert house.machine.own == share_of(house.layout.flat(house.update.values))
        house.close()
    assert drawn[0] == drawn[2] != drawn[1]
    with pytest.raises(BudgetError, match="does not pay"):
        SharingSite(terms(place, "a", name="autumn", total=Budget(2)))
    with Journal.open(place / "state-a" / LEDGER) as journal:
        assert len(journal.entries()) == 2
    assert len(list((place / "state-a").glob("state-*.db"))) == 2  # the refused round left nothing behind
    for name in ("spring", "summer"):
        store = StateFile(find_state(place / "state-a", name))
        assert store.path == find_state(place / "state-a", store.identity["network"][:16])
        assert store.identity["round"] == name
        store.close()
    for name in (None, "autumn"):
        with pytest.raises(StateError, match=r"spring .*, summer"):
            find_state(place / "state-a", name)


def test_a_save_that_failed_does_not_stand_in_the_way_of_the_next(place):
    house = SharingSite(terms(place, "a"))
    house.store._db.execute("CREATE TRIGGER full BEFORE INSERT ON state BEGIN SELECT RAISE(FAIL, 'full'); END")
    with pytest.raises(sqlite3.Error, match="full"):
        house.store.save(house.machine)
    house.store._db.execute("DROP TRIGGER full")
    house.machine.send("b")
    house.store.save(house.machine)
    assert house.store.machine().waiting("b")
    house.close()


def test_a_state_of_another_node_is_refused(place):
    SharingSite(terms(place, "a", total=Budget(5))).close()
    ledger, network = place / "state-b" / LEDGER, terms(place, "a").network
    state_file(place / "state-a", network).rename(state_file(place / "state-b", network))
    with pytest.raises(StateError, match="another node, 'a'"):
        SharingSite(terms(place, "b"))
    with Journal.open(ledger) as journal:
        assert not journal.entries()
    state_file(place / "state-b", network).write_bytes(b"no database at all, but long enough to be looked at" * 40)
    with pytest.raises(StateError, match="damaged"):
        SharingSite(terms(place, "b"))


def test_a_restart_with_a_list_of_revoked_certificates(place):
    """Who had joined before stays in the round with its share, after a restart too; it joins no later one."""
    ports = ports_for("abc")
    a, b = (node(place, name, ports) for name in "ab")
    assert a.roster.merge(b.roster.entries["b"])
    a._roster_changed = True
    a._save()
    own, beats = a.machine.own, a.beats
    a.close()
    later = replace(b.roster.entries["b"], address="127.0.0.1:9").signed(b.ring.sign)
    farewell = b.roster.entries["b"]
    b.close()
    revoke(place / "keys", "b")
    again = node(place, "a", ports)  # it reads the list as it starts
    assert again.ring.revoked and set(again.members) == {"a", "b"} == set(again.roster.entries)
    assert again.machine.own == own and again.beats == beats
    assert not again.ring.trusts(farewell.certificate)  # it is not spoken with
    again._verify(later)  # but what it says of itself, passed on by others, still counts in this round
    again.close()
    once_more = node(place, "a", ports)
    assert set(once_more.members) == {"a", "b"}
    once_more.close()
    other = node(place, "c", ports)  # which did not know b: it takes nobody's word for it
    with pytest.raises(ProtocolError, match="was revoked"):
        other.roster.merge(farewell)
    other.close()
    with pytest.raises(DiscreetError, match="was revoked"):
        node(place, "b", ports)


def test_statements_are_signed_by_their_node(place):
    ports = ports_for("abc")
    a = node(place, "a", ports)
    entry = a.roster.entries["a"]
    b = node(place, "b", ports)
    b.roster.merge(entry)
    assert b.members["a"].budget == Budget(1)
    ring = NetworkKeys(place / "keys").ring("c")
    for forged in (
        replace(entry, node="c"),
        replace(entry, statement=entry.statement.replace('"epsilon": "1"', '"epsilon": "1/9"')),
        replace(entry, node="c", signature=ring.sign(entry.statement), certificate=ring.certificate),
    ):
        with pytest.raises(ProtocolError):
            Roster(b._verify).merge(forged)
    with pytest.raises(ProtocolError, match="not signed"):
        b.roster.merge(replace(entry, statement=entry.statement + " ", version=9))
    assert not b.roster.merge(entry)
    moved = replace(entry, version=3, phase=1).signed(a.ring.sign)
    for change in ({"version": 10**9}, {"phase": 2}, {"address": "127.0.0.1:9"}, {"among": "x"}, {"hand": b""}):
        with pytest.raises(ProtocolError, match="not signed"):
            b.roster.merge(replace(moved, **change))
    with pytest.raises(ProtocolError, match="not signed"):
        b.roster.merge(moved.signed(ring.sign))  # in another's hand
    assert b.roster.entries["a"] == entry
    assert b.roster.merge(moved)
    with pytest.raises(ProtocolError):
        MemberEntry.read({"node": "a"})
    a.close()
    b.close()


@pytest.mark.parametrize("budget", [Budget(float("inf")), Budget(rho=1)])
def test_budgets_that_make_no_model_together_make_no_network(place, budget):
    ports = ports_for("abc")
    a, b = node(place, "a", ports), node(place, "b", ports, budget=budget)
    assert a.terms.network != b.terms.network
    assert a.terms.network == terms(place, "c", budget=Budget(2, delta=1e-6)).network
    lie = state_member(b.site.update, a.terms.network)
    with pytest.raises(ProtocolError, match="do not mix"):
        a.roster.merge(MemberEntry("b", lie, b.ring.sign(lie), b.ring.certificate).signed(b.ring.sign))
    assert set(a.members) == {"a"}
    a.close()
    b.close()


def test_views_are_bounded_samples():
    view = View("me", {"me": "x", **{f"p{i}": f"h:{i}" for i in range(9)}}, size=5)
    assert len(view.peers) == 5 and "me" not in view.peers
    for i in range(20):
        view.merge([(f"new{i}", "h:10"), ("p0", "elsewhere:1"), ("p8", "elsewhere:1")], lambda count: 0)
    view.merge([("new", "h:10")], lambda count: 0)
    assert len(view.peers) == 5 and view.peers["new"] == "h:10"
    assert {"p0": "h:0", "p1": "h:1", "p8": "h:8"}.items() <= view.peers.items()  # given at the start
    assert len(view.offer([0, 3])) == 2
    view.forget("new")
    assert len(view.peers) == 4


def test_a_node_listens_to_no_hearsay_about_strangers_and_keeps_its_own_peers(place):
    ports = ports_for("abc")
    a = node(place, "a", ports, replace(QUICK, wait=1), peers="ab")
    b, c = (node(place, name, ports) for name in "bc")
    share = PushShare((0,) * a.site.layout.size, 1)
    rumours = {**{f"x{i}": "127.0.0.1:9" for i in range(60)}, "b": "127.0.0.1:9"}
    lie = replace(b.roster.entries["b"], version=7, address="127.0.0.1:9").signed(b.ring.sign)

    def hand(number, *entries):
        raw = to_bytes(Envelope(a.terms.network, Message("b", "a", number, share), entries, rumours))
        return a._exchange(raw, Context("b"))

    async def scene():
        await hand(1, lie, c.roster.entries["c"])
        assert a.view.peers == {"b": f"127.0.0.1:{ports['b']}", "c": f"127.0.0.1:{ports['c']}"}
        a.beat()
        assert set(a.channels) == {"b", "c"}
        before = a.channels["c"][1]
        await hand(2, replace(c.roster.entries["c"], version=8, address="127.0.0.1:7").signed(c.ring.sign))
        a.beat()
        await asyncio.gather(*a.closing)
        assert before.get_state() == grpc.ChannelConnectivity.SHUTDOWN and a.channels["c"][0] == "127.0.0.1:7"
        a.view.forget("c")
        a.beat()
        assert set(a.channels) == {"b"}
        await asyncio.gather(*a.closing, a.channels["b"][1].close())

    run(scene())
    for one in (a, b, c):
        one.close()


def test_a_member_that_tells_two_stories_does_not_part_the_others(place):
    ports = ports_for("abc")
    a, b, c = (node(place, name, ports) for name in "abc")
    said = []
    a.report = said.append
    (place / "other").mkdir()
    twin = node(place, "c", ports, state=place / "other", budget=Budget(2))  # the same keys, another ledger
    a.roster.merge(c.roster.entries["c"])
    share, before = PushShare((0,) * a.site.layout.size, 1), a.machine.own
    for number, version in enumerate((0, 5), 1):
        told = replace(twin.roster.entries["c"], version=version, phase=1 if version else 0).signed(c.ring.sign)
        raw = to_bytes(Envelope(a.terms.network, Message("b", "a", number, share), (b.roster.entries["b"], told)))
        asyncio.run(a._exchange(raw, Context("b")))
    assert a.machine.own.weight == before.weight + 2 and a.status()["conflicting"] == ["c"]
    assert a.members["c"].budget == Budget(1) and a.roster.entries["c"].phase == 1
    assert a.roster.entries["c"].statement == c.roster.entries["c"].statement
    assert len(said) == 1 and "two statements" in said[0]
    for one in (a, b, c, twin):
        one.close()


def test_two_halves_that_settled_apart_settle_again_when_they_meet(place):
    add_keys(place / "keys", ["d"])
    ports = ports_for("abcd")
    nodes = {name: node(place, name, ports, replace(QUICK, expected=4)) for name in "abcd"}
    for one in nodes.values():  # they have heard of each other, and then the line is cut
        for other in nodes.values():
            one.roster.merge(other.roster.entries[other.name])
        one.uncut, one.half = one._free_heirs, "ab" if one.name in "ab" else "cd"
        one._free_heirs = lambda one=one: [peer for peer in one.uncut() if peer in one.half]

    async def scene():
        lives = [asyncio.create_task(one.run()) for one in nodes.values()]
        while not all(one.phase == 1 for one in nodes.values()):
            await asyncio.sleep(0.02)
        for one in nodes.values():
            one._free_heirs = one.uncut
        return await asyncio.gather(*lives)

    assert run(scene()) == ["finished"] * 4
    averages = [one.machine.own.ratio() for one in nodes.values()]
    true = sum(one.site.layout.flat(one.site.update.values) for one in nodes.values()) / 4
    for average in averages:
        assert (abs(average - true) <= 1e-7 * np.maximum(abs(true), 1 / 4)).all()
    for one in nodes.values():
        one.close()


def test_content_needs_all_to_have_settled_among_the_same_members(place):
    ports = ports_for("abc")
    a, b, c = (node(place, name, ports, replace(QUICK, expected=2)) for name in "abc")
    a.roster.merge(b.roster.entries["b"])
    fewer = a.roster.among
    a.roster.merge(c.roster.entries["c"])
    a._move(1, a.roster.among)
    for one, among, phase in ((c, a.roster.among, 1), (b, fewer, 1), (b, a.roster.among, 2)):
        one.roster.move(one.name, one.ring.sign, phase=1, among=among)
        a.roster.merge(one.roster.entries[one.name])
        a._advance()
        assert a.phase == phase
    for one in (a, b, c):
        one.close()


def test_keys_are_checked(place):
    keys = NetworkKeys(place / "keys")
    with pytest.raises(DiscreetError, match="is there already"):
        make_keys(place / "keys", ["a"])
    with pytest.raises(DiscreetError, match="small letters"):
        make_keys(place / "more", ["A b"])
    with pytest.raises(DiscreetError, match="of its own"):
        make_keys(place / "more", ["a", "a"])
    with pytest.raises(DiscreetError, match="has keys already"):
        add_keys(place / "keys", ["a"])
    with pytest.raises(DiscreetError, match="no key file"):
        keys.ring("zoe")
    keys.node("a").chmod(0o644)
    with pytest.raises(DiscreetError, match="others can read"):
        keys.ring("a")
    keys.node("a").chmod(0o600)
    keys.certificate("a").write_bytes(keys.certificate("b").read_bytes())
    with pytest.raises(DiscreetError, match="belong together"):
        keys.ring("a")
    (place / "keys" / "authority" / "ca.key").unlink()
    with pytest.raises(DiscreetError, match="admit"):
        add_keys(place / "keys", ["z"])


class RefusedError(Exception):
    pass


class Context:
    """What grpc tells a handler about its caller."""

    def __init__(self, caller):
        self.caller = caller

    def auth_context(self):
        return {"x509_common_name": [self.caller.encode()]}

    async def abort(self, code, text):
        raise RefusedError(code, text)


def test_a_forged_phase_of_the_own_node_is_ignored(place):
    ports = ports_for("abc")
    a = node(place, "a", ports)
    forged = replace(a.roster.entries["a"], version=99, phase=3)
    share = PushShare((0,) * a.site.layout.size, 1)
    raw = to_bytes(Envelope(a.terms.network, Message("b", "a", 1, share), (forged,)))
    asyncio.run(a._exchange(raw, Context("b")))
    assert a.phase == 0
    a.close()


def test_a_farewell_wins_at_any_version_and_spreads(place):
    ports = ports_for("abc")
    a, b, c = (node(place, name, ports) for name in "abc")
    a.roster.merge(replace(c.roster.entries["c"], version=10**15).signed(c.ring.sign))
    a.machine.send("c")
    c.leave()
    gone = c.roster.entries["c"]
    assert gone.version < 10**15
    assert a.roster.merge(gone)
    a._heed_farewells()
    assert not a.machine.waiting("c") and a.machine.own.weight == 2**BITS
    assert gone in a.roster.news({"c": (False, 10**15)}) and gone not in a.roster.news({"c": gone.rank})
    for one in (a, b, c):
        one.close()


def test_absurd_mass_is_refused_and_a_refused_message_changes_nothing(place):
    """Four messages of weight 2^158 once made an honest node's next share too wide for its peers, for good."""
    ports = ports_for("abc")
    a, b, c = (node(place, name, ports) for name in "abc")
    size = a.site.layout.size
    zeros = (0,) * size
    refused = [
        PushShare(zeros, 1 << 158), PushShare(zeros, 3 << BITS), PushShare((1 << 150, *zeros[1:]), 1),
        PushShare((-(1 << 150), *zeros[1:]), 1), PushShare((*zeros[1:], 1 << 158), 1),
    ]  # fmt: skip
    before, entries, beats = a.machine.own, dict(a.roster.entries), a.machine.incoming.get("b")
    for share in refused:
        raw = to_bytes(Envelope(a.terms.network, Message("b", "a", 1, share), (b.roster.entries["b"],), {"c": "x:1"}))
        with pytest.raises(RefusedError, match="more than all members"):
            asyncio.run(a._exchange(raw, Context("b")))
    broken = replace(b.roster.entries["b"], hand=b"no")
    raw = to_bytes(
        Envelope(a.terms.network, Message("b", "a", 1, PushShare(zeros, 1)), (c.roster.entries["c"], broken))
    )
    with pytest.raises(RefusedError, match="not signed"):
        asyncio.run(a._exchange(raw, Context("b")))
    assert (a.machine.own, a.roster.entries, a.machine.incoming.get("b")) == (before, entries, beats)
    assert set(a.members) == {"a"} and not a.known and set(a.view.peers) == {"b", "c"}
    for share in (b.machine.own, PushShare(zeros, 1 << BITS)):  # what b really has, and as much once more
        number = 1 if share is b.machine.own else 2
        raw = to_bytes(Envelope(a.terms.network, Message("b", "a", number, share), (b.roster.entries["b"],)))
        asyncio.run(a._exchange(raw, Context("b")))
    assert a.machine.own.weight == 3 << BITS
    b.machine.own = a.machine.send("b").share  # goes over the wire
    assert len(to_bytes(Envelope("", Message("a", "b", 1, b.machine.own)))) < 40 * size + 200
    for one in (a, b, c):
        one.close()


def test_impossible_rows_in_a_signed_statement_are_refused(place):
    ports = ports_for("abc")
    a, b = (node(place, name, ports) for name in "ab")
    known = json.loads(b.roster.entries["b"].statement)
    for rows in (10**400, -1, True, 1.5, "3"):
        statement = json.dumps({**known, "rows": rows}, sort_keys=True)
        entry = replace(b.roster.entries["b"], statement=statement, signature=b.ring.sign(statement))
        with pytest.raises(ProtocolError, match="does not belong to this network"):
            a.roster.merge(entry.signed(b.ring.sign))
    for one in (a, b):
        one.close()


def test_who_comes_after_a_node_has_settled_is_turned_away(place):
    ports = ports_for("abc")
    a, b, c = (node(place, name, ports, replace(QUICK, expected=2)) for name in "abc")
    share = PushShare((0,) * a.site.layout.size, 1)

    def hand(sender, number, *entries):
        raw = to_bytes(Envelope(a.terms.network, Message(sender, "a", number, share), entries))
        asyncio.run(a._exchange(raw, Context(sender)))

    hand("b", 1, b.roster.entries["b"])
    a.roster.move("a", a.ring.sign, phase=1, among=a.roster.among)
    before = a.machine.own
    with pytest.raises(RefusedError, match="no new members"):
        hand("c", 1, c.roster.entries["c"])
    assert a.machine.own == before and "c" not in a.members
    hand("b", 2, c.roster.entries["c"])  # a member that was still running has let it in
    a._advance()
    assert a.phase == 0 and "c" in a.members
    for one in (a, b, c):
        one.close()


def test_the_account_of_the_rows_pays_once_for_a_round(place):
    account = Account.create(place / "rows.account", Budget(1))
    with pytest.raises(DataError, match="there is no file"):
        SharingSite(terms(place, "a", account=account, data=str(place / "typo.csv")))
    assert account.spent == 0
    for _ in range(2):
        SharingSite(terms(place, "a", account=account)).close()
    assert account.spent == 1
    with pytest.raises(BudgetError, match="account has 0"):
        SharingSite(terms(place, "b", account=account))
