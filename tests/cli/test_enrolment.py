"""invite, join and revoke as a person meets them: one sentence each, and nothing written where something is wrong."""

from __future__ import annotations

import json
import sys
import tomllib
from fractions import Fraction
from pathlib import Path

import pytest

from discreet.cli import enrolment, main
from discreet.errors import DiscreetError
from discreet.nodes.invites import Invite
from discreet.nodes.terms import Terms
from discreet.privacy.budget import Budget
from tests.gossip.common import SCHEMA, write_rows
from tests.ports import free_ports

pytest.importorskip("flwr")
from tests.nodes.desks import asked, serving

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


@pytest.fixture
def masked_desk(discreet_here, tmp_path):
    """The desk of a federation under masks on a port of the loopback, where b and c have joined."""
    from discreet.federated.flower import enrolment as room
    from discreet.federated.flower.keys import FederationKeys

    (port,) = free_ports(1)
    (tmp_path / "clauses.txt").write_text("Paid for by nobody.\n\nWHO. Only the rich.")
    words = [f"127.0.0.1:{port}" if word == "127.0.0.1:9" else word for word in INVITE]
    assert discreet_here("federate", "invite", *words, "--secure", "--notes", "clauses.txt")[0] == 0
    home = tmp_path / "federation"
    desk, keys = room.desk_of(home), FederationKeys(home / "keys")
    for name in "bc":
        invite = Invite.read((home / f"{name}.invite").read_text())
        desk.enrol(asked(invite, room.node_key(tmp_path / name, name), address=None))
    with serving(desk, keys.certificate, keys.private):
        yield home / "a.invite"


def test_under_masks_a_node_runs_only_on_keys_that_somebody_speaks_for(masked_desk, discreet_here, monkeypatch):
    started = []
    monkeypatch.setattr(enrolment, "run_configured", lambda *words: started.append(words))
    join = ("federate", "join", masked_desk, "--data", "rows.csv", "--agree")
    for _ in range(2):  # to have joined before speaks for nobody
        code, _, error = discreet_here(*join)
        assert code == 0 and started == [], error
        assert "discreet federate node --config" in error.splitlines()[-1]
    shown = error.splitlines()
    assert [line for line in shown if line.startswith("WHO.")] == [Terms.load(Path("a/terms.toml")).sentences()[1]]
    assert "  | WHO. Only the rich." in shown
    assert Path("a/node.toml").stat().st_mode & 0o777 == 0o600  # its data may be an address with a password
    roster = error.split("by another way: ")[1].split()[0]
    assert discreet_here(*join, "--roster", "0" * 39)[0] == 2 and started == []
    assert discreet_here(*join, "--roster", roster, "--no-run")[0] == 0 and started == []
    assert discreet_here(*join, "--roster", roster)[0] == 0 and len(started) == 1
    assert discreet_here(*join, "--trust-coordinator-keys")[0] == 0 and len(started) == 2


@pytest.mark.parametrize(
    ("words", "epsilon", "delta"),
    [((), 1, "1e-6"), (("--total", "3"), 3, "1e-6"), (("--total", "3", "--total-delta", "3e-6"), 3, "3e-6")],
)
def test_a_gossip_nodes_ledger_has_a_delta_of_its_own(discreet_here, monkeypatch, words, epsilon, delta):
    import discreet.gossip.node

    seen = []

    def stop(own, *more, **named):
        seen.append(own.total)
        raise DiscreetError("far enough")

    monkeypatch.setattr(discreet.gossip.node, "GossipNode", stop)
    assert discreet_here("gossip", "keys", "--out", "keys", "--nodes", "a,b")[0] == 0
    code, _, error = discreet_here("gossip", "node", "--data", "rows.csv", "--name", "a", "--peers", "b=127.0.0.1:9",
                                   "--listen", "127.0.0.1:8", "--state", "state", "--keys", "keys", "--epsilon", 1,
                                   "--delta", "1e-6", "--schema", "s.toml", "--out", "m.json", *words)  # fmt: skip
    assert code == 2 and "far enough" in error
    assert seen == [Budget(epsilon, delta=Fraction(delta))]


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
