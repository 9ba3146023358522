"""The console command in a process forked from one that has done its imports: real in all but its start."""

from __future__ import annotations

import atexit
import multiprocessing
import os
import sys
import tempfile
from pathlib import Path
from subprocess import CompletedProcess, TimeoutExpired

# What most commands import, and what takes most of their time; none of it starts a thread, so that a fork is safe.
_IMPORTED = (
    "discreet.audit", "discreet.auto", "discreet.cli", "discreet.demo", "discreet.evaluation", "discreet.local",
    "discreet.models", "discreet.selection", "discreet.bounds", "duckdb", "numba", "pandas", "pyarrow.parquet",
    "rich.progress", "rich.table", "scipy.stats", "sklearn.base", "tests.console",
)  # fmt: skip


def console(*, timeout: float):
    """A function that runs the command with arguments, a directory and environment variables of its own."""
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(list(_IMPORTED))

    def run(*arguments, cwd=None, env=None):
        words = [str(word) for word in arguments]
        whole = {**os.environ, **(env or {})}
        with tempfile.TemporaryDirectory() as folder:
            out, err = Path(folder, "out"), Path(folder, "err")
            child = context.Process(target=_child, args=(words, str(cwd or os.getcwd()), whole, str(out), str(err)))
            child.start()
            child.join(timeout)
            if child.exitcode is None:
                child.kill()
                raise TimeoutExpired(words, timeout)
            return CompletedProcess(words, child.exitcode, out.read_text("utf-8"), err.read_text("utf-8"))

    return run


def _child(words: list[str], cwd: str, env: dict[str, str], out: str, err: str) -> None:
    """Become the command: its directory, environment, arguments and three streams; then run it as the script does."""
    os.environ.clear()
    os.environ.update(env)
    os.chdir(cwd)
    named = env.get("PYTHONPATH", "").split(os.pathsep)
    sys.path[:0] = [path for path in named if path and path not in sys.path]
    for number, place in enumerate((os.devnull, out, err)):
        opened = os.open(place, os.O_RDONLY if number == 0 else os.O_WRONLY | os.O_CREAT, 0o600)
        os.dup2(opened, number)
        os.close(opened)
    sys.stdin = os.fdopen(0, encoding="utf-8")
    sys.stdout = os.fdopen(1, "w", encoding="utf-8")
    sys.stderr = os.fdopen(2, "w", buffering=1, encoding="utf-8")
    sys.argv = ["discreet", *words]
    from discreet.cli import main

    try:
        main()
    finally:
        atexit._run_exitfuncs()  # a forked child of multiprocessing leaves without them
