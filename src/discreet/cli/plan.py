"""discreet plan: how a budget would be spent, before any data are read."""

from __future__ import annotations

import math
from typing import Any

from discreet.cli.common import (
    AdjacencyName,
    AdjacencyOption,
    BoundsName,
    BoundsOption,
    BoundsShareOption,
    ContributionsOption,
    DeltaOption,
    EdgesOption,
    EpsilonOption,
    EstimatorOption,
    JsonOption,
    MechanismName,
    MechanismOption,
    ModelName,
    ModelOption,
    NumericOption,
    SchemaOption,
    SensitivityName,
    SensitivityOption,
    SplitName,
    SplitOption,
    console,
    estimator,
    load_schema,
    print_json,
    table,
)


def command(
    schema: SchemaOption = None,
    model: ModelOption = ModelName.naive_bayes,
    epsilon: EpsilonOption = 1.0,
    delta: DeltaOption = 0.0,
    adjacency: AdjacencyOption = AdjacencyName.add_remove,
    mechanism: MechanismOption = MechanismName.auto,
    numeric: NumericOption = "histogram",
    split: SplitOption = SplitName.weighted,
    contributions: ContributionsOption = 1,
    sensitivity: SensitivityOption = SensitivityName.everywhere,
    moments: EstimatorOption = None,
    bounds: BoundsOption = BoundsName.declared,
    edges: EdgesOption = None,
    bounds_share: BoundsShareOption = 0.1,
    as_json: JsonOption = False,
) -> None:
    """Show how a budget would be spent. No data are read and nothing is charged."""
    special = {
        "delta": delta, "mechanism": mechanism, "numeric": numeric, "split": split, "sensitivity": sensitivity,
        "estimator": moments, "bounds": bounds, "edges": edges, "bounds_share": bounds_share,
    }  # fmt: skip
    public = load_schema(schema, unsettled=True)
    common = {"schema": public, "epsilon": epsilon, "adjacency": adjacency, "contributions": contributions}
    classifier = estimator(model, special, **common)
    plan, bought = classifier.plan(), classifier.settlement()
    if as_json:
        print_json(plan.to_dict() if bought is None else {**plan.to_dict(), "settlement": bought.to_dict()})
        return
    if bought is not None:
        show_settlement(bought)
    show(plan)


def show(plan: Any) -> None:
    """Print a plan for a person."""
    from discreet.bayes.plan import Plan

    if not isinstance(plan, Plan):
        show_steps(plan)
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
    console().print(table(title, ["number", "buys", "octaves", "noise below"], rows, left=2))


def _noise(deviation: float) -> str:
    """The noise of a planned release; under a smooth bound it follows the data and is not known, nor told."""
    return "private" if math.isnan(deviation) else f"{deviation:.4g}"
