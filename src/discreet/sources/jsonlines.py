"""Rows as JSON lines: one object per line, streamed in batches; each value is read as it stands."""

from __future__ import annotations

import gzip
import json
import zlib
from collections.abc import Iterator
from itertools import islice
from typing import Any

from discreet.errors import DataError
from discreet.sources.stored import objects
from discreet.sources.streams import Stream, first_line

BATCH = 1 << 15
LONGEST = 1 << 24  # bytes of one line: more is no row but a file without ends of lines
NAMED = 100  # lines whose keys are shown as columns; any other key is a column, too


class Keys(list[str]):
    """The keys of the first lines; any name is a column, which is missing where a line lacks the key."""

    def __contains__(self, name: object) -> bool:
        return True


class JSONLines(Stream):
    """Files of JSON objects, a line each; a key that a line lacks is a missing value."""

    def __init__(self, paths: list[str], *, lenient: bool = False) -> None:
        self.paths, self.lenient, self.lost = paths, lenient, 0
        known: dict[str, None] = {}
        for row in islice(self._rows(), NAMED):
            known.update(dict.fromkeys(row))
        self.names = Keys(known)
        if not known and not lenient:
            raise DataError(f"{paths[0]} has no line with a JSON object")

    def batches(self, wanted: list[str]) -> Iterator[dict[str, Any]]:
        self.lost = 0
        rows = self._rows()
        while batch := list(islice(rows, BATCH)):
            yield {name: objects((row.get(name) for row in batch), len(batch)) for name in wanted}

    def rejected(self) -> int:
        return self.lost

    def _rows(self) -> Iterator[dict[str, Any]]:
        for path in self.paths:
            opener: Any = gzip.open if path.lower().endswith(".gz") else open
            try:
                with opener(path, "rb") as file:
                    yield from self._parsed(path, file)
            except (OSError, EOFError, zlib.error) as error:
                raise DataError(f"{path} cannot be read: {first_line(error)}") from None

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
