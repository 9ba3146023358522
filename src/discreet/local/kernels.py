"""Kernels: the loops over reports, compiled when they are first needed."""

from __future__ import annotations

import functools
from types import SimpleNamespace
from typing import Any

import numpy as np

SPARE = 64  # draws that a row of `subset` may lose to rejections, beside as many as it needs
NARROW = 1 << 12  # spans up to this one are drawn from 16 bits, others from 32


def slots(draws: Any, last: Any, high: Any, low: Any, favoured: int, out: Any) -> None:
    """The slot of every word: `high` words each up to the word `last`, `low` words each beyond."""
    for i in range(len(out)):
        if draws[i] <= last:
            out[i] = draws[i] // high
        else:
            out[i] = favoured + np.int64((draws[i] - last - np.uint64(1)) // low)


def slots_by_units(units: Any, first: int, table: Any, last: Any, high: Any, low: Any, favoured: int, out: Any) -> int:
    """The same from 16 bits at a time: the table decides, or −1 asks for the rest of the word."""
    used = 0
    for i in range(first, len(out)):
        if used + 4 > len(units):
            return i
        slot = table[units[used]]
        if slot < 0:
            word = np.uint64(0)
            for k in range(4):
                word = (word << np.uint64(16)) | np.uint64(units[used + k])
            used += 3
            if word <= last:
                slot = word // high
            else:
                slot = favoured + np.int64((word - last - np.uint64(1)) // low)
        used += 1
        out[i] = slot
    return len(out)


def grr(values: Any, drawn: Any, out: Any) -> None:
    """Direct encoding: slot 0 keeps the value, the others name the other values in their order."""
    for i in range(len(out)):
        place = drawn[i] - 1
        out[i] = values[i] if place < 0 else place + (place >= values[i])


def coins(draws: Any, digits: Any, out: Any) -> int:
    """Words of biased bits; returns how many were made before the random words could have run out.

    A number lies below the threshold if, where they first differ, the threshold's digit is one; each digit differs with
    chance ½. Four words settle most of 64 coins at once; each of the rest reads on in a stream of single bits.
    """
    used, size = 0, len(digits)
    rounds, stream, left = min(4, size), np.uint64(0), 0
    one = np.uint64(1)
    for i in range(len(out)):
        if used + size + 6 > len(draws):
            return i
        open_lanes, result = ~np.uint64(0), np.uint64(0)
        for k in range(rounds):
            draw = draws[used]
            used += 1
            if digits[k]:
                result |= open_lanes & draw
            open_lanes &= ~draw
        if rounds < size:
            while open_lanes != 0:
                lane = open_lanes & (~open_lanes + one)
                open_lanes ^= lane
                place = rounds
                while place < size:
                    if left == 0:
                        stream, left = draws[used], 64
                        used += 1
                    differs = stream & one
                    stream >>= one
                    left -= 1
                    if differs:
                        if digits[place]:
                            result |= lane
                        break
                    place += 1
        out[i] = result
    return len(out)


def unary(values: Any, others: Any, trues: Any, d: int, out: Any) -> None:
    """One-hot vectors as packed bits: d of the bits in `others` per row, the true one replaced from `trues`."""
    last = np.uint64((1 << (d - 8 * (out.shape[1] - 1))) - 1)
    for i in range(len(out)):
        for j in range(out.shape[1]):
            spot = i * d + 8 * j
            word, shift = spot >> 6, spot & 63
            bits = others[word] >> np.uint64(shift)
            if shift > 56:
                bits |= others[word + 1] << np.uint64(64 - shift)
            out[i, j] = np.uint8(bits & (last if j == out.shape[1] - 1 else np.uint64(255)))
        place, bit = values[i] >> 3, np.uint8(1 << (values[i] & 7))
        if (trues[i >> 6] >> np.uint64(i & 63)) & np.uint64(1):
            out[i, place] |= bit
        else:
            out[i, place] &= ~bit


def byte_histogram(reports: Any, counts: Any) -> None:
    """How often each column of bytes has each of the 256 values."""
    for i in range(len(reports)):
        for j in range(reports.shape[1]):
            counts[j, reports[i, j]] += 1


def signed(planes: Any, signs: Any, out: Any) -> int:
    """Whole numbers out of planes of digits and signs, minus zeros left out; returns how many were written."""
    filled = 0
    for word in range(len(signs)):
        for lane in range(64):
            if filled == len(out):
                return filled
            shift, magnitude = np.uint64(lane), np.int64(0)
            for k in range(len(planes)):
                magnitude |= np.int64((planes[k, word] >> shift) & np.uint64(1)) << k
            if (signs[word] >> shift) & np.uint64(1):
                if magnitude == 0:
                    continue
                magnitude = -magnitude
            out[filled] = magnitude
            filled += 1
    return filled


def hashed(units: Any, first: int, values: Any, prime: int, buckets: int, drawn: Any, out: Any) -> int:
    """Local hashing: a random hash, and the value's bucket under it by direct encoding (slots as in `grr`)."""
    used = 0
    for i in range(first, len(out)):
        a, b = np.int64(0), np.int64(prime)
        while a == 0 or a == prime or b == prime:
            if used + 4 > len(units):
                return i
            a = np.int64(units[used]) | np.int64(units[used + 1]) << 16
            b = np.int64(units[used + 2]) | np.int64(units[used + 3]) << 16
            a, b = a & prime, b & prime
            used += 4
        bucket, place = ((a * values[i] + b) % prime) % buckets, np.int64(drawn[i]) - 1
        if place >= 0:
            bucket = place + (place >= bucket)
        out[i, 0], out[i, 1], out[i, 2] = a, b, bucket
    return len(out)


def hash_support(reports: Any, prime: Any, buckets: Any, counts: Any) -> None:
    """For each value, in how many reports it falls into the bucket reported."""
    for i in range(len(reports)):
        step, point, bucket = np.uint32(reports[i, 0]), np.uint32(reports[i, 1]), np.uint32(reports[i, 2])
        for value in range(len(counts)):
            counts[value] += point % buckets == bucket
            point += step  # below 2³², since both are below 2³¹
            if point >= prime:
                point -= prime


def subset(units: Any, first: int, values: Any, d: int, size: int, last_true: Any, out: Any) -> int:
    """Subset selection: the true value or not, then an even choice among the others by Floyd's algorithm.

    A draw times the span has an even high half once the low halves below (2^bits mod span) are drawn again. That a row
    begun runs out of units, and so is drawn anew, has a chance below 2⁻²⁵⁰.
    """
    used, top = 0, last_true >> np.uint64(48)
    for i in range(first, len(out)):
        if used + 4 + 2 * (2 * size + SPARE) > len(units):
            return i
        out[i, :] = 0
        wanted, value = size, values[i]
        keep = np.uint64(units[used]) < top
        if units[used] == top:  # the highest 16 bits do not decide: the rest of the word does
            word = np.uint64(0)
            for k in range(4):
                word = (word << np.uint64(16)) | np.uint64(units[used + k])
            used += 3
            keep = word <= last_true
        used += 1
        if keep:
            wanted -= 1
            out[i, value >> 3] |= np.uint8(1 << (value & 7))
        for j in range(d - 1 - wanted, d - 1):
            span = np.int64(j + 1)
            bits = 16 if span <= NARROW else 32
            while True:
                if used + 2 > len(units):
                    return i
                draw = np.int64(units[used])
                if bits == 32:
                    used += 1
                    draw |= np.int64(units[used]) << 16
                used += 1
                product = draw * span
                rest = product & ((1 << bits) - 1)
                if rest >= span or rest >= (1 << bits) % span:
                    break
            place = product >> bits
            other = place + (place >= value)
            if out[i, other >> 3] & np.uint8(1 << (other & 7)):
                other = j + (j >= value)
            out[i, other >> 3] |= np.uint8(1 << (other & 7))
    return len(out)


def hadamard(values: Any, drawn: Any, bits: int, places: int, out: Any) -> None:
    """Hadamard response: the first half block of slots names a member of the value's set, the rest the others."""
    size = np.int64(1) << places
    half = size >> 1
    for i in range(len(out)):
        block, row, index = values[i] & ((1 << bits) - 1), (values[i] >> bits) + 1, np.int64(drawn[i])
        if index >= size:
            other = (index >> places) - 1
            out[i] = ((other + (other >= block)) << places) | (index & (size - 1))
        else:
            wrong, low_bit, index = index >= half, row & -row, index & (half - 1)
            place = ((index & -low_bit) << 1) | (index & (low_bit - 1))
            odd = place & row
            for shift in (16, 8, 4, 2, 1):
                odd ^= odd >> shift
            if (odd & 1) != wrong:
                place |= low_bit
            out[i] = (block << places) | place


@functools.cache
def compiled() -> Any:
    """The kernels as machine code, kept on disk between processes."""
    import numba

    jit = numba.njit(cache=True, nogil=True, error_model="numpy")
    loops = (
        *(slots, slots_by_units, coins, grr, unary, byte_histogram, signed),
        *(hashed, hash_support, subset, hadamard),
    )
    return SimpleNamespace(**{loop.__name__: jit(loop) for loop in loops})
