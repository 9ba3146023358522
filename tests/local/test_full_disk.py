"""A collector on a disk that really fills up, and that is killed meanwhile: nothing acknowledged is lost or doubled."""

from __future__ import annotations

import contextlib
import http.client
import json
import os
import random
import signal
import subprocess
import threading
import time

import pytest

from discreet.local.campaign import Campaign
from discreet.local.collector import Collector
from tests.local.people import SCHEMA, report_list
from tests.local.test_serve_process import BYTES, Server

pytest.importorskip("uvicorn", reason="the extra 'serve' is not installed")
BATCH = 100


class Disk:
    """A file system in memory, of a size that can be changed."""

    def __init__(self, place) -> None:
        self.place = place

    def size(self, megabytes: float, *options: str) -> None:
        said = [*options, f"size={int(megabytes * 1024)}k"]
        done = subprocess.run(["mount", "-t", "tmpfs", "-o", ",".join(said), "tmpfs", str(self.place)],
                              capture_output=True, text=True)  # fmt: skip
        if done.returncode:
            pytest.skip(f"no small disk can be mounted here: {done.stderr.strip()}")


@pytest.fixture
def disk(tmp_path):
    if not hasattr(os, "geteuid") or os.geteuid():
        pytest.skip("a small disk can be mounted by root only")
    made = Disk(tmp_path / "disk")
    made.place.mkdir()
    made.size(1)
    yield made
    subprocess.run(["umount", "-l", str(made.place)], check=False, capture_output=True)


def status(server: Server, path: str) -> int:
    with contextlib.closing(server.connect()) as connection:
        connection.request("GET", path)
        return connection.getresponse().status


def post(server: Server, batches, acknowledged: set[int], full: threading.Event) -> None:
    """Post batches in turn, again and again, until the server is gone; remember which were acknowledged."""
    with contextlib.suppress(OSError, http.client.HTTPException):
        for number, batch in batches:
            with contextlib.closing(server.connect()) as connection:
                connection.request("POST", "/reports", b"".join(batch), BYTES)
                answer = connection.getresponse()
                counts = json.loads(answer.read())
            if answer.status == 200:
                assert counts["accepted"] + counts["replayed"] == len(batch)
                acknowledged.add(number)
            else:
                assert answer.status == 503, counts
                full.set()
                time.sleep(0.02)


def rehearse(disk: Disk, rounds: int, dice: random.Random, size: int) -> None:
    """Fill the disk, kill -9, give it room, and so on; at the end everything is posted and counted once."""
    Campaign(SCHEMA, 1.0).save(disk.place / "c.json")
    reports = report_list(size)
    batches = list(enumerate(reports[i : i + BATCH] for i in range(0, size, BATCH)))
    acknowledged: set[int] = set()
    room, filled = 1.0, 0
    for turn in range(rounds):
        server, full = Server(disk.place), threading.Event()
        shares = [dice.sample(batches[i::3], len(batches[i::3])) for i in range(3)]
        threads = [threading.Thread(target=post, args=(server, share, acknowledged, full)) for share in shares]
        for thread in threads:
            thread.start()
        if turn % 2 == 0:
            assert full.wait(240), "the disk must fill up"
            filled += 1
            assert status(server, "/healthz") == 503
        else:
            time.sleep(dice.uniform(0, 1))
        time.sleep(dice.uniform(0, 0.1))
        code, errors = server.end(signal.SIGKILL)
        for thread in threads:
            thread.join()
        assert code == -signal.SIGKILL and (turn % 2 or "disk-failure" in errors), errors
        room += 0.5
        disk.size(room, "remount")
        with Collector.load(disk.place / "s.db") as after:
            held = BATCH * len(acknowledged)
            assert held <= after.accepted <= held + 3 * BATCH * (turn + 1)
    assert filled and 0 < len(acknowledged) < len(batches)
    disk.size(64, "remount")
    server = Server(disk.place)
    for number, batch in batches:
        counts = server.post(b"".join(batch))
        assert counts["accepted"] + counts["replayed"] == len(batch)
        assert number not in acknowledged or counts["replayed"] == len(batch), "an acknowledged report was lost"
    assert status(server, "/healthz") == 200
    code, errors = server.end(signal.SIGTERM)
    assert code == 0 and f"holds {size} reports" in errors
    once = Collector(SCHEMA)
    once.add_batch(reports)
    with Collector.load(disk.place / "s.db") as after:
        assert after.accepted == size and json.dumps(after.model().to_dict()) == json.dumps(once.model().to_dict())


def test_a_full_disk_and_a_kill_lose_and_double_nothing(disk):
    rehearse(disk, 1, random.Random(1), 30_000)


@pytest.mark.slow
def test_many_of_them_at_random(disk):
    rehearse(disk, 6, random.Random(), 120_000)
