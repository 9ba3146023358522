"""Rows as JSON lines: one object per line, streamed in batches; each value is read as it stands."""

from __future__ import annotations

import difflib
import gzip
import json
import warnings
import zlib
from collections.abc import Iterator
from itertools import islice
from typing import Any

from discreet.errors import DataError
from discreet.privacy.unexpected import ABSORB
from discreet.schema import Schema
from discreet.sources.stored import objects
from discreet.sources.streams import Stream, first_line

BATCH = 1 << 15
LONGEST = 1 << 24  # bytes of one line: more is no row but a file without ends of lines
NAMED = 100  # lines whose keys are shown as columns; any other key is a column, too


class Keys(list[str]):
    """The keys of the first lines; any name is a column, which is missing where a line lacks the key."""

    def __contains__(self, name: object) -> bool:
        return True


class _Lacking:
    """Wanted keys that no line so far has."""

    def __init__(self, wanted: list[str], named: list[str]) -> None:
        self.wanted, self.named = wanted, list(named)
        self.keys = set(wanted) - set(named)

    def without(self, row: dict[str, Any]) -> bool:
        """Whether any are left after one more line."""
        self.keys -= row.keys()
        return bool(self.keys)

    def words(self, path: str) -> str:
        """What is wrong, with the name that may be meant."""
        name = next(one for one in self.wanted if one in self.keys)
        near = difflib.get_close_matches(name, self.named, 1, 0.7)
        have = ", ".join(map(repr, self.named[:12])) + (", …" if len(self.named) > 12 else "")
        return f"no line of {path} has {name!r}" + (f": is {near[0]!r} meant?" if near else f" (they have {have})")


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
        rows, lacking = self._rows(), _Lacking(wanted, self.names)
        while batch := list(islice(rows, BATCH)):
            for row in batch if lacking.keys else ():
                lacking.without(row)
            yield {name: objects((row.get(name) for row in batch), len(batch)) for name in wanted}
        if lacking.keys and not self.lenient:
            raise DataError(lacking.words(self.paths[0]))

    def rejected(self) -> int:
        return self.lost

    def serve(self, schema: Schema, plan: Any = None) -> None:
        """Before a charge refuse a feature or an id that no line has, as a file with a header would.

        Lines are read for it only if the first ones lack a key. Where nothing is refused by what rows hold it is said.
        """
        lacking = _Lacking([*schema.names, *([schema.id] if schema.id else [])], self.names)
        if plan is None or not lacking.keys:
            return
        before = self.lost
        for row in self._rows():
            if not lacking.without(row):
                break
        self.lost = before
        if not lacking.keys:
            return
        if plan.unexpected != ABSORB:
            raise DataError(lacking.words(self.paths[0]))
        warnings.warn(f"{lacking.words(self.paths[0])}; it is read as missing everywhere", stacklevel=2)

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
