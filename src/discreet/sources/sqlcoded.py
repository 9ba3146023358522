"""Rows of an engine as codes: cells and lattice points found there, packed into whole numbers, alike rows once.

The values of a category are told by one statement, each once, and coded here; the statement that fetches the rows
then knows the code of each. So the rule for values is the one of any column, and what comes of a row are codes. A
column that no statement codes comes as it is, in the same statement.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.errors import DataError
from discreet.features import Categorical, Feature, Numeric
from discreet.schema import Schema
from discreet.sources.blocks import Rows
from discreet.sources.columns import GONE, ODD, Codes, Column, Points, make_column
from discreet.sources.sql import NUMBERS
from discreet.sources.sqlcount import Counting
from discreet.sources.sqlview import Engine, View
from discreet.sources.stored import objects

LISTED = 1 << 12  # values of a category that a statement tells apart: a column of more comes as it is
BITS = 62  # of a whole number that hold codes
SAMPLE = 1 << 12  # rows that tell whether many are alike
PIECE = 1 << 19  # rows that are handed on together
CHANGED = "column {!r} held other values when it was read again: copy the table, and read the copy"


@dataclass
class _Field:
    """A column that comes as codes: its expression, and where the code is in which word."""

    feature: Feature
    code: str
    most: int  # the highest code
    odd: Any = None  # a value without a cell, for the error that names it
    word: int = 0
    shift: int = 0

    @property
    def bits(self) -> int:
        return self.most.bit_length()

    def column(self, words: NDArray[np.int64], *, label: bool = False) -> Column:
        """The column again."""
        codes = (words[:, self.word] >> self.shift & (1 << self.bits) - 1).astype(np.int32)
        feature = self.feature
        if isinstance(feature, Numeric):
            half = feature.lattice.half
            points = codes - np.int32(half)
            points[codes == 2 * half + 1], points[codes == 2 * half + 2] = GONE, ODD
            return Points(feature, points)
        cells = feature.cells
        if (codes > cells).any():
            raise DataError(CHANGED.format(feature.name))
        names = [*([""] * cells), self.odd]
        return Codes(feature, codes, 0, np.arange(cells + 1, dtype=np.int32), cells, cells, names, label)


class Coding:
    """One reading of labelled rows as codes, with the ids beside them if they are wanted."""

    def __init__(self, engine: Engine, schema: Schema, *, identified: bool) -> None:
        self.engine, self.schema = engine, schema
        self.id = schema.id if identified else None

    def rows(self) -> Iterator[tuple[Rows, Any]] | None:
        """The rows in batches; None if no column can be coded, or statements may see different rows."""
        found = Counting(self.engine, self.schema, (), total=True).values() if self.engine.steady else None
        if found is None or len(found[""]) > LISTED:
            return None
        names = [self.schema.target, *self.schema.names, *([self.id] if self.id else [])]
        view = View(self.engine, names)
        fields = self._fields(found, view)
        raw = [name for name in dict.fromkeys(names[1:]) if name not in fields or name == self.id]
        return self._batches(fields, raw, view)

    def _fields(self, found: dict[str, dict[Any, int]], view: View) -> dict[str, _Field]:
        """The columns that come as codes, the label under ""; each has its place in a word."""
        fields: dict[str, _Field] = {}
        speak = self.engine.dialect
        for name, one in {"": self.schema.label, **{one.name: one for one in self.schema.features}}.items():
            if isinstance(one, Numeric):
                if one.direct and view.kind(name) in NUMBERS:
                    half = one.lattice.half
                    fields[name] = _Field(one, f"{half} + {speak.point(one, *view[name])}", 2 * half + 2)
            elif name in found and len(found[name]) <= LISTED:
                fields[name] = self._category(one, found[name], view)
        room: list[int] = []
        for field in sorted(fields.values(), key=lambda one: -one.bits):
            field.word = next((j for j, used in enumerate(room) if used + field.bits <= BITS), len(room))
            room += [0] * (field.word == len(room))
            field.shift = room[field.word]
            room[field.word] += field.bits
        return fields

    def _category(self, feature: Categorical, values: dict[Any, int], view: View) -> _Field:
        cells = feature.cells
        odd = next((make_column(feature, objects([one])) for one, code in values.items() if code == cells), None)
        code = self.engine.dialect.coded(*view[feature.name], values, cells + 1)
        return _Field(feature, code, cells + 1, odd.raw(0) if isinstance(odd, Codes) else None)

    def _batches(self, fields: dict[str, _Field], raw: list[str], view: View) -> Iterator[tuple[Rows, Any]]:
        words = [
            " + ".join(
                f"CAST({one.code} AS {self.engine.dialect.whole}) * {1 << one.shift}"
                for one in fields.values()
                if one.word == j
            )
            for j in range(1 + max(one.word for one in fields.values()))
        ]
        if raw:
            columns = {name: (view.item(name), view.kind(name)) for name in raw}
            for packed, batch in self.engine.select(words, columns, str(view)):
                yield self._read(fields, packed, batch)
            return
        named = ", ".join(f"{word} AS w{j}" for j, word in enumerate(words))
        keys = [f"w{j}" for j in range(len(words))]
        listed = ", ".join(keys)
        few = self.engine.ask(
            f"SELECT {listed}, count(*) FROM (SELECT {named} FROM {view} LIMIT {SAMPLE}) one GROUP BY {listed}"
        )
        if 2 * len(few) > sum(int(one[-1]) for one in few):
            for packed, _ in self.engine.select(words, {}, str(view)):
                yield self._read(fields, packed, {})
            return
        rest = f"(SELECT {named} FROM {view}) one GROUP BY {listed}"
        for packed, _ in self.engine.select([*keys, "count(*)"], {}, rest):
            ends = np.cumsum(packed[:, -1])
            for start in range(0, int(ends[-1]), PIECE):
                each = np.arange(start, min(start + PIECE, int(ends[-1])))
                yield self._read(fields, packed[np.searchsorted(ends, each, side="right")], {})

    def _read(self, fields: dict[str, _Field], packed: NDArray[np.int64], batch: dict[str, Any]) -> tuple[Rows, Any]:
        columns = [
            fields[one.name].column(packed) if one.name in fields else make_column(one, batch[one.name])
            for one in self.schema.features
        ]
        label = fields[""].column(packed, label=True)
        assert isinstance(label, Codes)
        return Rows(columns, len(packed), label), batch[self.id] if self.id else None
