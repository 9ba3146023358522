"""Coins and slots: biased bits, 64 at a time, and outcomes that own words, with the exact chances of single draws."""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.local.chances import WHOLE
from discreet.local.entropy import Words, words
from discreet.loops import kernel
from discreet.sources import BLOCK, in_threads, spans

_BUFFER = 1 << 15  # words: small enough for the cache
_UNIT = 1 << 16
_MANY = 1 << 15  # draws that are worth a table
_WIDEST = 1 << 13  # slots: with more, the highest 16 bits decide too seldom
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


@kernel
def by_words(draws: Any, last: Any, high: Any, low: Any, favoured: int, out: Any) -> None:
    """The slot of every word: `high` words each up to the word `last`, `low` words each beyond."""
    for i in range(len(out)):
        if draws[i] <= last:
            out[i] = draws[i] // high
        else:
            out[i] = favoured + np.int64((draws[i] - last - np.uint64(1)) // low)


@kernel
def by_units(units: Any, first: int, table: Any, last: Any, high: Any, low: Any, favoured: int, out: Any) -> int:
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


class Slots:
    """`favoured` slots of `high` words each, then slots of `low` words each up to 2⁶⁴.

    Many draws read 16 bits each, which nearly always decide the slot; where a border lies between, 48 more follow.
    The law is that of whole words.
    """

    def __init__(self, favoured: int, high: int, low: int) -> None:
        self.edge, self.high, self.low, self.favoured = favoured * high, high, low, favoured
        self.count = favoured + (WHOLE - self.edge) // low

    @cached_property
    def table(self) -> NDArray[np.int32]:
        """The slot by the highest 16 bits of a word, −1 where they do not decide."""
        firsts = np.arange(_UNIT, dtype=np.uint64) << np.uint64(48)
        ends = self._slots(firsts), self._slots(firsts | np.uint64((1 << 48) - 1))
        return np.where(ends[0] == ends[1], ends[0], np.int32(-1))

    def _slots(self, draws: Words) -> NDArray[np.int32]:
        result = np.empty(len(draws), np.int32)
        by_words(draws, *self._shape, result)
        return result

    @property
    def _shape(self) -> tuple[np.uint64, np.uint64, np.uint64, int]:
        return np.uint64(self.edge - 1), np.uint64(self.high), np.uint64(self.low), self.favoured

    def draw(self, size: int, rng: np.random.Generator | None = None) -> NDArray[np.int32]:
        """Slots of `size` random words."""
        if self.count > _WIDEST or (size < _MANY and "table" not in self.__dict__):
            return self._slots(words(size, rng))
        result = np.empty(size, np.int32)
        streamed(by_units, 1, size, rng, self.table, *self._shape, result)
        return result
