"""discreet evaluate: how good a released model is on labelled rows, privately or not."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from discreet.cli import options
from discreet.cli.common import check_out, located
from discreet.cli.paying import charged, spent
from discreet.cli.terminal import console, note, print_json, progress, table
from discreet.errors import BudgetError

if TYPE_CHECKING:
    from discreet.privacy.measured import Figure, PrivateEvaluation


SETTINGS = options.some("adjacency", "contributions", "unexpected")


@options.grouped(settings=SETTINGS, paying=options.RESUMING)
def command(
    model: options.Model,
    data: Annotated[
        str,
        typer.Argument(help="Labelled rows that were not used for training: a file, or an address with --table."),
    ],
    settings: dict[str, Any],
    paying: dict[str, Any],
    baseline: Annotated[
        str | None,
        typer.Option(help="Training rows: also fit the non-private baseline on them and show it beside."),
    ] = None,
    twin: Annotated[str | None, typer.Option(hidden=True)] = None,  # its name in version 0.1
    epsilon: Annotated[
        float | None,
        typer.Option(help="Measure privately for this budget; without it the figures are exact and not private."),
    ] = None,
    confidence: Annotated[float, typer.Option(help="Of the intervals of a private evaluation.")] = 0.95,
    seed: Annotated[
        int | None, typer.Option(help="Make a private evaluation a reproducible simulation, not for release.")
    ] = None,
    out: Annotated[Path | None, typer.Option("--out", "-o", help="Also write the figures as JSON.")] = None,
    as_json: options.Json = False,
    at: options.Table = None,
) -> None:
    """Measure a released model on labelled rows: exactly, or with --epsilon on rows that are private."""
    import json

    from discreet.cli.terminal import clean
    from discreet.evaluation.exact import evaluate, majority
    from discreet.files import write_text
    from discreet.models import load

    rows = located(data, at)
    baseline = twin if baseline is None else baseline
    check_out(out, rows, model, baseline, paying["account"])
    loaded = load(model)
    if epsilon is not None:
        if baseline is not None:
            raise BudgetError("--baseline shows exact figures: leave it out of a private evaluation")
        settings |= {"epsilon": epsilon, "confidence": confidence, "random_state": seed}
        _privately(loaded, rows, out, as_json, paying, settings)
        return
    if paying["account"] is not None:
        raise BudgetError("exact figures are not private and no account can pay for them: pass --epsilon as well")
    with progress("evaluating", quiet=as_json) as report:
        policy = settings["unexpected"]
        result = {"private": False, **evaluate(loaded, rows, progress=report, unexpected=policy)}
        result["majority"] = majority(loaded, result)
        if baseline is not None:
            bare = loaded.baseline(baseline, progress=report)
            result["non_private"] = evaluate(bare, rows, progress=report, unexpected=policy)
    if out is not None:
        write_text(out, json.dumps(clean(result), indent=2) + "\n", private=True)
    note(
        "note: these figures are exact and NOT private: they disclose the evaluation rows, and no certificate covers "
        "them; for rows that are private use --epsilon"
    )
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


def _privately(
    loaded: Any, data: Any, out: Path | None, as_json: bool, paying: dict[str, Any], settings: dict[str, Any]
) -> None:
    """Release the figures of private rows, print them and write them with their certificate."""
    from discreet.evaluation import evaluate_privately

    what, policy = "discreet evaluate", settings["unexpected"]
    with charged(data, loaded.schema, paying, what, policy, quiet=as_json, doing="evaluating") as job:
        found = evaluate_privately(loaded, data, **job, **settings)
        if out is not None:
            found.save(out)
    if as_json:
        print_json(found.to_dict())
        return
    certificate = found.certificate
    assert certificate is not None
    show_private(found, str(loaded.schema.target))
    screen = console()
    if certificate.simulation:
        note("warning: a seed was given, so the noise can be repeated: these figures are for study, not for release")
    screen.print(f"measured with {spent(certificate)} ({certificate.adjacency} neighbours)")
    if out is not None:
        screen.print(f"wrote {out}")


def span(low: float, high: float) -> str:
    """An interval of shares."""
    return f"{low:.4f} - {high:.4f}"


def headline(found: PrivateEvaluation) -> Any:
    """A table of the main figures and their intervals."""
    rows = [
        [name, f"{one.value:.4f}", span(one.low, one.high), span(one.noise_low, one.noise_high)]
        for name, one in found.lines()
    ]
    sure = f"{found.confidence:.4g}".removeprefix("0")
    heads = ["", "estimate", f"{sure} interval", "noise alone"]
    return table(f"{_about(found.rows)} rows, counted with noise", heads, rows)


def show_private(found: PrivateEvaluation, target: str) -> None:
    """Print private figures for a person."""
    screen = console()
    screen.print(headline(found))
    counts = [[name, *(_about(cell) for cell in row)] for name, row in zip(found.classes, found.confusion, strict=True)]
    screen.print()
    screen.print(table(f"{target}: true class by row, predicted by column", ["", *found.classes], counts))
    for curve in found.calibration:
        bins = [
            [_score(one.above, "-"), _score(one.upto, "+"), _about(one.rows), f"{one.share.value:.3f}",
             span(one.share.low, one.share.high)]
            for one in curve.bins
            if one.share.high - one.share.low < 0.5  # of other bins the noise leaves nothing to see
        ]  # fmt: skip
        if bins:
            screen.print()
            heads = [f"{curve.score} above", "up to", "rows", "share", "interval"]
            screen.print(table(f"calibration: share of {curve.of} among rows by score", heads, bins, left=0))


def _about(figure: Figure) -> str:
    return f"{round(figure.value)} ± {round((figure.noise_high - figure.noise_low) / 2)}"


def _score(end: float | None, sign: str) -> str:
    return f"{sign}∞" if end is None else f"{end:.4g}"
