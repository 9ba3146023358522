"""Counting: columns → Statistics, in plain NumPy for small data and in compiled threads for large."""

from __future__ import annotations

import os
from collections.abc import Callable, Collection, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.schema import Numeric, Schema
from discreet.sources.columns import Codes, Column, Numbers
from discreet.sources.kernels import compiled
from discreet.statistics import Detail, Statistics

SMALL = 100_000
BLOCK = 1 << 16
CACHED = 1 << 20  # bytes of row-major matrix that a core's cache should hold


@dataclass(slots=True)
class Rows:
    """Some rows of a table, column by column, with their labels if they have any."""

    columns: list[Column]
    size: int
    label: Codes | None = None

    def part(self, start: int, stop: int) -> Rows:
        """The rows from `start` to before `stop`."""

        def cut(column: Any) -> Any:
            return replace(column, values=column.values[start:stop])

        return Rows([cut(c) for c in self.columns], stop - start, cut(self.label) if self.label else None)


def _tallest(rows: Rows) -> int:
    """The largest lattice point any number can have."""
    return max((c.feature.lattice.half for c in rows.columns if isinstance(c, Numbers)), default=0)


def workers() -> int:
    """How many threads this process may use."""
    try:
        return max(1, len(os.sched_getaffinity(0)))
    except AttributeError:
        return os.cpu_count() or 1


def spans(rows: Rows, most: int = BLOCK) -> list[Iterator[slice]]:
    """Rows cut into one run of blocks per thread; blocks of a row-major matrix fit the cache."""
    strides = max((abs(column.values.strides[0]) for column in rows.columns if rows.size), default=8)
    block = max(1024, min(most, CACHED // max(strides, 16)))
    threads = min(workers(), max(1, rows.size // block))
    ends = np.linspace(0, rows.size, threads + 1).astype(int)

    def run(start: int, stop: int) -> Iterator[slice]:
        for low in range(start, stop, block):
            yield slice(low, min(low + block, stop))

    return [run(int(a), int(b)) for a, b in pairwise(ends)]


def in_threads(task: Callable[[Any], Any], parts: list[Any]) -> list[Any]:
    """Run a task on every part at once."""
    if len(parts) == 1:
        return [task(parts[0])]
    with ThreadPoolExecutor(len(parts)) as pool:
        return list(pool.map(task, parts))


def bin_table(feature: Numeric, points: bool = False) -> NDArray[Any]:
    """Lattice point + half → bin (or → itself, for a histogram of the whole lattice)."""
    size = 2 * feature.lattice.half + 1
    if points:
        return np.arange(size, dtype=np.int32)
    kind = np.int16 if feature.cells < 2**15 - 2 else np.int32
    cuts = np.array(feature.cuts, dtype=np.int64) + feature.lattice.half
    return np.searchsorted(cuts, np.arange(size), side="right").astype(kind)


def tally(schema: Schema, rows: Rows, detail: Collection[Detail]) -> Statistics:
    """The statistics of some rows; a bad value raises an error that names it."""
    assert rows.label is not None
    if rows.size > 1 and "moments" in detail and rows.size * _tallest(rows) ** 2 >= 2**62:
        return tally(schema, rows.part(0, rows.size // 2), detail) + tally(
            schema, rows.part(rows.size // 2, rows.size), detail
        )
    label, classes = rows.label, len(schema.classes)
    if rows.size < SMALL:
        groups = label.encode().astype(np.int16)
    else:
        groups = np.empty(rows.size, np.int16)
        code = (label.low, label.table, label.unknown, label.missing)
        in_threads(
            lambda part: [compiled().encode(label.values[s], *code, groups[s]) for s in part],
            spans(Rows([label], rows.size)),
        )
    counts = np.bincount(groups, minlength=classes + 1)
    if counts[classes:].any():
        label.complain()
    counters = [_Counter(column, classes, detail) for column in rows.columns]
    if rows.size < SMALL:
        for counter in counters:
            counter.plain(groups)
    else:
        parts = spans(rows)
        for counter in counters:
            counter.prepare(len(parts))

        def work(numbered: tuple[int, Iterator[slice]]) -> None:
            thread, part = numbered
            for span in part:
                for counter in counters:
                    counter.fast(thread, span, groups[span])

        in_threads(work, list(enumerate(parts)))
    result: dict[str, dict[str, Any]] = {k: {} for k in ("tables", "present", "sums", "squares", "lattice")}
    for counter in counters:
        counter.finish(counts[:classes], result)
    return Statistics(schema, counts[:classes], **result)


class _Counter:
    """The tables of one column, filled block by block."""

    def __init__(self, column: Column, classes: int, detail: Collection[Detail]) -> None:
        self.column, self.classes = column, classes
        self.detail = detail if isinstance(column, Numbers) else ("bins",)
        self.bins = "bins" in self.detail or "moments" in self.detail
        self.cells = column.feature.cells + (2 if isinstance(column, Numbers) else 1)
        self.tables: list[NDArray[np.int64]] = []
        self.moments: list[NDArray[np.int64]] = []
        self.points: list[NDArray[np.int64]] = []

    def prepare(self, threads: int) -> None:
        """One set of tables per thread."""
        new = np.zeros
        self.tables = [new(self.classes * self.cells, np.int64) for _ in range(threads)]
        if isinstance(self.column, Numbers):
            self.moments = [new((2, self.classes), np.int64) for _ in range(threads)]
            self.lookup = bin_table(self.column.feature)
            self.width = 2 * self.column.feature.lattice.half + 3
            if "lattice" in self.detail:
                self.points = [new(self.classes * self.width, np.int64) for _ in range(threads)]
                self.every = bin_table(self.column.feature, points=True)

    def fast(self, thread: int, span: slice, groups: NDArray[np.int16]) -> None:
        """Count one block in compiled code."""
        column, table, loops = self.column, self.tables[thread], compiled()
        values = column.values[span]
        if isinstance(column, Codes):
            loops.count_codes(
                values, groups, column.low, column.table, column.unknown, column.missing, self.cells, table
            )
            return
        feature, moments = column.feature, self.moments[thread]
        lattice = feature.lattice
        shape = (lattice.middle, lattice.inverse, lattice.half)
        gone = feature.cells if feature.missing_code is None else feature.missing_code
        loops.count_numbers(
            values, groups, *shape, self.lookup, gone, feature.cells + 1, self.cells, table,
            "moments" in self.detail, moments[0], moments[1],
        )  # fmt: skip
        if "lattice" in self.detail:
            end = 2 * lattice.half + 1
            loops.count_numbers(
                values, groups, *shape, self.every, end, end + 1, self.width, self.points[thread],
                False, moments[0], moments[1],
            )  # fmt: skip

    def plain(self, groups: NDArray[np.int16]) -> None:
        """Count all rows at once with NumPy."""
        column, wide = self.column, groups.astype(np.int64)
        if isinstance(column, Codes):
            flat = wide * self.cells + column.encode()
            self.tables = [np.bincount(flat, minlength=self.classes * self.cells)]
            return
        feature = column.feature
        points, gone = column.points()
        infinite = np.isinf(column.values) if column.values.dtype.kind == "f" else np.zeros(len(points), bool)
        codes = np.searchsorted(np.array(feature.cuts, np.int64), points, side="right")
        codes[gone] = feature.cells if feature.missing_code is None else feature.missing_code
        codes[infinite] = feature.cells + 1
        self.tables = [np.bincount(wide * self.cells + codes, minlength=self.classes * self.cells)]
        there = ~(gone | infinite)
        self.moments = [np.zeros((2, self.classes), np.int64)]
        if "moments" in self.detail:
            np.add.at(self.moments[0][0], wide[there], points[there])
            np.add.at(self.moments[0][1], wide[there], points[there] ** 2)
        if "lattice" in self.detail:
            half = feature.lattice.half
            self.width = 2 * half + 3
            flat = wide[there] * self.width + points[there] + half
            self.points = [np.bincount(flat, minlength=self.classes * self.width)]

    def finish(self, counts: NDArray[np.int64], result: dict[str, dict[str, Any]]) -> None:
        """Merge the threads' tables, refuse bad values, hand over what was asked for."""
        feature, name = self.column.feature, self.column.feature.name
        table = np.sum(self.tables, axis=0).reshape(self.classes, self.cells)
        if table[:, feature.cells :].any():
            self.column.complain()
        table = table[:, : feature.cells]
        if isinstance(self.column, Codes) or "bins" in self.detail:
            result["tables"][name] = table
        if "moments" in self.detail:
            code = feature.missing_code
            result["present"][name] = counts if code is None else counts - table[:, code]
            result["sums"][name], result["squares"][name] = np.sum(self.moments, axis=0)
        if "lattice" in self.detail:
            wide = np.sum(self.points, axis=0).reshape(self.classes, self.width)
            result["lattice"][name] = wide[:, : self.width - 2]
