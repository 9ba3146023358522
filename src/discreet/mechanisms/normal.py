"""Discrete Gaussian noise on a lattice so fine that it is normal noise, rounded, but for a distance that is stated.

What is normal composes exactly: the squares of what neighbours differ by, over the deviation, add up, and their sum has
the profile of one normal variable (proof: docs/proofs/newton.md).
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.mechanisms.noise import Sampler
from discreet.privacy.calibrate import float_up

Integers = NDArray[np.int64]
FINER = 24  # bits by which the lattice of count tables is finer than whole rows, of up to 1,023 cells
LARGEST = 1 << 27  # rows of a class that are held whole, whatever the number of cells


def fineness(cells: int) -> int:
    """The bits of the lattice of a table of so many cells: LARGEST·cells, or as many rows, stay within 61 bits."""
    return max(0, FINER - max(0, cells.bit_length() - 10))


def rounding_distance(draws: Iterable[tuple[Fraction, int]]) -> float:
    """How far discrete Gaussians of these variances, that many of each, are from rounded normal variables at most.

    In total variation, and one where a variance is too small for the bound: a density at a whole number exceeds its
    mean over the unit around it by 1/(24σ²) of itself at most.
    """
    found = 0.0
    for variance, count in draws:
        if variance < 1:
            return 1.0
        found += count * float_up(1 / (23 * variance))
    return min(1.0, found * (1 + 1e-9))


class FineSampler:
    """A sampler whose Gaussian noise has a lattice finer than integers, by a table's cells; the rest is as it was."""

    def __init__(self, inner: Sampler) -> None:
        self.inner, self.name, self.simulation = inner, inner.name, inner.simulation

    def gaussian(self, values: Integers, variance: Fraction) -> Any:
        """values + noise, as doubles; the last axis is that of the cells of a table.

        What cannot be held is cut off first, which moves neighbours no farther apart.
        """
        cells = values.shape[-1]
        bits = fineness(cells)
        most = 1 << (61 - bits)
        held = np.clip(values, -most, most) << bits
        return np.ldexp(self.inner.gaussian(held, finer(variance, cells)).astype(np.float64), -bits)

    def laplace(self, values: Integers, scale: Fraction) -> Integers:
        """As it was."""
        return self.inner.laplace(values, scale)

    def tables(self, values: list[Integers], rate: Fraction) -> list[Integers]:
        """As it was."""
        return self.inner.tables(values, rate)


def finer(variance: Fraction, cells: int) -> Fraction:
    """The variance in units of the finer lattice of a table of so many cells."""
    return variance * (1 << 2 * fineness(cells))


def held_delta(delta: Fraction, epsilon: Fraction, distance: float) -> float:
    """The δ that normal noise may have if what is drawn is that far from it: each side pays for the distance once."""
    return float(delta) * (1 - 1e-12) - (1 + math.exp(min(float(epsilon), 700.0))) * distance * (1 + 1e-12)
