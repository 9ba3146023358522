"""Questions: every yes-or-no split that the public schema allows, as an interval of one feature's codes."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from discreet.errors import SchemaError
from discreet.schema import Categorical, Feature, Numeric, Schema

Integers = NDArray[np.int64]
MOST_CELLS = 1 << 16


@dataclass(frozen=True, eq=False)
class Questions:
    """Question q asks whether `low[q]` ≤ code < `high[q]` for the code of feature `feature[q]`.

    Cells of all features stand side by side: those of feature j begin at `starts[j]`.
    """

    schema: Schema
    feature: Integers
    low: Integers
    high: Integers
    starts: Integers

    @classmethod
    def of(cls, schema: Schema) -> Questions:
        """A category against all others, a number against each public bin edge, and missing against present."""
        found: list[tuple[int, int, int]] = []
        for j, feature in enumerate(schema.features):
            if feature.cells > MOST_CELLS:
                raise SchemaError(f"feature {feature.name!r} has more than {MOST_CELLS} cells, too many for a tree")
            found += [(j, low, high) for low, high in _intervals(feature)]
        table = np.array(found, np.int64).reshape(-1, 3)
        starts = np.concatenate([[0], np.cumsum([feature.cells for feature in schema.features])])
        return cls(schema, table[:, 0], table[:, 1], table[:, 2], starts.astype(np.int64))

    def __len__(self) -> int:
        return len(self.feature)

    @cached_property
    def first(self) -> Integers:
        """Where the yes-cells of each question begin, counted over all features."""
        return np.asarray(self.starts[self.feature] + self.low)

    @cached_property
    def last(self) -> Integers:
        """Where they end."""
        return np.asarray(self.starts[self.feature] + self.high)

    def open(self, allowed: NDArray[np.bool_]) -> Integers:
        """The questions that cells still `allowed` on a path can answer both ways."""
        sums = np.concatenate([[0], np.cumsum(allowed)])
        yes = sums[self.last] - sums[self.first]
        every = sums[self.starts[self.feature + 1]] - sums[self.starts[self.feature]]
        return np.flatnonzero((yes > 0) & (yes < every))

    @cached_property
    def spans(self) -> Integers:
        """Where the questions of each feature begin, and where the last ones end."""
        return np.searchsorted(self.feature, np.arange(len(self.starts)))

    def open_of(self, feature: int, allowed: NDArray[np.bool_]) -> Integers:
        """The questions about one feature that its cells still `allowed` can answer both ways."""
        own = slice(self.spans[feature], self.spans[feature + 1])
        sums = np.concatenate([[0], np.cumsum(allowed)])
        yes = sums[self.high[own]] - sums[self.low[own]]
        return np.asarray(self.spans[feature] + np.flatnonzero((yes > 0) & (yes < sums[-1])))

    def after_of(self, allowed: NDArray[np.bool_], question: int, answer: bool) -> NDArray[np.bool_]:
        """The cells of its feature that remain possible once a question is answered."""
        inside = np.zeros_like(allowed)
        inside[self.low[question] : self.high[question]] = True
        return allowed & (inside if answer else ~inside)

    def interval(self, question: int) -> tuple[int, int, int]:
        """The feature of a question and the codes that it asks about."""
        return int(self.feature[question]), int(self.low[question]), int(self.high[question])

    def after(self, allowed: NDArray[np.bool_], question: int, answer: bool) -> NDArray[np.bool_]:
        """The cells that remain possible once a question is answered."""
        left, inside = allowed.copy(), np.zeros_like(allowed)
        inside[self.first[question] : self.last[question]] = True
        own = slice(self.starts[self.feature[question]], self.starts[self.feature[question] + 1])
        left[own] &= inside[own] if answer else ~inside[own]
        return left


def _intervals(feature: Feature) -> list[tuple[int, int]]:
    if isinstance(feature, Categorical):
        if feature.cells == 2:
            return [(1, 2)]  # asking for the other one is the same question
        return [(v, v + 1) for v in range(feature.cells)] if feature.cells > 1 else []
    bins = len(feature.cuts) + 1
    gone = [(feature.missing_code, bins + 1)] if feature.missing_code is not None else []
    return [(edge, bins) for edge in range(1, bins)] + gone


def words(schema: Schema, feature: int, low: int, high: int) -> str:
    """The question whether a feature's code lies in [low, high)."""
    one = schema.features[feature]
    if isinstance(one, Numeric) and low != one.missing_code:
        return f"{one.name} >= {one.show(one.edges[low])}"
    return f"{one.name} = {one.labels[low]}"
