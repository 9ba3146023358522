"""Shapes: what each feature adds to the scores of a released model, and each value of a row adds to its own."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, ClassVar, Protocol

import numpy as np
from numpy.typing import NDArray

from discreet.domain import text
from discreet.errors import DataError, ModelError
from discreet.schema import Date, Numeric, Schema
from discreet.sources import Rows, cells_of, make_column

Floats = NDArray[np.float64]
POINTS, DAYS = 48, 13  # at which the shape of a number is drawn, and of a date
ROWS, BASES, MANY = 512, 64, 40_000  # made-up rows, those that a shape is averaged over, and rows asked about in all
LARGE = 20_000_000  # numbers of a dense matrix
SEED = 20_261  # any constant: the same model always has the same explanation
NO_BAND = "none, for the file does not say how noisy the shapes are"


class Explained(Protocol):
    """What an explanation asks of a released model."""

    NAME: ClassVar[str]
    schema: Schema
    probabilistic: bool
    generative: bool
    separable: bool
    bands: str

    def effects(self, rows: Rows) -> Floats:
        """Scores of rows: log-odds or margins of the second of two classes, or one column per class."""

    def error_of(self, name: str) -> Floats | None:
        """The standard error, by the noise, of each cell of a feature; a row for each column of `effects`."""

    def parts(self, rows: Rows) -> tuple[NDArray[Any], NDArray[Any]] | None:
        """The parameters that the scores of each row add up, and how much of each; or None."""

    def spread(self, mixes: Any) -> Floats:
        """The variance of mixes of parameters by the noise, in each column of `effects`."""

    def sample(self, size: int, seed: int | None = None) -> dict[str, list[Any]]:
        """Synthetic rows."""


@dataclass(frozen=True)
class Shape:
    """What one feature adds to the score of each class, by value; zero in the mean of rows as the model sees them.

    `values` and `error` have a row for each class (one for two classes: for the second), a column for each of `at`.
    """

    name: str
    numeric: bool
    at: tuple[Any, ...]
    values: Floats
    error: Floats | None
    importance: float


@dataclass(frozen=True)
class Explanation:
    """Shapes by importance, of the classes named; `unit` says what they add up to."""

    model: str
    target: str
    classes: tuple[str, ...]
    unit: str
    shapes: tuple[Shape, ...]
    bands: str
    row: dict[str, Any] | None = None  # of one row, whose `contributions` are by feature and class
    contributions: dict[str, list[float]] | None = None
    start: tuple[float, ...] = ()

    @property
    def importances(self) -> dict[str, float]:
        """The mean size of what each feature adds, the largest first."""
        return {shape.name: shape.importance for shape in self.shapes}

    def to_dict(self) -> dict[str, Any]:
        """Plain values."""
        shapes = [
            {"feature": one.name, "importance": one.importance, "at": [_plain(v) for v in one.at],
             "values": one.values.tolist(), "standard_error": None if one.error is None else one.error.tolist()}
            for one in self.shapes
        ]  # fmt: skip
        whole: dict[str, Any] = {
            "model": self.model,
            "target": self.target,
            "classes": list(self.classes),
            "unit": self.unit,
            "bands": self.bands,
            "shapes": shapes,
        }
        if self.row is not None:
            whole |= {"row": {k: _plain(v) for k, v in self.row.items()}, "start": list(self.start),
                      "contributions": self.contributions}  # fmt: skip
        return whole

    def plot(self, path: Any = None, *, most: int = 11) -> Any:
        """A matplotlib figure of importances and shapes, or of one row's contributions; written to `path` if given."""
        from discreet.explanation.figures import draw

        return draw(self, path, most)

    def __str__(self) -> str:
        lines = [f"{name[:30]:<30}  {size:.4f}" for name, size in self.importances.items()]
        return "\n".join([f"{'feature':<30}  mean size of its effect on the {self.unit}", *lines])


def explain(model: Explained, row: Any = None) -> Explanation:
    """The explanation of a model, or of what it says of one row, a mapping of features to values."""
    schema = model.schema
    reference = _reference(model)
    shapes = sorted(_shapes(model, reference), key=lambda one: -one.importance)
    two = len(schema.classes) == 2
    names = tuple(text(label) for label in (schema.classes[1:] if two else schema.classes))
    unit = "log-odds" if two and model.probabilistic else "margin" if two else "score"
    bands = model.bands if any(one.error is not None for one in shapes) else NO_BAND
    whole = Explanation(model.NAME, schema.target, names, unit, tuple(shapes), bands)
    if row is None:
        return whole
    given = _checked(schema, row)
    start, parts = _contributions(model, given, reference)
    return Explanation(model.NAME, schema.target, names, unit, tuple(shapes), bands, given, parts, start)


def _reference(model: Explained) -> dict[str, list[Any]]:
    """Made-up rows: drawn from the model where it can draw, else evenly from what the schema allows."""
    if model.generative:
        drawn = model.sample(ROWS, SEED)
        return {name: drawn[name] for name in model.schema.names}
    rng = np.random.default_rng(SEED)
    columns = {feature.name: values_of(feature) for feature in model.schema.features}
    return {name: [values[i] for i in rng.integers(0, len(values), ROWS)] for name, values in columns.items()}


def values_of(feature: Any) -> list[Any]:
    """Values at which a shape is drawn: every category, or numbers across the bounds; a missing one last."""
    if not isinstance(feature, Numeric):
        named = getattr(feature, "other", None)
        found = [*feature.categories, *([] if named is None or feature.other_code is None else [named])]
    elif isinstance(feature, Date):
        found = list(dict.fromkeys(feature.again(place) for place in np.linspace(feature.lower, feature.upper, DAYS)))
    else:
        grid = np.linspace(feature.lower, feature.upper, POINTS)
        found = sorted({round(value) for value in grid}) if feature.integer else grid.tolist()
        if feature.transform is not None:
            found = [feature.again(place) for place in found]
    return [*found, *([None] if feature.missing_code is not None else [])]


def made_rows(schema: Schema, columns: dict[str, list[Any]]) -> Rows:
    """Made-up values as rows that a model can score."""
    size, made = len(columns[schema.names[0]]), []
    for feature in schema.features:
        values = np.empty(size, dtype=object)
        values[:] = columns[feature.name]
        made.append(make_column(feature, values))
    return Rows(made, size)


def _shapes(model: Explained, reference: dict[str, list[Any]]) -> list[Shape]:
    schema = model.schema
    at = {feature.name: values_of(feature) for feature in schema.features}
    whole = sum(len(values) for values in at.values())
    bases = 1 if model.separable else max(2, min(BASES, MANY // whole + 1))
    total: Any = 0
    parts: list[Any] = []
    for base in range(bases):
        # One row, with the values of one feature after the other in their places.
        columns = {
            name: [
                value
                for other in schema.names
                for value in (at[name] if other == name else [reference[name][base]] * len(at[other]))
            ]
            for name in schema.names
        }
        rows = made_rows(schema, columns)
        total = total + model.effects(rows)
        parts.append(model.parts(rows))
    mean, shapes, start = np.asarray(total) / bases, [], 0
    mixed = None if parts[0] is None else _mixed(parts)
    for feature in schema.features:
        own = slice(start, start + len(at[feature.name]))
        values, start = mean[own].T, own.stop
        seen = _shares(feature, at[feature.name], reference[feature.name])
        values = values - (values @ seen)[:, None]
        errors, error = model.error_of(feature.name), None
        if errors is not None:
            error = errors[:, cells_of(_rows_of(feature, at[feature.name]))]
        elif mixed is not None:
            error = np.sqrt(model.spread(_centred(mixed[own], seen))).T
        importance, points = float(np.mean(np.abs(values) @ seen)), tuple(at[feature.name])
        numeric = isinstance(feature, Numeric) and not isinstance(feature, Date)
        shapes.append(Shape(feature.name, numeric, points, values, error, importance))
    return shapes


def _mixed(parts: list[tuple[NDArray[Any], NDArray[Any]]]) -> Any:
    """The parameters that the mean of the rows at every point adds up, as a sparse matrix."""
    from scipy.sparse import csr_array

    codes, sizes = (np.concatenate(some, axis=1) for some in zip(*parts, strict=True))
    ends = np.arange(0, codes.size + 1, codes.shape[1])
    found = csr_array((sizes.ravel() / len(parts), codes.ravel().astype(np.int64), ends))
    found.sum_duplicates()
    return found


def _centred(mixes: Any, seen: Floats) -> Any:
    """Mixes less their mean; as they are where there are so many points that the mean hardly errs."""
    from scipy.sparse import csr_array

    used = np.unique(mixes.indices)
    if len(used) * mixes.shape[0] > LARGE:
        return mixes
    dense = mixes[:, used].toarray()
    found = csr_array(dense - seen @ dense)
    return csr_array((found.data, used[found.indices], found.indptr), shape=mixes.shape)


def _rows_of(feature: Any, values: list[Any]) -> Any:
    raw = np.empty(len(values), dtype=object)
    raw[:] = values
    return make_column(feature, raw)


def _shares(feature: Any, at: list[Any], drawn: list[Any]) -> Floats:
    """How often made-up rows have each of the points, to the nearest."""
    counts = np.zeros(len(at))
    if isinstance(feature, Numeric) and (isinstance(feature, Date) or feature.transform is not None):
        own = cells_of(_rows_of(feature, at))
        for cell, seen in zip(*np.unique(cells_of(_rows_of(feature, drawn)), return_counts=True), strict=True):
            near = np.abs(own - cell) == np.abs(own - cell).min()
            counts[near] += seen / near.sum()
        return np.asarray(counts / counts.sum())
    numbers = np.array([np.inf if value is None else value for value in at]) if isinstance(feature, Numeric) else None
    place = {_key(value): i for i, value in enumerate(at)}
    for value in drawn:
        if numbers is not None and value is not None:
            counts[int(np.abs(numbers - value).argmin())] += 1
        else:
            counts[place.get(_key(value), 0)] += 1
    return np.asarray(counts / counts.sum())


def _key(value: Any) -> tuple[Any, Any]:
    return type(value), value


def _checked(schema: Schema, row: Any) -> dict[str, Any]:
    if not isinstance(row, dict):
        raise DataError("a row to explain is a mapping of features to values")
    for name in schema.names:
        if name not in row:
            raise DataError(f"the row has no value for {name!r}")
    return {name: row[name] for name in schema.names}


def _contributions(
    model: Explained, row: dict[str, Any], reference: dict[str, list[Any]]
) -> tuple[tuple[float, ...], dict[str, list[float]]]:
    """What each value of a row adds beside those of made-up rows, in the mean; and the score that is left."""
    names = model.schema.names
    size = max(2, min(ROWS, MANY // len(names)))
    columns: dict[str, list[Any]] = {}
    for name in names:
        columns[name] = [
            value for other in names for value in (reference[name][:size] if other == name else [row[name]] * size)
        ] + [row[name]]
    scores = model.effects(made_rows(model.schema, columns))
    own = scores[-1]
    parts = own - scores[:-1].reshape(len(names), size, -1).mean(axis=1)
    if not np.isfinite(parts).all():
        raise ModelError("the model's scores of this row are not finite")
    found = {name: part.tolist() for name, part in zip(names, parts, strict=True)}
    return tuple((own - parts.sum(axis=0)).tolist()), found


def _plain(value: Any) -> Any:
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return value if isinstance(value, str | int | float | bool | type(None)) else text(value)
