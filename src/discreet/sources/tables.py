"""Rows on disk and in databases: CSV, Parquet and Arrow files and SQL tables, streamed in batches."""

from __future__ import annotations

import csv
import glob
import gzip
import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from discreet.errors import DataError
from discreet.schema import Schema
from discreet.sources.blocks import Rows
from discreet.sources.columns import make_column
from discreet.sources.frames import make_label, refuse_ids, require

BATCH = 1 << 19
_ARROW = {".arrow", ".feather", ".ipc"}
_TEXT = {".csv", ".tsv", ".txt"}


@dataclass(frozen=True)
class Table:
    """A table of a database: a DuckDB or any DB-API connection, and the table's name."""

    connection: Any
    name: str


def quote(name: str) -> str:
    """An SQL identifier."""
    return '"' + name.replace('"', '""') + '"'


def _quote_table(name: str) -> str:
    parts = name.split(".")
    return ".".join(quote(part) for part in parts) if all(part.isidentifier() for part in parts) else quote(name)


class Stream:
    """Batches of Arrow or NumPy columns from somewhere outside memory, read once from start to end."""

    total: int | None = None
    names: list[str]

    def batches(self, wanted: list[str], numbers: set[str]) -> Iterator[dict[str, Any]]:
        """The wanted columns, batch by batch, in the order of the rows."""
        raise NotImplementedError

    def most_rows_of_one(self, name: str) -> int:
        """The largest number of rows that share a value of a column; -1 if a value is missing."""
        raise NotImplementedError

    def close(self) -> None:
        """Let go of files and connections."""

    def rows(self, schema: Schema, *, labelled: bool = True) -> Iterator[Rows]:
        """The rows in the form that counting and prediction read."""
        require(schema, self.names, labelled=labelled)
        wanted = [*schema.names, *([schema.target] if labelled else [])]
        numbers = {feature.name for feature in schema.numeric}
        for batch in self.batches(wanted, numbers):
            size = len(batch[wanted[0]])
            columns = [make_column(feature, batch[feature.name]) for feature in schema.features]
            yield Rows(columns, size, make_label(schema, batch[schema.target], size) if labelled else None)

    def check_ids(self, schema: Schema, contributions: int) -> None:
        """Refuse data in which some id stands in more rows than the guarantee counts on."""
        require(schema, self.names, labelled=False, identified=True)
        assert schema.id is not None
        most = self.most_rows_of_one(schema.id)
        if most < 0:
            raise DataError(f"the id column {schema.id!r} has missing values")
        refuse_ids(schema, contributions, most)


class _Duck(Stream):
    """Anything DuckDB can select from."""

    def __init__(self, connection: Any, source: str, parameters: list[Any], *, texts: bool = False) -> None:
        self.connection, self.source, self.parameters, self.texts = connection, source, parameters, texts
        import duckdb

        connection.execute("SET enable_progress_bar = false")  # it would draw on standard output
        try:
            shape = connection.sql(f"SELECT * FROM {source} LIMIT 0", params=parameters)
            self.types = {str(name): str(kind) for name, kind in zip(shape.columns, shape.types, strict=True)}
        except duckdb.Error as error:
            raise DataError(_first_line(error)) from None
        self.names = list(self.types)

    def ask(self, query: str) -> list[tuple[Any, ...]]:
        """All rows that answer a query, in which {} stands for the source."""
        import duckdb

        try:
            return list(self.connection.execute(query.replace("{}", self.source, 1), self.parameters).fetchall())
        except duckdb.Error as error:
            raise DataError(_first_line(error)) from None

    def batches(self, wanted: list[str], numbers: set[str]) -> Iterator[dict[str, Any]]:
        import duckdb
        import pyarrow as pa

        def expression(name: str) -> str:
            return f"CAST({quote(name)} AS DOUBLE)" if self.texts and name in numbers else quote(name)

        items = ", ".join(f"{expression(name)} AS c{i}" for i, name in enumerate(wanted))
        query = f"SELECT {items} FROM {self.source}"
        try:
            for batch in self.connection.sql(query, params=self.parameters).to_arrow_reader(BATCH):
                yield {name: batch.column(i) for i, name in enumerate(wanted)}
        except (duckdb.Error, pa.ArrowException, OSError) as error:
            self._explain_numbers(wanted, numbers)
            raise DataError(_first_line(error)) from None

    def _explain_numbers(self, wanted: list[str], numbers: set[str]) -> None:
        """If a text that should be a number stopped the scan, say which."""
        for name in (name for name in wanted if self.texts and name in numbers):
            item = quote(name)
            query = f"SELECT {item} FROM {{}} WHERE TRY_CAST({item} AS DOUBLE) IS NULL AND {item} IS NOT NULL LIMIT 1"
            try:
                found = self.ask(query)
            except DataError:
                return
            if found:
                raise DataError(f"column {name!r} holds {found[0][0]!r}, which is not a number")

    def most_rows_of_one(self, name: str) -> int:
        item = quote(name)
        inner = f"SELECT {item} IS NULL AS gone, count(*) AS size FROM {{}} GROUP BY {item}"
        query = f"SELECT coalesce(max(size), 0), coalesce(bool_or(gone), false) FROM ({inner})"
        most, gone = self.ask(query)[0]
        return -1 if gone else int(most)

    def close(self) -> None:
        self.connection.close()


class _Arrow(Stream):
    """Arrow IPC and Feather files, which need no conversion at all."""

    def __init__(self, paths: list[str]) -> None:
        import pyarrow as pa
        import pyarrow.dataset as dataset

        try:
            self.data = dataset.dataset(paths, format="ipc")
        except (pa.ArrowException, OSError) as error:
            raise DataError(f"{paths[0]} is not an Arrow file: {_first_line(error)}") from None
        self.names = list(self.data.schema.names)

    def batches(self, wanted: list[str], numbers: set[str]) -> Iterator[dict[str, Any]]:
        import pyarrow as pa

        try:
            for batch in self.data.to_batches(columns=wanted, batch_size=BATCH, batch_readahead=2):
                if batch.num_rows:
                    yield {name: batch.column(i) for i, name in enumerate(wanted)}
        except (pa.ArrowException, OSError) as error:
            raise DataError(f"the Arrow file cannot be read: {_first_line(error)}") from None

    def most_rows_of_one(self, name: str) -> int:
        import pyarrow as pa

        groups = pa.TableGroupBy(self.data.to_table(columns=[name]), [name]).aggregate([([], "count_all")])
        sizes = groups.column("count_all").to_pylist()
        return -1 if groups.column(name).null_count else max(sizes, default=0)


class _DBAPI(Stream):
    """A table behind any DB-API connection."""

    def __init__(self, table: Table) -> None:
        self.connection, self.source = table.connection, _quote_table(table.name)
        cursor = self._run(f"SELECT * FROM {self.source} WHERE 1 = 0")
        self.names = [column[0] for column in cursor.description]
        cursor.close()

    def _run(self, query: str) -> Any:
        cursor = self.connection.cursor()
        try:
            cursor.execute(query)
        except Exception as error:
            cursor.close()
            raise DataError(f"the database refuses to read {self.source}: {_first_line(error)}") from None
        return cursor

    def batches(self, wanted: list[str], numbers: set[str]) -> Iterator[dict[str, Any]]:
        import numpy as np

        items = ", ".join(quote(name) for name in wanted)
        cursor = self._run(f"SELECT {items} FROM {self.source}")
        try:
            while rows := cursor.fetchmany(1 << 16):
                columns = zip(*rows, strict=True)
                arrays = []
                for values in columns:
                    array = np.empty(len(values), dtype=object)
                    array[:] = values
                    arrays.append(array)
                yield dict(zip(wanted, arrays, strict=True))
        finally:
            cursor.close()

    def most_rows_of_one(self, name: str) -> int:
        item = quote(name)
        inner = f"SELECT {item} AS person, COUNT(*) AS size FROM {self.source} GROUP BY {item}"
        cursor = self._run(
            f"SELECT MAX(size), SUM(CASE WHEN person IS NULL THEN 1 ELSE 0 END) FROM ({inner}) AS people"
        )
        most, gone = cursor.fetchone()
        cursor.close()
        return -1 if gone else int(most or 0)


def open_table(table: Table) -> Stream:
    """Stream a database table."""
    if type(table.connection).__module__.split(".")[0] in {"duckdb", "_duckdb"}:
        return _Duck(table.connection.cursor(), _quote_table(table.name), [])
    return _DBAPI(table)


def open_files(path: str | os.PathLike[str], *, ordered: bool = False) -> Stream:
    """Stream a CSV, Parquet or Arrow file, or all files that a pattern such as `part-*.parquet` matches."""
    paths = _expand(os.fspath(path))
    kind = _kind(paths[0])
    if kind == "arrow":
        return _Arrow(paths)
    import duckdb

    connection = duckdb.connect(config={"preserve_insertion_order": ordered, "memory_limit": "1GB"})
    if kind == "parquet":
        try:
            stream = _Duck(connection, "read_parquet(?)", [paths])
        except DataError as error:
            raise DataError(f"{paths[0]} is not a readable Parquet file: {error}") from None
        stream.total = int(stream.ask("SELECT count(*) FROM {}")[0][0])
        return stream
    names, delimiter = _header(paths[0])
    # Everything is declared: a sniffer could take a row for a comment or skip it, and rows must not get lost.
    options = (
        "auto_detect = false, header = true, skip = 0, delim = ?, quote = '\"', escape = '\"', "
        "nullstr = '', strict_mode = true, columns = {"
        + ", ".join(f"'{name.replace(chr(39), chr(39) * 2)}': 'VARCHAR'" for name in names)
        + "}"
    )
    return _Duck(connection, f"read_csv(?, {options})", [paths, delimiter], texts=True)


def _expand(path: str) -> list[str]:
    if not os.path.exists(path) and any(mark in path for mark in "*?["):
        paths = sorted(glob.glob(path))
        if not paths:
            raise DataError(f"no file matches {path}")
    else:
        paths = [path]
    for one in paths:
        if os.path.isdir(one):
            raise DataError(f"{one} is a directory: name a file, or a pattern such as {one}/*.parquet")
        if not os.path.exists(one):
            raise DataError(f"there is no file {one}")
        if os.path.getsize(one) == 0:
            raise DataError(f"{one} is empty")
    return paths


def _kind(path: str) -> str:
    name = path.lower().removesuffix(".gz")
    suffix = Path(name).suffix
    if suffix in _ARROW:
        return "arrow"
    if suffix in {".parquet", ".pq"}:
        return "parquet"
    if suffix in _TEXT:
        return "csv"
    with open(path, "rb") as file:
        magic = file.read(6)
    if magic[:4] == b"PAR1":
        return "parquet"
    if magic == b"ARROW1":
        return "arrow"
    if b"\0" in magic:
        raise DataError(f"{path} is neither CSV, Parquet nor Arrow: convert it to one of these")
    return "csv"


def _header(path: str) -> tuple[list[str], str]:
    """The column names of a CSV file and its delimiter, judged from the first line alone."""
    try:
        opener: Any = gzip.open if path.lower().endswith(".gz") else open
        with opener(path, "rt", encoding="utf-8-sig", newline="") as file:
            line = file.readline(1 << 20)
            delimiter = max(",;\t|", key=lambda mark: (line.count(mark), mark == ","))
            file.seek(0)
            names = next(csv.reader(file, delimiter=delimiter), [])
    except (UnicodeDecodeError, csv.Error, OSError, EOFError):
        raise DataError(f"{path} is not a UTF-8 text file with a header line") from None
    if not any(names):
        raise DataError(f"{path} has no header line with column names")
    if len(set(names)) != len(names) or not all(names):
        raise DataError(f"{path}: every column needs a name of its own in the header line")
    return names, delimiter


def _first_line(error: BaseException) -> str:
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    return lines[0] if lines else type(error).__name__
