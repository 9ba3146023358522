"""The wire format read byte by byte: what the compiled loops of `discreet.local.wire` must agree with."""

from __future__ import annotations

import zlib
from collections.abc import Iterator
from fractions import Fraction

from discreet.local.wire.report import HEAD, ID_BYTES, MARKER, MILLION, SCHEMA_BYTES, TAIL, VERSION, Part, Report


class ReportError(ValueError):
    """Bytes that are no report."""


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
