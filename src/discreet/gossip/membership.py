"""Membership: whom a node knows, what each member states about its update, and how far each has come."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from discreet.errors import DiscreetError
from discreet.files import parse_json
from discreet.gossip.protocol import Ack, PushSum
from discreet.gossip.vector import BITS
from discreet.nodes.members import Member, noise_level, stated
from discreet.nodes.refusals import MIXED, ProtocolError
from discreet.nodes.settings import Settings, budget_kind, node_plan, plain_budget, read_budget
from discreet.nodes.update import EXACT, Update, is_count
from discreet.schema import Schema

MOST_MEMBERS = 20_000
LONGEST = 20_000  # characters of a statement
LONGEST_FAREWELL = 2_000_000
RUNNING, SETTLED, CONTENT, LEFT = range(4)
PHASES = ("running", "settled", "content", "left")
MOVING = ("address", "version", "phase", "among", "hand")
Sign = Callable[[str], bytes]
Verify = Callable[["MemberEntry"], None]


@dataclass(frozen=True)
class MemberEntry:
    """A member: its signed statement, which never changes, and where and how far it is, which does and is signed too.

    A phase says RUNNING, SETTLED (its estimate no longer moves), CONTENT (it knows that all are settled) or LEFT.
    Of two entries of one member that with the higher version is the newer, and one that says farewell newer than any
    that does not. A farewell is signed by itself: all that the member has taken in from each sender, for good. `among`
    is a fingerprint of the members among whom it last settled; `hand` signs what `moving` says.
    """

    node: str
    statement: str
    signature: bytes
    certificate: bytes
    address: str = ""
    version: int = 0
    phase: int = RUNNING
    farewell: str = ""
    seal: bytes = b""
    among: str = ""
    hand: bytes = b""

    def plain(self) -> dict[str, Any]:
        """Plain values for JSON."""
        texts = {"signature": self.signature.hex(), "certificate": self.certificate.decode("ascii")}
        return {**vars(self), **texts, "seal": self.seal.hex(), "hand": self.hand.hex()}

    @property
    def moving(self) -> str:
        """What changes about a member, for its hand to sign: where it is, how far, and among whom, in which network."""
        network = parse_json(self.statement)["network"]
        return json.dumps([network, self.node, self.version, self.phase, self.address, self.among])

    def signed(self, sign: Sign) -> MemberEntry:
        """The same entry in the hand of its member."""
        return replace(self, hand=sign(self.moving))

    @property
    def rank(self) -> tuple[bool, int]:
        """How new an entry is."""
        return self.phase == LEFT, self.version

    @property
    def last_words(self) -> str:
        """What the seal of a farewell signs."""
        return f"{self.statement}\n{self.farewell}"

    @classmethod
    def read(cls, fields: Any) -> MemberEntry:
        """Out of plain values; anything odd is refused."""
        try:
            entry = cls(**{**fields, "signature": bytes.fromhex(fields["signature"]),
                           "certificate": fields["certificate"].encode("ascii"),
                           "seal": bytes.fromhex(fields["seal"]), "hand": bytes.fromhex(fields["hand"])})  # fmt: skip
            texts = (entry.node, entry.statement, entry.address, entry.among)
            good = all(isinstance(text, str) and len(text) <= LONGEST for text in texts)
            good = good and isinstance(entry.farewell, str) and len(entry.farewell) <= LONGEST_FAREWELL
            good = good and is_count(entry.version) and is_count(entry.phase)
        except (TypeError, KeyError, ValueError, AttributeError):
            good = False
        if not good or entry.phase > LEFT or len(entry.certificate) > LONGEST:
            raise ProtocolError("a peer sent a member's entry that cannot be read")
        return entry


def progress(entries: Iterable[MemberEntry]) -> dict[str, Any]:
    """How many members have settled, how many have left, and how far each is."""
    phases = {entry.node: entry.phase for entry in entries}
    counts = {"settled": sum(phase >= SETTLED for phase in phases.values()), "left": [*phases.values()].count(LEFT)}
    return {**counts, "phases": {node: PHASES[phase] for node, phase in sorted(phases.items())}}


def holding(machine: PushSum) -> dict[str, Any]:
    """What a node holds of the whole weight, and how many of its messages are under way to whom."""
    waiting = {name: len(link.pending) for name, link in machine.outgoing.items() if link.pending}
    return {"weight": machine.own.weight / 2**BITS, "unacknowledged": waiting}


def farewell_of(machine: PushSum) -> str:
    """All that a closed node has taken in, and ever will."""
    return json.dumps({name: [link.through, sorted(link.beyond)] for name, link in machine.incoming.items()})


def final_ack(entry: MemberEntry, sender: str) -> Ack:
    """What a member that has left had taken in from a sender."""
    try:
        through, beyond = parse_json(entry.farewell).get(sender, [0, []])
        if all(isinstance(number, int) and number >= 0 for number in (through, *beyond)):
            return Ack(through, tuple(beyond), closed=True)
    except (ValueError, TypeError, AttributeError):
        pass
    raise ProtocolError(f"the farewell of {entry.node!r} cannot be read")


def state_member(update: Update, network: str) -> str:
    """What a node says about its update, to be signed: its cost and its noise, and nothing about rows beyond it."""
    fields = {"network": network, **stated(update), **plain_budget(update.budget)}
    return json.dumps(fields, sort_keys=True)


def read_member(
    entry: MemberEntry, network: str, schema: Schema, settings: Settings, kind: str | None = None
) -> Member:
    """The member of an entry whose signature was found good, and whose budget is of that kind."""
    try:
        fields = parse_json(entry.statement)
        amounts = [fields.pop(key) for key in ("epsilon", "delta", "rho")]
        if any(text is not None and not EXACT.fullmatch(text) for text in amounts):
            raise ValueError("an amount is no fraction")
        budget = read_budget(*amounts)
        plan = node_plan(schema, settings, budget, fields["mechanism"])
        if fields["rows"] is not None and not is_count(fields["rows"]):
            raise ValueError("an impossible number of rows")
        if fields.pop("network") != network or fields["node"] != entry.node:
            raise ValueError("another network or node")
        if kind is not None and budget_kind(budget) != kind:
            raise ValueError(MIXED)
        return Member(budget=budget, noise_level=noise_level(plan, fields["rows"]), stream=None, **fields)
    except (ValueError, TypeError, KeyError, AttributeError, DiscreetError) as error:
        raise ProtocolError(f"the statement of {entry.node!r} does not belong to this network: {error}") from None


@dataclass
class Roster:
    """All members that a node has heard of. Entries spread with every message until all nodes have them."""

    verify: Verify
    entries: dict[str, MemberEntry] = field(default_factory=dict)
    conflicting: set[str] = field(default_factory=set)

    def merge(self, entry: MemberEntry) -> bool:
        """Take an entry in if it is new or newer; of two statements of one member the first one stays.

        A member that has signed both is noted as `conflicting`: who passes its word on need not be at fault.
        Whatever changes about a member is taken from its own hand alone. Whoever has left stays so, and has left only
        by its own signed farewell, which counts whatever its version is.
        """
        known = self.entries.get(entry.node)
        if known is None:
            if len(self.entries) >= MOST_MEMBERS:
                raise ProtocolError(f"the network has more than {MOST_MEMBERS} members")
            self.verify(entry)
        elif known.statement != entry.statement:
            self.verify(entry)
            self.conflicting.add(entry.node)
            if LEFT in (entry.phase, known.phase) or entry.rank <= known.rank:
                return False
            moved = {name: getattr(entry, name) for name in MOVING}
            entry = replace(known, **moved)
        elif entry.rank <= known.rank:
            return False
        else:
            self.verify(entry)
        self.entries[entry.node] = entry
        return True

    def news(self, known: Mapping[str, tuple[bool, int]]) -> list[MemberEntry]:
        """What a peer has not got yet, if it has entries of these ranks."""
        return [entry for entry in self.entries.values() if entry.rank > known.get(entry.node, (False, -1))]

    def move(self, node: str, sign: Sign, **changes: Any) -> None:
        """A new version of the own entry, in the own hand."""
        known = self.entries[node]
        self.entries[node] = replace(known, version=known.version + 1, **changes).signed(sign)

    @property
    def among(self) -> str:
        """A fingerprint of all members that are known."""
        return hashlib.sha256(json.dumps(sorted(self.entries)).encode()).hexdigest()[:32]

    def all_at_least(self, phase: int, expected: int) -> bool:
        """Whether at least `expected` members are known, and all are at that phase among these very members."""
        among = self.among
        return len(self.entries) >= expected and all(
            entry.phase == LEFT or (entry.phase >= phase and entry.among == among) for entry in self.entries.values()
        )


class View:
    """Peers whose address is known, at most `size` of them: a random sample that is exchanged with every message.

    The addresses that a node was started with hold against whatever others say, and the first of them, up to half the
    room, are never dropped: nobody can talk a node out of its own peers.
    """

    def __init__(self, own: str, peers: Mapping[str, str], size: int = 64) -> None:
        self.own, self.size = own, size
        self.peers: dict[str, str] = {}
        self.given = {name: address for name, address in peers.items() if name != own}
        self.kept = set(list(self.given)[: size // 2])
        self.merge(peers.items(), lambda count: count - 1)

    def offer(self, picks: Iterable[int]) -> dict[str, str]:
        """Some peers to tell another node of; picks are numbers below the view's length."""
        listed = sorted(self.peers.items())
        return dict(listed[pick] for pick in picks)

    def merge(self, offered: Iterable[tuple[str, str]], drop: Callable[[int], int]) -> None:
        """Take peers in; `drop(n)` chooses which of n goes where there is no room, the newest being the last."""
        for name, address in offered:
            if name == self.own:
                continue
            self.peers[name] = self.given.get(name, address)
            if len(self.peers) > self.size:
                others = [peer for peer in self.peers if peer not in self.kept]
                del self.peers[others[drop(len(others))]]

    def forget(self, name: str) -> None:
        """Drop a peer that has left."""
        self.peers.pop(name, None)
