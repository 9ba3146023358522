"""A tree as a table of nodes: public questions and where their answers lead; several trees share one table."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.errors import ModelError
from discreet.schema import Schema

Integers = NDArray[np.int64]
COLUMNS = ("feature", "low", "high", "no", "yes")


@dataclass(frozen=True, eq=False)
class Nodes:
    """Node i asks whether low[i] ≤ code < high[i] of feature[i]; the answer leads to no[i] or yes[i].

    A leaf has feature −1. Children stand after their parent, so a walk ends and no order has to be searched for.
    """

    roots: Integers
    feature: Integers
    low: Integers
    high: Integers
    no: Integers
    yes: Integers

    @property
    def columns(self) -> tuple[Integers, ...]:
        """The columns in the order that the loops read them."""
        return self.feature, self.low, self.high, self.no, self.yes

    @property
    def leaf(self) -> NDArray[np.bool_]:
        """Which nodes are leaves."""
        return np.asarray(self.feature < 0)

    def __len__(self) -> int:
        return len(self.feature)

    def check(self, schema: Schema) -> None:
        """Refuse a table that is not a forest over the schema's features: a walk might not end, or leave it."""
        size = len(self.feature)
        if not size or any(column.shape != (size,) for column in self.columns):
            raise ModelError("the columns of the tree table have different lengths")
        if not len(self.roots) or self.roots.ndim != 1 or (self.roots < 0).any() or (self.roots >= size).any():
            raise ModelError("the trees' roots are not in the table")
        inner, spots = ~self.leaf, np.arange(size)
        if (self.feature >= len(schema.features)).any() or (self.feature < -1).any():
            raise ModelError("a node asks for a feature that the schema does not have")
        for child in (self.no, self.yes):
            if (child[inner] <= spots[inner]).any() or (child[inner] >= size).any():
                raise ModelError("a node's children must stand after it in the table")
        cells = np.array([feature.cells for feature in schema.features])[self.feature[inner]]
        low, high = self.low[inner], self.high[inner]
        if (low < 0).any() or (low >= high).any() or (high > cells).any():
            raise ModelError("a node asks for a value that its feature does not have")
        parents = np.bincount(np.concatenate([self.no[inner], self.yes[inner], self.roots]), minlength=size)
        if (parents != 1).any():
            raise ModelError("every node of a tree has exactly one parent, or is a root")

    def to_dict(self) -> dict[str, Any]:
        """Plain values."""
        return {"roots": self.roots.tolist(), **{name: getattr(self, name).tolist() for name in COLUMNS}}

    @classmethod
    def from_dict(cls, fields: Any) -> Nodes:
        """The table out of plain values; whole numbers only."""
        columns = []
        for name in ("roots", *COLUMNS):
            values = fields[name]
            if not isinstance(values, list) or not all(type(value) is int for value in values):
                raise ModelError(f"the tree table's {name} must be a list of whole numbers")
            columns.append(np.array(values, np.int64))
        return cls(*columns)


class Growing:
    """A table under construction, one node at a time."""

    def __init__(self) -> None:
        self.rows: list[list[int]] = []
        self.roots: list[int] = []

    def add(self) -> int:
        """A new leaf."""
        self.rows.append([-1, 0, 1, 0, 0])
        return len(self.rows) - 1

    def split(self, node: int, feature: int, low: int, high: int) -> tuple[int, int]:
        """Turn a leaf into a question; returns the leaves of "no" and "yes"."""
        no, yes = self.add(), self.add()
        self.rows[node] = [feature, low, high, no, yes]
        return no, yes

    def done(self) -> Nodes:
        """The table as arrays."""
        table = np.array(self.rows, np.int64).reshape(-1, 5)
        return Nodes(np.array(self.roots, np.int64), *(np.ascontiguousarray(column) for column in table.T))
