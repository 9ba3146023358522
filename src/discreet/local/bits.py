"""Coins: biased random bits, 64 at a time, with the exact chances that single draws have."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from discreet.local.entropy import Words, words
from discreet.local.kernels import compiled
from discreet.sources import BLOCK, in_threads, spans

_BUFFER = 1 << 15  # words: small enough for the cache
_EACH = 5  # words that 64 coins take on average, and a little more


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
        done += compiled().coins(words(size, rng), digits, result[done:])
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
