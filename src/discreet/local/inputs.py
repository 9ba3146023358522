"""Inputs: the things a person may be asked to report about, numbered in the same way for every campaign of a schema."""

from __future__ import annotations

import math
from bisect import bisect_right
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from discreet.errors import DataError
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
    def read(cls, schema: Schema, row: Any, label: Any = None) -> Person:
        """Check a whole row: a mapping by column name, or a sequence in the schema's order with the class last."""
        values = _values(schema, row, label)
        cells, points = zip(*(_place(f, v) for f, v in zip(schema.features, values[:-1], strict=True)), strict=True)
        code = None if is_missing(values[-1]) else schema.label.lookup.find(values[-1])
        if code is None:
            raise DataError(f"{_show(values[-1])} is not one of the classes of {schema.target!r}")
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


def _values(schema: Schema, row: Any, label: Any) -> list[Any]:
    wanted = [*schema.names, schema.target]
    if isinstance(row, Mapping):
        known = dict(row) if label is None else {**row, schema.target: label}
        lacking = [name for name in wanted if name not in known]
        if lacking:
            raise DataError(f"the row lacks {lacking[0]!r}: it needs every feature and {schema.target!r}")
        return [known[name] for name in wanted]
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
        if feature.missing_code is None:
            raise DataError(f"{feature.name!r} is missing, and the schema gives missing values no place")
        return feature.missing_code, None
    if not isinstance(feature, Numeric):
        code = feature.lookup.code(value)
        if code is None:
            raise DataError(f"{feature.name!r} is {_show(value)}, which the schema does not list")
        return code, None
    # A device is strict: text that writes a number is refused, so that no two clients can read it differently.
    if not isinstance(value, int) and not isinstance(read(value), float):
        raise DataError(f"{feature.name!r} is {_show(value)}, which is not a number")
    found = number(value)
    if not math.isfinite(found):
        raise DataError(f"{feature.name!r} is infinite")
    point = feature.lattice.point(min(max(found, feature.lower), feature.upper))
    return bisect_right(feature.cuts, point), point
