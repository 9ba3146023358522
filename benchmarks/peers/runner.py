"""Runs tasks: worker processes that each take one data set into one environment, some of them at a time."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from pathlib import Path
from threading import Lock
from typing import Any

from benchmarks.peers.environments import BUILT, ROOT
from benchmarks.peers.tasks import Journal, Task, seconds

ONE_THREAD = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMBA_NUM_THREADS", "DISCREET_THREADS")
Tell = Callable[[int], Any]


def batches(tasks: Iterable[Task], jobs: int) -> list[list[Task]]:
    """What one worker does: tasks of one data set and environment, its seeds dealt out over the jobs."""
    groups: dict[tuple[str, str, int], list[Task]] = {}
    for task in tasks:
        groups.setdefault((task.data, task.family, task.seed % jobs), []).append(task)
    return list(groups.values())


def run(
    tasks: Sequence[Task],
    journal: Journal,
    prepared: dict[str, Path],
    pythons: dict[str, Path],
    *,
    jobs: int,
    limit: int,
    tell: Tell,
) -> None:
    """Measure all tasks, `jobs` processes at a time, and write each result to the journal as it comes."""
    lock = Lock()

    def keep(row: dict[str, Any]) -> None:
        with lock:
            journal.add(row)
            tell(1)

    with ThreadPoolExecutor(jobs) as pool:
        waiting = [
            pool.submit(_work, batch, prepared[batch[0].data], pythons[batch[0].family], limit, keep)
            for batch in batches(tasks, jobs)
        ]
        try:
            for future in as_completed(waiting):
                future.result()
        except BaseException:
            pool.shutdown(wait=False, cancel_futures=True)
            raise


def _work(batch: list[Task], prepared: Path, python: Path, limit: int, keep: Callable[[dict[str, Any]], None]) -> None:
    """One worker from start to end; if it dies, the tasks it still owed are marked so."""
    command = [str(python), "-m", "benchmarks.peers.worker", batch[0].family, str(prepared)]
    # What this interpreter is told to import from is not for the environments of others.
    path = [str(ROOT)] + ([] if batch[0].family in BUILT else os.environ.get("PYTHONPATH", "").split(os.pathsep))
    environment = {**os.environ, **dict.fromkeys(ONE_THREAD, "1"), "PYTHONPATH": os.pathsep.join(filter(None, path))}
    owed = [{**task.columns(), "limit": seconds(task.method, limit)} for task in batch]
    with subprocess.Popen(
        command, cwd=ROOT, env=environment, text=True, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=sys.stderr
    ) as worker:
        assert worker.stdin is not None and worker.stdout is not None
        try:
            worker.stdin.write("".join(json.dumps(task) + "\n" for task in owed))
            worker.stdin.close()
            for line in worker.stdout:
                if line.startswith("{"):  # a library may print, too
                    keep(json.loads(line))
                    owed.pop(0)
        except BrokenPipeError:
            pass
        except BaseException:
            worker.kill()
            raise
    failed = {"accuracy": None, "auc": None, "seconds": None}
    for task in owed:
        keep({**task, **failed, "error": f"the worker ended early with code {worker.returncode}"})
