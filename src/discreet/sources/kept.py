"""Kept rows: a table in memory of which rows can be taken, in the form that any fit reads.

Python values become Arrow arrays whose types do not hang on the values, read alike now and later.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.privacy.unexpected import REFUSE
from discreet.schema import Categorical, Feature, Schema
from discreet.sources.absorb import plain_values
from discreet.sources.coded import cells_of
from discreet.sources.columns import Numbers, make_column, written
from discreet.sources.fewer import Draw
from discreet.sources.frames import Memory
from discreet.sources.keptcodes import CodedTable, is_coding, keep_codes
from discreet.sources.people import id_keys
from discreet.sources.source import check_people, is_outside, read_rows, rows_of
from discreet.sources.stored import is_arrow
from discreet.sources.streams import make_label, opened, unchanged
from discreet.values import UNREADABLE, text

Indices = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class RowTable:
    """A table in memory, with its labels beside it or in it."""

    schema: Schema
    data: Any
    labels: Any
    size: int

    @classmethod
    def of(
        cls, data: Any, schema: Schema, y: Any = None, *, unexpected: str = REFUSE, draw: Draw | None = None
    ) -> RowTable:  # fmt: skip
        """Keep an array or data frame as it is, and a file or database table, or what is absorbed, as Arrow columns.

        Nobody has more than one row.
        """
        if unexpected != REFUSE:
            return cls.of_memory(_absorbed(data, schema, y, unexpected, draw), schema)
        data, y = rows_of(data, y)
        if is_outside(data):
            data, y = kept_table(data, schema, y), None
        check_people(data, schema, 1)
        return cls.of_memory(data, schema, y)

    @classmethod
    def of_memory(cls, data: Any, schema: Schema, y: Any = None, *, lenient: bool = False) -> RowTable:
        """An array or data frame as it is; labels of another length are refused."""
        memory = Memory(data, y, lenient)
        table = memory.table(schema)
        if memory.labels is not None or memory.frame is None:
            make_label(schema, [] if memory.labels is None else memory.labels, len(table))
        return cls(schema, table, memory.labels, len(table))

    def take(self, rows: Indices) -> tuple[Any, Any]:
        """(X, y) of some of the rows, in the form that estimators read."""
        X = self.data[rows] if isinstance(self.data, np.ndarray) else self.data[rows.tolist()].to_native()
        if self.labels is None:
            return X, None
        return X, self.labels[rows] if isinstance(self.labels, np.ndarray) else self.labels.take(rows)

    def truth(self, rows: Indices) -> Indices:
        """The class of some of the rows, as its place in the schema."""
        X, y = self.take(rows)
        label = next(read_rows(X, self.schema)).label if y is None else make_label(self.schema, y, len(rows))
        assert label is not None
        return cells_of(label).astype(np.int64)


def _absorbed(data: Any, schema: Schema, y: Any, unexpected: str, draw: Draw | None) -> Any:
    """The rows that are left, every value in the schema's own words, one row per person."""
    import pyarrow as pa

    parts = list(read_rows(data, schema, y, contributions=1, unexpected=unexpected, draw=draw))
    columns: dict[str, Any] = {}
    for j, feature in enumerate(schema.features):
        columns[feature.name] = pa.concat_arrays([plain_values(rows.columns[j]) for rows in parts])
    labels = [plain_values(rows.label) for rows in parts if rows.label is not None]
    columns[schema.target] = pa.concat_arrays(labels)
    if schema.id is not None:
        columns[schema.id] = pa.array(range(len(columns[schema.target])))  # nobody has two rows by now
    return pa.table(columns)


def keep_rows(
    data: Any,
    schema: Schema,
    y: Any = None,
    *,
    unexpected: str = REFUSE,
    draw: Draw | None = None,
    exact: bool = False,
) -> RowTable | CodedTable:
    """Rows of which rows are to be taken, nobody having more than one: a `RowTable`.

    Those of a server or a cluster come as codes, unless `exact` wants numbers between the points of their lattices.
    """
    given, labels = rows_of(data, y)
    if is_coding(given) and labels is None and not exact:
        return keep_codes(given, schema, unexpected=unexpected, draw=draw)
    return RowTable.of(data, schema, y, unexpected=unexpected, draw=draw)


def kept_table(data: Any, schema: Schema, y: Any = None) -> Any:
    """The schema's columns of a file or database table as one Arrow table, in the order of the rows."""
    import pyarrow as pa

    with opened(data, y, ordered=True) as stream, unchanged(stream):
        wanted, batches = stream.kept(schema)
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


def kept_column(feature: Feature, raw: Any) -> Any:
    """A feature's column: doubles of a number, names of cells; what has no place is kept so that it has none later."""
    import pyarrow as pa

    column = make_column(feature, raw)
    if isinstance(column, Numbers):
        return written(column.feature, column.values.astype(np.float64))
    assert isinstance(feature, Categorical)
    cells = column.encode()
    names: list[str | None] = [text(value) for value in feature.categories]
    names += [feature.other] if feature.other is not None else []
    names += [None] if feature.missing_code is not None else []
    result = [names[cell] if cell < feature.cells else None for cell in cells.tolist()]
    for row in np.flatnonzero(cells == feature.cells).tolist():
        value = column.raw(row)
        if value is not None:
            shown = text(value).encode("utf-8", "backslashreplace").decode()
            result[row] = shown if feature.lookup.code(shown) is None else repr(UNREADABLE)
    return pa.array(result, pa.large_string())


def kept_ids(raw: Any) -> Any:
    """An id column as texts that name the same people."""
    import pyarrow as pa

    keys = [None if key is None or key != key else key for key in id_keys(raw).tolist()]
    written = [repr(key) if isinstance(key, float) else key for key in keys]
    return pa.array([None if one is None else one.encode("utf-8", "backslashreplace") for one in written],
                    pa.large_binary()).cast(pa.large_string())  # fmt: skip
