"""Rich forms for notebooks: small tables of escaped text in the notebook's own colours, without scripts."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from html import escape
from typing import Any

CELL = "padding:2px 10px 2px 0;text-align:left;vertical-align:top;background:none;border:none"
HEAD = CELL + ";border-bottom:1px solid currentColor;opacity:0.75"
MOST = 60  # lines of a table: more are for other eyes


def page(title: str, facts: Iterable[tuple[str, Any]] = (), columns: Sequence[str] = (), rows: Any = ()) -> str:
    """A title, facts by name, and a table; all of it text that is escaped."""
    parts = [f"<strong>{escape(title)}</strong>"]
    told = [[name, value] for name, value in facts if value not in (None, "")]
    if told:
        parts.append(_table((), told))
    listed = list(rows)
    if listed:
        parts.append(_table(columns, listed[:MOST]))
    if len(listed) > MOST:
        parts.append(f"<div style='opacity:0.75'>and {len(listed) - MOST} more</div>")
    return f"<div style='color:inherit;background:none;max-width:60em'>{''.join(parts)}</div>"


def _table(columns: Sequence[str], rows: Iterable[Sequence[Any]]) -> str:
    head = "".join(f"<th style='{HEAD}'>{escape(str(name))}</th>" for name in columns)
    body = "".join(
        "<tr style='background:none'>"
        + "".join(f"<td style='{CELL}'>{escape(str(cell))}</td>" for cell in row)
        + "</tr>"
        for row in rows
    )
    return f"<table style='border-collapse:collapse;margin:4px 0'>{f'<tr>{head}</tr>' if head else ''}{body}</table>"
