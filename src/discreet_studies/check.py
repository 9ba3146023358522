"""Check of stored results: their commands name every stored task, and measuring some of them again gives the same."""

from __future__ import annotations

import argparse
import hashlib
import shlex
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from discreet_studies import STUDIES, StudyError, engine, find_studies
from discreet_studies.data import find_data
from discreet_studies.results import Row
from discreet_studies.stored import Stored, file_of, recall
from discreet_studies.study import Study
from discreet_studies.tasks import Task, chosen_tasks

RESULTS = Path("studies/results")
COSTLY = 20.0  # processor seconds: what took longer is not measured again


@dataclass(frozen=True)
class Asked:
    """What a stored command asks for."""

    study: str
    part: str | None
    fast: bool
    only: tuple[str, ...]
    repeats: int | None
    seed: int

    @classmethod
    def of(cls, command: str) -> Asked:
        """Read a command as it is stored.

        >>> Asked.of("discreet reproduce yilmaz2020 --full --only data=car --repeats 2 --seed 0").only
        ('data=car',)
        """
        parser = argparse.ArgumentParser(prog="discreet reproduce", exit_on_error=False, add_help=False)
        parser.add_argument("study")
        parser.add_argument("--part")
        parser.add_argument("--fast", action="store_true")
        parser.add_argument("--full", action="store_true")
        parser.add_argument("--only", action="append", default=[])
        parser.add_argument("--repeats", type=int)
        parser.add_argument("--seed", type=int, default=0)
        parser.add_argument("--results")
        words = shlex.split(command)
        if words[:2] != ["discreet", "reproduce"]:
            raise StudyError(f"{command!r} is no command of discreet reproduce")
        try:
            found, rest = parser.parse_known_args(words[2:])
        except argparse.ArgumentError as error:
            raise StudyError(f"{command!r}: {error}") from None
        if rest or found.fast == found.full:
            raise StudyError(f"{command!r} cannot be given again: {' '.join(rest) or 'say --fast or --full'}")
        return cls(found.study, found.part, found.fast, tuple(found.only), found.repeats, found.seed)


def asked_for(study: Study, stored: Stored) -> set[str]:
    """The keys of all tasks that the stored commands measure, given one after the other."""
    fast, keys = bool(stored.run["fast"]), set()
    planned = study.tasks(fast)
    for one in stored.commands:
        asked = Asked.of(one["command"])
        right = asked.study in (study.name, "all") and asked.part in (study.part, None)
        if not right or asked.fast != fast or asked.seed != stored.run["seed"]:
            raise StudyError(f"{one['command']!r} is a command of another run")
        pick = chosen_tasks(asked.only, asked.repeats)
        keys |= {task.key for task in planned if pick is None or pick(task)}
    return keys


def strays(study: Study, stored: Stored) -> list[str]:
    """What is wrong between stored rows and stored commands: rows that no command asks for, or of no task at all."""
    planned = study.tasks(bool(stored.run["fast"]))
    known, keys = set(stored.known(planned)), asked_for(study, stored)
    found = [f"no command measures {key}" for key in sorted(known - keys)]
    if len(known) != len(stored.rows):
        found.append(f"{len(stored.rows) - len(known)} stored rows are of no task of the study")
    return found


def missing(study: Study, stored: Stored) -> int:
    """How many tasks the stored commands would measure today beyond the stored ones: methods that came later."""
    known = stored.known(study.tasks(bool(stored.run["fast"])))
    return len(asked_for(study, stored) - set(known))


def sample(study: Study, stored: Stored, rows: int) -> Iterator[tuple[Task, Row]]:
    """Some stored measurements of every experiment with their tasks: no matter which, but always the same."""
    planned = study.tasks(bool(stored.run["fast"]))
    known = stored.known(planned)
    taken: dict[str, int] = {}
    for task in sorted(planned, key=lambda one: hashlib.sha256(one.key.encode()).digest()):
        row = known.get(task.key)
        if row is None or float(row.get("processor_seconds") or 0.0) > COSTLY:
            continue
        if taken.setdefault(task.experiment, 0) < rows:
            taken[task.experiment] += 1
            yield task, row


def differences(before: Row, after: Row) -> list[str]:
    """Columns in which a measurement is not what is stored, to the seven digits that are stored; times may differ."""
    found = []
    for name in sorted(before):
        if name in ("error", "key") or name.endswith("seconds"):
            continue
        old, new = before[name], after.get(name)
        same = old == new or (
            isinstance(old, float) and isinstance(new, int | float) and np.float32(old) == np.float32(new)
        )
        if not same and not (isinstance(old, float) and np.isnan(old) and new != new):
            found.append(f"{name}: {old!r} stored, {new!r} now")
    return found


def check(study: Study, stored: Stored, directory: Path, rows: int) -> tuple[int, list[str]]:
    """How many measurements were made again, and what is wrong."""
    wrong, count = strays(study, stored), 0
    for task, before in sample(study, stored, rows):
        after = engine.measure_one(task, lambda one, seed: study.execute(one, seed, directory), stored.run["seed"])
        count += 1
        changed = [str(after["error"])] if after["error"] else differences(before, after)
        wrong += [f"{task.key}: {one}" for one in changed]
    return count, wrong


def main(arguments: Sequence[str] | None = None) -> int:
    """Check all stored results, or those of one study."""
    parser = argparse.ArgumentParser(prog="python -m discreet_studies.check", description=__doc__)
    parser.add_argument("study", nargs="?", choices=list(STUDIES), help="one study; all of them unless told")
    parser.add_argument("--data", type=Path, help="the directory of the reference data sets (or DISCREET_DATA)")
    parser.add_argument("--results", type=Path, default=RESULTS)
    parser.add_argument("--rows", type=int, default=3, help="measurements made again for every experiment")
    chosen = parser.parse_args(arguments)
    directory, failed = find_data(chosen.data), False
    for study in (one for name in STUDIES if chosen.study in (None, name) for one, _ in find_studies(name)):
        for fast in (False, True):
            file = file_of(chosen.results, study.name, study.part, fast=fast)
            if not file.exists():
                continue
            kept = recall(file)
            count, wrong = check(study, kept, directory, chosen.rows)
            said = f"{len(wrong)} differences" if wrong else "all as stored"
            more = missing(study, kept)
            said += f"; its commands would measure {more} more tasks today" if more else ""
            print(f"{file.relative_to(chosen.results)}: {len(kept.rows)} rows, {count} measured again, {said}")
            for one in wrong[:20]:
                print("   ", one, file=sys.stderr)
            failed = failed or bool(wrong)
    return int(failed)


if __name__ == "__main__":
    raise SystemExit(main())
