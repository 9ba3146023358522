"""Columns: raw values of any make, brought into the form that counting and prediction read."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.domain import Lookup, text
from discreet.errors import DataError
from discreet.schema import Categorical, Feature, Numeric

Array = NDArray[Any]
_WIDEST = 1 << 20


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

    def encode(self) -> NDArray[np.int64]:
        """The cell of every row."""
        values, size = self.values, len(self.table)
        whole = np.floor(values) == values if values.dtype.kind == "f" else np.ones(len(values), bool)
        inside = whole & (values >= self.low) & (values < self.low + size)
        codes = np.full(len(values), self.unknown, np.int64)
        codes[inside] = self.table[values[inside].astype(np.int64) - self.low]
        if values.dtype.kind == "f":
            codes[np.isnan(values)] = self.missing
        return codes

    def complain(self) -> None:
        """Raise the error that names the first value without a cell."""
        row = int(np.argmax(self.encode() == self.feature.cells))
        value = self.values[row]
        if self.names is not None:
            value = self.names[int(value)] if int(value) < len(self.names) else None
        if value is None or (isinstance(value, float | np.floating) and math.isnan(value)):
            hint = "" if self.feature.missing == "category" else ", or declare missing = 'category' for it"
            raise DataError(f"column {self.feature.name!r} has a missing value: fill it in{hint}")
        raise DataError(
            f"column {self.feature.name!r} holds {text(value)!r}, which the schema does not list: "
            "add it to the categories or declare an 'other' bucket"
        )


@dataclass(slots=True)
class Numbers:
    """A numeric column: any real NumPy type, NaN where missing."""

    feature: Numeric
    values: Array

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

    def complain(self) -> None:
        """Raise the error that names the first value that is no number."""
        values = self.values.astype(np.float64, copy=False)
        if np.isinf(values).any():
            raise DataError(f"column {self.feature.name!r} holds an infinite value: mend it or leave it empty")
        raise DataError(
            f"column {self.feature.name!r} has a missing value: fill it in, or declare missing = 'bin' for it"
        )


Column = Codes | Numbers


def is_arrow(raw: Any) -> bool:
    """Whether this is an Arrow array or chunked array."""
    return type(raw).__module__.startswith("pyarrow.")


def make_column(feature: Feature, raw: Any) -> Column:
    """The column of a feature from a NumPy or Arrow array."""
    if isinstance(feature, Numeric):
        return Numbers(feature, _numbers(feature.name, raw))
    return _codes(feature, raw)


def _numbers(name: str, raw: Any) -> Array:
    import pyarrow as pa

    if not is_arrow(raw):
        raw = _usual(raw)
        if raw.dtype.kind in "iuf":
            return np.asarray(raw)
        raw = _to_arrow(name, raw)
    if raw.type == pa.bool_():
        raw = raw.cast(pa.uint8())
    kinds = pa.types
    if not (kinds.is_floating(raw.type) or kinds.is_integer(raw.type)) or raw.null_count:
        raw = _cast_numbers(name, raw)
    if isinstance(raw, pa.ChunkedArray):
        raw = raw.combine_chunks() if raw.num_chunks != 1 else raw.chunk(0)
        if isinstance(raw, pa.ChunkedArray):  # no chunks at all
            return np.zeros(0)
    return np.asarray(raw.to_numpy(zero_copy_only=False))


def _usual(raw: Array) -> Array:
    """Booleans as 0 and 1, numbers in the machine's own byte order and in a width that loops are compiled for."""
    if raw.dtype.kind == "b":
        return raw.view(np.uint8)
    if raw.dtype.kind == "f" and raw.dtype.itemsize not in (4, 8):
        return raw.astype(np.float64)
    return raw if raw.dtype.isnative or raw.dtype.kind not in "iuf" else raw.astype(raw.dtype.newbyteorder("="))


def _cast_numbers(name: str, raw: Any) -> Any:
    import pyarrow as pa

    kinds = pa.types
    if kinds.is_dictionary(raw.type):
        raw = raw.cast(raw.type.value_type)
    numeric = kinds.is_floating(raw.type) or kinds.is_integer(raw.type) or kinds.is_decimal(raw.type)
    if numeric or kinds.is_null(raw.type):
        return raw.cast(pa.float64(), safe=False)
    if not (kinds.is_string(raw.type) or kinds.is_large_string(raw.type) or kinds.is_string_view(raw.type)):
        raise DataError(f"column {name!r} holds values of type {raw.type}, not numbers")
    try:
        return raw.cast(pa.float64())
    except pa.ArrowInvalid:
        for value in raw.to_pylist():
            try:
                float(value if value is not None else 0)
            except ValueError:
                raise DataError(f"column {name!r} holds {value!r}, which is not a number") from None
        return pa.array([None if v is None else float(v) for v in raw.to_pylist()], pa.float64())


def _to_arrow(name: str, raw: Array) -> Any:
    """An Arrow array of a NumPy array that is not numeric; None, NaN and NaT become null."""
    import pyarrow as pa

    if raw.dtype.kind == "T":
        raw = raw.astype(object)
    try:
        return pa.array(np.ascontiguousarray(raw), from_pandas=True)
    except (pa.ArrowException, TypeError, ValueError, OverflowError):
        values = raw.tolist()
        gone = [v is None or (isinstance(v, float) and math.isnan(v)) for v in values]
        return pa.array([None if g else text(v) for v, g in zip(values, gone, strict=True)], pa.string())


def _codes(feature: Categorical, raw: Any) -> Codes:
    bad = feature.cells
    unknown = feature.other_code if feature.other_code is not None else bad
    missing = feature.missing_code if feature.missing_code is not None else bad
    lookup = feature.lookup

    def direct(values: Array) -> Codes | None:
        """Small integers index the table as they are."""
        if lookup.integers is not None:
            low, high = min(lookup.integers), max(lookup.integers)
        elif values.dtype.kind in "iu" and len(values):
            low, high = int(values.min()), int(values.max())
        else:
            return None
        if high - low >= _WIDEST or not -(2**53) < low <= high < 2**53:
            return None
        if values.dtype == np.uint64 and len(values) and values.max() >= 2**63:
            return None
        table = np.full(high - low + 1, unknown, np.int32)
        if lookup.integers is not None:
            table[np.array(lookup.integers) - low] = np.arange(len(lookup.integers))
        else:
            _fill(table, lookup, low)
        return Codes(feature, values, low, table, unknown, missing)

    if not is_arrow(raw):
        kind = raw.dtype.kind
        if kind == "b":
            table = np.array([_place(lookup, False, bad), _place(lookup, True, bad)], np.int32)
            return Codes(feature, raw.view(np.uint8), 0, table, unknown, missing)
        raw = _usual(raw)
        if kind in "iuf":
            found = direct(raw)
            if found is not None:
                return found
        raw = _to_arrow(feature.name, raw)
    return (
        _from_dictionary(feature, raw, unknown, missing)
        if not _plain_integers(raw)
        else (direct(_numbers(feature.name, raw)) or _from_dictionary(feature, raw, unknown, missing))
    )


def _plain_integers(raw: Any) -> bool:
    import pyarrow as pa

    return bool(pa.types.is_integer(raw.type) and not raw.null_count)


def _place(lookup: Lookup, value: Any, bad: int) -> int:
    code = lookup.code(value)
    return bad if code is None else code


def _fill(table: NDArray[np.int32], lookup: Lookup, low: int) -> None:
    """Enter every declared category that reads as an integer in the table's range."""
    for name, code in lookup.codes.items():
        digits = name.isascii() and name.lstrip("-").isdecimal()
        if digits and str(int(name)) == name and 0 <= int(name) - low < len(table):
            table[int(name) - low] = code
    for value in (0, 1):  # booleans stored as 0 and 1
        found = lookup.find(value)
        if found is not None and 0 <= value - low < len(table):
            table[value - low] = found


def _from_dictionary(feature: Categorical, raw: Any, unknown: int, missing: int) -> Codes:
    """Any Arrow type: index the distinct values, then look each of them up once."""
    import pyarrow as pa

    if pa.types.is_null(raw.type):
        raw = raw.cast(pa.string())
    if pa.types.is_string_view(raw.type):
        raw = raw.cast(pa.string())
    if not pa.types.is_dictionary(raw.type):
        try:
            raw = raw.dictionary_encode()
        except pa.ArrowException:
            raise DataError(f"column {feature.name!r} holds values of type {raw.type}, not categories") from None
    if isinstance(raw, pa.ChunkedArray):
        raw = raw.unify_dictionaries().combine_chunks()
        if isinstance(raw, pa.ChunkedArray):
            raw = raw.chunk(0) if raw.num_chunks else pa.array([], raw.type)
    names = raw.dictionary.to_pylist()
    bad = feature.cells

    def cell(value: Any) -> int:
        if value is None or (isinstance(value, float) and math.isnan(value)):
            return missing
        return _place(feature.lookup, value, bad)

    table = np.array([*(cell(name) for name in names), missing], np.int32)
    indices = raw.indices
    if indices.null_count:
        wide = pa.int64() if len(names) >= 2**31 - 1 else pa.int32()
        indices = indices.cast(wide).fill_null(len(names))
    return Codes(feature, indices.to_numpy(zero_copy_only=False), 0, table, unknown, missing, names)
