"""The wire format: what is packed is unpacked, and damage is noticed and survived."""

from __future__ import annotations

import zlib
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from discreet.errors import DataError
from discreet.local.wire.report import HEAD, MARKER, Part, Report, pack, varint

from .reference import ReportError, frames, unpack

PARTS = st.builds(
    Part, st.integers(0, 2**31), st.integers(0, 255), st.integers(0, 1000), st.binary(min_size=0, max_size=40)
)
REPORTS = st.builds(
    Report,
    st.binary(min_size=8, max_size=8),
    st.binary(min_size=16, max_size=16),
    st.integers(1, 3 * 10**7).map(lambda n: Fraction(n, 10**6)),
    st.lists(PARTS, min_size=1, max_size=4, unique_by=lambda part: part.input).map(tuple),
)
ONE = Report(b"schema..", b"0123456789abcdef", Fraction(1), (Part(5, 3, 0, b"\x01\x02"),))


def resealed(body: bytes, version: int = 1) -> bytes:
    frame = MARKER + bytes([version]) + len(body).to_bytes(2, "little") + body
    return frame + zlib.crc32(frame).to_bytes(4, "little")


@given(REPORTS)
def test_a_report_comes_back_as_it_went(report: Report) -> None:
    assert unpack(pack(report)) == report


def test_the_bytes_are_those_of_the_documented_format() -> None:
    frame = pack(ONE)
    assert frame[:5] == bytes.fromhex("d15c2e7001")
    assert frame[HEAD:].startswith(b"schema..0123456789abcdef" + varint(10**6) + b"\x01\x05\x03\x00\x02\x01\x02")
    assert len(frame) == 7 + 8 + 16 + 3 + 1 + 3 + 1 + 2 + 4


@given(REPORTS, st.data())
def test_every_changed_byte_is_noticed(report: Report, data: st.DataObject) -> None:
    frame = bytearray(pack(report))
    spot = data.draw(st.integers(0, len(frame) - 1))
    frame[spot] ^= data.draw(st.integers(1, 255))
    with pytest.raises(ReportError):
        unpack(bytes(frame))


@given(REPORTS, st.data())
def test_every_cut_is_noticed(report: Report, data: st.DataObject) -> None:
    frame = pack(report)
    with pytest.raises(ReportError):
        unpack(frame[: data.draw(st.integers(0, len(frame) - 1))])
    with pytest.raises(ReportError):
        unpack(frame + b"\x00")


@pytest.mark.parametrize(
    ("body", "words"),
    [
        (b"", "cut short"),
        (b"s" * 24 + b"\x00\x01", "no epsilon"),
        (b"s" * 24 + b"\x05\x00", "no parts"),
        (b"s" * 24 + b"\x05\x01\x00\x01\x00\x05ab", "cut short"),
        (b"s" * 24 + b"\x05\x01\x00\x01\x00\x01ab", "more than its parts"),
        (b"s" * 24 + b"\x05\x02" + b"\x00\x01\x00\x01a" * 2, "twice"),
        (b"s" * 24 + b"\x85\x00\x01\x00\x01\x00\x01a", "needless zeros"),
        (b"s" * 24 + b"\xff\xff\xff\xff\xff\xff\x01\x01\x00\x01\x00\x01a", "too large"),
    ],
)
def test_a_sealed_but_malformed_body_is_refused(body: bytes, words: str) -> None:
    with pytest.raises(ReportError, match=words):
        unpack(resealed(body))


def test_another_version_is_named() -> None:
    with pytest.raises(ReportError, match="version 2"):
        unpack(resealed(b"s" * 30, version=2))


def test_a_report_that_is_too_long_is_refused() -> None:
    with pytest.raises(DataError, match="too long"):
        pack(Report(b"schema..", b"0" * 16, Fraction(1), (Part(0, 1, 0, bytes(70_000)),)))


@given(st.lists(REPORTS, max_size=6))
def test_joined_files_are_joined_reports(reports: list[Report]) -> None:
    raw = b"".join(pack(report) for report in reports)
    assert [unpack(frame) for frame in frames(raw) if frame] == reports


@given(st.lists(REPORTS, min_size=2, max_size=6), st.data())
def test_damage_costs_the_damaged_record_only(reports: list[Report], data: st.DataObject) -> None:
    packed = [pack(report) for report in reports]
    hit = data.draw(st.integers(0, len(packed) - 1))
    # Damage behind the marker and the length: those of a later record could not be told apart from it.
    spot = data.draw(st.integers(HEAD, len(packed[hit]) - 1))
    broken = bytearray(packed[hit])
    broken[spot] ^= 0xFF
    found = list(frames(b"".join([*packed[:hit], bytes(broken), *packed[hit + 1 :]])))
    assert found.count(None) == 1
    assert [frame for frame in found if frame] == packed[:hit] + packed[hit + 1 :]


@given(st.lists(REPORTS, min_size=2, max_size=5), st.integers(0, 6))
def test_a_damaged_head_or_a_cut_end_costs_one_record(reports: list[Report], spot: int) -> None:
    packed = [pack(report) for report in reports]
    broken = bytearray(packed[0])
    broken[spot] ^= 0xFF
    found = list(frames(bytes(broken) + b"".join(packed[1:])))
    assert [frame for frame in found if frame] == packed[1:]
    assert found.count(None) == 1
    found = list(frames(b"".join(packed)[:-3]))
    assert [frame for frame in found if frame] == packed[:-1]
    assert found.count(None) == 1
