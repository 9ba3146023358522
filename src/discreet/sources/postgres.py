"""Rows in PostgreSQL: counted there by generated SQL where that is the same, else streamed through its cursor."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from contextlib import suppress
from itertools import chain
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.errors import ConnectionLostError, DataError
from discreet.schema import Schema
from discreet.sources.absorb import Absorbed
from discreet.sources.blocks import Rows
from discreet.sources.people import Counted
from discreet.sources.sql import NUMBERS, POSTGRESQL, Grid
from discreet.sources.sqlcoded import Coding
from discreet.sources.sqlcount import Counting
from discreet.sources.stored import objects
from discreet.sources.streams import Stream, first_line, require
from discreet.statistics import Detail, Statistics
from discreet.values import Moment

BATCH = 1 << 16
BYTES = 1 << 24
_NONE = np.zeros((0, 0), np.int64)
# What Arrow reads of a column's text, the nearest double of a decimal among it. A decimal without limits may have none.
_ARROW = {
    "double": "float64", "real": "float64", "decimal": "float64", "integer": "int64", "boolean": "bool_",
    "text": "string",
}  # fmt: skip
_KINDS = {
    "float8": "double", "float4": "real", "int2": "integer", "int4": "integer", "int8": "integer", "bool": "boolean",
    "numeric": "numeric", "text": "text", "varchar": "text",
}  # fmt: skip
# By the catalogue, which everybody may read: a right to some columns is enough.
_COLUMNS = (
    "SELECT a.attname, CASE WHEN t.typtype = 'e' THEN 'enum' WHEN t.typnamespace = 'pg_catalog'::regnamespace "
    "THEN t.typname::text END, a.atttypmod FROM pg_attribute a JOIN pg_type t ON t.oid = a.atttypid "
    "WHERE a.attrelid = {}::regclass AND a.attnum > 0 AND NOT a.attisdropped "
    "AND has_column_privilege(a.attrelid, a.attnum, 'SELECT') ORDER BY a.attnum"
)
# Whether what is read, a view, one that it is made of, or a row policy, calls what may answer otherwise the next time.
# Stored trees name every function and operator by its number, those of the server itself too, which pg_depend leaves
# out. What a materialised view was made of is read no more. The first rows of some, one row of each of several that
# are alike, the time of the statement and tables of other servers may be others in the next statement, too.
_MADE = (
    "SELECT c.oid AS of, 'pg_rewrite'::regclass::oid AS class, r.oid AS made, r.ev_action::text AS tree "
    "FROM pg_class c JOIN pg_rewrite r ON r.ev_class = c.oid WHERE c.relkind = 'v' UNION ALL "
    "SELECT c.oid, 'pg_policy'::regclass::oid, p.oid, p.polqual::text FROM pg_class c JOIN pg_policy p "
    "ON p.polrelid = c.oid WHERE c.relrowsecurity AND p.polcmd IN ('*', 'r') "
    "AND (c.oid <> {0}::regclass OR row_security_active(c.oid))"  # behind a view the rights are those of its owner
)
_VOLATILE = (
    "WITH RECURSIVE seen(oid) AS (SELECT {0}::regclass::oid UNION SELECT d.refobjid FROM seen "
    f"JOIN ({_MADE}) made ON made.of = seen.oid JOIN pg_depend d ON d.classid = made.class "
    "AND d.objid = made.made AND d.refclassid = 'pg_class'::regclass), "
    f"trees AS (SELECT tree FROM seen JOIN ({_MADE}) made ON made.of = seen.oid), "
    "named AS (SELECT found[1] AS kind, unnest(string_to_array(trim(found[2]), ' '))::oid AS oid FROM trees, "
    "regexp_matches(tree, ':(funcid|opfuncid|aggfnoid|winfnoid|opno|opnos|eqop|sortop) (?:[(]o )?([0-9][0-9 ]*)', 'g') "
    "AS found), "
    "called AS (SELECT oid FROM named WHERE kind NOT IN ('opno', 'opnos', 'eqop', 'sortop') UNION "
    "SELECT o.oprcode::oid FROM named JOIN pg_operator o ON o.oid = named.oid "
    "WHERE kind IN ('opno', 'opnos', 'eqop', 'sortop')), "
    "steps AS (SELECT oid FROM called UNION SELECT unnest(ARRAY[a.aggtransfn, a.aggfinalfn, a.aggcombinefn, "
    "a.aggmtransfn, a.aggminvtransfn, a.aggmfinalfn])::oid "
    "FROM called JOIN pg_aggregate a ON a.aggfnoid = called.oid) "
    "SELECT EXISTS (SELECT 1 FROM steps JOIN pg_proc p ON p.oid = steps.oid WHERE p.provolatile = 'v' "
    "OR p.oid = 'pg_catalog.statement_timestamp()'::regprocedure) "
    "OR EXISTS (SELECT 1 FROM trees WHERE tree LIKE '%TABLESAMPLECLAUSE%' "
    "OR tree ~ ':limit(Count|Offset) [{{]|:hasDistinctOn true') "
    "OR EXISTS (SELECT 1 FROM seen JOIN pg_class c ON c.oid = seen.oid WHERE c.relkind = 'f')"
)
_DIGITS, _SIGNS = "'0123456789'", "'0123456789+-. ' || chr(9) || chr(10) || chr(11) || chr(12) || chr(13)"


def is_postgres(connection: Any) -> bool:
    """Whether this is a connection of psycopg 3."""
    return type(connection).__module__.partition(".")[0] == "psycopg" and hasattr(connection, "pgconn")


class Postgres(Stream):
    """A table or view of PostgreSQL, seen as it was when it was opened.

    Unless the connection is in a transaction of its owner's, everything is read in one of our own that cannot write and
    sees one state of the table; it is given up in the end.
    """

    dialect = POSTGRESQL

    def __init__(self, connection: Any, source: str, *, owned: bool = False) -> None:
        import psycopg

        self.connection, self.source, self.owned = connection, source, owned
        try:
            self.ours = connection.info.transaction_status == psycopg.pq.TransactionStatus.IDLE
        except psycopg.Error:  # it is closed
            raise self._lost() from None
        try:
            if self.ours:
                level = "ISOLATION LEVEL REPEATABLE READ READ ONLY"
                self.ask(f"BEGIN {level}" if connection.autocommit else f"SET TRANSACTION {level}", answered=False)
            # Else a server may be set to write doubles with fewer digits than they have.
            self.ask("SET LOCAL extra_float_digits = 1", answered=False)
            level, sent, held = (
                self._texts(f"SHOW {one}")[0][0]
                for one in ("transaction_isolation", "client_encoding", "server_encoding")
            )
            self.utf8 = sent == held == "UTF8"
            columns = self._texts(_COLUMNS.format(POSTGRESQL.literal(source)))
            self.volatile = bool(columns) and self.ask(_VOLATILE.format(POSTGRESQL.literal(source)))[0][0]
            self.steady = level in {"repeatable read", "serializable"} and not self.volatile
            if not columns:
                raise DataError(f"the database refuses to read {source}: this user may read none of its columns")
        except DataError:
            self.close()
            raise
        self.names = [name for name, _, _ in columns]
        self.types = {name: kind for name, kind, _ in columns}
        found = {name: _kind(kind, size) for name, kind, size in columns}
        self.kinds = {name: kind for name, kind in found.items() if kind is not None}

    # ---- queries

    def ask(self, query: str, *, answered: bool = True) -> list[tuple[Any, ...]]:
        """All rows that answer a query."""
        import psycopg
        from psycopg.rows import tuple_row

        try:
            with self.connection.cursor(row_factory=tuple_row) as cursor:
                _adapt(cursor)
                cursor.execute(self._sent(query))
                return list(cursor.fetchall()) if answered else []
        except psycopg.Error as error:
            raise self._refusal(error, "refuses to read") from None

    def _sent(self, query: str) -> Any:
        """A query as it is sent: a server without an encoding (SQL_ASCII) takes the bytes of UTF-8 as they are."""
        return query.encode("utf-8", "surrogateescape") if self.connection.info.encoding == "ascii" else query

    def _texts(self, query: str) -> list[list[Any]]:
        """What answers a query about names, which such a server sends as bytes."""
        return [
            [one.decode("utf-8", "surrogateescape") if isinstance(one, bytes) else one for one in row]
            for row in self.ask(query)
        ]

    def state(self) -> None:
        if self.volatile:
            raise DataError(
                f"{self.source} may answer differently each time (a view or a row policy calls a volatile function, or "
                "samples), and ids and rows are read one after the other: copy its rows into a table first"
            )
        if not self.steady:
            raise DataError(
                "ids and rows are read by two statements, which may see different rows in a transaction of this "
                "isolation: pass a connection that is in none, or use REPEATABLE READ"
            )

    def item(self, name: str) -> str:
        """A column in a query."""
        quoted = POSTGRESQL.quote(name)
        return f"CAST({quoted} AS text)" if self.types[name] == "enum" else quoted

    def batches(self, wanted: list[str]) -> Iterator[dict[str, Any]]:
        for _, batch in self.select([], {one: (self.item(one), self.kinds.get(one)) for one in wanted}, self.source):
            yield batch

    def select(
        self, words: list[str], raw: dict[str, tuple[str, str | None]], rest: str
    ) -> Iterator[tuple[NDArray[np.int64], dict[str, Any]]]:  # fmt: skip
        """Whole numbers and columns as they are, in batches; the rest of the statement follows FROM."""
        import psycopg
        import pyarrow as pa

        columns: list[tuple[str, str | None]] = [(word, "integer") for word in words]
        # The text of a single-precision number is not that number to a reader of doubles.
        columns += [(f"CAST({one} AS double precision)" if kind == "real" else one, kind) for one, kind in raw.values()]
        kinds = [kind for _, kind in columns]
        typed = self.utf8 and all(kind in _ARROW for kind in kinds)
        query = f"SELECT {', '.join(item for item, _ in columns)} FROM {rest}"
        try:
            if not raw:
                yield from ((found, {}) for found in self._words(len(words), query))
                return
            for found in self._copied(kinds, query) if typed else self._fetched(query):
                packed = [np.asarray(one, np.int64) for one in found[: len(words)]]
                yield np.stack(packed, 1) if packed else _NONE, dict(zip(raw, found[len(words) :], strict=True))
        except (psycopg.Error, pa.ArrowException) as error:
            raise self._refusal(error, "cannot read on in") from None

    def _words(self, width: int, query: str) -> Iterator[NDArray[np.int64]]:
        """Columns of whole numbers through a cursor of the server: a message for each row of a copy takes longer."""
        from psycopg.rows import tuple_row

        with self.connection.cursor(name="discreet", row_factory=tuple_row, binary=True) as cursor:
            _adapt(cursor)
            cursor.execute(self._sent(query))
            while rows := cursor.fetchmany(BATCH):
                yield np.fromiter(chain.from_iterable(rows), np.int64, len(rows) * width).reshape(-1, width)

    def _copied(self, held: list[Any], query: str) -> Iterator[list[Any]]:
        """Columns of simple types, copied as text: digits of doubles tell them apart, and Arrow reads the nearest."""
        import pyarrow as pa
        import pyarrow.csv as csv

        names = [f"c{i}" for i in range(len(held) + 1)]  # the first is there so that no line is empty
        kinds = [pa.int8(), *(getattr(pa, _ARROW[one])() for one in held)]
        options = {
            "parse_options": csv.ParseOptions(newlines_in_values=True),
            "convert_options": csv.ConvertOptions(
                column_types=dict(zip(names, kinds, strict=True)), null_values=[""], true_values=["t"],
                false_values=["f"], strings_can_be_null=True, quoted_strings_can_be_null=False,
            ),
        }  # fmt: skip

        def parsed() -> list[Any]:
            text = b"".join(lines)
            whole = csv.ReadOptions(column_names=names, use_threads=False, block_size=len(text) + 1)
            return list(csv.read_csv(pa.BufferReader(text), read_options=whole, **options).columns[1:])

        lines: list[Any] = []
        size = 0
        with self.connection.cursor() as cursor:
            query = query.replace("SELECT ", "SELECT 1, ", 1)
            with cursor.copy(self._sent(f"COPY ({query}) TO STDOUT (FORMAT csv)")) as copy:
                while line := copy.read():  # whole lines, each a row
                    lines.append(line)
                    size += len(line)
                    if size >= BYTES:
                        yield parsed()
                        lines, size = [], 0
        if lines:
            yield parsed()

    def _fetched(self, query: str) -> Iterator[list[Any]]:
        """Columns of any types as Python's values, through a cursor of the server."""
        import psycopg
        from psycopg.rows import tuple_row

        with self.connection.cursor(row_factory=tuple_row) as cursor:
            _adapt(cursor)
            for kind, loader in _loaders().items():
                cursor.adapters.register_loader(kind, loader)
            # Declared here, since psycopg's own cursor of the server decodes the names in a query.
            cursor.execute(self._sent(f"DECLARE discreet NO SCROLL CURSOR FOR {query}"))
            try:
                while rows := cursor.execute(f"FETCH FORWARD {BATCH} FROM discreet").fetchall():
                    yield [objects(column, len(rows)) for column in zip(*rows, strict=True)]
            finally:
                with suppress(psycopg.Error):  # of a transaction or a connection that is at its end
                    cursor.execute("CLOSE discreet")

    def _refusal(self, error: BaseException, what: str) -> DataError:
        if self.connection.closed:
            return self._lost()
        return DataError(f"the database {what} {self.source}: {first_line(error)}")

    def _lost(self) -> ConnectionLostError:
        return ConnectionLostError(
            f"the connection to the database was lost before {self.source} was read: nothing of it was kept, try again"
        )

    def close(self) -> None:
        import psycopg

        with suppress(psycopg.Error):
            if self.owned:
                self.connection.close()
            elif self.ours:
                self.connection.rollback()

    # ---- counting

    def count(
        self, schema: Schema, detail: Collection[Detail], *, total: bool, absorbed: Absorbed
    ) -> Statistics | None:  # fmt: skip
        require(schema, self.names, labelled=True)
        return Counting(self, schema, detail, total=total).run(absorbed)

    def histograms(
        self, schema: Schema, grids: Mapping[str, Grid], *, total: bool, absorbed: Absorbed
    ) -> dict[str, NDArray[np.int64]] | None:  # fmt: skip
        require(schema, self.names, labelled=False)
        return Counting(self, schema, (), total=total).histograms(grids, absorbed)

    def coded(self, schema: Schema, *, identified: bool = False) -> Iterator[tuple[Rows, Any]]:
        require(schema, self.names, labelled=True, identified=identified)
        found = Coding(self, schema, identified=identified).rows() if self.utf8 else None
        return self.rows(schema, identified=identified) if found is None else found

    def class_counts(self, schema: Schema) -> NDArray[np.int64] | None:
        require(schema, self.names, labelled=True)
        return Counting(self, schema, (), total=False).classes()

    def people(self, schema: Schema) -> Any:
        """How many rows everybody has, counted by the server where its groups are people by the package's rule.

        Numbers are people by their doubles. Texts are people by their bytes, except that one number may be written in
        several ways: if an id is made of digits, signs, points and blanks and is no plain whole number, all are read.
        """
        require(schema, self.names, labelled=False, identified=True)
        assert schema.id is not None
        kind, item = self.kinds.get(schema.id), self.item(schema.id)
        if kind is None:
            return super().people(schema)
        key = POSTGRESQL.key(item, kind) if kind == "text" else POSTGRESQL.doubled(item, kind)
        gone, odd = f"{item} IS NULL", "false"
        if kind in NUMBERS:
            gone = f"{key} IS NULL OR {key} = 'NaN'"
        else:
            plain = f"translate(i, {_DIGITS}, '') = '' AND (i = '0' OR left(i, 1) <> '0')"
            odd = f"i <> '' AND translate(i, {_SIGNS}, '') = '' AND NOT ({plain})"
        groups = f"SELECT {key} AS i, count(*) AS n, {gone} AS gone FROM {self.source} GROUP BY 1, 3"
        tops = self.ask(
            f"SELECT coalesce(bool_or(gone), false), coalesce(bool_or({odd}) FILTER (WHERE NOT gone), false), "
            "coalesce(max(n) FILTER (WHERE NOT gone), 0), "
            "(array_agg(i ORDER BY n DESC, i) FILTER (WHERE NOT gone))[1:1] "
            f"FROM ({groups}) AS people"
        )
        missing, several, most, first = tops[0]
        if several:
            return super().people(schema)
        return Counted(missing, int(most), float(first[0]) if kind in NUMBERS and first else None)


def _kind(name: str | None, size: int) -> str | None:
    """What a column holds, if it can be counted."""
    if name == "enum":
        return "text"
    if name == "numeric" and size >= 4:
        digits, scale = (size - 4) >> 16, ((size - 4) & 0x7FF ^ 1024) - 1024
        return "decimal" if 0 <= scale <= digits <= 300 else "numeric"
    return _KINDS.get(name or "")


def _adapt(cursor: Any) -> None:
    """Read simple types as psycopg does by itself, whatever the owner of the connection has it make of them."""
    from psycopg.types import bool as truth
    from psycopg.types import numeric, string

    whole = numeric.Int8BinaryLoader, numeric.Int4BinaryLoader, numeric.Int2BinaryLoader
    for kind, *loaders in (
        ("int8", numeric.IntLoader, whole[0]), ("int4", numeric.IntLoader, whole[1]),
        ("int2", numeric.IntLoader, whole[2]), ("float8", numeric.FloatLoader, numeric.Float8BinaryLoader),
        ("float4", numeric.FloatLoader, numeric.Float4BinaryLoader),
        ("numeric", numeric.NumericLoader, numeric.NumericBinaryLoader),
        ("bool", truth.BoolLoader, truth.BoolBinaryLoader),
        *((name, string.TextLoader, string.TextBinaryLoader) for name in ("text", "varchar", "bpchar", "name")),
    ):  # fmt: skip
        for loader in loaders:
            cursor.adapters.register_loader(kind, loader)


def _loaders() -> dict[str, Any]:
    """Dates and times as Python's, or as their text where Python's calendar has none like them: no value raises."""
    import psycopg
    from psycopg.types import datetime as known

    def tolerant(kind: Any) -> Any:
        class Loader(kind):
            def load(self, data: Any) -> Any:
                try:
                    return super().load(data)
                except (psycopg.DataError, ValueError, OverflowError):
                    return Moment(bytes(data).decode())

        return Loader

    return {
        "date": tolerant(known.DateLoader), "timestamp": tolerant(known.TimestampLoader),
        "timestamptz": tolerant(known.TimestamptzLoader), "interval": tolerant(known.IntervalLoader),
        "time": tolerant(known.TimeLoader), "timetz": tolerant(known.TimetzLoader),
    }  # fmt: skip
