"""Pyramids: a noisy joint table read from coarse blocks to fine cells; post-processing only.

Each block's class shares start from those of the block above, corrected by what Naive Bayes says about the step, and
move towards the block's own noisy counts as far as noise and sampling let them (the best linear predictor under a
spread that is estimated at every level from all of its blocks).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
ROUNDS = 8
LEAST_SHARE = 1e-6


@dataclass(frozen=True)
class Axis:
    """The cells of one feature: so many in order, then so many without."""

    ordered: int
    others: int

    @property
    def size(self) -> int:
        """All cells."""
        return self.ordered + self.others

    def halved(self) -> Axis:
        """Neighbours in pairs; cells without order stay."""
        return Axis(-(-self.ordered // 2), self.others)

    @property
    def starts(self) -> list[int]:
        """Where the halved axis' blocks begin."""
        return [*range(0, self.ordered, 2), *range(self.ordered, self.size)]

    def widening(self) -> Floats:
        """Values of the halved axis carried back, linear between the middles of ordered blocks."""
        coarse = self.halved()
        weights = np.zeros((self.size, coarse.size))
        for cell in range(self.ordered):
            place = (cell - 0.5) / 2
            low = int(np.floor(place))
            for at, weight in ((low, 1 - (place - low)), (low + 1, place - low)):
                weights[cell, min(max(at, 0), coarse.ordered - 1)] += weight
        for cell in range(self.others):
            weights[self.ordered + cell, coarse.ordered + cell] = 1.0
        return weights


@dataclass(frozen=True)
class Level:
    """Blocks of one size: noisy counts, expected counts by Naive Bayes, and fine cells in each block."""

    counts: Floats
    expected: Floats
    cells: Floats
    axes: tuple[Axis, ...]

    def coarser(self) -> Level | None:
        """The next level, in the end one block; None above that."""
        if self.cells.size == 1:
            return None
        arrays = [self.counts, self.expected, self.cells]
        halves = tuple(axis.halved() for axis in self.axes)
        if halves == self.axes:
            every = tuple(range(1, arrays[0].ndim))
            counts, expected, cells = (a.sum(axis=every, keepdims=True) for a in arrays)
            return Level(counts, expected, cells, tuple(Axis(0, 1) for _ in halves))
        for place, axis in enumerate(self.axes, start=1):
            arrays = [np.add.reduceat(a, axis.starts, axis=place) for a in arrays]
        counts, expected, cells = arrays
        return Level(counts, expected, cells, halves)


def class_shares(counts: Floats, variance: float, expected: Floats, axes: tuple[Axis, ...]) -> Floats:
    """P(class | cell), an array of classes by the axes' cells, from noisy counts and what Naive Bayes expects."""
    levels: list[Level] = [Level(counts, expected, np.ones((1, *counts.shape[1:])), axes)]
    while (above := levels[-1].coarser()) is not None:
        levels.append(above)
    shares = total = naive = np.zeros(0)
    for depth, level in enumerate(reversed(levels)):
        own_total = level.expected.sum(axis=0, keepdims=True)
        own_naive = level.expected / own_total
        if depth == 0:
            start, rows = own_naive, own_total
        else:
            tilt = np.log(np.maximum(shares, 1e-9)) - np.log(np.maximum(naive, 1e-9))
            start = own_naive * np.exp(_carried(tilt, level, smooth=True))
            rows = own_total * _carried(total, level, smooth=False)
        start = np.maximum(start / start.sum(axis=0, keepdims=True), LEAST_SHARE)
        start /= start.sum(axis=0, keepdims=True)
        size = _totals(level, variance, rows)
        shares, total, naive = _shares(level, variance, start, size), size / own_total, own_naive
    return shares


def _carried(values: Floats, level: Level, *, smooth: bool) -> Floats:
    """Values of the level above at the blocks of this one."""
    if values[0].size == 1:
        return np.broadcast_to(values, (len(values), *level.counts.shape[1:]))
    for place, axis in enumerate(level.axes, start=1):
        if not smooth:
            values = np.repeat(values, np.diff([*axis.starts, axis.size]), axis=place)
        else:
            values = np.moveaxis(np.tensordot(axis.widening(), values, axes=(1, place)), 0, place)
    return values


def spread(square: Floats, size: Floats, noise: Floats, most: float) -> float:
    """The v ≥ 0 for which `square` is v·size² on average beside noise, by weighted least squares."""
    found = 0.05
    for _ in range(ROUNDS):
        weight = 1 / (noise + found * size) ** 2
        below = float((weight * size * size).sum())
        found = float(np.clip((weight * size * square).sum() / below, 1e-4, most)) if below > 0 else 1e-4
    return found


def _totals(level: Level, variance: float, rows: Floats) -> Floats:
    """Rows of each block: the expected ones moved towards the noisy ones."""
    noise = variance * level.cells * len(level.counts)
    gap = level.counts.sum(axis=0, keepdims=True) - rows
    own = spread(gap**2 - noise - rows, rows**2, noise + rows, 100.0) * rows**2 + rows
    return np.asarray(np.maximum(rows + own / (own + noise) * gap, 0.02 * rows))


def _shares(level: Level, variance: float, start: Floats, rows: Floats) -> Floats:
    """Class shares of each block, from `start` towards the noisy counts."""
    classes = len(start)
    odd = start * (1 - start)
    rest = level.counts - level.counts.sum(axis=0, keepdims=True) * start
    noise = variance * level.cells * ((1 - start) ** 2 + (classes - 1) * start**2)
    sampled = rows * odd + 1e-9
    wide = spread(rest**2 - noise - sampled, rows**2 * odd, noise + sampled, 0.9)
    own = wide * rows**2 * odd
    gain = own / (noise + sampled * (1 - wide) + own)
    seen = np.maximum(rows * start + rest, 0.0)
    seen /= np.maximum(seen.sum(axis=0, keepdims=True), 1e-9)
    shares = (1 - gain) * start + gain * seen
    return np.asarray(shares / shares.sum(axis=0, keepdims=True))
