"""The store: one writer, one schema, whole changes; what is wrong with a file is said in one sentence."""

from __future__ import annotations

import sqlite3
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from discreet.errors import DiscreetError
from discreet.local.campaign import Campaign
from discreet.local.client import LocalClient
from discreet.local.collector import Collector
from discreet.local.store import Outcome, Store, StoreError, is_store
from tests.local.people import OTHER, SCHEMA, report_list

PERSON = {"colour": "red", "age": 40, "dose": 0.25, "ill": "no"}
HOLD = """
import sys
from discreet.local.collector import Collector
from tests.local.people import SCHEMA
collector = Collector(SCHEMA, store=sys.argv[1])
print("ready", flush=True)
sys.stdin.read()
"""


@pytest.fixture
def path(tmp_path):
    """A store with twenty reports."""
    with Collector(SCHEMA, store=tmp_path / "s.db") as collector:
        assert collector.add_batch(report_list(20)).accepted == 20
    return tmp_path / "s.db"


def test_another_schema(path):
    with pytest.raises(StoreError, match="another schema"):
        Collector(OTHER, store=path)
    assert Collector(SCHEMA, store=path).accepted == 20


@pytest.mark.parametrize("content", [b"hello" * 1000, b"SQLite format 3\0" + bytes(5000)])
def test_no_store_at_all(tmp_path, content):
    (tmp_path / "x").write_bytes(content)
    with pytest.raises(StoreError, match=r"no store of reports|another program|cannot be used"):
        Collector(SCHEMA, store=tmp_path / "x")
    assert (tmp_path / "x").read_bytes() == content


def test_another_programs_database(tmp_path):
    with sqlite3.connect(tmp_path / "x") as base:
        base.execute("CREATE TABLE t (a)")
    with pytest.raises(StoreError, match="another program"):
        Collector(SCHEMA, store=tmp_path / "x")


def test_a_later_version(path):
    with sqlite3.connect(path) as base:
        base.execute("PRAGMA user_version = 9")
    with pytest.raises(StoreError, match="version 9"):
        Collector(SCHEMA, store=path)


@pytest.mark.parametrize(
    "damage",
    [
        "DELETE FROM tallies WHERE input = 0",
        "DELETE FROM tallies",
        "UPDATE counts SET value = value + 1 WHERE name = 'accepted'",
        "UPDATE tallies SET support = x'00'",
        "UPDATE tallies SET support = zeroblob(8000)",
        "UPDATE tallies SET code = 99",
        "UPDATE facts SET value = '{' WHERE name = 'schema'",
        "DELETE FROM facts",
        "DROP TABLE ids",
    ],
)
def test_damage_is_noticed(path, damage):
    with sqlite3.connect(path) as base:
        base.execute(damage)
    with pytest.raises(StoreError, match="damaged"):
        Collector(SCHEMA, store=path).add(report_list(1, seed=4)[0])


def test_bytes_lost_in_the_middle(path):
    raw = bytearray(path.read_bytes())
    raw[4096:] = bytes(len(raw) - 4096)
    path.write_bytes(bytes(raw))
    with pytest.raises(StoreError, match="damaged"):
        Collector(SCHEMA, store=path)


def test_absent_directories_and_files(tmp_path):
    with pytest.raises(StoreError, match="no directory"):
        Collector(SCHEMA, store=tmp_path / "no" / "s.db")
    with pytest.raises(StoreError, match="there is no store"):
        Collector.load(tmp_path / "absent.db")
    assert not (tmp_path / "absent.db").exists()
    with pytest.raises(StoreError):
        Collector(SCHEMA, store=tmp_path)


def test_one_process_writes_while_others_may_read(path):
    holder = subprocess.Popen([sys.executable, "-c", HOLD, str(path)], stdin=-1, stdout=-1, text=True)
    try:
        assert holder.stdout.readline() == "ready\n"
        with pytest.raises(StoreError, match="in use by another process"):
            Collector(SCHEMA, store=path)
        with Collector.load(path, readonly=True) as reader:
            assert reader.accepted == 20
            with pytest.raises(StoreError, match="reading only"):
                reader.add_batch(report_list(1, seed=3))
    finally:
        holder.communicate("")
    assert Collector(SCHEMA, store=path).accepted == 20


def test_a_failed_change_leaves_no_trace(path, monkeypatch):
    collector = Collector(SCHEMA, store=path)
    more = report_list(10, seed=5)
    with monkeypatch.context() as patch:

        def fail(*_):
            raise sqlite3.OperationalError("database or disk is full")

        patch.setattr(collector._store, "write", fail)
        with pytest.raises(StoreError, match="disk is full"):
            collector.add_batch(more)
    assert collector.accepted == 20
    assert collector.add_batch(more) == Outcome(accepted=10)
    collector.close()
    assert Collector(SCHEMA, store=path).accepted == 30


def test_a_temporary_store_that_failed_is_not_used_again(monkeypatch):
    collector = Collector(SCHEMA)
    with monkeypatch.context() as patch:
        patch.setattr(collector._store, "write", lambda *_: 1 / 0)
        with pytest.raises(ZeroDivisionError):
            collector.add_batch(report_list(1))
    with pytest.raises(StoreError, match="begin anew"):
        collector.add_batch(report_list(1))


def test_ids_are_remembered_by_batch():
    store = Store(None, SCHEMA)
    ids = np.random.default_rng(1).integers(0, 256, (1000, 16), np.uint8)
    ids = ids[np.lexsort(ids.T[::-1])]
    with store.change():
        batch, fresh = store.remember(ids[::2])
        assert batch == 1 and fresh.all()
        store.write(batch, b"x", {}, {})
    with store.change():
        batch, fresh = store.remember(ids)
        assert batch == 2 and fresh.tolist() == [False, True] * 500
        store.write(batch, b"y", {}, {"accepted": 1})
    assert list(store.batches()) == [b"x", b"y"] and store.counts() == {"accepted": 1}


def test_what_is_a_store(path, tmp_path):
    (tmp_path / "r.bin").write_bytes(b"".join(report_list(2)))
    assert is_store(path) and not is_store(tmp_path / "r.bin")


def test_a_store_belongs_to_one_campaign(tmp_path: Path) -> None:
    path, first = tmp_path / "s.db", Campaign(SCHEMA, 2)
    with Collector(first, store=path) as collector:
        assert collector.add(LocalClient(first, memory=None).report(PERSON)) == "accepted"
    for other in (Campaign(SCHEMA, 6), Campaign(SCHEMA, 2, oracle="oue")):
        with pytest.raises(DiscreetError, match=r"holds reports of another campaign \(epsilon = 2, "):
            Collector(other, store=path)
    with Collector(first, store=path) as again:
        assert again.accepted == 1
    with Collector.load(path) as loaded:  # goes on with the campaign that it was kept for
        assert loaded.campaign == first
        assert loaded.summary()["campaign"] == first.fingerprint
        assert loaded.add(LocalClient(Campaign(SCHEMA, 6), memory=None).report(PERSON)) == "unexpected"
    with pytest.raises(DiscreetError, match="epsilon = 2"):
        Collector(SCHEMA, store=path, epsilon=6)


def test_a_store_without_a_campaign_is_taken_for_one_only_if_its_reports_fit(tmp_path: Path) -> None:
    path, campaign = tmp_path / "s.db", Campaign(SCHEMA, 2)
    with Collector(SCHEMA, store=path) as collector:
        collector.add(LocalClient(campaign, memory=None).report(PERSON))
    with pytest.raises(DiscreetError, match="reports of another design, with epsilon = 2"):
        Collector(Campaign(SCHEMA, 6), store=path)
    with Collector(campaign, store=path) as bound:
        assert bound.accepted == 1
    with Collector.load(path, readonly=True) as loaded:
        assert loaded.campaign == campaign


def test_a_store_that_everybody_could_read_is_closed(tmp_path: Path) -> None:
    path = tmp_path / "s.db"
    Collector(SCHEMA, store=path).close()
    path.chmod(0o644)
    with Collector(SCHEMA, store=path) as collector:
        collector.add(LocalClient(SCHEMA, 1, memory=None).report(PERSON))
        assert {one.name: oct(one.stat().st_mode & 0o007) for one in tmp_path.iterdir()} == {
            one.name: "0o0" for one in tmp_path.iterdir()
        }
