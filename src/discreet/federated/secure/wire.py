"""Messages as bytes: a version, a kind, and length-prefixed parts with exactly one encoding."""

from __future__ import annotations

from collections.abc import Sequence

from discreet.nodes.refusals import MessageError

MAGIC = b"DSA\x01"  # the last byte is the version
LARGEST = 1 << 30
MOST_PARTS = 1 << 17
KINDS = {
    "invite": 0,
    "keys": 1,
    "key list": 2,
    "shares": 3,
    "share list": 4,
    "masked": 5,
    "survivors": 6,
    "agreement": 7,
    "unmask": 8,
    "unmask shares": 9,
    "abandonment": 10,
}
_NAMES = {code: kind for kind, code in KINDS.items()}


def pack(parts: Sequence[bytes]) -> bytes:
    """Byte strings as one, each with its length before it."""
    return b"".join(piece for part in parts for piece in (len(part).to_bytes(4, "little"), part))


def unpack(blob: bytes, count: int | None = None) -> list[bytes]:
    """The byte strings that were packed; anything else is malformed."""
    parts: list[bytes] = []
    at = 0
    while at < len(blob):
        if at + 4 > len(blob) or len(parts) >= MOST_PARTS:
            raise MessageError("a message is cut short or has too many parts")
        end = at + 4 + int.from_bytes(blob[at : at + 4], "little")
        if end > len(blob):
            raise MessageError("a message is cut short")
        parts.append(bytes(blob[at + 4 : end]))
        at = end
    if count is not None and len(parts) != count:
        raise MessageError("a message has another number of parts than its kind")
    return parts


def encode(kind: str, *parts: bytes) -> bytes:
    """A message of that kind."""
    return MAGIC + bytes([KINDS[kind]]) + pack(parts)


def kind_of(message: bytes) -> str:
    """The kind of a message, of this version."""
    if not isinstance(message, bytes) or not 5 <= len(message) <= LARGEST or message[:3] != MAGIC[:3]:
        raise MessageError("these bytes are no message of secure aggregation")
    if message[3] != MAGIC[3]:
        raise MessageError(f"the message is of version {message[3]} of the protocol, this is version {MAGIC[3]}")
    if message[4] not in _NAMES:
        raise MessageError("the message is of an unknown kind")
    return _NAMES[message[4]]


def decode(message: bytes, kind: str, count: int) -> list[bytes]:
    """The parts of a message that must be of this kind."""
    found = kind_of(message)
    if found != kind:
        raise MessageError(f"a message of kind {kind!r} was due, not {found!r}")
    return unpack(message[5:], count)


def read_name(blob: bytes) -> str:
    """A node's name out of bytes."""
    try:
        return blob.decode("utf-8")
    except UnicodeDecodeError:
        raise MessageError("a name in the message is not text") from None


def pack_names(names: Sequence[str]) -> bytes:
    """A list of names."""
    return pack([name.encode() for name in names])


def read_names(blob: bytes) -> tuple[str, ...]:
    """A list of names in rising order, none of them twice."""
    names = tuple(read_name(part) for part in unpack(blob))
    if list(names) != sorted(set(names)):
        raise MessageError("a list of nodes is out of order or names one twice")
    return names


def read_pairs(blob: bytes) -> dict[str, bytes]:
    """A list of (name, bytes) in rising order of names."""
    parts = unpack(blob)
    if len(parts) % 2:
        raise MessageError("a list of pairs has an odd number of parts")
    names = read_names(pack(parts[::2]))
    return dict(zip(names, parts[1::2], strict=True))


def pack_pairs(pairs: dict[str, bytes]) -> bytes:
    """A list of (name, bytes), in rising order of names."""
    return pack([part for name in sorted(pairs) for part in (name.encode(), pairs[name])])


def number(blob: bytes) -> int:
    """A count out of eight bytes."""
    if len(blob) != 8:
        raise MessageError("a number in the message has another length than eight bytes")
    return int.from_bytes(blob, "little")
