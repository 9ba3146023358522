"""Inputs: the things a person may be asked to report about, numbered in the same way for every campaign of a schema."""

from __future__ import annotations

import math
from bisect import bisect_right
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from discreet.errors import DataError
from discreet.local.entropy import Source, below
from discreet.schema import Feature, Numeric, Schema
from discreet.values import is_missing, number, read, text

Kind = Literal["class", "cells", "mean", "square", "means", "squares"]


@dataclass(frozen=True)
class Input:
    """One question: about the class, a feature's cell with the class, a number, or all numbers at once."""

    index: int
    kind: Kind
    feature: Feature | None = None

    @property
    def numeric(self) -> bool:
        """Whether the answer is a number and not a value out of a list."""
        return self.kind not in {"class", "cells"}

    def label(self, schema: Schema) -> str:
        """What the question is about, for people."""
        if self.feature is None:
            return {"class": schema.target, "means": "all numbers", "squares": "the squares of all numbers"}[self.kind]
        return {"mean": f"{self.feature.name} (mean)", "square": f"{self.feature.name} (square)"}.get(
            self.kind, self.feature.name
        )


def input_of(schema: Schema, index: int) -> Input:
    """The input of that number: 0 the class; 3j−2, 3j−1, 3j cell, mean and square of feature j; then all at once."""
    n = len(schema.features)
    if index == 0:
        return Input(0, "class")
    if 1 <= index <= 3 * n:
        feature, kind = schema.features[(index - 1) // 3], ("cells", "mean", "square")[(index - 1) % 3]
        if kind == "cells" or point_features(schema, [feature]):
            return Input(index, kind, feature)  # type: ignore[arg-type]
    elif index in (3 * n + 1, 3 * n + 2) and point_features(schema, schema.features):
        return Input(index, "means" if index == 3 * n + 1 else "squares")
    raise DataError(f"the schema has no input number {index}")


def point_features(schema: Schema, features: Sequence[Feature] | None = None) -> tuple[Numeric, ...]:
    """The features that can be reported as numbers: those that are never missing."""
    chosen = schema.features if features is None else features
    return tuple(one for one in chosen if isinstance(one, Numeric) and one.missing_code is None)


def half_of(feature: Numeric, kind: str) -> int:
    """The largest size of the whole number that is reported."""
    half = feature.lattice.half
    return half if kind in {"mean", "means"} else half * half


def as_square(point: Any, half: int) -> Any:
    """A lattice point's square, moved and stretched so that it fills −half² … half²."""
    return 2 * point * point - half * half


@dataclass(frozen=True)
class Person:
    """One row in the schema's own terms: the class, and for each feature its cell and, if a number, its point."""

    label: int
    cells: tuple[int, ...]
    points: tuple[int | None, ...]

    @classmethod
    def read(cls, schema: Schema, row: Any, label: Any, source: Source) -> Person:
        """Any row at all: a mapping by column name, or a sequence in the schema's order with the class last.

        Whatever has no place in the schema is drawn evenly from all that has one. So no content of a row is refused:
        that nothing was sent would tell something, without noise and as often as somebody cares to ask.
        """
        values = _values(schema, row, label)
        places = []
        for feature, value in zip(schema.features, values[:-1], strict=True):
            try:
                places.append(_place(feature, value))
            except DataError:
                places.append(_anywhere(feature, source))
        try:
            code = _class(schema, values[-1])
        except DataError:
            code = below(source, len(schema.classes))
        cells, points = zip(*places, strict=True)
        return cls(code, cells, points)

    def answer(self, schema: Schema, asked: Input) -> tuple[Any, ...]:
        """What this person would truly answer."""
        return answer(schema, asked, self.label, self.cells.__getitem__, self.points.__getitem__, tuple)


def answer(
    schema: Schema,
    asked: Input,
    label: Any,
    cells: Callable[[int], Any],
    points: Callable[[int], Any],
    together: Callable[[Any], Any],
) -> tuple[Any, ...]:
    """The answer of one person or of many: (value,), or (class, point), or (class, points put together)."""
    if asked.kind == "class":
        return (label,)
    if asked.kind == "cells":
        place = schema.features.index(asked.feature)
        return (label * schema.features[place].cells + cells(place),)
    wanted = point_features(schema, None if asked.feature is None else [asked.feature])
    found = []
    for feature in wanted:
        point = points(schema.features.index(feature))
        found.append(point if asked.kind in {"mean", "means"} else as_square(point, feature.lattice.half))
    return label, found[0] if asked.feature is not None else together(found)


def placeless(schema: Schema, row: Any, label: Any = None) -> list[str]:
    """One sentence for each value of a row that the schema has no place for."""
    values, found = _values(schema, row, label), []
    for feature, value in zip(schema.features, values[:-1], strict=True):
        try:
            _place(feature, value)
        except DataError as error:
            found.append(str(error))
    try:
        _class(schema, values[-1])
    except DataError as error:
        found.append(str(error))
    return found


def _values(schema: Schema, row: Any, label: Any) -> list[Any]:
    """The values in order; what a mapping does not name is missing."""
    wanted = [*schema.names, schema.target]
    if isinstance(row, Mapping):
        known = dict(row) if label is None else {**row, schema.target: label}
        return [known.get(name) for name in wanted]
    if isinstance(row, str | bytes) or not hasattr(row, "__len__"):
        raise DataError("a row is a mapping by column name, or a sequence in the schema's order with the class last")
    values = [*row] if label is None else [*row, label]
    if len(values) != len(wanted):
        raise DataError(f"the row has {len(values)} values, not {len(wanted)}: every feature in order, then the class")
    return values


def _show(value: Any) -> str:
    return "a missing value" if is_missing(value) else repr(text(value))


def _place(feature: Feature, value: Any) -> tuple[int, int | None]:
    """The cell of a value and, for a number, its lattice point."""
    if is_missing(value):
        if (spare := _spare(feature, feature.missing_code)) is None:
            raise DataError(f"{feature.name!r} is missing, and the schema gives missing values no place")
        return spare, None
    if not isinstance(feature, Numeric):
        code = feature.lookup.code(value)
        if code is None:
            code = _spare(feature, None)
        if code is None:
            raise DataError(f"{feature.name!r} is {_show(value)}, which the schema does not list")
        return code, None
    # A device is strict: text that writes a number is none, so that no two clients can read it differently.
    known = isinstance(value, int) or isinstance(read(value), float)
    found = number(value) if known else math.inf
    if math.isfinite(found):
        point = feature.lattice.point(min(max(found, feature.lower), feature.upper))
        return bisect_right(feature.cuts, point), point
    if feature.missing_code is not None:
        return feature.missing_code, None
    raise DataError(f"{feature.name!r} is {'infinite' if known else f'{_show(value)}, which is not a number'}")


def _spare(feature: Feature, first: int | None) -> int | None:
    """Where a value goes that has no cell of its own: there, or to the cell of other or of missing values, if any."""
    others = (getattr(feature, "other_code", None), feature.missing_code)
    return next((code for code in (first, *others) if code is not None), None)


def _class(schema: Schema, value: Any) -> int:
    code = None if is_missing(value) else schema.label.lookup.find(value)
    if code is None:
        raise DataError(f"{_show(value)} is not one of the classes of {schema.target!r}")
    return code


def _anywhere(feature: Feature, source: Source) -> tuple[int, int | None]:
    """An even draw from all cells, or from all points of a number."""
    if not isinstance(feature, Numeric):
        return below(source, feature.cells), None
    point = below(source, 2 * feature.lattice.half + 1) - feature.lattice.half
    return bisect_right(feature.cuts, point), point
