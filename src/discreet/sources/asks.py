"""What rows are asked for: statistics, codes, labels, tables of any kind, and how many rows everybody has."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import partial
from hashlib import blake2b
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.privacy.unexpected import REFUSE
from discreet.schema import Schema
from discreet.sources.absorb import Absorbed
from discreet.sources.beside import Arrays, Ask, Task, answers
from discreet.sources.blocks import Rows
from discreet.sources.coded import cells_of
from discreet.sources.columns import Numbers
from discreet.sources.count import Tallied, tally
from discreet.sources.fewer import several, written_key
from discreet.sources.held import HeldRows
from discreet.sources.people import People
from discreet.sources.sql import Grid
from discreet.sources.streams import Stream, make_label, require
from discreet.statistics import Detail, Statistics

Read = Callable[[Rows], Arrays]
_SAMPLE = 4096


def _named(source: Any) -> list[str]:
    return [*source.schema.names, *([source.schema.target] if source.labelled else [])]


@dataclass(frozen=True)
class Count(Ask[Statistics]):
    """Exact statistics."""

    detail: tuple[Detail, ...]

    def wanted(self, source: Any) -> list[str]:
        return _named(source)

    def of(self, source: Any) -> Iterator[Statistics]:
        result: Statistics | None = None
        for rows, count in source.held_or_read(detail=self.detail):
            if rows.size:
                absorbed = count if source.total else None
                counted = isinstance(rows, Tallied)
                found = rows.found if counted else tally(source.schema, rows, self.detail, absorbed)
                result = found if result is None else added(source, result, found)
        if result is not None:
            yield result

    def pack(self, found: Statistics) -> Arrays:
        return found.arrays()

    def unpack(self, source: Any, arrays: Arrays) -> Statistics:
        return Statistics.of_arrays(source.schema, arrays)


def added(source: Any, left: Statistics, right: Statistics) -> Statistics:
    """The statistics of both sets of rows, by the rule of the source for sums that leave 64 bits."""
    return left.saturated(right) if source.total else left + right


@dataclass(frozen=True)
class Hold(Ask[HeldRows]):
    """Coded rows; distinct ones with their multiplicities on the way here, where that is smaller."""

    def wanted(self, source: Any) -> list[str]:
        return _named(source)

    def of(self, source: Any) -> Iterator[HeldRows]:
        held = partial(HeldRows.of, source.schema, total=source.total)
        return iter(source.map(held, empty=True, coded=True))

    def pack(self, found: HeldRows) -> Arrays:
        read = len(found) if found.read is None else found.read
        labels = found.labels.astype(np.min_scalar_type(len(found.schema.classes)))
        return {"read": np.array([read]), **distinct_rows([*found.columns, labels])}

    def unpack(self, source: Any, arrays: Arrays) -> HeldRows:
        read, times = int(arrays.pop("read")[0]), arrays.pop("times", None)
        columns = [values if times is None else np.repeat(values, times) for values in arrays.values()]
        return HeldRows(source.schema, columns[:-1], columns[-1].astype(np.int64), None, read, source.total)


@dataclass(frozen=True)
class HoldKnown(Ask[tuple[HeldRows, NDArray[np.uint8]]]):
    """Coded rows, each with a digest of its person's key under a salt of this reading alone; zeros without an id.

    The first bit of a digest tells whether several ids may have the key.
    """

    salt: bytes

    def wanted(self, source: Any) -> list[str]:
        return list(dict.fromkeys([*_named(source), source.schema.id]))

    def of(self, source: Any) -> Iterator[tuple[HeldRows, NDArray[np.uint8]]]:
        for rows, keys in source.identified():
            yield HeldRows.of(source.schema, rows, total=source.total), self.digests(keys)

    def digests(self, keys: list[Any]) -> NDArray[np.uint8]:
        """Sixteen bytes for each key."""
        raw = b"".join(bytes(16) if key is None else self._digest(key) for key in keys)
        return np.frombuffer(raw, np.uint8).reshape(-1, 16)

    def _digest(self, key: float | str) -> bytes:
        first, *rest = blake2b(written_key(key), digest_size=16, key=self.salt).digest()
        return bytes([first & 0x7F | (0x80 if several(key) else 0), *rest])

    def pack(self, found: tuple[HeldRows, NDArray[np.uint8]]) -> Arrays:
        held, who = found
        labels = held.labels.astype(np.min_scalar_type(len(held.schema.classes)))
        return {"who": who, **{str(j): values for j, values in enumerate([*held.columns, labels])}}

    def unpack(self, source: Any, arrays: Arrays) -> tuple[HeldRows, NDArray[np.uint8]]:
        who = arrays.pop("who")
        return Hold().unpack(source, {"read": np.array([len(who)]), **arrays}), who


def distinct_rows(columns: list[NDArray[Any]]) -> Arrays:
    """Columns of codes as they are, or their distinct rows and how often each occurs if that takes fewer bytes."""
    plain = {str(j): values for j, values in enumerate(columns)}
    size, width = len(columns[0]), sum(values.itemsize for values in columns)
    if size < 2:
        return plain
    together = np.empty((size, width), np.uint8)
    at = 0
    for values in columns:
        together[:, at : at + values.itemsize] = (
            np.ascontiguousarray(values).view(np.uint8).reshape(size, values.itemsize)
        )
        at += values.itemsize
    keys = together.view(np.dtype((np.void, width)))[:, 0]
    if 2 * len(np.unique(keys[:_SAMPLE])) > min(size, _SAMPLE):
        return plain  # a few thousand rows tell whether it is worth a sort
    _, first, times = np.unique(keys, return_index=True, return_counts=True)
    if len(first) * (width + 4) >= size * width:
        return plain
    return {"times": times.astype(np.uint32), **{name: values[first] for name, values in plain.items()}}


@dataclass(frozen=True)
class Labels(Ask[NDArray[np.int64]]):
    """Rows per class, of the rows that are kept; their labels alone are read unless other columns may cost a row."""

    def wanted(self, source: Any) -> list[str]:
        return _named(source) if source.total else [source.schema.target]

    def of(self, source: Any) -> Iterator[NDArray[np.int64]]:
        classes = len(source.schema.classes)
        if source.total:
            found = source.map(_fitting_labels)
        else:
            found = (cells_of(make_label(source.schema, raw, len(raw))) for raw in source.label_column())
        for cells in found:
            yield np.bincount(cells, minlength=classes).astype(np.int64)

    def pack(self, found: NDArray[np.int64]) -> Arrays:
        return {"counts": found}

    def unpack(self, source: Any, arrays: Arrays) -> NDArray[np.int64]:
        return arrays["counts"]


@dataclass(frozen=True)
class Each(Ask[Arrays]):
    """What a function of a batch of rows makes of each, and how many rows it was."""

    read: Read
    columns: tuple[int, ...] | None = None
    coded: bool = False

    def wanted(self, source: Any) -> list[str]:
        return _named(source)

    def of(self, source: Any) -> Iterator[Arrays]:
        return iter(source.map(self._sized, columns=self.columns, empty=True, coded=self.coded))

    def _sized(self, rows: Rows) -> Arrays:
        return {**self.read(rows), "": np.array([rows.size])}

    def pack(self, found: Arrays) -> Arrays:
        return found

    def unpack(self, source: Any, arrays: Arrays) -> Arrays:
        return arrays


@dataclass(frozen=True)
class Ids(Ask[People]):
    """Who the rows belong to: keys of ids and how often they occur, never the ids of text as they are."""

    people: People = field(default_factory=People)

    def wanted(self, source: Any) -> list[str]:
        return [source.schema.id]

    def of(self, source: Any) -> Iterator[People]:
        people = self.people.alike()
        for batch in source.data.batches(self.wanted(source)):
            people.add(batch[source.schema.id])
        yield people

    def pack(self, found: People) -> Arrays:
        return found.arrays()

    def unpack(self, source: Any, arrays: Arrays) -> People:
        self.people.include(arrays)
        return self.people


class Workers(Stream):
    """A stream whose engine has workers that run Python beside the rows; people too are counted there."""

    def people(self, schema: Schema) -> People:
        require(schema, self.names, labelled=False, identified=True)
        assert schema.id is not None
        ask = Ids()
        task = Task(ask, schema, (schema.id,), False, REFUSE)
        for arrays in answers(self.partials(task), task, Absorbed()):
            ask.people.include(arrays)
        return ask.people


def finest(grids: Mapping[str, Grid]) -> Read:
    """The reader of histograms: rows by cell of a grid for some numbers; missing values are in no cell."""
    return partial(_by_cell, grids)


def _by_cell(grids: Mapping[str, Grid], rows: Rows) -> Arrays:
    numbers = [column for column in checked(rows).columns if isinstance(column, Numbers)]
    present = [(column.feature.name, column.clipped()) for column in numbers]
    return {name: grids[name].count(values[~np.isnan(values)]) for name, values in present}


def checked(rows: Rows) -> Rows:
    """The rows as they are, or the error that names a value without a place."""
    for column in (*rows.columns, *([] if rows.label is None else [rows.label])):
        if column.bad().any():
            column.complain()
    return rows


def _fitting_labels(rows: Rows) -> NDArray[Any]:
    label = checked(rows).label
    assert label is not None
    return cells_of(label)
