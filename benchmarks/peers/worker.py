"""The worker: inside one environment, fits the methods that live there and prints one line of figures per task.

python -m benchmarks.peers.worker FAMILY PREPARED.npz < tasks.jsonl
"""

from __future__ import annotations

import importlib
import json
import signal
import sys
import time
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TextIO

from benchmarks.peers.prepared import Prepared
from benchmarks.peers.scores import accuracy, auc

Method = Callable[[Prepared, str, float, int], Any]


def main(family: str, path: str) -> None:
    """Read tasks from the standard input and answer each on the standard output."""
    work(family, Prepared.load(Path(path)), sys.stdin, sys.stdout)


def work(family: str, data: Prepared, tasks: TextIO, answers: TextIO) -> None:
    """Answer tasks one by one; a failure is an answer, too."""
    score = importlib.import_module(f"benchmarks.peers.with_{family}").score
    warnings.simplefilter("ignore")
    late: dict[tuple[str, float | None], dict[str, Any]] = {}
    for text in tasks:
        task = json.loads(text)
        cell = task["method"], task["epsilon"]
        figures = late.get(cell) or answer(score, data, task)
        if (figures["error"] or "").startswith("TimeoutError"):
            late[cell] = figures  # other seeds would take as long
        answers.write(json.dumps({**task, **figures}) + "\n")
        answers.flush()


def answer(score: Method, data: Prepared, task: dict[str, Any]) -> dict[str, Any]:
    """The figures of one task, or the error it ended in."""
    epsilon = float("inf") if task["epsilon"] is None else float(task["epsilon"])
    start = time.perf_counter()
    try:
        with limited(task.get("limit")):
            found = score(data, task["method"], epsilon, task["seed"])
        scores, note = found if isinstance(found, tuple) else (found, None)
        _, test = data.splits[task["seed"]]
        figures: dict[str, Any] = {
            "accuracy": accuracy(data.y[test], scores),
            "auc": auc(data.y[test], scores),
            "error": None,
        }
        if note is not None:
            figures["note"] = note
    except Exception as error:
        figures = {"accuracy": None, "auc": None, "error": f"{type(error).__name__}: {error}"[:300]}
    return {**figures, "seconds": round(time.perf_counter() - start, 3)}


@contextmanager
def limited(seconds: int | None) -> Iterator[None]:
    """Give up after some seconds, where the system has alarms."""
    if not seconds or not hasattr(signal, "SIGALRM"):
        yield
        return

    def late(*_: Any) -> None:
        raise TimeoutError(f"longer than {seconds} s")

    before = signal.signal(signal.SIGALRM, late)
    signal.alarm(seconds)
    try:
        yield
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, before)


if __name__ == "__main__":
    main(*sys.argv[1:3])
