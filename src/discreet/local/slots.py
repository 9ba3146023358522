"""Slots: draws from a law that gives each outcome a whole number of the 2⁶⁴ words."""

from __future__ import annotations

from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.local.bits import streamed
from discreet.local.chances import WHOLE
from discreet.local.entropy import Words, words
from discreet.local.kernels import kernel

_UNIT = 1 << 16
_MANY = 1 << 15  # draws that are worth a table
_WIDEST = 1 << 13  # slots: with more, the highest 16 bits decide too seldom


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
