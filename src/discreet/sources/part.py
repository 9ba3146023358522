"""Parts of a source: the rows that a coin of their own dealt to training or to testing, read by filtering batches."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from discreet.errors import DataError
from discreet.schema import Schema
from discreet.sources import OUTSIDE_LABELS
from discreet.sources.absorb import even_rows
from discreet.sources.fewer import person_keys
from discreet.sources.frames import NO_IDS, as_matrix, frame_ids, label_values, make_label, open_frame, require
from discreet.sources.stored import is_arrow
from discreet.sources.tables import Stream, Table, column_names, open_files, open_table


class Coins(Protocol):
    """Which rows are held out: by a coin for each row in order, or for each person's key."""

    keyed: bool

    def held(self, start: int, size: int, keys: Sequence[bytes] | None = None) -> NDArray[np.bool_]:
        """Whether each of some rows is held out."""
        ...


def _keys(column: Any) -> list[bytes]:
    """The key of each row's person, by the rule of ids; rows without an id share one, and are refused or left out."""
    return [_written(key) for key in person_keys(column)]


def _written(key: float | str | None) -> bytes:
    if key is None:
        return b""
    return b"n" + repr(key).encode() if isinstance(key, float) else b"t" + key.encode("utf-8", "surrogatepass")


def deal_rows(
    data: Any, schema: Schema, y: Any, coins: Coins, *, lenient: bool = False
) -> tuple[tuple[Any, Any], tuple[Any, Any]]:
    """((X, y) to train on, (X, y) held out) of any source, in the form that estimators read.

    Files are read twice in the same order. Rows that might come in another order the next time, or only once, are read
    once and kept in memory. `lenient` leaves out what is no row of its table, such as a line of another length.
    """
    if isinstance(data, Stream) or (isinstance(data, Table) and not coins.keyed):
        data = _keep(data, schema)
    if isinstance(data, Table | str) or hasattr(data, "__fspath__"):
        if y is not None:
            raise DataError(OUTSIDE_LABELS)
        kept, held = (Part(data, "", coins, side, schema.id, lenient) for side in (False, True))
        return (kept, None), (held, None)
    frame = open_frame(data)
    if lenient and frame is None:
        data = even_rows(data, len(schema.features))
    table = as_matrix(data) if frame is None else frame
    keys = None
    if coins.keyed:
        if frame is None:
            raise DataError(NO_IDS.format(schema.id))
        keys = _keys(frame_ids(frame, schema))
    labels = None if y is None else label_values(y)
    if labels is not None:
        make_label(schema, labels, len(table))
    held_out = coins.held(0, len(table), keys)
    return tuple(_take(table, labels, np.flatnonzero(held_out == side)) for side in (False, True))  # type: ignore[return-value]


def _take(table: Any, labels: Any, rows: NDArray[np.int64]) -> tuple[Any, Any]:
    X = table[rows] if isinstance(table, np.ndarray) else table[rows.tolist()].to_native()
    if labels is None:
        return X, None
    return X, labels[rows] if isinstance(labels, np.ndarray) else labels.take(rows)


@dataclass(frozen=True, eq=False)
class Part(Table):
    """The rows of a file, table or kept rows (`connection`) that were held out, or those that were not."""

    coins: Coins
    held: bool
    person: str | None = None
    lenient: bool = False

    def stream(self) -> Stream:
        """Its rows, batch by batch, in the order of the source."""
        whole = self.connection
        inner = open_table(whole) if isinstance(whole, Table) else open_files(whole, ordered=True, lenient=self.lenient)
        return _PartStream(inner, self)

    def columns(self) -> list[str]:
        """The names of the source's columns."""
        return column_names(self.connection)


class _PartStream(Stream):
    """The batches of a source without the rows of the other side."""

    def __init__(self, inner: Stream, part: Part) -> None:
        self.inner, self.part, self.names = inner, part, inner.names

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


@dataclass(frozen=True, eq=False)
class _Kept(Table):
    """Rows that were read once, as they came."""

    names: list[str] = field(default_factory=list)
    stored: list[dict[str, Any]] = field(default_factory=list)

    def stream(self) -> Stream:
        return _KeptStream(self)


class _KeptStream(Stream):
    def __init__(self, kept: _Kept) -> None:
        self.kept, self.names = kept, kept.names

    def batches(self, wanted: list[str]) -> Iterator[dict[str, Any]]:
        for batch in self.kept.stored:
            yield {name: batch[name] for name in wanted}


def _keep(data: Stream | Table, schema: Schema) -> _Kept:
    """Read the schema's columns of a stream or table once."""
    stream = data if isinstance(data, Stream) else open_table(data)
    try:
        require(schema, stream.names, labelled=True, identified=schema.id is not None)
        wanted = [*schema.names, schema.target, *([schema.id] if schema.id else [])]
        stored = list(stream.batches(wanted))
    finally:
        stream.close()
    return _Kept(None, "", wanted, stored)
