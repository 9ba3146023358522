"""Columns: raw values of any make, brought into the form that counting and prediction read."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.errors import DataError
from discreet.schema import Categorical, Date, Feature, Numeric
from discreet.sources.stored import Distinct, distinct, distinct_numbers, doubles, first_odd, is_arrow, simple, stored
from discreet.values import Nested, is_missing, text

Array = NDArray[Any]
GONE = np.int32(-(1 << 31))  # stands for a missing number among lattice points,
ODD = GONE + np.int32(1)  # and this for one that is infinite or none
_WIDEST = 1 << 20
_EPOCH, _NO_DAY = date(1970, 1, 1), (1 << 31) - 1  # the latter is beyond all years that dates have


@dataclass(slots=True)
class Codes:
    """A categorical column: `table[value - low]` is the cell of a value.

    A value without a cell gets the code `feature.cells`, one past the last: a bad value, never dropped.
    """

    feature: Categorical
    values: Array
    low: int
    table: NDArray[np.int32]
    unknown: int
    missing: int
    names: list[Any] | None = None
    label: bool = False

    def encode(self) -> NDArray[np.int64]:
        """The cell of every row."""
        values, size = self.values, len(self.table)
        if values.dtype == np.float32:  # so that the bounds of the table are not rounded to single precision
            values = values.astype(np.float64)
        whole = np.floor(values) == values if values.dtype.kind == "f" else np.ones(len(values), bool)
        inside = whole & (values >= self.low) & (values < self.low + size)
        codes = np.full(len(values), self.unknown, np.int64)
        codes[inside] = self.table[values[inside].astype(np.int64) - self.low]
        if values.dtype.kind == "f":
            codes[np.isnan(values)] = self.missing
        return codes

    def bad(self) -> NDArray[np.bool_]:
        """Which rows hold a value without a cell."""
        return np.asarray(self.encode() == self.feature.cells)

    def raw(self, row: int) -> Any:
        """A row's value as it came, None if it is missing."""
        return self.raw_of(self.values[row])

    def raw_of(self, value: Any) -> Any:
        """One of the values as it came, None if it is missing."""
        if self.names is not None:
            value = self.names[int(value)] if int(value) < len(self.names) else None
        return None if is_missing(value) else value

    def complain(self) -> None:
        """Raise the error that names the first value without a cell."""
        name, value = self.feature.name, self.raw(int(np.argmax(self.bad())))
        if value is None:
            if self.label:
                raise DataError(
                    f"column {name!r} has a missing value, and a row without a class teaches nothing: leave such rows "
                    "out, or let unexpected='absorb' (--unexpected absorb) do so"
                )
            raise DataError(f"column {name!r} has a missing value: fill it in, or declare missing = 'category' for it")
        if isinstance(value, Nested):
            raise DataError(f"column {name!r} holds values of type {value.kind}, not categories")
        if self.label:
            classes = ", ".join(repr(one) for one in self.feature.labels[:6]) + (
                ", …" if self.feature.cells > 6 else ""
            )
            raise DataError(f"column {name!r} holds {text(value)!r}, which the schema does not list among the classes "
                            f"({classes}): add it there, or mend the column")  # fmt: skip
        raise DataError(
            f"column {name!r} holds {text(value)!r}, which the schema does not list: "
            "add it to the categories or declare an 'other' bucket"
        )


@dataclass(slots=True)
class Numbers:
    """A numeric column: any real NumPy type, NaN where missing, infinite where a value is no number or infinite.

    `odd` is the first value that is no number, for the error that names it.
    """

    feature: Numeric
    values: Array
    odd: Any = None

    def clipped(self) -> NDArray[np.float64]:
        """The values as doubles inside the public bounds, NaN kept."""
        values = self.values.astype(np.float64, copy=False)
        return np.clip(values, self.feature.lower, self.feature.upper)

    def points(self) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
        """The lattice point of every row, and which rows are missing."""
        lattice, clipped = self.feature.lattice, self.clipped()
        gone = np.isnan(clipped)
        points = np.rint((clipped - lattice.middle) * lattice.inverse)
        points = np.clip(np.where(gone, 0.0, points), -lattice.half, lattice.half)
        return points.astype(np.int64), gone

    def bad(self) -> NDArray[np.bool_]:
        """Which rows hold a value that has no place: none that is finite, and none where missing values may be."""
        if self.feature.missing_code is not None or self.values.dtype.kind != "f":
            return self.infinite()
        return ~np.isfinite(self.values)

    def infinite(self) -> NDArray[np.bool_]:
        """Which rows hold a value that is infinite, or no number."""
        return np.isinf(self.values) if self.values.dtype.kind == "f" else np.zeros(len(self.values), bool)

    def complain(self) -> None:
        """Raise the error that names the first value that is no number."""
        name = self.feature.name
        if not self.infinite().any():
            raise DataError(f"column {name!r} has a missing value: fill it in, or declare missing = 'bin' for it")
        if self.odd is None:
            raise DataError(f"column {name!r} holds an infinite value: mend it or leave it empty")
        if isinstance(self.odd, Nested):
            raise DataError(f"column {name!r} holds values of type {self.odd.kind}, not numbers")
        if isinstance(self.feature, Date):
            written = f"in the format {self.feature.format}" if self.feature.format else "as 2024-01-31"
            raise DataError(f"column {name!r} holds {text(self.odd)!r}, which is not a date {written}: mend it, or say "
                            "by format how dates are written")  # fmt: skip
        raise DataError(f"column {name!r} holds {text(self.odd)!r}, which is not a number")


@dataclass(slots=True)
class Points(Numbers):
    """A numeric column as points of its lattice, GONE where missing; ODD has no place, and is in no rows held."""

    def clipped(self) -> NDArray[np.float64]:
        lattice, (points, gone) = self.feature.lattice, self.points()
        values = np.clip(lattice.middle + points * float(lattice.step), self.feature.lower, self.feature.upper)
        return np.where(gone, np.nan, np.where(self.infinite(), np.inf, values))

    def points(self) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
        return np.where(self.values <= ODD, 0, self.values).astype(np.int64), self.values == GONE

    def bad(self) -> NDArray[np.bool_]:
        return self.infinite() if self.feature.missing_code is not None else np.asarray(self.values <= ODD)

    def infinite(self) -> NDArray[np.bool_]:
        return np.asarray(self.values == ODD)


Column = Codes | Numbers


def make_column(feature: Feature, raw: Any) -> Column:
    """The column of a feature from a NumPy or Arrow array; no value in it raises, whatever it is."""
    if isinstance(feature, Numeric):
        return Numbers(feature, *(doubles(raw) if feature.plain else places(feature, raw)))
    found = stored(raw)
    if isinstance(found, Distinct):
        return _by_name(feature, found)
    if not feature.plain:
        return _by_name(feature, distinct_numbers(found))
    return _by_number(feature, found) or _by_name(feature, distinct_numbers(found))


def places(feature: Numeric, raw: Any) -> tuple[Array, Any]:
    """The place of each row's value as `feature.number` gives it, each distinct value read once, and the first odd one.

    Doubles need no reading: they are found among the thresholds of a scale, or are their own places.
    """
    found = simple(raw)
    if isinstance(found, np.ndarray) and not isinstance(feature, Date):
        return (found, None) if feature.transform is None else (on_scale(feature, found), None)
    if isinstance(found, np.ndarray):
        found = distinct_numbers(found)
    elif is_arrow(found):
        found = distinct(found)
    table = np.array([*(feature.number(name) for name in found.names), np.nan], np.float64)
    values = table[found.indices]
    return values, first_odd(raw, found, values, isinstance(feature, Date))


def written(feature: Numeric, values: NDArray[np.float64]) -> Any:
    """Places as an Arrow array of values that have the same places when they are read again."""
    import pyarrow as pa

    if feature.direct:
        return pa.array(values, pa.float64(), mask=np.isnan(values))
    every, where = np.unique(values, return_inverse=True)
    if isinstance(feature, Date):  # as days since 1970, for a format may leave out what tells the place
        days = [None if one != one else _NO_DAY if np.isinf(one) else (feature.day(one) - _EPOCH).days
                for one in every.tolist()]  # fmt: skip
        return pa.array(days, pa.int32()).cast(pa.date32()).take(pa.array(where))
    names = [None if one != one else np.inf if np.isinf(one) else feature.again(one) for one in every.tolist()]
    return pa.array(names, pa.float64()).take(pa.array(where))


def on_scale(feature: Numeric, values: Array) -> NDArray[np.float64]:
    """The places of doubles on a scale, NaN and infinite ones as they are."""
    values = values.astype(np.float64, copy=False)
    spots = np.searchsorted(np.array(feature.thresholds), values, side="right")
    return np.where(np.isfinite(values), np.array(feature.places)[spots], values)


def _places(feature: Categorical) -> tuple[int, int]:
    """The cells of unknown and of missing values, `feature.cells` if they have none."""
    bad = feature.cells
    unknown = feature.other_code if feature.other_code is not None else bad
    return unknown, feature.missing_code if feature.missing_code is not None else bad


def _by_number(feature: Categorical, values: Array) -> Codes | None:
    """Small whole numbers index the table as they are."""
    lookup = feature.lookup
    if lookup.integers is not None:
        low, high = min(lookup.integers), max(lookup.integers)
    elif values.dtype.kind in "iu" and len(values):
        low, high = int(values.min()), int(values.max())
    else:
        return None
    # Below 2**53 an integer is its own double, so that looking for it among integers is the rule.
    if high - low >= _WIDEST or not -(2**53) < low <= high < 2**53:
        return None
    if values.dtype == np.uint64 and len(values) and values.max() >= 2**63:
        return None
    unknown, missing = _places(feature)
    table = np.full(high - low + 1, unknown, np.int32)
    numbers = np.fromiter(lookup.numbers, np.float64, len(lookup.numbers))
    codes = np.fromiter(lookup.numbers.values(), np.int32, len(numbers))
    whole = (low <= numbers) & (numbers <= high) & (numbers == np.floor(numbers))
    table[numbers[whole].astype(np.int64) - low] = codes[whole]
    return Codes(feature, values, low, table, unknown, missing)


def _by_name(feature: Categorical, found: Distinct) -> Codes:
    """Look each distinct value up once."""
    bad = feature.cells
    unknown, missing = _places(feature)

    def cell(value: Any) -> int:
        if is_missing(value):
            return missing
        code = feature.lookup.code(value)
        return bad if code is None else code

    table = np.array([*(cell(name) for name in found.names), missing], np.int32)
    return Codes(feature, found.indices, 0, table, unknown, missing, found.names)
