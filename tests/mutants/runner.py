"""Runs faults: a scratch copy per job, one fault at a time in it, and a forked process that runs its tests."""

from __future__ import annotations

import contextlib
import importlib
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from tests.mutants.fault import ROOT, Fault

KILLED, SURVIVED, BROKEN, HUNG = "killed", "survived", "broken", "hung"
VERDICTS = {0: SURVIVED, 1: KILLED}  # pytest's exit codes; anything else is no verdict of a test
LIMIT = 300.0  # seconds for the tests of one fault
# Libraries that every test needs take longer to import than most tests to run: they are imported once, before forking.
HEAVY = (
    "numpy", "pandas", "pyarrow", "scipy.stats", "scipy.optimize", "sklearn.utils.estimator_checks", "numba",
    "opendp.prelude", "dp_accounting", "mpmath", "hypothesis", "pydantic", "duckdb", "narwhals", "polars", "pytest",
)  # fmt: skip


@dataclass(frozen=True)
class Outcome:
    """What became of a fault; `noticed` is the first test that failed."""

    fault: Fault
    verdict: str
    seconds: float
    noticed: str

    def to_dict(self) -> dict[str, object]:
        """The outcome as plain values."""
        return {
            "id": self.fault.id,
            "file": self.fault.path,
            "means": self.fault.means,
            "verdict": self.verdict,
            "seconds": round(self.seconds, 2),
            "noticed": self.noticed,
        }


@dataclass
class Job:
    """A scratch copy, and what runs in it."""

    folder: Path
    fault: Fault | None = None
    child: int = 0
    started: float = 0.0
    kept: tuple[bytes, os.stat_result] | None = field(default=None, repr=False)

    @property
    def output(self) -> Path:
        """Where the tests write."""
        return self.folder / "output.txt"

    def plant(self, fault: Fault) -> None:
        """Put a fault in. Its time stamp tells it from the original, so that no compiled file is taken for it."""
        path = self.folder / fault.path
        self.kept, self.fault = (path.read_bytes(), path.stat()), fault
        path.write_text(fault.planted(path.read_text()))
        os.utime(path, (self.kept[1].st_atime, self.kept[1].st_mtime + 3600))

    def mend(self) -> None:
        """Put the source back, as old as it was: what was compiled from it is good again."""
        if self.fault is None or self.kept is None:
            return
        path = self.folder / self.fault.path
        path.write_bytes(self.kept[0])
        os.utime(path, ns=(self.kept[1].st_atime_ns, self.kept[1].st_mtime_ns))
        self.fault = self.kept = None

    def start(self, nodes: Sequence[str], *, compiled: bool) -> None:
        """Fork a process that runs tests; `compiled` says whether loops compiled before may be used."""
        self.started = time.monotonic()
        sys.stdout.flush()
        sys.stderr.flush()
        self.child = os.fork()
        if not self.child:
            _run(self.folder, nodes, self.output, compiled)

    def poll(self) -> int | None:
        """The exit code once the process has ended; −1 if it took too long and was stopped."""
        done, status = os.waitpid(self.child, os.WNOHANG)
        if done:
            return os.waitstatus_to_exitcode(status)
        if time.monotonic() - self.started < LIMIT:
            return None
        os.killpg(self.child, signal.SIGKILL)
        os.waitpid(self.child, 0)
        return -1


def _run(folder: Path, nodes: Sequence[str], output: Path, compiled: bool) -> None:
    """In the forked process: nothing of the original tree may be imported from here on."""
    code = 70
    try:
        os.setsid()
        into = os.open(output, os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
        os.dup2(into, 1)
        os.dup2(into, 2)
        sys.stdout, sys.stderr = open(1, "w", closefd=False), open(2, "w", closefd=False)  # noqa: SIM115
        for name in [name for name in sys.modules if name.split(".")[0] in {"tests", "discreet"}]:
            del sys.modules[name]
        here = [str(folder / "src"), str(folder)]
        sys.path[:] = here + [path for path in sys.path if path not in ("", str(ROOT), str(ROOT / "src"))]
        cache = folder / "compiled" if compiled else Path(tempfile.mkdtemp(dir=folder))
        os.environ.update(
            PYTHONPATH=os.pathsep.join(here),
            PYTHONDONTWRITEBYTECODE="1",
            NUMBA_CACHE_DIR=str(cache),
            DISCREET_THREADS="1",
        )
        sys.dont_write_bytecode = True
        if "numba" in sys.modules:
            sys.modules["numba"].config.reload_config()
        os.chdir(folder)
        pytest = importlib.import_module("pytest")
        quick = ["-x", "-q", "--no-header", "--tb=line", "--disable-warnings", "-o", "addopts="]
        quick += ["-p", "no:cacheprovider", "-p", "no:xdist"]
        code = int(pytest.main([*quick, "-m", "not slow", *nodes]))
        sys.stdout.flush()
        sys.stderr.flush()
    finally:
        os._exit(code)


def copy_tree(target: Path) -> None:
    """A copy of what tests need, its modules compiled."""
    skip = shutil.ignore_patterns("__pycache__", ".*", "results")
    for name in ("src", "tests", "docs", "benchmarks"):
        shutil.copytree(ROOT / name, target / name, ignore=skip, symlinks=True)
    for name in ("pyproject.toml", "README.md", "constraints.txt"):
        shutil.copy2(ROOT / name, target / name)
    subprocess.run([sys.executable, "-m", "compileall", "-q", str(target / "src"), str(target / "tests")], check=False)


def first_failure(output: Path) -> str:
    """The line of pytest's summary that names the test that noticed, or the last line there is."""
    lines = output.read_text(errors="replace").strip().splitlines() if output.exists() else []
    for line in lines:
        if line.startswith(("FAILED ", "ERROR ")):
            return line.split(" ", 1)[1].split(" - ")[0]
    return lines[-1] if lines else ""


def run_tests(folder: Path, nodes: Sequence[str]) -> tuple[int, str]:
    """Run tests in a copy without a fault: the exit code and the end of what they wrote."""
    job = Job(folder)
    job.start(nodes, compiled=True)
    try:
        _, status = os.waitpid(job.child, 0)
    except BaseException:
        os.killpg(job.child, signal.SIGKILL)
        raise
    return os.waitstatus_to_exitcode(status), job.output.read_text(errors="replace")[-2000:]


def run(
    faults: Sequence[Fault], *, jobs: int, baseline: bool, tell: Callable[[Outcome | str], None]
) -> tuple[list[Outcome], str]:
    """Every outcome, in the order of the list; and what is wrong with the tests themselves, if they fail unharmed."""
    for name in HEAVY:
        with contextlib.suppress(ImportError):
            importlib.import_module(name)
    found: dict[str, Outcome] = {}
    with tempfile.TemporaryDirectory(prefix="mutants-") as scratch:
        slots = [Job(Path(scratch) / str(i)) for i in range(min(jobs, len(faults)))]
        for slot in slots:
            copy_tree(slot.folder)
        if baseline:
            tell("the same tests without any fault")
            code, text = run_tests(slots[0].folder, sorted({node for fault in faults for node in fault.nodes}))
            if code:
                return [], text
        waiting = list(reversed(faults))
        try:
            while waiting or any(slot.child for slot in slots):
                for slot in slots:
                    _step(slot, waiting, found, tell)
                time.sleep(0.02)
        finally:
            for slot in slots:
                if slot.child:
                    os.killpg(slot.child, signal.SIGKILL)
                    os.waitpid(slot.child, 0)
    return [found[fault.id] for fault in faults], ""


def _step(slot: Job, waiting: list[Fault], found: dict[str, Outcome], tell: Callable[[Outcome | str], None]) -> None:
    if slot.child:
        code = slot.poll()
        if code is None:
            return
        fault, seconds = slot.fault, time.monotonic() - slot.started
        assert fault is not None
        verdict = HUNG if code == -1 else VERDICTS.get(code, BROKEN)
        found[fault.id] = Outcome(fault, verdict, seconds, first_failure(slot.output))
        slot.child = 0
        slot.mend()
        tell(found[fault.id])
    if waiting:
        fault = waiting.pop()
        slot.plant(fault)
        # A compiled loop does not know that one it calls has changed: where there are any, all are compiled anew.
        slot.start(fault.nodes, compiled="numba" not in (slot.folder / fault.path).read_text())
