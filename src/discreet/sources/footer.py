"""Footers of Parquet files: for each column chunk where it lies, how it is stored and how many values it has.

A footer is a struct of Thrift's compact protocol. No length that it states is believed. What is odd, or not known
here, makes the whole footer unknown; readers that decode the file then see to it. Arrow's own account of a chunk is
not asked for: of some damaged footers it ends the process.
"""

from __future__ import annotations

from typing import Any, NamedTuple

_TYPES = ("BOOLEAN", "INT32", "INT64", "INT96", "FLOAT", "DOUBLE", "BYTE_ARRAY", "FIXED_LEN_BYTE_ARRAY")
_CODECS = ("UNCOMPRESSED", "SNAPPY", "GZIP", "LZO", "BROTLI", "LZ4_HADOOP", "ZSTD", "LZ4")
_MOST, _DEEP = 1 << 26, 12  # bytes of a footer, structs and lists within each other
_MAGIC = b"PAR1"

# What is wanted of a struct: by field its kind and what is wanted inside. Fields of no kind must not be there: they
# tell of encryption, or of chunks that lie in other files.
_NUMBER, _LONG, _TEXT, _LIST, _STRUCT, _NEVER = 5, 6, 8, 9, 12, -1
_Shape = dict[int, tuple[int, Any]]
_DATA: _Shape = {
    1: (_NUMBER, None), 3: (_LIST, (_TEXT, None)), 4: (_NUMBER, None), 5: (_LONG, None), 6: (_LONG, None),
    7: (_LONG, None), 9: (_LONG, None), 11: (_LONG, None),
}  # fmt: skip
_CHUNK: _Shape = {1: (_NEVER, None), 3: (_STRUCT, _DATA), 8: (_NEVER, None), 9: (_NEVER, None)}
_GROUP: _Shape = {1: (_LIST, (_STRUCT, _CHUNK)), 3: (_LONG, None)}
_FILE: _Shape = {3: (_LONG, None), 4: (_LIST, (_STRUCT, _GROUP)), 8: (_NEVER, None), 9: (_NEVER, None)}


class _OddError(Exception):
    """A footer that is damaged, or that nobody here knows how to read."""


class Chunk(NamedTuple):
    """What is stored of a column in a row group; names are those of Arrow."""

    physical_type: str
    path_in_schema: str
    compression: str
    num_values: int
    total_uncompressed_size: int
    total_compressed_size: int
    data_page_offset: int
    dictionary_page_offset: int | None


class Group(NamedTuple):
    """A row group."""

    num_rows: int
    chunks: list[Chunk]


def footer_bytes(file: Any) -> bytes | None:
    """The footer of an open file, with its length and the mark of its end; None if there is none."""
    size = file.seek(0, 2)
    file.seek(max(0, size - 8))
    tail = file.read(8)
    length = int.from_bytes(tail[:4], "little")
    if len(tail) < 8 or tail[4:] != _MAGIC or not 0 < length <= min(_MOST, size - 12):
        return None
    file.seek(size - 8 - length)
    found: bytes = file.read(length + 8)
    return found if len(found) == length + 8 and found[length:] == tail else None


def row_groups(footer: bytes) -> list[Group] | None:
    """The row groups of a file, or None if its footer is not known to say what they are."""
    data = footer[:-8]
    try:
        found, end = _struct(data, 0, _FILE, 0)
        groups = [Group(one[3], [_chunk(chunk[3]) for chunk in one[1]]) for one in found[4]]
        odd = end != len(data) or sum(one.num_rows for one in groups) != found[3]
        return None if odd or min((one.num_rows for one in groups), default=0) < 0 else groups
    except (_OddError, LookupError, UnicodeDecodeError):
        return None


def _chunk(facts: dict[int, Any]) -> Chunk:
    kind, codec, start, table = facts[1], facts[4], facts[9], facts.get(11)
    if min(kind, codec, facts[5], facts[6], facts[7], start, table or 0) < 0:
        raise _OddError
    path = b".".join(facts[3]).decode()
    return Chunk(_TYPES[kind], path, _CODECS[codec], facts[5], facts[6], facts[7], start, table)


def _struct(data: bytes, at: int, wanted: _Shape, deep: int) -> tuple[dict[int, Any], int]:
    """What is wanted of a struct, by field, and the place after it. Reading past the end is an error of an index."""
    found: dict[int, Any] = {}
    field = 0
    while head := data[at]:
        kind = head & 15
        if head < 16:
            raise _OddError
        field += head >> 4
        at += 1
        shape = wanted.get(field)
        if shape is None:
            at = _past(data, at, kind, deep)
        elif shape[0] != kind:
            raise _OddError
        else:
            found[field], at = _value(data, at, kind, shape[1], deep)
    return found, at + 1


def _value(data: bytes, at: int, kind: int, wanted: Any, deep: int) -> tuple[Any, int]:
    if kind in (_NUMBER, _LONG):
        raw, at = _number(data, at)
        return (raw >> 1) ^ -(raw & 1), at
    if kind == _TEXT:
        size, at = _number(data, at)
        return data[at : at + size], at + size
    if deep > _DEEP:
        raise _OddError
    if kind == _STRUCT:
        return _struct(data, at, wanted, deep + 1)
    (inner, shape), found = wanted, []
    many, of, at = _many(data, at)
    if of != inner and many:
        raise _OddError
    for _ in range(many):
        one, at = _value(data, at, inner, shape, deep + 1)
        found.append(one)
    return found, at


def _number(data: bytes, at: int) -> tuple[int, int]:
    """A number of at most nine bytes, and the place after it."""
    raw = data[at]
    at += 1
    if raw < 128:
        return raw, at
    raw &= 127
    for shift in range(7, 63, 7):
        one = data[at]
        at += 1
        raw |= (one & 127) << shift
        if one < 128:
            return raw, at
    raise _OddError


def _many(data: bytes, at: int) -> tuple[int, int, int]:
    """How many things a list has, of which kind, and where they begin; each takes a byte at least."""
    head = data[at]
    many, at = _number(data, at + 1) if head >= 240 else (head >> 4, at + 1)
    if many > len(data) - at:
        raise _OddError
    return many, head & 15, at


def _past(data: bytes, at: int, kind: int, deep: int, listed: bool = False) -> int:
    """The place after a value that nobody asked for."""
    if kind in (4, 5, 6):
        while data[at] > 127:
            at += 1
        return at + 1
    if kind == 8:
        size, at = _number(data, at)
        return at + size
    if kind in (1, 2, 3, 7):  # a truth is in the head of its field; in a list it has a byte
        return at + (8 if kind == 7 else int(listed or kind == 3))
    if deep > _DEEP:
        raise _OddError
    if kind == 12:
        while head := data[at]:
            if head < 16:
                raise _OddError
            at = _past(data, at + 1, head & 15, deep + 1)
        return at + 1
    if kind not in (9, 10):
        raise _OddError
    many, of, at = _many(data, at)
    for _ in range(many):
        at = _past(data, at, of, deep + 1, True)
    return at
