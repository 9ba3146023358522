"""Rows in memory: NumPy arrays, and data frames of any make through narwhals."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping, Set
from contextlib import suppress
from itertools import chain
from typing import Any

import numpy as np

from discreet.domain import text
from discreet.errors import DataError
from discreet.schema import Schema
from discreet.sources.blocks import Rows
from discreet.sources.columns import make_column
from discreet.sources.people import People
from discreet.sources.stored import NUMBERS, objects
from discreet.sources.streams import Stream, make_label, require
from discreet.values import UNREADABLE

_STORABLE = (
    {"ArrowDtype", "BooleanDtype", "DatetimeTZDtype", "StringDtype"}
    | {f"{kind}{width}Dtype" for kind in ("Int", "UInt") for width in (8, 16, 32, 64)}
    | {"Float32Dtype", "Float64Dtype"}
)


NO_IDS = "the schema names the id column {!r}: pass a data frame that has it"


def open_frame(data: Any) -> Any:
    """An eager narwhals frame around a data frame, or None if this is not one."""
    if isinstance(data, np.ndarray | list | tuple | str | os.PathLike | Stream):
        return None
    import narwhals as nw

    if type(data).__module__.startswith("pyarrow.") and hasattr(data, "to_pydict") and hasattr(data, "columns"):
        import pyarrow as pa

        if isinstance(data, pa.RecordBatch):
            data = pa.Table.from_batches([data])
    try:
        frame = nw.from_native(data, pass_through=True)
        if isinstance(frame, nw.LazyFrame):
            raise DataError("this lazy frame gives no batches: write its rows to a Parquet file and pass the path")
        if isinstance(frame, nw.DataFrame) and len(set(frame.columns)) != len(frame.columns):
            raise nw.exceptions.DuplicateError
    except nw.exceptions.DuplicateError:
        twice = [str(name) for name in getattr(data, "columns", ())]
        names = sorted({name for name in twice if twice.count(name) > 1})
        raise DataError(f"the data frame has several columns of one name: {', '.join(names)}") from None
    return frame if isinstance(frame, nw.DataFrame) else None


def as_matrix(data: Any) -> Any:
    """A two-dimensional NumPy array, or an error that says what is wrong."""
    if hasattr(data, "toarray"):
        raise DataError("sparse input is not supported: pass a dense array or a data frame")
    matrix = _table(data)
    if matrix.ndim == 1:
        raise DataError("expected a 2D array of rows and columns, got a 1D array. Reshape your data")
    if matrix.ndim != 2:
        raise DataError(f"expected a 2D array of rows and columns, got {matrix.ndim} dimensions")
    if matrix.dtype.kind == "c":
        raise DataError("Complex data not supported")
    if not matrix.shape[1]:
        raise DataError(f"0 feature(s) (shape={matrix.shape}) while a minimum of 1 is required.")
    return matrix


def _table(data: Any) -> Any:
    """An array of the type it came in; rows that are lists keep each value as it is, whatever the others are."""
    listed = listing(data)
    if not listed:
        return _typed(data)
    data = [row if isinstance(row, list | tuple) else row_values(row) for row in listed]
    odd = next((i for i, row in enumerate(data) if row is None), None)
    if odd is not None:
        if all(row is None for row in data):
            return np.empty(len(data), object)
        raise DataError(f"row {odd} is no list of values, but other rows are")
    width = len(data[0])
    odd = next((i for i, row in enumerate(data) if len(row) != width), None)
    if odd is not None:
        raise DataError(f"row {odd} has {len(data[odd])} values, but the rows before it have {width}")
    if set(map(type, chain.from_iterable(data))) <= NUMBERS:
        with suppress(ValueError, OverflowError, ArithmeticError):  # integers beyond all doubles, signalling NaN
            return np.array(data, np.float64)
    matrix = np.empty((len(data), width), object, order="F")
    for j, values in enumerate(zip(*data, strict=True)):
        matrix[:, j] = objects(values, len(data))
    return matrix


def listing(data: Any) -> list[Any] | None:
    """A list, or whatever else is gone through row by row; None for an array or table, which has types of its own."""
    if isinstance(data, list | tuple):
        return list(data)
    if isinstance(data, np.ndarray | str | bytes | Mapping) or hasattr(data, "__array__"):
        return None
    return list(data) if isinstance(data, Iterable) else None


def row_values(row: Any) -> tuple[Any, ...] | None:
    """The values of one row, each as it is; None for what is no row, such as a word or a mapping."""
    if isinstance(row, list | tuple):
        return tuple(row)
    if isinstance(row, str | bytes | Mapping | Set) or (isinstance(row, np.ndarray) and row.ndim != 1):
        return None
    try:
        return tuple(row)
    except Exception:  # whatever an object does when it is looked at is this row's affair
        return None


def _typed(data: Any) -> Any:
    """An array of the type that the data have; what is masked is missing."""
    if not isinstance(data, np.ma.MaskedArray):
        return np.asarray(data)
    masked: Any = data
    if masked.dtype.kind in "biuf":
        return masked.astype(np.float64).filled(np.nan)
    return masked.astype(object).filled(None)


def _series(series: Any) -> Any:
    """A narwhals series as a NumPy array where that is free of copies and losses, else as Arrow."""
    native = series.to_native()
    kind = getattr(native, "dtype", None)
    home = type(native).__module__.split(".")[0]
    if home == "polars":
        if str(kind) in {"Object", "Int128", "UInt128"}:
            return objects(native.to_list(), len(native))
    elif isinstance(kind, np.dtype) and kind.kind in "Obiuf":  # objects: values of several types may share a column
        return native.to_numpy()
    elif home == "pandas" and not _storable(kind):
        return objects(native, len(native))
    plain = series.dtype.is_numeric() and not series.dtype.is_decimal()
    if plain and not series.null_count():
        values = series.to_numpy()
        if values.dtype.kind in "iuf":
            return values
    return series.to_arrow()


def _storable(kind: Any) -> bool:
    """Whether a pandas type keeps its values as Arrow would, so that all of them go through the rule alike."""
    if isinstance(kind, np.dtype):
        return kind.kind in "biufMm"
    if type(kind).__name__ == "CategoricalDtype":
        return bool(_storable(kind.categories.dtype))
    return type(kind).__name__ in _STORABLE


class Memory(Stream):
    """Rows in memory, which are one batch, and the labels beside them."""

    def __init__(self, data: Any, labels: Any = None, lenient: bool = False) -> None:
        self.frame, self.data, self.lenient = open_frame(data), data, lenient
        self.labels = None if labels is None else label_values(labels)
        # Names are compared as text so that integer column names of a frame meet the schema's strings.
        self.columns = {} if self.frame is None else {text(name): name for name in self.frame.columns}
        self.names = list(self.columns)

    def batches(self, wanted: list[str]) -> Iterator[dict[str, Any]]:
        yield {name: _series(_column(self.frame, self.columns[name])) for name in wanted}

    def ids(self, schema: Schema) -> Any:
        """The id column."""
        if self.frame is None or schema.id is None:
            raise DataError(f"the schema names the id column {schema.id!r}: pass a data frame that has it")
        require(schema, self.names, labelled=False, identified=True)
        return next(self.batches([schema.id]))[schema.id]

    def people(self, schema: Schema) -> People:
        people = People()
        people.add(self.ids(schema))
        return people

    def rows(self, schema: Schema, *, labelled: bool = True, identified: bool = False) -> Iterator[tuple[Rows, Any]]:
        if self.frame is not None:
            yield from super().rows(schema, labelled=labelled, identified=identified)
            return
        matrix, width = self.table(schema), len(schema.features)
        if matrix.shape[1] != width:
            raise DataError(f"X has {matrix.shape[1]} features, but the schema declares {width}")
        columns = [make_column(feature, matrix[:, j]) for j, feature in enumerate(schema.features)]
        if labelled and self.labels is None:
            raise DataError("the labels are missing: pass y, or a data frame that holds the target column")
        yield Rows(columns, len(matrix), make_label(schema, self.labels, len(matrix)) if labelled else None), None

    def table(self, schema: Schema) -> Any:
        """A narwhals frame, or a matrix with one column for each feature."""
        if self.frame is not None:
            return self.frame
        return as_matrix(even_rows(self.data, len(schema.features)) if self.lenient else self.data)


def even_rows(data: Any, width: int) -> Any:
    """Rows in lists with as many values as there are features; of any other row no value can be read.

    Arrays and tables are left as they are.
    """
    listed = listing(data)
    if listed is None:
        return data
    rows = [row_values(row) for row in listed]
    blank = (UNREADABLE,) * width
    return [row if row is not None and len(row) == width else blank for row in rows] or np.empty((0, width), object)


def _column(frame: Any, name: Any) -> Any:
    try:
        return frame[name] if isinstance(name, str) else frame[:, list(frame.columns).index(name)]
    except (KeyError, ValueError, TypeError):
        raise DataError(f"the column {name!r} cannot be read from the data frame") from None


def label_values(labels: Any) -> Any:
    """Labels from a series, an array or a list, as a one-dimensional NumPy or Arrow array."""
    if not isinstance(labels, np.ndarray | list | tuple):
        import narwhals as nw

        series = nw.from_native(labels, pass_through=True, allow_series=True)
        if isinstance(series, nw.Series):
            return _series(series)
        if isinstance(series, nw.DataFrame) and len(series.columns) == 1:
            return _series(series[series.columns[0]])
    values = _line(labels)
    if values.ndim == 2 and values.shape[1] == 1:
        import warnings

        from sklearn.exceptions import DataConversionWarning

        warnings.warn("A column-vector y was passed when a 1d array was expected.", DataConversionWarning, stacklevel=3)
        values = values[:, 0]
    if values.ndim != 1:
        raise DataError(f"y should be a 1d array, got an array of shape {values.shape} instead")
    return values


def _line(labels: Any) -> Any:
    """An array of the type it came in; a list keeps each value as it is, whatever the others are."""
    listed = listing(labels)
    if listed is None:
        return _typed(labels)
    # A label in a list of its own is that label, whatever the others are in.
    return objects((_alone(one) for one in listed), len(listed))


def _alone(label: Any) -> Any:
    single = isinstance(label, list | tuple) or (isinstance(label, np.ndarray) and label.ndim == 1)
    return label[0] if single and len(label) == 1 else label
