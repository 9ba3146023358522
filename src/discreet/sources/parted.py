"""Parted rows: each row is counted for one feature only, which a draw decides before the row is read."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.privacy.unexpected import REFUSE
from discreet.schema import Schema
from discreet.sources import Draw, Progress, map_rows
from discreet.sources.absorb import new_reading
from discreet.sources.blocks import Rows
from discreet.sources.count import BINS, tally
from discreet.statistics import Statistics

Integers = NDArray[np.int64]


def collect_parted(
    data: Any,
    schema: Schema,
    deal: Callable[[int], Integers],
    y: Any = None,
    *,
    contributions: int | None = None,
    unexpected: str = REFUSE,
    draw: Draw | None = None,
    progress: Progress | None = None,
) -> list[Statistics]:
    """The table of every feature, counted on the rows drawn for it: `deal(n)` gives the features of n rows.

    Where rows are absorbed, a row is left out if its label or the feature drawn for it has no place; what it says of
    others is not looked at.
    """
    own = [Schema([feature], schema.target, schema.classes) for feature in schema.features]
    found = [Statistics.empty(one, BINS) for one in own]
    total, count = unexpected != REFUSE, new_reading()

    def add(rows: Rows) -> None:
        where = deal(rows.size)
        order = np.argsort(where, kind="stable")
        ends = np.searchsorted(where[order], np.arange(len(own) + 1))
        for j, one in enumerate(own):
            mine = order[ends[j] : ends[j + 1]]
            if len(mine):
                part = tally(one, rows.only([j]).take(mine), BINS, count if total else None)
                found[j] = found[j].saturated(part) if total else found[j] + part

    for _ in map_rows(
        add, data, schema, y, contributions=contributions, unexpected=unexpected, draw=draw, progress=progress
    ):
        pass
    return found
