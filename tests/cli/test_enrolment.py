"""invite, join and revoke as a person meets them: one sentence each, and nothing written where something is wrong."""

from __future__ import annotations

import json
import sys
import tomllib

import pytest

from discreet.cli import enrolment, main
from discreet.errors import DiscreetError
from discreet.nodes.invites import Invite
from discreet.nodes.terms import Terms
from tests.gossip.common import SCHEMA, write_rows

pytest.importorskip("flwr")
INVITE = ("--nodes", "a,b,c", "--address", "127.0.0.1:9", "--schema", "s.toml", "--epsilon", "1")


@pytest.fixture
def discreet_here(tmp_path, monkeypatch, capsys):
    """The command in a directory with a schema and rows; what it printed and its code."""
    monkeypatch.chdir(tmp_path)
    SCHEMA.save("s.toml")
    write_rows(tmp_path / "rows.csv", 9, 0)

    def run(*words):
        monkeypatch.setattr(sys, "argv", ["discreet", *map(str, words)])
        with pytest.raises(SystemExit) as end:
            main()
        said = capsys.readouterr()
        return end.value.code, said.out, said.err

    return run


@pytest.mark.parametrize(("kind", "home"), [("federate", "federation"), ("gossip", "network")])
def test_an_invite_is_written_once_and_again(discreet_here, tmp_path, kind, home):
    (tmp_path / "clauses.txt").write_text("Paid for by nobody.")
    code, out, error = discreet_here(kind, "invite", *INVITE, "--title", "A trial", "--notes", "clauses.txt")
    assert code == 0 and "WHO. These 3 members" in out and "secret" not in out, error
    terms = Terms.load(tmp_path / home / "terms.toml")
    assert terms.notes == "Paid for by nobody." and "A trial" in terms.text and terms.kind == kind
    before = {name: Invite.read((tmp_path / home / f"{name}.invite").read_text()) for name in "abc"}
    assert all(one.terms == terms.hash for one in before.values())
    assert all((tmp_path / home / f"{name}.invite").stat().st_mode & 0o077 == 0 for name in "abc")
    config = next((tmp_path / home).glob("[ac]*.toml"))
    config.write_text(config.read_text() + "json = true\n")  # of one's own, and kept
    code, _, error = discreet_here(kind, "invite", *INVITE)
    assert code == 2 and "--again" in error
    code, out, error = discreet_here(kind, "invite", *INVITE, "--again", "--json", "--host", "other.example")
    assert code == 0, error
    found = json.loads(out)
    assert found["authority"] == before["a"].authority and set(found["invites"]) == set("abc")
    after = Invite.read((tmp_path / home / "a.invite").read_text())
    assert after.secret != before["a"].secret and after.terms == found["terms_hash"] != terms.hash  # without the notes
    assert tomllib.loads(config.read_text())["json"] is True
    assert discreet_here(kind, config.stem, "--config", config, "--check-config")[0] == 0
    assert discreet_here(kind, "revoke", "z", "--home", home)[0] == 2
    assert discreet_here(kind, "revoke", "a", "--home", home)[0] == 0


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (["federate", "invite", *INVITE, "--secure", "--dropouts", "2"], "drop"),
        (["federate", "invite", *INVITE, "--again"], "no terms"),
        (["federate", "invite", *INVITE[:-1], "-1"], "epsilon"),
        (["federate", "invite", *INVITE, "--listen", "here"], "HOST:PORT"),
        (["federate", "invite", *INVITE, "--host", "a b"], "neither a host name"),
        (["federate", "join", "none", "--data", "rows.csv"], "cannot read the invite"),
        (["federate", "join", "s.toml", "--data", "rows.csv"], "no invite"),
        (["gossip", "join", "x.invite", "--data", "rows.csv", "--listen", "127.0.0.1:9"], "discreet federate join"),
        (["federate", "join", "x.invite", "--data", "rows.csv", "--home", "no/where"], "no directory"),
        (["federate", "join", "x.invite", "--data", "rows.csv", "--wait", "0"], "does not answer"),
        (["federate", "revoke", "a"], "no key file"),
    ],
)
def test_errors_are_one_sentence_and_leave_nothing(discreet_here, tmp_path, words, sentence):
    invite = Invite("federate", "x", "127.0.0.1:9", "0" * 64, "0" * 64, "s" * 43, "2030-01-01")
    (tmp_path / "x.invite").write_text(invite.text)
    before = sorted(path.name for path in tmp_path.iterdir())
    code, out, error = discreet_here(*words)
    lines = [line for line in error.splitlines() if not line.startswith("x: waiting")]
    assert code == 2 and sentence in error and len(lines) == 1 and not out
    assert sorted(path.name for path in tmp_path.iterdir()) == before


def test_nobody_joins_without_agreeing(monkeypatch):
    monkeypatch.setattr(sys.stdin, "isatty", lambda: False, raising=False)
    with pytest.raises(DiscreetError, match="--agree"):
        enrolment._consent(False)
    enrolment._consent(True)
    monkeypatch.setattr(sys.stdin, "isatty", lambda: True, raising=False)
    monkeypatch.setattr(enrolment.typer, "confirm", lambda *words, **more: False)
    with pytest.raises(DiscreetError, match="nothing was sent"):
        enrolment._consent(False)
    monkeypatch.setattr(enrolment.typer, "confirm", lambda *words, **more: True)
    enrolment._consent(False)
