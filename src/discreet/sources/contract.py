"""The contract that every container and source of rows keeps: a table counts as its rows do one by one.

All sensitivities rest on it. `row_rule_violation` checks it on given rows for a container of your own; docs/values.md
states the rule by which `by_the_rule` counts, one value at a time and without any of the code that reads tables.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from discreet.errors import DataError
from discreet.schema import Numeric, Schema
from discreet.sources.source import collect
from discreet.statistics import DETAILS, Statistics
from discreet.values import is_missing

Record = Mapping[str, Any]
Reader = Callable[[Any], Any]


def by_the_rule(schema: Schema, records: Sequence[Record]) -> Statistics | None:
    """The statistics of rows, each value read by itself; None if a row holds a value without a place."""
    result = Statistics.empty(schema, DETAILS)
    for record in records:
        label = None if is_missing(record[schema.target]) else schema.label.lookup.find(record[schema.target])
        if label is None:
            return None
        result.counts[label] += 1
        for feature in schema.features:
            name, value = feature.name, record[feature.name]
            double = feature.number(value) if isinstance(feature, Numeric) else 0.0
            if is_missing(value) or math.isnan(double):
                cell = feature.missing_code
            elif not isinstance(feature, Numeric):
                cell = feature.lookup.code(value)
            elif math.isinf(double):
                return None
            else:
                point = feature.lattice.point(min(max(double, feature.lower), feature.upper))
                cell = sum(cut <= point for cut in feature.cuts)
                result.present[name][label] += 1
                result.sums[name][label] += point
                result.squares[name][label] += point * point
                result.lattice[name][label, point + feature.lattice.half] += 1
            if cell is None:
                return None
            result.tables[name][label, cell] += 1
    return result


def counted(schema: Schema) -> Reader:
    """The reader that counts: all the statistics there are."""
    return lambda data: collect(data, schema, detail=DETAILS)


def row_rule_violation(
    make: Callable[[Sequence[Record]], Any],
    schema: Schema,
    records: Sequence[Record],
    *,
    read: Reader | None = None,
    join: Callable[[list[Any]], Any] | None = None,
    same: Callable[[Any, Any], bool] | None = None,
) -> str | None:
    """What is wrong with the table that `make` builds of some records, or None.

    The table must be read as its rows are read one by one, and be refused, with a DataError, exactly if one of its
    rows is. `make` may return None for rows that its container cannot hold. By default tables are counted; another
    `read` comes with `join`, which puts what was read of single rows together, and `same`.
    """
    whole = make(records)
    if whole is None:
        return None
    read, join = read or counted(schema), join or (lambda parts: sum(parts[1:], parts[0]))
    found = _read(read, whole)
    single = []
    for record in records:
        one = make([record])
        if one is None:
            return None
        single.append(_read(read, one))
    bad = [i for i, one in enumerate(single) if one is None]
    if found is None and not bad:
        return f"refused as a table, though no row of it is: {list(records)!r}"
    if found is not None and bad:
        return f"row {bad[0]} is refused alone and accepted in the table {list(records)!r}"
    if found is not None and not (same or (lambda a, b: bool(a == b)))(found, join(single)):
        return f"not the sum of its rows: {list(records)!r}"
    return None


def _read(read: Reader, data: Any) -> Any:
    try:
        return read(data)
    except DataError:
        return None
