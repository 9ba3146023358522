"""Stored results: the measurements of a run as one small Parquet file that says how they came about."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from discreet.files import replacing
from discreet_studies import StudyError
from discreet_studies.results import Results, Row
from discreet_studies.tasks import Task

NOTE = b"discreet"
# What a task implies, or what its method always says: left out, because a file has thousands of rows.
LEFT_OUT = ("key", "task_seed", "split_seed", "sampler", "simulation", "not_private_because")
SAME_RUN = ("study", "part", "fast", "seed", "data")


@dataclass(frozen=True)
class Stored:
    """Rows with the run they are of: study, part, fast or full, root seed, data sets, and every command that added."""

    rows: list[Row]
    run: Mapping[str, Any]
    commands: tuple[Mapping[str, Any], ...] = field(default=())

    @property
    def results(self) -> Results:
        """The rows as a table to judge."""
        return Results(self.rows)

    def known(self, tasks: Sequence[Task]) -> dict[str, Row]:
        """The rows of these tasks that ended well, by the key of the task."""
        found = {spot(row, self.run["options"]): row for row in self.rows if row.get("error") is None}
        listed = ((task, found.get(spot(task.columns(), self.run["options"]))) for task in tasks)
        return {task.key: {**row, "error": None, "key": task.key} for task, row in listed if row is not None}


def spot(row: Mapping[str, Any], options: Sequence[str]) -> tuple[Any, ...]:
    """What names a task, numbers as floats: a column of a file has one type."""
    values = (
        row.get(name) for name in ("experiment", "data", "method", "epsilon", "delta", "repeat", "fold", *options)
    )
    return tuple(float(value) if isinstance(value, int | float) else value for value in values)


def file_of(folder: Path, study: str, part: str | None, *, fast: bool) -> Path:
    """Where the results of a run are kept: FOLDER/STUDY[/PART]/full.parquet or fast.parquet."""
    return folder.joinpath(study, *([part] if part else [])) / ("fast.parquet" if fast else "full.parquet")


def store(path: Path, stored: Stored) -> None:
    """Write results, whole or not at all."""
    import pyarrow as pa
    import pyarrow.parquet as parquet

    names = sorted({name for row in stored.rows for name in row} - set(LEFT_OUT))
    table = pa.table({name: pa.array([row.get(name) for row in stored.rows]) for name in names})
    floats = [i for i, kind in enumerate(table.schema.types) if kind == pa.float64() and names[i] != "epsilon"]
    for index in floats:  # measurements are good to seven digits; tasks are named by exact numbers
        if names[index] not in stored.run["options"]:
            table = table.set_column(index, names[index], table.column(index).cast(pa.float32()))
    note = json.dumps({"run": dict(stored.run), "commands": [dict(one) for one in stored.commands]}, sort_keys=True)
    path.parent.mkdir(parents=True, exist_ok=True)
    with replacing(path) as temporary:
        parquet.write_table(
            table.replace_schema_metadata({NOTE: note.encode()}), temporary, compression="zstd", compression_level=19
        )


def recall(path: Path) -> Stored:
    """Read stored results, or an error that says what is wrong with the file."""
    import pyarrow as pa
    import pyarrow.parquet as parquet

    try:
        table = parquet.read_table(path)
        note = json.loads((table.schema.metadata or {})[NOTE])
        rows = [{name: value for name, value in row.items() if value is not None} for row in table.to_pylist()]
        return Stored(rows, note["run"], tuple(note["commands"]))
    except (OSError, KeyError, ValueError, pa.ArrowException) as error:
        raise StudyError(f"{path} holds no results of a study ({error}): take it from the repository again") from None


def merged(path: Path, run: Mapping[str, Any], rows: Sequence[Row], command: Mapping[str, Any]) -> Stored:
    """Rows together with those that a file has of the same run; another run in its place is refused."""
    options = sorted(run["options"])
    wanted = {**run, "options": options}
    if not path.exists():
        return Stored(list(rows), wanted, (command,))
    before = recall(path)
    refuse_another_run(path, before, wanted)
    options = sorted({*options, *before.run["options"]})
    here = {spot(row, options) for row in rows}
    kept = [row for row in before.rows if spot(row, options) not in here]
    return Stored([*kept, *rows], {**wanted, "options": options}, (*before.commands, command))


def same_tasks(folder: Path, run: Mapping[str, Any], tasks: Sequence[Task]) -> dict[str, Row]:
    """The rows of these tasks in the stored run of the other kind: a task of both, fast and full, is the same one."""
    file = file_of(folder, run["study"], run["part"], fast=not run["fast"])
    if not file.exists():
        return {}
    other = recall(file)
    if any(other.run.get(name) != run.get(name) for name in SAME_RUN if name != "fast"):
        return {}
    options = sorted({*other.run["options"], *run["options"]})  # one run alone may have fewer rows, say
    return Stored(other.rows, {**other.run, "options": options}, other.commands).known(tasks)


def refuse_another_run(path: Path, stored: Stored, run: Mapping[str, Any]) -> None:
    """Two runs are never mixed in one file."""
    for name in SAME_RUN:
        if stored.run.get(name) != run.get(name):
            raise StudyError(
                f"{path} holds results of another run ({name} {stored.run.get(name)!r}, not {run.get(name)!r}): "
                "choose another --results, or remove the file first"
            )
