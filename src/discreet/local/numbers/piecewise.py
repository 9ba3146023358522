"""Piecewise numbers: outputs on a lattice, likelier in a window that moves with the point."""

from __future__ import annotations

import math
from collections.abc import Iterable
from fractions import Fraction
from typing import Any, Self

import numpy as np

from discreet.local.chances import WHOLE, exp_bounds
from discreet.local.entropy import Source, below, evenly
from discreet.local.numbers.base import NUMBERS, whole
from discreet.local.numbers.sampled import Sampled
from discreet.local.wire.integers import Integers
from discreet.loops import kernel

GRID = 1 << 14


@kernel
def window(centres: Any, draws: Any, reach: Any, spread: Any, outside: Any, hi: Any, lo: Any, out: Any) -> None:
    """Outputs −reach … reach: words below `outside` name one beyond the window, the rest one inside it."""
    for i in range(len(out)):
        if draws[i] < outside:
            place = np.int64(draws[i] // lo) - reach
            first = centres[i] - spread
            out[i] = place if place < first else place + 2 * spread + 1
        else:
            out[i] = np.int64((draws[i] - outside) // hi) + centres[i] - spread


@NUMBERS.register
class Piecewise(Sampled):
    """The piecewise mechanism in whole numbers, for a class that is drawn first.

    Outputs are −limit … limit. A window of 2·spread + 1 of them is centred at point·centre/half, rounded at random
    without bias; each output inside owns `hi` of `total` equally likely numbers and each outside `lo`, with
    hi/lo ≤ e^ε. The window has the share 1/(e^{ε/2} + 1) of all outputs, which minimises the largest variance.

    >>> mechanism = Piecewise(1, 100, epsilon=4)
    >>> mechanism.perturb([0, 0], [-100, 100]).shape
    (2, 2)
    """

    name, code, script = "piecewise", 18, "piecewise"

    def __init__(self, classes: int, half: int, epsilon: Any, grid: int = GRID) -> None:
        self.grid = whole(grid, 1, GRID, "the grid of the piecewise mechanism")
        super().__init__(classes, half, epsilon)

    @classmethod
    def listed(cls) -> Iterable[Self]:
        # Centres that need no rounding, and such that do.
        grids = {3: 7, 5: 3}
        return [cls(one.classes, half, one.epsilon, grid) for one in super().listed() for half, grid in grids.items()]

    def _prepare(self) -> None:
        # A multiple of half needs no rounding of centres; a half above the grid is rounded onto it.
        self.centre = self.grid - self.grid % self.half if self.half <= self.grid else self.grid
        self.spread = math.floor(self.centre * exp_bounds(-self.epsilon / 2)[0])
        self.limit = self.centre + self.spread
        window, outputs = 2 * self.spread + 1, 2 * self.limit + 1
        low = exp_bounds(self.epsilon)[0]
        self.lo = math.floor(WHOLE / (window * low + outputs - window))
        self.hi = math.floor(self.lo * low)
        self.outside = (outputs - window) * self.lo
        self.total = self.outside + window * self.hi
        gain = Fraction(window * (self.hi - self.lo), self.total)
        self.gain = float(gain)
        self.step = float(self.half / (self.centre * gain))
        inner, outer = window * (window**2 - 1) // 12, outputs * (outputs**2 - 1) // 12
        self.still = float(Fraction((self.hi - self.lo) * inner + self.lo * outer, self.total))
        super()._prepare()

    def draw_value(self, point: int, source: Source) -> int:
        centre = (point * self.centre + below(source, self.half)) // self.half
        word = below(source, self.total)
        if word >= self.outside:
            return (word - self.outside) // self.hi + centre - self.spread
        place, first = word // self.lo - self.limit, centre - self.spread
        return place if place < first else place + 2 * self.spread + 1

    def perturb_values(self, points: Integers, rng: np.random.Generator | None) -> Integers:
        centres = (points * self.centre + evenly(len(points), self.half, rng).astype(np.int64)) // self.half
        result = np.empty(len(points), np.int64)
        sizes = np.int64(self.limit), np.int64(self.spread)
        weights = np.uint64(self.outside), np.uint64(self.hi), np.uint64(self.lo)
        window(centres, evenly(len(points), self.total, rng), *sizes, *weights, result)
        return result

    def value_law(self, point: int) -> dict[int, Fraction]:
        floor, rest = divmod(point * self.centre, self.half)
        above = Fraction(rest, self.half)
        law = dict.fromkeys(range(-self.limit, self.limit + 1), Fraction(self.lo, self.total))
        for centre, chance in ((floor, 1 - above), (floor + 1, above)):
            extra = chance * Fraction(self.hi - self.lo, self.total)
            for one in range(centre - self.spread, centre + self.spread + 1) if extra else ():
                law[one] += extra
        return law

    def second(self, label_share: float, mean_square: float) -> float:
        """Exact where half divides the grid; else centres are rounded, which adds about a sixth of a step squared."""
        rounding = 0.0 if self.centre % self.half == 0 else 1 / 6
        moved = (self.centre / self.half) ** 2 * mean_square + rounding
        return self.still + label_share * self.gain * moved

    def value_constants(self) -> dict[str, Any]:
        sizes = {"half": str(self.half), "centre": self.centre, "spread": self.spread, "limit": self.limit}
        return {**sizes, "hi": str(self.hi), "lo": str(self.lo), "outside": str(self.outside), "total": str(self.total)}
