"""Tasks: one measurement each, named by a key that fixes its seed."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

from discreet_studies import StudyError

Option = tuple[str, str | int | float]


@dataclass(frozen=True)
class Task:
    """One method on one data set at one privacy level, repeat and fold.

    Everything that shapes the result is in the key; `alone` and `cost` only say how to run it: with nothing else
    running beside it, and how long it takes compared with other tasks.
    """

    experiment: str
    data: str
    method: str
    epsilon: float
    delta: str = "0"
    repeat: int = 0
    fold: int = 0
    options: tuple[Option, ...] = ()
    alone: bool = False
    cost: float = 1.0

    @property
    def key(self) -> str:
        """The canonical name of the task."""
        return json.dumps(self.columns(), sort_keys=True, separators=(",", ":"))

    def columns(self) -> dict[str, Any]:
        """The task as the first columns of its row of results."""
        return {
            "experiment": self.experiment,
            "data": self.data,
            "method": self.method,
            "epsilon": float(self.epsilon),
            "delta": self.delta,
            "repeat": self.repeat,
            "fold": self.fold,
            **dict(self.options),
        }

    def option(self, name: str, default: Any = None) -> Any:
        """The value of one option."""
        return dict(self.options).get(name, default)


def chosen_tasks(only: Iterable[str], repeats: int | None) -> Callable[[Task], bool] | None:
    """Which tasks to run: those whose columns have the values of "column=value", and the first repeats of them.

    >>> pick = chosen_tasks(["data=adult"], 2)
    >>> [pick(Task("sweep", "adult", "plain", 1.0, repeat=r)) for r in (1, 2)]
    [True, False]
    """
    wanted: dict[str, set[str]] = {}
    for text in only:
        name, mark, value = text.partition("=")
        if not (name and mark and value):
            raise StudyError(f"--only {text!r} names no value: write it as COLUMN=VALUE, such as data=adult")
        wanted.setdefault(name, set()).add(value)
    if not wanted and repeats is None:
        return None

    def choose(task: Task) -> bool:
        columns = task.columns()
        unknown = {name for name in wanted if name not in columns}
        if repeats is not None and task.repeat >= repeats:
            return False
        return not unknown and all(_written(columns[name]) in values for name, values in wanted.items())

    return choose


def _written(value: Any) -> str:
    return f"{value:g}" if isinstance(value, float) else str(value)


def seed_of(*parts: Any) -> int:
    """A 64-bit seed drawn by SeedSequence from a hash of what it is for, never from a position in a list.

    >>> seed_of("folds", "adult", 0) == seed_of("folds", "adult", 0) != seed_of("folds", "adult", 1)
    True
    """
    import numpy as np

    digest = hashlib.sha256(json.dumps(parts, separators=(",", ":")).encode()).digest()
    return int(np.random.SeedSequence(int.from_bytes(digest, "big")).generate_state(1, np.uint64)[0])
