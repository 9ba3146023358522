"""A whole federation on one machine over loopback, for trial: real processes, real keys, one command."""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import replace
from glob import glob
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from discreet.errors import DataError
from discreet.federated.flower.task import Task

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
    task: Task,
    shards: dict[str, str],
    options: Sequence[str],
    *,
    state: Path | None,
    insecure: bool,
    report: Report,
) -> dict[str, Any]:
    """Start a node for each shard and coordinate them; `options` are those of 'discreet federate node'."""
    from discreet.federated.flower import keep_quiet
    from discreet.federated.flower.coordinator import coordinate
    from discreet.federated.flower.node import free_port

    with ExitStack() as stack:
        place = Path(stack.enter_context(TemporaryDirectory(prefix="discreet-"))) if state is None else state
        place.mkdir(mode=0o700, parents=True, exist_ok=True)
        keep_quiet(place / "flower")
        keys = None
        if not insecure:
            from discreet.federated.flower.keys import Keys, make_keys

            keys = place / "keys"
            if not keys.exists():
                make_keys(keys, list(shards))
            elif set(Keys(keys).names) != set(shards):
                raise DataError(f"{keys} has keys for other shards: choose another --state")
        port = free_port()
        children: list[subprocess.Popen[bytes]] = []
        stack.callback(_end, children)
        for name, file in shards.items():
            command = [
                sys.executable,
                "-m",
                "discreet.cli",
                "federate",
                "node",
                "--data",
                file,
                "--schema",
                task.schema,
            ]
            command += ["--name", name, "--coordinator", f"127.0.0.1:{port}", "--ledger", str(place / f"{name}.ledger")]
            command += ["--insecure"] if keys is None else ["--keys", str(keys)]
            children.append(subprocess.Popen([*command, *options], stdin=subprocess.DEVNULL))
        whole = replace(task, nodes=len(shards), known=len(shards), state=str(place), keys=str(keys or ""))
        return coordinate(whole, state=place, keys=keys, host="127.0.0.1", port=port, report=report)


def _end(children: list[subprocess.Popen[bytes]]) -> None:
    for child in children:
        child.terminate()
    for child in children:
        try:
            child.wait(timeout=15)
        except subprocess.TimeoutExpired:
            child.kill()
            child.wait()
