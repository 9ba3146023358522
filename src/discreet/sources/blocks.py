"""Blocks: rows as columns of a table, and how they are shared out among threads."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.sources.columns import Codes, Column

SMALL = 100_000
BLOCK = 1 << 16  # rows: few enough for the caches, many enough to make calls cheap


@dataclass(slots=True)
class Rows:
    """Some rows of a table, column by column, with their labels if they have any.

    Where some were left out, `read` says how many there were and `places` where these stood among them.
    """

    columns: list[Column]
    size: int
    label: Codes | None = None
    places: NDArray[np.int64] | None = None
    read: int | None = None

    def part(self, start: int, stop: int) -> Rows:
        """The rows from `start` to before `stop`."""

        return self._cut(slice(start, stop), stop - start, None if self.places is None else self.places[start:stop])

    def take(self, spots: NDArray[np.int64]) -> Rows:
        """The rows at some places."""
        return self._cut(spots, len(spots), spots if self.places is None else self.places[spots])

    def _cut(self, spots: Any, size: int, places: NDArray[np.int64] | None) -> Rows:
        def cut(column: Any) -> Any:
            return replace(column, values=column.values[spots])

        read = self.size if self.read is None else self.read
        return Rows([cut(c) for c in self.columns], size, cut(self.label) if self.label else None, places, read)

    def only(self, columns: Sequence[int]) -> Rows:
        """The same rows with some of their columns."""
        return replace(self, columns=[self.columns[j] for j in columns])


def workers() -> int:
    """How many threads this process may use; DISCREET_THREADS says so where several processes share the cores."""
    asked = os.environ.get("DISCREET_THREADS", "")
    if asked.isdigit() and int(asked):
        return int(asked)
    try:
        return max(1, len(os.sched_getaffinity(0)))
    except AttributeError:
        return os.cpu_count() or 1


def parts(size: int) -> list[tuple[int, int]]:
    """Rows cut into one run per thread, each short enough to be counted in 32 bits."""
    threads = min(workers(), max(1, size // BLOCK)) * (1 + (size >> 31))
    ends = np.linspace(0, size, threads + 1).astype(int).tolist()
    return list(pairwise(ends))


def spans(size: int, block: int = BLOCK) -> list[Iterator[slice]]:
    """Rows cut into one run of blocks per thread."""
    threads = min(workers(), max(1, size // block))
    ends = np.linspace(0, size, threads + 1).astype(int)

    def run(start: int, stop: int) -> Iterator[slice]:
        for low in range(start, stop, block):
            yield slice(low, min(low + block, stop))

    return [run(int(a), int(b)) for a, b in pairwise(ends)]


def in_threads(task: Callable[[Any], Any], parts: list[Any]) -> list[Any]:
    """Run a task on every part at once."""
    if len(parts) == 1:
        return [task(parts[0])]
    with ThreadPoolExecutor(len(parts)) as pool:
        return list(pool.map(task, parts))


def shared(task: Callable[[Any], Any], items: Sequence[Any]) -> list[Any]:
    """Run a task on every item, each thread on a run of them."""
    ends = np.linspace(0, len(items), min(workers(), max(1, len(items))) + 1).astype(int).tolist()
    done = in_threads(lambda part: [task(item) for item in part], [items[a:b] for a, b in pairwise(ends)])
    return [one for some in done for one in some]
