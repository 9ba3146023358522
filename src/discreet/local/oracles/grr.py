"""Generalised randomised response (direct encoding): the true value, or any other one at random."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.local.chances import WHOLE, exp_bounds, share_up
from discreet.local.entropy import Source, words
from discreet.local.kernels import compiled
from discreet.local.oracles.base import Integers, Oracle, Raw, Reports, from_bytes, to_bytes, width_of


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
        compiled().grr(true, words(len(true), rng), np.uint64(self.true - 1), np.uint64(self.other), result)
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
        return np.bincount(np.asarray(reports), minlength=self.d).astype(np.int64)

    def simulate(self, counts: Any, rng: np.random.Generator) -> Integers:
        true = np.asarray(counts, np.int64)
        kept = rng.binomial(true, float(self.p))
        result = kept.copy()
        others = np.full(self.d - 1, 1 / (self.d - 1))
        for value, lost in enumerate((true - kept).tolist()):
            result[np.arange(self.d) != value] += rng.multinomial(lost, others)
        return result
