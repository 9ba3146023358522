"""Encoding: rows of any source as sparse vectors of whole numbers whose Euclidean norm is at most one by construction.

Every feature fills one slot of a row, and a constant fills the last one. A slot holds one column and a whole number
from −UNIT to UNIT, which stands for number·scale/UNIT; with m slots and scale² · m ≤ 1 no row is longer than one.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from typing import Any, Protocol, TypeVar

import numpy as np
from numpy.typing import NDArray

from discreet.errors import BudgetError
from discreet.linear.kernels import loops
from discreet.schema import Numeric, Schema
from discreet.sources import GONE, Held, HeldRows, Progress, cells_at, hold_rows, let_go, read_rows, shared, workers

Floats = NDArray[np.float64]
Made = TypeVar("Made")
UNIT = 1 << 12
NUMERIC = ("binned", "scaled")
PART = 1 << 18  # rows that are looked at together
RUN = 64  # neighbouring rows of which all are taken, where but some of many are
DENSE = 2048  # columns up to which a matrix of second derivatives is formed
KEPT = 1 << 29  # bytes of encoded rows that are kept in memory; more are packed, or encoded afresh in every pass


@dataclass(frozen=True)
class Encoding:
    """How the rows of a schema become vectors: numbers binned on the schema's public edges, or scaled to [−1, 1]."""

    schema: Schema
    numeric: str = "binned"

    def __post_init__(self) -> None:
        if self.numeric not in NUMERIC:
            raise BudgetError(f"numeric must be 'binned' or 'scaled', not {self.numeric!r}")

    def _is_scaled(self, feature: Any) -> bool:
        return self.numeric == "scaled" and isinstance(feature, Numeric)

    @property
    def valued(self) -> bool:
        """Whether rows hold numbers other than one."""
        return any(self._is_scaled(feature) for feature in self.schema.features)

    @cached_property
    def widths(self) -> tuple[int, ...]:
        """The columns of each feature."""
        return tuple(1 + (f.missing_code is not None) if self._is_scaled(f) else f.cells for f in self.schema.features)

    @cached_property
    def starts(self) -> tuple[int, ...]:
        """The first column of each feature, and that of the constant."""
        return tuple(int(n) for n in np.concatenate([[0], np.cumsum(self.widths)]))

    @property
    def columns(self) -> int:
        """The length of a row, the constant included."""
        return self.starts[-1] + 1

    @property
    def slots(self) -> int:
        """The most entries of a row that are not zero: one for each feature and the constant."""
        return len(self.widths) + 1

    @cached_property
    def scale(self) -> float:
        """What a whole slot counts for: the largest double with scale²·slots ≤ 1 in exact arithmetic."""
        scale = 1 / math.sqrt(self.slots)
        while Fraction(scale) ** 2 * self.slots > 1:
            scale = math.nextafter(scale, 0.0)
        return scale

    @property
    def one_norm(self) -> Fraction:
        """The most that the absolute entries of a row add up to."""
        return Fraction(self.scale) * self.slots

    def names(self) -> tuple[str, ...]:
        """What each column stands for."""
        result: list[str] = []
        for feature in self.schema.features:
            if self._is_scaled(feature):
                result += [feature.name] + [f"{feature.name}=(missing)"] * (feature.missing_code is not None)
            else:
                result += [f"{feature.name}={label}" for label in feature.labels]
        return (*result, "(constant)")

    def encode(self, held: Sequence[Held]) -> tuple[NDArray[Any], NDArray[np.int32] | None]:
        """The columns and, if rows hold numbers, the whole numbers of what is held of some rows."""
        rows, kind = len(held[0]), np.uint16 if self.columns <= 1 << 16 else np.int32
        codes = np.empty((rows, len(self.widths)), kind)
        values = np.full((rows, self.slots), UNIT, np.int32) if self.valued else None
        for j, (feature, start) in enumerate(zip(self.schema.features, self.starts[:-1], strict=True)):
            if self._is_scaled(feature):
                assert isinstance(feature, Numeric) and values is not None
                gone = held[j] == GONE
                codes[:, j] = start + gone
                # Whole numbers of at most UNIT, whatever the value was: |point| ≤ half.
                scaled = np.rint(held[j].astype(np.int64) * UNIT / feature.lattice.half)
                values[:, j] = np.where(gone, UNIT, scaled.astype(np.int64))
            else:
                codes[:, j] = cells_at(feature, held[j])
                codes[:, j] += kind(start)
        return codes, values

    def design(self, rows: HeldRows) -> Design:
        """Held rows, encoded."""
        return Design.of(rows, self.encode, self.columns, self.slots, self.scale)

    def matrix(self, X: Any) -> Floats:
        """Rows as a dense matrix, for small data and for other libraries."""
        parts = []
        for rows in read_rows(X, self.schema, labelled=False):
            codes, values = self.encode(hold_rows(rows))
            dense = np.zeros((rows.size, self.columns))
            dense[:, -1] = self.scale
            sizes = self.scale if values is None else values[:, :-1] * (self.scale / UNIT)
            np.put_along_axis(dense, codes.astype(np.int64), sizes, axis=1)
            parts.append(dense)
        return np.concatenate(parts)


Encode = Callable[[Sequence[Any]], tuple[NDArray[Any], NDArray[Any] | None]]


class Packing(Protocol):
    """A way to hold rows in little memory from which they are encoded quickly."""

    @property
    def bytes(self) -> int:
        """What a row takes."""

    def empty(self, rows: int) -> list[NDArray[Any]]:
        """Room for so many rows."""

    def pack(self, held: Sequence[Held], out: Sequence[NDArray[Any]]) -> None:
        """Pack what is held of some rows."""

    def encode(self, packed: Sequence[NDArray[Any]]) -> tuple[NDArray[Any], NDArray[Any] | None]:
        """The rows encoded."""


@dataclass(frozen=True, eq=False)
class Design:
    """Encoded training rows, two bytes an entry; weights see them only through products and sums.

    Of rows that are too many to be kept encoded, `codes` and `values` are empty, and `encode` makes them of what is
    held, or packed, whenever some are looked at.
    """

    codes: NDArray[Any]
    values: NDArray[Any] | None
    labels: NDArray[Any]
    columns: int
    slots: int
    scale: float
    held: Sequence[Held] = ()
    encode: Encode | None = None
    progress: Progress | None = None

    @classmethod
    def of(
        cls, rows: HeldRows, encode: Encode, columns: int, slots: int, scale: float, packing: Packing | None = None
    ) -> Design:
        """Held rows, encoded now if that is not too much, or packed if there is a way."""
        few = len(rows.schema.classes) < 1 << 15
        labels: NDArray[Any] = rows.labels.astype(np.int16 if few else np.int32)
        let_go(rows.labels, slice(0, len(rows)))
        codes, values = encode([column[:1] for column in rows.columns])
        each = codes.nbytes + (0 if values is None else values.nbytes)
        if len(rows) * each <= KEPT:
            codes, values = _encoded(rows, encode, codes, values)
            return cls(codes, values, labels, columns, slots, scale, progress=rows.progress)
        none = None if values is None else values[:0]
        whole = cls(codes[:0], none, labels, columns, slots, scale, rows.columns, encode, rows.progress)
        return whole if packing is None or len(rows) * packing.bytes > KEPT else whole._packed(packing)

    def _packed(self, packing: Packing) -> Design:
        """The same rows, packed in one pass."""
        packed = packing.empty(len(self))

        def pack(rows: slice) -> None:
            packing.pack([column[rows] for column in self.held], [one[rows] for one in packed])
            for column in self.held:
                let_go(column, rows)

        shared(pack, self.spans())
        return replace(self, held=packed, encode=packing.encode)

    def thinned(self, rows: int) -> Design:
        """So many of the rows, about, in short runs from everywhere: for looks that need not be exact."""
        runs = -(-len(self) // RUN)
        every = max(1, len(self) // rows)
        spots = (np.arange(0, runs, every)[:, None] * RUN + np.arange(RUN)).reshape(-1)
        spots = spots[spots < len(self)]
        if self.encode is None:
            codes, values = self.codes[spots], None if self.values is None else self.values[spots]
        else:
            codes, values = self.encode([column[spots] for column in self.held])
        return replace(self, codes=codes, values=values, labels=self.labels[spots], held=(), encode=None, progress=None)

    def __len__(self) -> int:
        return len(self.labels)

    def some(self, rows: slice) -> tuple[NDArray[Any], NDArray[Any] | None]:
        """The codes and values of some rows."""
        if self.encode is not None:
            return self.encode([column[rows] for column in self.held])
        return self.codes[rows], None if self.values is None else self.values[rows]

    def spans(self) -> list[slice]:
        """The rows, so many at a time that what is made of them needs little memory."""
        return [slice(low, min(low + PART, len(self))) for low in range(0, len(self), PART)]

    def each(self, task: Callable[[slice, NDArray[Any], NDArray[Any] | None], Made]) -> Iterator[Made]:
        """One pass over all rows: what a task makes of each part, in their order, in as many threads as there may be.

        The parts, and so the order of sums, are the same whatever the number of threads.
        """

        def work(rows: slice) -> Made:
            made = task(rows, *self.some(rows))
            for column in self.held:
                let_go(column, rows)
            return made

        spans, threads = self.spans(), workers()
        if len(spans) < 2:
            yield from map(work, spans)
            return
        with ThreadPoolExecutor(threads) as pool:
            for start in range(0, len(spans), threads):
                together = spans[start : start + threads]
                yield from pool.map(work, together)
                if self.progress is not None:
                    self.progress(together[-1].stop, len(self))

    def run(self, task: Callable[[slice, NDArray[Any], NDArray[Any] | None], None]) -> None:
        """One pass over all rows for what a task does with each part."""
        for _ in self.each(task):
            pass

    @property
    def dense(self) -> bool:
        """Whether forming and factorising a matrix of second derivatives costs less than an iterative solution."""
        rows, columns = len(self), self.columns
        return columns <= DENSE and rows * self.slots**2 / 2 + columns**3 / 3 <= 200 * rows * self.slots + 1e7

    @property
    def unit(self) -> float:
        """What the whole number one counts for."""
        return self.scale if self.values is None else self.scale / UNIT

    def margins(self, weights: Floats) -> Floats:
        """x·w for every row."""
        out, scaled = np.empty(len(self)), weights * self.unit
        self.run(lambda rows, codes, values: loops(codes).margins(codes, values, scaled, out[rows]))
        return out

    def gather(self, rates: Floats) -> Floats:
        """Σ rates[i]·x_i."""

        def summed(rows: slice, codes: Any, values: Any) -> tuple[Floats, Floats]:
            out, rest = np.zeros(self.columns), np.zeros(self.columns)
            loops(codes).gather(codes, values, rates[rows], out, rest)
            return out, rest

        return added(self.each(summed), (self.columns,)) * self.unit

    def outer(self, rates: NDArray[Any]) -> NDArray[Any]:
        """Σ rates[i]·x_i x_iᵀ in squared units, symmetric; whole numbers for whole rates."""

        def summed(rows: slice, codes: Any, values: Any) -> NDArray[Any]:
            out = np.zeros((self.columns, self.columns), rates.dtype)
            loops(codes).outer(codes, values, rates[rows], out)
            return out

        return symmetric(sum(self.each(summed), np.zeros((self.columns, self.columns), rates.dtype)))


def _encoded(rows: HeldRows, encode: Encode, codes: Any, values: Any) -> tuple[NDArray[Any], NDArray[Any] | None]:
    """All rows encoded, in as many threads as there may be; `codes` and `values` are like those of a row."""
    if len(rows) <= PART:
        return encode(rows.columns)
    all_codes = np.empty((len(rows), *codes.shape[1:]), codes.dtype)
    all_values = None if values is None else np.empty((len(rows), *values.shape[1:]), values.dtype)

    def put(low: int) -> None:
        part = slice(low, low + PART)
        all_codes[part], more = encode([column[part] for column in rows.columns])
        if all_values is not None:
            all_values[part] = more

    shared(put, range(0, len(rows), PART))
    return all_codes, all_values


def added(parts: Iterable[tuple[Floats, Floats]], shape: tuple[int, ...]) -> Floats:
    """Compensated sums of parts, each with what its roundings left: what the additions here leave is carried too."""
    total, rest = np.zeros(shape), np.zeros(shape)
    for more, left in parts:
        new = total + more
        other = new - total
        rest += left + ((total - (new - other)) + (more - other))
        total = new
    return total + rest


def symmetric(out: NDArray[Any]) -> NDArray[Any]:
    """A matrix of which the part on and above the diagonal is known."""
    return np.asarray(np.triu(out) + np.triu(out, 1).T)
