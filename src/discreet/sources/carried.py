"""Rows with some of their columns carried along as they came, for answers that stand beside them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from discreet.errors import DataError
from discreet.schema import Schema
from discreet.sources.blocks import Rows
from discreet.sources.columns import make_column
from discreet.sources.streams import opened, require


def read_carried(
    data: Any, schema: Schema, carried: Sequence[str] = (), *, progress: Any = None
) -> Iterator[tuple[Rows, dict[str, Any]]]:
    """Unlabelled rows in batches and in order, and beside them the columns `carried`, as the source has them."""
    with opened(data, ordered=True) as stream:
        require(schema, stream.names, labelled=False)
        for name in carried:
            if name not in stream.names:
                have = ", ".join(repr(str(one)) for one in list(stream.names)[:12])
                raise DataError(f"the data have no column {name!r} to keep (they have {have})")
        done = 0
        for batch in stream.batches(list(dict.fromkeys([*schema.names, *carried]))):
            size = len(batch[schema.names[0]])
            done += size
            if progress is not None:
                progress(done, stream.total)
            columns = [make_column(feature, batch[feature.name]) for feature in schema.features]
            yield Rows(columns, size), {name: batch[name] for name in carried}
