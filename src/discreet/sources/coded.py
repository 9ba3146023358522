"""Coding: the cell or lattice point of every value of a column, or the error that names the first without a place."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.schema import Feature, Numeric
from discreet.sources.blocks import SMALL, Rows
from discreet.sources.columns import GONE, Column, Numbers, Points
from discreet.sources.program import Program

Cells = NDArray[Any]  # of the smallest unsigned type that holds them
Held = NDArray[Any]  # cells of a category, or int32 points of a number's lattice, GONE where it is missing


def cell_type(cells: int) -> Any:
    """The smallest unsigned type that holds the codes of so many cells."""
    return np.min_scalar_type(max(cells - 1, 0))


def cells_of(column: Column) -> Cells:
    """The cell of every row: a category, or the bin of a number."""
    feature = column.feature
    if isinstance(column, Numbers):
        return cells_at(feature, hold(column))
    if len(column.values) >= SMALL:
        index: Cells = Program([column]).codes([[0]], 0, len(column.values))[0]
    else:
        index = column.encode()
    if len(index) and index.max() >= feature.cells:
        column.complain()
    return index.astype(cell_type(feature.cells))


def hold(column: Column) -> Held:
    """What is held of a column, so that bins can be fixed later: cells of categories, lattice points of numbers."""
    if not isinstance(column, Numbers):
        return cells_of(column)
    if isinstance(column, Points):
        if column.bad().any():
            column.complain()
        return column.values
    feature, values = column.feature, column.values
    if len(values) >= SMALL:
        points, half = Program([column]).points(len(values)), feature.lattice.half
        gone, infinite = points > half, bool((points > half + 1).any())
    else:
        wide, gone = column.points()
        points, infinite = wide.astype(np.int32), bool(column.infinite().any())
    if infinite or (feature.missing_code is None and gone.any()):
        column.complain()
    points[gone] = GONE
    return points


def cells_at(feature: Feature, held: Held) -> Cells:
    """The cells of what is held of a feature, by the bins that it has now."""
    if not isinstance(feature, Numeric):
        return held
    if len(held) >= SMALL:
        index: Cells = Program([Points(feature, held)]).codes([[0]], 0, len(held))[0]
    else:
        index = np.searchsorted(np.array(feature.cuts, np.int64), held, side="right")
        if feature.missing_code is not None:
            index[held == GONE] = feature.missing_code
    return index.astype(cell_type(feature.cells))


def hold_rows(rows: Rows) -> list[Held]:
    """What is held of some rows, column by column."""
    return [hold(column) for column in rows.columns]


def encode_rows(rows: Rows) -> Cells:
    """The cells of some rows, one column per feature."""
    return side_by_side([cells_of(column) for column in rows.columns])


def side_by_side(columns: list[Cells]) -> Cells:
    """Columns of cells as a matrix of a row per row, two bytes a cell or four."""
    wide = max(column.dtype.itemsize for column in columns) > 2
    result: Cells = np.empty((len(columns[0]), len(columns)), np.int32 if wide else np.uint16)
    for j, column in enumerate(columns):
        result[:, j] = column
    return result
