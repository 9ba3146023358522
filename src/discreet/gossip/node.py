"""The network node: grpc around the state machine, with mutual TLS, a steady pace and a common end."""

from __future__ import annotations

import asyncio
import contextlib
import json
import random
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

import grpc

from discreet.errors import DiscreetError
from discreet.gossip.keys import Ring
from discreet.gossip.links import SERVICE, Pace, limits, open_channel
from discreet.gossip.membership import (
    CONTENT,
    LEFT,
    PHASES,
    RUNNING,
    SETTLED,
    MemberEntry,
    Roster,
    View,
    farewell_of,
    final_ack,
    holding,
    progress,
    read_member,
    state_member,
)
from discreet.gossip.protocol import Message, PushShare
from discreet.gossip.sharing import GossipTerms, SharingSite
from discreet.gossip.vector import largest, sum_of
from discreet.gossip.wire import Envelope, ack_from_bytes, ack_to_bytes, from_bytes, to_bytes
from discreet.nodes.members import Member, count_error
from discreet.nodes.refusals import CLOSED, OTHER_NAME, OTHER_NETWORK, OWN_WISH, REVOKED, ProtocolError
from discreet.nodes.settings import budget_kind, node_plan
from discreet.nodes.update import Integers

AWAY = {grpc.StatusCode.UNAVAILABLE, grpc.StatusCode.DEADLINE_EXCEEDED}
SLACK = 8  # tolerances between estimates beyond which a settled node is so no more
OFFERED = 5  # peers that each message speaks of
Report = Callable[[str], None]


class LostError(Exception):
    """A message that chaos has lost."""


class GossipNode:
    """One member of a network."""

    def __init__(
        self, terms: GossipTerms, ring: Ring, listen: str, peers: dict[str, str], pace: Pace, *,
        advertise: str | None = None, report: Report = lambda text: None,
    ) -> None:  # fmt: skip
        self.terms, self.ring, self.listen, self.pace, self.report = terms, ring, listen, pace, report
        self.site = SharingSite(terms)
        self.machine, self.store = self.site.machine, self.site.store
        self.name = terms.node
        self.dice = random.SystemRandom()
        self.view = View(self.name, peers)
        self.members: dict[str, Member] = {}
        self.roster = Roster(self._verify)
        self.stored = {entry.node: entry for entry in self.store.entries()}
        for entry in self.stored.values():
            self.roster.merge(entry)
        statement = state_member(self.site.update, terms.network)
        address = advertise or listen
        own = MemberEntry(self.name, statement, ring.sign(statement), ring.certificate, address)
        self.roster.merge(own.signed(ring.sign))
        if self.roster.entries[self.name].address != address:
            self.roster.move(self.name, ring.sign, address=address)
        self.known: dict[str, dict[str, tuple[bool, int]]] = {}
        self.channels: dict[str, tuple[str, Any]] = {}
        self.closing: set[asyncio.Future[None]] = set()
        self.couriers: dict[str, asyncio.Task[None]] = {}
        self.beats = int(self.store.facts().get("beats", 0))
        self.content_since: float | None = None
        self.farewell: int | None = None
        self.leaving = self.machine.closed
        self._limit: tuple[int, PushShare] | None = None
        self._roster_changed = True
        self._heed_farewells()
        self._save()

    # ---- what is known

    def _verify(self, entry: MemberEntry) -> None:
        self.ring.verify(entry, self.roster.entries.get(entry.node, self.stored.get(entry.node)))
        if entry.phase == LEFT:
            final_ack(entry, self.name)  # one that cannot be read is refused
        known = self.roster.entries.get(entry.node)
        if known is not None and known.statement == entry.statement and entry.node in self.members:
            return
        member = read_member(
            entry, self.terms.network, self.terms.schema, self.terms.settings, budget_kind(self.terms.budget)
        )
        if self.members.setdefault(entry.node, member) != member and entry.node not in self.roster.conflicting:
            self.report(f"{entry.node} has signed two statements, of which the first one counts here")

    @property
    def phase(self) -> int:
        """How far this node has come."""
        return self.roster.entries[self.name].phase

    @property
    def spread(self) -> float:
        """The gap to what was heard of late; one row in the sum over all nodes counts as small."""
        return self.machine.spread(1.0 / len(self.members))

    def sums(self) -> Integers:
        """The estimated sum over all known members."""
        return sum_of(self.machine.own, len(self.members))

    def status(self) -> dict[str, Any]:
        """What a person may want to know; nothing of it is private."""
        spread = self.spread
        return {
            "node": self.name,
            "network": self.terms.network,
            "beats": self.beats,
            "members": len(self.members),
            "expected": self.pace.expected,
            **progress(self.roster.entries.values()),
            "conflicting": sorted(self.roster.conflicting),
            "phase": PHASES[self.phase],
            "spread": None if spread == float("inf") else spread,
            "expected_error": self.error,
            **holding(self.machine),
        }

    @property
    def error(self) -> float:
        """How far a count in the sum over all known members is off by their noise."""
        return count_error(self.terms.schema, self.terms.settings, [*self.members.values()])

    def _save(self) -> None:
        entries = list(self.roster.entries.values()) if self._roster_changed else None
        facts = {"beats": self.beats, "error": self.error} if entries or self.beats % 16 == 0 else None
        self.store.save(self.machine, entries, facts)
        self._roster_changed = False

    # ---- receiving

    async def _exchange(self, request: bytes, context: Any) -> bytes:
        try:
            envelope = from_bytes(request)
            message = envelope.message
            await self._need_name(context, message.sender, OTHER_NAME)
            if envelope.network != self.terms.network:
                await context.abort(grpc.StatusCode.FAILED_PRECONDITION, OTHER_NETWORK)
            if self.roster.entries[self.name].among and message.sender not in self.members:
                await context.abort(grpc.StatusCode.FAILED_PRECONDITION, CLOSED)
            self.machine.check(message)
            with self._unchanged_if_refused():
                news = [
                    entry for entry in envelope.entries if entry.node != self.name
                ]  # nobody else speaks for this one
                changed = [self.roster.merge(entry) for entry in news if self._takes_in(entry)]
                ack = self.machine.receive(message, self._most())
            self._roster_changed |= any(changed)
            self.known.setdefault(message.sender, {}).update({entry.node: entry.rank for entry in news})
            self._meet(envelope)
            self._unsettle()  # before this node tells anybody that it is settled
        except ProtocolError as error:
            await context.abort(grpc.StatusCode.INVALID_ARGUMENT, str(error))
        self._save()  # before the sender may forget it
        return ack_to_bytes(ack)

    def _takes_in(self, entry: MemberEntry) -> bool:
        return self.phase != CONTENT or entry.node in self.members

    @contextlib.contextmanager
    def _unchanged_if_refused(self) -> Iterator[None]:
        """What a refused message says of members is forgotten with it."""
        entries, conflicting, members = dict(self.roster.entries), set(self.roster.conflicting), dict(self.members)
        try:
            yield
        except ProtocolError:
            self.roster.entries, self.roster.conflicting, self.members = entries, conflicting, members
            raise

    def _most(self) -> PushShare:
        """More than all members' updates together, by what they state of their plans."""
        if self._limit is None or self._limit[0] != len(self.members):
            kinds = {(member.budget, member.mechanism) for member in self.members.values()}
            plans = [node_plan(self.terms.schema, self.terms.settings, *kind) for kind in kinds]
            count = max(len(self.members), self.pace.expected)
            self._limit = len(self.members), largest(plans, count)
        return self._limit[1]

    async def _need_name(self, context: Any, name: str, sentence: str) -> None:
        shown = context.auth_context()
        if [one.decode() for one in shown.get("x509_common_name", ())] != [name]:
            await context.abort(grpc.StatusCode.PERMISSION_DENIED, sentence)
        if not all(self.ring.trusts(pem) for pem in shown.get("x509_pem_cert", ())):
            await context.abort(grpc.StatusCode.PERMISSION_DENIED, REVOKED)

    def _meet(self, envelope: Envelope) -> None:
        # Where a member is it says itself, in its own hand; peers only remind each other of names.
        names = dict.fromkeys([*envelope.peers, *(entry.node for entry in envelope.entries)])
        at = {name: self.roster.entries[name].address for name in names if name in self.roster.entries}
        self.view.merge(((name, address) for name, address in at.items() if address), self.dice.randrange)
        self._heed_farewells()

    def _heed_farewells(self) -> None:
        """Send nothing more to those who have left; what they did not take in comes back, though they are gone."""
        for entry in self.roster.entries.values():
            if entry.phase == LEFT and entry.node != self.name:
                self.view.forget(entry.node)
                if self.machine.waiting(entry.node):
                    with contextlib.suppress(ProtocolError):  # it speaks of messages that were never sent
                        self.machine.acknowledged(entry.node, final_ack(entry, self.name))

    def _held_back(self) -> bool:
        """Whether a share is with neither this node nor one that may still take it in."""
        left = [entry.node for entry in self.roster.entries.values() if entry.phase == LEFT]
        return any(self.machine.waiting(name) for name in left)

    async def _status(self, request: bytes, context: Any) -> bytes:
        return json.dumps(self.status()).encode()

    async def _leave(self, request: bytes, context: Any) -> bytes:
        await self._need_name(context, self.name, OWN_WISH)
        self.leave()
        return b"{}"

    # ---- sending

    def _channel(self, peer: str) -> Any:
        entry = self.roster.entries.get(peer)
        address = self.view.peers.get(peer) or (entry.address if entry else "")
        if not address:
            raise ProtocolError(f"the address of {peer} is not known: name it among the peers")
        held = self.channels.get(peer)
        if held is None or held[0] != address:
            self._close_channel(peer)
            self.channels[peer] = (address, open_channel(self.ring, peer, address, self.pace.largest))
        return self.channels[peer][1]

    def _close_channel(self, peer: str) -> None:
        if peer in self.channels:
            _, channel = self.channels.pop(peer)
            task = asyncio.ensure_future(channel.close(self.pace.timeout))  # calls that are under way may end
            self.closing.add(task)
            task.add_done_callback(self.closing.discard)

    async def _deliver(self, message: Message) -> None:
        """One attempt to bring a message to its receiver."""
        peer = message.receiver
        known = self.known.setdefault(peer, {})
        news = tuple(self.roster.news(known))
        picks = self.dice.sample(range(len(self.view.peers)), min(OFFERED, len(self.view.peers)))
        raw = to_bytes(Envelope(self.terms.network, message, news, self.view.offer(picks)))
        call = self._channel(peer).unary_unary(f"/{SERVICE}/Exchange")
        if self.dice.random() < self.pace.chaos:
            raise LostError
        if self.dice.random() < self.pace.chaos:
            await call(raw, timeout=self.pace.timeout)
        answer = await call(raw, timeout=self.pace.timeout)
        if self.dice.random() < self.pace.chaos:
            raise LostError
        self.machine.acknowledged(peer, ack_from_bytes(answer))
        known.update({entry.node: entry.rank for entry in news})

    async def _courier(self, peer: str) -> None:
        """Bring all waiting messages to a peer, however long that takes."""
        failures = 0
        while waiting := self.machine.waiting(peer):
            try:
                await self._deliver(waiting[0])
                failures = 0
                continue
            except LostError:
                pass
            except grpc.aio.AioRpcError as error:
                if not failures and error.code() not in AWAY:
                    self.report(f"{peer} refuses what this node sends: {error.details()}")
            except ProtocolError as error:
                self.report(f"{peer} answered what makes no sense: {error}")
            failures += 1
            pause = min(self.pace.slowest, self.pace.beat * 2 ** min(failures, 10))
            await asyncio.sleep(pause * self.dice.uniform(0.5, 1.0))

    def _start_courier(self, peer: str) -> None:
        task = self.couriers.get(peer)
        if task is None or task.done():
            self.couriers[peer] = asyncio.create_task(self._courier(peer))

    def _free_peers(self) -> list[str]:
        """Peers that are connected and have nothing to acknowledge: what is sent to a dead one waits for it."""
        return [peer for peer in self._free_heirs() if self.machine.may_send(peer)]

    def _free_heirs(self) -> list[str]:
        ready = grpc.ChannelConnectivity.READY
        idle = [peer for peer in self.view.peers if not self.machine.waiting(peer)]
        return [peer for peer in idle if self._channel(peer).get_state(try_to_connect=True) == ready]

    # ---- one beat

    def beat(self) -> None:
        """Send one share, and see how far the network is."""
        self.beats += 1
        self._advance()
        for peer in [name for name in self.channels if name not in self.view.peers and not self.machine.waiting(name)]:
            self._close_channel(peer)
        free = self._free_peers()
        if free and not self.leaving:
            peer = self.dice.choice(free)
            self.machine.send(peer)
            self._save()  # before it leaves
            self._start_courier(peer)

    def _advance(self) -> None:
        # Whoever has settled once turns newcomers away. One that somebody still running has let in unsettles all who
        # hear of it, and nobody is content with members who have settled without it.
        self._unsettle()
        phase, among = self.phase, self.roster.entries[self.name].among
        if phase == RUNNING and len(self.members) >= self.pace.expected and self.spread <= self.pace.tolerance:
            phase, among = SETTLED, self.roster.among
            self._move(phase, among)
        if phase == SETTLED and self.roster.all_at_least(SETTLED, self.pace.expected) and not self._held_back():
            phase = CONTENT
            self._move(phase, among)
        if phase == CONTENT and self.content_since is None:
            self.content_since = time.monotonic()

    def _unsettle(self) -> None:
        """Run again if estimates come in that are far from the own one, or members that were not known."""
        own = self.roster.entries[self.name]
        if own.phase in (SETTLED, CONTENT):
            slack = max(SLACK * self.pace.tolerance, 1e-12)  # rounding alone is no reason
            if own.among != self.roster.among or self.machine.gap(1.0 / len(self.members)) > slack:
                self.content_since = self.farewell = None
                self._move(RUNNING, own.among)

    def _move(self, phase: int, among: str) -> None:
        self.roster.move(self.name, self.ring.sign, phase=phase, among=among)
        self._roster_changed = True
        self._save()

    @property
    def finished(self) -> bool:
        """Whether the common end has come."""
        if self.content_since is None:
            return False
        if self.farewell is None and self.roster.all_at_least(CONTENT, self.pace.expected):
            # Long enough for the news to reach everybody: the informed double with every beat.
            self.farewell = self.beats + 3 * len(self.members).bit_length() + 4
        over = self.farewell is not None and self.beats >= self.farewell
        return over or time.monotonic() - self.content_since > self.pace.linger

    # ---- leaving

    def leave(self) -> None:
        """Take in nothing more, and hand the own share over."""
        if not self.leaving:
            self.leaving = True
            self.machine.close()
            farewell = farewell_of(self.machine)
            words = replace(self.roster.entries[self.name], farewell=farewell).last_words
            self.roster.move(self.name, self.ring.sign, phase=LEFT, farewell=farewell, seal=self.ring.sign(words))
            self._roster_changed = True
            self._save()

    def _hand_over(self) -> bool:
        """Go on with leaving; True when all of the share is in other hands."""
        free = self._free_heirs()
        if free and (self.machine.own.weight or any(self.machine.own.values)):
            peer = self.dice.choice(free)
            self.machine.hand_over(peer)
            self._save()
            self._start_courier(peer)
        for peer, link in self.machine.outgoing.items():
            if link.pending:
                self._start_courier(peer)
        return self.machine.empty

    # ---- the whole life

    async def run(self) -> str:
        """Gossip until the common end ("finished"), until this node has left ("left"), or too long ("late")."""
        server = grpc.aio.server(options=limits(self.pace.largest))
        handlers = {
            name: grpc.unary_unary_rpc_method_handler(method)
            for name, method in (("Exchange", self._exchange), ("Status", self._status), ("Leave", self._leave))
        }
        server.add_generic_rpc_handlers((grpc.method_handlers_generic_handler(SERVICE, handlers),))
        credentials = grpc.ssl_server_credentials(
            [(self.ring.private, self.ring.certificate)], self.ring.authority, require_client_auth=True
        )
        try:
            server.add_secure_port(self.listen, credentials)
        except RuntimeError:
            raise DiscreetError(f"cannot listen at {self.listen}: is another process there?") from None
        await server.start()
        self.report(f"{self.name} listens at {self.listen}, {len(self.view.peers)} peers known")
        for peer in self.machine.outgoing:
            if self.machine.waiting(peer):
                self._start_courier(peer)
        try:
            return await self._live()
        finally:
            for task in self.couriers.values():
                task.cancel()
            await asyncio.gather(*self.couriers.values(), *self.closing, return_exceptions=True)
            await server.stop(grace=0.5)
            for _, channel in self.channels.values():
                with contextlib.suppress(Exception):
                    await channel.close()
            self._roster_changed = True  # all of it once more, the beats included
            self._save()

    async def _live(self) -> str:
        end = time.monotonic() + self.pace.wait
        while True:
            await asyncio.sleep(self.pace.beat * self.dice.uniform(0.7, 1.3))
            if self.leaving:
                if self._hand_over():
                    return "left"
            else:
                self.beat()
                if self.finished:
                    return "finished"
            if time.monotonic() > end:
                return "finished" if self.phase == CONTENT else "late"

    def why_late(self) -> str:
        """What this node was still waiting for."""
        if self.leaving:
            return "no peer has taken all of its share yet"
        if len(self.members) < self.pace.expected:
            return f"{len(self.members)} of {self.pace.expected} members known"
        running = sorted(entry.node for entry in self.roster.entries.values() if entry.phase < SETTLED)
        return f"not settled yet: {', '.join(running[:5])}{' and others' if running[5:] else ''}"

    def close(self) -> None:
        """Let another process have the node."""
        self.site.close()
