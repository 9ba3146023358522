"""discreet plan: how a budget would be spent, before any data are read."""

from __future__ import annotations

import math
from typing import Annotated, Any

import typer

from discreet.cli import options
from discreet.cli.common import estimator, load_schema
from discreet.cli.paying import odds
from discreet.cli.terminal import console, print_json, progress, table


@options.grouped(settings=options.SETTINGS)
def command(
    settings: dict[str, Any],
    schema: options.Schema = None,
    rows: Annotated[
        int | None,
        typer.Option(
            min=1,
            help="Assumed rows: also show the error of each table, what an attacker may learn, and the accuracy to "
            "expect, from rows made up after the schema.",
            show_default=False,
        ),
    ] = None,
    as_json: options.Json = False,
) -> None:
    """Show how a budget would be spent, and what epsilon means. No data are read and nothing is charged."""
    public = load_schema(schema, unsettled=True)
    classifier = estimator(settings, public)
    plan = classifier.plan()
    bought = classifier.settlement() if hasattr(classifier, "settlement") else None
    chosen = plan.choices(*(() if rows is None else ((rows,),))) if hasattr(plan, "choices") else []
    expected = None if rows is None else expect(classifier, plan, public, rows, quiet=as_json)
    if as_json:
        more = ({} if bought is None else {"settlement": bought.to_dict()}) | ({} if rows is None else {"rows": rows})
        more |= {} if not chosen else {"choices": [{"rows": size, **vars(choice)} for size, choice in chosen]}
        print_json({**described(plan), **more, **({} if expected is None else {"expected": expected})})
        return
    if bought is not None:
        show_settlement(bought)
    show(plan)
    if chosen and plan.model == "auto":
        told = [[f"{size:,}", choice.model, choice.reason] for size, choice in chosen]
        title = "\nwhat would be chosen, if all classes were alike"
        console().print(table(title, ["rows", "model", "why"], told, left=3))
    if expected is None or rows is None:
        console().print(odds(plan.budget))
    else:
        show_expected(expected, rows, settings["epsilon"])


def expect(classifier: Any, plan: Any, schema: Any, rows: int, *, quiet: bool) -> dict[str, Any]:
    """What to expect of a plan if there are so many rows: errors, odds and accuracies, from public knowledge alone."""
    from discreet.bayes.plan import Plan
    from discreet.simulation import curve
    from discreet.simulation import odds as chances

    each = rows / len(schema.classes)
    tables = []
    for row in plan.rows() if isinstance(plan, Plan) else ():
        cell = each / max(row["cells"] / len(schema.classes), 1)
        tables.append(
            {"statistic": row["statistic"], "noise": row["noise"], "rows": cell, "error": row["noise"] / cell}
        )
    with progress("fitting to made-up rows", quiet=quiet):
        accuracy = None if schema.unsettled else curve(classifier, schema, rows)
    return {"tables": tables, "odds": chances(float(classifier.epsilon)), "accuracy": accuracy}


def show_expected(expected: dict[str, Any], rows: int, epsilon: float) -> None:
    """Print what to expect, for a person."""
    screen = console()
    lines = [
        [one["statistic"], f"{one['rows']:.0f}", _noise(one["noise"]), f"{one['error']:.1%}"]
        for one in expected["tables"]
        if not math.isnan(one["noise"])
    ]
    if lines:
        screen.print(
            table(f"\nif there are {rows} rows", ["statistic", "rows in a usual cell", "noise sd", "error"], lines)
        )
    if math.isinf(epsilon):
        screen.print("\nwithout privacy an attacker may learn all there is to know")
    else:
        times = f"{math.exp(epsilon):.3g}" if epsilon < 20 else "more than a hundred million"
        screen.print(
            f"\nwhat an attacker may learn of a person: the odds of any guess change by a factor of {times} at most"
        )
        lines = [[f"{one['before']:.0%}", f"{one['after']:.1%}"] for one in expected["odds"]]
        screen.print(table("", ["sure of a guess before", "and afterwards, at most"], lines, left=0))
    if expected["accuracy"] is None:
        screen.print("\nno accuracies: rows can be made up only once the bounds are settled")
        return
    lines = [[f"{one['epsilon']:g}", f"{one['accuracy']:.3f}"] for one in expected["accuracy"]]
    heads = ["epsilon", "accuracy"]
    screen.print(
        table(
            "\naccuracy on rows made up after the schema, not on yours: how it falls with epsilon", heads, lines, left=0
        )
    )


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


def show(plan: Any) -> None:
    """Print a plan for a person."""
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
    rows = [[row["statistic"], str(row["cells"]), f"{row['share']:.1%}", _noise(row["noise"])] for row in plan.rows()]
    title = f"{plan.budget}, {plan.adjacency} neighbours, {plan.mechanism} noise"
    console().print(table(title, ["statistic", "cells", "share", "noise sd"], rows))
    console().print(f"accounting: {plan.accounting}")


def show_steps(plan: Any) -> None:
    """Print a plan whose later steps follow from the number of rows, for a person."""
    rows = [[row["step"], f"{row['share']:.1%}", _cost(row["cost"]), row["mechanism"]] for row in plan.rows()]
    title = f"{plan.budget}, {plan.adjacency} neighbours, model {plan.model}"
    console().print(table(title, ["step", "share", "epsilon", "noise"], rows))


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
