"""Subset selection: a random set of values of fixed size that holds the true one more often than not."""

from __future__ import annotations

import itertools
import math
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.local.bits import streamed
from discreet.local.chances import WHOLE, exp_bounds
from discreet.local.entropy import Source, below, chance
from discreet.local.mechanism import Law, Reports
from discreet.local.oracles.base import ORACLES, PackedOracle
from discreet.local.oracles.grr import one_of_many
from discreet.local.wire.integers import Integers
from discreet.loops import kernel

SPARE = 64  # draws that a row may lose to rejections, beside as many as it needs
NARROW = 1 << 12  # spans up to this one are drawn from 16 bits, others from 32


@kernel
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


@ORACLES.register
class SubsetSelection(PackedOracle):
    """Report a set of ω values: with chance p the true one and ω − 1 others, else ω others, drawn evenly.

    The number of words that take the true value is rounded down, so p/(1−p) is at most ωe^ε/(d−ω); ω is the whole
    number beside d/(e^ε+1) whose variance is lower on average over the domain.

    >>> oracle = SubsetSelection(50, 1)
    >>> oracle.size
    13
    """

    name, code, script = "subset", 7, "subset"

    def _prepare(self) -> None:
        middle = math.floor(self.d / (exp_bounds(self.epsilon)[0] + 1))
        self._choose([size for size in (middle, middle + 1) if 1 <= size < self.d], self._set)

    def _set(self, size: int) -> None:
        self.size = size
        weight = size * exp_bounds(self.epsilon)[0]
        self.true = math.floor(WHOLE * weight / (weight + self.d - size))
        self.p = Fraction(self.true, WHOLE)
        self.q = (size - self.p) / (self.d - 1)

    def draw(self, value: int, source: Source) -> tuple[int, ...]:
        bits = [False] * self.d
        bits[value] = chance(source, self.true)
        # Floyd: an even choice among the d − 1 others, one word each.
        for last in range(self.d - 1 - (self.size - bits[value]), self.d - 1):
            place = below(source, last + 1)
            other = place + (place >= value)
            bits[last + (last >= value) if bits[other] else other] = True
        return self.pack(bits)

    def fill(self, values: Integers, out: Reports, rng: np.random.Generator | None) -> None:
        each = 4 + 2 * (2 * self.size + SPARE)  # 16-bit units that a row may ask for
        streamed(subset, each, len(values), rng, values, self.d, self.size, np.uint64(self.true - 1), out)

    def possible(self, rows: Reports) -> NDArray[np.bool_]:
        return np.asarray(np.bitwise_count(rows).sum(axis=1, dtype=np.int64) == self.size)

    def together(self) -> tuple[Fraction, Fraction]:
        size, rest = self.size, self.d - 1
        two = (size - 1) * (self.p * (size - 2) + (1 - self.p) * size)
        return self.p * Fraction(size - 1, rest), two / max(1, rest * (rest - 1))

    def law(self, value: int) -> Law:
        inside = self.p / math.comb(self.d - 1, self.size - 1)
        outside = (1 - self.p) / math.comb(self.d - 1, self.size)
        return {
            self.pack([one in chosen for one in range(self.d)]): inside if value in chosen else outside
            for chosen in itertools.combinations(range(self.d), self.size)
        }

    @property
    def variation(self) -> Fraction:
        return self.p - self.q

    def constants(self) -> dict[str, Any]:
        return {"true": str(self.true), "size": self.size}

    def simulate(self, counts: Any, rng: np.random.Generator) -> Integers:
        """Sets of one value are direct encoding, whose sum has a known law; else every person is drawn."""
        if self.size > 1:
            return super().simulate(counts, rng)
        return one_of_many(np.asarray(counts, np.int64), float(self.p - self.q), rng)
