"""Discrete Laplace noise from thresholds: whole numbers only at draw time, so that every language draws the same.

A geometric magnitude has independent binary digits: digit i is one with odds exp(−2ⁱ/scale). Each digit compares one
word with a 128-bit threshold (a second word decides in the rare case of a tie); a sign follows, and minus zero is drawn
again. In bulk the digits are coins of the same chances. The magnitude is cut off at 2^digits = 2·reach. Where callers
clamp outputs so that from every value at least `reach` magnitudes lie beyond the clamp (largest value − reach …
smallest value + reach), the law differs from the ideal one by a factor within exp(±SLACK) per number, which they add to
what they pay.
"""

from __future__ import annotations

import math
from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np

from discreet.local.bits import coins
from discreet.local.chances import exp_bounds
from discreet.local.entropy import Source, words
from discreet.local.wire.integers import Integers
from discreet.loops import kernel

SLACK = Fraction(1, 1 << 38)
_FINE = 1 << 128
_NEGLIGIBLE = 44  # bits: the chance of the highest digit lies between 2⁻⁸⁸ and 2⁻⁴⁴


@kernel
def signed(planes: Any, signs: Any, out: Any) -> int:
    """Whole numbers out of planes of digits and signs, minus zeros left out; returns how many were written."""
    filled = 0
    for word in range(len(signs)):
        for lane in range(64):
            if filled == len(out):
                return filled
            shift, magnitude = np.uint64(lane), np.int64(0)
            for k in range(len(planes)):
                magnitude |= np.int64((planes[k, word] >> shift) & np.uint64(1)) << k
            if (signs[word] >> shift) & np.uint64(1):
                if magnitude == 0:
                    continue
                magnitude = -magnitude
            out[filled] = magnitude
            filled += 1
    return filled


class DiscreteLaplace:
    """Noise with P(x) ∝ exp(−|x|/scale) on whole numbers, cut off where its tail has a chance below 2⁻⁸⁸.

    >>> noise = DiscreteLaplace(Fraction(2))
    >>> len(noise.thresholds)
    7
    """

    def __init__(self, scale: Fraction) -> None:
        self.scale = Fraction(scale)
        if not 0 < self.scale < 1 << 60:
            raise ValueError("the scale of the noise is out of range")
        top = 0
        while exp_bounds(-Fraction(1 << top) / self.scale)[1] > Fraction(1, 1 << _NEGLIGIBLE):
            top += 1
        self.reach = 1 << top
        self.thresholds = tuple(self._threshold(i) for i in range(top + 1))

    def _threshold(self, digit: int) -> int:
        low, high = exp_bounds(-Fraction(1 << digit) / self.scale)
        odds = (low + high) / 2
        return max(1, round(_FINE * odds / (1 + odds)))

    def draw(self, source: Source) -> int:
        """One draw, word by word: digits from the lowest, then the sign."""
        while True:
            magnitude = 0
            for i, threshold in enumerate(self.thresholds):
                word, high = source.word(), threshold >> 64
                if word < high or (word == high and source.word() < threshold & ((1 << 64) - 1)):
                    magnitude |= 1 << i
            negative = source.word() & 1
            if magnitude or not negative:
                return -magnitude if negative else magnitude

    def fill(self, out: Integers, rng: np.random.Generator | None) -> None:
        """As many draws as `out` has places: the digits of 64 numbers are tossed together."""
        done = 0
        while done < len(out):
            count = (len(out) - done) // 60 + 2
            planes = np.stack([coins(one, count, rng, bits=128) for one in self.thresholds])
            done += signed(planes, words(count, rng), out[done:])

    def total(self, m: int, size: int, rng: np.random.Generator) -> Integers:
        """`size` sums of m draws of the ideal noise: each the difference of two negative binomial numbers."""
        if not m:
            return np.zeros(size, np.int64)
        stop = -math.expm1(-1 / float(self.scale))
        first, second = (rng.negative_binomial(m, stop, size) for _ in range(2))
        return np.asarray(first - second, np.int64)

    @cached_property
    def variance(self) -> float:
        """The variance of the ideal law: 1 / (2·sinh²(1/(2·scale)))."""
        return 1 / (2 * math.sinh(1 / (2 * float(self.scale))) ** 2)

    def chances(self) -> dict[int, Fraction]:
        """The exact law of `draw`; for small scales."""
        magnitudes = [Fraction(1)]
        for threshold in self.thresholds:
            one = Fraction(threshold, _FINE)
            magnitudes = [m * (1 - one) for m in magnitudes] + [m * one for m in magnitudes]
        whole = 2 * sum(magnitudes) - magnitudes[0]
        law = {x: chance / whole for x, chance in enumerate(magnitudes)}
        return law | {-x: chance for x, chance in law.items() if x}

    def law(self, value: int, low: int, high: int) -> dict[int, Fraction]:
        """The exact law of a value with noise, clamped to low … high; for small scales."""
        found = dict.fromkeys(range(low, high + 1), Fraction(0))
        for noise, chance in self.chances().items():
            found[min(max(value + noise, low), high)] += chance
        return found
