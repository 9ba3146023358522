"""discreet report: one interactive page over results of all kinds."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from discreet.cli import options
from discreet.cli.common import check_out
from discreet.cli.terminal import console, print_json, progress
from discreet.errors import DiscreetError


def command(
    results: Annotated[
        list[Path],
        typer.Argument(
            help="Results: folders of reproduce, files of audit --json, compare --json, benchmarks, models."
        ),
    ],
    out: Annotated[Path, typer.Option("--out", "-o", help="The page to write, NAME.html.")],
    title: Annotated[str, typer.Option(help="What stands on top of it.")] = "Results",
    as_json: options.Json = False,
) -> None:
    """Show studies, audits, benchmarks, comparisons and models on one page that stands by itself."""
    from discreet.files import write_text
    from discreet.report import read, render

    if out.suffix != ".html":
        raise DiscreetError("--out takes NAME.html")
    check_out(out, *results)
    with progress("reading results", quiet=as_json):
        found = read(results)
        page = render(found, title)
    write_text(out, page)
    if as_json:
        shown = {name: len(rows) for name, rows in vars(found).items()}
        print_json({"file": str(out), "bytes": len(page.encode()), "rows": shown})
        return
    console().print(f"wrote {out} ({len(page.encode()) / 1e6:.1f} MB): open it in a browser, it needs no network")
