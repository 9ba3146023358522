"""Counting: columns → Statistics, in plain NumPy for small data and in compiled threads for large."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.schema import Schema
from discreet.sources.absorb import Absorbed, absorb
from discreet.sources.blocks import BLOCK, SMALL, Reader, Rows, coder, in_threads, spans
from discreet.sources.columns import Codes, Column, Numbers
from discreet.sources.kernels import compiled
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
    if rows.size < SMALL or max(table.cells for table in tables) * classes >= 2**31:
        groups = rows.label.encode()
        counts = np.bincount(groups, minlength=classes + 1)
        if not counts[classes]:
            for table in tables:
                table.plain(groups)
    else:
        counts = _fast(rows, tables, classes)
    if counts[classes]:
        return rows.label
    for table in tables:
        if table.bad:
            return table.column
    result: dict[str, dict[str, Any]] = {k: {} for k in ("tables", "present", "sums", "squares", "lattice")}
    for table in tables:
        table.finish(counts[:classes], result)
    return Statistics(schema, counts[:classes], **result)


def _fast(rows: Rows, tables: list[_Tables], classes: int) -> NDArray[np.int64]:
    """Count in threads, block by block, several columns at a time; returns the class counts, bad labels last."""
    assert rows.label is not None
    label, loops = coder(rows.label), compiled()
    coders = [coder(table.column, table.binned) for table in tables]
    groups = _grouped([table.cells for table in tables], classes)
    reader = Reader([rows.label.values, *(column.values for column in rows.columns)])
    parts = spans(rows.size, BLOCK // 2 if reader.spots else BLOCK)
    done = [_Partial(groups, tables, classes) for _ in parts]

    def work(numbered: tuple[int, Iterator[slice]]) -> None:
        thread, part = numbered
        mine = done[thread]
        for span in part:
            group = np.zeros(span.stop - span.start, np.uint32)
            labels, *values = reader.read(span)
            label.index(labels, group, None)
            mine.labels += np.bincount(group, minlength=classes + 1)
            if mine.labels[classes]:
                return  # a bad label: the caller complains
            lattice = np.empty(len(group), np.int32)
            for members, joint in zip(groups, mine.joint, strict=True):
                index = group.copy()
                for j in members:
                    coders[j].index(values[j], index, lattice)
                    mine.numbers(j, lattice, group)
                loops.histogram(index, joint)

    in_threads(work, list(enumerate(parts)))
    for g, members in enumerate(groups):
        shape = (classes, *(tables[j].cells for j in members))
        joint = np.sum([one.joint[g] for one in done], axis=0).reshape(shape)
        for axis, j in enumerate(members, start=1):
            tables[j].margin = joint.sum(axis=tuple(a for a in range(1, len(shape)) if a != axis))
    for j, table in enumerate(tables):
        table.moments = np.sum([one.moments[j] for one in done], axis=0)
        table.points = done[0].points[j].astype(np.int64)
        for one in done[1:]:
            table.points += one.points[j]
    return np.asarray(sum(one.labels for one in done))


def _grouped(cells: list[int], classes: int) -> list[list[int]]:
    """Columns gathered so that the joint table of a group stays small."""
    groups: list[list[int]] = []
    room = 0
    for j, size in enumerate(cells):
        if room // size:
            groups[-1].append(j)
            room //= size
        else:
            groups.append([j])
            room = GROUP // (classes * size)
    return groups


class _Partial:
    """What one thread has counted."""

    def __init__(self, groups: list[list[int]], tables: list[_Tables], classes: int) -> None:
        self.tables = tables
        self.labels = np.zeros(classes + 1, np.int64)
        self.joint = [np.zeros(classes * math.prod(tables[j].cells for j in group), np.int64) for group in groups]
        self.moments = [np.zeros((2, classes), np.int64) for _ in tables]
        # 32 bits hold the rows of a batch and halve the memory that the counting jumps about in.
        self.points = [np.zeros((classes, table.width), np.uint32) for table in tables]

    def numbers(self, j: int, lattice: NDArray[np.int32], group: NDArray[np.uint32]) -> None:
        """Moments and lattice points of one block of a number, if they are wanted."""
        table = self.tables[j]
        if not isinstance(table.column, Numbers):
            return
        half = table.column.feature.lattice.half
        if "moments" in table.detail:
            compiled().moments(lattice, group, half, *self.moments[j])
        if table.width:
            compiled().spots(lattice, group, half, self.points[j])


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

    def plain(self, groups: NDArray[np.int64]) -> None:
        """Count all rows at once with NumPy."""
        column = self.column
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
                flat = groups[there] * self.width + points[there] + column.feature.lattice.half
                self.points = np.bincount(flat, minlength=self.classes * self.width).reshape(self.classes, self.width)
        flat = np.bincount(groups * self.cells + codes, minlength=self.classes * self.cells)
        self.margin = flat.reshape(self.classes, self.cells)

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
