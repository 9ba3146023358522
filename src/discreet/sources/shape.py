"""What is wrong with a source without a look at any row: refused before a charge, so that a slip costs no budget."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, TypeVar

import numpy as np

from discreet.domain import text
from discreet.errors import DataError
from discreet.privacy.payer import Payer, Tab
from discreet.privacy.plan import Planned, Protected
from discreet.schema import Schema
from discreet.sources.frames import NO_IDS, as_matrix, open_frame
from discreet.sources.source import check_columns, is_aligned, is_outside, rows_of
from discreet.sources.streams import is_counting, opened, refuse_labels, require

Trusting = TypeVar("Trusting", bound=Protected)


def check_shape(
    X: Any, y: Any = None, schema: Schema | None = None, *, labelled: bool = True, who: str = "this"
) -> None:
    """Refuse missing columns or labels of rows in memory, and lengths that do not fit; `who` asks.

    Rows in lists and in things of unknown make are not looked at; files, tables and lazy frames are by `charge`.
    """
    X, y = rows_of(X, y)
    if is_outside(X):
        refuse_labels(X, y)
        if schema is not None and is_aligned(X):
            check_columns(X, schema, labelled=labelled and y is None)
        return
    made = _is_made(X, "DataFrame", "Table")
    if X is None or isinstance(X, int | float | bytes | Mapping) or (isinstance(X, np.ndarray) and not _is_matrix(X)):
        as_matrix(X)  # says what is wrong
    if labelled and y is None and not made and open_frame(X) is None:
        raise DataError(f"{who} requires y to be passed, but the target y is None")
    if schema is None:
        return
    rows: int | None = None
    if isinstance(X, np.ndarray):
        rows = len(X)
        if X.shape[1] != len(schema.features):
            raise DataError(f"X has {X.shape[1]} features, but the schema declares {len(schema.features)}")
        if schema.id is not None:
            raise DataError(NO_IDS.format(schema.id))
    elif made:
        frame = open_frame(X)
        rows = len(frame)
        names = [text(one) for one in frame.columns]
        require(schema, names, labelled=labelled and y is None, identified=True)
    known = isinstance(y, list | tuple) or (isinstance(y, np.ndarray) and y.ndim) or _is_made(y, "Series")
    if rows is not None and known and len(y) != rows:
        raise DataError(f"X and y have inconsistent numbers of samples: [{rows}, {len(y)}]")


def charge(
    payer: Payer, plan: Planned, source: Any, owner: Any = None, *, schema: Schema | None = None, labelled: bool = True
) -> Tab:
    """Charge what is to be read of a source, unless the payer cannot pay or the source cannot be opened."""
    if is_outside(source):
        payer.afford(plan.budget, plan.node)
        # Whether labels were beside a lazy frame, and whether it needed any, `check_shape` has seen.
        check_columns(source, schema, labelled=labelled and not is_aligned(source), plan=plan)
    return payer.charge(plan.node, plan.budget, plan.unit, owner, schema=schema)


def trusting(plan: Trusting, source: Any) -> Trusting:
    """The plan, which says what its certificate must take on trust of the source."""
    rows = rows_of(source)[0]
    if not is_counting(rows):
        return plan
    with opened(rows) as stream:
        return replace(plan, trusts=tuple(dict.fromkeys((*plan.trusts, *stream.trusts)))) if stream.trusts else plan


def _is_matrix(X: Any) -> bool:
    return bool(X.ndim == 2 and X.shape[1])


def _is_made(data: Any, *kinds: str) -> bool:
    """Whether this is a table or a column in memory, by its type alone."""
    made = type(data)
    return made.__name__ in kinds and made.__module__.partition(".")[0] in {"pandas", "polars", "pyarrow"}
