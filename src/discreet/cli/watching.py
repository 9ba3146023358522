"""Status commands: a live table on a terminal, once for a pipe, JSON for machines, or a page of the loopback."""

from __future__ import annotations

import sys
import time
from typing import Any

from discreet.cli import options
from discreet.cli.terminal import console, note, print_json, table
from discreet.dashboard import Board, Look, serve

WATCHED: options.Group = {
    "once": options.flag("--once", "Show it once and end; so does a pipe."),
    "every": options.option(float, 2.0, "Seconds between two looks.", min=0.1),
    "web": options.option(
        int | None, None, "Show it on a page at this port of the loopback; 0 for any free one.", min=0, max=65535,
        show_default=False,
    ),
    "as_json": (options.Json, False),
}  # fmt: skip


def watch(look: Look, once: bool, every: float, web: int | None, as_json: bool) -> None:
    """Show what `look` says, in the way that was asked for, until it is interrupted."""
    if web is not None:
        look()  # what is wrong from the start is an error, not a page
        try:
            serve(look, web, lambda address: note(f"see {address} (for this machine only); stop it by Ctrl-C"))
        except KeyboardInterrupt:
            note("stopped")
        return
    if as_json:
        print_json(look().plain)
        return
    screen = console()
    if once or not sys.stdout.isatty():
        screen.print(drawn(look()))
        return
    from rich.live import Live

    with Live(drawn(look()), console=screen, auto_refresh=False) as live:
        while True:
            time.sleep(every)
            live.update(drawn(look()), refresh=True)


def drawn(board: Board) -> Any:
    """A board for a terminal."""
    from rich.console import Group
    from rich.text import Text

    facts = table("", ["what", "is"], [list(one) for one in board.facts], left=2)
    rows = table("", list(board.columns), [list(row) for row in board.rows], left=len(board.columns))
    return Group(Text(f"{board.title}: {board.line}"), facts, rows)
