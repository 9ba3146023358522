"""Held rows: the rows of any source as small integers in memory, read once and shared by all that count them."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, reduce
from itertools import chain, islice
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.errors import StatisticsError
from discreet.schema import Numeric, Schema
from discreet.sources.absorb import coded_column, nobody
from discreet.sources.blocks import Rows
from discreet.sources.coded import Cells, Held, cells_at, cells_of, hold_rows, side_by_side
from discreet.sources.columns import GONE, Column, Points
from discreet.sources.spill import let_go, stacked
from discreet.statistics import OVERFLOW, Detail, Statistics

Integers = NDArray[np.int64]
PIECE = 1 << 20  # rows that are looked at together


@dataclass(frozen=True, eq=False)
class HeldRows:
    """Cells of categories and lattice points of numbers, column by column, and the class of every row.

    Where some were left out, `read` says how many rows there were, and `places` where these stood among them if they
    are of one table in memory. As private as the rows.
    """

    schema: Schema
    columns: Sequence[Held]
    labels: Integers
    places: Integers | None = None
    read: int | None = None
    total: bool = False  # whether sums beyond 64 bits stay at their end instead of being refused
    progress: Any = None  # is told of every pass over many rows: how many of them are behind

    @classmethod
    def of(cls, schema: Schema, rows: Rows, *, total: bool = False) -> HeldRows:
        """What is held of some labelled rows; a value without a place is an error."""
        assert rows.label is not None
        columns = hold_rows(rows)
        return cls(schema, columns, cells_of(rows.label).astype(np.int64), rows.places, rows.read, total)

    @classmethod
    def gathered(cls, parts: Iterable[HeldRows], schema: Schema, *, total: bool = False) -> HeldRows:
        """The rows of several batches, in their order; there may be none."""
        few = list(islice(parts := iter(parts), 2))
        if len(few) < 2:
            return few[0] if few else cls.of(schema, nobody(schema), total=total)
        reads: list[int] = []
        sizes: list[int] = []
        places: list[Cells | None] = []  # of parts of which rows were left out: a bit for each that was read

        def columns() -> Iterator[list[Held]]:
            for part in chain(few, parts):
                sizes.append(len(part))
                reads.append(len(part) if part.read is None else part.read)
                places.append(None if part.places is None else _bits(part.places, reads[-1]))
                yield [*part.columns, part.labels]
            few.clear()

        *held, labels = stacked(columns())
        return cls(schema, held, labels, _places(sizes, reads, places), sum(reads), total)

    def __len__(self) -> int:
        return len(self.labels)

    def under(self, schema: Schema, progress: Any = None) -> HeldRows:
        """The same rows under a schema that differs from the one they were read by in bins alone."""
        same = schema is self.schema and progress is self.progress
        return self if same else replace(self, schema=schema, progress=progress)

    @cached_property
    def counts(self) -> Integers:
        """Rows per class, exact."""
        return np.bincount(self.labels, minlength=len(self.schema.classes)).astype(np.int64)

    @cached_property
    def cells(self) -> Cells:
        """The cell of every row and feature."""
        return self.codes(self.schema)

    def codes(self, schema: Schema) -> Cells:
        """The same under a schema with other bins."""
        return side_by_side([cells_at(*pair) for pair in zip(schema.features, self.columns, strict=True)])

    def rows(self) -> Rows:
        """The rows as counting and scoring read them."""
        columns: list[Column] = [
            Points(feature, held) if isinstance(feature, Numeric) else coded_column(feature, held)
            for feature, held in zip(self.schema.features, self.columns, strict=True)
        ]
        return Rows(columns, len(self), coded_column(self.schema.label, self.labels))

    def pieces(self) -> Iterator[HeldRows]:
        """All rows, so many at a time that what is made of them needs little memory; one piece if there are none."""
        for low in range(0, max(len(self), 1), PIECE):
            rows = slice(low, min(low + PIECE, len(self)))
            yield replace(self, columns=[column[rows] for column in self.columns], labels=self.labels[rows])
            for column in (*self.columns, self.labels):
                let_go(column, rows)
            if self.progress is not None and len(self) > PIECE:
                self.progress(rows.stop, len(self))

    def statistics(self, detail: Collection[Detail]) -> Statistics:
        """Exact tables and moments of all rows."""
        each = (one.parts(np.zeros(len(one), np.int64), 1, detail).statistics(0) for one in self.pieces())
        return reduce(Statistics.saturated if self.total else Statistics.__add__, each)

    def parts(self, where: Integers, count: int, detail: Collection[Detail]) -> Parts:
        """The statistics of parts 0 … count − 1, row i being in part where[i]."""
        classes = len(self.schema.classes)
        spot, size = where * classes + self.labels, count * classes
        tables: dict[str, Integers] = {}
        kinds: dict[str, dict[str, Integers]] = {"present": {}, "sums": {}, "squares": {}}
        for feature, held in zip(self.schema.features, self.columns, strict=True):
            if not isinstance(feature, Numeric) or "bins" in detail:
                table = np.bincount(spot * feature.cells + cells_at(feature, held), minlength=size * feature.cells)
                tables[feature.name] = table.reshape(count, classes, feature.cells)
            if isinstance(feature, Numeric) and "moments" in detail:
                there = held != GONE
                points = np.where(there, held, 0).astype(np.int64)
                for kind, values in (("present", there), ("sums", points), ("squares", points * points)):
                    total = summed(spot, values.astype(np.int64), size, total=self.total)
                    kinds[kind][feature.name] = total.reshape(count, classes)
        counts = np.bincount(spot, minlength=size).reshape(count, classes)
        return Parts(self.schema, counts, tables, **kinds)


@dataclass(frozen=True)
class Parts:
    """Exact statistics with a part axis in front of the class axis. As private as the rows."""

    schema: Schema
    counts: Integers
    tables: dict[str, Integers]
    present: dict[str, Integers]
    sums: dict[str, Integers]
    squares: dict[str, Integers]

    def __len__(self) -> int:
        return len(self.counts)

    def statistics(self, part: int) -> Statistics:
        """The statistics of one part."""
        kinds: Any = ("tables", "present", "sums", "squares")
        picked = {kind: {name: v[part] for name, v in getattr(self, kind).items()} for kind in kinds}
        return Statistics(self.schema, self.counts[part], **picked)


def summed(spot: Integers, values: Integers, size: int, *, total: bool = False) -> Integers:
    """The exact sum of the values at each spot; beyond 64 bits it is an error, or if `total` it stays at their end.

    The upper and the lower 32 bits are summed apart, so that neither can leave 64 bits below two thousand million rows.
    """
    upper, lower = np.zeros(size, np.int64), np.zeros(size, np.int64)
    np.add.at(upper, spot, values >> 32)
    np.add.at(lower, spot, values & 0xFFFFFFFF)
    upper += lower >> 32
    over = (upper >= 1 << 31) | (upper < -(1 << 31))
    if over.any() and not total:
        raise StatisticsError(OVERFLOW)
    found = (upper << 32) + (lower & 0xFFFFFFFF)
    ends = np.iinfo(np.int64)
    return np.where(over, np.where(upper < 0, ends.min, ends.max), found)


def _bits(places: Integers, read: int) -> Cells:
    """Which of the rows that were read are there."""
    there = np.zeros(read, bool)
    there[places] = True
    return np.packbits(there)


def _places(sizes: list[int], reads: list[int], places: list[Cells | None]) -> Integers | None:
    """Where the rows of several parts stood, in a file past the limit; None if all are there, or if nobody knows."""
    parts = list(zip(sizes, reads, places, strict=True))
    if sizes == reads or any(size < read and there is None for size, read, there in parts):
        return None
    starts = np.cumsum([0, *reads])
    (found,) = stacked(
        [start + (np.arange(size) if there is None else np.flatnonzero(np.unpackbits(there)))]
        for start, (size, _, there) in zip(starts, parts, strict=False)
    )
    return found
