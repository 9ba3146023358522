"""Draws the runs of an audit in numbered batches, so that any number of processes gives the same answer."""

from __future__ import annotations

import hashlib
import multiprocessing
import os
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Any

import numpy as np

from discreet.audit.events import Event
from discreet.audit.outputs import CallableSampler, Rows, Sampler, as_rows
from discreet.audit.projections import row_code
from discreet.audit.result import Pair
from discreet.errors import AuditError

SEARCH, TEST, PROBE = 0, 1, 2
_SLOW_SECONDS = 3.0
_PROBE_RUNS = 32
_MOST_PROCESSES = 8


@dataclass(frozen=True)
class Task:
    """One batch: which stage, pair and side, its number, its size, and the events to count (if any)."""

    stage: int
    pair: int
    side: int
    batch: int
    size: int
    events: tuple[Event, ...] = ()


@dataclass(frozen=True)
class Batch:
    """What came of a task: rows while searching, hits per event while testing."""

    task: Task
    rows: Rows | None
    hits: tuple[int, ...]
    digest: bytes


@dataclass(frozen=True)
class Source:
    """The mechanism under audit with its pairs and the entropy from which every batch is seeded."""

    sampler: Sampler
    pairs: tuple[Pair, ...]
    entropy: int

    @property
    def batch_size(self) -> int:
        """Return how many runs make a batch: fewer for a function that is called once per run."""
        return 512 if isinstance(self.sampler, CallableSampler) else 16_384

    @property
    def may_fork(self) -> bool:
        """Say whether noise is known not to come from a generator that worker processes would copy."""
        return not isinstance(self.sampler, CallableSampler) or self.sampler.takes_rng

    def rng(self, *key: int) -> np.random.Generator:
        """Return the generator that belongs to a stage, pair, side and batch."""
        return np.random.default_rng(np.random.SeedSequence(self.entropy, spawn_key=key))

    def draw(self, task: Task) -> Batch:
        """Run the mechanism for one task."""
        pair = self.pairs[task.pair]
        data = pair.right if task.side else pair.left
        rng = self.rng(task.stage, task.pair, task.side, task.batch)
        rows = as_rows(self.sampler.sample(data, task.size, rng=rng), task.size)
        hits = tuple(int(event.holds(rows).sum()) for event in task.events)
        return Batch(task, rows if task.stage == SEARCH else None, hits, _digest(rows))


def make_source(mechanism: Any, pairs: Sequence[Pair], entropy: int) -> Source:
    """Accept a sampler, or wrap a plain function in one."""
    if isinstance(mechanism, Sampler) and not isinstance(mechanism, type):
        return Source(mechanism, tuple(pairs), entropy)
    if not callable(mechanism):
        raise AuditError("Audit a function of the data, or an object with sample(data, size, *, rng).")
    source = Source(CallableSampler(mechanism), tuple(pairs), entropy)
    assert isinstance(source.sampler, CallableSampler)
    data_sets = [data for pair in pairs for data in (pair.left, pair.right)]
    source.sampler.probe(data_sets, _PROBE_RUNS, rng=source.rng(PROBE))
    return source


def column_names(source: Source, width: int) -> tuple[str, ...]:
    """Return a name for each column, the sampler's own if it has them."""
    names = tuple(getattr(source.sampler, "names", ()))
    if len(names) == width:
        return tuple(f"output{n}" if n[:1] in ("", "[", ".", " ") else n for n in names)
    return tuple(f"output[{i}]" for i in range(width)) if width > 1 else ("output",)


def split(total: int, size: int) -> Iterator[int]:
    """Cut `total` runs into batches of at most `size`."""
    while total > 0:
        yield min(size, total)
        total -= size


class Pool(AbstractContextManager["Pool"]):
    """Runs tasks in order, here or in worker processes, and refuses batches that repeat each other."""

    def __init__(self, source: Source, processes: int | None) -> None:
        """Use one process if `processes` is None, until `plan` finds the work slow and safe to share."""
        if processes is not None and processes < 1:
            raise AuditError("Give at least one process.")
        self._source = source
        self._fixed = processes
        self._executor: ProcessPoolExecutor | None = None
        self._seen: dict[bytes, Task] = {}
        self._cost = 0.0
        if processes is not None and processes > 1:
            self._open(processes)

    def run(self, tasks: Iterable[Task], *, expected_runs: int = 0) -> Iterator[Batch]:
        """Yield one batch per task, in the order of the tasks."""
        pending = iter(tasks)
        for task in pending:
            began = time.perf_counter()
            batch = self._source.draw(task)
            self._cost = (time.perf_counter() - began) / task.size
            yield self._checked(batch)
            if self._executor is None and self._fixed is None:
                self._plan(expected_runs)
            if self._executor is not None:
                break
        if self._executor is not None:
            for batch in self._executor.map(_work, pending):
                yield self._checked(batch)

    def _plan(self, expected_runs: int) -> None:
        cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
        workers = min(_MOST_PROCESSES, cores)
        if self._source.may_fork and workers > 1 and expected_runs * self._cost > _SLOW_SECONDS:
            self._open(workers)

    def _open(self, workers: int) -> None:
        # Forked workers inherit the mechanism, so closures and lambdas can be audited in parallel.
        methods = multiprocessing.get_all_start_methods()
        context = multiprocessing.get_context("fork" if "fork" in methods else None)
        self._executor = ProcessPoolExecutor(
            workers, mp_context=context, initializer=_install, initargs=(self._source,)
        )

    def _checked(self, batch: Batch) -> Batch:
        twin = self._seen.setdefault(batch.digest, batch.task) if batch.digest else batch.task
        if twin != batch.task:
            raise AuditError(
                "Two batches came out identical, so the runs are not independent: take the noise from the "
                "`rng` argument, or audit with processes=1."
            )
        return batch

    def __exit__(self, *exception: object) -> None:
        """Stop the workers."""
        if self._executor is not None:
            self._executor.shutdown(wait=True, cancel_futures=True)


_installed: list[Source] = []


def _install(source: Source) -> None:
    _installed[:] = [source]
    # GNU OpenMP hangs in a forked child that asks for a second thread, and the cores are taken anyway.
    from threadpoolctl import threadpool_limits  # type: ignore[import-untyped]

    threadpool_limits(limits=1)


def _work(task: Task) -> Batch:
    return _installed[0].draw(task)


def _digest(rows: Rows) -> bytes:
    """Fingerprint a batch whose rows are mostly distinct; two such batches never agree by chance."""
    head = rows[:64]
    if len(head) < 64 or len(np.unique(row_code(head))) < 32:
        return b""
    return hashlib.blake2b(rows.tobytes(), digest_size=16).digest()


ProgressCallback = Callable[[int, int], None]
