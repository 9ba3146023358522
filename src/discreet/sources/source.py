"""The reader: rows of any make under a schema and rules, counted or held; everything that reads rows begins here."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from discreet.errors import DataError, SchemaError
from discreet.privacy.unexpected import ABSORB, REFUSE, check_unexpected
from discreet.schema import Numeric, Schema
from discreet.sources import streams
from discreet.sources.absorb import Absorbed, absorb, absorb_all, new_reading, nobody
from discreet.sources.asks import Count, Each, Hold, Labels, added, checked, finest
from discreet.sources.beside import Arrays, Ask, Task, answers
from discreet.sources.blocks import Rows
from discreet.sources.fewer import Draw, Fewer, person_keys
from discreet.sources.held import HeldRows
from discreet.sources.people import refuse_people
from discreet.sources.sql import Grid
from discreet.sources.streams import Stream, is_beside, is_counting, open_stream, opened, require, unchanged
from discreet.statistics import Detail, Statistics

Progress = Callable[[int, int | None], None]
Read = TypeVar("Read")
NO_ROWS = "there are no rows: found array with 0 sample(s) while a minimum of 1 is required"


@dataclass(frozen=True, eq=False)
class Source:
    """Rows of any make, the schema and the rules by which they are read; what is held once is not read again.

    `open` makes one. Any `fit` takes one in the place of rows and labels: where it asks for the same rules, it shares
    what was held.
    """

    data: Any
    schema: Schema
    labels: Any = None
    labelled: bool = True
    contributions: int | None = None
    unexpected: str = REFUSE
    draw: Draw | None = None
    progress: Progress | None = None
    _kept: list[HeldRows] = field(default_factory=list, repr=False)

    @property
    def total(self) -> bool:
        """Whether every table has an answer: rows that do not fit are left out."""
        return self.unexpected == ABSORB

    def origin(self) -> Any:
        """The rows as they were passed."""
        return self.data

    def statistics(self, detail: Collection[Detail] = ("bins", "moments"), *, empty: bool = False) -> Statistics:
        """Exact statistics, counted by an engine beside its rows, or batch by batch; a stream is not held for them."""
        result = self._there(lambda one, count: one.count(self.schema, detail, total=self.total, absorbed=count))
        for found in self._asked(Count(tuple(detail))) if result is None else ():
            result = found if result is None else added(self, result, found)
        if not self.total and not empty and (result is None or not result.counts.any()):
            raise DataError(NO_ROWS)
        return Statistics.empty(self.schema, detail) if result is None else result

    def held(self) -> HeldRows:
        """The rows in memory, a few bytes a value: read the first time, shared from then on."""
        if not self._kept:
            found = HeldRows.gathered(self._asked(Hold()), self.schema, total=self.total)
            if not self.total and not len(found):
                raise DataError(NO_ROWS)
            self._kept.append(found)
        return self._kept[0].under(self.schema, self.progress)

    def class_counts(self) -> NDArray[np.int64]:
        """Rows per class: of those rows that `statistics` and `held` are about, or would refuse.

        Where people have too many rows, each reading chooses anew which of them stay.

        Rows in memory are held, so that they are coded once. Of others only the labels are read, unless rows may be
        left out for what other columns hold. "refuse" leaves none out: any reading has all rows or is refused.
        """
        if self._kept or not is_outside(self.data) or isinstance(self.data, Stream) or self.labels is not None:
            return self.held().counts
        if is_counting(self.data):
            there = None if self.total else self._there(lambda one, _: one.class_counts(self.schema))
            return self.statistics(()).counts if there is None or not there.any() else there
        counts = sum(self._asked(Labels()), np.zeros(len(self.schema.classes), np.int64))
        if not self.total and not counts.any():
            raise DataError(NO_ROWS)
        return counts

    def rows(self) -> Iterator[Rows]:
        """The rows in batches and in order; with "refuse", whoever uses them refuses bad values."""
        return self.map(checked if self.total else _as_they_are, empty=True)

    def map(
        self,
        read: Callable[[Rows], Read],
        *,
        columns: Sequence[int] | None = None,
        ordered: bool = True,
        empty: bool = False,
        keep: bool = False,
        shared: bool = False,
        coded: bool = False,
    ) -> Iterator[Read]:
        """What `read` makes of each batch of rows, or of some of their columns.

        `read` refuses a batch with a bad value in any of the columns. Under "absorb" it is then called again with the
        rows that are left, so that a batch without bad values costs nothing more, and it sees one batch at least, be
        it an empty one. Under "refuse" no rows at all are an error, unless `empty` allows them. With `keep` values
        without a place stand for the first one, and no row is left out for them. With `shared` rows that are held
        already serve, numbers as points of their lattice. With `coded` an engine may send codes in the place of rows.
        """
        size, seen = 0, False
        if shared and is_beside(self.data):
            self.held()  # codes come from afar, not rows
        read_by: Any = {"ordered": ordered, "unknown": keep, "coded": coded}
        for rows, count in self.held_or_read(coded=coded) if shared else self._read(**read_by):
            if columns is not None:
                rows = rows.only(columns)
            size, seen = size + rows.size, True
            try:
                found = read(rows)
            except DataError:
                if not self.total:
                    raise
                found = read((absorb_all if keep else absorb)(rows, count))
            yield found
        if self.total and not seen:
            nothing = nobody(self.schema, labelled=self.labelled)
            yield read(nothing if columns is None else nothing.only(columns))
        if not self.total and not empty and not size:
            raise DataError(NO_ROWS)

    def histograms(self, grids: Mapping[str, Grid]) -> dict[str, NDArray[np.int64]]:
        """Rows by cell of a public grid for each of some numbers, where these are there; at least one row is needed."""
        there = self._there(lambda one, count: one.histograms(self.schema, grids, total=self.total, absorbed=count))
        wanted = [j for j, name in enumerate(self.schema.names) if name in grids]
        if there is not None and (there.pop("").all() or self.total):
            return there
        result = {name: grid.count(np.zeros(0)) for name, grid in grids.items()}
        for part in self.tables(finest(grids), columns=wanted):
            result = {name: counts + part[name] for name, counts in result.items()}
        return result

    def tables(
        self,
        read: Callable[[Rows], Arrays],
        *,
        columns: Sequence[int] | None = None,
        empty: bool = False,
        coded: bool = False,
    ) -> Iterator[Arrays]:
        """What `read` makes of batches of rows in any order, be it in workers beside them; see `map`.

        `read` is sent there as it is: it holds what is public and nothing that draws random numbers.
        """
        size = 0
        for found in self._asked(Each(read, None if columns is None else tuple(columns), coded)):
            size += int(found.pop("")[0])
            yield found
        if not self.total and not empty and not size:
            raise DataError(NO_ROWS)

    # ---- how rows are read

    @contextmanager
    def _opened(self, *, ordered: bool = False) -> Iterator[Stream]:
        """The rows' stream; from here on, before any row is here, it is told how far it is.

        Files must stay as they are while they are read, or a row that moves in them counts twice. Where people have a
        limit ids are read first, which needs that of any rows.
        """
        limited = self.contributions is not None and self.schema.id is not None
        with (
            opened(self.data, self.labels, ordered=ordered, lenient=self.total) as stream,
            unchanged(stream, limited=limited),
        ):
            stream.progress = self.progress
            if self.progress:
                self.progress(0, stream.total)
            yield stream

    def _there(self, ask: Callable[[Stream, Absorbed], Read | None]) -> Read | None:
        """What an engine counts of rows where they are; None if they must be read, as those of people with too many."""
        if self._kept or not is_counting(self.data):
            return None
        count = Absorbed()
        with self._opened() as stream:
            found = ask(stream, count) if self._within(stream) else None
        if found is not None:
            new_reading().include([count])
        return found

    def _asked(self, ask: Ask[Read]) -> Iterator[Read]:
        """What is asked of all rows: here, or in each partition by workers beside the rows where there are any."""
        return ask.of(self) if self._kept or not is_beside(self.data) else self._beside(ask)

    def _beside(self, ask: Ask[Read]) -> Iterator[Read]:
        """What workers make of their partitions; a choice among rows of one person needs all, which then come here."""
        with self._opened() as stream:
            require(self.schema, stream.names, labelled=self.labelled)
            if self._within(stream):
                task = Task(ask, self.schema, tuple(ask.wanted(self)), self.labelled, self.unexpected)
                for arrays in answers(stream.partials(task), task, new_reading()):
                    yield ask.unpack(self, arrays)
                return
        yield from ask.of(self)

    def asked(self, ask: Ask[Read]) -> Iterator[Read]:
        """What is asked of all rows, in one part or several."""
        return self._asked(ask)

    def identified(self) -> Iterator[tuple[Rows, list[Any]]]:
        """The rows, which may come as codes, with the keys of their people; no one is refused for too many rows."""
        count = new_reading()
        with self._opened() as stream:
            reading = stream.coded if is_counting(self.data) else stream.rows
            for rows, ids in reading(self.schema, identified=True):
                found = absorb(rows, count) if self.total else rows
                keys = person_keys(ids)
                yield found, keys if found.places is None else [keys[place] for place in found.places.tolist()]
            count.rows += stream.rejected()

    def held_or_read(
        self, *, coded: bool = True, detail: Collection[Detail] | None = None
    ) -> Iterator[tuple[Any, Absorbed]]:  # fmt: skip
        """The rows that are held, or else those of the data in any order, or the detail of some of these."""
        if self._kept:
            return ((one.rows(), Absorbed()) for one in self.held().pieces())
        return self._read(ordered=False, coded=coded, detail=detail)

    def _read(
        self, *, ordered: bool, unknown: bool = False, coded: bool = False, detail: Collection[Detail] | None = None
    ) -> Iterator[tuple[Any, Absorbed]]:  # fmt: skip
        """The rows as they are, but for people with too many: those are refused, or reduced to what is allowed.

        A row without an id goes with them, unless `unknown` lets it stand for a person of its own. If they may come as
        codes, and an engine counts these rows where they are, it codes them. Where a detail is named, a source may
        count it as it reads (`Tallied`).
        """
        count, done = new_reading(), 0
        with self._opened(ordered=ordered) as stream:
            fewer = self._fewer(stream, unknown)
            there = coded and self.labelled and is_counting(self.data)
            reading: Any = stream.coded if there else partial(stream.rows, labelled=self.labelled)
            if detail is not None and fewer is None and self.labelled and not there:
                reading = partial(stream.counted, detail=detail)
            # Nothing else holds on to the reading: it ends before its stream is closed.
            for rows, ids in reading(self.schema, identified=fewer is not None):
                done += rows.size
                yield rows if fewer is None else _reduced(rows, person_keys(ids), fewer, count), count
                if self.progress:
                    self.progress(done, stream.total)
            count.rows += stream.rejected()

    def label_column(self) -> Iterator[Any]:
        """The labels alone, of data in which nobody has too many rows."""
        done = 0
        with self._opened() as stream:
            self._fewer(stream, False)
            if stream is not self.data:  # of a partition the labels alone are here
                require(self.schema, stream.names, labelled=True)
            for batch in stream.batches([self.schema.target]):
                yield (labels := batch[self.schema.target])
                done += len(labels)
                if self.progress:
                    self.progress(done, stream.total)

    def _within(self, stream: Stream) -> bool:
        """Whether everybody keeps to what is allowed; with "refuse" anything else is an error."""
        if self.contributions is None or self.schema.id is None:
            return True
        people = stream.people(self.schema)
        if not self.total:
            refuse_people(self.schema, self.contributions, people)
        return not people.missing and people.most()[0] <= self.contributions

    def _fewer(self, stream: Stream, unknown: bool) -> Fewer | None:
        """Who has too many rows or no id, and which of those stay; None if everybody keeps to what is allowed."""
        most, name = self.contributions, self.schema.id
        if most is None or name is None or self._within(stream):
            return None
        counts: Counter[Any] = Counter()
        for batch in stream.batches([name]):
            counts.update(person_keys(batch[name]))
        return Fewer(counts, most, self.draw, unknown=unknown)


def _as_they_are(rows: Rows) -> Rows:
    return rows


def _reduced(rows: Rows, keys: list[Any], fewer: Fewer, count: Absorbed) -> Rows:
    kept = fewer.mask(keys)
    if kept.all():
        return rows
    count.rows += len(kept) - int(np.count_nonzero(kept))
    return rows.take(np.flatnonzero(kept))


# ---- the ways in


def open_source(
    data: Any,
    schema: Schema,
    labels: Any = None,
    *,
    labelled: bool = True,
    contributions: int | None = None,
    unexpected: str = REFUSE,
    draw: Draw | None = None,
    progress: Progress | None = None,
) -> Source:
    """Rows from an array or data frame (with `labels`, or with the target as a column), a CSV, Parquet or Arrow file,
    a database `Table`, whatever else is registered, or a Source that was opened before. Nothing is read yet.

    With `contributions`, and if the schema names an id column, nobody has more rows than that: with "refuse" too many
    are an error, and so is a value that has no place in the schema. With `unexpected="absorb"` neither is: such values
    go to the `other` or missing cell or their row is left out, and a person keeps rows at random (docs/unexpected.md).
    `draw(n)` gives n random bytes for that choice; None asks the system.
    """
    if not isinstance(schema, Schema):
        raise SchemaError("a schema is needed: declare one with Schema(...), or draft one with 'discreet schema'")
    given, labels = rows_of(data, labels)
    rules = (labelled, contributions, check_unexpected(unexpected))
    found = Source(given, schema, labels, *rules, draw, progress)
    shared = isinstance(data, Source) and (data.labelled, data.contributions, data.unexpected) == rules
    # Rows that a seed chose among those of a person are not for a fit that no seed repeats.
    if shared and (found.draw is None) == (data.draw is None) and _without_bins(data.schema) == _without_bins(schema):
        return replace(found, _kept=data._kept)
    return found


def rows_of(data: Any, labels: Any = None) -> tuple[Any, Any]:
    """Rows and labels as they were passed, be it to an opened Source."""
    if not isinstance(data, Source):
        return data, labels
    if labels is not None:
        raise DataError("an opened source knows its labels: do not pass y as well")
    return data.data, data.labels


def alike(one: Schema, other: Schema) -> bool:
    """Whether the same rows are kept under two schemas, as the same points and cells, whatever the bins."""
    return bool(_without_bins(one)[:-1] == _without_bins(other)[:-1])


def _without_bins(schema: Schema) -> Any:
    """All of a schema that decides which rows are kept and as which points and cells; as JSON, where 1 is not true."""
    features = [
        (one.name, one.lower, one.upper, one.lattice, one.missing_code is None, one.reading)
        if isinstance(one, Numeric) else one.model_dump_json()
        for one in schema.features
    ]  # fmt: skip
    return features, schema.target, schema.label.model_dump_json(), schema.id


def collect(
    data: Any,
    schema: Schema,
    y: Any = None,
    *,
    detail: Collection[Detail] = ("bins", "moments"),
    empty: bool = False,
    **rules: Any,
) -> Statistics:
    """Count rows of any source: `open(data, schema, y, **rules).statistics(detail)`.

    No rows at all are an error, unless `empty` allows them or rows are absorbed.
    """
    return open_source(data, schema, y, **rules).statistics(detail, empty=empty)


def read_rows(data: Any, schema: Schema, labels: Any = None, **rules: Any) -> Iterator[Rows]:
    """The rows of any source in batches and in order: `open(data, schema, labels, **rules).rows()`."""
    return open_source(data, schema, labels, **rules).rows()


def is_outside(data: Any) -> bool:
    """Whether this names rows outside memory: a file, a pattern of files, a database table, or what else is known."""
    return streams.is_outside(rows_of(data)[0])


def is_aligned(data: Any) -> bool:
    """Whether rows outside memory have an order, so that something can be beside each of them."""
    return streams.is_aligned(rows_of(data)[0])


def check_people(data: Any, schema: Schema, contributions: int) -> None:
    """Refuse rows of which one person has too many, if the schema names an id column."""
    if schema.id is None:
        return
    data = rows_of(data)[0]
    stream = open_stream(data)
    try:
        refuse_people(schema, contributions, stream.people(schema))
    finally:
        if stream is not data:  # it is to be read yet
            stream.close()


def check_columns(data: Any, schema: Schema | None = None, *, labelled: bool = True, plan: Any = None) -> None:
    """Refuse data that are not there or lack a column, by their names alone and without a row.

    JSON lines have no header: no line's keys are looked at here, and a key that none has is told by who reads them.
    """
    data = rows_of(data)[0]
    stream = open_stream(data, lenient=True)  # it minds the header line alone
    if stream is not data:  # which is to be read yet
        stream.close()
    if schema is not None:
        require(schema, stream.names, labelled=labelled, identified=True)
        stream.serve(schema, plan)


def check_lasting(data: Any) -> None:
    """Refuse an opened stream, which ends with its first reading, where rows are or were read more than once."""
    if isinstance(rows_of(data)[0], Stream):
        raise DataError("an opened stream can be read only once, and more is needed here: pass the path or the Table")
