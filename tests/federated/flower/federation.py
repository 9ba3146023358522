"""A federation of processes for tests: loopback only, free ports, hard time-outs, and nothing left running."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path

import pyarrow.parquet as parquet

from discreet import Schema
from discreet.federated import Update
from discreet.federated.flower import QUIET
from discreet.nodes.journal import Journal
from tests.nursery import Child, Nursery
from tests.ports import free_ports

IMPORTED = (
    "discreet.cli.federate", "discreet.federated.flower.answers", "discreet.federated.flower.client",
    "discreet.federated.flower.coordinator", "discreet.federated.flower.node", "discreet.federated.flower.server",
    "discreet.federated.flower.superlink", "discreet.federated.flower.worker", "duckdb", "opendp.measurements",
    "pandas", "pyarrow.parquet", "rich.progress", "rich.table", "flwr.supernode.fleet_http_client",
    "flwr.supernode.node_auth_http_interceptor",
)  # fmt: skip


class Federation:
    """Shards, keys and processes in one directory."""

    def __init__(self, place: Path, names: tuple[str, ...] = ("a", "b", "c"), *, warm: bool = False) -> None:
        self.place, self.names, (self.port,) = place, names, free_ports(1)
        self.guard = place / "guard.log"
        self.running: list[Child | subprocess.Popen[str]] = []
        self.env = {
            **os.environ,
            # The processes run the code that is tested, wherever it was found.
            "PYTHONPATH": os.pathsep.join([str(Path(__file__).with_name("guard")), os.environ.get("PYTHONPATH", "")]),
            "DISCREET_GUARD": str(self.guard),
            "NO_COLOR": "1",
            "COLUMNS": "200",
            "HOME": str(place / "home"),  # whatever is written there was not asked for
        }
        self.env.pop("FLWR_TELEMETRY_ENABLED", None)
        (place / "home").mkdir()
        self.nursery = Nursery(*IMPORTED, env={**QUIET, "HOME": self.env["HOME"]}) if warm else None

    def write_shards(self, table, schema: Schema) -> None:
        """A shard for each node, of few columns: each is several requests and answers more, all alike."""
        schema = schema.having([schema.numeric[0], *schema.categorical[:2]])
        schema.save(self.place / "schema.toml")
        size = table.num_rows // len(self.names)
        for i, name in enumerate(self.names):
            parquet.write_table(table.slice(i * size, size), self.place / f"{name}.parquet")

    def start(self, *arguments: object, log: str, **env: str) -> Child | subprocess.Popen[str]:
        """A command of ours in a process group of its own: forked from a warm process, if there is one."""
        words = ["federate", *arguments]
        if self.nursery is not None:
            code = self.place / f"{len(self.running)}.code"
            child = self.nursery.start(words, self.place / log, code, self.place, {**self.env, **env})
        else:
            with open(self.place / log, "a") as out:
                child = subprocess.Popen(
                    [sys.executable, "-m", "discreet", *map(str, words)],
                    cwd=self.place,
                    env={**self.env, **env},
                    stdin=subprocess.DEVNULL,
                    stdout=out,
                    stderr=subprocess.STDOUT,
                    text=True,
                    start_new_session=True,
                )
        self.running.append(child)
        return child

    def node(self, name: str, *more: object, keys: str = "keys", **env: str) -> Child | subprocess.Popen[str]:
        return self.start(
            "node", "--data", f"{name}.parquet", "--schema", "schema.toml", "--epsilon", 1, "--total", 2, "--name",
            name, "--keys", keys, "--coordinator", f"127.0.0.1:{self.port}", "--ledger", f"{name}.ledger", *more,
            log=f"{name}.log", **env,
        )  # fmt: skip

    def coordinator(self, out: str, *more: object) -> Child | subprocess.Popen[str]:
        return self.start(
            "coordinator", "--keys", "keys", "--schema", "schema.toml", "--out", out, "--state", "state", "--listen",
            f"127.0.0.1:{self.port}", "--nodes-expected", len(self.names), "--wait", 280, "--resend", 4, *more,
            log="coordinator.log",
        )  # fmt: skip

    def entries(self, name: str) -> list[tuple[str, bytes | None]]:
        """The rounds in a node's ledger, out of a copy: the node itself holds the lock."""
        original = self.place / f"{name}.ledger"
        if not original.exists() or not original.stat().st_size:
            return []
        copy = self.place / f"{name}.copy"
        shutil.copyfile(original, copy)
        if (hot := self.place / f"{name}.ledger-journal").exists():  # a change under way: undone in the copy
            shutil.copyfile(hot, self.place / f"{name}.copy-journal")
        try:
            with Journal.open(copy) as journal:
                return [(entry.round_id, journal.kept(entry.round_id)) for entry in journal.entries()]
        except Exception:  # a copy taken in the middle of a write
            return []
        finally:
            for left in (copy, self.place / f"{name}.copy-journal"):
                left.unlink(missing_ok=True)

    def updates(self, round_id: str) -> list[Update]:
        return [Update.from_bytes(dict(self.entries(name))[round_id]) for name in self.names]

    def until(self, condition, seconds: float = 300, pause: float = 0.1):
        """Wait for something that is true; the logs tell why it never was."""
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            if found := condition():
                return found
            time.sleep(pause)
        raise AssertionError("this never happened\n" + self.logs())

    def finish(self, child: Child | subprocess.Popen[str], seconds: float = 300) -> int:
        try:
            return child.wait(timeout=seconds)
        except subprocess.TimeoutExpired:
            raise AssertionError("a process never ended\n" + self.logs()) from None

    def logs(self) -> str:
        return "\n".join(f"--- {path.name}\n{path.read_text()[-3000:]}" for path in sorted(self.place.glob("*.log")))

    def log(self, name: str) -> str:
        path = self.place / f"{name}.log"
        return path.read_text() if path.exists() else ""  # a command that was just started has said nothing yet

    @staticmethod
    def kill(child: Child | subprocess.Popen[str]) -> None:
        """End a process and all it started, at once."""
        if isinstance(child, Child):
            return child.kill()
        with suppress(ProcessLookupError):
            os.killpg(child.pid, signal.SIGKILL)
        child.wait()

    def close(self) -> None:
        for child in self.running:
            self.kill(child)
        if self.nursery is not None:
            self.nursery.close()
