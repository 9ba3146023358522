"""Designed rows: values spread evenly over what is public or was released, classes drawn from the model, at no cost."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from discreet.explanation.shapes import made_rows, values_of
from discreet.schema import Feature, Numeric, Schema
from discreet.sources import Rows

LIMITS = (
    "designed rows: values are spread evenly over what the schema and the model say, however often they occur, and "
    "only the target follows from the model; train another model on them or try software, and count nothing in them"
)


class Designing(Protocol):
    """What designed rows need of a released model."""

    schema: Schema

    def score_rows(self, rows: Rows) -> NDArray[np.float64]:
        """log P(class | row)."""

    def parts_of(self, feature: Numeric) -> Sequence[int]:
        """The lattice points between which parts of a number lie that count alike."""


def designed(model: Designing, size: int, rng: np.random.Generator) -> dict[str, list[Any]]:
    """So many rows as columns, target included."""
    schema = model.schema
    columns = {feature.name: _spread(feature, model.parts_of, size, rng) for feature in schema.features}
    classes: list[Any] = []
    if size:
        levels = np.cumsum(np.exp(model.score_rows(made_rows(schema, columns))), axis=1)
        spots = (rng.random(size) * levels[:, -1])[:, None] >= levels[:, :-1]
        classes = [schema.classes[place] for place in spots.sum(axis=1)]
    return {**columns, schema.target: classes}


def _spread(
    feature: Feature, parts_of: Callable[[Numeric], Sequence[int]], size: int, rng: np.random.Generator
) -> list[Any]:
    """Every category alike, or a number from one of its parts, all alike; a missing value counts as one part more."""
    if not isinstance(feature, Numeric):
        values = values_of(feature)
        return [values[i] for i in rng.integers(0, len(values), size)]
    edges = np.array(parts_of(feature), np.float64)
    part, inside = rng.integers(0, len(edges) - 1 + (feature.missing_code is not None), size), rng.random(size)
    gone = part == len(edges) - 1
    low, high = edges[np.where(gone, 0, part)], edges[np.where(gone, 0, part) + 1]
    return [
        None if missing else _value(feature, point)
        for missing, point in zip(gone.tolist(), np.rint(low + inside * (high - low)).astype(int).tolist(), strict=True)
    ]


def _value(feature: Numeric, point: int) -> Any:
    """What a column has at a lattice point."""
    place = feature.lattice.value(point)
    if not feature.direct:
        return feature.value_at(place)
    return round(place) if feature.integer else place
