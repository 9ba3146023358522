"""Parted rows: each row is counted for one feature only, which a draw decides before the row is read."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.errors import DataError
from discreet.schema import Schema
from discreet.sources import Progress, check_people, is_outside, read_rows
from discreet.sources.blocks import Rows
from discreet.sources.count import BINS, tally
from discreet.sources.tables import Stream, Table, open_files, open_table
from discreet.statistics import Statistics

Integers = NDArray[np.int64]


def collect_parted(
    data: Any,
    schema: Schema,
    draw: Callable[[int], Integers],
    y: Any = None,
    *,
    contributions: int | None = None,
    progress: Progress | None = None,
) -> list[Statistics]:
    """The table of every feature, counted on the rows drawn for it: `draw(n)` gives the features of n rows."""
    if contributions is not None and schema.id is not None:
        _check_ids(data, schema, contributions)
    own = [Schema([feature], schema.target, schema.classes) for feature in schema.features]
    found = [Statistics.empty(one, BINS) for one in own]
    any_rows = False
    for rows in read_rows(data, schema, y, progress=progress):
        where = draw(rows.size)
        order = np.argsort(where, kind="stable")
        ends = np.searchsorted(where[order], np.arange(len(own) + 1))
        any_rows = any_rows or rows.size > 0
        for j, one in enumerate(own):
            mine = order[ends[j] : ends[j + 1]]
            if len(mine):
                found[j] = found[j] + tally(one, _taken(rows, j, mine), BINS)
    if not any_rows:
        raise DataError("there are no rows: found array with 0 sample(s) while a minimum of 1 is required")
    return found


def _taken(rows: Rows, column: int, spots: Integers) -> Rows:
    def cut(one: Any) -> Any:
        return replace(one, values=one.values[spots])

    return Rows([cut(rows.columns[column])], len(spots), cut(rows.label))


def _check_ids(data: Any, schema: Schema, contributions: int) -> None:
    if not is_outside(data):
        check_people(data, schema, contributions)
        return
    if isinstance(data, Stream):
        data.check_ids(schema, contributions)
        return
    stream = open_table(data) if isinstance(data, Table) else open_files(data)
    try:
        stream.check_ids(schema, contributions)
    finally:
        stream.close()
