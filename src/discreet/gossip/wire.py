"""The bytes of gossip: a message with what goes along with it, an acknowledgement, and the state on disk."""

from __future__ import annotations

import json
import struct
import sys
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from discreet.files import parse_json
from discreet.gossip.membership import MemberEntry
from discreet.gossip.protocol import Ack, Incoming, Message, Outgoing, PushShare, PushSum
from discreet.nodes.refusals import ProtocolError
from discreet.nodes.update import is_count

MAGIC = b"DGSP"
VERSION = 2  # since 2 members sign all that is said of them
WIDEST = 20  # bytes of one value in a message; 64-bit integers of 20 000 members in units of 2⁻⁶⁴ need 18
MOST_VALUES = 1 << 22
MOST_PEERS = 64  # addresses that go along with one message
MOST_TEXT = 300  # characters of a name or an address


@dataclass(frozen=True)
class Envelope:
    """A message of a network, with members' entries and peers' addresses that the receiver may not know."""

    network: str
    message: Message
    entries: tuple[MemberEntry, ...] = ()
    peers: dict[str, str] = field(default_factory=dict)


def pack(share: PushShare) -> tuple[int, bytes]:
    """Weight and values as signed integers of one width, and that width."""
    numbers = (share.weight, *share.values)
    width = max(1, max(number.bit_length() for number in numbers) // 8 + 1)
    return width, b"".join(number.to_bytes(width, "little", signed=True) for number in numbers)


def unpack(width: int, raw: bytes, widest: int = WIDEST) -> PushShare:
    """The share of these bytes, with no value wider than that."""
    if not 1 <= width <= widest or len(raw) % width or not 2 <= len(raw) // width <= MOST_VALUES:
        raise ProtocolError("the values of a message cannot be read")
    weight, *values = (int.from_bytes(raw[at : at + width], "little", signed=True) for at in range(0, len(raw), width))
    return PushShare(tuple(values), weight)


def to_bytes(envelope: Envelope) -> bytes:
    """A header of JSON and the share."""
    message = envelope.message
    width, raw = pack(message.share)
    header = {
        "network": envelope.network,
        "sender": message.sender,
        "receiver": message.receiver,
        "number": message.number,
        "entries": [entry.plain() for entry in envelope.entries],
        "peers": envelope.peers,
    }
    text = json.dumps(header, separators=(",", ":")).encode()
    return MAGIC + struct.pack("<BBI", VERSION, width, len(text)) + text + raw


def from_bytes(raw: bytes) -> Envelope:
    """Read what `to_bytes` wrote; anything else is refused."""
    start = len(MAGIC) + struct.calcsize("<BBI")
    if raw[: len(MAGIC)] != MAGIC or len(raw) < start:
        raise ProtocolError("these bytes are no message of gossip")
    version, width, length = struct.unpack("<BBI", raw[len(MAGIC) : start])
    if version != VERSION or start + length > len(raw):
        raise ProtocolError(f"the message is cut short, or not of version {VERSION}")
    header = _parsed(raw[start : start + length])
    if set(header) != {"network", "sender", "receiver", "number", "entries", "peers"}:
        raise ProtocolError("the message has other fields than this version knows")
    peers, entries = header["peers"], header["entries"]
    good = all(_short(header[key]) for key in ("network", "sender", "receiver"))
    good = good and is_count(header["number"]) and isinstance(entries, list) and isinstance(peers, dict)
    if not good or len(peers) > MOST_PEERS or not all(_short(name) and _short(at) for name, at in peers.items()):
        raise ProtocolError("the header of the message cannot be read")
    share = unpack(width, raw[start + length :])
    message = Message(header["sender"], header["receiver"], header["number"], share)
    return Envelope(header["network"], message, tuple(MemberEntry.read(entry) for entry in entries), peers)


def _parsed(raw: bytes) -> dict[str, Any]:
    try:
        header = parse_json(raw)
    except (ValueError, UnicodeDecodeError):
        header = None
    if not isinstance(header, dict):
        raise ProtocolError("the header of the message is no JSON")
    return header


def _short(text: Any) -> bool:
    return isinstance(text, str) and len(text) <= MOST_TEXT


def ack_to_bytes(ack: Ack) -> bytes:
    """An acknowledgement."""
    return json.dumps([ack.through, list(ack.beyond), ack.closed], separators=(",", ":")).encode()


def ack_from_bytes(raw: bytes) -> Ack:
    """Read an acknowledgement."""
    try:
        through, beyond, closed = parse_json(raw)
    except (ValueError, TypeError, UnicodeDecodeError):
        raise ProtocolError("an acknowledgement cannot be read") from None
    good = is_count(through) and isinstance(beyond, list) and all(map(is_count, beyond)) and isinstance(closed, bool)
    if not good:
        raise ProtocolError("an acknowledgement cannot be read")
    return Ack(through, tuple(beyond), closed)


def state_to_text(machine: PushSum) -> str:
    """All that a node must not forget."""

    def plain(share: PushShare) -> list[Any]:
        width, raw = pack(share)
        return [width, raw.hex()]

    fields = {
        "node": machine.node,
        "own": plain(machine.own),
        "closed": machine.closed,
        "incoming": {name: [link.through, sorted(link.beyond)] for name, link in machine.incoming.items()},
        "outgoing": {
            name: [link.last, {str(number): plain(share) for number, share in link.pending.items()}]
            for name, link in machine.outgoing.items()
        },
    }
    return json.dumps(fields, separators=(",", ":"))


def state_from_text(text: str) -> PushSum:
    """The node that `state_to_text` wrote down."""

    def share(fields: Sequence[Any]) -> PushShare:
        return unpack(fields[0], bytes.fromhex(fields[1]), sys.maxsize)  # what was taken in is never refused later

    try:
        fields = parse_json(text)
        machine = PushSum(fields["node"], share(fields["own"]))
        machine.closed = bool(fields["closed"])
        for name, (through, beyond) in fields["incoming"].items():
            machine.incoming[name] = Incoming(through, set(beyond))
        for name, (last, pending) in fields["outgoing"].items():
            machine.outgoing[name] = Outgoing(last, {int(number): share(one) for number, one in pending.items()})
    except (ValueError, TypeError, KeyError) as error:
        raise ProtocolError(f"the state of the node is damaged: {error}") from None
    return machine
