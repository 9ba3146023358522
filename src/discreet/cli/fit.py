"""discreet fit: train and release a model with its certificate."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from discreet.cli.common import (
    AccountOption,
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
    NoAccountOption,
    NumericOption,
    SchemaOption,
    SensitivityName,
    SensitivityOption,
    SplitName,
    SplitOption,
    UnexpectedName,
    UnexpectedOption,
    absorbing,
    account_for,
    check_data,
    check_out,
    console,
    estimator,
    load_schema,
    note,
    print_json,
    progress,
    spent,
    tell_room,
)


def command(
    data: Annotated[str, typer.Argument(help="A CSV, Parquet or Arrow file, or a pattern such as 'part-*.parquet'.")],
    out: Annotated[Path, typer.Option("--out", "-o", help="Where to write the model.")],
    schema: SchemaOption = None,
    model: ModelOption = ModelName.naive_bayes,
    epsilon: EpsilonOption = 1.0,
    delta: DeltaOption = 0.0,
    adjacency: AdjacencyOption = AdjacencyName.add_remove,
    mechanism: MechanismOption = MechanismName.auto,
    numeric: NumericOption = "histogram",
    split: SplitOption = SplitName.weighted,
    smoothing: Annotated[float, typer.Option(help="Rows added to every cell.")] = 1.0,
    contributions: ContributionsOption = 1,
    sensitivity: SensitivityOption = SensitivityName.everywhere,
    moments: EstimatorOption = None,
    bounds: BoundsOption = BoundsName.declared,
    edges: EdgesOption = None,
    bounds_share: BoundsShareOption = 0.1,
    unexpected: UnexpectedOption = UnexpectedName.refuse,
    holdout: Annotated[
        float | None,
        typer.Option(help="The share of rows to deal aside and measure the model on, at no further cost."),
    ] = None,
    seed: Annotated[
        int | None, typer.Option(help="Make it a reproducible simulation, which is not for release.")
    ] = None,
    account: AccountOption = None,
    no_account: NoAccountOption = False,
    as_json: JsonOption = False,
) -> None:
    """Train a private model and write it with its certificate."""
    public = load_schema(schema, unsettled=True)
    check_out(out)
    common = {
        "schema": public, "epsilon": epsilon, "adjacency": adjacency, "contributions": contributions,
        "unexpected": unexpected,
    }  # fmt: skip
    special = {
        "delta": delta, "mechanism": mechanism, "numeric": numeric, "split": split, "smoothing": smoothing,
        "sensitivity": sensitivity, "estimator": moments,
        "bounds": bounds, "edges": edges, "bounds_share": bounds_share,
    }  # fmt: skip
    classifier = estimator(model, special, **common, random_state=seed)
    if holdout is not None:
        from discreet.evaluation import PrivateHoldout

        classifier = PrivateHoldout(classifier, share=holdout, random_state=seed)
    if hasattr(classifier, "plan"):
        classifier.plan()  # says what is wrong with the settings before anything else is looked at
    check_data(data, public)
    paid = account_for(data, account, no_account, what="discreet fit")
    with absorbing(unexpected), progress("reading rows", quiet=as_json) as report:
        classifier.fit(data, progress=report, account=paid)
    classifier.model_.save(out)
    tell_room(paid)
    certificate, measured = classifier.certificate_, classifier.model_.evaluation
    choice = getattr(getattr(classifier, "estimator_", classifier), "choice_", None)
    if as_json:
        more = {} if choice is None else {"choice": vars(choice)}
        more |= {} if measured is None else {"evaluation": measured.to_dict()}
        print_json({"model": str(out), **more, "certificate": certificate.model_dump(mode="json")})
        return
    if certificate.simulation:
        note("warning: a seed was given, so the noise can be repeated: this model is for study, not for release")
    if public.inferred:
        note(
            "warning: the schema was read off the data (an unedited draft, or bounds settled without privacy), and the "
            "certificate says that the data's ranges were disclosed"
        )
    if choice is not None:
        console().print(f"chose {choice}")
    if measured is not None:
        from discreet.cli.evaluate import headline

        console().print(headline(measured))
    console().print(f"released with {spent(certificate)} ({certificate.adjacency} neighbours)")
    console().print(f"wrote {out}: try 'discreet inspect {out}' or 'discreet evaluate {out} TEST_DATA'")
