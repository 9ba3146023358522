"""Kernels: the loops over reports, compiled when they are first needed."""

from __future__ import annotations

import functools
from typing import Any

import numpy as np

SPARE = 64  # words that a row of `subset` may lose to rejections


def grr(values: Any, draws: Any, last_true: Any, other: Any, out: Any) -> None:
    """Direct encoding: words up to `last_true` keep the value, the rest name one of the other values."""
    for i in range(len(out)):
        value = values[i]
        if draws[i] <= last_true:
            out[i] = value
        else:
            place = np.int64((draws[i] - last_true - np.uint64(1)) // other)
            out[i] = place + (place >= value)


def coins(draws: Any, digits: Any, out: Any) -> int:
    """Words of biased bits; returns how many were made before the random words could have run out."""
    used, size = 0, len(digits)
    for i in range(len(out)):
        if used + size > len(draws):
            return i
        open_lanes, result = ~np.uint64(0), np.uint64(0)
        for k in range(size):
            draw = draws[used]
            used += 1
            if digits[k]:  # a zero against a one: the number lies below the threshold
                result |= open_lanes & ~draw
                open_lanes &= draw
            else:
                open_lanes &= ~draw
            if open_lanes == 0:
                break
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


def hashed(draws: Any, first: int, values: Any, prime: int, buckets: int, last_true: Any, other: Any, out: Any) -> int:
    """Local hashing: a random hash, and the value's bucket under it by direct encoding."""
    used, mask = 0, np.uint64(prime)
    for i in range(first, len(out)):
        a, b = np.int64(0), np.int64(prime)
        while a == 0 or a == prime or b == prime:
            if used + 2 > len(draws):
                return i
            draw = draws[used]
            used += 1
            a, b = np.int64(draw & mask), np.int64((draw >> np.uint64(31)) & mask)
        draw = draws[used]
        used += 1
        bucket = ((a * values[i] + b) % prime) % buckets
        if draw > last_true:
            place = np.int64((draw - last_true - np.uint64(1)) // other)
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


def subset(draws: Any, first: int, values: Any, d: int, size: int, last_true: Any, out: Any) -> int:
    """Subset selection: the true value or not, then an even choice among the others by Floyd's algorithm."""
    used = 0
    for i in range(first, len(out)):
        if used + size + 1 + SPARE > len(draws):
            return i
        out[i, :] = 0
        wanted, value = size, values[i]
        if draws[used] <= last_true:
            wanted -= 1
            out[i, value >> 3] |= np.uint8(1 << (value & 7))
        used += 1
        for j in range(d - 1 - wanted, d - 1):
            span = np.uint64(j + 1)
            # The high half of a 32-bit draw times the span is even once the first (2³² mod span) low halves are drawn
            # again; a word holds two draws, and the second serves where the first is rejected. That a row begun
            # runs out of the spare words, and so is drawn anew, has a chance below 2⁻¹⁰⁰⁰.
            draw = draws[used]
            used += 1
            product = (draw & np.uint64(0xFFFFFFFF)) * span
            if (product & np.uint64(0xFFFFFFFF)) < span:
                bound = np.uint64(1 << 32) % span
                half = 1
                while (product & np.uint64(0xFFFFFFFF)) < bound:
                    if half == 2:
                        if used + wanted > len(draws):
                            return i
                        draw = draws[used]
                        used += 1
                        half = 0
                    product = ((draw >> np.uint64(32 * half)) & np.uint64(0xFFFFFFFF)) * span
                    half += 1
            place = np.int64(product >> np.uint64(32))
            other = place + (place >= value)
            if out[i, other >> 3] & np.uint8(1 << (other & 7)):
                other = j + (j >= value)
            out[i, other >> 3] |= np.uint8(1 << (other & 7))
    return len(out)


def hadamard(values: Any, draws: Any, bits: int, places: int, last_true: Any, high: Any, low: Any, out: Any) -> None:
    """Hadamard response: words up to `last_true` name a member of the value's set, the rest one of the others."""
    size = 1 << places
    for i in range(len(out)):
        block, row = values[i] & ((1 << bits) - 1), (values[i] >> bits) + 1
        wrong = draws[i] > last_true
        index = np.int64((draws[i] - last_true - np.uint64(1)) // low if wrong else draws[i] // high)
        if wrong and index >= size >> 1:
            index -= size >> 1
            other = index >> places
            out[i] = ((other + (other >= block)) << places) | (index & (size - 1))
        else:
            low_bit = row & -row
            place = ((index & ~(low_bit - 1)) << 1) | (index & (low_bit - 1))
            odd = place & row
            for shift in (16, 8, 4, 2, 1):
                odd ^= odd >> shift
            if (odd & 1) != wrong:
                place |= low_bit
            out[i] = (block << places) | place


@functools.cache
def compiled() -> Any:
    """The kernels as machine code, kept on disk between processes."""
    from types import SimpleNamespace

    import numba

    jit = numba.njit(cache=True, nogil=True, error_model="numpy")
    loops = (grr, coins, unary, byte_histogram, signed, hashed, hash_support, subset, hadamard)
    return SimpleNamespace(**{loop.__name__: jit(loop) for loop in loops})
