"""Coins: biased random bits, 64 at a time, with the exact chances that single draws have."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from discreet.local.entropy import Words, words
from discreet.local.kernels import kernel
from discreet.sources import BLOCK, in_threads, spans

_BUFFER = 1 << 15  # words: small enough for the cache
_EACH = 5  # words that 64 coins take on average, and a little more


@kernel
def toss(draws: Any, digits: Any, out: Any) -> int:
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


def coins(threshold: int, count: int, rng: np.random.Generator | None = None, *, bits: int = 64) -> Words:
    """`count` words in which every bit is one with chance threshold / 2^bits, independently.

    A coin compares a random number with the threshold digit by digit from the highest, and stops where they differ. The
    law is that of comparing all digits.
    """
    if not 0 <= threshold <= 1 << bits:
        raise ValueError("a chance lies from 0 to 1")
    result = np.empty(count, np.uint64)
    if threshold in (0, 1 << bits):
        result.fill(np.uint64(0) if threshold == 0 else ~np.uint64(0))
        return result
    digits = np.array([int(one) for one in f"{threshold:0{bits}b}".rstrip("0")], np.uint8)
    done = 0
    while done < count:
        size = min(_BUFFER, (count - done) * min(_EACH, len(digits))) + len(digits) + 6
        done += toss(words(size, rng), digits, result[done:])
    return result


def streamed(
    kernel: Callable[..., int], each: int, rows: int, rng: np.random.Generator | None, *arguments: Any
) -> None:
    """Run a kernel that takes a varying number of 16-bit units per row, with fresh ones until all rows are done.

    `kernel(units, first row, …)` returns the first row that it had not units enough for; `each` do for any row, but
    for a rest that cannot be seen.
    """
    row = 0
    while row < rows:
        size = min(_BUFFER, ((rows - row) * each) // 4 + 16) + each // 2
        row = kernel(words(size, rng).view(np.uint16), row, *arguments)


def blockwise(
    task: Callable[[slice], Any], size: int, rng: np.random.Generator | None, block: int = BLOCK
) -> list[Any]:
    """Run a task on every block of rows: in threads, unless one seeded generator has to serve them in order."""
    if rng is not None:
        return [task(slice(low, min(low + block, size))) for low in range(0, size, block)]
    return [one for run in in_threads(lambda run: [task(rows) for rows in run], spans(size, block)) for one in run]
