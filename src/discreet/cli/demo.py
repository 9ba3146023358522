"""discreet demo: the whole job on data that come with the package."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from discreet.cli import options
from discreet.cli.terminal import console, print_json, table

EPSILONS = (0.1, 0.5, 1.0, 4.0)


def command(
    out: Annotated[Path, typer.Option("--out", "-o", help="Where to put the demonstration's files.")] = Path(
        "discreet-demo"
    ),
    rows: Annotated[int, typer.Option(min=100, max=1_000_000, help="How many training rows to draw.")] = 30_000,
    as_json: options.Json = False,
) -> None:
    """Run the whole job: schema, plan, fit at several epsilon, predict, evaluate, inspect."""
    from discreet import demo
    from discreet.bayes import PrivateNB
    from discreet.bayes.classifier import twin_of
    from discreet.cli import inspect, plan, predict
    from discreet.evaluation.exact import evaluate, majority
    from discreet.privacy import Budget, Ledger

    out.mkdir(parents=True, exist_ok=True)
    schema_file, train, test = out / "schema.toml", out / "train.csv", out / "test.csv"
    source = demo.adult()
    source.schema.save(schema_file, comment="All that is public about the rows.")
    demo.write_rows(train, rows, seed=1)
    demo.write_rows(test, rows // 2, seed=2)
    screen = console()

    def say(step: str, detail: str = "") -> None:
        if not as_json:
            screen.print(f"\n{step}", style="bold", end="")
            screen.print(f"  {detail}" if detail else "")

    say("1. Data", f"{rows} rows for training in {train}, {rows // 2} for testing in {test}")
    if not as_json:
        screen.print(demo.STORY)
    say("2. Schema", f"{schema_file} declares what is public: classes, categories, bounds")
    say("3. Plan", "how epsilon = 1 will be spent, before any row is read")
    if not as_json:
        plan.show(PrivateNB(epsilon=1.0, schema=source.schema).plan())
    say("4. Fit and evaluate", "at several epsilon")
    figures: list[dict[str, Any]] = []
    fitted, ledger = None, Ledger(Budget(sum(EPSILONS)))  # fits to the same rows add up
    for epsilon in EPSILONS:
        fitted = PrivateNB(epsilon=epsilon, schema=source.schema).fit(train, ledger=ledger)
        fitted.model_.save(out / f"model-{epsilon:g}.json")
        figures.append({"epsilon": epsilon, **_short(evaluate(fitted.model_, test))})
    assert fitted is not None
    whole = evaluate(fitted.model_, test)
    without = _short(evaluate(twin_of(source, train), test))
    constant = _short(majority(fitted.model_, whole))
    model = out / "model-1.json"
    if as_json:
        print_json({"private": figures, "non_private": without, "majority": constant, "files": str(out)})
        return
    lines = [[f"epsilon = {line['epsilon']:g}", *_cells(line)] for line in figures]
    lines += [["without privacy", *_cells(without)], ["majority class", *_cells(constant)]]
    screen.print(table("", ["", "accuracy", "balanced", "AUC"], lines))
    screen.print(f"All four models are of the same rows, so together they cost {ledger.budget}.")
    say("5. Predict")
    predict.command(model, str(test), out=str(out / "predictions.csv"))
    say("6. Certificate", f"of {model}")
    from discreet.bayes.model import NaiveBayesModel

    inspect.show(NaiveBayesModel.load(model))
    say("Next", "the same on your own data:")
    screen.print("  discreet schema YOUR.csv --target COLUMN --out schema.toml")
    screen.print(f"or look around here:\n  discreet evaluate {model} {test}")


def _short(figures: dict[str, Any]) -> dict[str, Any]:
    return {key: figures[key] for key in ("accuracy", "balanced_accuracy", "auc", "n")}


def _cells(figures: dict[str, Any]) -> list[str]:
    return [f"{figures[key]:.4f}" for key in ("accuracy", "balanced_accuracy", "auc")]
