"""Unary encoding: one bit per value, each flipped on its own (SUE, the basic RAPPOR; OUE, its optimised form)."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np

from discreet.local.bits import coins
from discreet.local.chances import WHOLE, exp_bounds, share_up
from discreet.local.entropy import Source, chance
from discreet.local.mechanism import Law, Reports, independent
from discreet.local.oracles.base import ORACLES, PackedOracle
from discreet.local.wire.integers import Integers
from discreet.loops import kernel


@kernel
def one_hot(values: Any, others: Any, trues: Any, d: int, out: Any) -> None:
    """One-hot vectors as packed bits: d of the bits in `others` per row, the true one replaced from `trues`."""
    last = np.uint64((1 << (d - 8 * (out.shape[1] - 1))) - 1)
    for i in range(len(out)):
        for j in range(out.shape[1]):
            spot = i * d + 8 * j
            word, shift = spot >> 6, spot & 63
            bits = others[word] >> np.uint64(shift)
            if shift > 56:
                bits |= others[word + 1] << np.uint64(64 - shift)
            out[i, j] = np.uint8(bits & (last if j == out.shape[1] - 1 else np.uint64(255)))
        place, bit = values[i] >> 3, np.uint8(1 << (values[i] & 7))
        if (trues[i >> 6] >> np.uint64(i & 63)) & np.uint64(1):
            out[i, place] |= bit
        else:
            out[i, place] &= ~bit


class UnaryOracle(PackedOracle):
    """Bits of the one-hot vector: the true one is sent as one with chance p, the others with chance q.

    Two values differ in two bits, so reports differ in chance by at most p(1−q)/(q(1−p)).
    """

    script = "unary"
    true: int
    other: int

    def _prepare(self) -> None:
        self.true, self.other = self._thresholds()
        self.p, self.q = Fraction(self.true, WHOLE), Fraction(self.other, WHOLE)
        self.batch = max(64, min(1 << 16, (1 << 22) // self.d))

    def _thresholds(self) -> tuple[int, int]:
        """Of the 2⁶⁴ words, how many send the true bit as one, and how many another bit."""
        raise NotImplementedError

    def draw(self, value: int, source: Source) -> tuple[int, ...]:
        return self.pack([chance(source, self.true if one == value else self.other) for one in range(self.d)])

    def fill(self, values: Integers, out: Reports, rng: np.random.Generator | None) -> None:
        size = len(values)
        others = coins(self.other, size * self.d // 64 + 2, rng)
        trues = coins(self.true, size // 64 + 1, rng)
        one_hot(values, others, trues, self.d, out)

    def law(self, value: int) -> Law:
        ones = (self.p if one == value else self.q for one in range(self.d))
        return {self.pack(bits): share for bits, share in independent({0: 1 - one, 1: one} for one in ones).items()}

    @property
    def variation(self) -> Fraction:
        return self.p - self.q

    def constants(self) -> dict[str, Any]:
        return {"true": str(self.true), "other": str(self.other)}

    def simulate(self, counts: Any, rng: np.random.Generator) -> Integers:
        true = np.asarray(counts, np.int64)
        mine, rest = rng.binomial(true, float(self.p)), rng.binomial(true.sum() - true, float(self.q))
        return np.asarray(mine + rest, np.int64)


@ORACLES.register
class SUE(UnaryOracle):
    """Symmetric unary encoding: every bit is flipped with the same chance 1/(e^{ε/2}+1).

    >>> oracle = SUE(5, 2)
    >>> round(float(oracle.p), 3), round(float(oracle.q), 3)
    (0.731, 0.269)
    """

    name, code = "sue", 2
    signs = True

    def _thresholds(self) -> tuple[int, int]:
        flipped = share_up(exp_bounds(self.epsilon / 2)[0] + 1)
        return WHOLE - flipped, flipped


@ORACLES.register
class OUE(UnaryOracle):
    """Optimised unary encoding: the true bit is a fair coin, the others are one with chance 1/(e^ε+1).

    >>> oracle = OUE(50, 1)
    >>> oracle.perturb([0, 1, 49]).shape
    (3, 7)
    """

    name, code = "oue", 3
    signs = True

    def _thresholds(self) -> tuple[int, int]:
        return WHOLE // 2, share_up(exp_bounds(self.epsilon)[0] + 1)
