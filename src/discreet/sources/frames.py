"""Rows in memory: NumPy arrays, and data frames of any make through narwhals."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Set
from contextlib import suppress
from itertools import chain
from typing import Any

import numpy as np

from discreet.domain import text
from discreet.errors import DataError
from discreet.schema import Schema
from discreet.sources.blocks import Rows
from discreet.sources.columns import Codes, make_column
from discreet.sources.people import People, refuse_people
from discreet.sources.stored import NUMBERS, objects

_STORABLE = (
    {"ArrowDtype", "BooleanDtype", "DatetimeTZDtype", "StringDtype"}
    | {f"{kind}{width}Dtype" for kind in ("Int", "UInt") for width in (8, 16, 32, 64)}
    | {"Float32Dtype", "Float64Dtype"}
)


NO_IDS = "the schema names the id column {!r}: pass a data frame that has it"


def open_frame(data: Any) -> Any:
    """An eager narwhals frame around a data frame, or None if this is not one."""
    if isinstance(data, np.ndarray | list | tuple):
        return None
    import narwhals as nw

    if type(data).__module__.startswith("pyarrow.") and hasattr(data, "to_pydict") and hasattr(data, "columns"):
        import pyarrow as pa

        if isinstance(data, pa.RecordBatch):
            data = pa.Table.from_batches([data])
    try:
        frame = nw.from_native(data, pass_through=True)
        if isinstance(frame, nw.LazyFrame):
            frame = frame.collect()
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
    if isinstance(data, np.ma.MaskedArray):
        return _unmasked(data)
    listed = listing(data)
    if listed is None or not listed:
        return np.asarray(data)
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


def _unmasked(data: Any) -> Any:
    """A masked array without its mask: what is masked is missing."""
    if data.dtype.kind in "biuf":
        return data.astype(np.float64).filled(np.nan)
    return data.astype(object).filled(None)


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


def frame_rows(frame: Any, schema: Schema, labels: Any = None, *, labelled: bool = True) -> Rows:
    """The rows of a narwhals frame; labels come from `labels` or from the target column."""
    # Labels are compared as text so that integer column names of a frame meet the schema's strings.
    names = {text(name): name for name in frame.columns}
    require(schema, names, labelled=labelled and labels is None)
    columns = [make_column(f, _series(_column(frame, names[f.name]))) for f in schema.features]
    label = None
    if labelled:
        raw = _series(_column(frame, names[schema.target])) if labels is None else label_values(labels)
        label = make_label(schema, raw, len(frame))
    return Rows(columns, len(frame), label)


def _column(frame: Any, name: Any) -> Any:
    try:
        return frame[name] if isinstance(name, str) else frame[:, list(frame.columns).index(name)]
    except (KeyError, ValueError, TypeError):
        raise DataError(f"the column {name!r} cannot be read from the data frame") from None


def matrix_rows(matrix: Any, schema: Schema, labels: Any = None, *, labelled: bool = True) -> Rows:
    """The rows of a NumPy matrix whose columns stand in the schema's order."""
    if matrix.shape[1] != len(schema.features):
        raise DataError(f"X has {matrix.shape[1]} features, but the schema declares {len(schema.features)}")
    columns = [make_column(feature, matrix[:, j]) for j, feature in enumerate(schema.features)]
    label = None
    if labelled:
        if labels is None:
            raise DataError("the labels are missing: pass y, or a data frame that holds the target column")
        label = make_label(schema, label_values(labels), len(matrix))
    return Rows(columns, len(matrix), label)


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
    if isinstance(labels, np.ma.MaskedArray):
        return _unmasked(labels)
    listed = listing(labels)
    if listed is None:
        return np.asarray(labels)
    # A label in a list of its own is that label, whatever the others are in.
    return objects((_alone(one) for one in listed), len(listed))


def _alone(label: Any) -> Any:
    single = isinstance(label, list | tuple) or (isinstance(label, np.ndarray) and label.ndim == 1)
    return label[0] if single and len(label) == 1 else label


def make_label(schema: Schema, raw: Any, size: int) -> Codes:
    """The label column, of the same length as the rows."""
    if len(raw) != size:
        raise DataError(f"X and y have inconsistent numbers of samples: [{size}, {len(raw)}]")
    label = make_column(schema.label, raw)
    assert isinstance(label, Codes)
    label.label = True
    return label


def require(schema: Schema, names: Any, *, labelled: bool, identified: bool = False) -> None:
    """Raise an error that names the first column the data lack."""
    wanted = [*schema.names, *([schema.target] if labelled else [])]
    wanted += [schema.id] if identified and schema.id else []
    for name in wanted:
        if name not in names:
            have = ", ".join(repr(str(have)) for have in list(names)[:12]) or "none"
            more = ", …" if len(names) > 12 else ""
            raise DataError(f"the data have no column {name!r} (they have {have}{more})")


def check_ids(schema: Schema, contributions: int, read: Callable[[], Any]) -> None:
    """Refuse data in which some id stands in more rows than the guarantee counts on."""
    people = People()
    people.add(read())
    refuse_people(schema, contributions, people)


def frame_ids(frame: Any, schema: Schema) -> Any:
    """The id column of a frame."""
    names = {text(name): name for name in frame.columns}
    require(schema, names, labelled=False, identified=True)
    assert schema.id is not None
    return _series(_column(frame, names[schema.id]))
