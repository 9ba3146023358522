"""Beside the rows: what an engine's workers make of each partition with this package, and how it comes back.

A worker reads its partition by the same rules as anything here is read, and sends back arrays of integers, or the one
sentence by which the rows are refused. Nothing that comes back is run as code. docs/clusters.md says what leaves.
"""

from __future__ import annotations

import json
import pickle
import zlib
from abc import abstractmethod
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from importlib.metadata import version
from typing import Any, Generic, TypeVar

import numpy as np
from numpy.typing import NDArray

from discreet import errors
from discreet.errors import DataError, DiscreetError
from discreet.schema import Schema
from discreet.sources.absorb import Absorbed, watching
from discreet.sources.streams import Stream

Arrays = dict[str, NDArray[Any]]
Batch = dict[str, Any]
Found = TypeVar("Found")
GATHER = 1 << 19  # rows that are brought together before they are counted
INSTALL = "install discreet {0} there (pip install discreet=={0}, or a packed environment: docs/clusters.md)"


class Ask(Generic[Found]):
    """What is asked of rows: of all at once where they are read here, of each partition where workers read them.

    An Ask is sent to the workers as it is, so it holds what is public and nothing that draws random numbers: copies
    of a generator would repeat each other.
    """

    @abstractmethod
    def wanted(self, source: Any) -> list[str]:
        """The columns that are read."""

    @abstractmethod
    def of(self, source: Any) -> Iterator[Found]:
        """What is made of the rows of a Source, in one part or several; no rows are no error."""

    @abstractmethod
    def pack(self, found: Found) -> Arrays:
        """One part as arrays."""

    @abstractmethod
    def unpack(self, source: Any, arrays: Arrays) -> Found:
        """The part again."""


@dataclass(frozen=True)
class Task:
    """An Ask, the schema and the rules of reading, as they are sent to the workers."""

    ask: Ask[Any]
    schema: Schema
    names: tuple[str, ...]
    labelled: bool
    unexpected: str

    def payload(self) -> bytes:
        """The task in bytes."""
        return pickle.dumps(self)


class Given(Stream):
    """The batches of one partition, gathered to a size that is worth a pass of the compiled loops."""

    def __init__(self, names: Iterable[str], given: Iterator[Any]) -> None:
        self.names, self.given = list(names), given

    def batches(self, wanted: list[str]) -> Iterator[Batch]:
        spots = [self.names.index(name) for name in wanted]
        for table in gathered(self.given):
            yield {name: table.column(spot) for name, spot in zip(wanted, spots, strict=True)}


def gathered(batches: Iterator[Any], least: int = GATHER) -> Iterator[Any]:
    """Arrow batches of one schema, put together until they have enough rows."""
    import pyarrow as pa

    held: list[Any] = []
    for batch in batches:
        held.append(batch)
        if sum(one.num_rows for one in held) >= least:
            yield pa.Table.from_batches(held)
            held = []
    if any(one.num_rows for one in held):
        yield pa.Table.from_batches(held)


# ---- in a worker


def answer(payload: bytes, part: Any) -> Iterator[bytes]:
    """What a task makes of one partition, in messages; the last has what was absorbed, or why the rows are refused.

    The partition is a data frame, or Arrow batches of the columns that were asked for.
    """
    from discreet.sources.frames import Memory
    from discreet.sources.source import Source

    task: Task = pickle.loads(payload)
    head: dict[str, Any] = {"schema": Schema.from_dict(task.schema.to_dict()).hash}  # as it is understood here
    stream = Memory(part) if hasattr(part, "columns") else Given(task.names, part)
    source = Source(stream, task.schema, labelled=task.labelled, unexpected=task.unexpected)
    with watching() as readings:
        try:
            for found in task.ask.of(source):
                yield message(head, task.ask.pack(found))
        except DiscreetError as error:
            head["refused"] = [type(error).__name__, str(error)]
        except ImportError as error:
            head["refused"] = ["DataError", f"a worker cannot read the rows: {error}; install it there"]
        absorbed = Absorbed()
        absorbed.include(*([one] for one in readings))
    yield message({**head, "values": absorbed.values, "rows": absorbed.rows})


def message(head: dict[str, Any], arrays: Arrays | None = None) -> bytes:
    """A few words and arrays of integers or doubles in bytes."""
    parts = {name: np.ascontiguousarray(values) for name, values in (arrays or {}).items()}
    bodies = [zlib.compress(values.tobytes(), 1) for values in parts.values()]
    shapes = [
        [name, values.dtype.str, values.shape, len(body)]
        for (name, values), body in zip(parts.items(), bodies, strict=True)
    ]
    words = json.dumps({**head, "arrays": shapes} if arrays is not None else head).encode()
    return b"".join([len(words).to_bytes(4, "little"), words, *bodies])


# ---- here


def opened_message(raw: bytes) -> tuple[dict[str, Any], Arrays | None]:
    """The words and arrays of a message."""
    start = 4 + int.from_bytes(raw[:4], "little")
    head = json.loads(raw[4:start])
    if "arrays" not in head:
        return head, None
    arrays: Arrays = {}
    for name, kind, shape, size in head["arrays"]:
        body = bytearray(zlib.decompress(raw[start : start + size]))  # arrays that can be written to, as any
        arrays[name] = np.frombuffer(body, np.dtype(kind)).reshape(shape)
        start += size
    return head, arrays


def answers(messages: Iterable[bytes], task: Task, count: Absorbed) -> Iterator[Arrays]:
    """The arrays in the workers' messages; what they absorbed is added up, and the first refusal is raised here."""
    for raw in messages:
        head, arrays = opened_message(raw)
        if "version" in head:
            raise DataError(wrong_version(head["version"], own_version()))
        if head["schema"] != task.schema.hash:
            raise DataError("a worker answered for another schema: " + INSTALL.format(own_version()))
        if "refused" in head:
            kind, sentence = head["refused"]
            raise getattr(errors, kind)(sentence)
        if arrays is None:
            count.values, count.rows = count.values + head["values"], count.rows + head["rows"]
        else:
            yield arrays


def own_version() -> str:
    """The version of the package that runs here."""
    return version("discreet")


def wrong_version(found: str, wanted: str) -> str:
    """The sentence for workers that have not the package that runs here."""
    if found.startswith("!"):
        return f"the workers cannot import discreet ({found[1:]}): {INSTALL.format(wanted)}"
    return f"the workers have discreet {found} and this process has {wanted}: {INSTALL.format(wanted)}"


def checked_run(payload: bytes) -> Callable[[Any], Iterator[bytes]]:
    """The function that goes to the workers: by its value, so that it can say what is missing where it arrives."""
    wanted = own_version()

    def run(batches: Any) -> Iterator[bytes]:
        import importlib
        import importlib.metadata
        import json

        try:
            importlib.import_module("discreet")
            found = importlib.metadata.version("discreet")
        except Exception as error:  # whatever an import may end in there
            found = f"!{error}"
        if found != wanted:
            words = json.dumps({"version": found}).encode()
            yield len(words).to_bytes(4, "little") + words
            return
        from discreet.sources.beside import answer

        yield from answer(payload, batches)

    return run
