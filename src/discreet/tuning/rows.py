"""Rows that can be dealt: any source in memory, cut into training and validation rows by draws of their own."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.mechanisms.deal import hold_out
from discreet.mechanisms.noise import Sampler
from discreet.privacy.unexpected import ABSORB, REFUSE
from discreet.schema import Feature, Schema
from discreet.sources import Draw, check_people, is_outside, label_values, read_rows
from discreet.sources.absorb import plain_values
from discreet.sources.frames import as_matrix, make_label, open_frame
from discreet.sources.kept import kept_column, kept_ids
from discreet.sources.stored import is_arrow
from discreet.sources.tables import Stream, Table, open_files, open_table

Indices = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class HeldRows:
    """A table in memory, with its labels beside it or in it."""

    schema: Schema
    data: Any
    labels: Any
    size: int

    @classmethod
    def of(
        cls, data: Any, schema: Schema, y: Any = None, *, unexpected: str = REFUSE, draw: Draw | None = None
    ) -> HeldRows:  # fmt: skip
        """Hold an array or data frame as it is, and a file or database table, or what is absorbed, as Arrow columns."""
        if unexpected != REFUSE:
            return _absorbed(data, schema, y, draw)
        if is_outside(data):
            data = _read(data, schema)
        check_people(data, schema, 1)
        frame = open_frame(data)
        table = as_matrix(data) if frame is None else frame
        labels = None if y is None else label_values(y)
        if labels is None and frame is None:
            make_label(schema, [], len(table))
        elif labels is not None:
            make_label(schema, labels, len(table))
        return cls(schema, table, labels, len(table))

    def take(self, rows: Indices) -> tuple[Any, Any]:
        """(X, y) of some of the rows, in the form that estimators read."""
        X = self.data[rows] if isinstance(self.data, np.ndarray) else self.data[rows.tolist()].to_native()
        if self.labels is None:
            return X, None
        return X, self.labels[rows] if isinstance(self.labels, np.ndarray) else self.labels.take(rows)

    def truth(self, rows: Indices) -> Indices:
        """The class of some of the rows, as its place in the schema."""
        X, y = self.take(rows)
        if y is None:
            label = next(iter(read_rows(X, self.schema))).label
        else:
            label = make_label(self.schema, y, len(rows))
        assert label is not None
        codes = label.encode()
        if (codes == len(self.schema.classes)).any():
            label.complain()
        return codes

    def deal(self, share: float, sampler: Sampler) -> tuple[Indices, Indices]:
        """(training, validation): each row is for validation with probability `share`, by a draw of its own."""
        return hold_out(self.size, share, sampler)


def _absorbed(data: Any, schema: Schema, y: Any, draw: Draw | None) -> HeldRows:
    """The rows that are left, every value in the schema's own words, one row per person."""
    import pyarrow as pa

    parts = list(read_rows(data, schema, y, contributions=1, unexpected=ABSORB, draw=draw))
    columns: dict[str, Any] = {}
    for j, feature in enumerate(schema.features):
        columns[feature.name] = pa.concat_arrays([plain_values(rows.columns[j]) for rows in parts])
    labels = [plain_values(rows.label) for rows in parts if rows.label is not None]
    columns[schema.target] = pa.concat_arrays(labels)
    size = len(columns[schema.target])
    if schema.id is not None:
        columns[schema.id] = pa.array(range(size))  # nobody has two rows by now
    table = open_frame(pa.table(columns))
    return HeldRows(schema, table, None, size)


def _read(data: Any, schema: Schema) -> Any:
    """The schema's columns of a file or database table as one Arrow table."""
    import pyarrow as pa

    from discreet.sources.frames import require

    own = not isinstance(data, Stream)
    stream = data if not own else open_table(data) if isinstance(data, Table) else open_files(data, ordered=True)
    try:
        require(schema, stream.names, labelled=True, identified=schema.id is not None)
        wanted = [*schema.names, schema.target, *([schema.id] if schema.id else [])]
        batches = list(stream.batches(wanted))
    finally:
        stream.close()
    alike = {name for name in wanted if _alike(batches, name)}
    parts = [pa.table(_arrow(schema, batch, alike)) for batch in batches]
    return pa.concat_tables(parts) if parts else pa.table({name: [] for name in wanted})


def _alike(batches: list[dict[str, Any]], name: str) -> bool:
    """Whether a column has one Arrow type in all batches, which it has not if files differ."""
    columns = [batch[name] for batch in batches]
    return all(is_arrow(raw) for raw in columns) and len({str(raw.type) for raw in columns}) == 1


def _arrow(schema: Schema, batch: dict[str, Any], alike: Collection[str]) -> dict[str, Any]:
    """The columns of a batch as Arrow; values of several types in a form that hangs on the schema and on them alone."""
    known: dict[str, Feature] = {feature.name: feature for feature in (*schema.features, schema.label)}
    return {
        name: raw if name in alike else kept_column(known[name], raw) if name in known else kept_ids(raw)
        for name, raw in batch.items()
    }
