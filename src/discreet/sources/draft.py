"""Drafts: a schema read off the data for a person to edit, which is itself a disclosure."""

from __future__ import annotations

import difflib
import math
import re
import warnings
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date, timedelta
from typing import Any

import numpy as np

from discreet.errors import DataError
from discreet.schema import Categorical, Date, Feature, Numeric, Schema
from discreet.sources.asks import Workers
from discreet.sources.files import Arrow
from discreet.sources.frames import Memory, as_matrix, label_values
from discreet.sources.lazy import Lazy
from discreet.sources.recognise import GONE, alike, date_unit, dates, is_flag, numbers
from discreet.sources.source import NO_ROWS, rows_of
from discreet.sources.stored import is_arrow
from discreet.sources.streams import Stream, open_stream
from discreet.sources.tables import Duck, private_duckdb
from discreet.values import text, unicode

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


MOST_READ = 20_000  # distinct texts of a column that are looked at, the most frequent ones first
SKEWED = 10  # times as far as the middle value the largest is from the least, of a skewed number
TOP = 20  # categories of a column with many, if they make up most of its rows
MANY_CLASSES = 30  # numbers of a target, beyond which they are no classes
_ID = re.compile(
    r"(?:^|[_ .-])(?:id|ids|mrn|uuid|guid|ssn|nhs|key|nr|no|number|patient|person|customer)$", re.IGNORECASE
)
_DATES = ("DATE", "TIMESTAMP")


@dataclass
class Draft:
    """A drafted schema, the columns that were left out of it with the reason, and what was seen in each feature."""

    schema: Schema
    left_out: dict[str, str]
    seen: dict[str, list[str]] = field(default_factory=dict)
    ids: list[str] = field(default_factory=list)


@dataclass
class Looked:
    """What was seen in the columns of a table."""

    features: list[Feature] = field(default_factory=list)
    left_out: dict[str, str] = field(default_factory=dict)
    seen: dict[str, list[str]] = field(default_factory=dict)
    ids: list[str] = field(default_factory=list)


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
    if isinstance(y, str):
        raise DataError(f"y holds the labels themselves: to name a column write Schema.infer(data, target={y!r})")
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
                near = difflib.get_close_matches(target, [str(one) for one in stream.names], 1)
                hint = f": did you mean {near[0]!r}?" if near else ""
                raise DataError(f"the data have no column {target!r} to serve as the target{hint}")
            classes = _labels(stream, target)
        looked = _look(stream, skip=() if y is not None else (target,))
        empty = not looked.features and not stream.ask(f"SELECT 1 FROM {stream.source} LIMIT 1")
        features = looked.features
    finally:
        stream.close()
    if empty:
        raise DataError("the data have no rows to draft a schema from")
    if not features:
        raise DataError("no column could serve as a feature")
    if private:
        features = [
            Numeric(one.name, integer=one.integer, missing=one.missing, parse=one.parse, bounds="private")
            if isinstance(one, Numeric) and one.direct
            else one
            for one in features
        ]
    plain = [int(c) if isinstance(c, float) and c.is_integer() else c for c in classes]
    return Draft(Schema(features=features, target=target, classes=plain, inferred=True), looked.left_out, looked.seen,
                 looked.ids)  # fmt: skip


def look(X: Any) -> Looked:
    """What is in the columns of any source, for the holder of the data alone."""
    stream = _relation(rows_of(X)[0])
    try:
        return _look(stream, ())
    finally:
        stream.close()


def _distinct(labels: Any) -> list[Any]:
    try:
        return [value.item() if hasattr(value, "item") else value for value in np.unique(labels)]
    except TypeError:
        return sorted({text(value) for value in labels})


def _labels(stream: Duck, target: str) -> list[Any]:
    item = stream.items[target]
    rows = stream.ask(f"SELECT DISTINCT {item} FROM {stream.source} WHERE {item} IS NOT NULL ORDER BY 1 LIMIT 1001")
    kind = stream.types[target].split("(")[0]
    texts = {str(row[0]): 1 for row in rows} if kind == "VARCHAR" else {}
    dirty = len(rows) > MANY_CLASSES and texts and numbers(texts) is not None  # such as "unknown" among ages
    if len(rows) > MANY_CLASSES and (dirty or kind in _INTEGERS or kind in {"DOUBLE", "FLOAT", "DECIMAL"}):
        many = "more than 1,000" if len(rows) > 1000 else str(len(rows))
        raise DataError(
            f"the column {target!r} holds numbers ({many} different ones), which are no classes: make a column of "
            f"classes first, such as whether {target!r} is above a limit, and name that one"
        )
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
    """CSV columns with the types they seem to have; '007' is a code and 'yes' a word, not a number or a flag.

    They are read once, into a table of the same private database.
    """
    stream.ask(f"CREATE TEMP TABLE read_once AS SELECT * FROM {stream.source}")
    kinds: list[str] = []
    for some in _chunks(stream.names):
        asked = ", ".join(
            f"bool_and(TRY_CAST({item} AS DOUBLE) IS NOT NULL AND NOT regexp_matches({item}, '^[+-]?0[0-9]')) "
            f"FILTER ({item} IS NOT NULL), "
            f"bool_and(regexp_full_match({item}, '[+-]?[0-9]{{1,18}}'))"
            for item in (stream.items[name] for name in some)
        )
        found = stream.connection.execute(f"SELECT {asked} FROM read_once").fetchall()[0]
        kinds += ["BIGINT" if number and whole else "DOUBLE" if number else "VARCHAR"
                  for number, whole in zip(found[::2], found[1::2], strict=True)]  # fmt: skip
    items = [f"CAST({stream.items[name]} AS {kind}) AS {stream.items[name]}"
             for name, kind in zip(stream.names, kinds, strict=True)]  # fmt: skip
    source = f"(SELECT {', '.join(items)} FROM read_once)"
    return Duck(stream.connection, source, [], names=stream.names, label=stream.label, folder=stream.folder)


def _chunks(names: Sequence[str]) -> Iterator[Sequence[str]]:
    """Columns that one statement asks about."""
    return (names[start : start + 32] for start in range(0, len(names), 32))


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
    except (pa.ArrowException, TypeError, OverflowError, UnicodeError):
        return pa.array([None if value is None else unicode(text(value)) for value in values.tolist()])


def _look(stream: Duck, skip: Sequence[str]) -> Looked:
    found = Looked()
    names = [name for name in stream.names if name not in skip]
    rows = int(stream.ask(f"SELECT count(*) FROM {stream.source}")[0][0])
    for some in _chunks(names):
        asked = ", ".join(f"count(DISTINCT {stream.items[name]}), count({stream.items[name]})" for name in some)
        answer = stream.ask(f"SELECT {asked} FROM {stream.source}")[0]
        for name, distinct, there in zip(some, answer[::2], answer[1::2], strict=True):
            _column_of(found, stream, name, int(distinct), rows - int(there), rows)
    return found


def _column_of(found: Looked, stream: Duck, name: str, distinct: int, nulls: int, rows: int) -> None:
    """Take down what one column holds, and the feature that would declare it."""
    kind = stream.types[name].split("(")[0]
    note = found.seen.setdefault(name, [])
    if nulls:
        note.append(f"missing in {_share(nulls, rows)} of the rows")
    if (
        _ID.search(name)
        and distinct > 20
        and (distinct > 0.5 * rows or kind == "UUID")
        and kind not in {"DOUBLE", "FLOAT"}
    ):
        found.ids.append(name)
        found.left_out[name] = "it has so many values that it looks like an identifier"
        if distinct < rows:
            found.left_out[name] += f", with several rows for some: declare id = {name!r} so that people are protected"
    elif not distinct:
        found.left_out[name] = "it has no values"
    elif kind in {"DOUBLE", "FLOAT", "DECIMAL"} or (kind in _INTEGERS and distinct > FEW_INTEGERS):
        found.features.append(_number(stream, name, kind in _INTEGERS, bool(nulls), note))
    elif kind == "VARCHAR":
        _text_column(found, stream, name, distinct, nulls, rows)
    elif kind in {"BOOLEAN", "ENUM"} or kind in _INTEGERS:
        note.append(f"{distinct} values: are these all that can occur?")
        found.features.append(Categorical(name, _values_of(stream, name), missing="category" if nulls else "error"))
    elif kind.startswith(_DATES):
        item = stream.items[name]
        low, high = stream.ask(f"SELECT CAST(min({item}) AS DATE), CAST(max({item}) AS DATE) FROM {stream.source}")[0]
        if not isinstance(low, date) or not isinstance(high, date) or high.year > 9000:
            found.left_out[name] = "its dates are beyond the calendar"
        else:
            found.features.append(_dated(name, low, high, None, bool(nulls), note))
    else:
        found.left_out[name] = f"values of type {kind.lower()} need a person's decision"


def _share(part: int, whole: int) -> str:
    return f"{part / whole:.1%}" if part >= whole / 1000 else f"{part} of {whole}"


def _values_of(stream: Duck, name: str) -> list[Any]:
    item = stream.items[name]
    found = stream.ask(f"SELECT DISTINCT {item} FROM {stream.source} WHERE {item} IS NOT NULL ORDER BY 1")
    return [row[0] for row in found]


def _text_column(found: Looked, stream: Duck, name: str, distinct: int, nulls: int, rows: int) -> None:
    """A column of texts: numbers as people write them, dates, categories, or too many of anything."""
    item, note = stream.items[name], found.seen[name]
    counted = {
        str(value): int(count) for value, count in stream.ask(
            f"SELECT {item}, count(*) FROM {stream.source} WHERE {item} IS NOT NULL GROUP BY 1 "
            f"ORDER BY 2 DESC, 1 LIMIT {MOST_READ}"
        )
    }  # fmt: skip
    dated = dates(counted) if distinct > 2 else None
    dirty = numbers(counted) if dated is None and distinct > FEW_INTEGERS else None
    if dirty is not None and not any(re.fullmatch(r"\s*[+-]?0[0-9]+\s*", one) for one in counted):
        note.append(
            f"numbers in texts such as {_examples(counted)}, read by parse = {dirty.rule!r}: is that what they mean?"
        )
        _left_over(dirty.left, note)
        low, high = _outward(dirty.low, dirty.high)
        note.append("bounds are read off the data: replace them by public ones")
        _skewed(low, dirty.middle, high, note)
        missing = "bin" if nulls or dirty.missing else "error"
        found.features.append(Numeric(name, low, high, parse=dirty.rule or None, missing=missing))
    elif dated is not None:
        if dated.either:
            note.append(f"days and months may be the other way round in {_examples(counted)}: check the format")
        _left_over(dated.left, note)
        found.features.append(_dated(name, dated.low, dated.high, dated.format, bool(nulls) or dated.missing, note))
    elif distinct > MANY_TEXTS or (distinct > 20 and distinct > 0.9 * rows):
        top = dict(list(counted.items())[:TOP])
        if sum(top.values()) < 0.6 * (rows - nulls):
            found.left_out[name] = "it has so many values that it looks like an identifier or free text"
            return
        share = _share(sum(top.values()), rows - nulls)
        note.append(f"{distinct} values; the {TOP} most frequent make up {share} of the rows, and "
                    "all others are one: list those that are publicly known to matter")  # fmt: skip
        other = "(other)" if "(other)" not in top else "(all others)"
        found.features.append(Categorical(name, sorted(top), other=other, missing="category" if nulls else "error"))
    else:
        gone = [one for one in counted if one.strip().casefold() in GONE]
        if is_flag(counted):
            note.append("a yes or no")
        else:
            note.append(f'{distinct} values: are these all that can occur? Else declare other = "another"')
        for same in alike(counted)[:5]:
            note.append(f"{' and '.join(map(repr, same))} differ in case or spaces alone: each is a category here")
        if gone:
            note.append(f"{', '.join(map(repr, gone))} may stand for a missing value: it is a category here")
        found.features.append(Categorical(name, _values_of(stream, name), missing="category" if nulls else "error"))


def _examples(values: Mapping[str, int]) -> str:
    shown = [one for one in values if not re.fullmatch(r"[0-9.]+", one)] or list(values)
    return ", ".join(repr(one) for one in shown[:3])


def _left_over(left: Mapping[str, int], note: list[str]) -> None:
    if left:
        shown = ", ".join(repr(one) for one in list(left)[:5]) + (", …" if len(left) > 5 else "")
        note.append(f"{sum(left.values())} rows hold something else ({shown}): mend them, or the fit refuses them")


def _dated(name: str, low: date, high: date, format: str | None, missing: bool, note: list[str]) -> Date:
    unit = date_unit(low, high)
    start = date(low.year, 1 if unit in {"month", "year"} else low.month, 1)
    end = date(high.year, 12, 31)
    if unit in {"day", "week"}:
        end = (date(high.year + high.month // 12, high.month % 12 + 1, 1)) - timedelta(days=1)
    if unit == "year" and start.year == end.year:
        unit = "month"
    note.append(f"dates; counted in {unit}s here (or transform = \"weekday\" or \"month\" as a category); replace "
                "start and end by public days")  # fmt: skip
    return Date(name, start, end, unit=unit, missing="bin" if missing else "error", format=format)


def _number(stream: Duck, name: str, integer: bool, nulls: bool, note: list[str]) -> Numeric:
    item = stream.items[name]
    low, high, middle, nan = stream.ask(
        f"SELECT CAST(min({item}) FILTER (NOT isnan({item})) AS DOUBLE), "
        f"CAST(max({item}) FILTER (NOT isnan({item})) AS DOUBLE), "
        f"CAST(median({item}) FILTER (NOT isnan({item})) AS DOUBLE), bool_or(isnan({item})) "
        f"FROM (SELECT CAST({item} AS DOUBLE) AS {item} FROM {stream.source})"
    )[0]
    if low is None:
        raise DataError(f"column {name!r} has no numbers")
    if math.isinf(low) or math.isinf(high):
        raise DataError(f"column {name!r} holds an infinite value (inf)")
    note.append('bounds are read off the data: replace them by public ones, or declare bounds = "private"')
    low, high = _outward(low, high)
    _skewed(low, middle, high, note)
    return Numeric(name, low, high, integer=integer, missing="bin" if nulls or nan else "error")


def _skewed(low: float, middle: float, high: float, note: list[str]) -> None:
    if low >= 0 and high - low > SKEWED * max(middle - low, 0) and high > low:
        scale = "log1p" if low == 0 else "log"
        note.append(
            f'skewed, most values are small: transform = "{scale}" (without integer) would give them finer bins'
        )


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
