"""What commands show: text, tables and progress for people, and JSON for programs."""

from __future__ import annotations

import json
import math
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from discreet.cli import waiting


def clean(value: Any) -> Any:
    """Plain values without NaN and infinity, which JSON has no words for."""
    if isinstance(value, dict):
        return {key: clean(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [clean(item) for item in value]
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return value


def print_json(value: Any) -> None:
    """One JSON document on standard output."""
    from discreet.values import unicode

    waiting.end()
    sys.stdout.write(unicode(json.dumps(clean(value), indent=2, ensure_ascii=False)) + "\n")


def console() -> Any:
    """Where text for people goes."""
    from rich.console import Console

    waiting.end()

    class Screen(Console):
        def on_broken_pipe(self) -> None:
            raise BrokenPipeError  # for `run`, instead of an exit of rich's own

    width = None if sys.stdout.isatty() else 160  # a file or a pipe has no edge to fold at
    return Screen(highlight=False, soft_wrap=True, markup=False, width=width)


def folded(words: str, indent: int) -> str:
    """Words that begin at an indent, folded there between words if a terminal shows them."""
    if not sys.stdout.isatty():
        return words
    import shutil
    import textwrap

    width = max(shutil.get_terminal_size().columns - indent, 20)
    return ("\n" + " " * indent).join(textwrap.wrap(words, width, break_on_hyphens=False) or [""])


def note(message: str) -> None:
    """A remark for a person, kept out of standard output."""
    waiting.end()
    sys.stderr.write(message + "\n")


def table(title: str, columns: list[str], rows: list[list[str]], *, left: int = 1) -> Any:
    """A table for people; all but the first columns are right-aligned."""
    from rich.table import Table
    from rich.text import Text

    result = Table(title=Text(title), title_justify="left", box=None, pad_edge=False, header_style="bold")
    for i, column in enumerate(columns):
        result.add_column(Text(column), justify="left" if i < left else "right", overflow="fold")
    for row in rows:
        result.add_row(*(Text(cell) for cell in row))
    return result


@contextmanager
def progress(label: str, *, quiet: bool = False) -> Iterator[Any]:
    """A progress callback (rows done, rows in all if known) drawn as a bar on a terminal's standard error."""
    from rich.console import Console

    screen = Console(stderr=True)
    if quiet or not screen.is_terminal:
        yield None
        return
    waiting.end()
    from rich.progress import (
        BarColumn,
        MofNCompleteColumn,
        Progress,
        TextColumn,
        TimeElapsedColumn,
        TimeRemainingColumn,
    )

    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn(),
               TimeRemainingColumn())  # fmt: skip
    with Progress(*columns, console=screen, transient=True) as bar:
        task = bar.add_task(label, total=None)
        yield lambda done, total: bar.update(task, completed=done, total=total)
