"""The commands: what they refuse, in one sentence, before anything is started or written."""

from __future__ import annotations

import subprocess
import sys

import pytest

from discreet.federated.flower import QUIET, keep_quiet
from discreet.federated.journal import Journal
from discreet.privacy.budget import Budget


def test_starting_up_does_not_import_flower():
    code = "import sys, discreet, discreet.cli; assert not {'flwr', 'cryptography', 'uvicorn'} & set(sys.modules)"
    subprocess.run([sys.executable, "-c", code], check=True, timeout=60)


def test_without_flower_one_sentence_says_how_to_install_it(tmp_path):
    code = (
        "import sys; sys.modules['flwr'] = None; from discreet.cli import main\n"
        f"sys.argv = ['discreet', 'federate', 'keys', '--out', {str(tmp_path / 'k')!r}, '--nodes', 'a']; main()"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60)
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
    assert "disabled" in str(future.result(timeout=10)).lower()
    update_check.warn_if_flwr_update_available(process_name="flower-superlink")
    assert [path.name for path in tmp_path.iterdir()] in (
        [],
        ["source"],
    )  # a number it makes up and then keeps to itself


@pytest.fixture
def place(tmp_path, schema, frame):
    schema.save(tmp_path / "schema.toml")
    frame.to_parquet(tmp_path / "rows.parquet")
    return tmp_path


NODE = ["node", "--data", "rows.parquet", "--schema", "schema.toml", "--epsilon", 1, "--name", "a"]
WIRE = ["--coordinator", "127.0.0.1:9", "--ledger", "ledger"]


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        ([*NODE, *WIRE], "--insecure"),
        ([*NODE, *WIRE, "--keys", "nowhere"], "there is no key file"),
        ([*NODE, *WIRE, "--insecure", "--secure"], "--secure needs --keys"),
        (["node", "--data", "no.parquet", *NODE[3:], *WIRE, "--insecure"], "no file is called"),
        ([*NODE, "--coordinator", "here", "--ledger", "ledger", "--insecure"], "no address"),
        (["coordinator", "--schema", "schema.toml", "--out", "m.json", "--state", "s"], "--insecure"),
        (["run", "--shards", "none-*", "--schema", "schema.toml", "--epsilon", 1, "--out", "m"], "no file is called"),
        (["ledger", "nothing"], "there is no ledger"),
        (["keys", "--out", "k", "--nodes", "a b"], "no name for a node"),
    ],
)
def test_one_sentence_and_exit_code_2(discreet, place, arguments, sentence):
    done = discreet("federate", *arguments, cwd=place)
    assert done.returncode == 2 and sentence in done.stderr, done.stderr
    assert "Traceback" not in done.stderr
    assert sorted(path.name for path in place.iterdir()) == ["rows.parquet", "schema.toml"]


def test_a_ledger_can_be_read_and_its_total_raised_by_its_owner(discreet, tmp_path):
    with Journal(tmp_path / "ledger", total=Budget(1), unit="one row") as journal:
        journal.answer("first", "q", Budget(1), lambda: b"x")
    shown = discreet("federate", "ledger", tmp_path / "ledger")
    assert shown.returncode == 0 and "first" in shown.stdout and "epsilon = 1 in all" in shown.stdout
    raised = discreet("federate", "ledger", tmp_path / "ledger", "--total", 3, "--json")
    assert raised.returncode == 0 and '"total": "epsilon = 3"' in raised.stdout
    assert Journal.about(tmp_path / "ledger")[0] == Budget(3)
