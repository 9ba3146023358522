"""Encoding: rows of any source as sparse vectors of whole numbers whose Euclidean norm is at most one by construction.

Every feature fills one slot of a row, and a constant fills the last one. A slot holds one column and a whole number
from −UNIT to UNIT, which stands for number·scale/UNIT; with m slots and scale² · m ≤ 1 no row is longer than one.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.errors import BudgetError
from discreet.linear.kernels import compiled
from discreet.privacy.unexpected import REFUSE
from discreet.schema import Numeric, Schema
from discreet.sources import Draw, Progress, Rows, map_rows, read_rows
from discreet.sources.columns import Codes, Numbers

Floats = NDArray[np.float64]
UNIT = 1 << 12
NUMERIC = ("binned", "scaled")


@dataclass(frozen=True)
class Encoding:
    """How the rows of a schema become vectors: numbers binned on the schema's public edges, or scaled to [−1, 1]."""

    schema: Schema
    numeric: str = "binned"

    def __post_init__(self) -> None:
        if self.numeric not in NUMERIC:
            raise BudgetError(f"numeric must be 'binned' or 'scaled', not {self.numeric!r}")

    def _is_scaled(self, feature: Any) -> bool:
        return self.numeric == "scaled" and isinstance(feature, Numeric)

    @property
    def valued(self) -> bool:
        """Whether rows hold numbers other than one."""
        return any(self._is_scaled(feature) for feature in self.schema.features)

    @cached_property
    def widths(self) -> tuple[int, ...]:
        """The columns of each feature."""
        return tuple(1 + (f.missing_code is not None) if self._is_scaled(f) else f.cells for f in self.schema.features)

    @cached_property
    def starts(self) -> tuple[int, ...]:
        """The first column of each feature, and that of the constant."""
        return tuple(int(n) for n in np.concatenate([[0], np.cumsum(self.widths)]))

    @property
    def columns(self) -> int:
        """The length of a row, the constant included."""
        return self.starts[-1] + 1

    @property
    def slots(self) -> int:
        """The most entries of a row that are not zero: one for each feature and the constant."""
        return len(self.widths) + 1

    @cached_property
    def scale(self) -> float:
        """What a whole slot counts for: the largest double with scale²·slots ≤ 1 in exact arithmetic."""
        scale = 1 / math.sqrt(self.slots)
        while Fraction(scale) ** 2 * self.slots > 1:
            scale = math.nextafter(scale, 0.0)
        return scale

    @property
    def one_norm(self) -> Fraction:
        """The most that the absolute entries of a row add up to."""
        return Fraction(self.scale) * self.slots

    def names(self) -> tuple[str, ...]:
        """What each column stands for."""
        result: list[str] = []
        for feature in self.schema.features:
            if self._is_scaled(feature):
                result += [feature.name] + [f"{feature.name}=(missing)"] * (feature.missing_code is not None)
            else:
                result += [f"{feature.name}={label}" for label in feature.labels]
        return (*result, "(constant)")

    def encode(self, rows: Rows) -> tuple[NDArray[Any], NDArray[np.int32] | None]:
        """The columns and, if rows hold numbers, the whole numbers of some rows."""
        kind = np.uint16 if self.columns <= 1 << 16 else np.int32
        codes = np.empty((rows.size, len(self.widths)), kind)
        values = np.full((rows.size, self.slots), UNIT, np.int32) if self.valued else None
        for j, (column, start) in enumerate(zip(rows.columns, self.starts[:-1], strict=True)):
            if self._is_scaled(column.feature):
                assert isinstance(column, Numbers) and values is not None
                points, gone = lattice_points(column)
                codes[:, j] = start + gone
                half = column.feature.lattice.half
                # Whole numbers of at most UNIT, whatever the value was: |point| ≤ half.
                values[:, j] = np.where(gone, UNIT, np.rint(points * UNIT / half).astype(np.int64))
            else:
                codes[:, j] = start + cells(column)
        return codes, values

    def matrix(self, X: Any) -> Floats:
        """Rows as a dense matrix, for small data and for other libraries."""
        parts = []
        for rows in read_rows(X, self.schema, labelled=False):
            codes, values = self.encode(rows)
            dense = np.zeros((rows.size, self.columns))
            dense[:, -1] = self.scale
            sizes = self.scale if values is None else values[:, :-1] * (self.scale / UNIT)
            np.put_along_axis(dense, codes.astype(np.int64), sizes, axis=1)
            parts.append(dense)
        return np.concatenate(parts)


def lattice_points(column: Numbers) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
    """The lattice point of every row and which rows are missing; a value that may not be is an error."""
    points, gone = column.points()
    if np.isinf(column.values).any() or (gone.any() and column.feature.missing_code is None):
        column.complain()
    return points, gone


def cells(column: Any) -> NDArray[np.int64]:
    """The cell of every row: a category, or the bin of a number."""
    if isinstance(column, Codes):
        codes = column.encode()
        if (codes == column.feature.cells).any():
            column.complain()
        return codes
    points, gone = lattice_points(column)
    found = np.searchsorted(np.array(column.feature.cuts, np.int64), points, side="right")
    return found if column.feature.missing_code is None else np.where(gone, column.feature.missing_code, found)


@dataclass(frozen=True, eq=False)
class Design:
    """Encoded training rows in memory, two bytes an entry; weights see them only through products and sums."""

    codes: NDArray[Any]
    values: NDArray[Any] | None
    labels: NDArray[np.int64]
    columns: int
    slots: int
    scale: float

    def __len__(self) -> int:
        return len(self.codes)

    @property
    def unit(self) -> float:
        """What the whole number one counts for."""
        return self.scale if self.values is None else self.scale / UNIT

    def margins(self, weights: Floats) -> Floats:
        """x·w for every row."""
        out = np.empty(len(self.codes))
        scaled = weights * self.unit
        if self.values is None:
            compiled().margins(self.codes, scaled, out)
        else:
            compiled().margins_valued(self.codes, self.values, scaled, out)
        return out

    def gather(self, rates: Floats) -> Floats:
        """Σ rates[i]·x_i."""
        out, rest = np.zeros(self.columns), np.zeros(self.columns)
        if self.values is None:
            compiled().gather(self.codes, rates, out, rest)
        else:
            compiled().gather_valued(self.codes, self.values, rates, out, rest)
        return (out + rest) * self.unit

    def outer(self, rates: NDArray[Any]) -> NDArray[Any]:
        """Σ rates[i]·x_i x_iᵀ in squared units, symmetric; whole numbers for whole rates."""
        out = np.zeros((self.columns, self.columns), rates.dtype)
        if self.values is None:
            compiled().outer(self.codes, rates, out)
        else:
            compiled().outer_valued(self.codes, self.values, rates, out)
        upper = np.triu(out)
        return upper + np.triu(out, 1).T


def read_design(
    X: Any,
    y: Any,
    encoding: Encoding,
    *,
    contributions: int = 1,
    unexpected: str = REFUSE,
    draw: Draw | None = None,
    progress: Progress | None = None,
) -> Design:
    """Read and encode labelled rows of any source, block by block; the options are those of `read_rows`."""
    schema = encoding.schema

    def encode(rows: Rows) -> tuple[NDArray[Any], NDArray[Any] | None, NDArray[Any]]:
        assert rows.label is not None
        labels = cells(rows.label).astype(np.int16 if len(schema.classes) < 1 << 15 else np.int32)
        return *encoding.encode(rows), labels

    codes, values, labels = zip(
        *map_rows(
            encode, X, schema, y, contributions=contributions, unexpected=unexpected, draw=draw, progress=progress
        ),
        strict=True,
    )
    return Design(
        np.concatenate(codes),
        np.concatenate(values) if encoding.valued else None,
        np.concatenate(labels),
        encoding.columns,
        encoding.slots,
        encoding.scale,
    )


__all__ = ["UNIT", "Design", "Encoding", "cells", "lattice_points", "read_design"]
