"""discreet evaluate: how good a released model is on labelled rows."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from discreet.cli.common import JsonOption, check_out, console, note, print_json, progress, table


def command(
    model: Annotated[Path, typer.Argument(help="A model file.")],
    data: Annotated[str, typer.Argument(help="A labelled CSV, Parquet or Arrow file that was not used for training.")],
    twin: Annotated[
        str | None,
        typer.Option(help="Training rows: also fit the non-private twin on them and show it beside."),
    ] = None,
    out: Annotated[Path | None, typer.Option("--out", "-o", help="Also write the figures as JSON.")] = None,
    as_json: JsonOption = False,
) -> None:
    """Measure a released model on labelled rows, beside the majority class."""
    import json

    from discreet.bayes.evaluation import evaluate, majority
    from discreet.cli.common import clean
    from discreet.files import write_text
    from discreet.models import load_model

    check_out(out)
    loaded = load_model(model)
    with progress("evaluating", quiet=as_json) as report:
        result = evaluate(loaded, data, progress=report)
        result["majority"] = majority(loaded, result)
        if twin is not None:
            result["non_private"] = evaluate(loaded.twin(twin, progress=report), data, progress=report)
    if out is not None:
        write_text(out, json.dumps(clean(result), indent=2) + "\n", private=True)
    if as_json:
        print_json(result)
        return
    show(result, str(loaded.schema.target))


def show(result: dict[str, Any], target: str) -> None:
    """Print figures for a person."""

    def line(name: str, figures: dict[str, Any]) -> list[str]:
        keys = ("accuracy", "balanced_accuracy", "auc")
        return [name, *("-" if figures.get(key) is None else f"{figures[key]:.4f}" for key in keys)]

    rows = [line("this model", result), line("majority class", result["majority"])]
    if "non_private" in result:
        rows.append(line("without privacy", result["non_private"]))
    screen = console()
    screen.print(table(f"{result['n']} rows", ["", "accuracy", "balanced", "AUC"], rows))
    labels = result["classes"]
    counts = [[label, *(str(n) for n in row)] for label, row in zip(labels, result["confusion"], strict=True)]
    screen.print()
    screen.print(table(f"{target}: true class by row, predicted by column", ["", *labels], counts))
    note("note: these figures are exact statistics of the evaluation rows; the certificate does not cover them")
