"""A fault: one piece of source changed for the worse, what that means for privacy, and the tests that must notice."""

from __future__ import annotations

import importlib
import pkgutil
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


class StaleError(Exception):
    """The source has moved on: a fault no longer fits it."""


@dataclass(frozen=True)
class Fault:
    """`old` stands exactly once in src/discreet/`file`; with `new` in its place, one of the `tests` must fail."""

    name: str
    room: str
    file: str
    old: str
    new: str
    means: str
    tests: tuple[str, ...]

    @property
    def id(self) -> str:
        """Room and name."""
        return f"{self.room}/{self.name}"

    @property
    def path(self) -> str:
        """Where the fault is planted, from the root of the tree."""
        return f"src/discreet/{self.file}"

    @property
    def nodes(self) -> list[str]:
        """What pytest is asked to run."""
        return [f"tests/{test}" for test in self.tests]

    def planted(self, source: str) -> str:
        """The source with the fault in it."""
        found = source.count(self.old)
        if found != 1:
            where = f"its old text stands {found} times in {self.path}"
            raise StaleError(f"{self.id} is stale: {where}; make it stand once, or take the fault out")
        if self.old == self.new:
            raise StaleError(f"{self.id} changes nothing")
        return source.replace(self.old, self.new)


class Room:
    """The faults of one room, in the order in which they are written down."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.faults: list[Fault] = []

    def __call__(self, name: str, file: str, old: str, new: str, means: str, *tests: str) -> None:
        self.faults.append(Fault(name, self.name, file, old, new, means, tests))


def every_fault() -> list[Fault]:
    """All faults, room by room: every module of `faults` holds a `plant`."""
    from tests.mutants import faults

    modules = sorted(module.name for module in pkgutil.iter_modules(faults.__path__))
    rooms = [importlib.import_module(f"tests.mutants.faults.{name}").plant for name in modules]
    return [fault for room in rooms for fault in room.faults]
