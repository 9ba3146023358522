"""Counting inside an engine: statements grouped by raw categories and coded numbers, read here by the package's rule.

Every value of a category comes here once per group and goes through the same code as a column of rows. A number is
coded in the engine, as `sql` says. What cannot be counted that way is streamed: single features, or all rows.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.errors import StatisticsError
from discreet.features import Categorical, Feature, Numeric
from discreet.schema import Schema
from discreet.sources.absorb import Absorbed
from discreet.sources.columns import Codes, Numbers, make_column
from discreet.sources.count import tally
from discreet.sources.sql import KINDS, NUMBERS, Grid, bin_of
from discreet.sources.sqlview import Engine, View
from discreet.sources.stored import objects
from discreet.statistics import OVERFLOW, Detail, Statistics

GROUPS = 1 << 14  # that a statement may have if all values are declared ones: PostgreSQL keeps them in its work_mem
MOST = 1 << 17  # groups that come here: past it a column is no list of categories, and is streamed
FEW_BINS = 512  # past it a number is grouped by its points, as for lattice histograms
FINEST = -1000  # the least octave that a double scales to 1 … 2
_LIMIT = 2**63 - 1


@dataclass
class _Margin:
    """Rows per class and key of one feature, and sums of its points per class.

    The keys of a category are its cells and one for values without a cell; `values` has the key of each distinct value.
    Those of a number are bins, points, or whether it is there, and then one for missing and one for infinite values.
    """

    feature: Feature
    table: NDArray[np.int64]
    values: dict[Any, int] = field(default_factory=dict)
    sums: list[list[int]] = field(default_factory=list)

    @property
    def place(self) -> int | None:
        """The cell to which values without one go, if there is any."""
        other = self.feature.other_code if isinstance(self.feature, Categorical) else None
        return self.feature.missing_code if other is None else other

    @property
    def odd(self) -> NDArray[np.int64]:
        """Rows per class with a value that has no cell."""
        first = -2 if isinstance(self.feature, Numeric) and self.feature.missing_code is None else -1
        return np.asarray(self.table[:, first:].sum(axis=1))

    def complain(self, *, label: bool) -> None:
        """Raise the error that a reading of such rows raises."""
        if isinstance(self.feature, Numeric):
            Numbers(self.feature, np.array([np.inf if self.table[:, -1].any() else np.nan])).complain()
        value = next(value for value, code in self.values.items() if code == self.feature.cells)
        column = make_column(self.feature, objects([value]))
        if isinstance(column, Codes):
            column.label = label
        column.complain()

    def there(self) -> NDArray[np.int64]:
        """Rows per class and bin or point of a number that is there."""
        return self.table[:, :-2]

    def missing(self) -> NDArray[np.int64]:
        """Rows per class in which a number is missing, or is none and counts as missing."""
        return np.asarray(self.table[:, -2:].sum(axis=1))

    def category(self) -> NDArray[np.int64]:
        """Rows per class and cell, values without one where they belong."""
        cells = self.table[:, :-1].copy()
        if self.place is not None:
            cells[:, self.place] += self.odd
        return cells


class Counting:
    """One count: the statements it takes, and what they tell together."""

    def __init__(self, engine: Engine, schema: Schema, detail: Collection[Detail], *, total: bool) -> None:
        self.engine, self.schema, self.detail, self.total = engine, schema, detail, total
        kinds = engine.kinds
        self.counted = [
            one for one in schema.features
            if kinds.get(one.name) in (KINDS if not isinstance(one, Numeric) else NUMBERS if one.direct else ())
        ]  # fmt: skip
        self.streamed: set[str] = {one.name for one in schema.features} - {one.name for one in self.counted}

    def run(self, absorbed: Absorbed) -> Statistics | None:
        """The statistics, or None if the rows have to be streamed."""
        if self.engine.kinds.get(self.schema.target) not in KINDS or not self.counted:
            return None
        found = self._placed(self._margins, absorbed)
        return None if found is None else self._joined(found, absorbed)

    def histograms(self, grids: Mapping[str, Grid], absorbed: Absorbed) -> dict[str, NDArray[np.int64]] | None:
        """Rows by finest cell of some numbers, and under "" all of them; None if the rows have to be streamed."""
        if self.streamed & set(grids) or any(grid.low < FINEST for grid in grids.values()):
            return None
        self.streamed = set()  # of other columns nothing is asked
        found = self._placed(lambda where: self._spread(grids, where), absorbed)
        if found is None:
            return None
        sizes = {int(margin.table.sum()) for margin in found.values()}
        tables = {name: np.asarray(margin.there()[0]) for name, margin in found.items()}
        return {**tables, "": np.array([*sizes])} if len(sizes) == 1 else None

    def values(self) -> dict[str, dict[Any, int]] | None:
        """The cell of every value of the labels (under "") and of those categories that have few enough."""
        if self.engine.kinds.get(self.schema.target) not in KINDS:
            return None
        self.counted = [one for one in self.counted if not isinstance(one, Numeric)]
        found = self._margins("") or self._branch([], "")
        return None if found is None else {name: margin.values for name, margin in found.items()}

    def _placed(
        self, count: Callable[[str], dict[str, _Margin] | None], absorbed: Absorbed
    ) -> dict[str, _Margin] | None:  # fmt: skip
        """What is counted of the rows that stay, by the rule for values without a place."""
        found = count("")
        if found is None:
            return None
        if not self.total:
            for name, margin in found.items():
                if margin.odd.any():
                    margin.complain(label=not name)
        leaving = {name: one for name, one in found.items() if one.place is None and one.odd.any()}
        if leaving:
            # Which rows stay is found out row by row, from values that were seen: those of the same rows, then.
            if self.streamed or not self.engine.steady:
                return None
            size = _size(found)
            found = count(" WHERE " + " AND ".join(self._stays(name, one) for name, one in leaving.items()))
            if found is None or any(one.place is None and one.odd.any() for one in found.values()):
                return None
            absorbed.rows += size - _size(found)
        absorbed.values += sum(int(one.odd.sum()) for name, one in found.items() if name)
        return found

    def classes(self) -> NDArray[np.int64] | None:
        """Rows per class, from the labels alone."""
        if self.engine.kinds.get(self.schema.target) not in KINDS:
            return None
        found = self._branch([], "")
        if found is None:
            return None
        if found[""].odd.any():
            found[""].complain(label=True)
        return np.asarray(found[""].category()[0])

    # ---- statements

    def _margins(self, where: str) -> dict[str, _Margin] | None:
        """What is counted of the classes and of every feature; features of too many values are left to be streamed."""
        found: dict[str, _Margin] = {}
        groups, done = self._grouped(), 0
        while groups:
            if self.engine.progress:
                self.engine.progress(done, done + len(groups))
            members, done = groups.pop(0), done + 1
            part = self._branch(members, where)
            if part is None and len(members) > 1:
                groups = [*([one] for one in members), *groups]
                continue
            if part is None:
                self.streamed.update(one.name for one in members)
                if not members or (self.total and where):
                    return None
                continue
            if "" in found and not np.array_equal(found[""].table, part[""].table):
                return None  # somebody writes into the table, and statements see different rows of it
            found = part | found
        if "" not in found:
            return None
        order = ["", *self.schema.names]
        return {name: found[name] for name in order if name in found}

    def _grouped(self) -> list[list[Feature]]:
        """Features whose joint table stays small, one statement for each group of them."""
        points = [one for one in self.counted if isinstance(one, Numeric) and self._by_points(one)]
        groups: list[list[Feature]] = [[one] for one in points]
        for number in (False, True):  # without numbers a statement needs no fence, and runs in parallel
            room = 0
            for one in self.counted:
                if isinstance(one, Numeric) != number or one in points or one.name in self.streamed:
                    continue
                size = one.cells + 2 if "bins" in self.detail or not number else 3
                if room // size:
                    groups[-1].append(one)
                    room //= size
                else:
                    groups.append([one])
                    room = GROUPS // (len(self.schema.classes) * size)
        return groups

    def _by_points(self, feature: Numeric) -> bool:
        return "lattice" in self.detail or ("bins" in self.detail and feature.cells > FEW_BINS)

    def _branch(self, members: list[Feature], where: str) -> dict[str, _Margin] | None:
        """One statement: rows by class and by what some features hold; None if there are too many groups."""
        engine, speak = self.engine, self.engine.dialect
        view = View(engine, [self.schema.target, *(one.name for one in members)], where)
        inner, keys, sums = [f"{speak.key(*view[self.schema.target])} AS l"], ["l"], []
        for j, one in enumerate(members):
            if not isinstance(one, Numeric):
                inner.append(f"{speak.key(*view[one.name])} AS k{j}")
                keys.append(f"k{j}")
                continue
            inner.append(f"{speak.point(one, *view[one.name])} AS p{j}")
            half = one.lattice.half
            if self._by_points(one):
                keys.append(f"p{j}")
                continue
            keys.append(bin_of(f"p{j}", [*(one.cuts if "bins" in self.detail else ()), half + 1, half + 2]))
            if "moments" in self.detail:
                sums += [speak.added.format(f"p{j}"), speak.added.format(f"p{j} * p{j}")]
        points = any(isinstance(one, Numeric) and self._by_points(one) for one in members)
        fence = speak.fence if any(isinstance(one, Numeric) for one in members) else ""
        rows = f"SELECT {', '.join(inner)} FROM {view}{fence}"
        places = ", ".join(str(i + 1) for i in range(len(keys)))
        query = f"SELECT {', '.join([*keys, 'count(*)', *sums])} FROM ({rows}) one GROUP BY {places}"
        answer = engine.ask(query if points else f"{query} LIMIT {MOST + 1}")
        if not points and len(answer) > MOST:
            return None
        columns = [[row[i] for row in answer] for i in range(len(keys) + 1 + len(sums))]
        return self._read(members, columns)

    def _spread(self, grids: Mapping[str, Grid], where: str) -> dict[str, _Margin]:
        """Rows by finest cell of each number, a statement for each."""
        found, speak = {}, self.engine.dialect
        for one in self.schema.features:
            if isinstance(one, Numeric) and (grid := grids.get(one.name)) is not None:
                view = View(self.engine, [one.name], where)
                away = f"SELECT {speak.distance(one, grid.anchor, *view[one.name])} AS d FROM {view}{speak.fence}"
                cells = f"SELECT {speak.cell(grid, 'd')} AS c FROM ({away}) one{speak.fence}"
                answer = self.engine.ask(f"SELECT c, count(*) FROM ({cells}) two GROUP BY 1")
                codes, rows = np.array(answer, np.int64).reshape(-1, 2).T
                size = (grid.below + 1 + grid.above) * grid.parts + 2
                found[one.name] = _Margin(one, _added(rows, (1, size), np.zeros_like(codes), codes))
        return found

    def _read(self, members: list[Feature], columns: list[list[Any]]) -> dict[str, _Margin]:
        """The margins of a joint table, its values coded as those of any column are."""
        classes = len(self.schema.classes)
        rows = np.array(columns[len(members) + 1], np.int64)
        labels, names = self._coded(self.schema.label, columns[0])
        result = {"": _Margin(self.schema.label, _added(rows, (1, classes + 1), np.zeros_like(labels), labels), names)}
        more = iter(columns[len(members) + 2 :])
        for one, held in zip(members, columns[1:], strict=False):
            if isinstance(one, Numeric):
                points, half = self._by_points(one), one.lattice.half
                width = 2 * half + 1 if points else 1 + (len(one.cuts) if "bins" in self.detail else 0)
                codes, names = np.array(held, np.int64) + (half if points else 0), {}
                summed = "moments" in self.detail and not points
                known = np.where(codes < width, labels, classes)  # the sums of other groups are of no numbers
                sums = [_by_class(known, next(more), classes) for _ in range(2)] if summed else []
                margin = _added(rows, (classes + 1, width + 2), labels, codes)[:classes]
                result[one.name] = _Margin(one, margin, sums=sums)
            else:
                codes, names = self._coded(one, held)
                margin = _added(rows, (classes + 1, one.cells + 1), labels, codes)[:classes]
                result[one.name] = _Margin(one, margin, names)
        return result

    def _coded(self, feature: Categorical, values: list[Any]) -> tuple[NDArray[np.int64], dict[Any, int]]:
        """The cells of values, by the one rule; those without one are `feature.cells`."""
        plain = [bytes(one).decode("utf-8", "replace") if isinstance(one, bytes | bytearray) else one for one in values]
        column = make_column(feature, objects(plain))
        assert isinstance(column, Codes)
        codes = column.encode()
        return codes, dict(zip(plain, codes.tolist(), strict=True))

    def _stays(self, name: str, margin: _Margin) -> str:
        """The test of a row that a column does not make it leave."""
        column = name or self.schema.target
        item, kind, speak = self.engine.item(column), self.engine.kinds[column], self.engine.dialect
        if isinstance(margin.feature, Numeric):
            return f"{speak.point(margin.feature, item, kind)} <= {margin.feature.lattice.half}"
        return speak.among(item, kind, [one for one, code in margin.values.items() if code < margin.feature.cells])

    # ---- what it comes to

    def _joined(self, found: dict[str, _Margin], absorbed: Absorbed) -> Statistics | None:
        counts = found[""].category()[0]
        parts: dict[str, dict[str, Any]] = {kind: {} for kind in ("tables", "present", "sums", "squares", "lattice")}
        for name, margin in found.items():
            if name and isinstance(margin.feature, Numeric):
                self._number(margin.feature, margin, counts, parts)
            elif name:
                parts["tables"][name] = margin.category()
        if self.streamed:
            rest = self._rest(absorbed)
            if rest is None or not np.array_equal(rest.counts, counts):
                return None
            for kind, held in parts.items():
                held |= getattr(rest, kind)
        return Statistics(self.schema, counts, **parts)

    def _number(self, feature: Numeric, margin: _Margin, counts: Any, parts: dict[str, dict[str, Any]]) -> None:
        there, gone, sums = margin.there(), margin.missing(), margin.sums
        if self._by_points(feature):
            half = feature.lattice.half
            met = [[(int(i) - half, int(row[i])) for i in np.flatnonzero(row)] for row in there]
            sums = [[sum(point**power * rows for point, rows in row) for row in met] for power in (1, 2)]
            if "lattice" in self.detail:
                parts["lattice"][feature.name] = there
            there = np.add.reduceat(there, [0, *(cut + half for cut in feature.cuts)], axis=1)
        if "bins" in self.detail:
            places = [there] if feature.missing_code is None else [there, gone[:, None]]
            parts["tables"][feature.name] = np.concatenate(places, axis=1)
        if "moments" in self.detail:
            parts["present"][feature.name] = counts - gone
            for kind, row in zip(("sums", "squares"), sums, strict=True):
                parts[kind][feature.name] = [self._in_64_bits(value) for value in row]

    def _in_64_bits(self, value: int) -> int:
        if -_LIMIT - 1 <= value <= _LIMIT:
            return value
        if not self.total:
            raise StatisticsError(OVERFLOW)
        return _LIMIT if value > 0 else -_LIMIT - 1

    def _rest(self, absorbed: Absorbed) -> Statistics | None:
        """The features that no statement counts, read as rows; None if rows would have to leave for what they hold."""
        part = self.schema.having([one for one in self.schema.features if one.name in self.streamed])
        spare = Absorbed() if self.total else None
        result: Statistics | None = None
        for rows, _ in self.engine.rows(part):
            found = tally(part, rows, self.detail, spare)
            result = found if result is None else result.saturated(found) if self.total else result + found
        if spare is not None:
            if spare.rows:
                return None
            absorbed.values += spare.values
        return result


def _size(found: dict[str, _Margin]) -> int:
    """The rows of the labels, or else of the first number."""
    return int(next(iter(found.values())).table.sum())


def _added(rows: NDArray[np.int64], shape: tuple[int, ...], *codes: NDArray[np.int64]) -> NDArray[np.int64]:
    """A table of so many rows at each tuple of codes."""
    table = np.zeros(shape, np.int64)
    np.add.at(table, codes, rows)
    return table


def _by_class(labels: NDArray[np.int64], values: list[Any], classes: int) -> list[int]:
    """Sums per class that no width of integers limits."""
    sums = [0] * (classes + 1)
    for label, value in zip(labels.tolist(), values, strict=True):
        sums[label] += int(value)
    return sums[:classes]
