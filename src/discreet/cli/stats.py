"""discreet stats: count rows exactly into a private file, and add up or take away such files."""

from __future__ import annotations

from functools import reduce
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from discreet.cli import options
from discreet.cli.common import check_data, check_out, load_schema, located
from discreet.cli.paying import absorbing, reading
from discreet.cli.terminal import console, print_json, progress
from discreet.errors import StatisticsError

if TYPE_CHECKING:
    from discreet.sources import CountedRows

SETTINGS = options.some("contributions", "unexpected")
WORDS = ("merge", "subtract")


@options.grouped(settings=SETTINGS)
def command(
    what: Annotated[
        list[str],
        typer.Argument(metavar="DATA | merge A B… | subtract A B", help="Rows to count, or files of counts."),
    ],
    out: Annotated[Path, typer.Option("--out", "-o", help="Where to write the counts; they are as private as rows.")],
    settings: dict[str, Any],
    schema: options.Schema = None,
    table: options.Table = None,
    lattice: Annotated[
        bool, typer.Option("--lattice", help="Count every point of numbers too, for smooth bounds.")
    ] = False,
    disjoint: Annotated[
        bool, typer.Option("--disjoint", help="Nobody has rows in two of the merged files: limits do not add up.")
    ] = False,
    as_json: options.Json = False,
) -> None:
    """Count rows exactly, for 'fit --statistics' to train on: into a file that is as private as the rows."""
    rows = None if what[0] in WORDS else located(what[0], table)
    check_out(out, *(what[1:] if rows is None else (rows,)), schema)
    if out.suffix != ".stats":
        raise StatisticsError(f"counts of rows are known by their name: let --out end in .stats, not {out.name}")
    if what[0] in WORDS:
        found = _combined(what[0], [Path(one) for one in what[1:]], disjoint)
    else:
        found = _counted(what, rows, load_schema(schema), lattice, settings, as_json)
    found.save(out)
    if as_json:
        print_json({"statistics": str(out), "schema": found.statistics.schema.hash, "raw": True})
        return
    console().print(f"wrote {out}: exact counts of private rows, for their holder alone")
    console().print(f"try 'discreet fit --statistics {out} --schema FILE --epsilon 1 --out model.json'")


def _counted(
    what: list[str], rows: Any, schema: Any, lattice: bool, settings: dict[str, Any], quiet: bool
) -> CountedRows:  # fmt: skip
    from discreet.sources import CountedRows
    from discreet.statistics import DETAILS

    if len(what) > 1:
        raise StatisticsError("count one source at a time and merge what it gives: discreet stats merge A B --out FILE")
    check_data(rows, schema)
    with absorbing(settings["unexpected"]), progress(reading(rows), quiet=quiet) as report:
        return CountedRows.of(rows, schema, detail=DETAILS if lattice else DETAILS[:2], progress=report, **settings)


def _combined(word: str, files: list[Path], disjoint: bool) -> CountedRows:
    from discreet.sources import CountedRows

    if len(files) < 2 or (word == "subtract" and len(files) > 2):
        raise StatisticsError(f"{word} takes {'two files' if word == 'subtract' else 'two files or more'} of counts")
    parts = [CountedRows.load(one) for one in files]
    if word == "subtract":
        return parts[0].without(parts[1])
    return reduce(lambda left, right: left.merged(right, apart=disjoint), parts)
