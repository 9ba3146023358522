"""The audit itself: search for an event on one half of the runs, bound epsilon on the other half."""

from __future__ import annotations

import dataclasses
import hashlib
import inspect
import json
import os
import secrets
import time
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from discreet.audit.bounds import Hits, look_share
from discreet.audit.events import Event
from discreet.audit.outputs import CallableSampler, flatten
from discreet.audit.result import AuditResult, Law, Pair, law_of
from discreet.audit.sampling import (
    SEARCH,
    TEST,
    Batch,
    Pool,
    ProgressCallback,
    Source,
    Task,
    column_names,
    make_source,
    split,
)
from discreet.audit.search import find_events
from discreet.errors import AuditError
from discreet.files import write_text

DEFAULT_SAMPLES = 100_000
_FORMAT = 1
_SEARCH_CAP = 100_000
_SAVE_SECONDS = 5.0
_DIRECTIONS = ("left against right", "right against left")


@dataclass
class _Progress:
    """Everything a later run needs to carry on: entropy, events found, counts so far."""

    title: str
    entropy: int
    search_runs: int
    first_test: int
    columns: list[str] = field(default_factory=list)
    names: list[str] = field(default_factory=list)
    events: list[list[dict[str, Any]]] = field(default_factory=list)
    laws: list[list[dict[str, Any]]] = field(default_factory=list)
    hits: list[list[list[int]]] = field(default_factory=list)
    trials: list[list[int]] = field(default_factory=list)
    batches: list[list[int]] = field(default_factory=list)
    format: int = _FORMAT

    def look(self, wanted: int) -> int:
        """Return which doubling of the first test size is next at or above `wanted` and all runs made."""
        reached = max([wanted, *(count for sides in self.trials for count in sides)])
        return 1 + max(0, (-(-reached // self.first_test) - 1).bit_length())

    def save(self, path: Path | None) -> None:
        """Write to a temporary name and rename, so that an interrupted write loses nothing."""
        if path is None:
            return
        write_text(path, json.dumps(asdict(self)))


def _identity(mechanism: Any) -> str:
    """What tells a mechanism from another of its name: its settings if it shows them, its source if it has one."""
    function = getattr(mechanism, "function", mechanism)
    try:
        source = inspect.getsource(function if inspect.isroutine(function) else type(function))
    except (OSError, TypeError):
        source = ""
    shown = repr(mechanism) if dataclasses.is_dataclass(mechanism) else ""
    return hashlib.blake2b(f"{source}|{shown}".encode(), digest_size=12).hexdigest()


def audit(
    mechanism: Any,
    pairs: Pair | Sequence[Pair],
    epsilon: float,
    delta: float = 0.0,
    samples: int = DEFAULT_SAMPLES,
    confidence: float = 0.95,
    seed: int | None = None,
    processes: int | None = None,
    progress: ProgressCallback | None = None,
    checkpoint: str | os.PathLike[str] | None = None,
    *,
    name: str = "",
) -> AuditResult:
    """Measure a lower bound on the epsilon of `mechanism` at `delta`, and compare it with the claim.

    `samples` counts all runs on one pair, both data sets and both halves together. Whatever the mechanism,
    the bound exceeds its true epsilon with probability at most 1 - confidence. `progress` is called
    with (runs done, runs in all). With `checkpoint`, an interrupted audit carries on where it was, and one
    that has finished can be taken further by asking for more samples. Since the counts may then be read
    again and again, test runs grow by doublings only, and the k-th size has (1 - confidence) / (k (k + 1)).
    """
    began = time.perf_counter()
    pairs = (pairs,) if isinstance(pairs, Pair) else tuple(pairs)
    _check(pairs, epsilon, delta, samples, confidence)
    path = None if checkpoint is None else Path(checkpoint)
    label = name or str(getattr(mechanism, "__name__", type(mechanism).__name__))
    what = [label, _identity(mechanism), f"epsilon {epsilon!r}", f"delta {delta!r}", f"confidence {confidence!r}"]
    title = " | ".join([*what, *map(_fingerprint, pairs)])
    search = min(samples // 4, _SEARCH_CAP // 2)
    state = _load(path, title, seed) or _Progress(
        title, secrets.randbits(64) if seed is None else seed, search, samples // 2 - search
    )
    source = make_source(mechanism, pairs, state.entropy)
    if isinstance(source.sampler, CallableSampler):
        # Columns were fixed by the first run; a mechanism that draws from the system might probe others.
        source.sampler.names = tuple(state.columns or source.sampler.names)
        state.columns = list(source.sampler.names)
    alpha = (1 - confidence) / (2 * len(pairs))
    look = state.look(samples // 2 - state.search_runs)
    with Pool(source, processes) as pool:
        runner = _Runner(source, pool, state, path, progress, state.first_test * 2 ** (look - 1))
        runner.search(alpha, delta)
        runner.test()
    if path is not None:
        alpha *= look_share(look)
    bound, where, side = _strongest(state, alpha, delta)
    event = Event.from_dict(state.events[where][side])
    law = state.laws[where][side]
    return AuditResult(
        name=label,
        epsilon=float(epsilon),
        delta=float(delta),
        lower_bound=bound,
        confidence=confidence,
        pair=f"{pairs[where].note or f'pair {where}'}, {_DIRECTIONS[side]}",
        event=event.words(state.names),
        samples=sum(map(sum, state.trials)) + 2 * len(pairs) * state.search_runs,
        seconds=time.perf_counter() - began,
        seed=state.entropy,
        hits=_hits(state, where, side),
        law=Law(**{key: _deep_tuple(value) for key, value in law.items()}),
    )


@dataclass
class _Runner:
    source: Source
    pool: Pool
    state: _Progress
    path: Path | None
    callback: ProgressCallback | None
    target: int
    done: int = 0

    def __post_init__(self) -> None:
        count = len(self.source.pairs)
        if not self.state.hits:
            self.state.hits = [[[0, 0], [0, 0]] for _ in range(count)]
            self.state.trials = [[0, 0] for _ in range(count)]
            self.state.batches = [[0, 0] for _ in range(count)]
        self.done = 2 * self.state.search_runs * len(self.state.events) + sum(map(sum, self.state.trials))

    @property
    def total(self) -> int:
        """Return all runs of this audit."""
        return 2 * len(self.source.pairs) * (self.target + self.state.search_runs)

    def search(self, alpha: float, delta: float) -> None:
        """Find the two events of every pair that has none yet."""
        for pair in range(len(self.state.events), len(self.source.pairs)):
            tasks = [
                Task(SEARCH, pair, side, batch, size)
                for side in (0, 1)
                for batch, size in enumerate(split(self.state.search_runs, self.source.batch_size))
            ]
            rows: list[list[Any]] = [[], []]
            for drawn in self.pool.run(tasks, expected_runs=self.total - self.done):
                rows[drawn.task.side].append(drawn.rows)
                self._tell(drawn)
            left, right = (np.concatenate(side) for side in rows)
            self.state.names = list(column_names(self.source, left.shape[1]))
            events = find_events(left, right, delta=delta, alpha=alpha)
            self.state.events.append([event.to_dict() for event in events])
            laws = [law_of(event, left, right, tuple(self.state.names)) for event in events]
            self.state.laws.append([asdict(law) for law in laws])
            self.state.save(self.path)

    def test(self) -> None:
        """Count the events on fresh runs until every side has its share."""
        saved = time.monotonic()
        try:
            for drawn in self.pool.run(self._tasks(), expected_runs=self.total - self.done):
                pair, side = drawn.task.pair, drawn.task.side
                for which, hits in enumerate(drawn.hits):
                    self.state.hits[pair][side][which] += hits
                self.state.trials[pair][side] += drawn.task.size
                self.state.batches[pair][side] += 1
                self._tell(drawn)
                if time.monotonic() - saved > _SAVE_SECONDS:
                    self.state.save(self.path)
                    saved = time.monotonic()
        finally:
            self.state.save(self.path)

    def _tasks(self) -> Iterator[Task]:
        for pair, stored in enumerate(self.state.events):
            events = tuple(Event.from_dict(fields) for fields in stored)
            for side in (0, 1):
                left = self.target - self.state.trials[pair][side]
                start = self.state.batches[pair][side]
                for offset, size in enumerate(split(left, self.source.batch_size)):
                    yield Task(TEST, pair, side, start + offset, size, events)

    def _tell(self, drawn: Batch) -> None:
        self.done += drawn.task.size
        if self.callback is not None:
            self.callback(self.done, self.total)


def _hits(state: _Progress, pair: int, side: int) -> tuple[int, int, int, int]:
    """Return (hits, runs) where event `side` should be likely, then (hits, runs) on the other side."""
    counts, trials = state.hits[pair], state.trials[pair]
    return counts[side][side], trials[side], counts[1 - side][side], trials[1 - side]


def _strongest(state: _Progress, alpha: float, delta: float) -> tuple[float, int, int]:
    bounds = [
        (Hits(*_hits(state, pair, side)).epsilon_lower(alpha, delta), -pair, -side)
        for pair in range(len(state.events))
        for side in (0, 1)
    ]
    bound, pair, side = max(bounds)
    return bound, -pair, -side


def _load(path: Path | None, title: str, seed: int | None) -> _Progress | None:
    if path is None:
        return None
    if not path.parent.is_dir():
        raise AuditError(f"There is no directory {path.parent} to keep the checkpoint in; create it first.")
    if not path.exists():
        return None
    try:
        state = _Progress(**json.loads(path.read_text(encoding="utf-8")))
    except (ValueError, TypeError) as error:
        raise AuditError(f"{path} is no audit checkpoint; name another file or remove it.") from error
    if state.format != _FORMAT or state.title != title or seed not in (None, state.entropy):
        raise AuditError(f"{path} belongs to another audit; name another file or remove it.")
    return state


def _check(pairs: tuple[Pair, ...], epsilon: float, delta: float, samples: int, confidence: float) -> None:
    if not pairs:
        raise AuditError("Give at least one pair of neighbouring data sets.")
    if not (epsilon >= 0 and 0 <= delta < 1 and 0 < confidence < 1):
        raise AuditError("Give epsilon >= 0, 0 <= delta < 1 and a confidence strictly between 0 and 1.")
    if samples < 200:
        raise AuditError("Give at least 200 samples: with fewer, no event can be both found and tested.")


def _fingerprint(pair: Pair) -> str:
    """Name a pair by its note and its numbers, so that counts of other data are not taken for its own."""
    try:
        content = [sorted(flatten(data).items()) for data in (pair.left, pair.right)]
    except AuditError:
        content = []
    return f"{pair.note} {hashlib.blake2b(repr(content).encode(), digest_size=8).hexdigest()}"


def _deep_tuple(value: Any) -> Any:
    return tuple(map(_deep_tuple, value)) if isinstance(value, list | tuple) else value
