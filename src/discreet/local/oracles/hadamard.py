"""Hadamard response: a report of a few bits, favouring the half of a block that a Hadamard row marks."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.local.bits import Slots
from discreet.local.chances import WHOLE, exp_bounds
from discreet.local.entropy import Source
from discreet.local.mechanism import Floats, Law, Reports
from discreet.local.oracles.base import ORACLES, TINY, IndexOracle
from discreet.local.wire.integers import Integers
from discreet.loops import kernel

MOST_LISTED = 1 << 24  # reports times values that are gone through for the noise of a group


@kernel
def half_blocks(values: Any, drawn: Any, bits: int, places: int, out: Any) -> None:
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


@ORACLES.register
class HadamardResponse(IndexOracle):
    """Reports 0 … K − 1 in B blocks; a value favours half a block, and any two of a block share half of their halves.

    Value v belongs to block v mod B and to row v // B + 1 of the Hadamard matrix of the block's size, b = 2s; its set
    holds the places of the block where that row is +1. Of the 2⁶⁴ words each report in the set owns `high` and each
    other one `low`. K and s are powers of two, so the words come out even, and low is rounded up: high ≤ e^ε·low.
    A report says +1 for the values whose set holds it, −1 for the rest of its block, 0 for other blocks, so that every
    value but the true one expects 0. `p` is the chance of the own set and `q` that a report about a value of
    the same block falls in it (½ for one block). B is the power of two with the lowest variance on average.

    >>> oracle = HadamardResponse(50, 1)
    >>> oracle.blocks, oracle.reports
    (1, 64)
    """

    name, code, script = "hadamard", 8, "hadamard"

    def _prepare(self) -> None:
        self._choose([1 << bits for bits in range((self.d - 1).bit_length() + 1)], self._set)
        self.slots = Slots(self.half, self.high, self.low)
        self._outcomes(self.reports)

    def _set(self, blocks: int) -> None:
        fullest = -(-self.d // blocks)
        self.blocks, self.block = blocks, 1 << fullest.bit_length()
        self.half, self.reports = self.block // 2, blocks * self.block
        weight = self.half * exp_bounds(self.epsilon)[0] + self.reports - self.half
        self.low = math.ceil(WHOLE / weight)
        self.high = WHOLE // self.half - (2 * blocks - 1) * self.low
        self.true = self.half * self.high
        self.p = Fraction(self.true, WHOLE)
        self.q = Fraction(self.half * (self.high + self.low), 2 * WHOLE)
        self.slope = float(Fraction(self.half * (self.high - self.low), WHOLE))

    def draw(self, value: int, source: Source) -> tuple[int, ...]:
        block, row = value % self.blocks, value // self.blocks + 1
        word = source.word()
        wrong = word >= self.true
        index = (word - self.true) // self.low if wrong else word // self.high
        if wrong and index >= self.half:
            other, place = divmod(index - self.half, self.block)
            return ((other + (other >= block)) * self.block + place,)
        # The index without one bit, at the place of the row's lowest one: that bit then decides the parity.
        least = row & -row
        place = index // least * 2 * least + index % least
        if ((place & row).bit_count() & 1) != wrong:
            place |= least
        return (block * self.block + place,)

    def fill(self, values: Integers, out: Reports, rng: np.random.Generator | None) -> None:
        sizes = self.blocks.bit_length() - 1, self.block.bit_length() - 1
        half_blocks(values, self.slots.draw(len(values), rng), *sizes, out)

    def members(self, value: int) -> NDArray[np.bool_]:
        """Which reports are in a value's set."""
        result = np.zeros((self.blocks, self.block), bool)
        row = value // self.blocks + 1
        result[value % self.blocks] = np.bitwise_count(np.arange(self.block) & row) % 2 == 0
        return result.ravel()

    def law(self, value: int) -> Law:
        shares = Fraction(self.low, WHOLE), Fraction(self.high, WHOLE)
        return {(one,): shares[inside] for one, inside in enumerate(self.members(value).tolist())}

    def constants(self) -> dict[str, Any]:
        return {"blocks": self.blocks, "block": self.block, "high": str(self.high), "low": str(self.low)}

    def says(self, reports: Reports) -> NDArray[Any]:
        return self._signs[:, self.rows(reports)].T

    def speaks(self) -> tuple[float, float]:
        own = np.bincount(np.arange(self.d) % self.blocks)
        inside = float((own * (own - 1)).sum() / (self.d * (self.d - 1)))  # that another value lies in the same block
        return float(self.p), inside * float(self.q) + (1 - inside) * float(Fraction(self.half * self.low, WHOLE))

    @property
    def _signs(self) -> NDArray[np.int8]:
        """What each report says for each value: a row per value."""
        inside = np.array([self.members(value) for value in range(self.d)], np.int8)
        block = np.arange(self.reports) // self.block == (np.arange(self.d) % self.blocks)[:, None]
        return np.asarray(2 * inside - block, np.int8)

    def support(self, reports: Reports) -> Integers:
        return self._from_histogram(self.histogram(reports))

    def _from_histogram(self, counts: Any) -> Integers:
        table = walsh_hadamard(np.asarray(counts, np.int64).reshape(self.blocks, self.block))
        values = np.arange(self.d)
        return table[values % self.blocks, values // self.blocks + 1]

    def estimate(self, support: Any, m: int) -> Floats:
        return np.asarray(support, np.float64) / self.slope

    def variance(self, m: int, frequency: float = 0.0, *, block: float | None = None) -> float:
        """The variance of a count; `block` is the share of people with the other values of the value's block.

        Without it, the people who do not have the value are taken to be spread evenly over the other values, and
        blocks to have their mean size.
        """
        own = Fraction(self.half * (self.high + self.low), WHOLE)  # the chance to lie in the block it favours
        foreign = Fraction(2 * self.half * self.low, WHOLE)
        slope, share = self.p - Fraction(self.half * self.low, WHOLE), Fraction(frequency)
        if block is None:
            fewer, more = divmod(self.d, self.blocks)
            mates = more * (fewer + 1) * fewer + (self.blocks - more) * fewer * (fewer - 1)
            near = (1 - share) * Fraction(mates, self.d * (self.d - 1))
        else:
            near = Fraction(block)
        spread = (share + near) * own + (1 - share - near) * foreign - share * slope**2
        return float(m * spread / slope**2)

    def group_noise(self, size: int, share: float) -> float:
        """As for any oracle; sets overlap, so all reports are gone through, unless the domain is too large for that.

        Then values are taken as independent, as they are but for one in each set of three. Groups are the runs of
        `size` values, as classes are in a table; what is returned is their mean.
        """
        if size == 1 or self.reports * self.d > MOST_LISTED:
            return super().group_noise(size, share)
        said = self._signs / self.slope  # what each report adds to the estimated count of each value
        law = np.where(said > 0, float(self.high), float(self.low)) / float(WHOLE)
        groups = self.d // size
        counts = said[: groups * size].reshape(groups, size, -1).sum(axis=1)
        spread = law @ (counts**2).T - (law @ counts.T) ** 2  # a row for each value, a column for each group
        own = np.arange(self.d)[:, None] // size == np.arange(groups)
        outside = float(spread[~own].mean()) if groups > 1 or not own.all() else 0.0
        return max(share * float(spread[own].mean()) + (1 - share) * outside, TINY)

    def simulate(self, counts: Any, rng: np.random.Generator) -> Integers:
        """A report is an even draw from the value's set with chance s(high − low)/2⁶⁴, else from all reports."""
        true = np.asarray(counts, np.int64)
        if int(true.sum()) < self.d * self.half:
            return super().simulate(counts, rng)
        meant = rng.binomial(true, self.slope)
        even = np.full(self.reports, 1 / self.reports)
        table = rng.multinomial(int((true - meant).sum()), even)
        for value in np.flatnonzero(meant).tolist():
            inside = np.flatnonzero(self.members(value))
            table[inside] += rng.multinomial(int(meant[value]), np.full(self.half, 1 / self.half))
        return self._from_histogram(table)


def walsh_hadamard(table: Integers) -> Integers:
    """Each row times the Hadamard matrix: entry r is the sum over y of (−1)^(ones of r & y) times entry y."""
    result = table.copy()
    size = result.shape[1]
    for level in range(int(math.log2(size))):
        pairs = result.reshape(len(result), -1, 2, 1 << level)
        first, second = pairs[:, :, 0].copy(), pairs[:, :, 1].copy()
        pairs[:, :, 0], pairs[:, :, 1] = first + second, first - second
    return result
