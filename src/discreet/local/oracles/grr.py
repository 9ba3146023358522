"""Generalised randomised response (direct encoding): the true value, or any other one at random."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.errors import DataError
from discreet.local.bits import blockwise
from discreet.local.chances import WHOLE, exp_bounds, share_up
from discreet.local.entropy import Source
from discreet.local.kernels import compiled
from discreet.local.oracles.base import Integers, Oracle, Raw, Reports, from_bytes, to_bytes, width_of
from discreet.local.slots import Slots


class GRR(Oracle):
    """Report the true value with chance p, each other one with chance q.

    Of the 2⁶⁴ words each other value owns `other` and the true one the rest: their ratio is at most e^ε exactly.

    >>> oracle = GRR(4, 1)
    >>> oracle.perturb([0, 1, 2, 3]).shape
    (4,)
    """

    name = "grr"
    code = 1

    def _prepare(self) -> None:
        self.other = share_up(exp_bounds(self.epsilon)[0] + self.d - 1)
        self.true = WHOLE - (self.d - 1) * self.other
        self.p, self.q = Fraction(self.true, WHOLE), Fraction(self.other, WHOLE)
        self.slots = Slots(1, self.true, self.other)
        self.width = width_of(self.d - 1)
        self.dtype = np.dtype(f"u{self.width if self.width != 3 else 4}")

    def draw(self, value: int, source: Source) -> tuple[int, ...]:
        word = source.word()
        if word < self.true:
            return (value,)
        place = (word - self.true) // self.other
        return (place + (place >= value),)

    def perturb(self, values: Any, *, rng: np.random.Generator | None = None) -> Reports:
        true = self.check(values)
        result = np.empty(len(true), self.dtype)

        def fill(rows: slice) -> None:
            compiled().grr(true[rows], self.slots.draw(rows.stop - rows.start, rng), result[rows])

        blockwise(fill, len(true), rng)
        return result

    def encode(self, reports: Reports) -> Raw:
        return to_bytes(reports, self.width)

    def decode(self, raw: Raw) -> tuple[Reports, NDArray[np.bool_]]:
        values = from_bytes(raw)
        fine = values < self.d
        return np.where(fine, values, 0).astype(self.dtype), fine

    def law(self, value: int) -> dict[tuple[int, ...], Fraction]:
        return {(one,): self.p if one == value else self.q for one in range(self.d)}

    def constants(self) -> dict[str, Any]:
        return {"true": str(self.true), "other": str(self.other)}

    def support(self, reports: Reports) -> Integers:
        counts = np.bincount(np.asarray(reports), minlength=self.d)
        if len(counts) > self.d:
            raise DataError(f"a report lies outside the oracle's domain 0 … {self.d - 1}")
        return counts.astype(np.int64, copy=False)

    def simulate(self, counts: Any, rng: np.random.Generator) -> Integers:
        return one_of_many(np.asarray(counts, np.int64), float(self.p - self.q), rng)


def one_of_many(counts: Integers, kept: float, rng: np.random.Generator) -> Integers:
    """Reports of one value each: the true one with chance `kept`, else any of all the values, the true one included."""
    same = rng.binomial(counts, kept)
    even = np.full(len(counts), 1 / len(counts))
    return np.asarray(same + rng.multinomial(int((counts - same).sum()), even), np.int64)
