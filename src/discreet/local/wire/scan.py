"""Loops over report buffers, compiled when they are first needed: frames, checksums, bodies, groups of parts."""

from __future__ import annotations

import functools
import zlib
from itertools import accumulate
from types import SimpleNamespace
from typing import Any

import numpy as np

from discreet.local.wire.report import HEAD, ID_BYTES, LONGEST, MARKER, SCHEMA_BYTES, TAIL, VERSION

POLYNOMIAL = 0xEDB88320
SHORT = 1024  # longer frames are checked through prefix sums, so that forged lengths cost no repeated passes
_M0, _M1, _M2, _M3 = MARKER
_FRONT = SCHEMA_BYTES + ID_BYTES
_FULL = 0xFFFFFFFF


def crc_table() -> Any:
    """Eight tables of the standard 32-bit checksum, so that eight bytes are taken at a time.

    Table k holds the register, begun at zero, after each byte and k zeros.
    """
    after = [[zlib.crc32(bytes([byte, *bytes(k)]), _FULL) for byte in range(256)] for k in range(8)]
    return np.array(after, np.uint32) ^ np.uint32(_FULL)


def crc_powers() -> Any:
    """x^(8n) modulo the polynomial for every length n of a frame: how a register moves over n zero bytes."""
    lengths = range(LONGEST + HEAD + TAIL)
    after = accumulate(lengths, lambda value, _: zlib.crc32(b"\0", value), initial=0x80000000 ^ _FULL)
    return np.fromiter(after, np.uint32) ^ np.uint32(_FULL)


def crc_times(left: Any, right: Any) -> Any:
    """The product of two residues modulo the polynomial, bits reflected."""
    result = np.uint32(0)
    for _ in range(32):
        if left & np.uint32(0x80000000):
            result ^= right
        left = np.uint32(left << np.uint32(1))
        right = (right >> np.uint32(1)) ^ (np.uint32(POLYNOMIAL) if right & np.uint32(1) else np.uint32(0))
    return result


def four_bytes(raw: Any, spot: Any) -> Any:
    """A little-endian number of 32 bits."""
    low = np.uint32(raw[spot]) | np.uint32(raw[spot + 1]) << np.uint32(8)
    return low | np.uint32(raw[spot + 2]) << np.uint32(16) | np.uint32(raw[spot + 3]) << np.uint32(24)


def crc_short(raw: Any, start: Any, stop: Any, table: Any) -> Any:
    """The checksum of raw[start:stop], eight bytes at a time."""
    value, spot = np.uint32(_FULL), start
    while spot + 8 <= stop:
        low = value ^ four_bytes(raw, spot)
        value = (
            table[7, low & np.uint32(255)]
            ^ table[6, (low >> np.uint32(8)) & np.uint32(255)]
            ^ table[5, (low >> np.uint32(16)) & np.uint32(255)]
            ^ table[4, low >> np.uint32(24)]
            ^ table[3, raw[spot + 4]]
            ^ table[2, raw[spot + 5]]
            ^ table[1, raw[spot + 6]]
            ^ table[0, raw[spot + 7]]
        )
        spot += 8
    while spot < stop:
        value = (value >> np.uint32(8)) ^ table[0, (value ^ np.uint32(raw[spot])) & np.uint32(255)]
        spot += 1
    return value ^ np.uint32(_FULL)


def crc_prefixes(raw: Any, start: int, stop: int, table: Any) -> Any:
    """The checksum register after each byte of raw[start:stop], begun at zero."""
    result = np.empty(stop - start + 1, np.uint32)
    value = np.uint32(0)
    result[0] = value
    for i in range(stop - start):
        value = (value >> np.uint32(8)) ^ table[0, (value ^ np.uint32(raw[start + i])) & np.uint32(255)]
        result[i + 1] = value
    return result


def is_marker(raw: Any, spot: int) -> bool:
    """Whether a frame may begin here."""
    return bool(raw[spot] == _M0 and raw[spot + 1] == _M1 and raw[spot + 2] == _M2 and raw[spot + 3] == _M3)


def split(raw: Any, start: Any, stop: Any, final: bool, seeking: bool, table: Any, powers: Any) -> Any:
    """Frames in raw[start:stop]: their starts and ends, damaged stretches, where it stopped, whether it seeks.

    Unless this is the final piece, the unfinished rest is left for later. `seeking` says that the stretch at the
    start is damaged and has been counted. Work is linear in the buffer whatever lengths the frames claim.
    """
    starts = np.empty((stop - start) // (HEAD + TAIL) + 1, np.int64)
    ends = np.empty_like(starts)
    prefixes = np.empty(0, np.uint32)
    count = damaged = 0
    spot = start
    while spot < stop:
        if seeking:
            while spot + 4 <= stop and not is_marker(raw, spot):
                spot += 1
            if spot + 4 > stop:
                if final:
                    spot = stop
                break
            seeking = False
        marked = spot + 4 <= stop and is_marker(raw, spot)
        whole, end = False, spot
        if marked and spot + HEAD <= stop:
            end = spot + HEAD + TAIL + np.int64(raw[spot + 5]) + 256 * np.int64(raw[spot + 6])
            whole = end <= stop
        if whole:
            given = four_bytes(raw, end - TAIL)
            if end - spot <= SHORT:
                found = crc_short(raw, spot, end - TAIL, table)
            else:
                if not len(prefixes):
                    prefixes = crc_prefixes(raw, start, stop, table)
                before, after = prefixes[spot - start], prefixes[end - TAIL - start]
                moved = crc_times(before ^ np.uint32(_FULL), powers[end - TAIL - spot])
                found = after ^ moved ^ np.uint32(_FULL)
            if found == given:
                starts[count], ends[count] = spot, end
                count += 1
                spot = end
                continue
        elif not final and (marked or spot + 4 > stop):
            break
        damaged += 1
        seeking = True
        spot += 1
    return starts[:count].copy(), ends[:count].copy(), damaged, spot, seeking


def varint_at(raw: Any, spot: int, stop: int) -> Any:
    """A whole number and the place after it; the place is −1 if it is cut short, too large or has needless zeros."""
    number, shift = np.int64(0), np.int64(0)
    while spot < stop:
        group = np.int64(raw[spot])
        spot += 1
        number |= (group & 127) << shift
        shift += 7
        if group < 128:
            return number, spot if shift == 7 or group else -1
        if shift > 35:
            break
    return number, -1


def parse(raw: Any, starts: Any, ends: Any, mark: Any) -> Any:
    """The bodies of whole frames: a state per frame; seven columns and the frame of each part.

    State 0 is a readable report of this schema, 1 a malformed one, 2 one of another schema. The columns of a part are
    its input, code, parameter, ε, number of parts, and where its payload begins and ends.
    """
    size, room = len(starts), 0
    states = np.zeros(size, np.int64)
    for i in range(size):
        room += max(0, (ends[i] - starts[i] - HEAD - TAIL - _FRONT - 2) // 4)
    parts = np.empty((7, room), np.int64)
    owners = np.empty(room, np.int64)
    filled = 0
    for i in range(size):
        spot, stop, fine = starts[i] + HEAD, ends[i] - TAIL, raw[starts[i] + 4] == VERSION
        own = True
        first = filled
        epsilon, count = np.int64(0), np.int64(0)
        if fine and stop - spot > _FRONT:
            for k in range(SCHEMA_BYTES):
                own = own and raw[spot + k] == mark[k]
            epsilon, spot = varint_at(raw, spot + _FRONT, stop)
            fine = 0 <= spot < stop and epsilon > 0
            if fine:
                count = np.int64(raw[spot])
                spot += 1
                fine = count > 0
        else:
            fine = False
        for _ in range(count):
            if not fine:
                break
            number, spot = varint_at(raw, spot, stop)
            if spot < 0 or spot >= stop:
                fine = False
                break
            code = np.int64(raw[spot])
            parameter, spot = varint_at(raw, spot + 1, stop)
            length = np.int64(0)
            if spot >= 0:
                length, spot = varint_at(raw, spot, stop)
            if spot < 0 or length > stop - spot:
                fine = False
                break
            for k in range(first, filled):
                if parts[0, k] == number:
                    fine = False
            if not fine:
                break
            parts[0, filled], parts[1, filled], parts[2, filled] = number, code, parameter
            parts[3, filled], parts[4, filled] = epsilon, count
            parts[5, filled], parts[6, filled] = spot, spot + length
            owners[filled] = i
            filled += 1
            spot += length
        fine = fine and spot == stop
        if not (fine and own):
            filled = first
        states[i] = (0 if own else 2) if fine else 1
    return states, parts[:, :filled].copy(), owners[:filled].copy()


def group(columns: Any, salt: Any) -> Any:
    """Numbers for equal columns: the group of each part, and one part of each group."""
    size = columns.shape[1]
    room = 16
    while room < 2 * size:
        room *= 2
    table = np.full(room, -1, np.int64)
    labels, firsts = np.empty(size, np.int64), np.empty(size, np.int64)
    count = 0
    for i in range(size):
        mixed = np.uint64(salt)
        for k in range(columns.shape[0]):
            mixed = (mixed ^ np.uint64(columns[k, i])) * np.uint64(0x9E3779B97F4A7C15)
            mixed ^= mixed >> np.uint64(29)
        slot = np.int64(mixed & np.uint64(room - 1))
        while True:
            place = table[slot]
            if place < 0:
                table[slot] = labels[i] = count
                firsts[count] = i
                count += 1
                break
            same = True
            for k in range(columns.shape[0]):
                same = same and columns[k, firsts[place]] == columns[k, i]
            if same:
                labels[i] = place
                break
            slot = (slot + 1) & (room - 1)
    return labels, firsts[:count].copy()


def gather(raw: Any, spots: Any, out: Any) -> None:
    """Copy a row of bytes from each spot."""
    for i in range(out.shape[0]):
        for k in range(out.shape[1]):
            out[i, k] = raw[spots[i] + k]


def cut(raw: Any, starts: Any, ends: Any) -> Any:
    """The stretches of a buffer one after another."""
    out = np.empty((ends - starts).sum(), np.uint8)
    spot = 0
    for i in range(len(starts)):
        size = ends[i] - starts[i]
        out[spot : spot + size] = raw[starts[i] : ends[i]]
        spot += size
    return out


@functools.cache
def compiled() -> SimpleNamespace:
    """The loops as machine code, kept on disk between processes, with the tables that they need."""
    import numba

    jit = numba.njit(cache=True, nogil=True, error_model="numpy")
    for name in ("four_bytes", "crc_times", "crc_short", "crc_prefixes", "is_marker", "varint_at"):
        helper = globals()[name]  # compiled loops find their helpers by these names
        globals()[name] = helper if hasattr(helper, "py_func") else jit(helper)
    loops = {loop.__name__: jit(loop) for loop in (split, parse, group, gather, cut)}
    return SimpleNamespace(table=crc_table(), powers=crc_powers(), **loops)
