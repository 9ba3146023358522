"""Parted rows: each row is counted for one feature only, which a draw decides before the row is read."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from discreet.schema import Schema
from discreet.sources.absorb import new_reading
from discreet.sources.blocks import Rows
from discreet.sources.count import BINS, tally
from discreet.sources.source import Source
from discreet.statistics import Statistics

Integers = NDArray[np.int64]


def collect_parted(source: Source, deal: Callable[[int], Integers]) -> list[Statistics]:
    """The table of every feature, counted on the rows drawn for it: `deal(n)` gives the features of n rows.

    Where rows are absorbed, a row is left out if its label or the feature drawn for it has no place; what it says of
    others is not looked at.
    """
    schema, total, count = source.schema, source.total, new_reading()
    own = [Schema([feature], schema.target, schema.classes) for feature in schema.features]
    found = [Statistics.empty(one, BINS) for one in own]

    def add(rows: Rows) -> None:
        where = deal(rows.size)
        order = np.argsort(where, kind="stable")
        ends = np.searchsorted(where[order], np.arange(len(own) + 1))
        for j, one in enumerate(own):
            mine = order[ends[j] : ends[j + 1]]
            if len(mine):
                part = tally(one, rows.only([j]).take(mine), BINS, count if total else None)
                found[j] = found[j].saturated(part) if total else found[j] + part

    for _ in source.map(add, coded=True):
        pass
    return found
