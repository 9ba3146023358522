"""Training rows in memory as the blocks read them, so that knots may follow from a count of them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.additive.blocks import Blocks, Held, hold
from discreet.linear.encode import Design, cells, labelled_rows
from discreet.schema import Schema
from discreet.sources import Progress


@dataclass(frozen=True, eq=False)
class HeldRows:
    """The cells and lattice points of every feature, and the class of every row."""

    columns: list[Held]
    labels: NDArray[np.int64]
    classes: int

    def counts(self) -> NDArray[np.int64]:
        """Rows per class, exact."""
        return np.bincount(self.labels, minlength=self.classes).astype(np.int64)

    def design(self, blocks: Blocks) -> Design:
        """The rows as weights of the blocks' columns."""
        codes, values = blocks.encode(self.columns)
        return Design(codes, values, self.labels, blocks.columns, blocks.entries + 1, 1.0)


def read_held(X: Any, y: Any, schema: Schema, *, contributions: int = 1, progress: Progress | None = None) -> HeldRows:
    """Read labelled rows of any source."""
    parts, labels = [], []
    for rows in labelled_rows(X, y, schema, contributions=contributions, progress=progress):
        assert rows.label is not None
        labels.append(cells(rows.label).astype(np.int64))
        parts.append(hold(rows))
    columns = [np.concatenate(column) for column in zip(*parts, strict=True)]
    return HeldRows(columns, np.concatenate(labels), len(schema.classes))
