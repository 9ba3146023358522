"""Status commands: a live table on a terminal, once for a pipe, JSON for machines; errors are one sentence."""

from __future__ import annotations

import json
import sys
import threading

import pytest

from discreet.cli import main, watching
from discreet.dashboard import Board

BOARDS = [Board("T", f"line {i}", [("fact", str(i))], ("who",), [["a"]], {"i": i}) for i in range(9)]


def run(monkeypatch, capsys, *words):
    monkeypatch.setattr(sys, "argv", ["discreet", *map(str, words)])
    with pytest.raises(SystemExit) as end:
        main()
    return end.value.code, capsys.readouterr()


def test_once_for_a_pipe_and_plain_for_machines(capsys):
    watching.watch(lambda: BOARDS[3], once=False, every=1, web=None, as_json=False)  # it would go on at a terminal
    assert "T: line 3" in capsys.readouterr().out
    watching.watch(lambda: BOARDS[3], once=False, every=1, web=None, as_json=True)
    assert json.loads(capsys.readouterr().out) == {"i": 3}


def test_a_terminal_is_drawn_again_and_again(monkeypatch, capsys):
    looks = iter(BOARDS[:4])

    def look():
        try:
            return next(looks)
        except StopIteration:
            raise KeyboardInterrupt from None

    monkeypatch.setattr(sys.stdout, "isatty", lambda: True)
    monkeypatch.setenv("TERM", "xterm")
    with pytest.raises(KeyboardInterrupt):
        watching.watch(look, once=False, every=0.1, web=None, as_json=False)
    out = capsys.readouterr().out
    assert all(f"line {i}" in out for i in range(4))


def test_a_page_says_where_it_is(monkeypatch, capsys):
    from discreet import dashboard

    made = []

    class Soon(dashboard.Dashboard):
        def serve_forever(self, poll_interval=0.5):
            made.append(self.server_port)
            raise KeyboardInterrupt

    monkeypatch.setattr(dashboard, "Dashboard", Soon)
    watching.watch(lambda: BOARDS[0], once=False, every=1, web=0, as_json=False)
    assert f"http://127.0.0.1:{made[0]}/?token=" in capsys.readouterr().err and threading.active_count() >= 1


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (["federate", "status", "--state", "."], "no coordinator has run"),
        (["local", "status", "host:1"], "http://HOST:PORT"),
        (["local", "status", "http://127.0.0.1:9"], "does not answer"),
        (["gossip", "status", "--state", "."], "no state"),
    ],
)
def test_errors_are_one_sentence(tmp_path, monkeypatch, capsys, words, sentence):
    monkeypatch.chdir(tmp_path)
    for more in ([], ["--json"], ["--web", "0"]):
        code, said = run(monkeypatch, capsys, *words, *more)
        assert code == 2 and sentence in said.err and said.err.count("\n") == 1 and not said.out


def test_a_coordinators_progress_is_kept_and_shown(tmp_path, monkeypatch, capsys):
    pytest.importorskip("flwr")
    from discreet.federated.flower.progress import Progress
    from discreet.federated.flower.task import RoundTask
    from tests.gossip.common import SCHEMA

    SCHEMA.save(tmp_path / "s.toml")
    task = RoundTask(str(tmp_path / "s.toml"), "m.json", 2, epsilon=1.0)
    passed = []
    progress = Progress(tmp_path, task, ["a", "b"], lambda event, what: passed.append(event))
    with pytest.raises(ValueError), progress.ending():
        progress("invited", "a, b")
        progress("enrolled", "a")
        progress("joined", "a")
        progress("asked", "a")
        progress("answered", "a")
        progress("refused", "b: budget")
        code, said = run(monkeypatch, capsys, "federate", "status", "--state", tmp_path, "--json")
        shown = json.loads(said.out)
        assert code == 0 and shown["phase"] == "gathering" and shown["answered"] == 1
        assert {one["node"]: one["state"] for one in shown["nodes"]} == {"a": "answered", "b": "refused"}
        alone = shown["expected_error"]
        progress("answered", "b")
        code, said = run(monkeypatch, capsys, "federate", "status", "--state", tmp_path, "--json")
        assert json.loads(said.out)["expected_error"] == pytest.approx(alone * 2**0.5)  # two noises
        raise ValueError
    code, said = run(monkeypatch, capsys, "federate", "status", "--state", tmp_path, "--once")
    assert "failed; 2 of 2 nodes have answered" in said.out and "± " in said.out
    assert (tmp_path / "status.json").stat().st_mode & 0o077 == 0 and passed[0] == "invited"
    (tmp_path / "status.json").write_text("{}")
    assert run(monkeypatch, capsys, "federate", "status", "--state", tmp_path)[0] == 2
