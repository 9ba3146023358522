"""Noisy tables as a reader needs them: moved to the class totals that all tables agree on, with their noise."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class NoisyTable:
    """Rows by class and cell with noise that is alike in all cells of a class and independent between classes.

    `variance` is that of one cell and `shared` the covariance of two, each by class; the first `ordered` cells are
    bins in the order of a number.
    """

    values: Floats
    variance: Floats
    shared: Floats
    ordered: int = 0

    @property
    def cells(self) -> int:
        """The number of cells."""
        return int(self.values.shape[1])

    def merged(self, groups: NDArray[np.intp]) -> tuple[Floats, Floats, Floats]:
        """Sums over groups of cells, the variance of each, and the number of cells in it."""
        if groups[-1] + 1 == self.cells:
            alone = np.ones(self.cells)
            return self.values, np.maximum(self.variance[:, None] * alone, 1e-12), alone
        sizes = np.bincount(groups).astype(np.float64)
        starts = np.flatnonzero(np.diff(groups, prepend=-1))
        sums = np.add.reduceat(self.values, starts, axis=1)
        spread = sizes * self.variance[:, None] + sizes * (sizes - 1) * self.shared[:, None]
        return sums, np.maximum(spread, 1e-12), sizes


def noisy_table(
    values: Floats,
    variance: float | Floats,
    own: float | Floats,
    totals: Floats,
    total_variance: float | Floats,
    ordered: int = 0,
) -> NoisyTable:
    """The table with its row sums set to the totals, which are the best estimate of those that all tables give.

    `own` is the variance of the noise on a row sum of this table alone.
    """
    classes, cells = values.shape
    each = np.ones(classes)
    one, whole = each * variance, each * own
    known = np.minimum(each * total_variance, whole)
    between = (whole - cells * one) / (cells * (cells - 1)) if cells > 1 else np.zeros(classes)
    moved = values + ((totals - values.sum(axis=1)) / cells)[:, None]
    change = (known - whole) / cells**2
    return NoisyTable(moved, np.maximum(one + change, 1e-12), between + change, ordered)
