"""Bulk parsing gives the same verdicts as the plain reader, on sound, damaged and forged buffers, however cut."""

from __future__ import annotations

import io
import time
import zlib
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from discreet.local.wire.frames import (
    FOREIGN,
    MALFORMED,
    READABLE,
    cut,
    frames_of_buffers,
    frames_of_file,
    frames_one_each,
    identities,
    parse,
)
from discreet.local.wire.report import MARKER, Part, Report, pack, varint

from .reference import ReportError, frames, unpack

MARK = b"schema!!"
parts = st.builds(
    Part,
    st.integers(0, 300),
    st.integers(0, 255),
    st.sampled_from([0, 1, 127, 128, 1000, 2**35]),
    st.binary(max_size=12) | st.sampled_from([bytes(1500), MARKER, MARKER * 2]),
)
reports = st.builds(
    Report,
    st.sampled_from([MARK, b"another!"]),
    st.binary(min_size=16, max_size=16),
    st.integers(1, 2**34).map(lambda n: Fraction(n, 10**6)),
    st.lists(parts, min_size=1, max_size=4, unique_by=lambda part: part.input).map(tuple),
)


def sealed(body: bytes, version: int = 1) -> bytes:
    """A frame with a right checksum around any body."""
    frame = MARKER + bytes([version]) + len(body).to_bytes(2, "little") + body
    return frame + zlib.crc32(frame).to_bytes(4, "little")


@st.composite
def stretches(draw):
    """Bytes such as a damaged file holds: sound frames, frames changed, cut or forged, and garbage."""
    frame = draw(reports.map(pack) | st.binary(max_size=60).map(sealed))
    kind = draw(st.sampled_from(["whole", "whole", "flipped", "cut", "forged", "garbage", "version", "resealed"]))
    if kind == "flipped":
        spot = draw(st.integers(0, len(frame) - 1))
        return frame[:spot] + bytes([frame[spot] ^ (1 << draw(st.integers(0, 7)))]) + frame[spot + 1 :]
    if kind == "cut":
        return frame[: draw(st.integers(0, len(frame) - 1))]
    if kind == "forged":
        return MARKER + b"\1" + draw(st.integers(0, 65535)).to_bytes(2, "little") + draw(st.binary(max_size=9))
    if kind == "garbage":
        return draw(st.binary(max_size=30) | st.sampled_from([MARKER[:3], MARKER[1:], MARKER + MARKER]))
    if kind == "version":
        return sealed(frame[7:-4], 2)
    if kind == "resealed":  # a right checksum around a wrong body
        spot = draw(st.integers(31, len(frame) - 5)) if len(frame) > 36 else 7
        return sealed(frame[7:spot] + bytes([frame[spot] ^ 128]) + frame[spot + 1 : -4])
    return frame


buffers = st.lists(stretches(), max_size=8).map(b"".join)


def plain(raw):
    found = list(frames(raw))
    return [one for one in found if one is not None], found.count(None)


def taken(found):
    return [found.raw[a:b].tobytes() for a, b in zip(found.starts, found.ends, strict=True)]


def state(frame):
    try:
        report = unpack(frame)
    except ReportError:
        return MALFORMED, None
    return (READABLE, report) if report.schema == MARK else (FOREIGN, None)


@settings(max_examples=150, deadline=None)
@given(buffers)
def test_same_frames_damage_and_contents_as_one_by_one(raw):
    whole, damaged = plain(raw)
    found = frames_of_buffers([raw])
    assert taken(found) == whole and found.damaged.tolist() == [damaged]
    states, bits = parse(found, MARK)
    expected = [state(frame) for frame in whole]
    assert states.tolist() == [one for one, _ in expected]
    listed = [(i, part, report) for i, (_, report) in enumerate(expected) if report for part in report.parts]
    assert bits.owner.tolist() == [i for i, _, _ in listed]
    for row, (_, part, report) in enumerate(listed):
        key = (part.input, part.code, part.parameter, report.epsilon * 10**6, len(report.parts))
        assert bits.key(row) == key
        assert found.raw[bits.start[row] : bits.stop[row]].tobytes() == part.payload
    labels, firsts = bits.groups()
    keys = [bits.key(row) for row in range(len(bits))]
    assert [bits.key(int(firsts[label])) for label in labels] == keys and len(firsts) == len(set(keys))


@settings(max_examples=80, deadline=None)
@given(buffers, st.lists(st.integers(1, 80), min_size=1, max_size=5))
def test_pieces_of_any_size_give_the_same(raw, sizes):
    class Pieces(io.BytesIO):
        def read(self, _):
            turns.append(sizes[len(turns) % len(sizes)])
            return super().read(turns[-1])

    turns = []
    found = list(frames_of_file(Pieces(raw)))
    whole = [frame for one in found for frame in taken(one)]
    assert (whole, sum(int(one.damaged[0]) for one in found)) == plain(raw)


@settings(max_examples=40, deadline=None)
@given(st.lists(buffers, max_size=4))
def test_buffers_stand_for_themselves(several):
    found = frames_of_buffers(several)
    assert taken(found) == [frame for raw in several for frame in plain(raw)[0]]
    assert found.damaged.tolist() == [plain(raw)[1] for raw in several]
    assert np.bincount(found.owners, minlength=len(several)).tolist() == [len(plain(raw)[0]) for raw in several]


@settings(max_examples=40, deadline=None)
@given(st.lists(buffers, max_size=6))
def test_one_report_per_string(several):
    found = frames_one_each(several)
    sound = [raw for raw in several if plain(raw) == ([raw], 0)]
    assert taken(found) == sound and found.damaged.sum() == len(several) - len(sound)


@pytest.mark.parametrize("size", [1, 1000, 1013, 1014, 1015, 5000, 65535])
def test_long_frames_are_checked_too(size):
    body = np.random.default_rng(size).bytes(size)
    frame = sealed(body)
    assert taken(frames_of_buffers([b"x" + frame + frame])) == [frame, frame]
    for spot in {5, 8, size // 2, len(frame) - 1}:
        broken = frame[:spot] + bytes([frame[spot] ^ 4]) + frame[spot + 1 :]
        assert taken(frames_of_buffers([broken + frame])) == plain(broken + frame)[0]


def test_forged_lengths_cost_no_repeated_passes():
    """Each of 150,000 forged heads claims 64 KiB: to sum them all up one by one would be ten thousand million bytes."""
    raw = (MARKER + b"\1\xff\xff") * 150_000
    frames_of_buffers([raw[:100_000]])
    before = time.process_time()
    found = frames_of_buffers([raw])
    assert time.process_time() - before < 2
    assert len(found) == 0 and found.damaged.tolist() == [150_000]


def test_numbers_are_written_in_one_way_only():
    head = MARK + bytes(16) + varint(5) + b"\1"
    for number in (b"\x80\x00", b"\xff\xff\xff\xff\xff\xff\x01", b"\x81\x80\x00"):
        frame = sealed(head + number + b"\1\0\1\0")
        assert parse(frames_of_buffers([frame]), MARK)[0].tolist() == [MALFORMED] == [state(frame)[0]]


def test_a_file_in_chunks_smaller_than_a_frame(tmp_path):
    made = [pack(Report(MARK, bytes([i]) * 16, Fraction(1), (Part(0, 1, 0, bytes(i)),))) for i in range(50)]
    path = tmp_path / "r.bin"
    path.write_bytes(b"".join(made))
    with path.open("rb") as file:
        assert [one for found in frames_of_file(file, 7) for one in taken(found)] == made
    found = frames_of_buffers([path.read_bytes()])
    assert cut(found, np.array([3, 1])) == made[3] + made[1]
    assert identities(found, np.array([2])).tobytes() == bytes([2]) * 16
    assert next(iter(frames_of_file(io.BytesIO()))).damaged.tolist() == [0]
