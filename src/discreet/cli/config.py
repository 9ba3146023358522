"""Config files: a command's own options as keys of a TOML file; flags win over keys, and nothing unknown passes."""

from __future__ import annotations

import difflib
import json
import math
import tomllib
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import click
import typer.core

from discreet.cli.common import check_address, load_schema
from discreet.cli.terminal import note
from discreet.errors import DiscreetError

OWN = {"config", "check_config"}
CHECK = "discreet.check"


def ready() -> None:
    """A command calls this when it has checked all it can and would start: here a mere check ends."""
    ctx = click.get_current_context(silent=True)
    if ctx is not None and ctx.meta.get(CHECK):
        note("the configuration is good: nothing was started")
        raise click.exceptions.Exit(0)


class Configured(typer.core.TyperCommand):
    """A command that also takes its options from a file (`--config`) and can be asked what is wrong (`--check-config`).

    Keys are derived from the options themselves, so there is none without the other.
    """

    def __init__(self, *args: Any, **more: Any) -> None:
        super().__init__(*args, **more)
        self.params.append(
            typer.core.TyperOption(
                param_decls=["config", "--config"], type=click.Path(path_type=Path), is_eager=True, expose_value=False,
                callback=_take, help="A TOML file with a key for each option; flags win over it.", show_default=False,
            )
        )  # fmt: skip
        self.params.append(
            typer.core.TyperOption(
                param_decls=["check_config", "--check-config"], is_flag=True, expose_value=False,
                help="Say all that is wrong with file and flags, and start nothing.",
            )
        )  # fmt: skip

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """As ever; but where a check is asked for, all that is wrong is told at once instead of the first of it."""
        if "--check-config" not in args:
            return super().parse_args(ctx, args)
        problems = list(self._problems(ctx, [word for word in args if word != "--check-config"]))
        if problems:
            raise DiscreetError("; ".join(problems))
        ctx.meta[CHECK] = True  # what the command itself finds out before it starts comes next
        return super().parse_args(ctx, args)

    def _problems(self, ctx: click.Context, args: list[str]) -> Iterator[str]:
        given, rest, _ = self.make_parser(ctx).parse_args(args=list(args))
        if rest:
            yield f"there is no place for {rest[0]!r}"
        file = given.pop("config", None)
        wrong: set[str] = set()
        if file is not None:
            try:
                keys, found = read_config(self, Path(file))
            except DiscreetError as error:
                yield str(error)
                return
            yield from found.values()
            wrong, ctx.default_map = set(found), keys
        values: dict[str, Any] = {}
        for param in self.params:
            if param.name is None or param.name in OWN or not isinstance(param, click.Option) or param.is_eager:
                continue
            try:
                values[param.name], _ = param.handle_parse_result(ctx, given, [])
            except click.UsageError as error:
                if key_of(param) not in wrong:
                    yield error.format_message().rstrip(".")
            except DiscreetError as error:
                yield f"{key_of(param)}: {error}"
        ctx.params.clear()
        if values.get("schema", "") is None and not (values.get("campaign") or values.get("campaigns")):
            yield "a schema is needed"
        for name, value in values.items():
            for one in value if isinstance(value, list | tuple) else () if value is None else (value,):
                try:
                    CHECKS.get(name, lambda one: None)(one)
                except DiscreetError as error:
                    yield f"{name.replace('_', '-')}: {error}"


def _take(ctx: click.Context, param: click.Parameter, value: Path | None) -> None:
    """Let the keys of a file stand where no flag does."""
    if value is None:
        return
    keys, wrong = read_config(ctx.command, value)
    if wrong:
        raise DiscreetError("; ".join(wrong.values()))
    ctx.default_map = keys


def options_of(command: click.Command) -> dict[str, click.Option]:
    """The options that a file may set, by their keys: every one but those about the file and the help."""
    found = [one for one in command.params if isinstance(one, click.Option) and one.name not in OWN | {"help"}]
    return {key_of(one): one for one in found}


def key_of(option: click.Parameter) -> str:
    """The key of an option: its longest flag without the dashes."""
    return max(option.opts, key=len).lstrip("-")


def read_config(command: click.Command, path: Path) -> tuple[dict[str, Any], dict[str, str]]:
    """The values of a file by the names of the command's parameters, and what is wrong with it, by key."""
    try:
        text = path.read_bytes().decode("utf-8")
        held = tomllib.loads(text)
    except OSError as error:
        raise DiscreetError(f"cannot read the config file {path}: {error.strerror}") from None
    except (UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise DiscreetError(f"{path} is no TOML: {error}") from None
    known = options_of(command)
    values: dict[str, Any] = {}
    wrong: dict[str, str] = {}
    for written, value in held.items():
        key = written.replace("_", "-")
        option = known.get(key)
        if option is None:
            near = difflib.get_close_matches(key, known, 1, 0.5)
            hint = f": did you mean {near[0]!r}?" if near else f": there are {', '.join(sorted(known))}"
            wrong[key] = f"{path} has an unknown key {written!r}{hint}"
        elif (problem := _misfit(option, value)) is not None:
            wrong[key] = f"{path}: {written} must be {problem}, not {json.dumps(value, default=str)}"
        else:
            assert option.name is not None
            values[option.name] = value
    return values, wrong


def _misfit(option: click.Option, value: Any) -> str | None:
    """What a value would have to be, if it is something else; no number is read out of a text, none cut off."""
    if option.multiple:
        if isinstance(value, list) and all(_scalar(option, one) is None for one in value):
            return None
        return "a list"
    return _scalar(option, value)


def _scalar(option: click.Option, value: Any) -> str | None:
    number = isinstance(value, int | float) and not isinstance(value, bool)
    kind = option.type
    if option.is_flag:
        return None if isinstance(value, bool) else "true or false"
    if isinstance(kind, click.types.IntParamType):
        return None if number and isinstance(value, int) else "a whole number"
    if isinstance(kind, click.types.FloatParamType):
        return None if number and not math.isnan(value) else "a number"
    return None if isinstance(value, str) else "a text in quotes"


def _folder(path: Path) -> None:
    if not Path(path).is_dir():
        raise DiscreetError(f"there is no directory {path}")


def _file(path: Path) -> None:
    if not Path(path).is_file():
        raise DiscreetError(f"there is no file {path}")


def _rows(text: str) -> None:
    import glob

    later = "{step" in text  # rows of a stream, which come step by step
    if "://" not in text and not later and not Path(text).exists() and not glob.glob(text):
        raise DiscreetError(f"there is no file {text}")


def _new(path: Path) -> None:
    if not Path(path).absolute().parent.is_dir():
        raise DiscreetError(f"there is no directory {Path(path).parent}: make it first")


def _peers(text: str) -> None:
    from discreet.cli.gossip import read_peers

    read_peers(text)


# What can be known of a value before anything is started, by the name of the parameter.
CHECKS: Mapping[str, Callable[[Any], object]] = {
    "schema": load_schema, "campaign": _file, "campaigns": _file, "about": _file, "notes": _file,
    "tls_cert": _file, "tls_key": _file, "keys": _folder, "data": _rows,
    "account": _file, "out": _new, "ledger": _new, "store": _new, "state": _new, "listen": check_address,
    "coordinator": check_address, "advertise": check_address, "peers": _peers,
}  # fmt: skip
