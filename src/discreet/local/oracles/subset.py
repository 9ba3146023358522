"""Subset selection: a random set of values of fixed size that holds the true one more often than not."""

from __future__ import annotations

import itertools
import math
from fractions import Fraction
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from discreet.local.bits import blockwise, streamed
from discreet.local.chances import WHOLE, exp_bounds
from discreet.local.entropy import Source, below, chance
from discreet.local.kernels import SPARE, compiled
from discreet.local.oracles.base import Integers, Raw, Reports
from discreet.local.oracles.grr import one_of_many
from discreet.local.oracles.packed import PackedOracle


class SubsetSelection(PackedOracle):
    """Report a set of ω values: with chance p the true one and ω − 1 others, else ω others, drawn evenly.

    The number of words that take the true value is rounded down, so p/(1−p) is at most ωe^ε/(d−ω); ω is the whole
    number beside d/(e^ε+1) whose variance is lower on average over the domain.

    >>> oracle = SubsetSelection(50, 1)
    >>> oracle.size
    13
    """

    name: ClassVar[str] = "subset"
    code: ClassVar[int] = 7

    def _prepare(self) -> None:
        middle = math.floor(self.d / (exp_bounds(self.epsilon)[0] + 1))
        sizes = [size for size in (middle, middle + 1) if 1 <= size < self.d]
        self.size = min(sizes, key=self._mean_variance)
        self._set(self.size)
        self.width = -(-self.d // 8)

    def _set(self, size: int) -> None:
        weight = size * exp_bounds(self.epsilon)[0]
        self.true = math.floor(WHOLE * weight / (weight + self.d - size))
        self.p = Fraction(self.true, WHOLE)
        self.q = (size - self.p) / (self.d - 1)

    def _mean_variance(self, size: int) -> float:
        self._set(size)
        return self.variance(1, 1 / self.d)

    def draw(self, value: int, source: Source) -> tuple[int, ...]:
        bits = [False] * self.d
        bits[value] = chance(source, self.true)
        # Floyd: an even choice among the d − 1 others, one word each.
        for last in range(self.d - 1 - (self.size - bits[value]), self.d - 1):
            place = below(source, last + 1)
            other = place + (place >= value)
            bits[last + (last >= value) if bits[other] else other] = True
        return self.pack(bits)

    def perturb(self, values: Any, *, rng: np.random.Generator | None = None) -> Reports:
        true = self.check(values)
        result = np.empty((len(true), self.width), np.uint8)
        each = 4 + 2 * (2 * self.size + SPARE)  # 16-bit units that a row may ask for

        def fill(rows: slice) -> None:
            shape = (true[rows], self.d, self.size, np.uint64(self.true - 1), result[rows])
            streamed(compiled().subset, each, rows.stop - rows.start, rng, *shape)

        blockwise(fill, len(true), rng)
        return result

    def _well_formed(self, reports: Raw) -> NDArray[np.bool_]:
        return np.asarray(np.bitwise_count(reports).sum(axis=1, dtype=np.int64) == self.size)

    def law(self, value: int) -> dict[tuple[int, ...], Fraction]:
        inside = self.p / math.comb(self.d - 1, self.size - 1)
        outside = (1 - self.p) / math.comb(self.d - 1, self.size)
        return {
            self.pack([one in chosen for one in range(self.d)]): inside if value in chosen else outside
            for chosen in itertools.combinations(range(self.d), self.size)
        }

    def constants(self) -> dict[str, Any]:
        return {"true": str(self.true), "size": self.size}

    def simulate(self, counts: Any, rng: np.random.Generator) -> Integers:
        """Sets of one value are direct encoding, whose sum has a known law; else every person is drawn."""
        if self.size > 1:
            return super().simulate(counts, rng)
        return one_of_many(np.asarray(counts, np.int64), float(self.p - self.q), rng)
