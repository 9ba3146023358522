"""discreet bounds: private bounds and bins for numbers that a schema leaves open."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from discreet.cli import options
from discreet.cli.common import check_out, load_schema, located
from discreet.cli.paying import charged, spent
from discreet.cli.terminal import console, note, print_json
from discreet.cli.terminal import table as shown
from discreet.errors import DiscreetError

SETTINGS = options.some("bounds", "edges", "adjacency", "contributions", "unexpected")


@options.grouped(settings=SETTINGS, paying=options.RESUMING)
def command(
    data: options.Data,
    epsilon: Annotated[float, typer.Option(help="The privacy budget of the bounds and bins; inf for no privacy.")],
    out: Annotated[Path, typer.Option("--out", "-o", help="Where to write the schema with bounds.")],
    settings: dict[str, Any],
    paying: dict[str, Any],
    delta: options.Delta = 0.0,
    schema: options.Schema = None,
    table: options.Table = None,
    seed: options.Seed = None,
    as_json: options.Json = False,
    certificate: Annotated[
        Path | None,
        typer.Option(
            help="Where to write the certificate of what it cost; NAME.certificate.json beside --out if unset."
        ),
    ] = None,
) -> None:
    """Find the bounds and bins that a schema leaves open, privately, and write a schema that any command takes."""
    from discreet.bounds import private_bounds
    from discreet.files import write_text

    private = located(data, table)
    public = load_schema(schema, unsettled=True)
    check_out(out, private, schema, paying["account"])
    record = out.with_suffix(".certificate.json") if certificate is None else certificate
    check_out(record, private, schema, paying["account"])
    if record.absolute() == out.absolute():
        raise DiscreetError("the schema and its certificate need files of their own: choose another --certificate")
    policy = settings["unexpected"]
    with charged(private, public, paying, "discreet bounds", policy, quiet=as_json, labelled=False) as job:
        found = private_bounds(public, private, epsilon, delta=delta, random_state=seed, **settings, **job)
        write_text(record, found.certificate.model_dump_json(indent=2) + "\n")  # what was spent must not be forgotten
        cost = f"The bounds and bins of {', '.join(found.plan.bounds)} cost {spent(found.certificate)}."
        found.schema.save(out, comment=cost + "\nA guarantee for what is made with this schema must count that too.")
    if as_json:
        print_json({"schema": found.schema.to_dict(), "certificate": found.certificate.model_dump(mode="json")})
        return
    if not found.certificate.private:
        note("warning: the bounds were found without privacy: this schema is for study, not for release")
    if found.certificate.simulation:
        note("warning: a seed was given, so the noise can be repeated: this schema is for study, not for release")
    rows = [
        [one.name, f"{one.lower:g}", f"{one.upper:g}", str(len(one.cuts) + 1)]
        for one in found.schema.numeric
        if one.name in found.plan.bounds
    ]
    console().print(shown(f"private bounds, at {spent(found.certificate)}", ["number", "lower", "upper", "bins"], rows))
    console().print(f"wrote {record}: what the bounds and bins cost, which counts beside every use of {out}")
    console().print(f"wrote {out}: try 'discreet plan --schema {out} --epsilon 1'")
