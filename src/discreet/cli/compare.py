"""discreet compare: accuracy against ε for every kind of model, on rows that need no protection from it."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Annotated, Any

import typer

from discreet.cli import options
from discreet.cli.common import check_out, load_schema, located
from discreet.cli.terminal import console, note, print_json, progress, table
from discreet.errors import BudgetError, DiscreetError
from discreet.kinds import find, names

PUBLIC = "the rows were said to be public: these figures are exact statistics of them, and no guarantee covers them"
SPENT = (
    "the rows were given up for this comparison: these figures are exact statistics of them, which no budget pays for; "
    "do not choose a model for these same people by them, use PrivateGridSearch"
)


def command(
    data: options.Data,
    schema: options.Schema = None,
    at: options.Table = None,
    epsilons: Annotated[str, typer.Option(help="Budgets, separated by commas.")] = "0.1,1",
    delta: options.Delta = 0.0,
    models: Annotated[str, typer.Option(help=f"Some of {', '.join(names())}.")] = ",".join(names(usual=True)),
    public: Annotated[bool, typer.Option("--public", help="I say that these rows are public.")] = False,
    spend: Annotated[bool, typer.Option("--spend", help="I accept that these rows lose their protection.")] = False,
    repeats: Annotated[int, typer.Option(min=1, help="Random splits into training and test rows.")] = 3,
    test_share: Annotated[float, typer.Option(help="The part of the rows to test on.")] = 0.3,
    unexpected: options.Unexpected = "refuse",
    seed: Annotated[int, typer.Option(min=0, help="The root of splits and of simulated noise.")] = 0,
    plot: Annotated[Path | None, typer.Option(help="Also draw the figures (.png or .svg).")] = None,
    as_json: options.Json = False,
) -> None:
    """Compare all kinds of models at several epsilons on rows that are public, or that you give up for it."""
    from discreet.tuning.compare import compare_models

    if public == spend:
        raise DiscreetError(
            "a comparison prints exact figures of the rows: say --public if they are public, or --spend if they may be "
            "given up for it"
        )
    asked = [name.strip() for name in models.split(",") if name.strip()]
    try:
        levels = [float(level) for level in epsilons.split(",")]
    except ValueError:
        raise BudgetError(f"--epsilons needs numbers separated by commas, not {epsilons!r}") from None
    if not asked:
        raise BudgetError(f"--models names no model: choose some of {', '.join(names())}")
    rows = located(data, at)
    check_out(plot, rows, schema)
    if plot is not None:
        _check_plot(plot)
    declared = load_schema(schema)
    with progress("comparing", quiet=as_json) as report:
        figures = compare_models(
            rows, declared, models=asked, epsilons=levels, repeats=repeats, test_share=test_share, seed=seed,
            progress=report, delta=delta, unexpected=unexpected,
        )  # fmt: skip
    if plot is not None:
        _draw(figures, plot)
    warning = PUBLIC if public else SPENT
    if as_json:
        shown = [{**vars(one), "epsilon": one.epsilon if math.isfinite(one.epsilon) else "inf"} for one in figures]
        print_json(
            {"warning": warning, "simulation": True, "figures": shown, "plot": None if plot is None else str(plot)}
        )
        return
    note(f"note: {warning}")
    _show(figures)
    if plot is not None:
        console().print(f"wrote {plot}")


def _show(figures: Any) -> None:
    from discreet.tuning.compare import MAJORITY

    by = {(one.model, one.epsilon): one for one in figures}
    levels = sorted({one.epsilon for one in figures if one.model != MAJORITY})
    rows = []
    for name in dict.fromkeys(one.model for one in figures if one.model != MAJORITY):
        cells = [by[name, level] for level in levels]
        rows.append([find(name).words, *(_words(one) for one in cells)])
    common = by[MAJORITY, math.inf]
    rows.append(["majority class", *([""] * (len(levels) - 1)), _words(common)])
    heads = ["accuracy", *("without privacy" if level == math.inf else f"epsilon = {level:g}" for level in levels)]
    console().print(table(f"{common.repeats} random splits, noise simulated", heads, rows))


def _words(one: Any) -> str:
    return f"{one.accuracy:.4f}" + (f" ± {one.error:.4f}" if math.isfinite(one.error) else "")


def _check_plot(plot: Path) -> None:
    from discreet_studies.figures import require_matplotlib

    if plot.suffix.lower() not in {".png", ".svg"}:
        raise DiscreetError(f"--plot draws .png or .svg, not {plot.name!r}")
    require_matplotlib()


def _draw(figures: Any, plot: Path) -> None:
    from discreet.files import replacing
    from discreet.tuning.compare import MAJORITY
    from discreet_studies.figures import Line, add_legend, axes_of, draw_lines
    from discreet_studies.results import Estimate

    lines = []
    for name in dict.fromkeys(one.model for one in figures if one.model != MAJORITY):
        points = [
            (one.epsilon, Estimate(one.accuracy, one.error, one.repeats))
            for one in sorted(figures, key=lambda one: one.epsilon)
            if one.model == name and math.isfinite(one.epsilon)
        ]
        lines.append(Line(find(name).words, points))
    chart, axes = axes_of("accuracy against epsilon", "ε", "accuracy")
    draw_lines(axes, lines)
    common = next(one for one in figures if one.model == MAJORITY)
    axes.axhline(common.accuracy, color="#555555", linewidth=1, linestyle=":", label="majority class")
    axes.set_xscale("log")
    add_legend(chart, axes)
    with replacing(plot) as temporary:
        chart.savefig(temporary, format=plot.suffix[1:].lower(), dpi=150)
