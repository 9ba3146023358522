"""discreet local status: how a collection is going, by what its collector says to everybody."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from discreet.cli import local, options, watching


@local.app.command()
@options.grouped(watched=watching.WATCHED)
def status(
    address: Annotated[str, typer.Argument(help="Where the collector is, as http://HOST:PORT.")],
    watched: dict[str, Any],
    authority: Annotated[
        Path | None, typer.Option("--ca", help="The authority of its certificate (PEM), if not a public one.")
    ] = None,
) -> None:
    """Show how a collection is going: reports, their rate, whether they can be kept, and how exact shares are."""
    from discreet.local.overview import Overview

    watching.watch(Overview(address, authority).look, **watched)
