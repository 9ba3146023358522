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
    enrolment,
    evaluate,
    explain,
    explore,
    federate,
    fit,
    gossip,
    inspect,
    local,
    local_status,
    plan,
    predict,
    report,
    reproduce,
    schema,
    select,
    stats,
    synthesize,
)
from discreet.cli.running import run

ROOT: dict[str, Any] = {
    "name": "discreet",
    "help": "Train and release classifiers on sensitive tables with differential privacy.",
    "no_args_is_help": True,
    "pretty_exceptions_enable": False,
    "context_settings": {"help_option_names": ["-h", "--help"]},
}
app = typer.Typer(**ROOT)


def _version(wanted: bool) -> None:
    if wanted:
        from importlib.metadata import version

        typer.echo(f"discreet {version('discreet')}")
        raise typer.Exit


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
NAMED = {command.__name__.rsplit(".", 1)[1]: command.command for command in COMMANDS}
app.callback()(_root)
for name, command in NAMED.items():
    app.command(name=name)(command)
app.command(name="settle", hidden=True)(bounds.command)  # its name in version 0.1
app.add_typer(account.app, name="account")
app.add_typer(local.app)
app.add_typer(federate.app, name="federate")
app.add_typer(gossip.app, name="gossip")
assert enrolment and local_status  # they add commands to those before


def _asked() -> typer.Typer:
    """The command line, or as much of it as the command that was asked for needs: to lay out all takes longer."""
    name = sys.argv[1] if len(sys.argv) > 1 else ""
    if name not in NAMED:
        return app
    one = typer.Typer(**ROOT)
    one.callback()(_root)
    one.command(name=name)(NAMED[name])
    return one


def _invoke() -> Any:
    """What typer does itself, less its own manners about interruptions and closed pipes."""
    command = typer.main.get_command(_asked())
    command._main_shell_completion({}, "discreet")
    with command.make_context("discreet", sys.argv[1:]) as context:
        return command.invoke(context)


def main() -> None:
    """Run the command that was asked for, and exit; a warning is a line of its own words."""
    warnings.formatwarning = lambda message, *_, **__: f"warning: {message}\n"
    sys.exit(run(_invoke))
