"""The options that commands share, and groups of them that a command takes as one dictionary."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Annotated, Any

import click
import typer
import typer.core
import typer.main

from discreet.kinds import names


class _Argument(typer.core.TyperArgument):
    """typer before 0.21 lets click 8.5, whose arguments have a help of their own, forget the one it was given."""

    def __init__(self, *, help: str | None = None, **more: Any) -> None:
        super().__init__(help=help, **more)
        self.help = help


typer.main.TyperArgument = _Argument  # type: ignore[attr-defined]

Group = Mapping[str, tuple[Any, Any]]  # the type of each option, and its default, or ... if it must be given


def one_of(*names: str, help: str) -> Any:
    """An option that takes one of some words."""
    return typer.Option(help=help, click_type=click.Choice(names))


def option(kind: Any, default: Any, help: str, **more: Any) -> tuple[Any, Any]:
    """An option of a group: its type with its words, and its default."""
    return Annotated[kind, typer.Option(help=help, **more)], default


def flag(name: str, help: str) -> tuple[Any, Any]:
    """An option of a group that is there or is not."""
    return Annotated[bool, typer.Option(name, help=help)], False


def choice(names: Iterable[str], default: Any, help: str) -> tuple[Any, Any]:
    """An option of a group that takes one of some words."""
    return option(str | None, default, help, click_type=click.Choice(list(names)))


def grouped(**groups: Group) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Let a command take groups of options: each as one dictionary, shown where its parameter stands."""

    def decorate(command: Callable[..., None]) -> Callable[..., None]:
        own = inspect.signature(command, eval_str=True)
        shown: list[inspect.Parameter] = []
        for one in own.parameters.values():
            named = {one.name: (one.annotation, one.default)}
            shown += [
                inspect.Parameter(
                    name,
                    inspect.Parameter.KEYWORD_ONLY,
                    default=inspect.Parameter.empty if default is ... else default,
                    annotation=kind,
                )
                for name, (kind, default) in groups.get(one.name, named).items()
            ]

        @functools.wraps(command)
        def run(**given: Any) -> None:
            for name, group in groups.items():
                given[name] = {option: given.pop(option) for option in group}
            command(**given)

        run.__signature__ = own.replace(parameters=shown)  # type: ignore[attr-defined]
        run.__annotations__ = {one.name: one.annotation for one in shown}
        return run

    return decorate


ADJACENCIES = ("add-remove", "replace")
BOUGHT = ("declared", "private")

# ---- rows, files and accounts

Data = Annotated[
    str,
    typer.Argument(help="A file of CSV, JSON lines, Parquet or Arrow, - for standard input, a pattern such as "
                   "'part-*.parquet', or an address with --table: postgresql://host/name, duckdb:file.db, "
                   "spark://host:port, spark:local[2], sc://host."),
]  # fmt: skip
Table = Annotated[
    str | None,
    typer.Option(
        "--table",
        show_default=False,
        help="The table, if DATA is an address; with DuckDB and Spark also delta:PATH, iceberg:PATH, parquet:PATH.",
    ),
]
NodeData = Annotated[
    str, typer.Option("--data", help="The node's own rows: a CSV, Parquet or Arrow file or a pattern.")
]
Model = Annotated[Path, typer.Argument(help="A model file.")]
Out = Annotated[Path, typer.Option("--out", "-o", help="Where to write the model.")]
Schema = Annotated[
    Path | None, typer.Option("--schema", "-s", help="The schema file (TOML or JSON).", show_default=False)
]
Json = Annotated[bool, typer.Option("--json", help="Print JSON for machines.")]
Seed = Annotated[int | None, typer.Option(help="Make it a reproducible simulation, which is not for release.")]
Unexpected = Annotated[
    str,
    one_of(
        "refuse",
        "absorb",
        help="Values without a place in the schema: an error, or absorbed row by row so that no fit can fail.",
    ),
]

# ---- budgets and models

Delta = Annotated[float, typer.Option(help="The chance with which epsilon may be exceeded.")]
Adjacency = Annotated[str, one_of(*ADJACENCIES, help="One row more or less, or one row changed.")]
Contributions = Annotated[int, typer.Option(help="The most rows one person may have in the data.")]
Mechanism = Annotated[
    str,
    one_of(
        "auto", "laplace", "gaussian", "knorm", "residual",
        help="The noise; auto: tables noised together (knorm; residual with a delta) where that errs less.",
    ),
]  # fmt: skip


def _likelihood(name: str) -> str:
    """The name of a likelihood, if there is one that goes by it."""
    from discreet.bayes.likelihoods import likelihood_of

    return likelihood_of(name).numeric


Smoothing = Annotated[float, typer.Option(help="Rows added to every cell.")]
SETTINGS: Group = {
    "model": option(
        str | None, None,
        f"The kind of model: one of {', '.join(names())} or an alias such as nb or lr. auto, which is the default, "
        "decides by a noisy number of rows; settings of Naive Bayes choose it.",
        metavar="KIND", show_default="auto",
    ),
    "generative": flag("--generative", "Choose a kind of model that 'discreet synthesize' can draw rows from."),
    "epsilon": option(float, 1.0, "The privacy budget; inf for no privacy."),
    "delta": (Delta, 0.0),
    "adjacency": (Adjacency, "add-remove"),
    "mechanism": (Mechanism, "auto"),
    "numeric": option(
        str, "histogram",
        "How numbers are modelled: histogram, gaussian, truncated-gaussian or any likelihood that is registered.",
        callback=_likelihood, metavar="NAME",
    ),
    "split": choice(("weighted", "equal"), "weighted", "How the budget is shared out."),
    "smoothing": (Smoothing, 1.0),
    "contributions": (Contributions, 1),
    "sensitivity": choice(
        ("global", "smooth", "auto"), "global", "Noise on bell curves: by the public bounds, or by a smooth bound."
    ),
    "estimator": choice(
        ("moments", "trimmed", "bun-steinke", "vaidya"), None,
        "Moments of bell curves; 'trimmed' and 'bun-steinke' imply smooth bounds, 'vaidya' public ones.",
    ),
    "bounds": choice(BOUGHT, "declared", "Bounds of numbers: as the schema says, or private for all of them."),
    "edges": choice(
        BOUGHT, None, "Bins of numbers: equally wide, or private ones of equal weight; else as the bounds."
    ),
    "bounds_share": option(float, 0.1, "The part of epsilon for bounds and edges, if any are private."),
    "unexpected": (Unexpected, "refuse"),
}  # of a fit  # fmt: skip
PAYING: Group = {
    "account": option(
        Path | None, None, "The account to charge; NAME.account beside NAME.csv unless told.", show_default=False
    ),
    "no_account": flag("--no-account", "Charge nothing, even if an account lies beside the data."),
}  # what a command is charged to
RESUMING: Group = {
    **PAYING,
    "resume_charge": option(
        str | None, None,
        "The charge of the same command that lost its connection: it is used instead of a second one.",
        show_default=False,
    ),
}  # of commands that read rows once and for all  # fmt: skip


def some(*names: str) -> Group:
    """Some of the options of a fit."""
    return {name: SETTINGS[name] for name in names}


TERMS = some("adjacency", "numeric", "split", "contributions")  # of nodes
