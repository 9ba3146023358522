"""Sources: the only room that touches rows; they come out as exact Statistics, whatever they came from."""

from __future__ import annotations

import os
from collections.abc import Callable, Collection, Iterator
from typing import Any

from discreet.errors import DataError, SchemaError
from discreet.schema import Schema
from discreet.sources.blocks import Rows
from discreet.sources.count import tally
from discreet.sources.frames import (
    as_matrix,
    check_ids,
    frame_ids,
    frame_rows,
    label_values,
    matrix_rows,
    open_frame,
)
from discreet.sources.tables import Stream, Table, open_files, open_table
from discreet.statistics import Detail, Statistics

Progress = Callable[[int, int | None], None]

__all__ = [
    "Progress",
    "Rows",
    "Table",
    "check_lasting",
    "check_people",
    "collect",
    "is_outside",
    "label_values",
    "read_rows",
]


def is_outside(data: Any) -> bool:
    """Whether this names rows outside memory: a file, a pattern of files, or a database table."""
    return isinstance(data, str | os.PathLike | Table | Stream)


def _open(data: Any, *, ordered: bool = False) -> Stream:
    if isinstance(data, Stream):
        return data
    return open_table(data) if isinstance(data, Table) else open_files(data, ordered=ordered)


def check_lasting(data: Any) -> None:
    """Refuse an opened stream, which ends with its first reading, where rows are or were read more than once."""
    if isinstance(data, Stream):
        raise DataError("an opened stream can be read only once, and more is needed here: pass the path or the Table")


def read_rows(
    data: Any, schema: Schema, labels: Any = None, *, labelled: bool = True, progress: Progress | None = None
) -> Iterator[Rows]:
    """The rows of any source in batches and in order, checked against the schema column by column."""
    if is_outside(data):
        if labels is not None:
            raise DataError("the labels of a file or table are its target column: do not pass y as well")
        stream, done = _open(data, ordered=True), 0
        try:
            for rows in stream.rows(schema, labelled=labelled):
                yield rows
                done += rows.size
                if progress:
                    progress(done, stream.total)
        finally:
            stream.close()
        return
    frame = open_frame(data)
    if frame is not None:
        yield frame_rows(frame, schema, labels, labelled=labelled)
    else:
        yield matrix_rows(as_matrix(data), schema, labels, labelled=labelled)


def check_people(data: Any, schema: Schema, contributions: int) -> None:
    """Refuse rows of which one person has too many, if the schema names an id column."""
    if schema.id is None:
        return
    if is_outside(data):
        stream = _open(data)
        try:
            stream.check_ids(schema, contributions)
        finally:
            stream.close()
        return
    frame = open_frame(data)
    if frame is None:
        raise DataError(f"the schema names the id column {schema.id!r}: pass a data frame that has it")
    check_ids(schema, contributions, lambda: frame_ids(frame, schema))


def collect(
    data: Any,
    schema: Schema,
    y: Any = None,
    *,
    detail: Collection[Detail] = ("bins", "moments"),
    contributions: int | None = None,
    progress: Progress | None = None,
    empty: bool = False,
) -> Statistics:
    """Count rows: from an array or data frame (with `y`, or with the target as a column), from a CSV, Parquet
    or Arrow file, or from a database `Table`.

    With `contributions`, and if the schema names an id column, more rows than that per person are an error.
    No rows at all are an error too, unless `empty` allows them.
    """
    if not isinstance(schema, Schema):
        raise SchemaError("a schema is needed: declare one with Schema(...), or draft one with 'discreet schema'")
    result = Statistics.empty(schema, detail)
    if not is_outside(data):
        if contributions is not None:
            check_people(data, schema, contributions)
        frame = open_frame(data)
        rows = frame_rows(frame, schema, y) if frame is not None else matrix_rows(as_matrix(data), schema, y)
        if rows.size:
            result = tally(schema, rows, detail)
    else:
        if y is not None:
            raise DataError("the labels of a file or table are its target column: do not pass y as well")
        stream, done = _open(data), 0
        try:
            if schema.id is not None and contributions is not None:
                stream.check_ids(schema, contributions)
            for rows in stream.rows(schema):
                result = result + tally(schema, rows, detail)
                done += rows.size
                if progress:
                    progress(done, stream.total)
        finally:
            stream.close()
    if not empty and not result.counts.any():
        raise DataError("there are no rows: found array with 0 sample(s) while a minimum of 1 is required")
    return result
