"""A warm process that forks processes of the console command, so that each need not import everything once more.

It imports the modules that its command line names, and reads one JSON line per process to start: {"argv": [...],
"log": file, "code": file, "cwd": directory, "env": {...}}; the answer is the process id. Each child leads a session of
its own, runs the command just as the script would, and writes its exit code before it ends.
"""

from __future__ import annotations

import importlib
import json
import os
import runpy
import signal
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path


class Child:
    """A process of the nursery, with the few methods of Popen that tests of deployments need."""

    def __init__(self, pid: int, code: Path) -> None:
        self.pid, self.code, self.gone = pid, code, False

    def poll(self) -> int | None:
        """The exit code, -9 if the process is gone without one, or None while it runs."""
        if not self.gone:
            try:
                os.kill(self.pid, 0)
            except ProcessLookupError:
                self.gone = True
        if not self.gone:
            return None
        return int(self.code.read_text()) if self.code.exists() else -signal.SIGKILL

    def wait(self, timeout: float = 120) -> int:
        end = time.monotonic() + timeout
        while (code := self.poll()) is None:
            if time.monotonic() > end:
                raise subprocess.TimeoutExpired(str(self.pid), timeout)
            time.sleep(0.01)
        return code

    def kill(self) -> None:
        """kill -9 to it and all that it started; returns when it is gone."""
        if self.poll() is None:
            for end in (os.killpg, os.kill):
                with suppress(ProcessLookupError):
                    end(self.pid, signal.SIGKILL)
            self.wait()


class Nursery:
    """The warm process, seen from the tests."""

    def __init__(self, *modules: str, env: dict[str, str] | None = None) -> None:
        root = Path(__file__).parents[1]
        self.process = subprocess.Popen(
            [sys.executable, str(Path(__file__)), *modules], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
            env={**os.environ, **(env or {})}, cwd=root,
        )  # fmt: skip
        self.ready = False

    def start(
        self, argv: list[object], log: Path, code: Path, cwd: Path | None = None, env: dict[str, str] | None = None
    ) -> Child:
        assert self.process.stdin is not None and self.process.stdout is not None
        if not self.ready:
            assert self.process.stdout.readline() == "ready\n"
            self.ready = True
        code.unlink(missing_ok=True)
        order = {"argv": [str(part) for part in argv], "log": str(log), "code": str(code), "env": env or {}}
        self.process.stdin.write(json.dumps({**order, "cwd": str(cwd or Path.cwd())}) + "\n")
        self.process.stdin.flush()
        return Child(int(self.process.stdout.readline()), code)

    def close(self) -> None:
        assert self.process.stdin is not None
        self.process.stdin.close()
        self.process.wait(120)


def _surroundings(order: dict) -> None:
    """The streams, directory and environment of a process, and what Python itself would do with them at its start."""
    os.setsid()
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    log = os.open(order["log"], os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
    null = os.open(os.devnull, os.O_RDONLY)
    for source, target in ((null, 0), (log, 1), (log, 2)):
        os.dup2(source, target)
    os.chdir(order["cwd"])
    os.environ.update(order["env"])
    for place in filter(None, order["env"].get("PYTHONPATH", "").split(os.pathsep)):
        if place not in sys.path:
            sys.path.insert(0, place)
            if (own := Path(place, "sitecustomize.py")).exists():
                runpy.run_path(str(own))


def _child(order: dict) -> None:
    code = 1
    try:
        _surroundings(order)
        sys.argv = ["discreet", *order["argv"]]
        from discreet.cli import main

        main()
        code = 0
    except SystemExit as end:
        code = end.code if isinstance(end.code, int) else int(bool(end.code))
    except BaseException as error:
        print(repr(error), file=sys.stderr, flush=True)
    sys.stdout.flush()
    part = Path(order["code"] + ".part")
    part.write_text(str(code))
    part.rename(order["code"])
    os._exit(0)


def serve() -> None:
    """Import, and fork whatever is ordered; ends with its input."""
    for name in sys.argv[1:]:
        importlib.import_module(name)
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)
    print("ready", flush=True)
    for line in sys.stdin:
        pid = os.fork()
        if not pid:
            _child(json.loads(line))
        print(pid, flush=True)


if __name__ == "__main__":
    serve()
