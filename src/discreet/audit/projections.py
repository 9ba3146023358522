"""One-dimensional views of an output: where an audit looks for an event."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.audit.outputs import Rows

Values = NDArray[np.float64]

_MANTISSA = np.uint64(2**52 - 1)
_COLUMN_CAP = 48
_DIFFERENCE_CAP = 48
_BIT_COLUMN_CAP = 8


@dataclass(frozen=True)
class Projection:
    """A named function from output rows to numbers."""

    kind: str
    columns: tuple[int, ...] = ()
    bits: int = 0

    def apply(self, rows: Rows) -> Values:
        """Return one number per row; NaN means that the row has none."""
        picked = rows[:, list(self.columns)] if self.columns else rows
        if self.kind not in _LOOKS:
            raise ValueError(f"unknown projection {self.kind!r}")
        with np.errstate(invalid="ignore", over="ignore"):
            return np.asarray(_LOOKS[self.kind](picked, self.bits), dtype=np.float64)

    def words(self, names: Sequence[str]) -> str:
        """Say what is looked at."""
        said = _WORDS.get(self.kind, f"{self.kind} of all outputs")
        return said.format(*(names[c] for c in self.columns), bits=self.bits)

    def to_dict(self) -> dict[str, Any]:
        """Return JSON-ready fields."""
        return {"kind": self.kind, "columns": list(self.columns), "bits": self.bits}


@dataclass(frozen=True)
class Score:
    """A trained classifier as a sum of tables: each part is binned and its cell's weight added."""

    parts: tuple[Projection, ...]
    edges: tuple[tuple[float, ...], ...]
    weights: tuple[tuple[float, ...], ...]

    def apply(self, rows: Rows) -> Values:
        """Return the classifier's score of every row."""
        total = np.zeros(len(rows))
        for part, edges, weights in zip(self.parts, self.edges, self.weights, strict=True):
            total += np.asarray(weights)[cell_index(part.apply(rows), np.asarray(edges))]
        # Equal sums reached in another order differ in the last bits; rounding restores the ties.
        return np.round(total, 9)

    def words(self, names: Sequence[str]) -> str:
        """Say what is looked at."""
        return f"score of a classifier trained on {len(self.parts)} views of the output"

    def to_dict(self) -> dict[str, Any]:
        """Return JSON-ready fields."""
        return {
            "kind": "score",
            "parts": [part.to_dict() for part in self.parts],
            "edges": [list(edges) for edges in self.edges],
            "weights": [list(weights) for weights in self.weights],
        }


View = Projection | Score


def view_from_dict(fields: dict[str, Any]) -> View:
    """Undo `to_dict`."""
    if fields["kind"] == "score":
        return Score(
            tuple(Projection(p["kind"], tuple(p["columns"]), p["bits"]) for p in fields["parts"]),
            tuple(map(tuple, fields["edges"])),
            tuple(map(tuple, fields["weights"])),
        )
    return Projection(fields["kind"], tuple(fields["columns"]), fields["bits"])


def cell_index(values: Values, edges: Values) -> NDArray[np.intp]:
    """Number the cells cut by k edges: even = open interval, odd = exactly an edge, 2k + 1 = NaN."""
    cells = np.searchsorted(edges, values, "left") + np.searchsorted(edges, values, "right")
    return np.where(np.isnan(values), 2 * len(edges) + 1, cells)


def lowest_bit(values: Values) -> Values:
    """Return e such that the double is an odd multiple of 2**e; zeros, infinities and NaN stand apart.

    >>> lowest_bit(np.array([1.0, 12.0, 0.75, 0.0, -0.0])).tolist()
    [0.0, 2.0, -2.0, 2000.0, 2001.0]
    """
    bits = np.ascontiguousarray(values, dtype=np.float64).view(np.uint64)
    exponent = ((bits >> np.uint64(52)) & np.uint64(0x7FF)).astype(np.int64)
    mantissa = (bits & _MANTISSA) | np.where(exponent > 0, np.uint64(2**52), np.uint64(0))
    lowest = mantissa & (~mantissa + np.uint64(1))
    place = np.log2(np.where(lowest == 0, 1, lowest).astype(np.float64))
    result = np.maximum(exponent, 1) - 1075 + place
    result = np.where(mantissa == 0, np.where(np.signbit(values), 2001.0, 2000.0), result)
    return np.where(exponent == 0x7FF, 3000.0, result)


def low_bits(values: Values, count: int) -> Values:
    """Return the `count` lowest bits of the mantissa as a number."""
    bits = np.ascontiguousarray(values, dtype=np.float64).view(np.uint64)
    return (bits & np.uint64(2**count - 1)).astype(np.float64)


def row_code(rows: Rows) -> Values:
    """Hash the exact bits of each row to a whole number below 2**53."""
    bits = np.ascontiguousarray(rows, dtype=np.float64).view(np.uint64)
    code = np.full(len(rows), 0x9E3779B97F4A7C15, dtype=np.uint64)
    for column in bits.T:
        code = (code ^ column) * np.uint64(0xBF58476D1CE4E5B9)
        code ^= code >> np.uint64(29)
    return (code >> np.uint64(11)).astype(np.float64)


_LOOKS: dict[str, Callable[[Rows, int], Any]] = {
    "coordinate": lambda rows, bits: rows[:, 0],
    "difference": lambda rows, bits: rows[:, 0] - rows[:, 1],
    "sum": lambda rows, bits: np.sum(rows, axis=1),
    "largest": lambda rows, bits: rows.max(axis=1),
    "smallest": lambda rows, bits: rows.min(axis=1),
    "missing": lambda rows, bits: np.isnan(rows).sum(axis=1),
    "grid": lambda rows, bits: lowest_bit(rows[:, 0]),
    "low bits": lambda rows, bits: low_bits(rows[:, 0], bits),
    "whole output": lambda rows, bits: row_code(rows),
}
_WORDS = {
    "coordinate": "{0}",
    "difference": "{0} - {1}",
    "grid": "log2 of the finest grid that {0} is on",
    "low bits": "the {bits} lowest mantissa bits of {0}",
    "missing": "number of missing parts",
    "whole output": "hash of the whole output",
}


def propose(rows: Rows, gap: Values) -> list[Projection]:
    """List the projections worth trying; `gap` says how far apart the two sides are in each column."""
    width = rows.shape[1]
    varied = [c for c in np.argsort(-gap, kind="stable").tolist() if not _constant(rows[:, c])]
    columns = varied[:_COLUMN_CAP]
    found = [Projection("coordinate", (c,)) for c in sorted(columns)]
    pairs = [(a, b) for i, a in enumerate(columns) for b in columns[:i]]
    found += [Projection("difference", (min(pair), max(pair))) for pair in pairs[:_DIFFERENCE_CAP]]
    if width > 1:
        found += [Projection(kind) for kind in ("sum", "largest", "smallest", "whole output")]
    if np.isnan(rows).any():
        found.append(Projection("missing"))
    for column in columns[:_BIT_COLUMN_CAP]:
        found.append(Projection("grid", (column,)))
        values = rows[:, column]
        if not np.all(np.isnan(values) | (values == np.round(values))):
            found += [Projection("low bits", (column,), count) for count in (1, 3, 8)]
    return found


def _constant(values: Values) -> bool:
    bits = np.ascontiguousarray(values).view(np.uint64)
    return bool((bits == bits[0]).all())
