"""Tables of engines as generated statements see them: what an engine answers, and how its columns are named."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from discreet.schema import Schema
from discreet.sources.blocks import Rows
from discreet.sources.sql import Dialect

_EXACT = {"decimal", "numeric"}


class Engine(Protocol):
    """An open table of an engine: what each column holds, and answers to queries."""

    dialect: Dialect
    source: str
    kinds: dict[str, str]  # of the columns that can be counted
    steady: bool  # whether all statements see the same rows
    progress: Any  # is told how many statements are done, if it is there

    def ask(self, query: str) -> list[tuple[Any, ...]]:
        """All rows of the answer."""

    def item(self, name: str) -> str:
        """A column in a query."""

    def rows(self, schema: Schema) -> Iterator[tuple[Rows, Any]]:
        """The rows, streamed."""

    def select(
        self, words: list[str], raw: dict[str, tuple[str, str | None]], rest: str
    ) -> Iterator[tuple[NDArray[np.int64], dict[str, Any]]]:  # fmt: skip
        """Whole numbers and columns as they are, in batches: a line of numbers for each row, and its columns.

        Each of these is an expression and its kind. The rest of the statement follows FROM.
        """


class View:
    """Columns of a table as a statement names them: doubles of decimals are made once, in a subquery of their own."""

    def __init__(self, engine: Engine, names: Collection[str], where: str = "") -> None:
        self.engine, self.where = engine, where
        self.names = list(dict.fromkeys(names))
        self.inner = any(engine.kinds.get(name) in _EXACT for name in self.names)

    def kind(self, name: str) -> str | None:
        """What a column holds here, if it can be counted."""
        kind = self.engine.kinds.get(name)
        return "double" if self.inner and kind in _EXACT else kind

    def item(self, name: str) -> str:
        """A column here."""
        return f"i{self.names.index(name)}" if self.inner else self.engine.item(name)

    def __getitem__(self, name: str) -> tuple[str, str]:
        kind = self.kind(name)
        assert kind is not None
        return self.item(name), kind

    def __str__(self) -> str:
        if not self.inner:
            return self.engine.source + self.where
        speak, listed = self.engine.dialect, []
        for j, name in enumerate(self.names):
            item, kind = self.engine.item(name), self.engine.kinds.get(name)
            listed.append(f"{speak.doubled(item, kind) if kind in _EXACT else item} AS i{j}")
        return f"(SELECT {', '.join(listed)} FROM {self.engine.source}{self.where}{speak.fence}) zero"
