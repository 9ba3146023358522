"""The engine: many tasks on all cores, resumable after any kind of death, the same table whatever the order."""

from __future__ import annotations

import hashlib
import json
import os
import threading
import time
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from dataclasses import dataclass
from multiprocessing import connection, get_context, parent_process
from pathlib import Path
from typing import Any

from discreet.errors import RepeatedFitWarning
from discreet.files import replacing, write_text
from discreet_studies import StudyError
from discreet_studies.results import Results, Row
from discreet_studies.tasks import Task, seed_of

Execute = Callable[[Task, int], Mapping[str, Any]]
CHUNK = 8
PARTS = "parts"
IDENTITY = "run.json"
RESULTS = "results.parquet"
FIRST = ("experiment", "data", "method", "epsilon", "delta", "repeat", "fold")
LAST = ("task_seed", "seconds", "error", "key")
ONE_THREAD = (
    "OMP_NUM_THREADS",
    "OPENBLAS_NUM_THREADS",
    "MKL_NUM_THREADS",
    "NUMBA_NUM_THREADS",
    "DISCREET_THREADS",
)


@dataclass(frozen=True)
class Progress:
    """How far a run is: tasks done, failed and in all, the share of the work done, and seconds (left: if known)."""

    done: int
    failed: int
    total: int
    share: float
    elapsed: float
    left: float | None


Report = Callable[[Progress], None]


def cores() -> int:
    """How many processes may run at once."""
    try:
        return max(1, len(os.sched_getaffinity(0)))
    except AttributeError:
        return os.cpu_count() or 1


def run(
    tasks: Sequence[Task],
    execute: Execute,
    out: Path,
    *,
    identity: Mapping[str, Any] | None = None,
    seed: int = 0,
    workers: int | None = None,
    report: Report | None = None,
    known: Mapping[str, Row] | None = None,
) -> Results:
    """Run the tasks that neither `out` nor `known` has results of, and write the whole table to `out`/results.parquet.

    `execute(task, seed)` returns the measured columns and must be importable by other processes; columns that end
    in "seconds" hold times, all others depend on the task alone. `identity` describes the run: a directory that
    holds another run is refused. With `workers` = 0 everything happens in this process.
    """
    keys = [task.key for task in tasks]
    if len(set(keys)) != len(keys):
        raise StudyError("two tasks have the same key: give them different options")
    parts = out / PARTS
    parts.mkdir(parents=True, exist_ok=True)
    _claim_directory(out, {**(identity or {}), "seed": seed})
    known = {**(known or {}), **_read_parts(parts)}
    todo = [task for task, key in zip(tasks, keys, strict=True) if known.get(key, {"error": ""})["error"] is not None]
    meter = _Meter(tasks, todo, report)
    for batch, rows in _execute_all(todo, execute, seed, cores() if workers is None else workers):
        _write_part(parts, batch, rows)
        known.update(zip((task.key for task in batch), rows, strict=True))
        meter.add(batch, rows)
    ordered = [known[key] for key in keys]
    _write_table(out / RESULTS, ordered)
    return Results(ordered)


# ---- what runs where


def _execute_all(
    tasks: list[Task], execute: Execute, seed: int, workers: int
) -> Iterator[tuple[list[Task], list[Row]]]:
    """Finished chunks in any order: first the tasks that may share the machine, then those that must not."""
    shared = _chunks([task for task in tasks if not task.alone], CHUNK)
    alone = _chunks([task for task in tasks if task.alone], 1)
    if not workers:
        for chunk in (*shared, *alone):
            yield chunk, [measure_one(task, execute, seed) for task in chunk]
        return
    with _single_threads():
        yield from _in_processes(shared, execute, seed, workers)
        yield from _in_processes(alone, execute, seed, 1)


def _chunks(tasks: list[Task], size: int) -> list[list[Task]]:
    return [tasks[start : start + size] for start in range(0, len(tasks), size)]


def _in_processes(
    chunks: list[list[Task]], execute: Execute, seed: int, workers: int
) -> Iterator[tuple[list[Task], list[Row]]]:
    waiting = list(reversed(chunks))
    suspects: list[list[Task]] = []
    while waiting:
        running: dict[Future[list[Row]], list[Task]] = {}
        with _pool(min(workers, len(waiting))) as pool:
            try:
                while waiting or running:
                    while waiting and len(running) < 2 * workers:
                        running[pool.submit(_measure_chunk, waiting[-1], execute, seed)] = waiting[-1]
                        waiting.pop()  # only now: submitting to a broken pool raises
                    finished, _ = wait(running, return_when=FIRST_COMPLETED)
                    for future in finished:
                        rows = future.result()
                        yield running.pop(future), rows
            except BrokenProcessPool:
                suspects += running.values()
    # A process died, of memory say: its neighbours share the blame until each task has had a process to itself.
    for task in (task for chunk in suspects for task in chunk):
        with _pool(1) as pool:
            try:
                yield [task], pool.submit(_measure_chunk, [task], execute, seed).result()
            except BrokenProcessPool:
                yield [task], [_row(task, seed, {}, 0.0, "the process died; it may have run out of memory")]


@contextmanager
def _pool(workers: int) -> Iterator[ProcessPoolExecutor]:
    pool = ProcessPoolExecutor(workers, mp_context=get_context("spawn"), initializer=_begin)
    try:
        yield pool
    finally:
        pool.shutdown(wait=True, cancel_futures=True)


def _begin() -> None:
    """Let a worker end when the run is killed, rather than wait for tasks that nobody will send."""
    parent = parent_process()
    if parent is None:
        return

    def watch() -> None:
        connection.wait([parent.sentinel])
        os._exit(1)

    threading.Thread(target=watch, daemon=True).start()


@contextmanager
def _single_threads() -> Iterator[None]:
    """Processes started in here use one thread each: the cores are already shared out."""
    before = {name: os.environ.get(name) for name in ONE_THREAD}
    os.environ.update(dict.fromkeys(ONE_THREAD, "1"))
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                del os.environ[name]
            else:
                os.environ[name] = value


def _measure_chunk(tasks: list[Task], execute: Execute, seed: int) -> list[Row]:
    return [measure_one(task, execute, seed) for task in tasks]


def measure_one(task: Task, execute: Execute, root: int) -> Row:
    """One task with its own seed; an error becomes part of its row."""
    start, spent = time.perf_counter(), time.process_time()
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", RepeatedFitWarning)  # reference data are fitted again and again
            measured = execute(task, seed_of(root, task.key))
        error = None
    except Exception as failure:
        measured, error = {}, f"{type(failure).__name__}: {failure}"
    row = _row(task, root, measured, time.perf_counter() - start, error)
    return {**row, "processor_seconds": time.process_time() - spent}


def _row(task: Task, root: int, measured: Mapping[str, Any], seconds: float, error: str | None) -> Row:
    named = {"task_seed": str(seed_of(root, task.key)), "seconds": seconds, "error": error}
    given = {name: value for name, value in measured.items() if value is not None}
    return {**task.columns(), **given, **named, "key": task.key}


# ---- what is kept on disk


def _claim_directory(out: Path, identity: Mapping[str, Any]) -> None:
    """Note what run a directory holds, and refuse to mix two."""
    file = out / IDENTITY
    wanted = json.dumps(identity, indent=2, sort_keys=True) + "\n"
    try:
        found = file.read_text(encoding="utf-8")
    except FileNotFoundError:
        write_text(file, wanted)
        return
    if found != wanted:
        raise StudyError(f"{out} holds another run (see {IDENTITY} there): choose another --out, or remove it first")


def _write_part(parts: Path, tasks: Sequence[Task], rows: Sequence[Row]) -> None:
    name = hashlib.sha256("\n".join(task.key for task in tasks).encode()).hexdigest()[:24]
    _write_table(parts / f"{name}.parquet", rows)


def _write_table(path: Path, rows: Sequence[Row]) -> None:
    """Write rows whose columns may differ: what the task is, what was measured by name, how it went."""
    import pyarrow as pa
    import pyarrow.parquet as parquet

    found = {name for row in rows for name in row}
    names = [*FIRST, *sorted(found - {*FIRST, *LAST}), *LAST]
    with replacing(path) as temporary:
        parquet.write_table(
            pa.table({name: pa.array([row.get(name) for row in rows]) for name in names}),
            temporary,
            compression="zstd",
        )


def _read_parts(parts: Path) -> dict[str, Row]:
    """All rows on disk by key; a success counts for more than a failure."""
    import pyarrow as pa
    import pyarrow.parquet as parquet

    known: dict[str, Row] = {}
    for file in sorted(parts.glob("*.parquet")):
        if file.name.startswith("."):  # left behind half-written by a killed run
            file.unlink(missing_ok=True)
            continue
        try:
            rows = parquet.read_table(file).to_pylist()
        except (OSError, pa.ArrowException) as error:
            raise StudyError(f"{file} is damaged ({error}): remove it and its tasks will be run again") from None
        for row in rows:
            given = {name: value for name, value in row.items() if value is not None or name == "error"}
            if row["key"] not in known or known[row["key"]]["error"]:
                known[row["key"]] = given
    return known


class _Meter:
    """Counts tasks and reckons the time left from the work done so far in this run."""

    def __init__(self, tasks: Sequence[Task], todo: Sequence[Task], report: Report | None) -> None:
        self.total, self.done, self.failed = len(tasks), len(tasks) - len(todo), 0
        self.work, self.left = sum(task.cost for task in tasks), sum(task.cost for task in todo)
        self.start, self.here, self.report = time.perf_counter(), 0.0, report
        self.tell()

    def add(self, tasks: Sequence[Task], rows: Sequence[Row]) -> None:
        cost = sum(task.cost for task in tasks)
        self.done += len(tasks)
        self.failed += sum(row["error"] is not None for row in rows)
        self.here, self.left = self.here + cost, self.left - cost
        self.tell()

    def tell(self) -> None:
        if self.report is None:
            return
        elapsed = time.perf_counter() - self.start
        left = elapsed / self.here * self.left if self.here else None
        share = 1 - self.left / self.work if self.work else 1.0
        self.report(Progress(self.done, self.failed, self.total, share, elapsed, left))
