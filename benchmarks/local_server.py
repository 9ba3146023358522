"""The local collector under load: batches posted to a server on the loopback, reports read from a file, memory."""

from __future__ import annotations

import asyncio
import json
import os
import re
import signal
import subprocess
import sys
import tempfile
import time
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
    store = folder / f"s{per_batch}.db"
    script = Path(sys.executable).with_name("discreet")
    arguments = ["local", "serve", "--campaign", folder / "c.json", "--store", store, "--port", "0", "--json"]
    server = subprocess.Popen([script, *arguments], stdout=subprocess.PIPE, text=True)
    try:
        assert server.stdout is not None
        port = int(json.loads(server.stdout.readline())["address"].rsplit(":", 1)[1])
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
        made_up_schema().save(folder / "schema.json")
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
