"""Counting: columns → Statistics, in plain NumPy for small data and in compiled threads for large."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.schema import Schema
from discreet.sources.absorb import Absorbed, absorb
from discreet.sources.blocks import SMALL, Rows, in_threads, parts, shared, spans
from discreet.sources.columns import Codes, Column, Numbers, make_column
from discreet.sources.pagecode import compiled_pages
from discreet.sources.program import Program
from discreet.sources.sweep import worthwhile
from discreet.statistics import Detail, Statistics

BINS: tuple[Detail, ...] = ("bins",)
GROUP = 4096  # cells of a joint table that a core's first cache holds


def tally(
    schema: Schema, rows: Rows, detail: Collection[Detail], absorbed: Absorbed | None = None
) -> Statistics:  # fmt: skip
    """The statistics of some rows; a bad value raises an error that names it, unless it is to be `absorbed`."""
    found = _counted(schema, rows, detail, absorbed is not None)
    if isinstance(found, Statistics):
        return found
    if absorbed is None:
        found.complain()
    # Only now is it worth a second look which values are bad.
    assert absorbed is not None
    placed = _counted(schema, absorb(rows, absorbed), detail, True)
    assert isinstance(placed, Statistics)
    return placed


def _counted(schema: Schema, rows: Rows, detail: Collection[Detail], total: bool) -> Statistics | Column:
    """The statistics of some rows, or a column that has a bad value; if `total`, sums saturate."""
    assert rows.label is not None
    tallest = max((c.feature.lattice.half for c in rows.columns if isinstance(c, Numbers)), default=0)
    if rows.size > 1 and (
        ("moments" in detail and rows.size * tallest**2 >= 2**62) or ("lattice" in detail and rows.size >= 2**32)
    ):
        middle = rows.size // 2
        first = _counted(schema, rows.part(0, middle), detail, total)
        second = _counted(schema, rows.part(middle, rows.size), detail, total)
        if isinstance(first, Statistics) and isinstance(second, Statistics):
            return first.saturated(second) if total else first + second
        return second if isinstance(first, Statistics) else first
    classes = len(schema.classes)
    tables = [_Tables(column, classes, detail) for column in rows.columns]
    wide = max(max(table.cells, table.width) for table in tables) * (classes + 1) >= 2**31
    if wide or rows.size < SMALL or not worthwhile(rows.size * len(tables)):
        counts = _plain(rows, tables, classes)
    else:
        counts = _fast(rows, tables, classes)
    if counts[classes]:
        return rows.label
    for table in tables:
        if table.bad:
            return table.column
    return _statistics(schema, tables, counts[:classes])


def _statistics(schema: Schema, tables: list[_Tables], counts: NDArray[np.int64]) -> Statistics:
    result: dict[str, dict[str, Any]] = {k: {} for k in ("tables", "present", "sums", "squares", "lattice")}
    for table in tables:
        table.finish(counts, result)
    return Statistics(schema, counts, **result)


@dataclass(frozen=True)
class Tallied:
    """Rows that were counted as they were read, and how many these are."""

    size: int
    found: Statistics


def joint_tables(schema: Schema, codes: NDArray[np.uint8]) -> Statistics | None:
    """Bins and categories counted from the codes of some rows, the label's first; None if a value has no cell."""
    classes = len(schema.classes)
    tables = [_Tables(make_column(feature, np.zeros(0)), classes, BINS) for feature in schema.features]
    cells = [table.cells for table in tables]
    groups = _grouped(cells, classes + 1, GROUP)
    shapes = [(classes + 1, *(cells[j] for j in members)) for members in groups]
    ends = np.cumsum([0, *(math.prod(shape) for shape in shapes)])
    joint = np.zeros(ends[-1], np.uint32)
    last = np.cumsum([len(members) for members in groups])
    compiled_pages()[-1](codes, np.array(cells, np.int64), last, ends[:-1], joint)
    counts = np.zeros(classes + 1, np.int64)
    for members, shape, start, stop in zip(groups, shapes, ends, ends[1:], strict=False):
        counts = _margins(joint[start:stop].reshape(shape).astype(np.int64), members, tables, classes)
    return None if counts[classes] or any(table.bad for table in tables) else _statistics(schema, tables, counts[:-1])


def _margins(
    cells: NDArray[np.int64], members: list[int], tables: list[_Tables], classes: int
) -> NDArray[np.int64]:  # fmt: skip
    """Hand the tables of a group their shares of its joint one; returns the class counts, bad labels last."""
    for axis, j in enumerate(members, start=1):
        tables[j].margin = cells.sum(axis=tuple(a for a in range(1, cells.ndim) if a != axis))[:classes]
    return np.asarray(cells.reshape(classes + 1, -1).sum(axis=1))


def _plain(rows: Rows, tables: list[_Tables], classes: int) -> NDArray[np.int64]:
    """Count with NumPy, block by block in threads; returns the class counts, bad labels last."""

    def work(part: Iterator[slice]) -> tuple[NDArray[np.int64], list[_Tables]]:
        counts, mine = np.zeros(classes + 1, np.int64), [table.empty() for table in tables]
        for span in part:
            some = rows if span.stop - span.start == rows.size else rows.part(span.start, span.stop)
            assert some.label is not None
            groups = some.label.encode()
            counts += np.bincount(groups, minlength=classes + 1)
            if counts[classes]:
                break  # a bad label: the caller complains
            for table, column in zip(mine, some.columns, strict=True):
                table.add(column, groups)
        return counts, mine

    done = in_threads(work, spans(rows.size))
    for j, table in enumerate(tables):
        for _, mine in done:
            table.include(mine[j])
    return np.asarray(sum(counts for counts, _ in done))


def _fast(rows: Rows, tables: list[_Tables], classes: int) -> NDArray[np.int64]:
    """Count in threads, tile by tile, several columns at a time; returns the class counts, bad labels last."""
    assert rows.label is not None
    program = Program(rows.columns, rows.label, all(table.binned for table in tables))
    # Rows whose points are counted need no other count: their bins follow from it.
    groups = _grouped(program.cells, classes + 1, 0 if any(table.width for table in tables) else GROUP)
    shapes = [(classes + 1, *(program.cells[j] for j in members)) for members in groups]
    ends = np.cumsum([0, *(0 if tables[g[0]].width else math.prod(s) for g, s in zip(groups, shapes, strict=True))])
    firsts = np.where(np.diff(ends) > 0, ends[:-1], -1)
    places = np.cumsum([0, *((classes + 1) * table.width for table in tables)])
    for j, table in enumerate(tables):
        program.want(j, j if "moments" in table.detail else -1, int(places[j]) if table.width else -1)

    def work(part: tuple[int, int]) -> tuple[NDArray[Any], ...]:
        # 32 bits hold the rows of a part and halve the memory that the counting jumps about in.
        joint, spots = (np.zeros(last[-1], np.uint32) for last in (ends, places))
        moments = np.zeros((len(tables), 2, classes), np.int64)
        program.sweep(groups, *part, joint, firsts, moments, spots)
        return joint, moments, spots

    def gather(j: int) -> NDArray[np.int64]:
        # All rows fit into 32 bits, too (`_counted`): they are summed before they get longer.
        mine = [spots[places[j] : places[j + 1]].reshape(-1, tables[j].width) for *_, spots in done]
        for other in mine[1:]:
            mine[0] += other
        return tables[j].take(mine[0])

    done = in_threads(work, parts(rows.size))
    joint, moments = (np.asarray(np.sum([one[k] for one in done], axis=0, dtype=np.int64)) for k in (0, 1))
    pointed = [j for j, table in enumerate(tables) if table.width]
    totals = shared(gather, pointed)
    for g, members in enumerate(groups):
        if firsts[g] < 0:
            continue
        totals.append(_margins(joint[ends[g] : ends[g + 1]].reshape(shapes[g]), members, tables, classes))
    for table, sums in zip(tables, moments, strict=True):
        table.moments = sums
    return np.asarray(totals[-1])


def _grouped(cells: list[int], classes: int, most: int) -> list[list[int]]:
    """Columns gathered so that the joint table of a group stays small."""
    groups: list[list[int]] = []
    room = 0
    for j, size in enumerate(cells):
        if room // size:
            groups[-1].append(j)
            room //= size
        else:
            groups.append([j])
            room = most // (classes * size)
    return groups


class _Tables:
    """The tables of one column: `margin` has a row per class and a column per cell, then cells for bad values.

    A number of which no bins are wanted has the cells present, missing and infinite.
    """

    def __init__(self, column: Codes | Numbers, classes: int, detail: Collection[Detail]) -> None:
        self.column, self.classes = column, classes
        number = isinstance(column, Numbers)
        self.detail: Collection[Detail] = detail if number else BINS
        self.binned = "bins" in self.detail
        there = column.feature.cells if self.binned else 1 + (column.feature.missing_code is not None)
        self.good, self.cells = there, there + (2 if number else 1)
        self.width = 2 * column.feature.lattice.half + 3 if isinstance(column, Numbers) and "lattice" in detail else 0
        self.margin = np.zeros((classes, self.cells), np.int64)
        self.moments = np.zeros((2, classes), np.int64)
        self.points = np.zeros((classes, self.width), np.int64)

    def empty(self) -> _Tables:
        """Tables of the same shape that hold nothing yet."""
        return _Tables(self.column, self.classes, self.detail)

    def include(self, other: _Tables) -> None:
        """Add what others have counted."""
        self.margin += other.margin
        self.moments += other.moments
        self.points += other.points

    def add(self, column: Codes | Numbers, groups: NDArray[np.int64]) -> None:
        """Count some rows of the column with NumPy."""
        if isinstance(column, Codes):
            codes = column.encode()
        else:
            points, gone = column.points()
            infinite = column.infinite()
            cuts = np.array(column.feature.cuts if self.binned else (), np.int64)
            codes = np.searchsorted(cuts, points, side="right")
            codes[gone], codes[infinite] = len(cuts) + 1, len(cuts) + 2
            there = ~(gone | infinite)
            for power in (1, 2) if "moments" in self.detail else ():
                np.add.at(self.moments[power - 1], groups[there], points[there] ** power)
            if self.width:
                np.add.at(self.points, (groups[there], points[there] + column.feature.lattice.half), 1)
        flat = np.bincount(groups * self.cells + codes, minlength=self.classes * self.cells)
        self.margin += flat.reshape(self.classes, self.cells)

    def take(self, points: NDArray[np.uint32]) -> NDArray[np.int64]:
        """Take over how many rows of each class, bad labels last, are at each point; returns how many rows these are.

        After the points come missing and infinite values, as they do after the bins.
        """
        assert isinstance(self.column, Numbers)
        self.points = points[: self.classes, :-2].astype(np.int64)
        self.points.flags.writeable = False
        half = self.column.feature.lattice.half
        cuts = [cut + half for cut in self.column.feature.cuts] if self.binned else []
        ends = [0, *cuts, 2 * half + 1]
        for cell, (start, stop) in enumerate(pairwise(ends)):
            self.margin[:, cell] = self.points[:, start:stop].sum(axis=1)
        self.margin[:, len(ends) - 1 : len(ends) + 1] = points[: self.classes, -2:]
        return np.append(self.margin.sum(axis=1), points[self.classes].sum(dtype=np.int64))

    @property
    def bad(self) -> bool:
        """Whether a value without a place was counted."""
        return bool(self.margin[:, self.good :].any())

    def finish(self, counts: NDArray[np.int64], result: dict[str, dict[str, Any]]) -> None:
        """Hand over what was asked for."""
        name = self.column.feature.name
        table = self.margin[:, : self.good]
        if self.binned:
            result["tables"][name] = table
        if "moments" in self.detail:
            gone = self.column.feature.missing_code is not None
            result["present"][name] = counts - table[:, -1] if gone else counts
            result["sums"][name], result["squares"][name] = self.moments
        if self.width:
            result["lattice"][name] = self.points[:, : self.width - 2]
