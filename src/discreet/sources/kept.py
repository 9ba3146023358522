"""Kept columns: Python values as Arrow arrays whose types do not hang on the values, read alike now and later."""

from __future__ import annotations

from typing import Any

import numpy as np

from discreet.schema import Categorical, Feature
from discreet.sources.columns import Numbers, make_column
from discreet.sources.people import id_keys
from discreet.values import UNREADABLE, text


def kept_column(feature: Feature, raw: Any) -> Any:
    """A feature's column: doubles of a number, names of cells; what has no place is kept so that it has none later."""
    import pyarrow as pa

    column = make_column(feature, raw)
    if isinstance(column, Numbers):
        return pa.array(column.values.astype(np.float64))
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
