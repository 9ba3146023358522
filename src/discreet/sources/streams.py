"""Streams: rows opened as batches of columns, whatever they come from; a new kind of source registers itself here."""

from __future__ import annotations

import functools
import os
import stat
import warnings
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.errors import DataError
from discreet.schema import Schema
from discreet.sources.absorb import Absorbed
from discreet.sources.blocks import Rows
from discreet.sources.columns import Codes, make_column
from discreet.sources.people import People
from discreet.sources.sql import Grid
from discreet.statistics import Detail, Statistics

OUTSIDE_LABELS = "the labels of a file or table are its target column: do not pass y as well"
CHANGED = "the data changed while they were read: try again when nobody writes to them"
GROUP = "discreet.sources"  # the entry points by which other packages add sources
_HERE = {"numpy", "pandas", "polars", "pyarrow", "scipy"}  # makers of tables in memory, which nobody else opens


class Stream:
    """Batches of Arrow or NumPy columns, read once from start to end.

    A new kind of source gives `names` and `batches`, and what else it has to say. What a batch holds of a row must
    follow from that row alone (docs/values.md); `contract.row_rule_violation` checks it.
    docs/how-to-add/source.md shows one.
    """

    total: int | None = None
    names: list[str]
    labels: Any = None  # beside the rows, if they are not a column of them
    paths: Sequence[str] = ()  # of the files that it reads
    progress: Any = None  # is told how far an engine is that works beside the rows

    def batches(self, wanted: list[str]) -> Iterator[dict[str, Any]]:
        """The wanted columns, batch by batch, in the order of the rows."""
        raise NotImplementedError

    def rejected(self) -> int:
        """How many lines of the last reading were no rows."""
        return 0

    def close(self) -> None:
        """Let go of files and connections."""

    def rows(self, schema: Schema, *, labelled: bool = True, identified: bool = False) -> Iterator[tuple[Rows, Any]]:
        """The rows in the form that counting and prediction read, with the ids beside them if they are wanted."""
        within, done = labelled and self.labels is None, 0
        require(schema, self.names, labelled=within, identified=identified)
        wanted = [*schema.names, *([schema.target] if within else [])]
        wanted += [schema.id] if identified and schema.id else []
        for batch in self.batches(list(dict.fromkeys(wanted))):
            size = len(batch[wanted[0]])
            columns = [make_column(feature, batch[feature.name]) for feature in schema.features]
            label = None
            if labelled:
                label = make_label(schema, batch[schema.target] if within else self.label_part(done, size), size)
            yield Rows(columns, size, label), batch[schema.id] if identified and schema.id else None
            done += size

    def counted(
        self, schema: Schema, *, detail: Collection[Detail], identified: bool = False
    ) -> Iterator[tuple[Any, Any]]:  # fmt: skip
        """Labelled rows to be counted in any order, or `count.Tallied` of those that were counted as they were read."""
        return self.rows(schema, identified=identified)

    def label_part(self, start: int, size: int) -> Any:
        """The labels of some rows, where they are beside the rows; rows in memory are one batch."""
        return self.labels

    def people(self, schema: Schema) -> Any:
        """How many rows everybody has."""
        require(schema, self.names, labelled=False, identified=True)
        assert schema.id is not None
        people = People()
        for batch in self.batches([schema.id]):
            people.add(batch[schema.id])
        return people

    def state(self) -> Any:
        """What differs if the rows are others than before, as far as it can be seen, for who reads them twice.

        A source that is known to give other rows each time is refused.
        """
        return self.stamps()

    def stamps(self) -> Any:
        """What differs where file systems note that somebody has written, so that a row may have been read twice."""
        found = [os.stat(path) for path in self.paths]
        return [(one.st_ino, one.st_size, one.st_mtime_ns) for one in found if stat.S_ISREG(one.st_mode)]

    def partials(self, task: Any) -> Iterator[bytes]:
        """What the workers of an engine make of each partition, in messages: `beside.answer` in each of them."""
        raise NotImplementedError

    trusts: tuple[str, ...] = ()  # what a certificate takes on trust, of a source that holds no rows

    def serve(self, schema: Schema, plan: Any = None) -> None:
        """Refuse, before anything is charged, a schema or a plan that this source cannot serve; no row is read."""

    def count(
        self, schema: Schema, detail: Collection[Detail], *, total: bool, absorbed: Absorbed
    ) -> Statistics | None:  # fmt: skip
        """The statistics as an engine counts them beside its rows, by the same rule; None if rows must be streamed.

        With `total`, values and rows are absorbed and noted in `absorbed`; else a bad value is an error as elsewhere.
        """
        return None

    def histograms(
        self, schema: Schema, grids: Mapping[str, Grid], *, total: bool, absorbed: Absorbed
    ) -> dict[str, NDArray[np.int64]] | None:  # fmt: skip
        """Rows by cell of public grids for some numbers, and under "" all rows, counted in the same way or None."""
        return None

    def coded(self, schema: Schema, *, identified: bool = False) -> Iterator[tuple[Rows, Any]]:
        """Labelled rows for readers that go by cells and lattice points alone: an engine may send codes of them."""
        return self.rows(schema, identified=identified)

    def class_counts(self, schema: Schema) -> NDArray[np.int64] | None:
        """Rows per class, if an engine counts its labels; None if they must be streamed."""
        return None

    def kept(self, schema: Schema) -> tuple[list[str], list[dict[str, Any]]]:
        """All that the schema names, read once and as it came: the columns' names and the batches."""
        within = self.labels is None
        require(schema, self.names, labelled=within, identified=schema.id is not None)
        wanted = [*schema.names, *([schema.id] if schema.id else [])]
        found = list(self.batches([*wanted, schema.target] if within else wanted))
        done = 0
        for batch in [] if within else found:
            size = len(batch[wanted[0]])
            batch[schema.target] = self.label_part(done, size)
            done += size
        return [*wanted, schema.target], found


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


def first_line(error: BaseException) -> str:
    """The first line of what an engine says."""
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    return lines[0] if lines else type(error).__name__


# ---- which kinds of sources there are


@dataclass(frozen=True)
class Backend:
    """A kind of source outside memory: whether some data are of this kind, and how they are opened as a Stream.

    `opens(data, ordered=…, lenient=…)` keeps the order of rows if `ordered`, and if `lenient` leaves out what is no
    row of its table, such as a line of another length.
    """

    name: str
    matches: Callable[[Any], bool]
    opens: Callable[..., Stream]
    aligned: bool = False  # whether labels beside the rows can be in their order
    beside: bool = False  # whether workers of the engine read the rows: its streams have `partials`
    counts: bool = False  # whether its streams count by themselves


_BACKENDS: list[Backend] = []


def register(
    name: str, matches: Callable[[Any], bool], opens: Callable[..., Stream], **can: bool
) -> None:  # fmt: skip
    """Add a kind of source, in the place of one of the same name; the latest is asked first."""
    _BACKENDS[:] = [Backend(name, matches, opens, **can), *(one for one in _BACKENDS if one.name != name)]


@functools.cache
def _load_others() -> None:
    """Let other packages register what they declare as entry points: functions without arguments that do so."""
    from importlib.metadata import entry_points

    for point in entry_points(group=GROUP):
        try:
            point.load()()
        except Exception as error:  # a stranger's code may fail in any way, and the library's own sources do not
            warnings.warn(f"the sources of {point.value} are left out: {error}", stacklevel=2)


def _backend(data: Any) -> Backend | None:
    made = type(data)
    here = made.__module__.partition(".")[0] in _HERE and made.__name__ != "LazyFrame"
    if here or isinstance(data, np.ndarray | list | tuple):
        return None
    _load_others()
    return next((one for one in _BACKENDS if one.matches(data)), None)


def is_outside(data: Any) -> bool:
    """Whether this names rows outside memory: a file, a pattern of files, a database table, or what else is known."""
    return _backend(data) is not None


def is_beside(data: Any) -> bool:
    """Whether workers of an engine read these rows where they are."""
    found = _backend(data)
    return found is not None and found.beside


def is_counting(data: Any) -> bool:
    """Whether an engine may count these rows where they are."""
    found = _backend(data)
    return found is not None and found.counts


def open_stream(data: Any, labels: Any = None, *, ordered: bool = False, lenient: bool = False) -> Stream:
    """The one place where it is found out what rows are in: a stream, a table, a file, a data frame or an array."""
    from discreet.sources.frames import Memory, label_values

    found = _backend(data)
    if found is None:
        return Memory(data, labels, lenient)
    refuse_labels(data, labels)
    stream = found.opens(data, ordered=ordered or labels is not None, lenient=lenient)
    if labels is not None:
        stream.labels = label_values(labels)
    return stream


def is_aligned(data: Any) -> bool:
    """Whether labels may be beside these rows outside memory, because both have one order."""
    found = _backend(data)
    return found is not None and found.aligned


def refuse_labels(data: Any, labels: Any) -> None:
    """Refuse labels beside rows outside memory, unless both have one order."""
    if labels is not None and not is_aligned(data):
        raise DataError(OUTSIDE_LABELS)


@contextmanager
def opened(data: Any, labels: Any = None, *, ordered: bool = False, lenient: bool = False) -> Iterator[Stream]:
    """The same, closed in the end."""
    stream = open_stream(data, labels, ordered=ordered, lenient=lenient)
    try:
        yield stream
    finally:
        stream.close()


@contextmanager
def unchanged(stream: Stream, *, limited: bool = False) -> Iterator[None]:
    """A reading of rows that must stay as they are meanwhile: what was read is refused if they are others by then.

    A row that moves in a file while it is read may be read twice. With `limited` rows are read after their ids were,
    which asks the same of any rows.
    """
    try:
        before = stream.state() if limited else stream.stamps()
    except OSError:
        raise DataError("the data are not there any more: open them again") from None
    yield
    try:
        after = stream.state() if limited else stream.stamps()
    except OSError:  # a file is gone
        raise DataError(CHANGED) from None
    if after != before:
        raise DataError(CHANGED)


register("an opened stream", lambda data: isinstance(data, Stream), lambda data, **_: data)
