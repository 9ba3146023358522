"""Octaves: a public grid of powers of two, fine near its anchor and coarse far away, for numbers without bounds."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.features import Numeric

Integers = NDArray[np.int64]
Floats = NDArray[np.float64]
PARTS = 128  # the finest equal parts of an octave
FINEST, DEPTH = -32, 40  # octaves reach from the limits down to 2^-32, and at least this many powers of two


@dataclass(frozen=True)
class Octaves:
    """Cells by the distance from `anchor`: octave k holds distances from 2^k to below 2^(k+1), on either side.

    `low` is the first octave; nearer values share one cell in the middle. There are `below` octaves under the anchor
    and `above` over it; cells are numbered from the lowest value to the highest. All of this follows from what is
    declared about a feature: its limits, and whether it is an integer.

    >>> Octaves.of(Numeric("x", -2, 7, integer=True)).spans()
    [(-3.0, -1.0), (-1.0, 0.0), (0.0, 0.0), (1.0, 2.0), (2.0, 4.0), (4.0, 8.0)]
    """

    anchor: float
    low: int
    below: int
    above: int
    integer: bool

    @classmethod
    def of(cls, feature: Numeric) -> Octaves:
        """The grid of a feature: around zero if its limits allow zero, else from the limit nearest to zero."""
        lower, upper = feature.lower, feature.upper
        anchor = 0.0 if lower <= 0 <= upper else lower if lower > 0 else upper
        more = 1 if feature.integer else 0  # an integer at the limit has an octave of its own
        reach = [_power(side + more if side else 0.0) for side in (anchor - lower, upper - anchor)]
        low = 0 if feature.integer else min(max(r for r in reach if r is not None) - DEPTH, FINEST)
        below, above = (0 if r is None else max(r - low, 0) for r in reach)
        return cls(anchor, low, below, above, feature.integer)

    @property
    def parts(self) -> int:
        """The finest parts of an octave."""
        return PARTS

    @property
    def size(self) -> int:
        """The number of cells: all octaves, and the middle."""
        return self.below + 1 + self.above

    def codes(self, values: Floats) -> Integers:
        """The finest cell of every value: PARTS for each octave; the middle uses the first of its own only."""
        distance = values - self.anchor
        fraction, power = np.frexp(np.abs(distance))
        octave = np.where(distance == 0, -1, power.astype(np.int64) - 1 - self.low)
        part = np.floor((2 * fraction - 1) * PARTS).astype(np.int64)
        most = np.where(distance < 0, self.below, self.above) - 1
        part = np.where(octave > most, PARTS - 1, part)  # at the limit itself, or pushed beyond it by rounding
        octave = np.minimum(octave, most)
        step = np.where(octave < 0, 0, np.where(distance < 0, -1, 1))
        part = np.where(step < 0, PARTS - 1 - part, np.where(step == 0, 0, part))
        return np.asarray((self.below + step * (octave + 1)) * PARTS + part)

    def spans(self) -> list[tuple[float, float]]:
        """Where each cell begins and ends; the middle is a point, its values count as the anchor."""
        return [self.span(cell) for cell in range(self.size)]

    def span(self, cell: int) -> tuple[float, float]:
        """Where one cell begins and ends."""
        if cell == self.below:
            return self.anchor, self.anchor
        power = self.low + abs(cell - self.below) - 1
        near, far = math.ldexp(1.0, power), math.ldexp(1.0, power + 1)
        if cell > self.below:
            return self.anchor + near, self.anchor + far
        shift = 1 if self.integer else 0  # below the anchor the integers 2^k … 2^(k+1) − 1 away run up to the nearest
        return self.anchor - far + shift, self.anchor - near + shift

    def most_parts(self, cell: int) -> int:
        """Into how many equal parts a cell can be cut: the middle not at all, a small octave of integers into those."""
        if cell == self.below:
            return 1
        power = self.low + abs(cell - self.below) - 1
        return min(PARTS, 1 << power) if self.integer else PARTS

    def count(self, values: NDArray[Any]) -> Integers:
        """Rows by finest cell."""
        return np.bincount(self.codes(values), minlength=self.size * PARTS).astype(np.int64)


def _power(distance: float) -> int | None:
    """The least p with 2^p ≥ distance; None if there is no distance."""
    if distance <= 0:
        return None
    fraction, power = math.frexp(distance)
    return power - 1 if fraction == 0.5 else power
