"""Absorbing: values without a place go to a declared cell or their row is left out, and nobody has too many rows.

Every decision is made for one value, one row or one person by the schema and coins of its own (docs/unexpected.md).
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.schema import Categorical, Numeric, Schema
from discreet.sources.blocks import Rows
from discreet.sources.columns import GONE, Codes, Column, Numbers, Points, written

Mask = NDArray[np.bool_]


@dataclass
class Absorbed:
    """What one reading of the rows absorbed: exact, hence for the holder of the data alone."""

    values: int = 0
    rows: int = 0

    def include(self, *parts: list[Absorbed]) -> None:
        """Add what was absorbed of several parts of the rows, each of which was read once or more often."""
        for readings in parts:
            most = max(readings, key=lambda one: one.rows + one.values, default=Absorbed())
            self.values, self.rows = self.values + most.values, self.rows + most.rows

    def __str__(self) -> str:
        return f"{self.values} value(s) absorbed, {self.rows} row(s) left out"


_READINGS: ContextVar[list[Absorbed] | None] = ContextVar("readings", default=None)


@contextmanager
def watching() -> Iterator[list[Absorbed]]:
    """What the readings inside this block absorb, one entry for each of them."""
    found: list[Absorbed] = []
    token = _READINGS.set(found)
    try:
        yield found
    finally:
        _READINGS.reset(token)


def new_reading() -> Absorbed:
    """The count of a reading that begins; kept only if somebody is watching."""
    count, readings = Absorbed(), _READINGS.get()
    if readings is not None:
        readings.append(count)
    return count


def absorb(rows: Rows, count: Absorbed) -> Rows:
    """Rows in which every value has a place.

    A category without one goes to the `other` cell or else to the missing one, a number to the missing bin; where
    there is none, the row is left out.
    """
    columns: list[Column] = []
    kept, moved = np.ones(rows.size, bool), []
    for column in rows.columns:
        bad = column.bad()
        if bad.any():
            column, left = _placed(column, bad)
            if left:
                kept &= ~bad
            else:
                moved.append(bad)
        columns.append(column)
    if rows.label is not None:
        kept &= ~rows.label.bad()
    count.values += sum(int(np.count_nonzero(bad & kept)) for bad in moved)
    count.rows += rows.size - int(np.count_nonzero(kept))
    placed = replace(rows, columns=columns)
    return placed if kept.all() else placed.take(np.flatnonzero(kept))


def absorb_all(rows: Rows, count: Absorbed) -> Rows:
    """The same, but no row is left out: a value without a place stands for the first class, category or bound.

    This is for reports of one person each, where a missing report would tell something.
    """
    columns = [_anywhere(column, count) for column in rows.columns]
    label = None if rows.label is None else _anywhere(rows.label, count)
    assert label is None or isinstance(label, Codes)
    return replace(rows, columns=columns, label=label)


def _anywhere(column: Column, count: Absorbed) -> Column:
    bad = column.bad()
    if not bad.any():
        return column
    count.values += int(np.count_nonzero(bad))
    placed, left = _placed(column, bad)
    if not left:
        return placed
    if isinstance(column, Numbers):
        return Numbers(column.feature, np.where(bad, column.feature.lower, column.values.astype(np.float64)))
    return coded_column(column.feature, np.where(bad, 0, column.encode()))


def _placed(column: Column, bad: Mask) -> tuple[Column, bool]:
    """The column with its bad values where they belong, or as it is if the schema has no place for them."""
    feature = column.feature
    if isinstance(column, Numbers):
        if feature.missing_code is None:
            return column, True
        if isinstance(column, Points):
            return replace(column, values=np.where(bad, GONE, column.values)), False
        values = column.values.astype(np.float64)
        values[bad] = np.nan
        return Numbers(column.feature, values), False
    assert isinstance(feature, Categorical)
    place = feature.missing_code if feature.other_code is None else feature.other_code
    if place is None:
        return column, True
    codes = column.encode()
    codes[bad] = place
    return coded_column(feature, codes), False


def nobody(schema: Schema, *, labelled: bool = True) -> Rows:
    """The rows of a table that has none."""
    none = np.zeros(0, np.int32)
    columns: list[Column] = [
        Numbers(one, np.zeros(0)) if isinstance(one, Numeric) else coded_column(one, none) for one in schema.features
    ]
    return Rows(columns, 0, coded_column(schema.label, none) if labelled else None)


def coded_column(feature: Categorical, codes: NDArray[Any]) -> Codes:
    """A column whose values are their own cells."""
    cells = feature.cells
    return Codes(feature, codes.astype(np.int32), 0, np.arange(cells, dtype=np.int32), cells, cells)


def plain_values(column: Column) -> Any:
    """A column without bad values as an Arrow array that any reader codes alike: names of cells, or clipped numbers."""
    import pyarrow as pa

    if isinstance(column, Numbers):
        return written(column.feature, column.clipped())
    feature, codes = column.feature, column.encode()
    names = [*feature.labels, None]
    gone = feature.missing_code
    if gone is not None:
        names[gone] = None
    return pa.array(names, pa.string()).take(pa.array(codes))
