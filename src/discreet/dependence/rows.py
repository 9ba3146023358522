"""Rows held as lattice points and category codes, so that bins can be fixed after the rows have been read once."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.privacy.unexpected import REFUSE
from discreet.schema import Numeric, Schema
from discreet.sources import Draw, Progress, Rows, map_rows
from discreet.sources.coded import Cells, cell_type, encode_column
from discreet.sources.columns import Column, Numbers

GONE = np.iinfo(np.int32).min


@dataclass(frozen=True, eq=False)
class HeldRows:
    """One array per feature (points of a number's lattice, or codes of a category) and the classes: 4 bytes a value."""

    values: tuple[NDArray[np.int32], ...]
    labels: NDArray[np.int64]

    def __len__(self) -> int:
        return len(self.labels)

    def by_class(self, classes: int) -> NDArray[np.int64]:
        """Rows per class."""
        return np.bincount(self.labels, minlength=classes).astype(np.int64)

    def codes(self, schema: Schema) -> Cells:
        """The cell of every row and feature under a schema that differs from the one it was read by in bins alone."""
        most = max(feature.cells for feature in schema.features)
        result: Cells = np.empty((len(self), len(schema.features)), cell_type(most))
        for j, (feature, values) in enumerate(zip(schema.features, self.values, strict=True)):
            if not isinstance(feature, Numeric):
                result[:, j] = values
                continue
            result[:, j] = np.searchsorted(np.array(feature.cuts, np.int64), values, side="right")
            if feature.missing_code is not None:
                result[values == GONE, j] = feature.missing_code
        return result


def hold_rows(
    data: Any,
    schema: Schema,
    y: Any = None,
    *,
    contributions: int | None = None,
    unexpected: str = REFUSE,
    draw: Draw | None = None,
    progress: Progress | None = None,
) -> HeldRows:
    """The labelled rows of any source, read once; the options are those of `read_rows`."""

    def hold(rows: Rows) -> tuple[list[NDArray[np.int32]], NDArray[np.int64]]:
        assert rows.label is not None
        return [_held(column) for column in rows.columns], encode_column(rows.label).astype(np.int64)

    parts = list(
        map_rows(
            hold, data, schema, y, contributions=contributions, unexpected=unexpected, draw=draw, progress=progress
        )
    )
    values = tuple(np.concatenate(columns) for columns in zip(*(held for held, _ in parts), strict=True))
    return HeldRows(values, np.concatenate([labels for _, labels in parts]))


def _held(column: Column) -> NDArray[np.int32]:
    if not isinstance(column, Numbers):
        return encode_column(column).astype(np.int32)
    if column.values.dtype.kind == "f" and np.isinf(column.values).any():
        column.complain()
    points, gone = column.points()
    if gone.any() and column.feature.missing_code is None:
        column.complain()
    points[gone] = GONE
    return points.astype(np.int32)
