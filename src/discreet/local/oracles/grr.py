"""Generalised randomised response (direct encoding): the true value, or any other one at random."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.local.bits import Slots
from discreet.local.chances import WHOLE, exp_bounds, share_up
from discreet.local.entropy import Source
from discreet.local.mechanism import Law, Reports
from discreet.local.oracles.base import ORACLES, IndexOracle
from discreet.local.wire.integers import Integers
from discreet.loops import kernel


@kernel
def others_in_order(values: Any, drawn: Any, out: Any) -> None:
    """Direct encoding: slot 0 keeps the value, the others name the other values in their order."""
    for i in range(len(out)):
        place = drawn[i] - 1
        out[i] = values[i] if place < 0 else place + (place >= values[i])


@ORACLES.register
class GRR(IndexOracle):
    """Report the true value with chance p, each other one with chance q.

    Of the 2⁶⁴ words each other value owns `other` and the true one the rest: their ratio is at most e^ε exactly.

    >>> oracle = GRR(4, 1)
    >>> oracle.perturb([0, 1, 2, 3]).shape
    (4,)
    """

    name, code, script = "grr", 1, "grr"
    signs = True

    def _prepare(self) -> None:
        self.other = share_up(exp_bounds(self.epsilon)[0] + self.d - 1)
        self.true = WHOLE - (self.d - 1) * self.other
        self.p, self.q = Fraction(self.true, WHOLE), Fraction(self.other, WHOLE)
        self.slots = Slots(1, self.true, self.other)
        self._outcomes(self.d)

    def draw(self, value: int, source: Source) -> tuple[int, ...]:
        word = source.word()
        if word < self.true:
            return (value,)
        place = (word - self.true) // self.other
        return (place + (place >= value),)

    def fill(self, values: Integers, out: Reports, rng: np.random.Generator | None) -> None:
        others_in_order(values, self.slots.draw(len(values), rng), out)

    def law(self, value: int) -> Law:
        return {(one,): self.p if one == value else self.q for one in range(self.d)}

    @property
    def variation(self) -> Fraction:
        return self.p - self.q

    def constants(self) -> dict[str, Any]:
        return {"true": str(self.true), "other": str(self.other)}

    def says(self, reports: Reports) -> NDArray[Any]:
        return np.asarray(self.rows(reports)[:, None] == np.arange(self.d))

    def support(self, reports: Reports) -> Integers:
        return self.histogram(reports)

    def together(self) -> tuple[Fraction, Fraction]:
        return Fraction(0), Fraction(0)

    def simulate(self, counts: Any, rng: np.random.Generator) -> Integers:
        return one_of_many(np.asarray(counts, np.int64), float(self.p - self.q), rng)


def one_of_many(counts: Integers, kept: float, rng: np.random.Generator) -> Integers:
    """Reports of one value each: the true one with chance `kept`, else any of all the values, the true one included."""
    same = rng.binomial(counts, kept)
    even = np.full(len(counts), 1 / len(counts))
    return np.asarray(same + rng.multinomial(int((counts - same).sum()), even), np.int64)
