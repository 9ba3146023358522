"""Kept codes: rows of a server or a cluster, coded beside them and read once, of which rows can be taken."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.privacy.unexpected import ABSORB, REFUSE
from discreet.schema import Schema
from discreet.sources.absorb import plain_values
from discreet.sources.asks import HoldKnown
from discreet.sources.blocks import Rows
from discreet.sources.columns import Column
from discreet.sources.fewer import SHARED, Draw
from discreet.sources.held import PIECE, HeldRows
from discreet.sources.source import Source, alike, open_source
from discreet.sources.spill import let_go
from discreet.sources.streams import Stream, is_beside, is_counting, register, require

Indices = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class CodedTable:
    """Held rows at some places, a source like any other; `who` has a digest of each row's id, zeros without one.

    As private as the rows.
    """

    held: HeldRows
    who: NDArray[np.uint8] | None = None
    spots: Indices | None = None  # all rows if None

    @property
    def schema(self) -> Schema:
        """The schema by which the rows were coded."""
        return self.held.schema

    @property
    def size(self) -> int:
        """The number of rows."""
        return len(self.held) if self.spots is None else len(self.spots)

    def take(self, rows: Indices) -> tuple[CodedTable, None]:
        """Some of the rows, in the form that estimators read."""
        return replace(self, spots=rows if self.spots is None else self.spots[rows]), None

    def truth(self, rows: Indices) -> Indices:
        """The class of some of the rows, as its place in the schema."""
        found: Indices = self.held.labels[self.take(rows)[0].spots]
        return found

    def people(self) -> Any:
        """The id of each row in words that name the same people, None for nobody."""
        assert self.who is not None
        return _names(self.who if self.spots is None else self.who[self.spots])

    def pieces(self) -> Iterator[tuple[HeldRows, Any]]:
        """The rows so many at a time that what is made of them needs little memory, with the ids if there are any."""
        columns = (*self.held.columns, self.held.labels)
        for low in range(0, self.size, PIECE):
            some = slice(low, min(low + PIECE, self.size))
            spots: Any = some if self.spots is None else self.spots[some]
            *held, labels = (column[spots] for column in columns)
            ids = None if self.who is None else _names(self.who[spots])
            yield replace(self.held, columns=held, labels=labels, places=None, read=None), ids
            run = some if self.spots is None else slice(int(spots.min()), int(spots.max()) + 1)
            for column in columns:
                let_go(column, run)


def is_coding(data: Any) -> bool:
    """Whether rows are coded where they are, by a server or by workers of a cluster, and codes alone need come here."""
    return isinstance(data, CodedTable) or is_counting(data) or is_beside(data)


def keep_codes(data: Any, schema: Schema, *, unexpected: str = REFUSE, draw: Draw | None = None) -> CodedTable:
    """The rows of an engine, where nobody has more than one: others are refused, or absorbed."""
    held = open_source(data, schema, contributions=1, unexpected=unexpected, draw=draw).held()
    # Nobody has two rows by now: numbers tell people apart, and as in digests a first bit of 0 says that nobody shares.
    who = np.arange(1, len(held) + 1, dtype=">u8").view(np.uint8).reshape(-1, 8)
    return CodedTable(held, None if schema.id is None else who)


def keep_known(data: Any, schema: Schema, *, lenient: bool = False, salt: bytes | None = None) -> CodedTable:
    """The rows of an engine as they are, with digests of their ids, under some salt, if the schema names some.

    A value without a place is refused, or with `lenient` absorbed, row by row; how many rows anybody has is for whoever
    reads the parts.
    """
    source = open_source(data, schema, unexpected=ABSORB if lenient else REFUSE)
    if schema.id is None:
        return CodedTable(source.held())
    who: list[NDArray[np.uint8]] = []
    held = HeldRows.gathered(_apart(source, salt or os.urandom(32), who), schema, total=source.total)
    return CodedTable(held, np.concatenate(who) if who else np.zeros((0, 16), np.uint8))


def _apart(source: Source, salt: bytes, who: list[NDArray[np.uint8]]) -> Iterator[HeldRows]:
    """The held rows of each part; their digests go to a list."""
    for part, digests in source.asked(HoldKnown(salt)):
        who.append(digests)
        yield part


def _names(who: NDArray[np.uint8]) -> Any:
    import pyarrow as pa

    # A letter in front: no text of digits, which would count as a number.
    named = ((SHARED if one[0] & 0x80 else "p") + one.tobytes().hex() if one.any() else None for one in who)
    return pa.array(list(named), pa.string())


class _Coded(Stream):
    """Kept codes as a stream: codes where a schema has the same cells and points, else the values they stand for."""

    def __init__(self, table: CodedTable) -> None:
        self.table, self.total, own = table, table.size, table.schema
        self.names = [*own.names, own.target, *([own.id] if own.id is not None else [])]

    def batches(self, wanted: list[str]) -> Iterator[dict[str, Any]]:
        own = self.table.schema
        for held, ids in self.table.pieces():
            columns = dict(zip([*own.names, own.target], _columns(own, held), strict=True))
            yield {name: ids if name == own.id else plain_values(columns[name]) for name in wanted}

    def rows(self, schema: Schema, *, labelled: bool = True, identified: bool = False) -> Iterator[tuple[Rows, Any]]:
        require(schema, self.names, labelled=labelled, identified=identified)
        own = self.table.schema
        places = [own.names.index(name) for name in schema.names]
        if not alike(own.having([own.features[j] for j in places]), schema):
            yield from super().rows(schema, labelled=labelled, identified=identified)
            return
        for held, ids in self.table.pieces():
            mine = replace(held, columns=[held.columns[j] for j in places])
            *columns, label = _columns(schema, mine)
            yield Rows(columns, len(mine), label if labelled else None), ids if identified else None  # type: ignore[arg-type]


def _columns(schema: Schema, held: HeldRows) -> list[Column]:
    """Columns of codes and the label, under a schema that may have other bins."""
    found = held.under(schema).rows()
    assert found.label is not None
    return [*found.columns, found.label]


register("kept codes", lambda data: isinstance(data, CodedTable), lambda data, **_: _Coded(data))
