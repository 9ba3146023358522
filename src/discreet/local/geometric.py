"""Discrete Laplace noise from thresholds: whole numbers only at draw time, so that every language draws the same.

A geometric magnitude has independent binary digits: digit i is one with odds exp(−2ⁱ/scale). Each digit compares one
word with a 128-bit threshold (a second word decides in the rare case of a tie); a sign follows, and minus zero is drawn
again. The magnitude is cut off at 2^digits = 2·reach. Where callers clamp outputs so that from every value at least
`reach` magnitudes lie beyond the clamp (largest value − reach … smallest value + reach), the law differs from the ideal
one by a factor within exp(±SLACK) per number, which they add to what they pay.
"""

from __future__ import annotations

import math
from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np

from discreet.local.chances import exp_bounds
from discreet.local.entropy import Source

SLACK = Fraction(1, 1 << 38)
_FINE = 1 << 128
_NEGLIGIBLE = 44  # bits: the chance of the highest digit lies between 2⁻⁸⁸ and 2⁻⁴⁴


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

    def halves(self) -> tuple[Any, Any]:
        """The thresholds as two arrays of words, the high and the low half."""
        high = np.array([t >> 64 for t in self.thresholds], np.uint64)
        return high, np.array([t & ((1 << 64) - 1) for t in self.thresholds], np.uint64)
