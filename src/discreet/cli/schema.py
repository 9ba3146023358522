"""discreet schema: draft a schema from data, for a person to edit."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from discreet.cli import options
from discreet.cli.common import check_out, located, note, print_json


def command(
    data: options.Data,
    target: Annotated[str, typer.Option("--target", "-t", help="The column to predict.")],
    out: Annotated[Path | None, typer.Option("--out", "-o", help="Where to write it; else it is printed.")] = None,
    bounds: Annotated[
        str,
        options.one_of(
            *options.BOUGHT, help="Bounds read off the data, or left private, for a fit or 'discreet bounds' to find."
        ),
    ] = "declared",
    as_json: options.Json = False,
    table: options.Table = None,
) -> None:
    """Draft a schema from data, for a person to edit. The draft itself discloses the data's ranges."""
    from discreet.sources.draft import OPEN_WARNING, WARNING, draft

    check_out(out, located(data, table))
    warning = OPEN_WARNING if bounds == "private" else WARNING
    found = draft(located(data, table), target=target, private=bounds == "private")
    for name, reason in found.left_out.items():
        note(f"left out {name!r}: {reason}")
    note("warning: " + warning.replace("\n", " "))
    # A draft becomes a declaration when a person has edited it and takes this line away.
    comment = (
        warning + "\nWhen you have done so, set inferred = false: the certificate will then no longer say otherwise."
    )
    if out is not None:
        found.schema.save(out, comment=comment)
        note(f"wrote {out}: edit it, then try 'discreet plan --schema {out} --epsilon 1'")
    if as_json:
        told = warning.replace("\n", " ")
        print_json({"schema": found.schema.to_dict(), "left_out": found.left_out, "warning": told})
    elif out is None:
        import tomli_w

        lines = "".join(f"# {line}\n" for line in comment.splitlines())
        typer.echo(lines + tomli_w.dumps(found.schema.to_dict()), nl=False)
