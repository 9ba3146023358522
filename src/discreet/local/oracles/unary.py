"""Unary encoding: one bit per value, each flipped on its own (SUE, the basic RAPPOR; OUE, its optimised form)."""

from __future__ import annotations

import itertools
from fractions import Fraction
from typing import Any, ClassVar

import numpy as np

from discreet.local.bits import blockwise, coins
from discreet.local.chances import WHOLE, exp_bounds, share_up
from discreet.local.entropy import Source, chance
from discreet.local.kernels import compiled
from discreet.local.oracles.base import Integers, Reports
from discreet.local.oracles.packed import PackedOracle


class UnaryOracle(PackedOracle):
    """Bits of the one-hot vector: the true one is sent as one with chance p, the others with chance q.

    Two values differ in two bits, so reports differ in chance by at most p(1−q)/(q(1−p)).
    """

    true: int
    other: int

    def _prepare(self) -> None:
        self.true, self.other = self._thresholds()
        self.p, self.q = Fraction(self.true, WHOLE), Fraction(self.other, WHOLE)
        self.width = -(-self.d // 8)

    def _thresholds(self) -> tuple[int, int]:
        """Of the 2⁶⁴ words, how many send the true bit as one, and how many another bit."""
        raise NotImplementedError

    def draw(self, value: int, source: Source) -> tuple[int, ...]:
        return self.pack([chance(source, self.true if one == value else self.other) for one in range(self.d)])

    def perturb(self, values: Any, *, rng: np.random.Generator | None = None) -> Reports:
        true = self.check(values)
        result = np.empty((len(true), self.width), np.uint8)

        def fill(rows: slice) -> None:
            size = rows.stop - rows.start
            others = coins(self.other, size * self.d // 64 + 2, rng)
            trues = coins(self.true, size // 64 + 1, rng)
            compiled().unary(true[rows], others, trues, self.d, result[rows])

        blockwise(fill, len(true), rng, max(64, min(1 << 16, (1 << 22) // self.d)))
        return result

    def law(self, value: int) -> dict[tuple[int, ...], Fraction]:
        result = {}
        for bits in itertools.product((0, 1), repeat=self.d):
            ones = (self.p if one == value else self.q for one in range(self.d))
            whole = Fraction(1)
            for bit, one in zip(bits, ones, strict=True):
                whole *= one if bit else 1 - one
            result[self.pack(bits)] = whole
        return result

    def constants(self) -> dict[str, Any]:
        return {"true": str(self.true), "other": str(self.other)}

    def simulate(self, counts: Any, rng: np.random.Generator) -> Integers:
        true = np.asarray(counts, np.int64)
        mine, rest = rng.binomial(true, float(self.p)), rng.binomial(true.sum() - true, float(self.q))
        return np.asarray(mine + rest, np.int64)


class SUE(UnaryOracle):
    """Symmetric unary encoding: every bit is flipped with the same chance 1/(e^{ε/2}+1).

    >>> oracle = SUE(5, 2)
    >>> round(float(oracle.p), 3), round(float(oracle.q), 3)
    (0.731, 0.269)
    """

    name: ClassVar[str] = "sue"
    code: ClassVar[int] = 2

    def _thresholds(self) -> tuple[int, int]:
        flipped = share_up(exp_bounds(self.epsilon / 2)[0] + 1)
        return WHOLE - flipped, flipped


class OUE(UnaryOracle):
    """Optimised unary encoding: the true bit is a fair coin, the others are one with chance 1/(e^ε+1).

    >>> oracle = OUE(50, 1)
    >>> oracle.perturb([0, 1, 49]).shape
    (3, 7)
    """

    name: ClassVar[str] = "oue"
    code: ClassVar[int] = 3

    def _thresholds(self) -> tuple[int, int]:
        return WHOLE // 2, share_up(exp_bounds(self.epsilon)[0] + 1)
