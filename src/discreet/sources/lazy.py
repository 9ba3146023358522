"""Lazy frames: rows of a query that has not run yet, read in batches as its engine gives them, never collected whole.

polars by its streaming engine, DuckDB and ibis by Arrow batches, dask by partitions in its own workers.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

from discreet.domain import text
from discreet.errors import DataError
from discreet.schema import Schema
from discreet.sources import tables
from discreet.sources.asks import Workers
from discreet.sources.beside import Task, checked_run
from discreet.sources.blocks import Rows
from discreet.sources.frames import Memory, open_frame
from discreet.sources.streams import Stream, first_line, is_outside, make_label, register
from discreet.sources.tables import Duck

DASK_AT_ONCE = 32  # partitions whose answers are held together


def home(data: Any) -> str:
    """The package that a lazy frame is of, behind narwhals or not; "" if this is none."""
    made = type(data)
    maker = made.__module__.partition(".")[0]
    if maker == "narwhals" and made.__name__ == "LazyFrame":
        return home(data.to_native())
    known = {"polars": "LazyFrame", "duckdb": "DuckDBPyRelation", "_duckdb": "DuckDBPyRelation", "ibis": "Table",
             "dask": "DataFrame", "dask_expr": "DataFrame", "pyspark": "DataFrame"}  # fmt: skip
    return maker.removeprefix("_") if known.get(maker) == made.__name__ else ""


def is_lazy(data: Any) -> bool:
    """Whether this is a data frame whose rows are not in memory."""
    return bool(home(data))


def has_names(data: Any) -> bool:
    """Whether this is a data frame, lazy or not, whose columns have texts for names."""
    if is_outside(data):
        return is_lazy(data)
    frame = open_frame(data)
    return frame is not None and all(isinstance(name, str) for name in frame.columns)


def picked(data: Any, names: list[str]) -> Any:
    """Some columns of a lazy frame, as lazy as it is."""
    import narwhals as nw

    return nw.from_native(data).select(*names).to_native()


def native(data: Any) -> Any:
    """A frame without the wrapping of narwhals."""
    return data.to_native() if type(data).__module__.startswith("narwhals.") else data


class Lazy(Stream):
    """Batches of a lazy frame, with labels beside them if they were given."""

    def label_part(self, start: int, size: int) -> Any:
        return self.labels[start : start + size]

    def rows(self, schema: Schema, *, labelled: bool = True, identified: bool = False) -> Iterator[tuple[Rows, Any]]:
        done = 0
        for rows, ids in super().rows(schema, labelled=labelled, identified=identified):
            done += rows.size
            yield rows, ids
        if labelled and self.labels is not None:
            make_label(schema, self.labels, done)  # refuses more labels than rows


class _Polars(Lazy):
    """A polars query, run by the streaming engine."""

    def __init__(self, frame: Any, *, ordered: bool = False, **_: Any) -> None:
        self.frame, self.ordered = native(frame), ordered
        if not hasattr(self.frame, "collect_batches"):
            raise DataError("this version of polars gives no batches of a lazy frame: install polars 1.34 or later")
        self.names = list(_told("polars", self.frame.collect_schema).names())

    def batches(self, wanted: list[str]) -> Iterator[dict[str, Any]]:
        import polars.selectors as cs  # a bare name could be taken for a pattern

        found = self.frame.select(cs.by_name(*wanted)).collect_batches(
            chunk_size=tables.BATCH, maintain_order=self.ordered, lazy=True, engine="streaming"
        )
        while (frame := _told("polars", lambda: next(found, None))) is not None:
            if len(frame):
                yield from Memory(frame).batches(wanted)


class _Relation(Duck, Lazy):
    """A DuckDB relation."""

    def __init__(self, relation: Any, **_: Any) -> None:
        self.relation = native(relation)
        self.lenient, self.check, self.label, self.texts, self.source = False, None, "", False, "given"
        self.names = list(self.relation.columns)
        self._known(self.names, [str(kind) for kind in self.relation.types])

    def state(self) -> None:
        """Nothing: a relation does not tell its connection, so that no transaction can hold its rows as they are."""

    def ask(self, query: str) -> list[tuple[Any, ...]]:
        found = _told("DuckDB", lambda: self.relation.query(self.source, query).fetchall())
        return list(found)

    def _reader(self, items: str) -> Any:
        return self.relation.project(items).to_arrow_reader(tables.BATCH)

    def close(self) -> None:
        """The connection is the user's."""


class _Ibis(Lazy):
    """An ibis expression, on whatever engine."""

    def __init__(self, table: Any, **_: Any) -> None:
        self.table = native(table)
        self.names = list(self.table.columns)

    def batches(self, wanted: list[str]) -> Iterator[dict[str, Any]]:
        found = _told("ibis", lambda: self.table.select(*wanted).to_pyarrow_batches(chunk_size=tables.BATCH))
        while (batch := _told("ibis", lambda: next(iter(found), None))) is not None:
            if batch.num_rows:
                yield {name: batch.column(i) for i, name in enumerate(wanted)}


class _Dask(Workers):
    """A dask frame: partitions, which are pandas frames, are read in dask's own workers."""

    def __init__(self, frame: Any, **_: Any) -> None:
        self.frame = native(frame)
        self.columns = {text(name): name for name in self.frame.columns}
        self.names = list(self.columns)

    def _parts(self, wanted: list[str]) -> list[Any]:
        return list(_told("dask", self.frame[[self.columns[name] for name in wanted]].to_delayed))

    def batches(self, wanted: list[str]) -> Iterator[dict[str, Any]]:
        for part in self._parts(wanted):
            frame = _told("dask", part.compute)
            if len(frame):
                yield from Memory(frame).batches(wanted)

    def partials(self, task: Task) -> Iterator[bytes]:
        import dask

        run = checked_run(task.payload())
        work = dask.delayed(lambda frame: list(run(frame)), pure=False)
        parts = [work(part) for part in self._parts(list(task.names))]
        for start in range(0, len(parts), DASK_AT_ONCE):
            if self.progress:
                self.progress(start, len(parts))
            some = parts[start : start + DASK_AT_ONCE]
            for found in _told("dask", partial(dask.compute, *some)):
                yield from found


def _told(engine: str, ask: Callable[[], Any]) -> Any:
    """What an engine answers, or its error in one sentence."""
    try:
        return ask()
    except DataError:
        raise
    except Exception as error:  # an engine may fail in any way
        raise DataError(f"{engine} cannot read the rows: {first_line(error)}") from None


register("a polars lazy frame", lambda data: home(data) == "polars", _Polars, aligned=True)
register("a DuckDB relation", lambda data: home(data) == "duckdb", _Relation, aligned=True)
register("an ibis table", lambda data: home(data) == "ibis", _Ibis)
register("a dask frame", lambda data: home(data).startswith("dask"), _Dask, beside=True)
