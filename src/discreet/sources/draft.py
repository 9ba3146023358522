"""Drafts: a schema read off the data for a person to edit, which is itself a disclosure."""

from __future__ import annotations

import math
import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from discreet.domain import text
from discreet.errors import DataError
from discreet.schema import Categorical, Feature, Numeric, Schema
from discreet.sources.asks import Workers
from discreet.sources.files import Arrow
from discreet.sources.frames import Memory, as_matrix, label_values
from discreet.sources.lazy import Lazy
from discreet.sources.source import NO_ROWS, rows_of
from discreet.sources.stored import is_arrow
from discreet.sources.streams import Stream, open_stream
from discreet.sources.tables import Duck, private_duckdb

WARNING = (
    "This draft was read off the data, so it discloses their ranges, categories and classes.\n"
    "Replace what it says by what is publicly known before you rely on any guarantee:\n"
    "bounds from documentation or common sense, the full list of categories that can occur."
)
OPEN_WARNING = (
    "This draft was read off the data, so it discloses their categories and classes; bounds are left open.\n"
    "Replace what it says by what is publicly known before you rely on any guarantee: limits from documentation or\n"
    "common sense, the full list of categories that can occur."
)
MANY_TEXTS = 200
FEW_INTEGERS = 10
_INTEGERS = {
    "TINYINT",
    "SMALLINT",
    "INTEGER",
    "BIGINT",
    "UTINYINT",
    "USMALLINT",
    "UINTEGER",
    "UBIGINT",
    "HUGEINT",
}


@dataclass
class Draft:
    """A drafted schema and the columns that were left out of it, with the reason."""

    schema: Schema
    left_out: dict[str, str]


def check_labels(y: Any) -> None:
    """Refuse a target that is no class label, such as a continuous number."""
    from sklearn.utils.multiclass import check_classification_targets

    try:
        check_classification_targets(y)
    except ValueError as error:
        raise DataError(str(error).splitlines()[0]) from None


def draft_schema(X: Any, y: Any = None, *, target: str = "target", classes: Sequence[Any] = ()) -> Schema:
    """The schema of `draft`, for callers who do not ask what was left out."""
    found = draft(X, y, target=target, classes=classes)
    for name, reason in found.left_out.items():
        warnings.warn(f"the schema leaves out {name!r}: {reason}", stacklevel=4)
    return found.schema


def draft(
    X: Any, y: Any = None, *, target: str = "target", classes: Sequence[Any] = (), private: bool = False
) -> Draft:
    """Read bounds, categories and classes off the data; the schema is marked as inferred.

    With `private` the bounds of numbers are left open, to be bought.
    """
    X, y = rows_of(X, y)
    if y is not None:
        labels = np.asarray(y) if isinstance(y, list | tuple) else y
        labels = label_values(labels)
        labels = labels.to_numpy(zero_copy_only=False) if not isinstance(labels, np.ndarray) else labels
        if labels.dtype.kind == "f" and not np.isfinite(labels).all():
            raise DataError("Input y contains NaN or infinity: every row needs a class")
        check_labels(labels)
        classes = list(classes) if len(classes) else _distinct(labels)
        if len(classes) < 2:
            raise DataError("the labels hold only one class: a classifier needs at least two")
    stream = _relation(X)
    try:
        if y is None and not len(classes):
            if target not in stream.names:
                raise DataError(f"the data have no column {target!r} to serve as the target")
            classes = _labels(stream, target)
        features, left_out = _features(stream, skip=() if y is not None else (target,))
    finally:
        stream.close()
    if not features:
        raise DataError("no column could serve as a feature")
    if private:
        features = [
            Numeric(one.name, integer=one.integer, missing=one.missing, bounds="private")
            if isinstance(one, Numeric)
            else one
            for one in features
        ]
    plain = [int(c) if isinstance(c, float) and c.is_integer() else c for c in classes]
    return Draft(Schema(features=features, target=target, classes=plain, inferred=True), left_out)


def _distinct(labels: Any) -> list[Any]:
    try:
        return [value.item() if hasattr(value, "item") else value for value in np.unique(labels)]
    except TypeError:
        return sorted({text(value) for value in labels})


def _labels(stream: Duck, target: str) -> list[Any]:
    item = stream.items[target]
    rows = stream.ask(f"SELECT DISTINCT {item} FROM {stream.source} WHERE {item} IS NOT NULL ORDER BY 1 LIMIT 1001")
    if len(rows) > 1000:
        raise DataError(f"the column {target!r} has more than 1,000 values: it is no class label")
    return [row[0] if isinstance(row[0], bool | int | str | float) else text(row[0]) for row in rows]


def _spooled(stream: Stream) -> Duck:
    """The rows of a lazy frame, batch by batch in a DuckDB of our own, which keeps what is too much on disk."""
    import pyarrow as pa

    connection, folder = private_duckdb(memory_limit="1GB")
    into = "CREATE TABLE rows AS"
    for batch in stream.batches(stream.names):
        columns = [raw if is_arrow(raw) else _column(raw) for raw in batch.values()]
        connection.register("batch", pa.table(columns, list(batch)))
        connection.execute(f"{into} SELECT * FROM batch")
        into = "INSERT INTO rows"
    stream.close()
    if into != "INSERT INTO rows":
        raise DataError(NO_ROWS)
    return Duck(connection, "rows", [], folder=folder)


def _relation(X: Any) -> Duck:
    """Any source as something DuckDB can select from."""
    import pyarrow as pa

    stream = open_stream(X)
    if isinstance(stream, Duck):
        return _typed(stream) if stream.texts else stream
    if isinstance(stream, Lazy | Workers):
        return _spooled(stream)
    if isinstance(stream, Arrow):
        stream = Memory(stream.data.to_table())
    if not isinstance(stream, Memory):
        batches = list(stream.batches(stream.names))
        if not batches:
            raise DataError("there are no rows")
        columns = {name: _joined([batch[name] for batch in batches]) for name in stream.names}
        stream.close()
    elif stream.frame is not None:
        frame = stream.frame
        series = [frame[name] if isinstance(name, str) else frame[:, i] for i, name in enumerate(frame.columns)]
        columns = {text(name): _arrow(one) for name, one in zip(frame.columns, series, strict=True)}
    else:
        matrix = as_matrix(X)
        if matrix.dtype.kind == "f" and np.isinf(matrix).any():
            raise DataError("Input X contains infinity (inf)")
        columns = {f"x{j}": _column(matrix[:, j]) for j in range(matrix.shape[1])}
    if not columns:
        raise DataError("the data have no columns")
    if not len(next(iter(columns.values()))):
        raise DataError(NO_ROWS)
    connection, folder = private_duckdb()
    connection.register("rows", pa.table(columns))
    return Duck(connection, "rows", [], folder=folder)


def _typed(stream: Duck) -> Duck:
    """CSV columns with the types they seem to have; '007' is a code and 'yes' a word, not a number or a flag."""
    items = []
    for name in stream.names:
        item = stream.items[name]
        number, whole = stream.ask(
            f"SELECT bool_and(TRY_CAST({item} AS DOUBLE) IS NOT NULL AND NOT regexp_matches({item}, '^0[0-9]')), "
            f"bool_and(regexp_full_match({item}, '[+-]?[0-9]{{1,18}}')) FROM {stream.source} WHERE {item} IS NOT NULL"
        )[0]
        kind = "BIGINT" if number and whole else "DOUBLE" if number else "VARCHAR"
        items.append(f"CAST({item} AS {kind}) AS {item}")
    source = f"(SELECT {', '.join(items)} FROM {stream.source})"
    return Duck(
        stream.connection, source, stream.parameters, names=stream.names, label=stream.label, folder=stream.folder
    )


def _arrow(series: Any) -> Any:
    native = series.to_native()
    return (
        _column(native.to_numpy())
        if isinstance(getattr(native, "dtype", None), np.dtypes.ObjectDType)
        else series.to_arrow()
    )


def _joined(parts: list[Any]) -> Any:
    """A column of several batches as an Arrow array."""
    import pyarrow as pa

    if isinstance(parts[0], pa.ChunkedArray):
        return pa.chunked_array([chunk for part in parts for chunk in part.chunks], parts[0].type)
    return _column(np.concatenate(parts))


def _column(values: Any) -> Any:
    import pyarrow as pa

    try:
        return pa.array(np.ascontiguousarray(values), from_pandas=True)
    except (pa.ArrowException, TypeError):
        return pa.array([None if value is None else text(value) for value in values.tolist()])


def _features(stream: Duck, skip: Sequence[str]) -> tuple[list[Feature], dict[str, str]]:
    names = [name for name in stream.names if name not in skip]
    features: list[Feature] = []
    left_out: dict[str, str] = {}
    for name in names:
        item, kind = stream.items[name], stream.types[name].split("(")[0]
        distinct, nulls, rows = stream.ask(
            f"SELECT count(DISTINCT {item}), count(*) - count({item}), count(*) FROM {stream.source}"
        )[0]
        if not distinct:
            left_out[name] = "it has no values"
        elif kind in {"DOUBLE", "FLOAT", "DECIMAL"} or (kind in _INTEGERS and distinct > FEW_INTEGERS):
            features.append(_number(stream, name, kind in _INTEGERS, bool(nulls)))
        elif kind in {"VARCHAR", "BOOLEAN", "ENUM"} or kind in _INTEGERS:
            if distinct > MANY_TEXTS or (kind == "VARCHAR" and distinct > 20 and distinct > 0.9 * rows):
                left_out[name] = "it has so many values that it looks like an identifier or free text"
                continue
            found = stream.ask(f"SELECT DISTINCT {item} FROM {stream.source} WHERE {item} IS NOT NULL ORDER BY 1")
            missing = "category" if nulls else "error"
            features.append(Categorical(name, [row[0] for row in found], missing=missing))
        else:
            left_out[name] = f"values of type {kind.lower()} need a person's decision"
    return features, left_out


def _number(stream: Duck, name: str, integer: bool, nulls: bool) -> Numeric:
    item = stream.items[name]
    low, high, nan = stream.ask(
        f"SELECT CAST(min({item}) FILTER (NOT isnan({item})) AS DOUBLE), "
        f"CAST(max({item}) FILTER (NOT isnan({item})) AS DOUBLE), bool_or(isnan({item})) "
        f"FROM (SELECT CAST({item} AS DOUBLE) AS {item} FROM {stream.source})"
    )[0]
    if low is None:
        raise DataError(f"column {name!r} has no numbers")
    if math.isinf(low) or math.isinf(high):
        raise DataError(f"column {name!r} holds an infinite value (inf)")
    low, high = _outward(low, high)
    return Numeric(name, low, high, integer=integer, missing="bin" if nulls or nan else "error")


def _outward(low: float, high: float) -> tuple[float, float]:
    """Bounds that contain the values, rounded to two significant digits of their distance."""
    least, most = low, high
    width = high - low or max(abs(low), 1.0)
    unit = 10.0 ** (math.floor(math.log10(width)) - 1)
    low, high = math.floor(low / unit) * unit, math.ceil(high / unit) * unit
    if unit >= 1:
        low, high = float(round(low)), float(round(high))
    short = float(f"{low:.12g}"), float(f"{high:.12g}")  # 0.3 instead of 0.30000000000000004
    if short[0] <= least and most <= short[1]:
        low, high = short
    low, high = min(low, least), max(high, most)
    return (low, high) if low < high else (low, low + unit)
