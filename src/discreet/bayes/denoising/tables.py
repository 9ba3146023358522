"""Noisy tables as a reader needs them: moved to the class totals that all tables agree on, with their noise."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class NoisyTable:
    """Rows by class and cell with noise that is alike in all cells of a class and independent between classes.

    `variance` is that of one cell, by class; the first `ordered` cells are bins in the order of a number.
    """

    values: Floats
    variance: Floats
    ordered: int = 0

    @property
    def cells(self) -> int:
        """The number of cells."""
        return int(self.values.shape[1])


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
    moved = values + ((totals - values.sum(axis=1)) / cells)[:, None]
    change = (known - whole) / cells**2
    return NoisyTable(moved, np.maximum(one + change, 1e-12), ordered)
