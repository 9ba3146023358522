"""The local collector under load: batches posted to a server on the loopback, reports read from a file, memory."""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import re
import signal
import statistics
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections.abc import Callable, Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any

from benchmarks.common import line, made_up_rows, made_up_schema
from discreet.local.bulk import report_rows
from discreet.local.campaign import Campaign
from discreet.local.wire.frames import frames_of_buffers
from discreet.sources import read_rows

CONNECTIONS = 64
COLLECT = """
import re, sys, time
from discreet import Schema
from discreet.local.collector import Collector
collector, rows = Collector(Schema.load(sys.argv[1]), store=sys.argv[3] or None), []
collector.add_batch(b"?")
start, cpu = time.perf_counter(), time.process_time()
for step in range(int(sys.argv[4])):
    collector.read(sys.argv[2] + str(step))
    peak = re.search(r"VmHWM:\\s+(\\d+) kB", open("/proc/self/status").read())
    rows.append((collector.accepted, int(peak[1]) / 1024))
print(time.perf_counter() - start, time.process_time() - cpu, *(f"{a}:{b}" for a, b in rows))
"""
SLOW = 5000
TURN = 10.0  # seconds between two looks of a slow sender at its connection
# Holds half-sent heads from many addresses: each sends a further line at its turns, or begins anew if it was cut off.
ATTACK = """
import resource, socket, sys, threading, time
port, count, turn = int(sys.argv[1]), int(sys.argv[2]), float(sys.argv[3])
resource.setrlimit(resource.RLIMIT_NOFILE, (resource.getrlimit(resource.RLIMIT_NOFILE)[1],) * 2)
over = threading.Event()
def begin(i):
    one = socket.socket()
    one.bind((f"127.1.{i % 40}.{1 + i % 250}", 0))
    one.settimeout(10)
    try:
        one.connect(("127.0.0.1", port))
        one.sendall(b"POST /reports HTTP/1.1\\r\\nhost: x\\r\\n")
    except OSError:
        pass
    one.setblocking(False)
    return one
threading.Thread(target=lambda: (sys.stdin.readline(), over.set()), daemon=True).start()
held, opened = [begin(i) for i in range(count)], count
print("open", flush=True)
start, done = time.monotonic(), 0
while not over.is_set():
    while done < count * (time.monotonic() - start) / turn and not over.is_set():
        one = held[done % count]
        try:
            one.sendall(b"x-slow: 1\\r\\n")
            if one.recv(1) == b"":
                raise ConnectionResetError
        except BlockingIOError:
            pass
        except OSError:
            one.close()
            held[done % count], opened = begin(done % count), opened + 1
        done += 1
    time.sleep(0.005)
print(opened, flush=True)
"""


def reports(size: int, seed: int) -> bytes:
    """A report of each of that many made-up people."""
    schema = made_up_schema()
    codes, numbers, y = made_up_rows(size, seed)
    columns = dict(zip(schema.names, [*codes.T, *numbers.T], strict=True))
    import pandas as pd

    rows = next(iter(read_rows(pd.DataFrame({**columns, "y": y}), schema)))
    return report_rows(Campaign(schema, 1.0), rows)


async def _sender(port: int, batches: list[bytes], counts: list[int]) -> None:
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    for body in batches:
        kind = "content-type: application/octet-stream"
        head = f"POST /reports HTTP/1.1\r\nhost: localhost\r\n{kind}\r\ncontent-length: {len(body)}\r\n\r\n"
        writer.write(head.encode() + body)
        answer = await reader.readuntil(b"\r\n\r\n")
        size = int(re.search(rb"content-length: (\d+)", answer)[1])  # type: ignore[index]
        counts.append(json.loads(await reader.readexactly(size))["accepted"])
    writer.close()


async def _load(port: int, batches: list[bytes]) -> tuple[float, int]:
    counts: list[int] = []
    start = time.perf_counter()
    await asyncio.gather(*(_sender(port, batches[i::CONNECTIONS], counts) for i in range(CONNECTIONS)))
    return time.perf_counter() - start, sum(counts)


def _processor(pid: int) -> float:
    """Seconds of processor time that a process has used."""
    fields = Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def post(folder: Path, per_batch: int, batches: int) -> tuple[float, float, float]:
    """Batches per second (by the clock, by the server's processor time) and reports per second, all of them durable."""
    Campaign(made_up_schema(), 1.0).save(folder / "c.json")
    server, told = _serve(folder, "--campaign", "c.json", "--store", f"s{per_batch}.db")
    try:
        port = int(told["address"].rsplit(":", 1)[1])
        raw = reports(per_batch * batches, per_batch)
        edges = [0, *frames_of_buffers([raw]).ends[per_batch - 1 :: per_batch].tolist()]
        bodies = [raw[start:stop] for start, stop in pairwise(edges)]
        asyncio.run(_load(port, bodies[: batches // 10]))
        before = _processor(server.pid)
        seconds, accepted = asyncio.run(_load(port, bodies[batches // 10 :]))
        spent = _processor(server.pid) - before
    finally:
        server.send_signal(signal.SIGTERM)
        server.wait()
    assert accepted == per_batch * (batches - batches // 10)
    sent = batches - batches // 10
    return sent / seconds, sent / spent, accepted / seconds


def _serve(folder: Path, *arguments: Any, alone: bool = False) -> tuple[subprocess.Popen[str], dict[str, Any]]:
    """A collector on a free port, and what it said when it listened; `alone` it starts on a core of its own."""
    script = Path(sys.executable).with_name("discreet")
    command = [script, "local", "serve", *arguments, "--port", "0", "--json"]
    with _on_core(0) if alone else contextlib.nullcontext():  # a process stays where its parent was
        server = subprocess.Popen(command, cwd=folder, stdout=subprocess.PIPE, text=True)
    assert server.stdout is not None
    return server, json.loads(server.stdout.readline())


@contextlib.contextmanager
def _on_core(number: int, others: bool = False) -> Iterator[bool]:
    """Run this process, and what it starts, on one of its cores, or on all `others`; False where there are not two."""
    allowed = os.sched_getaffinity(0) if hasattr(os, "sched_getaffinity") else set()
    if len(allowed) < 2:
        yield False
        return
    one = {sorted(allowed)[number]}
    os.sched_setaffinity(0, allowed - one if others else one)
    try:
        yield True
    finally:
        os.sched_setaffinity(0, allowed)


async def _devices(port: int, bodies: list[bytes]) -> int:
    """Posts of devices that open a connection each, sixteen at a time; the answer is how many were counted."""
    counts: list[int] = []
    turns = asyncio.Semaphore(16)

    async def device(body: bytes) -> None:
        async with turns:
            await _sender(port, [body], counts)

    await asyncio.gather(*(device(body) for body in bodies))
    return sum(counts)


def crowded(folder: Path, rounds: int = 5, posts: int = 1500) -> dict[str, Any]:
    """What a post costs the server alone and beside slow senders, by turns, and what those cost by themselves.

    Costs are seconds of the server's processor time; `clock` has posts per second as they came to be. The server has a
    core to itself, and whoever sends, slowly or not, the others: what an attacker's own machine would do is not its
    work.
    """
    Campaign(made_up_schema(), 1.0).save(folder / "c.json")
    server, told = _serve(folder, "--campaign", "c.json", "--store", "crowded.db", alone=True)
    port = int(told["address"].rsplit(":", 1)[1])
    found: dict[str, Any] = {"alone": [], "beside": [], "share": [], "clock": ([], []), "counted": 0, "opened": 0}
    raw = reports((2 * rounds + 1) * posts, 7)
    bodies = [raw[a:b] for a, b in pairwise([0, *frames_of_buffers([raw]).ends.tolist()])]

    def busy(work: Callable[[], int]) -> tuple[float, float]:
        start, before = time.perf_counter(), _processor(server.pid)
        found["counted"] += work()
        return _processor(server.pid) - before, time.perf_counter() - start

    def devices() -> int:
        return asyncio.run(_devices(port, [bodies.pop() for _ in range(posts)]))

    with contextlib.ExitStack() as ended:
        ended.callback(server.wait)
        ended.callback(server.terminate)
        found["apart"] = ended.enter_context(_on_core(0, others=True))
        devices()
        for _ in range(rounds):
            spent, seconds = busy(devices)
            found["alone"].append(spent / posts)
            found["clock"][0].append(posts / seconds)
            command = [sys.executable, "-c", ATTACK, str(port), str(SLOW), str(TURN)]
            attack = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
            ended.callback(attack.kill)
            assert attack.stdout is not None and attack.stdout.readline() == "open\n"
            time.sleep(1.2 * TURN)  # until the first are cut off and begin anew: from here on it goes on like this
            spent, seconds = busy(lambda: time.sleep(TURN) or 0)
            share = spent / seconds
            spent, seconds = busy(devices)
            found["share"].append(share)
            found["beside"].append((spent - share * seconds) / posts)
            found["clock"][1].append(posts / seconds)
            found["opened"] += int(attack.communicate("stop\n", timeout=60)[0])
            time.sleep(1)
    return {**found, "sent": 2 * rounds * posts}


def crowded_lines(folder: Path) -> list[dict[str, Any]]:
    """What slow senders leave to honest ones: of a core, what is not theirs, at what a post costs beside them.

    Each turn beside them is held against the turn alone just before; the figures are medians of such pairs.
    """
    found = crowded(folder)
    pairs = list(zip(found["alone"], found["beside"], found["share"], strict=True))
    kept = [(1 - share) * alone / beside for alone, beside, share in pairs]
    clock = [after / before for before, after in zip(*found["clock"], strict=True)]
    alone, beside, share = (statistics.median(column) for column in zip(*pairs, strict=True))
    before, after = (statistics.median(one) for one in found["clock"])
    apart = "the server on a core of its own" if found["apart"] else "all on one core"
    what = f"honest posts beside {SLOW:,} half-sent heads ({found['opened']:,} opened, {len(pairs)} turns, {apart})"
    costs = f"{1e3 * alone:.2f} -> {1e3 * beside:.2f} ms of the server's processor time each, and {share:.1%} of a core"
    spread, counted = f"from {min(kept):.2f} to {max(kept):.2f}", found["counted"] / found["sent"]
    middle = statistics.median(kept)
    return [
        line(f"{what}: {costs} for the slow ones; {spread}", middle, "of the rate alone", ">= 0.9", middle >= 0.9),
        line(f"{what}: by the clock, {before:.0f} -> {after:.0f} posts/s, {os.getloadavg()[0]:.0f} processes at work, "
             f"from {min(clock):.2f} to {max(clock):.2f}", statistics.median(clock), "of the rate alone"),
        line(f"{what}: counted, of {found['sent']:,} sent", counted, "of the posts", ">= 1", counted >= 1),
    ]  # fmt: skip


def page_line(folder: Path) -> dict[str, Any]:
    """A collector with a participants' page, from a schema alone."""
    made_up_schema().save(folder / "schema.json")
    start = time.perf_counter()
    server, told = _serve(folder, "--schema", "schema.json", "--store", "page.db", "--page")
    try:
        ask = urllib.request.Request(f"{told['address']}/", headers={"accept": "text/html"})
        with urllib.request.urlopen(ask, timeout=60) as reply:
            fine = b'id="answers"' in reply.read()
        seconds = time.perf_counter() - start
    finally:
        server.send_signal(signal.SIGTERM)
        server.wait()
    what = f"commands to a collector with a participants' page (answers after {seconds:.1f} s)"
    return line(what, 1 if fine else 0, "command", "== 1", fine)


def collect(folder: Path, steps: int, durable: bool) -> tuple[float, float, list[tuple[int, float]]]:
    """Reports per second (by the clock, by the processor) from files, and the peak memory after each file."""
    store = folder / "collected.db" if durable else ""
    out = subprocess.run(
        [sys.executable, "-c", COLLECT, folder / "schema.json", folder / "r", store, str(steps)],
        capture_output=True, text=True, check=True,
    ).stdout.split()  # fmt: skip
    rows = [(int(a), float(b)) for a, b in (one.split(":") for one in out[2:])]
    return rows[-1][0] / float(out[0]), rows[-1][0] / float(out[1]), rows


def run(report_count: int = 2_000_000, batches: int = 10_000, **_: Any) -> list[dict[str, Any]]:
    """Lines for the server, the file reader and its memory; the load of the machine is part of what is said."""
    busy = f"(load average {os.getloadavg()[0]:.1f} on {os.cpu_count()} cores)"
    results = []
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for per_batch, count in ((1, batches), (50, batches // 2)):
            rate, processor, speed = post(folder, per_batch, count)
            what = f"batches of {per_batch} posted over {CONNECTIONS} connections, {speed:.0f} reports/s"
            what += f", {processor:.0f} batches per second of the server's processor time {busy}"
            results.append(line(what, rate, "batches/s", ">= 2000", rate >= 2000))
        results += [*crowded_lines(folder), page_line(folder)]
        steps = max(2, report_count // 250_000)
        for step in range(steps):
            (folder / f"r{step}").write_bytes(reports(report_count // steps, seed=step))
        for durable in (False, True):
            clock, processor, rows = collect(folder, steps, durable)
            kind = "kept in a store" if durable else "collected"
            what = f"reports of a file {kind}, {processor:.0f} per second of processor time {busy}"
            results.append(line(what, clock, "reports/s", ">= 300000" if not durable else "", clock >= 300_000))
            results[-1]["met"] = None if durable else results[-1]["met"]
            half = rows[len(rows) // 2 - 1]
            growth = rows[-1][1] - half[1]
            what = f"peak memory from {half[0]:,} to {rows[-1][0]:,} reports, {kind} (in all {rows[-1][1]:.0f} MiB)"
            results.append(line(what, growth, "MiB more", "< 16", growth < 16))
    return results
