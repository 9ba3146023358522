"""A whole federation on one machine over loopback, for trial: real processes, real keys, one command."""

from __future__ import annotations

import re
import subprocess
import sys
import threading
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import replace
from glob import glob
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from discreet.errors import DataError, DiscreetError
from discreet.federated.flower import keep_quiet
from discreet.federated.flower.coordinator import coordinate
from discreet.federated.flower.keys import FederationKeys, make_keys
from discreet.federated.flower.node import end_within, free_port
from discreet.federated.flower.task import RoundTask

Report = Callable[[str, str], None]


def shards_of(pattern: str) -> dict[str, str]:
    """The files of a pattern, by names for their nodes."""
    files = sorted(glob(pattern))
    if not files:
        raise DataError(f"no file is called {pattern}")
    stems = [re.sub(r"[^A-Za-z0-9_.-]", "-", Path(file).stem) for file in files]
    fine = len(set(stems)) == len(stems) and all(re.match("[A-Za-z0-9]", stem) and len(stem) < 60 for stem in stems)
    return dict(zip(stems if fine else [f"node-{i + 1}" for i in range(len(files))], files, strict=True))


def trial(
    task: RoundTask,
    shards: dict[str, str],
    options: Sequence[str],
    *,
    state: Path | None,
    insecure: bool,
    report: Report,
) -> dict[str, Any]:
    """Start a node for each shard and coordinate them; `options` are those of 'discreet federate node'.

    If more nodes end than the round can do without, it ends with what they said.
    """
    task.check(len(shards))
    with ExitStack() as stack:
        place = Path(stack.enter_context(TemporaryDirectory(prefix="discreet-"))) if state is None else state
        place.mkdir(mode=0o700, parents=True, exist_ok=True)
        keep_quiet(place / "flower")
        keys = None
        if not insecure:
            keys = place / "keys"
            if not keys.exists():
                make_keys(keys, list(shards))
            elif set(FederationKeys(keys).names) != set(shards):
                raise DataError(f"{keys} has keys for other shards: choose another --state")
        port = free_port()
        children: dict[str, Child] = {}
        stack.callback(_end, children)
        for name, file in shards.items():
            command = [sys.executable, "-m", "discreet", "federate", "node"]
            command += ["--data", file, "--schema", task.schema, "--name", name]
            command += ["--coordinator", f"127.0.0.1:{port}", "--ledger", str(place / f"{name}.ledger")]
            command += ["--insecure"] if keys is None else ["--keys", str(keys)]
            children[name] = Child([*command, *options])
        whole = replace(task, nodes=len(shards), known=len(shards), state=str(place), keys=str(keys or ""))
        spare = task.dropouts if task.secure else 0

        def watch() -> None:
            gone = {name: child for name, child in children.items() if child.process.poll() is not None}
            if len(gone) > spare:
                said = "; ".join(f"node {name}: {child.last_words()}" for name, child in sorted(gone.items()))
                raise DiscreetError(f"nodes have stopped, and no model was written: {said}")

        return coordinate(whole, state=place, keys=keys, host="127.0.0.1", port=port, report=report, watch=watch)


class Child:
    """A node's process; what it says is passed on, and the last of it remembered."""

    def __init__(self, command: Sequence[str]) -> None:
        self.process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
        self.last = ""
        self.listener = threading.Thread(target=self._listen, daemon=True)
        self.listener.start()

    def _listen(self) -> None:
        assert self.process.stderr is not None
        with self.process.stderr as stream:
            for line in stream:
                self.last = line.strip() or self.last
                print(line, end="", file=sys.stderr, flush=True)

    def last_words(self) -> str:
        """What the process said last, once it has ended."""
        self.listener.join(timeout=5)
        return self.last.removeprefix("error: ") or f"it ended with code {self.process.returncode}"


def _end(children: dict[str, Child]) -> None:
    for child in children.values():
        child.process.terminate()
    for child in children.values():
        end_within(child.process, 15)
        child.listener.join(timeout=5)
