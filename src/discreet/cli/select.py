"""discreet select: choose the features that are worth their budget, and write the reduced schema."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from discreet.cli.common import (
    AccountOption,
    AdjacencyName,
    AdjacencyOption,
    ContributionsOption,
    JsonOption,
    NoAccountOption,
    SchemaOption,
    UnexpectedName,
    UnexpectedOption,
    absorbing,
    account_for,
    check_data,
    check_out,
    console,
    load_schema,
    note,
    print_json,
    progress,
    tell_room,
)
from discreet.errors import DiscreetError


class ScoreName(StrEnum):
    """What makes a feature good."""

    hits = "hits"
    balanced = "balanced"
    spread = "count"
    information = "mutual-information"


class SelectorName(StrEnum):
    """The mechanism that chooses."""

    permute_and_flip = "permute-and-flip"
    gumbel = "gumbel"
    mask = "mask"
    joint = "joint"
    sparse_vector = "sparse-vector"
    noisy_scores = "noisy-scores"
    noisy_tables = "noisy-tables"


def command(
    data: Annotated[str, typer.Argument(help="A CSV, Parquet or Arrow file, or a pattern such as 'part-*.parquet'.")],
    schema: SchemaOption = None,
    k: Annotated[int, typer.Option("--k", "-k", help="How many features to keep.")] = 10,
    epsilon: Annotated[float, typer.Option(help="The privacy budget of the choice; inf for no privacy.")] = 1.0,
    score: Annotated[ScoreName, typer.Option(help="What makes a feature good.")] = ScoreName.hits,
    selector: Annotated[SelectorName, typer.Option(help="The mechanism.")] = SelectorName.permute_and_flip,
    adjacency: AdjacencyOption = AdjacencyName.add_remove,
    contributions: ContributionsOption = 1,
    max_rows: Annotated[
        int | None, typer.Option(help="A public bound on the number of rows, for mutual information.")
    ] = None,
    threshold: Annotated[
        int | None, typer.Option(help="The score a feature must reach, for the sparse vector technique.")
    ] = None,
    unexpected: UnexpectedOption = UnexpectedName.refuse,
    out: Annotated[Path, typer.Option("--out", "-o", help="Where to write the reduced schema (TOML or JSON).")] = Path(
        "selected.toml"
    ),
    certificate: Annotated[
        Path | None, typer.Option("--certificate", help="Where to write the certificate of the choice (JSON).")
    ] = None,
    seed: Annotated[
        int | None, typer.Option(help="Make it a reproducible simulation, which is not for release.")
    ] = None,
    account: AccountOption = None,
    no_account: NoAccountOption = False,
    as_json: JsonOption = False,
) -> None:
    """Choose features privately, print them, and write the reduced schema that the other commands take."""
    public = load_schema(schema)
    check_out(out)
    if schema is not None and out.exists() and out.samefile(schema):
        raise DiscreetError(f"{out} is the schema that is chosen from: choose another --out")
    check_out(certificate)
    from discreet.files import write_text
    from discreet.selection import PrivateSelectKBest

    chooser = PrivateSelectKBest(
        k, epsilon, public, score.value, selector.value, adjacency.value, contributions, max_rows, threshold, seed,
        unexpected.value,
    )  # fmt: skip
    check_data(data, public)
    paid = account_for(data, account, no_account, what="discreet select")
    with absorbing(unexpected), progress("reading rows", quiet=as_json) as report:
        chooser.fit(data, progress=report, account=paid)
    found = chooser.certificate_
    chooser.schema_.save(out, comment=f"{k} of {len(public.features)} features, chosen by 'discreet select'")
    if certificate is not None:
        write_text(certificate, found.model_dump_json(indent=2) + "\n")
    tell_room(paid)
    if as_json:
        print_json(
            {
                "features": list(chooser.names_),
                "schema": str(out),
                "certificate": found.model_dump(mode="json"),
            }
        )
        return
    for name in chooser.names_:
        console().print(name)
    if found.simulation:
        note("warning: a seed was given, so the choice can be repeated: it is for study, not for release")
    if not found.private:
        note("warning: the features were chosen without privacy")
    if public.inferred:
        note(
            "warning: the schema was read off the data (an unedited draft, or bounds settled without privacy), and the "
            "certificate says that the data's ranges were disclosed"
        )
    note(f"chosen with {chooser.plan().budget} ({found.adjacency} neighbours); training on them costs extra")
    note(f"wrote {out}: try 'discreet fit DATA --schema {out} --epsilon {epsilon:g} --out model.json'")
