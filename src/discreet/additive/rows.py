"""Training rows in memory as the blocks read them, so that knots may follow from a count of them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.additive.blocks import Blocks, Held, hold
from discreet.linear.encode import Design, cells
from discreet.privacy.unexpected import REFUSE
from discreet.schema import Schema
from discreet.sources import Draw, Progress, Rows, map_rows


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


def read_held(
    X: Any,
    y: Any,
    schema: Schema,
    *,
    contributions: int = 1,
    unexpected: str = REFUSE,
    draw: Draw | None = None,
    progress: Progress | None = None,
) -> HeldRows:
    """Read labelled rows of any source; the options are those of `read_rows`."""

    def held(rows: Rows) -> tuple[list[Held], NDArray[np.int64]]:
        assert rows.label is not None
        return hold(rows), cells(rows.label).astype(np.int64)

    parts = list(
        map_rows(held, X, schema, y, contributions=contributions, unexpected=unexpected, draw=draw, progress=progress)
    )
    columns = [np.concatenate(column) for column in zip(*(one for one, _ in parts), strict=True)]
    return HeldRows(columns, np.concatenate([labels for _, labels in parts]), len(schema.classes))
