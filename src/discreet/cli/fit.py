"""discreet fit: train and release a model with its certificate."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from discreet.cli import options
from discreet.cli.common import check_out, estimator, load_schema, located, warn_inferred
from discreet.cli.paying import charged, spent, warn_weak
from discreet.cli.steps import stepped
from discreet.cli.terminal import console, note, print_json
from discreet.errors import DataError


@options.grouped(settings=options.SETTINGS, paying=options.RESUMING)
def command(
    out: options.Out,
    settings: dict[str, Any],
    paying: dict[str, Any],
    data: Annotated[str | None, *options.Data.__metadata__] = None,
    schema: options.Schema = None,
    table: options.Table = None,
    holdout: Annotated[
        float | None,
        typer.Option(help="The share of rows to deal aside and measure the model on, at no further cost."),
    ] = None,
    statistics: Annotated[
        Path | None,
        typer.Option(help="Instead of DATA: counts of the rows that 'discreet stats' wrote.", show_default=False),
    ] = None,
    stream: Annotated[
        int | None,
        typer.Option(
            help="Begin a stream of up to so many steps, all for one charge; DATA are its first.", show_default=False
        ),
    ] = None,
    state: Annotated[
        Path | None,
        typer.Option(help="Where the stream is kept; without --stream, DATA are its next step.", show_default=False),
    ] = None,
    step: Annotated[
        int | None, typer.Option(help="Which step this is, so that none is taken twice.", show_default=False)
    ] = None,
    seed: options.Seed = None,
    as_json: options.Json = False,
) -> None:
    """Train a private model and write it with its certificate."""
    from discreet.sources import CountedRows

    if (data is None) == (statistics is None):
        raise DataError("say what to fit: DATA, or the counts of rows by --statistics")
    rows = CountedRows.load(statistics) if data is None and statistics is not None else located(str(data), table)
    check_out(out, rows, schema, statistics, paying["account"], state)
    if stream is not None or state is not None or step is not None:
        if holdout is not None:
            raise DataError("a stream deals no rows aside: leave --holdout out, or fit once")
        classifier = stepped(rows, schema, settings, paying, stream=stream, state=state, step=step, seed=seed,
                             quiet=as_json)  # fmt: skip
        classifier.model_.save(out)
        return _report(classifier, classifier.schema, out, as_json)
    public = load_schema(schema, unsettled=True)
    if statistics is not None and settings["model"] is None:
        settings["model"] = "naive-bayes"  # which counts suffice for
    classifier = estimator(settings, public, seed)
    if holdout is not None:
        from discreet.evaluation import PrivateHoldout

        if statistics is not None:
            raise DataError("statistics hold no rows to deal aside: leave --holdout out, or pass the rows")

        classifier = PrivateHoldout(classifier, share=holdout, random_state=seed)
    if hasattr(classifier, "plan"):
        classifier.plan()  # says what is wrong with the settings before anything else is looked at
    with charged(rows, public, paying, "discreet fit", settings["unexpected"], quiet=as_json) as job:
        classifier.fit(rows, **job)
        classifier.model_.save(out)
    _report(classifier, public, out, as_json)


def _report(classifier: Any, public: Any, out: Path, as_json: bool) -> None:
    """Say what was released."""
    certificate, measured = classifier.certificate_, classifier.model_.evaluation
    choice = getattr(getattr(classifier, "estimator_", classifier), "choice_", None)
    if as_json:
        more = {} if choice is None else {"choice": vars(choice)}
        more |= {} if measured is None else {"evaluation": measured.to_dict()}
        more |= {"step": classifier.step_, "steps": classifier.stream} if hasattr(classifier, "step_") else {}
        print_json({"model": str(out), **more, "certificate": certificate.model_dump(mode="json")})
        return
    if certificate.simulation:
        note("warning: a seed was given, so the noise can be repeated: this model is for study, not for release")
    warn_inferred(public)
    warn_weak(certificate)
    if choice is not None:
        console().print(f"chose {choice}")
    if measured is not None:
        from discreet.cli.evaluate import headline

        console().print(headline(measured))
    made = classifier.model_.NAME
    if hasattr(classifier, "step_"):
        console().print(f"step {classifier.step_} of {classifier.stream}, which together cost what follows, once")
    console().print(f"released {made} with {spent(certificate)} ({certificate.adjacency} neighbours)")
    console().print(f"wrote {out}: try 'discreet inspect {out}' or 'discreet evaluate {out} TEST_DATA'")
    if classifier.model_.generative:
        console().print(f"rows like the data, at no further cost: 'discreet synthesize {out} --out rows.csv'")
    elif classifier.model_.probabilistic:
        console().print(
            f"rows to train another model on: 'discreet synthesize {out} --design --out rows.csv'; for rows like the "
            "data, fit with --generative"
        )
