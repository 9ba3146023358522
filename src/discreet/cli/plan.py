"""discreet plan: how a budget would be spent, before any data are read."""

from __future__ import annotations

import math
from typing import Annotated, Any

import typer

from discreet.cli import options
from discreet.cli.common import console, estimator, load_schema, odds, print_json, table


@options.grouped(settings=options.SETTINGS)
def command(
    settings: dict[str, Any],
    schema: options.Schema = None,
    rows: Annotated[
        int | None,
        typer.Option(min=1, help="A number of rows to assume: noise is shown beside it.", show_default=False),
    ] = None,
    as_json: options.Json = False,
) -> None:
    """Show how a budget would be spent, and what epsilon means. No data are read and nothing is charged."""
    classifier = estimator(settings, load_schema(schema, unsettled=True))
    plan = classifier.plan()
    bought = classifier.settlement() if hasattr(classifier, "settlement") else None
    chosen = plan.choices(*(() if rows is None else ((rows,),))) if hasattr(plan, "choices") else []
    if as_json:
        more = {} if bought is None else {"settlement": bought.to_dict()}
        more |= {} if not chosen else {"choices": [{"rows": size, **vars(choice)} for size, choice in chosen]}
        print_json({**described(plan), **more})
        return
    if bought is not None:
        show_settlement(bought)
    show(plan, rows)
    if chosen and plan.model == "auto":
        told = [[f"{size:,}", choice.model, choice.reason] for size, choice in chosen]
        console().print("")
        console().print(
            table("what would be chosen, if all classes were alike", ["rows", "model", "why"], told, left=3)
        )
    console().print(odds(plan.budget))


def described(plan: Any) -> dict[str, Any]:
    """A plan as plain values: as it tells them itself, or its ledger."""
    from discreet.privacy.certificate import record

    if hasattr(plan, "to_dict"):
        found: dict[str, Any] = plan.to_dict()
        return found
    epsilon, delta = plan.budget.epsilon, plan.budget.delta
    return {
        "adjacency": str(plan.adjacency),
        "epsilon": None if epsilon is None else float(epsilon),
        "delta": float(delta),
        "ledger": record(plan.node).model_dump(mode="json"),
    }


def show(plan: Any, size: int | None = None) -> None:
    """Print a plan for a person; noise beside the rows of a mean cell, if a number of them is assumed."""
    from discreet.auto.classifier import AutoPlan
    from discreet.bayes.plan import Plan
    from discreet.cli.inspect import show_ledger
    from discreet.privacy.certificate import record

    if isinstance(plan, AutoPlan):
        show_steps(plan)
        return
    if not isinstance(plan, Plan):
        console().print(f"{plan.budget}, {plan.adjacency} neighbours")
        show_ledger(record(plan.node))
        return
    rows = [
        [row["statistic"], str(row["cells"]), f"{row['share']:.1%}", _noise(row["noise"])]
        + ([] if size is None else [_beside(row, size)])
        for row in plan.rows()
    ]
    title = f"{plan.budget}, {plan.adjacency} neighbours, {plan.mechanism} noise"
    heads = ["statistic", "cells", "share", "noise sd"] + ([] if size is None else [f"of a mean cell of {size:,} rows"])
    console().print(table(title, heads, rows))
    console().print(f"accounting: {plan.accounting}")


def show_steps(plan: Any) -> None:
    """Print a plan whose later steps follow from the number of rows, for a person."""
    rows = [[row["step"], f"{row['share']:.1%}", _cost(row["cost"]), row["mechanism"]] for row in plan.rows()]
    title = f"{plan.budget}, {plan.adjacency} neighbours, model {plan.model}"
    console().print(table(title, ["step", "share", "epsilon", "noise"], rows))


def _beside(row: Any, rows: int) -> str:
    """The noise of counts as a part of the rows that a mean cell holds; sums are on scales of their own."""
    counts = row["statistic"].startswith("rows ") and math.isfinite(row["noise"])
    return f"{row['noise'] * row['cells'] / rows:.1%}" if counts else ""


def _cost(epsilon: float | None) -> str:
    return "none" if epsilon is None else f"{epsilon:.4g}"


def show_settlement(plan: Any) -> None:
    """Print what bounds and bins cost, for a person."""
    rows = [[row["number"], row["buys"], str(row["octaves"]), str(row["threshold"])] for row in plan.rows()]
    title = f"{plan.budget} for bounds and bins"
    console().print(table(title, ["number", "finds", "octaves", "noise below"], rows, left=2))


def _noise(deviation: float) -> str:
    """The noise of a planned release; under a smooth bound it follows the data and is not known, nor told."""
    return "private" if math.isnan(deviation) else f"{deviation:.4g}"
