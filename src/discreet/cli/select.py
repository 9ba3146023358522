"""discreet select: choose the features that are worth their budget, and write the reduced schema."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from discreet.cli import options
from discreet.cli.common import check_out, load_schema, located, warn_inferred
from discreet.cli.paying import charged
from discreet.cli.terminal import console, note, print_json

Score = options.one_of("hits", "balanced", "count", "mutual-information", help="What makes a feature good.")
Selector = options.one_of(
    "permute-and-flip", "gumbel", "mask", "joint", "sparse-vector", "noisy-scores", "noisy-tables",
    help="The mechanism.",
)  # fmt: skip


@options.grouped(paying=options.RESUMING)
def command(
    data: options.Data,
    paying: dict[str, Any],
    schema: options.Schema = None,
    table: options.Table = None,
    k: Annotated[
        int | None, typer.Option("--k", "-k", help="How many features to keep.", show_default="10, or half of them")
    ] = None,
    epsilon: Annotated[float, typer.Option(help="The privacy budget of the choice; inf for no privacy.")] = 1.0,
    delta: options.Delta = 0.0,
    score: Annotated[str, Score] = "hits",
    selector: Annotated[str, Selector] = "permute-and-flip",
    adjacency: options.Adjacency = "add-remove",
    contributions: options.Contributions = 1,
    max_rows: Annotated[
        int | None, typer.Option(help="A public bound on the number of rows, for mutual information.")
    ] = None,
    threshold: Annotated[
        int | None, typer.Option(help="The score a feature must reach, for the sparse vector technique.")
    ] = None,
    unexpected: options.Unexpected = "refuse",
    out: Annotated[Path, typer.Option("--out", "-o", help="Where to write the reduced schema (TOML or JSON).")] = Path(
        "selected.toml"
    ),
    certificate: Annotated[
        Path | None, typer.Option("--certificate", help="Where to write the certificate of the choice (JSON).")
    ] = None,
    seed: options.Seed = None,
    as_json: options.Json = False,
) -> None:
    """Choose features privately, print them, and write the reduced schema that the other commands take."""
    rows = located(data, table)
    public = load_schema(schema)
    check_out(out, rows, schema, paying["account"])
    check_out(certificate, rows, schema, paying["account"])
    k = min(10, max(len(public.features) // 2, 1)) if k is None else k
    from discreet.files import write_text
    from discreet.selection import PrivateSelectKBest

    chooser = PrivateSelectKBest(
        k, epsilon, public, score, selector, adjacency, contributions, max_rows, threshold, seed,
        unexpected, delta,
    )  # fmt: skip
    with charged(rows, public, paying, "discreet select", unexpected, quiet=as_json) as job:
        chooser.fit(rows, **job)
        found = chooser.certificate_
        chooser.schema_.save(out, comment=f"{k} of {len(public.features)} features, chosen by 'discreet select'")
        if certificate is not None:
            write_text(certificate, found.model_dump_json(indent=2) + "\n")
    if as_json:
        spent = found.model_dump(mode="json")
        print_json({"features": list(chooser.names_), "schema": str(out), "certificate": spent})
        return
    for name in chooser.names_:
        console().print(name)
    if found.simulation:
        note("warning: a seed was given, so the choice can be repeated: it is for study, not for release")
    if not found.private:
        note("warning: the features were chosen without privacy")
    warn_inferred(public)
    note(f"chosen with {chooser.plan().budget} ({found.adjacency} neighbours); training on them costs extra")
    note(f"wrote {out}: try 'discreet fit DATA --schema {out} --epsilon {epsilon:g} --out model.json'")
