"""discreet check: everything in which rows differ from a schema, at once, with an edit for each."""

from __future__ import annotations

from typing import Any

import typer

from discreet.cli import options
from discreet.cli.common import load_schema, located
from discreet.cli.paying import reading
from discreet.cli.terminal import console, note, print_json, progress

PRIVATE = "exact numbers of the private rows, for the holder of the data only: they are not for publication"


def command(
    data: options.Data,
    schema: options.Schema = None,
    contributions: options.Contributions = 1,
    as_json: options.Json = False,
    table: options.Table = None,
) -> None:
    """Compare rows with a schema: every problem at once, with a suggested edit. Exit code 1 if there are any.

    Without a schema it says what each column looks like.
    """
    rows = located(data, table)
    if schema is None:
        _columns(rows, data, as_json)
        return
    from discreet.sources.check import check_rows

    declared = load_schema(schema, unsettled=True)
    with progress(reading(rows), quiet=as_json) as report:
        found = check_rows(rows, declared, contributions=contributions, progress=report)
    if as_json:
        findings = [one.to_dict() for one in found.findings]
        print_json({"rows": found.rows, "problems": len(found.problems), "findings": findings, "private": PRIVATE})
    else:
        note(f"note: {PRIVATE}")
        for one in sorted(found.findings, key=lambda one: not one.problem):
            _show(one)
        count = len(found.problems)
        told = f"{count} problem{'s' if count != 1 else ''}" if count else "no problems"
        console().print(f"{told} in {found.rows} rows and {len(declared.features)} features")
    if found.problems:
        raise typer.Exit(1)


def _show(one: Any) -> None:
    out = console()
    share = f" in {one.rows} rows ({one.share:.2%})" if one.rows else ""
    out.print(f"{'problem' if one.problem else 'note'}: {one.column}: {one.what}{share}")
    if one.values:
        out.print("    " + ", ".join(f"{value!r} {count}×" for value, count in one.values.items()))
    if one.problem or not one.edit.startswith("nothing"):
        out.print(f"    edit: {one.edit}")


def _columns(rows: Any, data: str, as_json: bool) -> None:
    from discreet.sources.draft import look

    found = look(rows)
    features = {one.name: one for one in found.features}
    if as_json:
        listed = [
            {"column": name, "feature": features[name].model_dump(mode="json", exclude_none=True)
             if name in features else None, "left_out": found.left_out.get(name), "seen": seen}
            for name, seen in found.seen.items()
        ]  # fmt: skip
        print_json({"columns": listed, "private": PRIVATE})
        return
    note(f"note: {PRIVATE}")
    out = console()
    for name, seen in found.seen.items():
        kind = f"{features[name].kind}, {features[name].cells} cells" if name in features else "not a feature"
        out.print(f"{name}: {kind}")
        for line in [*([found.left_out[name]] if name in found.left_out else []), *seen]:
            out.print(f"    {line}")
    out.print(f"draft a schema by 'discreet schema {data} --target COLUMN --out schema.toml'")
