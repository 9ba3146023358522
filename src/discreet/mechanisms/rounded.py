"""Draws rounded to a public lattice: the cell is decided by exact comparison, never by a float's last bit."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from secrets import SystemRandom
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from discreet.errors import BudgetError
from discreet.mechanisms.heavy import NoiseLaw

_FIRST_BITS = 48
_MORE_BITS = 32


class BitSource(Protocol):
    """Anything that yields independent fair bits: the operating system, or a chosen stream in a test."""

    def getrandbits(self, k: int, /) -> int:
        """Return k fair bits as an integer."""


class _LazyUniform:
    """A uniform number in [0, 1) of which only as many bits are drawn as a comparison needs."""

    def __init__(self, source: BitSource) -> None:
        self._source = source
        self._bits = _FIRST_BITS
        self._value = source.getrandbits(_FIRST_BITS)

    def guess(self) -> float:
        return (self._value + 0.5) / 2.0**self._bits

    def below(self, enclosure: Callable[[int], tuple[Fraction, Fraction]]) -> bool:
        """Decide whether the number is below a constant known by ever tighter enclosures."""
        while True:
            low, high = enclosure(self._bits + 8)
            unit = 1 << self._bits
            if self._value + 1 <= low * unit:
                return True
            if self._value >= high * unit:
                return False
            self._value = self._value << _MORE_BITS | self._source.getrandbits(_MORE_BITS)
            self._bits += _MORE_BITS


def draw_rounded(
    center: Fraction, scale: Fraction, law: NoiseLaw, *, lower: int, upper: int, spacing: Fraction | int = 1,
    rng: BitSource | None = None,
) -> int:  # fmt: skip
    """Return k, where k·spacing is the lattice point nearest to center + scale·Z, clamped to [lower, upper].

    `lower` and `upper` count lattice points. The law of k is exact: it equals the mass that the law of Z
    gives to the cell. Without `rng` the bits come from the operating system.
    """
    if scale <= 0 or spacing <= 0 or lower > upper:
        raise BudgetError("A rounded draw needs a positive scale and spacing and a range that is not empty.")
    uniform = _LazyUniform(SystemRandom() if rng is None else rng)

    def is_at_most(k: int) -> bool:
        """Decide whether the draw falls into cell k or below it."""
        edge = ((k + Fraction(1, 2)) * spacing - center) / scale
        return uniform.below(lambda bits: law.cdf_interval(edge, bits))

    # The answer is the least k with is_at_most(k), or `upper` if there is none below it.
    low, high = lower, upper
    guess = _guess(center, scale, law, spacing, lower, upper, uniform.guess())
    stride = 1
    while low < high:
        probe = min(max(guess, low), high - 1)
        if is_at_most(probe):
            high = probe
            guess = probe - stride
        else:
            low = probe + 1
            guess = probe + stride
        # A good guess takes two comparisons; a bad one is corrected by doubling strides, then halving.
        stride *= 2
        if stride > high - low:
            guess = (low + high) // 2
    return low


def _guess(
    center: Fraction,
    scale: Fraction,
    law: NoiseLaw,
    spacing: Fraction | int,
    lower: int,
    upper: int,
    uniform: float,
) -> int:
    """Find the cell by bisection in floats: it only saves time, nothing depends on its being right."""
    offset, width = float(center / scale), float(spacing / scale)
    low, high = lower, upper
    while low < high:
        middle = (low + high) // 2
        z = (middle + 0.5) * width - offset
        # The smaller tail keeps its relative accuracy.
        tail = float(law.cdf(np.asarray(-abs(z))))
        inside = uniform < tail if z < 0 else 1.0 - uniform > tail
        low, high = (low, middle) if inside else (middle + 1, high)
    return low


def draw_simulated(
    center: Fraction,
    scale: Fraction,
    law: NoiseLaw,
    *,
    size: int,
    lower: int,
    upper: int,
    spacing: Fraction | int = 1,
    rng: np.random.Generator,
) -> NDArray[np.int64]:
    """Draw many rounded values in floating point: a fast twin for studies that protects nobody."""
    if scale <= 0 or spacing <= 0 or lower > upper:
        raise BudgetError("A rounded draw needs a positive scale and spacing and a range that is not empty.")
    noisy = float(center / spacing) + float(scale / spacing) * law.sample(size, rng=rng)
    limit = float(max(abs(lower), abs(upper), 1)) + 1.0
    whole = np.rint(np.clip(noisy, -limit, limit)).astype(np.int64)
    return np.clip(whole, lower, upper)
