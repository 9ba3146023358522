"""Many exact coins at once: floats decide where they certainly can, intervals and more random bits decide the rest."""

from __future__ import annotations

import os
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.mechanisms.coins import Coins
from discreet.mechanisms.intervals import context, enclose, ends

Integers = NDArray[np.int64]
Heads = NDArray[np.bool_]
Enclosure = Callable[[int], tuple[Fraction, Fraction]]

_BITS = 53
_MORE_BITS = 32
# Rounding moves a chance computed below by less than 2**-45 (proof: docs/proofs/selection.md).
MARGIN = 2.0**-40


class Odds:
    """Coins whose chances are exact functions of integers: no float's last bit decides a release.

    A coin is decided by floats unless its uniform number lies within `margin` of the chance; then the chance is
    enclosed ever more tightly while more bits are drawn. The law does not depend on the margin.
    """

    def __init__(self, source: Callable[[int], bytes] = os.urandom, margin: float = MARGIN) -> None:
        self.coins = Coins(source)
        self._source, self._margin = source, margin
        self.simulation = source is not os.urandom
        self.name = "coins: pseudo-random simulation" if self.simulation else "coins: exact, of the operating system"

    def exponential(self, gaps: Integers, rate: Fraction) -> Heads:
        """Independent coins, heads with probability exp(−rate·gap), for gaps of at least 0."""
        chance = np.exp(-float(rate) * gaps.astype(np.float64))
        return self._decide(chance, lambda i: lambda bits: exp_enclosure(-rate * int(gaps[i]), bits))

    def logistic(self, gaps: Integers, rate: Fraction, shift: float) -> Heads:
        """Independent coins, heads with odds exp(shift − rate·gap) to one."""
        height = np.clip(float(rate) * gaps.astype(np.float64) - shift, -700.0, 700.0)
        exact = Fraction(shift)
        return self._decide(
            1 / (1 + np.exp(height)), lambda i: lambda bits: _logistic_enclosure(exact - rate * int(gaps[i]), bits)
        )

    def integers(self, bound: int, size: int) -> Integers:
        """Independent integers, each uniform below `bound`."""
        most = np.uint64((1 << 64) // bound * bound - 1)  # the largest word that favours nobody
        found = np.empty(0, np.uint64)
        while len(found) < size:
            words = np.frombuffer(self._source(8 * (size - len(found))), dtype=np.uint64)
            found = np.concatenate([found, words[words <= most]])
        return (found % np.uint64(bound)).astype(np.int64)

    def below(self, enclosure: Enclosure) -> bool:
        """One coin whose chance is known by ever tighter enclosures only."""
        return self._refine(self.coins.bits(_BITS), enclosure)

    def _decide(self, chance: NDArray[np.float64], enclosure: Callable[[int], Enclosure]) -> Heads:
        words = np.frombuffer(self._source(8 * len(chance)), dtype=np.uint64) >> np.uint64(64 - _BITS)
        drawn = words.astype(np.float64) * 2.0**-_BITS
        heads = drawn + 2.0**-_BITS <= chance - self._margin
        for i in np.flatnonzero(~heads & (drawn < chance + self._margin)).tolist():
            heads[i] = self._refine(int(words[i]), enclosure(i))
        return heads

    def _refine(self, value: int, enclosure: Enclosure) -> bool:
        bits = _BITS
        while True:
            low, high = enclosure(bits + 16)
            if value + 1 <= low * (1 << bits):
                return True
            if value >= high * (1 << bits):
                return False
            value, bits = value << _MORE_BITS | self.coins.bits(_MORE_BITS), bits + _MORE_BITS


def exp_enclosure(power: Fraction, bits: int) -> tuple[Fraction, Fraction]:
    """Enclose exp(power)."""
    ctx = context(bits)
    return ends(ctx.exp(enclose(ctx, power)))


def _logistic_enclosure(power: Fraction, bits: int) -> tuple[Fraction, Fraction]:
    """Enclose 1/(1 + exp(−power))."""
    ctx = context(bits)
    tail: Any = ctx.exp(enclose(ctx, -abs(power)))
    return ends(1 / (1 + tail) if power >= 0 else tail / (1 + tail))


def odds_for(random_state: Any, stream: int = 0) -> Odds:
    """Coins of the operating system, unless a seed asks for a simulation."""
    from discreet.mechanisms.noise import SimulationSampler, sampler_for

    sampler = sampler_for(random_state, stream)
    return Odds(sampler.rng.bytes) if isinstance(sampler, SimulationSampler) else Odds()
