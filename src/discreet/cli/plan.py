"""discreet plan: how a budget would be spent, before any data are read."""

from __future__ import annotations

from discreet.cli.common import (
    AdjacencyName,
    AdjacencyOption,
    ContributionsOption,
    DeltaOption,
    EpsilonOption,
    JsonOption,
    MechanismName,
    MechanismOption,
    NumericName,
    NumericOption,
    SchemaOption,
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
    epsilon: EpsilonOption = 1.0,
    delta: DeltaOption = 0.0,
    adjacency: AdjacencyOption = AdjacencyName.add_remove,
    mechanism: MechanismOption = MechanismName.auto,
    numeric: NumericOption = NumericName.histogram,
    split: SplitOption = SplitName.weighted,
    contributions: ContributionsOption = 1,
    as_json: JsonOption = False,
) -> None:
    """Show how a budget would be spent. No data are read and nothing is charged."""
    plan = estimator(
        schema=load_schema(schema), epsilon=epsilon, delta=delta, adjacency=adjacency, mechanism=mechanism,
        numeric=numeric, split=split, contributions=contributions,
    ).plan()  # fmt: skip
    if as_json:
        print_json(plan.to_dict())
        return
    show(plan)


def show(plan: object) -> None:
    """Print a plan for a person."""
    from discreet.bayes.plan import Plan

    assert isinstance(plan, Plan)
    rows = [[row["statistic"], str(row["cells"]), f"{row['share']:.1%}", f"{row['noise']:.4g}"] for row in plan.rows()]
    title = f"{plan.budget}, {plan.adjacency} neighbours, {plan.mechanism} noise"
    console().print(table(title, ["statistic", "cells", "share", "noise sd"], rows))
    console().print(f"accounting: {plan.accounting}")
