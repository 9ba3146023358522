"""discreet schema: draft a schema from data, for a person to edit."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from discreet.cli import options
from discreet.cli.common import check_out, located
from discreet.cli.terminal import note, print_json
from discreet.errors import DiscreetError


def command(
    data: Annotated[str | None, typer.Argument(help="As in 'discreet fit'.", show_default=False)] = None,
    target: Annotated[
        str | None, typer.Option("--target", "-t", help="The column to predict.", show_default=False)
    ] = None,
    out: Annotated[Path | None, typer.Option("--out", "-o", help="Where to write it; else it is printed.")] = None,
    force: Annotated[bool, typer.Option("--force", help="Write over a file that is there.")] = False,
    bounds: Annotated[
        str,
        options.one_of(
            *options.BOUGHT, help="Bounds read off the data, or left private, for a fit or 'discreet bounds' to find."
        ),
    ] = "declared",
    json_schema: Annotated[
        bool, typer.Option("--json-schema", help="Print the JSON Schema by which editors check schema files.")
    ] = False,
    as_json: options.Json = False,
    table: options.Table = None,
) -> None:
    """Draft a schema from data, for a person to edit. The draft itself discloses the data's ranges."""
    if json_schema:
        from discreet.cli.editor import json_schema_of_files

        print_json(json_schema_of_files())
        return
    if data is None or target is None:
        raise DiscreetError("a draft needs rows and the column to predict: discreet schema DATA --target COLUMN")
    from discreet.sources.draft import OPEN_WARNING, WARNING, draft
    from discreet.sources.drafted import as_toml

    rows = located(data, table)
    check_out(out, rows)
    if out is not None and out.exists() and not force:
        raise DiscreetError(f"{out} is there already, and may have been edited: choose another --out, or add --force")
    warning = OPEN_WARNING if bounds == "private" else WARNING
    found = draft(rows, target=target, private=bounds == "private")
    for name, reason in found.left_out.items():
        note(f"left out {name!r}: {reason}")
    note("warning: " + warning.replace("\n", " "))
    # A draft becomes a declaration when a person has edited it and takes this line away.
    comment = (
        warning + "\nWhen you have done so, set inferred = false: the certificate will then no longer say otherwise."
    )
    if out is not None:
        if out.suffix.lower() == ".json":
            found.schema.save(out)
        else:
            from discreet.files import write_text

            write_text(out, as_toml(found, comment))
        where = str(data) if table is None else f"{data} --table {table}"
        note(f"wrote {out}: edit it, then try 'discreet check {where} --schema {out}'")
    if as_json:
        told = warning.replace("\n", " ")
        print_json({"schema": found.schema.to_dict(), "left_out": found.left_out, "seen": found.seen, "warning": told})
    elif out is None:
        typer.echo(as_toml(found, comment), nl=False)
