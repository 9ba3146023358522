"""The command line: one module per command, no logic of its own."""

from __future__ import annotations

import sys
import warnings
from typing import Annotated, Any

import typer
import typer.main

from discreet.cli import (
    account,
    audit,
    bounds,
    check,
    compare,
    demo,
    dossier,
    evaluate,
    explain,
    explore,
    federate,
    fit,
    gossip,
    inspect,
    local,
    plan,
    predict,
    report,
    reproduce,
    schema,
    select,
    stats,
    synthesize,
)
from discreet.cli.common import run

app = typer.Typer(
    name="discreet",
    help="Train and release classifiers on sensitive tables with differential privacy.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)


def _version(wanted: bool) -> None:
    if wanted:
        from importlib.metadata import version

        typer.echo(f"discreet {version('discreet')}")
        raise typer.Exit


@app.callback()
def _root(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Print the version.")
    ] = False,
) -> None:
    pass


COMMANDS = (
    demo, check, schema, bounds, stats, plan, fit, predict, evaluate, inspect, explain, dossier, compare, select,
    synthesize, audit, reproduce, report, explore,
)  # fmt: skip
for command in COMMANDS:
    app.command(name=command.__name__.rsplit(".", 1)[1])(command.command)
app.command(name="settle", hidden=True)(bounds.command)  # its name in version 0.1
app.add_typer(account.app, name="account")
app.add_typer(local.app)
app.add_typer(federate.app, name="federate")
app.add_typer(gossip.app, name="gossip")


def _invoke() -> Any:
    """What typer does itself, less its own manners about interruptions and closed pipes."""
    command = typer.main.get_command(app)
    command._main_shell_completion({}, "discreet")
    with command.make_context("discreet", sys.argv[1:]) as context:
        return command.invoke(context)


def main() -> None:
    """Run the command that was asked for, and exit; a warning is a line of its own words."""
    warnings.formatwarning = lambda message, *_, **__: f"warning: {message}\n"
    sys.exit(run(_invoke))
