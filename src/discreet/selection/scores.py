"""Scores of features: integers from count tables, with a proven reach (proofs: docs/proofs/selection.md)."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.errors import BudgetError, StatisticsError
from discreet.privacy.budget import Adjacency
from discreet.schema import Schema
from discreet.statistics import Statistics

Integers = NDArray[np.int64]
SCORES = ("hits", "balanced", "count", "mutual-information")
UNITS = 64  # of a class weight: the rarest class has this many
BIT = 16  # units of a bit of information
_MOST_ROWS = 10**11  # beyond, floats could be wrong by half a unit


@dataclass(frozen=True)
class Score:
    """A score and how far one person can move it.

    `sensitivity` bounds the change of one feature's score; `reach` bounds how far apart the changes of two features'
    scores can lie: the sensitivity where a row moves all scores one way or not at all, else twice that.
    """

    name: str
    sensitivity: int
    reach: int
    rows: int | None = None

    @property
    def unit(self) -> int:
        """How many units of this score a row, or a bit of information, is worth."""
        return {"balanced": UNITS, "mutual-information": BIT}.get(self.name, 1)

    def values(self, statistics: Statistics, weights: Integers | None = None) -> Integers:
        """The score of every feature, in the schema's order."""
        tables = [statistics.tables[name] for name in statistics.schema.names]
        return self.of_tables(tables, weights)

    def of_tables(self, tables: Sequence[NDArray[Any]], weights: Integers | None = None) -> Integers:
        """The scores of tables with a row per class; noisy ones may have negative cells."""
        if self.name == "count":
            return np.array([int((t.max(axis=0) - t.min(axis=0)).max()) for t in tables], np.int64)
        if self.name in {"hits", "balanced"}:
            units = np.ones(len(tables[0]), np.int64) if weights is None else weights
            if max(int(t.sum()) for t in tables) >= 2**62 // UNITS:
                raise StatisticsError("there are too many rows for a weighted score of 64 bits")
            return np.array([int((t * units[:, None]).max(axis=0).sum()) for t in tables], np.int64)
        assert self.rows is not None
        return np.array([information(t, self.rows) for t in tables], np.int64)


def information(table: NDArray[Any], most: int) -> int:
    """min(N, most) times the mutual information of the class and the feature, in units of 1/16 bit."""
    counts = np.maximum(np.asarray(table, np.float64), 0.0)
    whole = float(counts.sum())
    if whole <= 0:
        return 0
    bits = _sum(counts) - _sum(counts.sum(axis=0)) - _sum(counts.sum(axis=1)) + whole * math.log2(whole)
    return round(max(bits, 0.0) * min(1.0, most / whole) * BIT)


def _sum(counts: NDArray[np.float64]) -> float:
    """Σ n·log₂ n."""
    some = counts[counts > 0]
    return math.fsum((some * np.log2(some)).tolist())


def class_weights(noisy: Integers) -> Integers:
    """Units of weight by class in inverse proportion to noisy class counts, from 1 to 64."""
    rows = np.maximum(noisy.astype(np.float64), 1.0)
    return np.asarray(np.maximum(np.rint(UNITS * rows.min() / rows), 1), np.int64)


def make_score(
    name: Any,
    schema: Schema,
    adjacency: Adjacency,
    contributions: int = 1,
    max_rows: int | None = None,
    *,
    varying: bool = False,
) -> Score:
    """The score of that name, with its reach for these neighbours; with `varying`, a replaced row may be left out."""
    if name not in SCORES:
        raise BudgetError(f"score must be one of {', '.join(SCORES)}, not {name!r}")
    swap = adjacency is Adjacency.REPLACE
    if name == "count":
        moved = (2 if swap else 1) * contributions
        # Two values and two classes: a row moves all spreads the same way, or not at all.
        binary = len(schema.classes) == 2 and all(feature.cells == 2 for feature in schema.features)
        return Score(name, moved, moved if binary else 2 * moved)
    if name in {"hits", "balanced"}:
        moved = (UNITS if name == "balanced" else 1) * contributions
        return Score(name, moved, (2 if swap else 1) * moved)
    if isinstance(max_rows, bool) or not isinstance(max_rows, int) or not 2 <= max_rows <= _MOST_ROWS:
        raise BudgetError(
            "mutual information has no bound without a public one on the number of rows: give max_rows, from 2 to 1e11"
        )
    # One unit for rounding on either side, and the rounding of floats, which is far less than another.
    bits = information_bound(schema, adjacency, max_rows)
    if varying:
        bits = max(bits, information_bound(schema, Adjacency.ADD_REMOVE, max_rows))
    moved = (math.ceil(bits * BIT) + 2) * contributions
    return Score(name, moved, 2 * moved, max_rows)


def information_bound(schema: Schema, adjacency: Adjacency, most: int) -> float:
    """How many bits one row can move min(N, most)·I, whatever the number of cells and classes."""
    narrow = min(len(schema.classes), max(feature.cells for feature in schema.features))
    step = math.log2(most + 1) + 1 / math.log(2)
    if adjacency is Adjacency.ADD_REMOVE:
        return step + math.log2(narrow)
    return step if narrow == 2 else 2 * step
