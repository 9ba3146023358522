"""Reports as bytes: a frame with a marker, a version, a length and a checksum, so that files of them can be repaired.

    marker 4 · version 1 · length of the body 2 · body · CRC-32 of all before it 4        (numbers little-endian)
    body:  schema 8 · report id 16 · ε in millionths (varint) · number of parts 1 · parts
    part:  input (varint) · mechanism 1 · parameter (varint) · length (varint) · payload

Reports stand one after another in a file, with nothing between them: joining two files joins their reports.
"""

from __future__ import annotations

import zlib
from collections.abc import Iterator
from fractions import Fraction
from typing import NamedTuple

from discreet.errors import DataError

MARKER = bytes.fromhex("d15c2e70")
VERSION = 1
HEAD = len(MARKER) + 3
TAIL = 4
SCHEMA_BYTES = 8
ID_BYTES = 16
LONGEST = (1 << 16) - 1
MOST_PARTS = 255
MILLION = 10**6


class ReportError(DataError):
    """Bytes that are no report, or not one that can be counted."""


class Part(NamedTuple):
    """What was said about one input: which mechanism said it, its public parameter, and the payload."""

    input: int
    code: int
    parameter: int
    payload: bytes


class Report(NamedTuple):
    """One person's report; `epsilon` is what all its parts cost together."""

    schema: bytes
    id: bytes
    epsilon: Fraction
    parts: tuple[Part, ...]


def varint(number: int) -> bytes:
    """A whole number in groups of seven bits, the lowest first."""
    groups = bytearray()
    while number > 127:
        groups.append(number & 127 | 128)
        number >>= 7
    groups.append(number)
    return bytes(groups)


def schema_mark(schema_hash: str) -> bytes:
    """The bytes by which a report names its schema."""
    return bytes.fromhex(schema_hash)[:SCHEMA_BYTES]


def pack(report: Report) -> bytes:
    """A report as a frame."""
    millionths = report.epsilon * MILLION
    assert millionths.denominator == 1
    body = bytearray(report.schema + report.id + varint(int(millionths)))
    body.append(len(report.parts))
    for part in report.parts:
        body += varint(part.input) + bytes([part.code]) + varint(part.parameter)
        body += varint(len(part.payload)) + part.payload
    if len(body) > LONGEST:
        raise ReportError(f"a report of {len(body)} bytes is too long: choose another oracle")
    frame = MARKER + bytes([VERSION]) + len(body).to_bytes(2, "little") + bytes(body)
    return frame + zlib.crc32(frame).to_bytes(TAIL, "little")


class _Cursor:
    def __init__(self, raw: bytes) -> None:
        self.raw, self.spot = raw, 0

    def take(self, size: int) -> bytes:
        if self.spot + size > len(self.raw):
            raise ReportError("the report is cut short")
        self.spot += size
        return self.raw[self.spot - size : self.spot]

    def varint(self) -> int:
        number = shift = 0
        while True:
            group = self.take(1)[0]
            number |= (group & 127) << shift
            shift += 7
            if group < 128:
                if shift > 7 and not group:
                    raise ReportError("a number in the report is written with needless zeros")
                return number
            if shift > 35:
                raise ReportError("a number in the report is too large")


def unpack(frame: bytes) -> Report:
    """The report in a frame, or an error that says what is wrong with it."""
    frame = bytes(frame)
    if frame[: len(MARKER)] != MARKER:
        raise ReportError("these bytes are not a report")
    if len(frame) < HEAD + TAIL or len(frame) != HEAD + int.from_bytes(frame[5:7], "little") + TAIL:
        raise ReportError("the report is cut short or too long")
    if zlib.crc32(frame[:-TAIL]) != int.from_bytes(frame[-TAIL:], "little"):
        raise ReportError("the report is damaged: its checksum does not fit")
    if frame[4] != VERSION:
        raise ReportError(f"the report is of version {frame[4]}; this library reads {VERSION}")
    cursor = _Cursor(frame[HEAD:-TAIL])
    schema, identity, epsilon = cursor.take(SCHEMA_BYTES), cursor.take(ID_BYTES), cursor.varint()
    count = cursor.take(1)[0]
    if not epsilon or not count:
        raise ReportError("the report has no epsilon or no parts")
    parts = []
    for _ in range(count):
        number, code, parameter = cursor.varint(), cursor.take(1)[0], cursor.varint()
        parts.append(Part(number, code, parameter, cursor.take(cursor.varint())))
    if cursor.spot != len(cursor.raw):
        raise ReportError("the report holds more than its parts")
    if len({part.input for part in parts}) != count:
        raise ReportError("the report answers one question twice")
    return Report(schema, identity, Fraction(epsilon, MILLION), tuple(parts))


def frames(raw: bytes) -> Iterator[bytes | None]:
    """The frames in a buffer; None for each damaged stretch, after which the next marker is looked for."""
    spot = 0
    while spot < len(raw):
        size = HEAD + TAIL + int.from_bytes(raw[spot + 5 : spot + 7], "little")
        frame = raw[spot : spot + size]
        whole = frame[:4] == MARKER and len(frame) == size
        if whole and zlib.crc32(frame[:-TAIL]) == int.from_bytes(frame[-TAIL:], "little"):
            yield frame
            spot += size
            continue
        yield None
        spot = raw.find(MARKER, spot + 1)
        if spot < 0:
            return
