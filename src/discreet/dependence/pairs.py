"""Pairs of features: count tables of all candidates in one pass, and scores of dependence within classes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.loops import machine_code
from discreet.schema import Schema
from discreet.sources import Cells, worthwhile

Integers = NDArray[np.int64]
Pair = tuple[int, int]
STEPS = 256  # a score is a whole number of these parts of a row
REACH = 4  # rows: one row more or less moves a score by less than this
LARGEST_PAIR = 64  # cells of the table of two features
LARGEST_ALL = 1 << 24  # cells of all tables and classes together: 128 MB


def candidates(schema: Schema) -> list[Pair]:
    """The pairs of features whose table is small enough to be released; the smallest, if not all fit in memory."""
    sizes = [feature.cells for feature in schema.features]
    pairs = [
        (a, b)
        for b in range(len(sizes))
        for a in range(b)
        if sizes[a] > 1 and sizes[b] > 1 and sizes[a] * sizes[b] <= LARGEST_PAIR
    ]
    room = LARGEST_ALL // len(schema.classes)
    by_size = sorted(pairs, key=lambda pair: sizes[pair[0]] * sizes[pair[1]])
    filled = np.cumsum([sizes[a] * sizes[b] for a, b in by_size])
    return sorted(by_size[: int(np.searchsorted(filled, room, side="right"))])


def _tally(codes: Any, labels: Any, first: Any, second: Any, sizes: Any, starts: Any, out: Any) -> None:
    for i in range(len(labels)):
        for k in range(len(first)):
            a, b = first[k], second[k]
            out[starts[k] + (labels[i] * sizes[a] + codes[i, a]) * sizes[b] + codes[i, b]] += 1


def pair_tables(codes: Cells, labels: Integers, schema: Schema, pairs: Sequence[Pair]) -> list[Integers]:
    """Rows by class, cell of the first and cell of the second feature, for each pair."""
    sizes, classes = np.array([feature.cells for feature in schema.features], np.int64), len(schema.classes)
    if not pairs:
        return []
    first, second = (np.array(side, np.int64) for side in zip(*pairs, strict=True))
    lengths = classes * sizes[first] * sizes[second]
    starts = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)
    flat = np.zeros(int(starts[-1]), np.int64)
    if worthwhile(len(labels) * len(pairs)):
        machine_code(_tally)._tally(codes, labels, first, second, sizes, starts, flat)
    else:
        for start, length, a, b in zip(starts, lengths, first, second, strict=False):
            spot = (labels * sizes[a] + codes[:, a]) * sizes[b] + codes[:, b]
            flat[start : start + length] = np.bincount(spot, minlength=length)
    return [
        flat[start : start + length].reshape(classes, sizes[a], sizes[b])
        for start, length, a, b in zip(starts, lengths, first, second, strict=False)
    ]


def dependence(table: Integers) -> int:
    """Σ over classes of ⌊STEPS·Σ|t − r·s/n|⌋: how far a table is from independence within each class.

    One row more or less moves it by at most REACH·STEPS (proof: docs/proofs/dependence.md).
    """
    total = 0
    for counts in table:
        rows = int(counts.sum())
        if rows == 0:
            continue
        wide = counts.astype(object) if rows >= 1 << 30 else counts
        gap = np.abs(rows * wide - wide.sum(axis=1)[:, None] * wide.sum(axis=0)[None, :]).sum()
        total += STEPS * int(gap) // rows
    return total
