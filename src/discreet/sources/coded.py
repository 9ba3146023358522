"""Rows as codes: one small integer per row and feature, read once from any source."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.privacy.unexpected import REFUSE
from discreet.schema import Schema
from discreet.sources import Draw, Progress, Rows, map_rows
from discreet.sources.blocks import SMALL, coder
from discreet.sources.columns import Codes, Column

Cells = NDArray[Any]  # of uint16, or of int32 where a feature has more than 65,536 cells


def cell_type(most: int) -> type[np.uint16] | type[np.int32]:
    """The smallest type that holds the codes of so many cells."""
    return np.uint16 if most <= 1 << 16 else np.int32


@dataclass(frozen=True, eq=False)
class CodedRows:
    """`codes[i, j]` is the cell of row i in feature j, `labels[i]` its class."""

    codes: Cells
    labels: Cells

    def __len__(self) -> int:
        return len(self.labels)


def read_codes(
    data: Any,
    schema: Schema,
    y: Any = None,
    *,
    contributions: int | None = None,
    unexpected: str = REFUSE,
    draw: Draw | None = None,
    progress: Progress | None = None,
) -> CodedRows:
    """The labelled rows of any source as codes; the options are those of `read_rows`."""

    def coded(rows: Rows) -> tuple[Cells, Cells]:
        assert rows.label is not None
        return encode_rows(rows), encode_column(rows.label)

    parts = list(
        map_rows(
            coded, data, schema, y, contributions=contributions, unexpected=unexpected, draw=draw, progress=progress
        )
    )
    return CodedRows(np.concatenate([codes for codes, _ in parts]), np.concatenate([labels for _, labels in parts]))


def encode_rows(rows: Rows) -> Cells:
    """The cells of some rows, one column per feature."""
    most = max((column.feature.cells for column in rows.columns), default=0)
    result: Cells = np.empty((rows.size, len(rows.columns)), cell_type(most))
    for j, column in enumerate(rows.columns):
        result[:, j] = encode_column(column)
    return result


def encode_column(column: Column) -> Cells:
    """The cells of one column."""
    cells, size = column.feature.cells, len(column.values)
    if size >= SMALL:
        index, lattice = np.zeros(size, np.uint32), np.empty(size, np.int32)
        coder(column).index(np.ascontiguousarray(column.values), index, lattice)
        bad = bool((index >= cells).any())
    else:
        index, bad = _plain(column)
    if bad:
        column.complain()
    return index.astype(cell_type(cells))


def _plain(column: Column) -> tuple[NDArray[Any], bool]:
    if isinstance(column, Codes):
        codes = column.encode()
        return codes, bool((codes == column.feature.cells).any())
    feature, values = column.feature, column.values
    points, gone = column.points()
    codes = np.searchsorted(np.array(feature.cuts, np.int64), points, side="right")
    bad = bool(values.dtype.kind == "f" and np.isinf(values).any())
    if feature.missing_code is None:
        return codes, bad or bool(gone.any())
    codes[gone] = feature.missing_code
    return codes, bad
