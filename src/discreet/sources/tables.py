"""Rows in databases: whatever DuckDB selects from, and tables behind any DB-API connection, streamed in batches."""

from __future__ import annotations

import functools
import sqlite3
import tempfile
from collections.abc import Callable, Iterator
from contextlib import closing, suppress
from dataclasses import dataclass
from typing import Any

from discreet.errors import DataError
from discreet.sources.postgres import Postgres, is_postgres
from discreet.sources.stored import objects
from discreet.sources.streams import Stream, first_line, register

BATCH = 1 << 19
TOLD = ("Expected Number of Columns", "Value with unterminated", "Maximum line size")  # lines that say what was wrong
# What DuckDB hands to Arrow wrongly or in a form of its own.
_WIDE = {"HUGEINT", "UHUGEINT", "BIGNUM", "VARINT"}
_WRITTEN = {"BIT", "TIME WITH TIME ZONE"}
_REJECTED = (
    "SELECT count(DISTINCT (file_id, line)) FROM reject_errors WHERE scan_id = (SELECT max(scan_id) FROM reject_errors)"
)
OPEN_QUOTE = "a quote is not closed, or text follows a closed one, so that nobody knows where a row ends: mend the file"
_decoded = functools.partial(str, encoding="utf-8", errors="replace")


@dataclass(frozen=True)
class Table:
    """A table of a database: a DuckDB, psycopg or any other DB-API connection, and the table's name."""

    connection: Any
    name: str

    def stream(self) -> Stream:
        """Its rows, batch by batch."""
        if type(self.connection).__module__.split(".")[0] in {"duckdb", "_duckdb"}:
            return Duck(self.connection, quote_table(self.name), [], owned=False)
        if is_postgres(self.connection):
            return Postgres(self.connection, quote_table(self.name))
        return _DBAPI(self)


def quote(name: str) -> str:
    """An SQL identifier."""
    return '"' + name.replace('"', '""') + '"'


def quote_table(name: str) -> str:
    parts = name.split(".")
    return ".".join(quote(part) for part in parts) if all(part.isidentifier() for part in parts) else quote(name)


class Duck(Stream):
    """Anything DuckDB can select from.

    DuckDB does not tell names apart that differ in case only, so columns are known by their own names here and
    by DuckDB's names in its queries.
    """

    def __init__(
        self,
        connection: Any,
        source: str,
        parameters: list[Any],
        *,
        names: list[str] | None = None,
        label: str = "",
        texts: bool = False,
        owned: bool = True,
        folder: tempfile.TemporaryDirectory[str] | None = None,
        lenient: bool = False,
        check: Callable[[], None] | None = None,
    ) -> None:
        import duckdb

        self.lenient, self.check = lenient, check  # what is looked at as reading begins, not as the source is opened
        self.folder = folder
        self.connection, self.source, self.parameters = connection, source, parameters
        self.label, self.texts, self.owned, self.begun = label, texts, owned, False
        try:
            # DuckDB's own progress bar would draw on standard output.
            self.bar = connection.execute("SELECT current_setting('enable_progress_bar')").fetchall()[0][0]
            self._show_bar(False)
            shape = connection.sql(f"SELECT * FROM {source} LIMIT 0", params=parameters)
            inner, kinds = list(shape.columns), [str(kind) for kind in shape.types]
        except duckdb.Error as error:
            raise self._refusal(error) from None
        self.names = names if names is not None and len(names) == len(inner) else inner
        self._known(inner, kinds)

    def _known(self, inner: list[str], kinds: list[str]) -> None:
        """Take down what DuckDB calls the columns, and their types."""
        self.items = {name: quote(known) for name, known in zip(self.names, inner, strict=True)}
        self.types = dict(zip(self.names, kinds, strict=True))

    def _refusal(self, error: BaseException) -> DataError:
        """What stopped DuckDB, in one sentence."""
        lines = [line.strip() for line in str(error).splitlines() if line.strip()]
        found = [line for line in lines if line.startswith(TOLD)]
        first = lines[0].split("Error: ", 1)[-1] if lines else type(error).__name__
        text = " ".join([first, *found])
        if "unicode" in str(error).lower() or "utf-8" in str(error).lower():
            text = f"it is not UTF-8 text ({text})"
        return DataError(f"{self.label}: {text}" if self.label else text)

    def ask(self, query: str) -> list[tuple[Any, ...]]:
        """All rows that answer a query on the source."""
        import duckdb

        try:
            return list(self.connection.execute(query, self.parameters).fetchall())
        except duckdb.Error as error:
            raise self._refusal(error) from None

    def batches(self, wanted: list[str]) -> Iterator[dict[str, Any]]:
        import duckdb
        import pyarrow as pa

        if self.check is not None:
            self.check()
        # Which lines of a CSV file are left out must not hang on the columns asked for: DuckDB looks at those alone.
        asked = [*wanted, *(name for name in self.names if self.lenient and name not in wanted)]
        items = ", ".join(f"{self._item(name)} AS c{i}" for i, name in enumerate(asked))
        try:
            for batch in self._reader(items):
                yield {name: batch.column(i) for i, name in enumerate(wanted)}
        except (duckdb.Error, pa.ArrowException, OSError) as error:
            raise self._refusal(error) from None
        if self.lenient and self.connection.execute(f"{_REJECTED} AND error_type = 'UNQUOTED VALUE'").fetchall()[0][0]:
            # What follows an open quote belongs to one value: where rows end is then a matter of the file.
            raise DataError(f"{self.label}: {OPEN_QUOTE}")

    def state(self) -> Any:
        # A transaction sees the rows as they are now; that of the connection's owner does, too.
        first, second = (self.connection.execute("SELECT txid_current()").fetchall() for _ in range(2))
        if first != second:  # there is none
            self.connection.execute("BEGIN TRANSACTION")
            self.begun = True
        return super().state()

    def _reader(self, items: str) -> Any:
        return self.connection.sql(f"SELECT {items} FROM {self.source}", params=self.parameters).to_arrow_reader(BATCH)

    def rejected(self) -> int:
        return int(self.connection.execute(_REJECTED).fetchall()[0][0]) if self.lenient else 0

    def _item(self, name: str) -> str:
        """A column as Arrow can hold it: no wider integers than 64 bits, no bits, no zones of daytimes."""
        item, kind = self.items[name], self.types[name].upper()
        if kind in _WIDE:
            return f"CAST(CAST({item} AS VARCHAR) AS DOUBLE)"
        return f"CAST({item} AS VARCHAR)" if kind in _WRITTEN else item

    def close(self) -> None:
        import duckdb

        if self.begun:
            with suppress(duckdb.Error):
                self.connection.execute("COMMIT")
        if self.owned:
            self.connection.close()
            if self.folder is not None:
                self.folder.cleanup()
        else:
            self._show_bar(self.bar)

    def _show_bar(self, wanted: bool) -> None:
        """Whether DuckDB draws a bar of its own; in notebooks without widgets it has none, and refuses to be told."""
        import duckdb

        with suppress(duckdb.Error):
            self.connection.execute(f"SET enable_progress_bar = {str(bool(wanted)).lower()}")


class _DBAPI(Stream):
    """A table behind any DB-API connection."""

    def __init__(self, table: Table) -> None:
        self.connection, self.source = table.connection, quote_table(table.name)
        self.names: Any = _Named(self)
        self._run(f"SELECT 1 FROM {self.source} WHERE 1 = 0").close()

    def _run(self, query: str) -> Any:
        cursor = self.connection.cursor()
        try:
            cursor.execute(query)
        except Exception as error:
            cursor.close()
            raise DataError(f"the database refuses to read {self.source}: {first_line(error)}") from None
        return cursor

    def state(self) -> Any:
        if not isinstance(self.connection, sqlite3.Connection):
            return None
        with closing(self._run("PRAGMA data_version")) as cursor:  # what others wrote, and what this connection did
            return cursor.fetchall(), self.connection.total_changes

    def stamps(self) -> Any:
        return self.state()

    def batches(self, wanted: list[str]) -> Iterator[dict[str, Any]]:
        items = ", ".join(quote(name) for name in wanted)
        cursor = self._run(f"SELECT {items} FROM {self.source}")
        # SQLite stores any bytes as text and would stop at those that are none; they are read as bytes are elsewhere.
        lite = isinstance(self.connection, sqlite3.Connection) and self.connection.text_factory is str
        try:
            while rows := self._fetch(cursor, lite):
                columns = zip(*rows, strict=True)
                yield {name: objects(values, len(rows)) for name, values in zip(wanted, columns, strict=True)}
        finally:
            cursor.close()

    def _fetch(self, cursor: Any, lite: bool) -> Any:
        try:
            if lite:
                self.connection.text_factory = _decoded
            return cursor.fetchmany(1 << 16)
        except Exception as error:
            raise DataError(f"the database cannot read on in {self.source}: {first_line(error)}") from None
        finally:
            if lite:
                self.connection.text_factory = str


class _Named:
    """The columns of a table that may not be readable all at once: each is asked for when it is wanted."""

    def __init__(self, stream: _DBAPI) -> None:
        self.stream, self.known = stream, set[str]()

    def __contains__(self, name: str) -> bool:
        if name not in self.known:
            try:  # by the name of its table too: some engines take a lone name that no column has for a text
                self.stream._run(f"SELECT one.{quote(name)} FROM {self.stream.source} one WHERE 1 = 0").close()
            except DataError:
                return False
            self.known.add(name)
        return True

    def __iter__(self) -> Iterator[str]:
        """All of them, for drafts and complaints, if the database tells."""
        try:
            cursor = self.stream._run(f"SELECT * FROM {self.stream.source} WHERE 1 = 0")
        except DataError:
            return iter(sorted(self.known))
        names = [column[0] for column in cursor.description]
        cursor.close()
        return iter(names)

    def __len__(self) -> int:
        return sum(1 for _ in self)


def private_duckdb(**settings: Any) -> tuple[Any, tempfile.TemporaryDirectory[str]]:
    """A DuckDB of our own that can write raw values only, if ever, to a folder nobody else can read."""
    import duckdb

    folder = tempfile.TemporaryDirectory(prefix="discreet-")
    return duckdb.connect(config={**settings, "temp_directory": folder.name}), folder


def _in_postgres(data: Any) -> bool:
    return isinstance(data, Table) and is_postgres(data.connection)


register("a database table", lambda data: isinstance(data, Table), lambda data, **_: data.stream())
register("a table of PostgreSQL", _in_postgres, lambda data, **_: data.stream(), counts=True)
