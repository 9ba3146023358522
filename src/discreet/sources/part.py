"""Parts of a source: the rows that a coin of their own dealt to training or to testing, read by filtering batches."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from discreet.errors import DataError
from discreet.schema import Schema
from discreet.sources.fewer import person_keys, written_key
from discreet.sources.frames import Memory
from discreet.sources.kept import RowTable, kept_table
from discreet.sources.keptcodes import CodedTable, is_coding, keep_known
from discreet.sources.source import is_outside, rows_of
from discreet.sources.stored import is_arrow
from discreet.sources.streams import CHANGED, Stream, open_stream, refuse_labels
from discreet.sources.tables import Table

Sides = tuple[tuple[Any, Any], tuple[Any, Any]]


class Coins(Protocol):
    """Which rows are held out: by a coin for each row in order, or for each person's key."""

    keyed: bool
    salt: bytes | None  # for digests of people's ids

    def held(self, start: int, size: int, keys: Sequence[bytes] | None = None) -> NDArray[np.bool_]:
        """Whether each of some rows is held out."""
        ...


def _keys(column: Any) -> list[bytes]:
    """The key of each row's person, by the rule of ids; rows without an id share one, and are refused or left out."""
    return [b"" if key is None else written_key(key) for key in person_keys(column)]


def deal_rows(data: Any, schema: Schema, y: Any, coins: Coins, *, lenient: bool = False, exact: bool = False) -> Sides:
    """((X, y) to train on, (X, y) held out) of any source, in the form that estimators read.

    Files are read twice in the same order. Rows that might come in another order the next time, or only once, are read
    once and kept in memory: those of servers and clusters as codes, unless `exact` says that numbers are to be read
    between the points of their lattices. `lenient` leaves out what is no row of its table, such as a line of another
    length.
    """
    data, y = rows_of(data, y)
    if is_outside(data):
        refuse_labels(data, y)
        if is_coding(data) and not exact:
            return _dealt(keep_known(data, schema, lenient=lenient, salt=coins.salt), coins)
        lasting = y is None and not isinstance(data, Stream) and (coins.keyed or isinstance(data, str | os.PathLike))
        if lasting:
            seen: list[Any] = []
            parts = [Part(data, "", coins, side, schema.id, lenient, seen) for side in (False, True)]
            return (parts[0], None), (parts[1], None)
        data, y = kept_table(data, schema, y), None
    keys = _keys(Memory(data).ids(schema)) if coins.keyed else None
    return _dealt(RowTable.of_memory(data, schema, y, lenient=lenient), coins, keys)


def _dealt(rows: RowTable | CodedTable, coins: Coins, keys: list[bytes] | None = None) -> Sides:
    """Both sides of rows that are kept, by a coin for each row or each person."""
    if coins.keyed and isinstance(rows, CodedTable):
        keys = _keys(rows.people())
    held_out = coins.held(0, rows.size, keys)
    return rows.take(np.flatnonzero(~held_out)), rows.take(np.flatnonzero(held_out))


@dataclass(frozen=True, eq=False)
class Part(Table):
    """The rows of a file, table or kept rows (`connection`) that were held out, or those that were not."""

    coins: Coins
    held: bool
    person: str | None = None
    lenient: bool = False
    seen: list[Any] = field(default_factory=list)  # what files were like when the first of both sides was opened

    def stream(self) -> Stream:
        """Its rows, batch by batch, in the order of the source: that of the other side, or rows were on both."""
        inner = open_stream(self.connection, ordered=True, lenient=self.lenient)
        if not self.coins.keyed:
            now = inner.stamps()
            self.seen.extend([] if self.seen else [now])
            if now != self.seen[0]:
                inner.close()
                raise DataError(CHANGED)
        return _PartStream(inner, self)


class _PartStream(Stream):
    """The batches of a source without the rows of the other side."""

    def __init__(self, inner: Stream, part: Part) -> None:
        self.inner, self.part, self.names, self.paths = inner, part, inner.names, inner.paths

    def batches(self, wanted: list[str]) -> Iterator[dict[str, Any]]:
        coins, person = self.part.coins, self.part.person
        asked = list(wanted)
        if coins.keyed:
            assert person is not None
            if person not in self.names:
                raise DataError(f"the data have no id column {person!r}, which the schema names")
            asked += [] if person in wanted else [person]
        start = 0
        for batch in self.inner.batches(asked):
            size = len(batch[asked[0]])
            keys = _keys(batch[person]) if coins.keyed and person is not None else None
            mine = coins.held(start, size, keys) == self.part.held
            start += size
            if mine.any():
                yield {name: _filtered(batch[name], mine) for name in wanted}

    def state(self) -> Any:
        return self.inner.state()

    def stamps(self) -> Any:
        return self.inner.stamps()

    def rejected(self) -> int:
        # A line that is no row has no coin: it is told of once, on the side of the training rows.
        return 0 if self.part.held else self.inner.rejected()

    def close(self) -> None:
        self.inner.close()


def _filtered(column: Any, mine: NDArray[np.bool_]) -> Any:
    if not is_arrow(column):
        return column[mine]
    import pyarrow as pa

    return column.filter(pa.array(mine))
