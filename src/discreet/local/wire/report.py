"""Reports as bytes: a frame with a marker, a version, a length and a checksum, so that files of them can be repaired.

    marker 4 · version 1 · length of the body 2 · body · CRC-32 of all before it 4        (numbers little-endian)
    body:  schema 8 · report id 16 · ε in millionths (varint) · number of parts 1 · parts
    part:  input (varint) · mechanism 1 · parameter (varint) · length (varint) · payload

Reports stand one after another in a file, with nothing between them: joining two files joins their reports.
"""

from __future__ import annotations

import zlib
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
        raise DataError(f"a report of {len(body)} bytes is too long: choose another oracle")
    frame = MARKER + bytes([VERSION]) + len(body).to_bytes(2, "little") + bytes(body)
    return frame + zlib.crc32(frame).to_bytes(TAIL, "little")
