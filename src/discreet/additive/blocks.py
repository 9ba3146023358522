"""Blocks: rows as weights of whole numbers that add up to one in every block, one block per feature or pair.

A category fills one column of its block. A number lies between two public knots and is shared out between their
columns, so that a block's weights draw a line through the knots; missing numbers have a column of their own.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property, partial
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.additive.kernels import compiled
from discreet.domain import exact
from discreet.errors import SchemaError
from discreet.features import DEFAULT_BINS
from discreet.linear.encode import UNIT, Design
from discreet.schema import Numeric, Schema
from discreet.sources import GONE, SMALL, Held, HeldRows

PAIR_BINS = 4
FINEST = 6


@dataclass(frozen=True)
class Level:
    """Cells of a number put together: the lattice points at which cells begin, and the column of each cell."""

    feature: int
    cuts: tuple[int, ...]
    columns: tuple[int, ...]


@dataclass(frozen=True)
class Blocks:
    """Which blocks there are: the knots of every number (lattice points, None for categories), levels of numbers that
    no line describes, and pairs of features.
    """

    schema: Schema
    knots: tuple[tuple[int, ...] | None, ...]
    pairs: tuple[tuple[int, int], ...] = ()
    levels: tuple[Level, ...] = ()

    @cached_property
    def singles(self) -> tuple[int, ...]:
        """The features that have a block: a feature of one cell says nothing, unless there is no other."""
        several = tuple(j for j, size in enumerate(self._feature_sizes) if size > 1)
        return several or (0,)

    @cached_property
    def _feature_sizes(self) -> tuple[int, ...]:
        return tuple(
            feature.cells if knots is None else len(knots) + (feature.missing_code is not None)
            for feature, knots in zip(self.schema.features, self.knots, strict=True)
        )

    @cached_property
    def splits(self) -> tuple[tuple[int, ...] | None, ...]:
        """Where the bins of a number begin in the blocks of pairs."""
        return tuple(
            None if not isinstance(f, Numeric) else _lattice(f, _spread(f, PAIR_BINS, 0))[1:-1]
            for f in self.schema.features
        )

    def pair_cells(self, feature: int) -> int:
        """The cells that a feature has in a pair."""
        splits, declared = self.splits[feature], self.schema.features[feature]
        if splits is None:
            return declared.cells
        return len(splits) + 1 + (declared.missing_code is not None)

    @cached_property
    def sizes(self) -> tuple[int, ...]:
        """The columns of each block: features first, then levels, then pairs."""
        crossed = (self.pair_cells(a) * self.pair_cells(b) for a, b in self.pairs)
        leveled = (self._level_table(one).max() + 1 for one in self.levels)
        return (*(self._feature_sizes[j] for j in self.singles), *(int(size) for size in leveled), *crossed)

    def level_columns(self, feature: int) -> list[tuple[Level, NDArray[np.int64]]]:
        """The levels of a feature, and the column of each of their cells, missing numbers last."""
        starts = self.starts[len(self.singles) :]
        pairs = zip(self.levels, starts, strict=False)
        return [(one, start + self._level_table(one)) for one, start in pairs if one.feature == feature]

    def _level_table(self, level: Level) -> NDArray[np.int64]:
        """The column of each cell, missing numbers last if there may be any."""
        gone = self.schema.features[level.feature].missing_code is not None
        return np.array([*level.columns, *[max(level.columns) + 1] * gone], np.int64)

    @cached_property
    def ordered(self) -> tuple[int, ...]:
        """How many columns of each block, from its first on, follow one another on a line."""
        lines = []
        for j in self.singles:
            knots, feature = self.knots[j], self.schema.features[j]
            if knots is not None:
                lines.append(len(knots))
            else:
                lines.append(len(feature.cuts) + 1 if isinstance(feature, Numeric) else 0)
        return (*lines, *(0 for _ in (*self.levels, *self.pairs)))

    @cached_property
    def starts(self) -> tuple[int, ...]:
        """The first column of each block, and that of the constant."""
        return tuple(int(n) for n in np.concatenate([[0], np.cumsum(self.sizes)]))

    @property
    def columns(self) -> int:
        """The length of a row, the constant included."""
        return self.starts[-1] + 1

    @cached_property
    def entries(self) -> int:
        """The entries of a row: two for a number between knots, one for anything else, the constant left out."""
        return sum(1 if self.knots[j] is None else 2 for j in self.singles) + len(self.levels) + len(self.pairs)

    @cached_property
    def packing(self) -> Packed:
        """How rows are packed."""
        return Packed(self)

    def encode(self, held: Sequence[Held]) -> tuple[NDArray[Any], NDArray[np.int16]]:
        """The columns of every row and their weights in units of 1/UNIT, the constant's last."""
        packed = self.packing.empty(len(held[0]))
        self.packing.pack(held, packed)
        return self.packing.encode(packed)

    def design(self, rows: HeldRows) -> Design:
        """Held rows as weights of the columns."""
        return Design.of(rows, self.encode, self.columns, self.entries + 1, 1.0, self.packing)

    def cells(self, j: int, held: Held) -> NDArray[np.int64]:
        """The cell of a feature that has a column for each."""
        feature = self.schema.features[j]
        return _binned(held, feature.cuts) if isinstance(feature, Numeric) else held.astype(np.int64)

    def level_cells(self, level: Level, held: Held) -> NDArray[np.int64]:
        """The column of each number within the block of levels."""
        return self._level_table(level)[_binned(held, level.cuts)]

    def pair_codes(self, j: int, held: Held) -> NDArray[np.int64]:
        """The cell of a feature in the blocks of pairs."""
        splits = self.splits[j]
        return held.astype(np.int64) if splits is None else _binned(held, splits)


@dataclass(frozen=True)
class Packed:
    """Rows in a third of the memory: the place in each block in a byte or two, and the weight of the right knots."""

    blocks: Blocks

    @cached_property
    def lines(self) -> NDArray[np.int64]:
        """The knots of each block whose rows have two entries; zero for others."""
        knots = [self.blocks.knots[j] for j in self.blocks.singles]
        others = len(self.blocks.sizes) - len(knots)
        return np.array([*(0 if line is None else len(line) for line in knots), *[0] * others], np.int64)

    @cached_property
    def _firsts(self) -> NDArray[np.int64]:
        """The first entry of each block."""
        return np.cumsum([0, *(1 + (self.lines > 0))])[:-1]

    @property
    def _kind(self) -> Any:
        most = max(self.blocks.sizes)
        return np.uint8 if most <= 1 << 8 else np.uint16 if most <= 1 << 16 else np.int32

    @property
    def bytes(self) -> int:
        """What a row takes."""
        return int(len(self.lines) * np.dtype(self._kind).itemsize + 2 * np.count_nonzero(self.lines))

    def empty(self, rows: int) -> list[NDArray[Any]]:
        """Room for so many rows."""
        numbers = int(np.count_nonzero(self.lines))
        return [np.empty((rows, len(self.lines)), self._kind), np.empty((rows, numbers), np.int16)]

    def pack(self, held: Sequence[Held], out: Sequence[NDArray[Any]]) -> None:
        """What is held of some rows, packed."""
        blocks = self.blocks
        for n, (j, find, which, at) in enumerate(self._entries):
            feature, column = blocks.schema.features[j], out[which][:, at]
            if isinstance(feature, Numeric) and len(held[j]) >= SMALL:
                compiled().look_up(held[j], -feature.lattice.half, GONE, self._table(n, column.dtype), column)
            else:
                column[:] = find(held[j])
        first = len(blocks.singles) + len(blocks.levels)
        for at, (a, b) in enumerate(blocks.pairs, first):
            out[0][:, at] = blocks.pair_codes(a, held[a]) * blocks.pair_cells(b) + blocks.pair_codes(b, held[b])

    @cached_property
    def _entries(self) -> list[tuple[int, Callable[[Held], NDArray[np.int64]], int, int]]:
        """What is found of each feature by itself: how, and whether it is a place or a weight, in which column."""
        blocks, lines = self.blocks, 0
        found: list[tuple[int, Callable[[Held], NDArray[np.int64]], int, int]] = []
        for at, j in enumerate(blocks.singles):
            knots = blocks.knots[j]
            if knots is None:
                found.append((j, partial(blocks.cells, j), 0, at))
            else:
                found += [(j, partial(lefts, knots), 0, at), (j, partial(rights, knots), 1, lines)]
                lines += 1
        for at, level in enumerate(blocks.levels, len(blocks.singles)):
            found.append((level.feature, partial(blocks.level_cells, level), 0, at))
        return found

    def _table(self, n: int, kind: Any) -> NDArray[Any]:
        """An entry for every point of a number's lattice, and at the end that of a missing one if there may be any."""
        if n not in self._tables:
            j, find, *_ = self._entries[n]
            feature: Any = self.blocks.schema.features[j]
            half, last = feature.lattice.half, GONE if feature.missing_code is not None else feature.lattice.half
            self._tables[n] = find(np.append(np.arange(-half, half + 1, dtype=np.int32), last)).astype(kind)
        return self._tables[n]

    @cached_property
    def _tables(self) -> dict[int, NDArray[Any]]:
        return {}

    def encode(self, packed: Sequence[NDArray[Any]]) -> tuple[NDArray[Any], NDArray[np.int16]]:
        """The same rows as the blocks encode them."""
        spots, shares = packed
        starts = np.array(self.blocks.starts[:-1])
        codes = np.empty((len(spots), self.blocks.entries), np.uint16 if self.blocks.columns <= 1 << 16 else np.int32)
        values = np.full((len(spots), self.blocks.entries + 1), UNIT, np.int16)
        if len(spots) >= SMALL:
            compiled().unpack(spots, shares, starts, self.lines, UNIT, codes, values)
            return codes, values
        columns, line = spots + starts, self.lines > 0
        codes[:, self._firsts] = columns
        codes[:, self._firsts[line] + 1] = columns[:, line] + (spots[:, line] != self.lines[line])
        values[:, self._firsts[line] + 1] = shares
        values[:, self._firsts[line]] -= shares
        return codes, values


def _binned(held: Held, cuts: Sequence[int]) -> NDArray[np.int64]:
    found = np.searchsorted(np.array(cuts, np.int64), held, side="right")
    return np.where(held == GONE, len(cuts) + 1, found)


def lefts(knots: Sequence[int], points: Held) -> NDArray[np.int64]:
    """The knot to the left of each point (the last but one at most), and a place of its own for a missing number."""
    return np.where(points == GONE, len(knots), between(points, knots)[0])


def rights(knots: Sequence[int], points: Held) -> NDArray[np.int64]:
    """The weight of the knot to the right, none for a missing number."""
    return np.where(points == GONE, 0, between(points, knots)[1])


def between(points: Held, knots: Sequence[int]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """The knot to the left of each point (the last but one at most), and the right one's weight in units of 1/UNIT."""
    line = np.array(knots, np.int64)
    place = np.clip(np.searchsorted(line, points, side="right") - 1, 0, len(line) - 2)
    gap = line[place + 1] - line[place]
    right = ((np.clip(points.astype(np.int64), line[0], line[-1]) - line[place]) * (2 * UNIT) + gap) // (2 * gap)
    return place, right


# ---- where knots lie


def place_knots(
    schema: Schema, count: int, *, finer: bool = False, numeric: str = "smooth", levels: tuple[Level, ...] = ()
) -> Blocks:
    """Blocks with about `count` gaps between the knots of a number; `finer` halves the first gap again and again.

    Bins that the schema declares (edges, or a number other than the usual one) are kept: their edges are the knots.
    """
    knots: list[tuple[int, ...] | None] = []
    for feature in schema.features:
        if not isinstance(feature, Numeric) or numeric == "binned":
            knots.append(None)
        elif isinstance(feature.bins, int):
            usual = feature.bins == DEFAULT_BINS
            spread = _spread(feature, count if usual else feature.bins, FINEST if finer and usual else 0)
            knots.append(_lattice(feature, spread))
        else:
            knots.append(_lattice(feature, [exact(edge) for edge in feature.edges]))
    return Blocks(schema, tuple(knots), levels=levels)


def _spread(feature: Numeric, count: int, finer: int) -> list[Fraction]:
    low, span = exact(feature.lower), exact(feature.upper) - exact(feature.lower)
    spots = [low + span * i / count for i in range(count + 1)]
    return spots + [low + span / count / 2**i for i in range(1, finer + 1)]


def _lattice(feature: Numeric, spots: list[Fraction]) -> tuple[int, ...]:
    """Values as points of the feature's lattice, each once; those of integers are integers."""
    lattice = feature.lattice
    values = {Fraction(round(spot)) for spot in spots} if feature.integer else set(spots)
    points = {round((value - exact(lattice.middle)) / lattice.step) for value in values}
    inside = {point for point in points if -lattice.half < point < lattice.half}
    return (-lattice.half, *sorted(inside), lattice.half)


def check_blocks(blocks: Blocks) -> None:
    """Raise ValueError if blocks read from a file do not fit their schema."""
    features = blocks.schema.features
    if len(blocks.knots) != len(features):
        raise ValueError("one list of knots per feature is needed")
    for feature, knots in zip(features, blocks.knots, strict=True):
        if knots is None:
            continue
        if not isinstance(feature, Numeric):
            raise ValueError(f"the feature {feature.name!r} is no number and has no knots")
        half = feature.lattice.half
        if any(type(k) is not int for k in knots) or len(knots) < 2 or (knots[0], knots[-1]) != (-half, half):
            raise ValueError(f"the knots of {feature.name!r} do not run from its lower to its upper bound")
        if not all(a < b for a, b in pairwise(knots)):
            raise ValueError(f"the knots of {feature.name!r} do not rise")
    for level in blocks.levels:
        _check_level(blocks, level)
    for pair in blocks.pairs:
        if len(pair) != 2 or any(type(j) is not int for j in pair) or not 0 <= pair[0] < pair[1] < len(features):
            raise ValueError("a pair of features is none of this schema")
    if len(set(blocks.pairs)) != len(blocks.pairs):
        raise ValueError("a pair of features is listed twice")


def check_levels(schema: Schema, levels: Any) -> None:
    """Refuse levels that do not fit a schema."""
    if not isinstance(levels, tuple) or not all(isinstance(level, Level) for level in levels):
        raise SchemaError("levels must be a tuple of Level")
    try:
        check_blocks(Blocks(schema, (None,) * len(schema.features), levels=levels))
    except ValueError as error:
        raise SchemaError(str(error)) from None


def _check_level(blocks: Blocks, level: Level) -> None:
    features = blocks.schema.features
    if type(level.feature) is not int or not 0 <= level.feature < len(features):
        raise ValueError("levels belong to no feature of this schema")
    feature = features[level.feature]
    if not isinstance(feature, Numeric):
        raise ValueError(f"the feature {feature.name!r} is no number and has no levels")
    half, whole = feature.lattice.half, (*level.cuts, *level.columns)
    if any(type(k) is not int for k in whole) or not all(-half < cut <= half for cut in level.cuts):
        raise ValueError(f"the cells behind the levels of {feature.name!r} do not lie inside its bounds")
    if not all(a < b for a, b in pairwise(level.cuts)) or len(level.columns) != len(level.cuts) + 1:
        raise ValueError(f"the cells behind the levels of {feature.name!r} do not rise")
    if set(level.columns) != set(range(max(level.columns) + 1)):
        raise ValueError(f"the levels of {feature.name!r} are not numbered one by one")
