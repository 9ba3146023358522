"""Items: everything a paper describes, where it is here, and what became of it."""

from __future__ import annotations

import importlib
from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum
from functools import lru_cache
from pathlib import Path
from typing import Any

from discreet_studies import StudyError, find_studies
from discreet_studies.study import Study


class Status(StrEnum):
    """What became of an item: built as described, built with a change that has a reason, or left out for one."""

    FULL = "full"
    MENDED = "mended"
    REFUSED = "refused"


@dataclass(frozen=True)
class Item:
    """One algorithm, definition, experiment, figure, table or claim of a paper.

    `where` lists references, each a kind and a name:
    code:MODULE:OBJECT (imported), experiment:NAME and method:NAME (some task of the study has it), claim:NAME (the
    check of that name judges it), figure:NAME (drawn on the paper's page), proof:FILE (of docs/proofs), audit:CASE.
    """

    kind: str
    source: str
    what: str
    where: tuple[str, ...]
    status: Status = Status.FULL
    why: str = ""

    def __post_init__(self) -> None:
        if (self.status is not Status.FULL) and not self.why:
            raise StudyError(f"{self.source}: {self.status.value} needs a reason")
        if self.status is not Status.REFUSED and not self.where:
            raise StudyError(f"{self.source}: say where it is")

    @property
    def claims(self) -> list[str]:
        """The checks that judge it."""
        return [name for kind, name in map(split, self.where) if kind == "claim"]


def split(reference: str) -> tuple[str, str]:
    """Kind and name of a reference."""
    kind, _, name = reference.partition(":")
    return kind, name


def items_of(study: str) -> tuple[Item, ...]:
    """The items of a paper, from the module `items` of its study."""
    found: tuple[Item, ...] = importlib.import_module(f"discreet_studies.{study}.items").ITEMS
    return found


@lru_cache(maxsize=8)
def _known(study: str) -> dict[str, set[str]]:
    parts: list[Study] = [one for one, _ in find_studies(study)]
    tasks = [task for one in parts for fast in (False, True) for task in one.tasks(fast)]
    return {
        "experiment": {task.experiment for task in tasks},
        "method": {task.method for task in tasks},
        "claim": {claim.name for one in parts for claim in one.claims},
    }


@lru_cache(maxsize=1)
def _audits() -> set[str]:
    from discreet.audit import list_cases

    return {case.name for case in list_cases()}


def problem(study: str, reference: str, docs: Path) -> str:
    """What a reference points at nothing for; empty if it is there."""
    kind, name = split(reference)
    if kind == "code":
        return _import(name)
    if kind in ("experiment", "method", "claim"):
        return "" if name in _known(study)[kind] else f"{study} has no {kind} {name!r}"
    if kind == "figure":
        return "" if list((docs / "figures" / "papers" / study).rglob(f"{name}.svg")) else f"no figure {name!r}"
    if kind == "proof":
        return "" if (docs / "proofs" / name).is_file() else f"no proof note {name!r}"
    if kind == "audit":
        return "" if name in _audits() else f"no audit case {name!r}"
    return f"{reference!r} is of no kind that can be looked up"


def _import(name: str) -> str:
    module, _, path = name.partition(":")
    try:
        found: Any = importlib.import_module(module)
        for part in filter(None, path.split(".")):
            found = getattr(found, part)
    except (ImportError, AttributeError) as error:
        return f"{name!r} cannot be imported: {error}"
    return ""


def problems(study: str, items: Iterable[Item], docs: Path) -> list[str]:
    """Every reference of some items that points at nothing."""
    found = ((item, problem(study, one, docs)) for item in items for one in item.where)
    return [f"{item.source}: {text}" for item, text in found if text]
