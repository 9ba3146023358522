"""Rows as JSON lines: one object per line, streamed in batches; each value is read as it stands."""

from __future__ import annotations

import functools
import gzip
import json
import zlib
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from itertools import islice
from typing import Any

from discreet.errors import DataError
from discreet.sources.stored import objects
from discreet.sources.streams import Stream, first_line

BATCH = 1 << 15
LONGEST = 1 << 24  # bytes of one line: more is no row but a file without ends of lines
NAMED = 100  # lines whose keys are shown as columns; any other key is a column, too


class Keys(Sequence[str]):
    """The keys of the first lines, which are read when they are asked for.

    Any name is a column, which is missing where a line lacks the key: to ask for one reads nothing.
    """

    def __init__(self, load: Callable[[], list[str]]) -> None:
        self._load = functools.cache(load)

    def __contains__(self, name: object) -> bool:
        return True

    def __len__(self) -> int:
        return len(self._load())

    def __getitem__(self, spot: Any) -> Any:
        return self._load()[spot]


class JSONLines(Stream):
    """Files of JSON objects, a line each; a key that a line lacks is a missing value.

    No line is read as they are opened: what keys lines have is an answer about rows, which nobody has paid for yet.
    """

    def __init__(self, paths: list[str], *, lenient: bool = False) -> None:
        self.paths, self.lenient, self.lost = paths, lenient, 0
        self.names: Any = Keys(self._first)
        for path in paths:
            with _opened(path) as file:
                file.peek(1)  # whether it can be read at all, whatever it holds

    def batches(self, wanted: list[str]) -> Iterator[dict[str, Any]]:
        self.lost, found = 0, False
        rows, lacking = self._rows(), dict.fromkeys(wanted)
        while batch := list(islice(rows, BATCH)):
            found = True
            for row in batch:
                if not lacking:
                    break
                lacking = {name: None for name in lacking if name not in row}
            yield {name: objects((row.get(name) for row in batch), len(batch)) for name in wanted}
        if not self.lenient:
            self._refuse_none(found)
            if lacking:
                name = next(iter(lacking))
                raise DataError(f"no line of {self.paths[0]} has {name!r}: `discreet check` tells which keys there are")

    def rejected(self) -> int:
        return self.lost

    def _first(self) -> list[str]:
        """The keys of the first lines, in their order."""
        known: dict[str, None] = {}
        before = self.lost
        for row in islice(self._rows(), NAMED):
            known.update(dict.fromkeys(row))
        self.lost = before
        if not self.lenient:
            self._refuse_none(bool(known))
        return list(known)

    def _refuse_none(self, found: bool) -> None:
        if not found:
            raise DataError(f"{self.paths[0]} has no line with a JSON object")

    def _rows(self) -> Iterator[dict[str, Any]]:
        for path in self.paths:
            with _opened(path) as file:
                yield from self._parsed(path, file)

    def _parsed(self, path: str, file: Any) -> Iterator[dict[str, Any]]:
        number = 0
        while line := file.readline(LONGEST):
            number += 1
            if len(line) == LONGEST:
                if self.lenient:
                    while not line.endswith(b"\n") and (line := file.readline(LONGEST)):
                        pass
                    self.lost += 1
                    continue
                raise DataError(f"{path}: line {number} is too long to be a row: write one JSON object per line")
            try:
                row = json.loads(line.removeprefix(b"\xef\xbb\xbf")) if line.strip() else None
            except (ValueError, RecursionError):
                row = ()
            if isinstance(row, dict):
                yield row
            elif row is not None and not self.lenient:
                raise DataError(f"{path}: line {number} is no JSON object: write one object per line")
            else:
                self.lost += row is not None


@contextmanager
def _opened(path: str) -> Iterator[Any]:
    opener: Any = gzip.open if path.lower().endswith(".gz") else open
    try:
        with opener(path, "rb") as file:
            yield file
    except (OSError, EOFError, zlib.error) as error:
        raise DataError(f"{path} cannot be read: {first_line(error)}") from None
