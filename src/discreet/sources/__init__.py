"""Sources: the only room that touches rows; they come out as exact Statistics, whatever they came from."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Sequence
from typing import Any, TypeVar

import numpy as np

from discreet.errors import DataError, SchemaError
from discreet.privacy.unexpected import ABSORB, REFUSE, check_unexpected
from discreet.schema import Schema
from discreet.sources.absorb import Absorbed, absorb, absorb_all, even_rows, new_reading, nobody
from discreet.sources.blocks import Rows
from discreet.sources.count import tally
from discreet.sources.fewer import Draw, Fewer, person_keys
from discreet.sources.frames import (
    NO_IDS,
    as_matrix,
    check_ids,
    frame_ids,
    frame_rows,
    label_values,
    matrix_rows,
    open_frame,
)
from discreet.sources.people import People
from discreet.sources.tables import Stream, Table, open_files, open_table
from discreet.statistics import Detail, Statistics

Progress = Callable[[int, int | None], None]
Read = TypeVar("Read")
OUTSIDE_LABELS = "the labels of a file or table are its target column: do not pass y as well"
NO_ROWS = "there are no rows: found array with 0 sample(s) while a minimum of 1 is required"

__all__ = [
    "NO_ROWS",
    "Draw",
    "Progress",
    "Rows",
    "Table",
    "check_lasting",
    "check_people",
    "collect",
    "is_outside",
    "label_values",
    "map_rows",
    "read_rows",
]


def is_outside(data: Any) -> bool:
    """Whether this names rows outside memory: a file, a pattern of files, or a database table."""
    return isinstance(data, str | os.PathLike | Table | Stream)


def _open(data: Any, *, ordered: bool = False, lenient: bool = False) -> Stream:
    if isinstance(data, Stream):
        return data
    return open_table(data) if isinstance(data, Table) else open_files(data, ordered=ordered, lenient=lenient)


def check_lasting(data: Any) -> None:
    """Refuse an opened stream, which ends with its first reading, where rows are or were read more than once."""
    if isinstance(data, Stream):
        raise DataError("an opened stream can be read only once, and more is needed here: pass the path or the Table")


def read_rows(
    data: Any,
    schema: Schema,
    labels: Any = None,
    *,
    labelled: bool = True,
    contributions: int | None = None,
    unexpected: str = REFUSE,
    draw: Draw | None = None,
    progress: Progress | None = None,
) -> Iterator[Rows]:
    """The rows of any source in batches and in order.

    With `contributions`, and if the schema names an id column, nobody has more rows than that. With "refuse", too many
    are an error, and whoever uses the rows refuses bad values; with "absorb" every value has a place, and rows without
    one are left out. `draw(n)` gives n random bytes for the choice among one person's rows; None asks the system.
    """
    read: Callable[[Rows], Rows] = _as_they_are if unexpected == REFUSE else _checked
    yield from map_rows(
        read, data, schema, labels, labelled=labelled, contributions=contributions, unexpected=unexpected, draw=draw,
        progress=progress, empty=True,
    )  # fmt: skip


def _as_they_are(rows: Rows) -> Rows:
    return rows


def _checked(rows: Rows) -> Rows:
    for column in (*rows.columns, *([] if rows.label is None else [rows.label])):
        if column.bad().any():
            column.complain()
    return rows


def map_rows(
    read: Callable[[Rows], Read],
    data: Any,
    schema: Schema,
    labels: Any = None,
    *,
    labelled: bool = True,
    columns: Sequence[int] | None = None,
    contributions: int | None = None,
    unexpected: str = REFUSE,
    draw: Draw | None = None,
    progress: Progress | None = None,
    ordered: bool = True,
    empty: bool = False,
    keep: bool = False,
) -> Iterator[Read]:
    """What `read` makes of each batch of rows, or of some of their columns: the one road from rows to fits.

    `read` refuses a batch with a bad value in any of the columns. Under "absorb" it is then called again with the rows
    that are left, so that a batch without bad values costs nothing more, and it sees one batch at least, be it an empty
    one. Under "refuse" no rows at all are an error, unless `empty` allows them. With `keep` values without a place
    stand for the first one, and no row is left out for them.
    """
    total = check_unexpected(unexpected) == ABSORB
    count, size, seen = new_reading(), 0, False
    for rows in _batches(
        data, schema, labels, labelled=labelled, contributions=contributions, total=total, draw=draw,
        progress=progress, ordered=ordered, count=count, unknown=keep,
    ):  # fmt: skip
        if columns is not None:
            rows = rows.only(columns)
        size, seen = size + rows.size, True
        try:
            found = read(rows)
        except DataError:
            if not total:
                raise
            found = read((absorb_all if keep else absorb)(rows, count))
        yield found
    if total and not seen:
        nothing = nobody(schema, labelled=labelled)
        yield read(nothing if columns is None else nothing.only(columns))
    if not total and not empty and not size:
        raise DataError(NO_ROWS)


def _batches(
    data: Any,
    schema: Schema,
    labels: Any,
    *,
    labelled: bool,
    contributions: int | None,
    total: bool,
    draw: Draw | None,
    progress: Progress | None,
    ordered: bool,
    count: Absorbed,
    unknown: bool = False,
) -> Iterator[Rows]:
    """The rows as they are, but for people with too many: those are refused, or reduced to what is allowed.

    A row without an id goes with them, unless `unknown` lets it stand for a person of its own.
    """
    most = contributions if schema.id is not None else None
    if not is_outside(data):
        if most is not None and not total:
            check_people(data, schema, most)
        frame = open_frame(data)
        if total and frame is None:
            data = even_rows(data, len(schema.features))
        rows = (
            frame_rows(frame, schema, labels, labelled=labelled)
            if frame is not None
            else matrix_rows(as_matrix(data), schema, labels, labelled=labelled)
        )
        if most is not None and total:
            ids, people = people_of(data, schema), People()
            people.add(ids)
            if people.missing or people.most()[0] > most:
                keys = person_keys(ids)
                rows = _fewer(rows, keys, Fewer(Counter(keys), most, draw, unknown=unknown), count)
        yield rows
        return
    if labels is not None:
        raise DataError(OUTSIDE_LABELS)
    stream, done = _open(data, ordered=ordered, lenient=total), 0
    fewer = None
    try:
        if most is not None and total:
            fewer = _too_many(stream, schema, most, draw, unknown)
        elif most is not None:
            stream.check_ids(schema, most)
        for rows, ids in stream.rows(schema, labelled=labelled, identified=fewer is not None):
            done += rows.size
            yield rows if fewer is None else _fewer(rows, person_keys(ids), fewer, count)
            if progress:
                progress(done, stream.total)
        count.rows += stream.rejected()
    finally:
        stream.close()


def _too_many(stream: Stream, schema: Schema, most: int, draw: Draw | None, unknown: bool) -> Fewer | None:
    """Who has too many rows or no id, and which of those stay; None if everybody keeps to what is allowed."""
    assert schema.id is not None
    people = stream.people(schema)
    if not people.missing and people.most()[0] <= most:
        return None
    counts: Counter[Any] = Counter()
    for batch in stream.batches([schema.id]):
        counts.update(person_keys(batch[schema.id]))
    return Fewer(counts, most, draw, unknown=unknown)


def _fewer(rows: Rows, keys: list[Any], fewer: Fewer, count: Absorbed) -> Rows:
    kept = fewer.mask(keys)
    if kept.all():
        return rows
    count.rows += len(kept) - int(np.count_nonzero(kept))
    return rows.take(np.flatnonzero(kept))


def check_people(data: Any, schema: Schema, contributions: int) -> None:
    """Refuse rows of which one person has too many, if the schema names an id column."""
    if schema.id is None:
        return
    if not is_outside(data):
        check_ids(schema, contributions, lambda: people_of(data, schema))
    elif isinstance(data, Stream):  # it is to be read yet
        data.check_ids(schema, contributions)
    else:
        stream = _open(data)
        try:
            stream.check_ids(schema, contributions)
        finally:
            stream.close()


def people_of(data: Any, schema: Schema) -> Any:
    """The id column of rows in memory."""
    frame = open_frame(data)
    if frame is None:
        raise DataError(NO_IDS.format(schema.id))
    return frame_ids(frame, schema)


def collect(
    data: Any,
    schema: Schema,
    y: Any = None,
    *,
    detail: Collection[Detail] = ("bins", "moments"),
    contributions: int | None = None,
    unexpected: str = REFUSE,
    draw: Draw | None = None,
    progress: Progress | None = None,
    empty: bool = False,
) -> Statistics:
    """Count rows: from an array or data frame (with `y`, or with the target as a column), from a CSV, Parquet
    or Arrow file, or from a database `Table`.

    With `contributions`, and if the schema names an id column, more rows than that per person are an error, and so is
    a value that has no place in the schema. With `unexpected="absorb"` neither is: such values go to the `other` or
    missing cell or their row is left out, and a person keeps rows at random (docs/unexpected.md). No rows at all are an
    error too, unless `empty` allows them or rows are absorbed.
    """
    if not isinstance(schema, Schema):
        raise SchemaError("a schema is needed: declare one with Schema(...), or draft one with 'discreet schema'")
    total, count = check_unexpected(unexpected) == ABSORB, new_reading()
    result: Statistics | None = None
    for rows in _batches(
        data, schema, y, labelled=True, contributions=contributions, total=total, draw=draw, progress=progress,
        ordered=False, count=count,
    ):  # fmt: skip
        if rows.size:
            found = tally(schema, rows, detail, count if total else None)
            result = found if result is None else result.saturated(found) if total else result + found
    if not total and not empty and (result is None or not result.counts.any()):
        raise DataError(NO_ROWS)
    return Statistics.empty(schema, detail) if result is None else result
