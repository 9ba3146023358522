"""discreet explore: the everyday path on a page of this machine."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from discreet.cli import options
from discreet.cli.common import accounts_beside
from discreet.cli.terminal import console, print_json
from discreet.errors import DiscreetError


def command(
    data: Annotated[
        Path | None, typer.Argument(help="A file of rows; it can also be dropped on the page.", show_default=False)
    ] = None,
    schema: Annotated[
        Path | None, typer.Option("--schema", "-s", help="A schema to start from.", show_default=False)
    ] = None,
    account: Annotated[
        Path | None, typer.Option(help="The account that fits are charged to.", show_default=False)
    ] = None,
    out: Annotated[Path, typer.Option("--out", "-o", help="The folder for what is released.")] = Path(
        "discreet-explore"
    ),
    port: Annotated[int, typer.Option(min=0, max=65535, help="A port of this machine; any free one unless told.")] = 0,
    browser: Annotated[bool, typer.Option(help="Open the page in the browser.")] = True,
    as_json: options.Json = False,
) -> None:
    """Open a local page that leads from a table to a private model and its dossier; nothing leaves this machine."""
    import webbrowser

    import tomli_w

    from discreet.explorer import Explorer, Work
    from discreet.privacy import Account
    from discreet.schema import Schema
    from discreet.sources import opened

    if data is not None and not data.is_file():
        raise DiscreetError(f"there is no file {data}")
    if data is not None:
        with opened(str(data)):  # or a sentence that says why it is no table
            pass
    if out.exists() and not out.is_dir():
        raise DiscreetError(f"{out} is a file: --out needs a folder")
    beside = [] if data is None else accounts_beside(str(data))
    if account is None and len(beside) > 1:
        raise DiscreetError(f"several accounts lie beside {data}: name one by --account")
    account = account if account is not None or not beside else beside[0]
    if account is not None:
        Account.open(account)
    text = ""
    if schema is not None:
        found = Schema.load(schema)
        text = tomli_w.dumps(found.to_dict()) if schema.suffix == ".json" else schema.read_text("utf-8-sig")
    served = Explorer(Work(out, data, text, account), port)
    if as_json:
        print_json({"address": served.address})
    else:
        console().print(f"open {served.address}", soft_wrap=True, highlight=False)
        console().print("only this machine and whoever has that address can; press Ctrl-C to end")
    if browser:
        webbrowser.open(served.launching)  # other users may read command lines
    served.run()
