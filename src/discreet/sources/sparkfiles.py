"""Plain Parquet files behind a Spark data frame: the executors read their row groups themselves, not through the JVM.

Spark would turn each value into a row and back into a column on its way to Python, which costs more than all counting.
This is for frames whose whole plan is a scan of files that every machine sees under one path, and for columns of types
of which the two readers have one understanding; anything else is read by Spark.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import suppress
from typing import Any
from urllib.parse import unquote, urlsplit

# What Spark calls a type, and what Arrow calls the same in a file.
TYPES = {
    "boolean": ("bool",), "tinyint": ("int8",), "smallint": ("int16",), "int": ("int32",), "bigint": ("int64",),
    "float": ("float",), "double": ("double",), "string": ("string", "large_string"),
}  # fmt: skip
FILES = 1000  # whose ends are read here
LEAST, MOST = 1 << 17, 1 << 22  # rows of a task, give or take a row group
_PROJECT = "org.apache.spark.sql.catalyst.plans.logical.Project"
_DATA = "org.apache.spark.sql.execution.datasources."
_ATTRIBUTE = "org.apache.spark.sql.catalyst.expressions.AttributeReference"

Piece = tuple[str, tuple[int, int], list[int]]  # a file, its size and time of change, some of its row groups


def plain_files(frame: Any) -> list[str] | None:
    """The files whose rows are those of a data frame, all of them and nothing else; None if it is not so simple."""
    fresh = getattr(frame.select("*"), "_jdf", None)  # what is cached by now is not read from files
    if fresh is None or frame.sparkSession.conf.get("spark.sql.parquet.fieldId.read.enabled", "false") != "false":
        return None
    found = fresh.queryExecution().optimizedPlan()
    while _is(found, _PROJECT):
        listed = found.projectList()
        if not all(_is(listed.apply(i), _ATTRIBUTE) for i in range(listed.size())):
            return None
        found = found.child()
    if not _is(found, _DATA + "LogicalRelation") or not _is(found.relation(), _DATA + "HadoopFsRelation"):
        return None
    relation = found.relation()
    if (
        not _is(relation.fileFormat(), _DATA + "parquet.ParquetFileFormat")
        or not _is(relation.location(), _DATA + "InMemoryFileIndex")
        or not relation.partitionSchema().isEmpty()
        or not relation.bucketSpec().isEmpty()
    ):
        return None
    paths = []
    for place in relation.location().inputFiles():
        parts = urlsplit(place)
        paths.append(unquote(parts.path))
        if parts.scheme != "file" or parts.netloc or parts.query or parts.fragment or paths[-1][-1:] == "/":
            return None
    return paths


def _is(thing: Any, name: str) -> bool:
    return bool(thing.getClass().getName() == name)


def pieces_of(paths: list[str], wanted: dict[str, str], cores: int) -> list[list[Piece]] | None:
    """The row groups of files, dealt into tasks; None unless every file has the wanted columns in Spark's own types."""
    import pyarrow as pa
    import pyarrow.parquet as parquet

    if not 0 < len(paths) <= FILES or not all(kind in TYPES for kind in wanted.values()):
        return None
    groups: list[tuple[Piece, int]] = []
    stored: dict[str, str] = {}
    for path in paths:
        try:
            stamp = stamp_of(path)
            if os.path.basename(path)[0] in "_.":
                return None
            with parquet.ParquetFile(path) as file:
                held = file.schema_arrow
                for name, kind in wanted.items():
                    spots = [i for i, one in enumerate(held.names) if one.casefold() == name.casefold()]
                    if [held.names[i] for i in spots] != [name] or str(held.field(spots[0]).type) not in TYPES[kind]:
                        return None
                    if stored.setdefault(name, str(held.field(spots[0]).type)) != str(held.field(spots[0]).type):
                        return None  # one task reads of several files, and its batches are of one type
                sizes = [file.metadata.row_group(i).num_rows for i in range(file.metadata.num_row_groups)]
        except (OSError, pa.ArrowException):  # Spark says what is wrong with it, or knows better
            return None
        groups += [((path, stamp, [i]), size) for i, size in enumerate(sizes)]
    enough = min(MOST, max(LEAST, -(-sum(size for _, size in groups) // (2 * cores))))
    tasks: list[list[Piece]] = [[]]
    room = enough
    for piece, size in groups:
        if tasks[-1] and room < size // 2:
            tasks.append([])
            room = enough
        tasks[-1].append(piece)
        room -= size
    return tasks


def stamp_of(path: str) -> tuple[int, int]:
    """What differs if a file is another than before."""
    found = os.stat(path)
    return found.st_size, found.st_mtime_ns


def read_there(
    run: Callable[[Any], Iterator[Any]], tasks: list[list[Piece]], names: list[str]
) -> Callable[[Any], Iterator[Any]]:
    """What a function makes of the row groups of the tasks whose numbers it gets; it is sent by its value."""

    def mapped(numbers: Any) -> Iterator[Any]:
        import os

        import pyarrow as pa
        import pyarrow.parquet as parquet

        def rows() -> Iterator[Any]:
            for batch in numbers:
                for number in batch.column(0).to_pylist():
                    for path, stamp, groups in tasks[number]:
                        found = os.stat(path)
                        if (found.st_size, found.st_mtime_ns) != stamp:
                            raise OSError("a file of these rows changed while they were read")
                        with parquet.ParquetFile(path, pre_buffer=False, read_dictionary=[]) as file:
                            for one in file.iter_batches(1 << 16, row_groups=groups, columns=wanted, use_threads=False):
                                yield pa.RecordBatch.from_arrays([one.column(name) for name in names], names)

        wanted = list(dict.fromkeys(names))
        yield from run(rows())

    return mapped


def laid_out(frame: Any, names: list[str]) -> list[list[Piece]] | None:
    """The tasks for some columns of a data frame, if its executors can read them in this way."""
    with suppress(Exception):  # whatever a session of another version or make has to say
        kinds = {name: kind for name, kind in frame.dtypes if name in names}
        paths = plain_files(frame) if all(kind in TYPES for kind in kinds.values()) else None
        return None if paths is None else pieces_of(paths, kinds, frame.sparkSession.sparkContext.defaultParallelism)
    return None
