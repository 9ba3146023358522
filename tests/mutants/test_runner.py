"""A run in a small tree of its own: verdicts, and that every fault is taken out again."""

import pytest

from tests.mutants import runner
from tests.mutants.fault import Fault

SOURCE = "def noisy(value):\n    return value + 1\n\n\ndef unused():\n    return 0\n"
TEST = "from discreet.room import noisy\n\n\ndef test_noise():\n    assert noisy(1) == 2\n"


@pytest.fixture
def tree(tmp_path, monkeypatch):
    for name in ("src/discreet", "tests", "docs", "benchmarks"):
        (tmp_path / name).mkdir(parents=True)
    for name in ("src/discreet/__init__.py", "tests/__init__.py", "README.md", "constraints.txt"):
        (tmp_path / name).write_text("")
    (tmp_path / "pyproject.toml").write_text("[tool.pytest.ini_options]\nmarkers = ['slow: long']\n")
    (tmp_path / "src/discreet/room.py").write_text(SOURCE)
    (tmp_path / "tests/test_room.py").write_text(TEST)
    monkeypatch.setattr(runner, "ROOT", tmp_path)
    monkeypatch.setattr(runner, "HEAVY", ())
    return tmp_path


def fault(name, old, new):
    return Fault(name, "room", "room.py", old, new, "a word", ("test_room.py",))


def test_what_a_test_notices_is_killed_and_all_else_is_not(tree):
    faults = [
        fault("exact", "value + 1", "value"),
        fault("unseen", "return 0", "return 1"),
        fault("unreadable", "def noisy(value):", "def other(value):"),
        fault("doubled", "value + 1", "value + 2"),  # as long as the original: only its time stamp tells them apart
    ]
    told = []
    outcomes, wrong = runner.run(faults, jobs=2, baseline=True, tell=told.append)
    assert not wrong and len(told) == 5
    assert [outcome.verdict for outcome in outcomes] == [runner.KILLED, runner.SURVIVED, runner.BROKEN, runner.KILLED]
    assert outcomes[0].noticed == "tests/test_room.py::test_noise"
    assert (tree / "src/discreet/room.py").read_text() == SOURCE


def test_tests_that_fail_without_a_fault_are_no_witnesses(tree):
    (tree / "tests/test_room.py").write_text(TEST.replace("== 2", "== 3"))
    outcomes, wrong = runner.run([fault("exact", "value + 1", "value")], jobs=1, baseline=True, tell=lambda news: None)
    assert not outcomes and "test_noise" in wrong


def test_a_fault_that_hangs_is_stopped(tree, monkeypatch):
    monkeypatch.setattr(runner, "LIMIT", 2.0)
    hung = fault("hung", "    return value + 1\n", "    while True:\n        pass\n")
    (outcome,), _ = runner.run([hung], jobs=1, baseline=False, tell=lambda news: None)
    assert outcome.verdict == runner.HUNG
