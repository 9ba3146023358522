"""discreet local send: one person's row to a collector, randomised here; shows what was sent."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from discreet.cli import options
from discreet.cli.terminal import console, note, print_json
from discreet.errors import DataError, DiscreetError

if TYPE_CHECKING:
    from discreet.schema import Schema


def send(
    address: Annotated[str, typer.Argument(help="The collector: http://HOST:PORT, or with the campaign's folder.")],
    given: Annotated[
        list[str] | None,
        typer.Option(
            "--set", help="A value of the row: NAME=VALUE; a shell remembers it, --row does not.", show_default=False
        ),
    ] = None,
    row: Annotated[
        str | None, typer.Option("--row", help="A JSON file with the row as an object; - for standard input.")
    ] = None,
    campaign: Annotated[
        Path | None, typer.Option("--campaign", help="The campaign file, instead of the collector's.")
    ] = None,
    pin: Annotated[
        str | None, typer.Option("--pin", help="The fingerprint of the only questions to answer.", show_default=False)
    ] = None,
    budget: Annotated[
        float | None,
        typer.Option(help="What all reports of this person may cost.", show_default="one report's epsilon"),
    ] = None,
    memory: Annotated[
        Path | None, typer.Option("--memory", help="Where to remember what was sent.", show_default=False)
    ] = None,
    token: Annotated[
        str | None,
        typer.Option(
            "--token",
            envvar="DISCREET_TOKEN",
            show_envvar=True,
            show_default=False,
            help="What lets the report in; a shell remembers it, a file or the environment does not.",
        ),
    ] = None,
    token_file: Annotated[
        Path | None, typer.Option("--token-file", help="A file with the token on its first line.", show_default=False)
    ] = None,
    tries: Annotated[int, typer.Option("--tries", min=1, help="How often to try.")] = 6,
    as_json: options.Json = False,
) -> None:
    """Randomise one person's row here and send the report; called again, the same report is sent again."""
    from discreet.local.campaign import Campaign
    from discreet.local.client import LocalClient
    from discreet.local.post import check_token, fetch, folder
    from discreet.local.receipt import receipt

    where = folder(address)
    if token and token_file is not None:
        raise DiscreetError("give one token: by --token or DISCREET_TOKEN, or by --token-file")
    token = token if token_file is None else _token(token_file)
    if token:
        check_token(token)
    plan = (
        Campaign.load(campaign) if campaign else Campaign.read(fetch(address, "campaign.json"), f"{where}campaign.json")
    )
    kept = "auto" if memory is None else memory
    client = LocalClient(plan, budget=budget, memory=kept, pin=pin)
    before = bool(client.last_report)
    if before:
        if given or row:
            note("note: the report about this campaign was made before: that one is sent again, whatever the row says")
        said = client.post(address, token=token, tries=tries)
    else:
        values = _row(plan.schema, given or [], row)
        for sentence in client.placeless(values):
            note(f"note: {sentence}: reported as if drawn evenly")
        said = client.send(values, address, token=token, tries=tries)
    shown = receipt(plan, client.last_report)
    if as_json:
        print_json(
            {"collector": where, "again": before, **shown.to_dict(), "answer": said, "spent": float(client.spent)}
        )
        return
    for part in shown.parts:
        console().print(f"question drawn: {part.about} (by {part.mechanism})", markup=False)
        console().print(f"randomised answer: {part.words}", markup=False)
    console().print(f"sent to {where}: {len(shown.hex) // 2} bytes, epsilon = {shown.epsilon:g}", markup=False)
    for name, code in (("hexadecimal", shown.hex), ("base64", shown.base64)):
        console().print(f"{name}: {code}", markup=False, soft_wrap=True)
    console().print("the collector counted it" if said.get("accepted") else "the collector had counted it before")


def _token(file: Path) -> str:
    """The first line of a file."""
    try:
        found = file.read_bytes().split(b"\n")[0].strip().decode("utf-8", "replace")
    except OSError as error:
        raise DataError(f"cannot read the token in {file}: {error.strerror or error}") from None
    if not found:
        raise DataError(f"there is no token on the first line of {file}")
    return found


def _row(schema: Schema, given: list[str], row: str | None) -> dict[str, Any]:
    """The row that flags or a file name; flags go before the file."""
    from discreet.files import parse_json
    from discreet.schema import Numeric

    values: Any = {}
    if row is not None:
        try:
            values = parse_json(sys.stdin.buffer.read() if row == "-" else Path(row).read_bytes())
        except OSError as error:
            raise DataError(f"cannot read the row {row}: {error.strerror or error}") from None
        except ValueError as error:
            raise DataError(f"{row} is no JSON: {error}") from None
        if not isinstance(values, dict):
            raise DataError('a row is one JSON object with a value for each column, such as {"age": 34}')
    elif not given:
        raise DiscreetError("there is no row to report about: give its values by --row FILE, or --set NAME=VALUE")
    known = [*schema.names, schema.target]
    for name in set(values) - {*known}:
        note(f"note: the campaign does not ask for {name!r}")
    numbers = {one.name for one in schema.features if isinstance(one, Numeric)}
    for one in given:
        name, equals, text = one.partition("=")
        if not equals:
            raise DiscreetError(f"{one!r} is no value of a row: write NAME=VALUE")
        if name not in known:
            raise DataError(f"the campaign does not ask for {name!r}: it asks for {', '.join(known)}")
        values[name] = _number(text) if name in numbers else text or None
    return dict(values)


def _number(text: str) -> Any:
    """A number that a flag writes, None for an empty one, and the text itself where it is none."""
    try:
        return float(text) if text else None
    except ValueError:
        return text
