"""Config files: every option has a key, flags win, nothing unknown passes, and all that is wrong is told at once."""

from __future__ import annotations

import os
import sys

import click
import pytest
import tomli_w
import typer

from discreet.cli import app, enrolment, main
from discreet.cli.config import CHECK, OWN, Configured, key_of, options_of, read_config
from discreet.errors import DiscreetError
from tests.gossip.common import SCHEMA, write_rows

ROOT = typer.main.get_command(app)


def configured(group=ROOT, path=()):
    """Every command that takes a config file."""
    for name, command in group.commands.items():
        if isinstance(command, click.Group):
            yield from configured(command, (*path, name))
        elif isinstance(command, Configured):
            yield (*path, name), command


COMMANDS = dict(configured())
LONG = {("local", "serve"), ("federate", "coordinator"), ("federate", "node"), ("gossip", "node"), ("gossip", "admit")}


def test_every_long_running_command_takes_a_file():
    assert set(COMMANDS) >= LONG


@pytest.mark.parametrize("path", sorted(COMMANDS), ids=" ".join)
def test_every_option_has_a_key_and_its_value_arrives(path, tmp_path, monkeypatch):
    """Each option is set by the file alone, to a value that is not its default, and reaches the command."""
    command, file = COMMANDS[path], tmp_path / "c.toml"
    options = [one for one in command.params if one.param_type_name == "option"]
    expected = {one.name for one in options if one.name not in OWN | {"help"}}
    assert {one.name for one in options_of(command).values()} == expected
    assert all(f"--{key}" in one.opts for key, one in options_of(command).items())
    values = {key: _value(one) for key, one in options_of(command).items()}
    file.write_text(tomli_w.dumps(values))
    seen: dict[str, object] = {}
    monkeypatch.setattr(command, "callback", lambda **given: seen.update(given))
    given = ["some.invite" for one in command.params if one.param_type_name == "argument"]
    with command.make_context("x", [*given, "--config", str(file)]) as context:
        command.invoke(context)
    for key, one in options_of(command).items():
        assert _plain(seen[one.name]) == _plain(values[key]), key


def _value(option):
    """A value for an option, as a person would write it into a file."""
    if option.is_flag:
        return not option.default
    if isinstance(option.type, click.Choice):
        return option.type.choices[-1]
    if isinstance(option.type, click.types.IntParamType):
        one: object = max(3, int(getattr(option.type, "min", 0) or 0))
    elif isinstance(option.type, click.types.FloatParamType):
        one = 0.5
    else:
        one = "gaussian" if option.name == "numeric" and option.callback else "some/text"
    return [one] if option.multiple else one


def _plain(value):
    if isinstance(value, list | tuple):
        return [_plain(one) for one in value]
    return os.fspath(value) if isinstance(value, os.PathLike) else value


def test_no_option_takes_a_secret_itself():
    """Secrets are files: an option that names one takes a path, or is a mere switch."""
    for path, command in COMMANDS.items():
        for key, one in options_of(command).items():
            if any(word in key for word in ("secret", "token", "password", "key", "invite")):
                assert one.is_flag or "path" in type(one.type).__name__.lower(), (path, key)


def test_flags_win_over_keys(tmp_path, monkeypatch):
    command = COMMANDS["gossip", "admit"]
    (tmp_path / "c.toml").write_text('home = "there"\nlisten = "h:1"\n')
    seen: dict[str, object] = {}
    monkeypatch.setattr(command, "callback", lambda **given: seen.update(given))
    with command.make_context("x", ["--listen", "h:2", "--config", str(tmp_path / "c.toml")]) as context:
        command.invoke(context)
    assert seen["listen"] == "h:2" and str(seen["home"]) == "there"


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("lisen = 'h:1'", "did you mean 'listen'"),
        ("nodes_expected = '3'", "must be a whole number"),
        ("nodes-expected = 3.0", "must be a whole number"),
        ("nodes-expected = true", "must be a whole number"),
        ("epsilon = '1'", "must be a number"),
        ("epsilon = nan", "must be a number"),
        ("secure = 1", "must be true or false"),
        ("schema = 7", "a text in quotes"),
        ("config = 'c.toml'", "unknown key"),
        ("[a]\nb = 1", "unknown key"),
        ("a b", "no TOML"),
    ],
)
def test_what_is_wrong_with_a_file_is_one_sentence(tmp_path, text, sentence):
    (tmp_path / "c.toml").write_text(text)
    with pytest.raises(DiscreetError, match=sentence):
        _, wrong = read_config(COMMANDS["federate", "coordinator"], tmp_path / "c.toml")
        raise DiscreetError("; ".join(wrong.values()))
    with pytest.raises(DiscreetError, match="cannot read"):
        read_config(COMMANDS["federate", "coordinator"], tmp_path / "absent.toml")


def run(monkeypatch, capsys, *words):
    monkeypatch.setattr(sys, "argv", ["discreet", *map(str, words)])
    with pytest.raises(SystemExit) as end:
        main()
    return end.value.code, capsys.readouterr().err


def test_a_check_says_everything_at_once_and_starts_nothing(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "c.toml").write_text(
        "lisen = '0.0.0.0:8700'\nnodes-expected = 'three'\nschema = 'absent.toml'\nkeys = 'nowhere'\nnumeric = 'odd'\n"
        "secure = 'yes'\n"
    )
    code, error = run(monkeypatch, capsys, "federate", "coordinator", "--config", "c.toml", "--check-config")
    assert code == 2 and error.count("\n") == 1
    for word in ("listen", "nodes-expected", "absent.toml", "nowhere", "odd", "secure", "--out", "--state"):
        assert word in error, word
    assert [path.name for path in tmp_path.iterdir()] == ["c.toml"]


@pytest.mark.parametrize("wrong", [False, True])
def test_a_check_runs_the_commands_own_checks(tmp_path, monkeypatch, capsys, wrong):
    monkeypatch.chdir(tmp_path)
    SCHEMA.save("s.toml")
    write_rows(tmp_path / "rows.csv", 9, 0)
    (tmp_path / "keys").mkdir()
    (tmp_path / "c.toml").write_text(
        f'schema = "s.toml"\nstore = "r.db"\nepsilon = {-1 if wrong else 1}.0\nport = 0\nhost = "127.0.0.1"\n'
    )
    code, error = run(monkeypatch, capsys, "local", "serve", "--config", "c.toml", "--check-config")
    assert (code, "epsilon" in error) == ((2, True) if wrong else (0, False))
    assert not (tmp_path / "r.db").exists()


@pytest.mark.parametrize("path", sorted(COMMANDS), ids=" ".join)
def test_a_command_that_takes_a_file_knows_when_a_check_ends(path):
    """`ready` is called by each, before anything is started: by its own source."""
    import inspect

    source = inspect.getsource(inspect.unwrap(COMMANDS[path].callback))
    for shared in (enrolment._invite, enrolment._join):
        if f"    {shared.__name__}(" in source:
            source += inspect.getsource(shared)
    assert "ready()" in source and CHECK


def test_keys_are_the_longest_flags():
    assert key_of(click.Option(["-o", "--out"])) == "out"
