"""Rows on disk and in databases: CSV, Parquet and Arrow files and SQL tables, streamed in batches."""

from __future__ import annotations

import csv
import functools
import glob
import gzip
import os
import sqlite3
import tempfile
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from discreet.errors import DataError
from discreet.schema import Schema
from discreet.sources.blocks import Rows
from discreet.sources.columns import make_column
from discreet.sources.frames import make_label, require
from discreet.sources.people import People, refuse_people
from discreet.sources.stored import objects

BATCH = 1 << 19
_ARROW = {".arrow", ".feather", ".ipc"}
# What DuckDB hands to Arrow wrongly or in a form of its own.
_WIDE = {"HUGEINT", "UHUGEINT", "BIGNUM", "VARINT"}
_WRITTEN = {"BIT", "TIME WITH TIME ZONE"}
_TEXT = {".csv", ".tsv", ".txt"}
_REJECTED = (
    "SELECT count(DISTINCT (file_id, line)) FROM reject_errors WHERE scan_id = (SELECT max(scan_id) FROM reject_errors)"
)
_OPEN_QUOTE = (
    "a quote is not closed, or text follows a closed one, so that nobody knows where a row ends: mend the file"
)
_BLOCK = 1 << 22
_decoded = functools.partial(str, encoding="utf-8", errors="replace")


@dataclass(frozen=True)
class Table:
    """A table of a database: a DuckDB or any DB-API connection, and the table's name."""

    connection: Any
    name: str

    def stream(self) -> Stream:
        """Its rows, batch by batch."""
        if type(self.connection).__module__.split(".")[0] in {"duckdb", "_duckdb"}:
            return _Duck(self.connection, _quote_table(self.name), [], owned=False)
        return _DBAPI(self)

    def columns(self) -> list[str]:
        """The names of its columns, without a look at any row."""
        stream = self.stream()
        stream.close()
        return stream.names


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

    def batches(self, wanted: list[str]) -> Iterator[dict[str, Any]]:
        """The wanted columns, batch by batch, in the order of the rows."""
        raise NotImplementedError

    def rejected(self) -> int:
        """How many lines of the last reading were no rows."""
        return 0

    def close(self) -> None:
        """Let go of files and connections."""

    def rows(self, schema: Schema, *, labelled: bool = True, identified: bool = False) -> Iterator[tuple[Rows, Any]]:
        """The rows in the form that counting and prediction read, with the ids beside them if they are wanted."""
        require(schema, self.names, labelled=labelled, identified=identified)
        wanted = [*schema.names, *([schema.target] if labelled else [])]
        wanted += [schema.id] if identified and schema.id else []
        for batch in self.batches(list(dict.fromkeys(wanted))):
            size = len(batch[wanted[0]])
            columns = [make_column(feature, batch[feature.name]) for feature in schema.features]
            rows = Rows(columns, size, make_label(schema, batch[schema.target], size) if labelled else None)
            yield rows, batch[schema.id] if identified and schema.id else None

    def people(self, schema: Schema) -> People:
        """How many rows everybody has."""
        require(schema, self.names, labelled=False, identified=True)
        assert schema.id is not None
        people = People()
        for batch in self.batches([schema.id]):
            people.add(batch[schema.id])
        return people

    def check_ids(self, schema: Schema, contributions: int) -> None:
        """Refuse data in which some id stands in more rows than the guarantee counts on."""
        refuse_people(schema, contributions, self.people(schema))


class _Duck(Stream):
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
    ) -> None:
        import duckdb

        self.lenient = lenient
        self.folder = folder
        self.connection, self.source, self.parameters = connection, source, parameters
        self.label, self.texts, self.owned = label, texts, owned
        try:
            # DuckDB's own progress bar would draw on standard output.
            self.bar = connection.execute("SELECT current_setting('enable_progress_bar')").fetchall()[0][0]
            connection.execute("SET enable_progress_bar = false")
            shape = connection.sql(f"SELECT * FROM {source} LIMIT 0", params=parameters)
            inner, kinds = list(shape.columns), [str(kind) for kind in shape.types]
        except duckdb.Error as error:
            raise self._refusal(error) from None
        self.names = names if names is not None and len(names) == len(inner) else inner
        self.items = {name: quote(known) for name, known in zip(self.names, inner, strict=True)}
        self.types = dict(zip(self.names, kinds, strict=True))

    def _refusal(self, error: BaseException) -> DataError:
        """What stopped DuckDB, in one sentence."""
        lines = [line.strip() for line in str(error).splitlines() if line.strip()]
        found = [line for line in lines if line.startswith(("Expected Number of Columns", "Value with unterminated"))]
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

        # Which lines of a CSV file are left out must not hang on the columns asked for: DuckDB looks at those alone.
        asked = [*wanted, *(name for name in self.names if self.lenient and name not in wanted)]
        items = ", ".join(f"{self._item(name)} AS c{i}" for i, name in enumerate(asked))
        query = f"SELECT {items} FROM {self.source}"
        try:
            for batch in self.connection.sql(query, params=self.parameters).to_arrow_reader(BATCH):
                yield {name: batch.column(i) for i, name in enumerate(wanted)}
        except (duckdb.Error, pa.ArrowException, OSError) as error:
            raise self._refusal(error) from None
        if self.lenient and self.connection.execute(f"{_REJECTED} AND error_type = 'UNQUOTED VALUE'").fetchall()[0][0]:
            # What follows an open quote belongs to one value: where rows end is then a matter of the file.
            raise DataError(f"{self.label}: {_OPEN_QUOTE}")

    def rejected(self) -> int:
        return int(self.connection.execute(_REJECTED).fetchall()[0][0]) if self.lenient else 0

    def _item(self, name: str) -> str:
        """A column as Arrow can hold it: no wider integers than 64 bits, no bits, no zones of daytimes."""
        item, kind = self.items[name], self.types[name].upper()
        if kind in _WIDE:
            return f"CAST(CAST({item} AS VARCHAR) AS DOUBLE)"
        return f"CAST({item} AS VARCHAR)" if kind in _WRITTEN else item

    def close(self) -> None:
        if self.owned:
            self.connection.close()
            if self.folder is not None:
                self.folder.cleanup()
        else:
            self.connection.execute(f"SET enable_progress_bar = {str(self.bar).lower()}")


class _Parquet(_Duck):
    """Parquet files, one after the other: the types of one must not re-code the values of another."""

    def __init__(self, paths: list[str], connection: Any, folder: tempfile.TemporaryDirectory[str]) -> None:
        self.files, self.total = _parquet_files(paths)
        names = self.files[0][0]
        # All files together, for questions about them; DuckDB finds one type for all only by names in any case.
        joined = len(paths) > 1 and len({name.lower() for name in names}) == len(names)
        source = f"read_parquet(?, hive_partitioning = false, union_by_name = {str(joined).lower()})"
        literal = [_literal(path) for path in paths]
        super().__init__(connection, source, [literal], names=names, label=paths[0], folder=folder)

    def batches(self, wanted: list[str]) -> Iterator[dict[str, Any]]:
        if len(self.files) == 1:
            yield from super().batches(wanted)
            return
        for names, path in self.files:
            source = "read_parquet(?, hive_partitioning = false)"
            one = _Duck(self.connection, source, [[_literal(path)]], names=names, label=path, owned=False)
            yield from one.batches(wanted)


class _Arrow(Stream):
    """Arrow IPC and Feather files, which need no conversion at all, one after the other."""

    def __init__(self, paths: list[str]) -> None:
        import pyarrow as pa
        import pyarrow.dataset as dataset

        self.paths, self.files = paths, []
        for path in paths:
            try:
                self.files.append(dataset.dataset([path], format="ipc"))
            except (pa.ArrowException, OSError) as error:
                raise DataError(f"{path} is not an Arrow file: {_first_line(error)}") from None
        named = [list(one.schema.names) for one in self.files]
        _same_names(list(zip(named, paths, strict=True)))
        self.names = named[0]

    @property
    def data(self) -> Any:
        """All files together, with types that hold the values of each."""
        import pyarrow as pa
        import pyarrow.dataset as dataset

        try:
            schema = pa.unify_schemas([one.schema for one in self.files], promote_options="permissive")
        except pa.ArrowException as error:
            raise DataError(f"{self.paths[0]} and others have no types in common: {_first_line(error)}") from None
        return dataset.dataset(self.paths, format="ipc", schema=schema)

    def batches(self, wanted: list[str]) -> Iterator[dict[str, Any]]:
        import pyarrow as pa

        for path, one in zip(self.paths, self.files, strict=True):
            try:
                for batch in one.to_batches(columns=wanted, batch_size=BATCH, batch_readahead=2):
                    if batch.num_rows:
                        yield {name: batch.column(i) for i, name in enumerate(wanted)}
            except (pa.ArrowException, OSError) as error:
                raise DataError(f"{path} cannot be read: {_first_line(error)}") from None


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
            raise DataError(f"the database cannot read on in {self.source}: {_first_line(error)}") from None
        finally:
            if lite:
                self.connection.text_factory = str


def private_duckdb(**settings: Any) -> tuple[Any, tempfile.TemporaryDirectory[str]]:
    """A DuckDB of our own that can write raw values only, if ever, to a folder nobody else can read."""
    import duckdb

    folder = tempfile.TemporaryDirectory(prefix="discreet-")
    return duckdb.connect(config={**settings, "temp_directory": folder.name}), folder


def open_table(table: Table) -> Stream:
    """Stream a database table, or what else is read as one."""
    return table.stream()


def open_files(path: str | os.PathLike[str], *, ordered: bool = False, lenient: bool = False) -> Stream:
    """Stream a CSV, Parquet or Arrow file, or all files that a pattern such as `part-*.parquet` matches.

    `lenient` leaves out lines of a CSV file that are no row of its table: with too few or many values, or no UTF-8.
    """
    paths = _expand(os.fspath(path))
    kind = _kind(paths[0])
    if kind == "arrow":
        return _Arrow(paths)
    connection, folder = private_duckdb(preserve_insertion_order=ordered, memory_limit="1GB")
    if kind == "parquet":
        return _Parquet(paths, connection, folder)
    names, delimiter = _headers(paths, lenient)
    for one in paths:
        if _ends_in_quotes(one, delimiter):
            raise DataError(f"{one}: {_OPEN_QUOTE}")
    # Everything is declared: a sniffer could take a row for a comment or skip it, and rows must not get lost. Nor does
    # DuckDB read a file in several places at once: it would guess there whether it is inside quotes, by what it finds.
    columns = ", ".join(f"'c{i}': 'VARCHAR'" for i in range(len(names)))
    source = (
        "read_csv(?, delim = ?, auto_detect = false, header = true, skip = 0, quote = '\"', escape = '\"', "
        f"nullstr = '', strict_mode = true, parallel = false, hive_partitioning = false, "
        f"store_rejects = {str(lenient).lower()}, columns = {{{columns}}})"
    )
    parameters = [[_literal(one) for one in paths], delimiter]
    return _Duck(
        connection, source, parameters, names=names, label=paths[0], texts=True, folder=folder, lenient=lenient
    )


def column_names(data: Any) -> list[str]:
    """The names of the columns of a stream, a table or files, without a look at any row; or why they cannot be read."""
    if isinstance(data, Stream):
        return data.names
    if isinstance(data, Table):
        return data.columns()
    paths = _expand(os.fspath(data))
    kind = _kind(paths[0])
    if kind == "arrow":
        return _Arrow(paths).names
    # A lenient reader of text minds the header line alone.
    return _parquet_files(paths)[0][0][0] if kind == "parquet" else _headers(paths, lenient=True)[0]


def _parquet_files(paths: list[str]) -> tuple[list[tuple[list[str], str]], int]:
    """The columns of each file, which all have the same, and the number of rows."""
    import pyarrow as pa
    import pyarrow.parquet as parquet

    files, rows = [], 0
    for path in paths:
        try:
            found = parquet.read_metadata(path)
            files.append((list(found.schema.to_arrow_schema().names), path))
        except (pa.ArrowException, OSError) as error:
            raise DataError(f"{path} is not a readable Parquet file: {_first_line(error)}") from None
        rows += found.num_rows
    _same_names(files)
    return files, rows


def _headers(paths: list[str], lenient: bool) -> tuple[list[str], str]:
    """The columns and the delimiter that all CSV files have."""
    found = _header(paths[0], lenient)
    for other in paths[1:]:
        if _header(other, lenient) != found:
            raise DataError(f"{other} has another header line than {paths[0]}")
    return found


def _literal(path: str) -> str:
    """A real file name may hold the marks of a pattern; brackets around a mark make it stand for itself."""
    return "".join(f"[{mark}]" if mark in "*?[" else mark for mark in path)


def _same_names(files: list[tuple[list[str], str]]) -> None:
    first, path = files[0]
    for names, other in files[1:]:
        if sorted(names) != sorted(first):
            raise DataError(f"{other} has other columns than {path}")


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
        if not os.access(one, os.R_OK):
            raise DataError(f"{one} may not be read: ask whoever holds it for the permission")
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


def _header(path: str, lenient: bool = False) -> tuple[list[str], str]:
    """The column names of a CSV file and its delimiter, judged from the first line alone.

    A `lenient` reader does not mind what follows that line.
    """
    try:
        opener: Any = gzip.open if path.lower().endswith(".gz") else open
        errors = "surrogateescape" if lenient else "strict"
        with opener(path, "rt", encoding="utf-8-sig", errors=errors, newline="") as file:
            readings = {}
            for mark in ",;\t|":
                file.seek(0)
                readings[mark] = next(csv.reader(file, delimiter=mark), [])
        delimiter = max(readings, key=lambda mark: len(readings[mark]))
        names = readings[delimiter]
        "".join(names).encode()
    except (UnicodeError, csv.Error, OSError, EOFError):
        raise DataError(f"{path} is not a UTF-8 text file with a header line") from None
    if not any(names):
        raise DataError(f"{path} has no header line with column names")
    named = [name for name in names if name]  # a nameless column, such as a written index, can be no feature
    if len(set(named)) != len(named):
        raise DataError(f"{path}: every column needs a name of its own in the header line")
    names = [name or f"(column {i + 1})" for i, name in enumerate(names)]
    return names, delimiter


def _ends_in_quotes(path: str, delimiter: str) -> bool:
    """Whether a CSV file ends inside quotes, which DuckDB does not notice if it reads from start to end.

    Of the runs of quotes only those of odd length change anything. Such a run toggles where a field may begin, and
    elsewhere it closes or is part of a plain value: after that we are outside, whatever was before. So the end of a
    file mostly tells, and it is read from the start only if it does not.
    """
    packed = path.lower().endswith(".gz")
    opener: Any = gzip.open if packed else open
    for start in (0,) if packed else (max(0, os.path.getsize(path) - _BLOCK), 0):
        inside: bool | None = None if start else False
        try:
            with opener(path, "rb") as file:
                file.seek(start)
                kept = b"" if start else b"\n"
                while block := file.read(_BLOCK):
                    block = kept + block
                    whole = block.rstrip(b'"')  # a run of quotes may go on in the next block
                    inside, kept = _quoted(whole, delimiter, inside), block[max(0, len(whole) - 1) :]
                inside = _quoted(kept, delimiter, inside)
        except (OSError, EOFError, zlib.error) as error:
            raise DataError(f"{path} cannot be read: {_first_line(error)}") from None
        if inside is not None:
            return inside
    raise AssertionError("the start of a file is outside quotes")


def _quoted(block: bytes, delimiter: str, inside: bool | None) -> bool | None:
    """Whether the end of a block is inside quotes, given that of its first byte, or None if nobody knows."""
    if b'"' not in block:
        return inside
    data = np.frombuffer(block, np.uint8)
    edges = np.diff(np.concatenate([[0], (data == ord('"')).view(np.int8), [0]]))
    starts, ends = np.flatnonzero(edges == 1), np.flatnonzero(edges == -1)
    odd = starts[((ends - starts) % 2 == 1) & (starts > 0)]
    toggles = np.isin(data[odd - 1], np.frombuffer(f"{delimiter}\r\n".encode(), np.uint8))
    resets = np.flatnonzero(~toggles)
    if len(resets):
        return bool((len(odd) - 1 - resets[-1]) % 2)
    return None if inside is None else inside != bool(len(odd) % 2)


def _first_line(error: BaseException) -> str:
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    return lines[0] if lines else type(error).__name__
