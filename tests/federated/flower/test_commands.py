"""The commands: what they refuse, in one sentence, before anything is started or written."""

from __future__ import annotations

import os
import shlex
import signal
import subprocess
import sys
from fractions import Fraction

import pytest
import typer

from discreet.cli import app
from discreet.cli.running import run
from discreet.federated.flower import QUIET, keep_quiet
from discreet.federated.flower.answers import total_budget
from discreet.federated.threshold import most_dropouts
from discreet.nodes.journal import Journal
from discreet.privacy.budget import Budget
from tests.docs.blocks import blocks

pytestmark = pytest.mark.usefixtures("one_tree")


def test_starting_up_does_not_import_flower():
    code = "import sys, discreet, discreet.cli; assert not {'flwr', 'cryptography', 'uvicorn'} & set(sys.modules)"
    subprocess.run([sys.executable, "-c", code], check=True, timeout=300)


def test_without_flower_one_sentence_says_how_to_install_it(tmp_path):
    code = (
        "import sys; sys.modules['flwr'] = None; from discreet.cli import main\n"
        f"sys.argv = ['discreet', 'federate', 'keys', '--out', {str(tmp_path / 'k')!r}, '--nodes', 'a']; main()"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=300)
    assert done.returncode == 2 and "pip install 'discreet[federated]'" in done.stderr
    assert len(done.stderr.splitlines()) == 1 and not (tmp_path / "k").exists()


def test_flower_is_kept_quiet(tmp_path, monkeypatch):
    import os

    from flwr.supercore import telemetry, update_check

    monkeypatch.setattr(telemetry, "FLWR_TELEMETRY_ENABLED", "1")
    monkeypatch.setenv("FLWR_HOME", "elsewhere")
    keep_quiet(tmp_path)
    assert all(os.environ[name] == value for name, value in QUIET.items())
    assert os.environ["FLWR_HOME"] == str(tmp_path)
    # With these settings neither of the two ever opens a connection.
    monkeypatch.setattr(telemetry.urllib.request, "urlopen", lambda *a, **k: pytest.fail("telemetry was sent"))
    monkeypatch.setattr(update_check.requests, "post", lambda *a, **k: pytest.fail("an update was looked for"))
    monkeypatch.setattr(update_check.requests, "get", lambda *a, **k: pytest.fail("an update was looked for"))
    future = telemetry.event(telemetry.EventType.RUN_SUPERLINK_ENTER)
    assert "disabled" in str(future.result(timeout=60)).lower()
    update_check.warn_if_flwr_update_available(process_name="flower-superlink")
    assert [path.name for path in tmp_path.iterdir()] in (
        [],
        ["source"],
    )  # a number it makes up and then keeps to itself


def documented():
    """Every command of ours in the docs' code blocks."""
    text = "".join(block.text for block in blocks("federated-deployment.md")).replace("\\\n", " ")
    lines = [line.removeprefix("$ ") for line in text.splitlines()]
    return [shlex.split(line) for line in lines if line.startswith("discreet ")]


def test_documented_commands_and_options_exist():
    federate = typer.main.get_command(app).commands["federate"].commands
    assert {words[2] for words in documented()} >= {"keys", "coordinator", "node", "run"}
    for words in documented():
        known = {option for one in federate[words[2]].params for option in (*one.opts, *one.secondary_opts)}
        assert {word for word in words if word.startswith("--")} <= known, words


def test_documented_masks_work_with_the_documented_nodes():
    """The page begins with three nodes: its own flags must open a sum of theirs."""
    nodes = sum(word == "--public" for words in documented() for word in words)
    masked = [words for words in documented() if "--secure" in words]
    assert nodes == 3 and {words[2] for words in masked} == {"invite", "coordinator", "node"}
    for words in masked:
        told = (("--dropouts", 0), ("--colluding", 1))
        dropouts, colluding = (int(words[words.index(flag) + 1]) if flag in words else usual for flag, usual in told)
        assert dropouts <= most_dropouts(nodes, colluding)
        if words[2] == "invite":
            assert len(words[words.index("--nodes") + 1].split(",")) == nodes


@pytest.fixture
def place(tmp_path, schema, frame):
    schema.save(tmp_path / "schema.toml")
    frame.to_parquet(tmp_path / "rows.parquet")
    return tmp_path


NODE = ["node", "--data", "rows.parquet", "--schema", "schema.toml", "--epsilon", 1, "--name", "a"]
RUN = ["run", "--shards", "rows.parquet", "--schema", "schema.toml", "--out", "m.json"]
WIRE = ["--coordinator", "127.0.0.1:9", "--ledger", "ledger"]


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        ([*NODE, *WIRE], "--insecure"),
        ([*NODE, *WIRE, "--keys", "nowhere"], "there is no key file"),
        ([*NODE, *WIRE, "--insecure", "--secure"], "--secure needs --keys"),
        (["node", "--data", "no.parquet", *NODE[3:], *WIRE, "--insecure"], "there is no file no.parquet"),
        ([*NODE, "--coordinator", "here", "--ledger", "ledger", "--insecure"], "no address"),
        (["coordinator", "--schema", "schema.toml", "--out", "m.json", "--state", "s"], "--insecure"),
        (["run", "--shards", "none-*", "--schema", "schema.toml", "--epsilon", 1, "--out", "m"], "no file is called"),
        ([*RUN, "--epsilon", 0], "must be above zero"),
        ([*RUN, "--epsilon", "inf"], "--no-privacy"),
        ([*RUN, "--epsilon", 1, "--total", "inf"], "--no-privacy"),
        ([*RUN, "--epsilon", 1, "--weighting", "cut-off"], "goes with a cutoff"),
        ([*RUN, "--epsilon", 1, "--weighting", "loudest"], "weighting must be one of"),
        ([*RUN, "--epsilon", 1, "--weighting", "trimmed", "--robust", 0.7], "share of lying nodes"),
        ([*RUN, "--epsilon", 1, "--secure"], "neither colluding nor allowed to drop out"),
        ([*RUN, "--epsilon", 1, "--mechanism", "gaussian"], "delta"),
        ([*NODE[:5], "--epsilon", "inf", *NODE[7:], *WIRE, "--insecure"], "--no-privacy"),
        ([*NODE, "--total", "inf", *WIRE, "--insecure"], "--no-privacy"),
        (["ledger", "nothing"], "there is no ledger"),
        (["keys", "--out", "k", "--nodes", "a b"], "no name for a node"),
        (["keys", "--out", "k"], "give one of --node"),
        (["keys", "--out", "k", "--node", "a", "--nodes", "a,b"], "give one of --node"),
        (["keys", "--out", "k", "--node", "../a"], "no name for a node"),
        (["keys", "--out", "k", "--public", "a.pub"], "there is no public key"),
        (["keys", "--out", "k", "--public", "schema.toml"], "is no public key"),
    ],
)
def test_one_sentence_and_exit_code_2(place, arguments, sentence, monkeypatch, capsys):
    monkeypatch.chdir(place)
    monkeypatch.setattr(sys, "argv", ["discreet", "federate", *map(str, arguments)])
    monkeypatch.setattr(signal, "signal", lambda *_: None)
    assert run(app) == 2
    said = capsys.readouterr().err
    assert sentence in said and len(said.splitlines()) == 1
    assert sorted(path.name for path in place.iterdir()) == ["rows.parquet", "schema.toml"]


def test_a_ledger_can_be_read_and_its_total_raised_by_its_owner(tmp_path, monkeypatch, capsys):
    with Journal(tmp_path / "ledger", total=Budget(1), unit="one row") as journal:
        journal.answer("first", "q", Budget(1), lambda: b"x")

    def say(*more):
        monkeypatch.setattr(sys, "argv", ["discreet", "federate", "ledger", str(tmp_path / "ledger"), *more])
        with pytest.raises(SystemExit) as ended:
            run(app)
        assert not ended.value.code
        return capsys.readouterr().out

    shown = say()
    assert "first" in shown and "epsilon = 1 in all" in shown
    assert '"total": "epsilon = 3"' in say("--total", "3", "--json")
    with Journal.open(tmp_path / "ledger") as journal:
        assert journal.total == Budget(3)
    say("--total", "3", "--total-delta", "0.001")
    say("--total", "4")  # a delta that was granted stays
    with Journal.open(tmp_path / "ledger") as journal:
        assert journal.total == Budget(4, 0.001)


@pytest.mark.parametrize(
    ("terms", "granted"),
    [
        ((1, 1e-6), Budget(1, 1e-6)),
        ((1, 1e-6, 3), Budget(3, Fraction(3, 10**6))),
        ((0.1, 1e-6, 0.35), Budget(0.35, Fraction(3, 10**6))),
        ((1, 1e-6, 0.5), Budget(0.5, 1e-6)),
        ((1, 1e-6, 3, 1e-6), Budget(3, 1e-6)),
        ((1, 1e-6, None, 1e-3), Budget(1, 1e-3)),
        ((1, 0, 3), Budget(3)),
    ],
)
def test_a_total_pays_for_the_delta_of_all_its_rounds(terms, granted):
    assert total_budget(*terms) == granted


@pytest.mark.skipif(
    "DISCREET_SLOW" not in os.environ, reason="slow: run it by 'make deployment'"
)  # a dozen processes: a run that goes well is in test_run.py
def test_a_run_ends_with_what_its_nodes_say(place, frame, discreet):
    """A label that the schema does not list keeps a node from starting: the run says so and does not wait for it."""
    frame.replace({"ill": {"yes": "perhaps"}}).to_parquet(place / "spoilt.parquet")
    done = discreet("federate", *RUN[:1], "--shards", "*.parquet", *RUN[3:], "--epsilon", 1, "--insecure", cwd=place)
    assert done.returncode == 2
    assert "nodes have stopped" in done.stderr.splitlines()[-1] and "spoilt" in done.stderr.splitlines()[-1]
    assert not (place / "m.json").exists()
