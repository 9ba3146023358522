"""The court of claims: the protocol with a driver that needs no library, a real library of the test run, the page."""

import hashlib
import json
import re
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from discreet.cli.peers import hear_all
from discreet.errors import AuditError
from discreet.peers import CASES, Journal, PeerCase, chosen, hear, not_run, page
from discreet.peers.court import DRIVERS, Driver
from discreet.peers.environments import PINS, BuildError, build

HERE = Path(sys.executable)
DOCS = Path(__file__).parents[2] / "docs"
COIN = PeerCase("stub/coin", "stub", "coin", {"epsilon": 1.0}, 0, 1, "a bit", 1.0, samples=4_000)


def test_a_claim_that_holds_is_consistent_and_one_that_does_not_leaks():
    # At 1 - 1e-7 confidence, a false alarm of the first has that probability; the second's true epsilon is 3.
    told = []
    held = hear(COIN, HERE, confidence=1 - 1e-7, tell=lambda done, total: told.append((done, total)))
    assert held["verdict"] == "consistent" and held["lower_bound"] <= 1 and held["samples"] == 4_000
    assert told[-1] == (4_000, 4_000) and len(told) > 5
    broken = hear(replace(COIN, setting={"epsilon": 1.0, "factor": 3.0}), HERE, confidence=1 - 1e-7)
    assert broken["verdict"] == "leaks" and 1 < broken["lower_bound"] <= 3
    assert broken["reproduction"]["left"] == {"function": "coin", "setting": broken["setting"], "data": 0, "size": 1}
    keys = {"name", "epsilon", "delta", "lower_bound", "confidence", "pair", "event", "samples", "seconds", "verdict"}
    assert keys <= set(broken) and json.dumps(broken)


def test_without_a_stated_epsilon_nothing_is_called_a_leak():
    unstated = replace(COIN, setting={"epsilon": 1.0, "factor": 3.0}, stated=False)
    assert hear(unstated, HERE)["verdict"] == "above the comparison"


def test_a_library_that_raises_ends_or_takes_too_long_is_no_verdict(tmp_path):
    with pytest.raises(AuditError, match="stub raised ValueError: no such setting"):
        hear(replace(COIN, function="failing", setting={}), HERE)
    with pytest.raises(AuditError, match="ended early"):
        Driver(Path("/bin/false"), "stub")
    with pytest.raises(AuditError, match="took longer"), Driver(HERE, "stub", limit=0.5) as driver:
        while True:
            driver.ask(COIN.request(0, 20_000))
    said = not_run(COIN, "no wheel")
    assert said["verdict"] == "could not be run: no wheel" and said["lower_bound"] is None
    assert "could not be run: no wheel" in page([said])


def test_runs_are_fewer_than_planned_where_time_is_short_and_the_page_says_so():
    held = hear(COIN, HERE, samples=40_000_000, limit=2.0)
    assert 400 <= held["samples"] < held["planned"] == 40_000_000
    assert f"{held['samples']:,} of 40,000,000 |" in page([held])
    assert "| 4,000 |" in page([held | {"samples": 4_000, "planned": 4_000}])


def test_a_journal_keeps_what_was_heard_and_forgets_what_is_torn(tmp_path):
    path = tmp_path / "peers.journal"
    journal = Journal(path)
    for name in ("one", "two"):
        journal.add(replace(COIN, name=name), None, 0.95, {"name": name})
    path.write_bytes(path.read_bytes()[:-5])  # the second was being written
    again = Journal(path)
    assert len(again) == 1 and again.get(replace(COIN, name="one"), None, 0.95) == {"name": "one"}
    again.add(COIN, None, 0.95, {"name": "three"})
    assert Journal(path).get(COIN, COIN.samples, 0.95) == {"name": "three"}
    for other in (replace(COIN, epsilon=2.0), replace(COIN, samples=400)):
        assert again.get(other, None, 0.95) is None  # another case, whatever its name
    assert again.get(COIN, None, 0.9) is None


ALIEN = [b"garbage\n", b"\xff\xfe\n", b"\n", b"[1]\n", b'{"x": 1}\n', b'{"of": "x", "result": 5}\n',
         b'{"of": 1, "result": {}}\n', "\u2028\n".encode(), b"[" * 100_000 + b"\n", b'{"of": "\xc3']  # fmt: skip


@pytest.mark.parametrize("alien", ALIEN, ids=range(len(ALIEN)))
def test_a_journal_leaves_out_lines_that_are_no_results(tmp_path, alien):
    path = tmp_path / "peers.journal"
    Journal(path).add(COIN, None, 0.95, {"name": "a\u2028b\x85c \u00e9"})
    whole = path.read_bytes()
    path.write_bytes((alien if alien.endswith(b"\n") else b"") + whole + alien)
    again = Journal(path)
    assert len(again) == 1 and again.get(COIN, None, 0.95) == {"name": "a\u2028b\x85c \u00e9"}
    again.add(replace(COIN, name="two"), None, 0.95, {"name": "two"})
    assert len(Journal(path)) == 2 and path.read_bytes().endswith(b"\n")


def test_a_journal_that_cannot_be_read_or_written_is_one_sentence(tmp_path):
    path = tmp_path / "peers.journal"
    journal = Journal(path)
    path.mkdir()
    with pytest.raises(AuditError, match="cannot use the journal"):
        Journal(path)
    with pytest.raises(AuditError, match="cannot write the journal"):
        journal.add(COIN, None, 0.95, {})


def test_the_command_writes_the_page_itself_and_carries_on(tmp_path, monkeypatch, capsys):
    cases = [replace(COIN, name=name) for name in ("stub/one", "stub/two", "stub/three")]
    heard = []

    def hear_one(case, python, **more):
        heard.append(case.name)
        if len(heard) == 2:
            raise KeyboardInterrupt
        if len(heard) == 4:
            raise AuditError("stub raised ValueError")
        return hear(case, HERE, **more)

    monkeypatch.setattr("discreet.peers.chosen", lambda names: cases)
    monkeypatch.setattr("discreet.peers.build", lambda pins, folder: HERE)
    monkeypatch.setattr("discreet.peers.hear", hear_one)
    monkeypatch.setattr("discreet.peers.journal.pinned", lambda family: tmp_path / "none")
    words = {"names": [], "listing": False, "folder": tmp_path, "samples": 800, "confidence": 0.95, "as_json": False}
    out = tmp_path / "docs"
    with pytest.raises(KeyboardInterrupt):
        hear_all(**words, out=out)
    assert (out / "peers.journal").exists() and not (out / "peers.md").exists()
    hear_all(**words, out=out)  # the first is not heard again, the third could not be run
    assert heard == ["stub/one", "stub/two", "stub/two", "stub/three"] and (out / "peers.journal").exists()
    assert "could not be run" in (out / "peers.md").read_text() and "1 results of before" in capsys.readouterr().err
    hear_all(**words, out=out)
    assert heard[4:] == ["stub/three"] and {file.name for file in out.iterdir()} == {"peers.json", "peers.md"}
    results = json.loads((out / "peers.json").read_text())
    assert [one["samples"] for one in results] == [800] * 3 and (out / "peers.md").read_text() == page(results)
    with pytest.raises(AuditError, match="leave out NAMEs"):
        hear_all(**words | {"names": ["stub"]}, out=out)


def test_environments_are_reused_and_a_failure_is_one_sentence(tmp_path, monkeypatch):
    pins = tmp_path / "nothing.txt"
    pins.write_text("# None.\n")
    monkeypatch.setattr("discreet.peers.environments.sys.executable", "/bin/false")
    with pytest.raises(BuildError, match="the environment of nothing could not be built"):
        build(pins, tmp_path)
    monkeypatch.setattr("discreet.peers.environments.sys.executable", "/bin/true")
    place = tmp_path / f"nothing-{hashlib.sha256(pins.read_bytes()).hexdigest()[:12]}"
    (place / "bin").mkdir(parents=True)
    (place / "ready").touch()
    assert build(pins, tmp_path) == place / "bin" / "python"


def test_flower_of_this_environment_is_heard():
    pytest.importorskip("flwr")
    case = next(case for case in CASES if case.name == "flower/local-dp-mod-small-sensitivity")
    heard = hear(case, HERE, samples=1_000)
    assert heard["version"] and heard["samples"] == 1_000 and heard["lower_bound"] >= 0


def test_cases_are_enough_have_drivers_and_pins_without_addresses():
    assert len(CASES) >= 12 and len({case.name for case in CASES}) == len(CASES)
    for case in CASES:
        assert (DRIVERS / f"{case.family}.py").is_file() and case.left != case.right
        lines = (PINS / f"{case.family}.txt").read_text().splitlines()[1:]
        assert lines and all(re.fullmatch(r"[A-Za-z0-9_.-]+==[A-Za-z0-9_.]+", line) for line in lines)
    assert {case.family for case in chosen(["dpmm", "nvflare/svt"])} == {"dpmm", "nvflare"}
    with pytest.raises(AuditError, match="No case of another library"):
        chosen(["nothing"])


def test_the_page_is_what_the_results_say():
    results = json.loads((DOCS / "peers.json").read_text(encoding="utf-8"))
    assert len(results) >= 12 and (DOCS / "peers.md").read_text(encoding="utf-8") == page(results)
    assert [one["name"] for one in results] == [case.name for case in CASES]


def test_the_command_lists_cases_and_refuses_what_is_not_for_peers(discreet):
    listed = json.loads(discreet("audit", "--peers", "--list", "--json").stdout)
    assert [one["name"] for one in listed] == [case.name for case in CASES]
    assert discreet("audit", "--peers", "--controls").returncode == 2
    for option in ("--environments", "--out"):
        assert discreet("audit", option, "x", "--list").returncode == 2
