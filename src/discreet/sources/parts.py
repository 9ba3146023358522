"""Parts: the statistics of many disjoint parts of the same rows, counted at once."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.errors import StatisticsError
from discreet.privacy.unexpected import ABSORB, REFUSE
from discreet.schema import Numeric, Schema
from discreet.sources import Draw, Progress, read_rows
from discreet.sources.columns import Codes
from discreet.statistics import OVERFLOW, Detail, Statistics

Integers = NDArray[np.int64]


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
        kinds = ("present", "sums", "squares")
        picked = {kind: {name: v[part] for name, v in getattr(self, kind).items()} for kind in kinds}
        return Statistics(self.schema, self.counts[part], {n: v[part] for n, v in self.tables.items()}, **picked)


class Coded:
    """Rows in memory as cells and lattice points, ready to be counted under many partitions."""

    def __init__(
        self,
        data: Any,
        schema: Schema,
        y: Any = None,
        *,
        contributions: int | None = None,
        unexpected: str = REFUSE,
        draw: Draw | None = None,
        progress: Progress | None = None,
    ) -> None:
        self.schema, self.total = schema, unexpected == ABSORB
        options: Any = {"contributions": contributions, "unexpected": unexpected, "draw": draw, "progress": progress}
        blocks = list(read_rows(data, schema, y, **options))
        # Where the rows stood among those of one table in memory, if some were left out.
        self.places = blocks[0].places if len(blocks) == 1 else None
        self.read = sum(rows.size if rows.read is None else rows.read for rows in blocks)
        labels = [_checked(rows.label) for rows in blocks if rows.label is not None]
        self.label: Integers = np.concatenate(labels) if labels else np.empty(0, np.int64)
        self.cells: list[Integers] = []
        self.points: list[Integers | None] = []
        self.present: list[NDArray[np.bool_] | None] = []
        for index, feature in enumerate(schema.features):
            columns: list[Any] = [rows.columns[index] for rows in blocks]
            if not isinstance(feature, Numeric):
                self.cells.append(np.concatenate([_checked(column) for column in columns]))
                self.points.append(None)
                self.present.append(None)
                continue
            pairs = [column.points() for column in columns]
            points, gone = (np.concatenate(side) for side in zip(*pairs, strict=True))
            if (gone.any() and feature.missing_code is None) or any(_infinite(column.values) for column in columns):
                next(c for c in columns if _infinite(c.values) or c.points()[1].any()).complain()
            codes = np.searchsorted(np.array(feature.cuts, np.int64), points, side="right").astype(np.int64)
            if feature.missing_code is not None:
                codes[gone] = feature.missing_code
            self.cells.append(codes)
            self.points.append(points)
            self.present.append(~gone)

    def __len__(self) -> int:
        return len(self.label)

    def parts(self, where: Integers, count: int, detail: Collection[Detail]) -> Parts:
        """The statistics of parts 0 … count − 1, row i being in part where[i]."""
        classes = len(self.schema.classes)
        spot = where * classes + self.label
        size = count * classes
        tables: dict[str, Integers] = {}
        kinds: dict[str, dict[str, Integers]] = {"present": {}, "sums": {}, "squares": {}}
        for feature, cells, points, there in zip(
            self.schema.features, self.cells, self.points, self.present, strict=True
        ):
            if not isinstance(feature, Numeric) or "bins" in detail:
                table = np.bincount(spot * feature.cells + cells, minlength=size * feature.cells)
                tables[feature.name] = table.reshape(count, classes, feature.cells)
            if isinstance(feature, Numeric) and "moments" in detail:
                assert points is not None and there is not None
                for kind, values in (
                    ("present", there),
                    ("sums", points * there),
                    ("squares", points * points * there),
                ):
                    total = summed(spot, values.astype(np.int64), size, total=self.total)
                    kinds[kind][feature.name] = total.reshape(count, classes)
        counts = np.bincount(spot, minlength=size).reshape(count, classes)
        return Parts(self.schema, counts, tables, **kinds)


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


def _infinite(values: Any) -> bool:
    return values.dtype.kind == "f" and bool(np.isinf(values).any())


def _checked(column: Codes) -> Integers:
    codes = column.encode()
    if (codes == column.feature.cells).any():
        column.complain()
    return codes
