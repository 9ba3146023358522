"""Addresses of tables in databases and clusters, as the command line takes them; who may enter is a matter of the
surroundings.
"""

from __future__ import annotations

import os
import re
from dataclasses import dataclass
from typing import Any
from urllib.parse import parse_qs, urlsplit

from discreet.errors import ConnectionLostError, DataError
from discreet.privacy.payer import is_charged
from discreet.sources.files import open_files
from discreet.sources.postgres import Postgres
from discreet.sources.spark import Spark, session_at, table_of
from discreet.sources.streams import Stream, register
from discreet.sources.tables import Duck, quote_table

_SERVERS = ("postgresql://", "postgres://")
_FILES = "duckdb:"
_CLUSTERS = ("spark:", "sc://")
_PATH = re.compile(r"([A-Za-z]\w*):(.+)", re.DOTALL)  # a table that lies in files, such as delta:/data/visits
_SCANS = {"delta": "delta_scan(?)", "iceberg": "iceberg_scan(?)"}
_SECRETS = re.compile(r"password|token|secret", re.IGNORECASE)


def is_address(data: Any) -> bool:
    """Whether a text is the address of a database or a cluster."""
    return isinstance(data, str) and data.startswith((*_SERVERS, _FILES, *_CLUSTERS))


@dataclass(frozen=True)
class Address:
    """A table at an address, opened anew for each reading: postgresql://host/database, duckdb:file.db, spark://host:port
    (or spark: and any other master, such as spark:local[2]; spark: alone for that of spark-defaults), or sc://host.

    The usual variables and files say who enters and how (PGPASSWORD, PGSERVICE, ~/.pgpass, spark-defaults.conf,
    SPARK_CONNECT_AUTHENTICATE_TOKEN): an address stands in lists of processes and in histories of shells, so one with
    a password in it is refused. Beside names, DuckDB and Spark take tables that lie in files, as delta:/data/visits.
    """

    address: str
    table: str

    def __post_init__(self) -> None:
        if not is_address(self.address):
            raise DataError("an address begins with postgresql://, duckdb:, spark: or sc://")
        if not self.table:
            raise DataError("an address is of a database, which has many tables: name one by --table")
        if self.file is None and _has_secret(self.address):
            places = "set PGPASSWORD, or write it into ~/.pgpass"
            if self.cluster:
                places = "set SPARK_CONNECT_AUTHENTICATE_TOKEN, or write it into spark-defaults.conf"
            raise DataError(f"the address has a password in it, which others can see: take it out and {places}")

    @property
    def file(self) -> str | None:
        """The file in which the database lies, if it is one."""
        return self.address.removeprefix(_FILES) if self.address.startswith(_FILES) else None

    @property
    def cluster(self) -> bool:
        """Whether it is an address of Spark."""
        return self.address.startswith(_CLUSTERS)

    @property
    def path(self) -> tuple[str, str] | None:
        """The format and the place of a table that lies in files."""
        found = None if self.address.startswith(_SERVERS) else _PATH.fullmatch(self.table)
        return (found[1], found[2]) if found else None

    def frame(self) -> Any:
        """The table as a Spark data frame, in a session that lasts as long as this process."""
        return table_of(session_at(self.address), self.path or self.table)

    def stream(self) -> Stream:
        """Its rows, through a connection of its own."""
        if self.cluster:
            return Spark(self.frame())
        return self._server() if self.file is None else self._duck(self.file)

    def _server(self) -> Stream:
        try:
            import psycopg
        except ImportError:
            raise DataError("rows in PostgreSQL need psycopg: pip install 'discreet[postgres]'") from None
        try:
            connection = psycopg.connect(self.address, autocommit=True, fallback_application_name="discreet")
        except psycopg.Error as error:
            refusal = ConnectionLostError if is_charged() else DataError  # a fit that reads twice comes back
            raise refusal(f"the database cannot be reached: {' '.join(str(error).split())}") from None
        try:
            return Postgres(connection, quote_table(self.table), owned=True)
        except DataError as error:
            if f'{self.table.rpartition(".")[2]}" does not exist' not in str(error):
                raise
            raise DataError(
                f"{error}: name one that does, with its schema if need be (--table public.people)"
            ) from None

    def _duck(self, file: str) -> Stream:
        import duckdb

        if self.path is not None and self.path[0] == "parquet":
            return open_files(self.path[1])  # DuckDB would cast the values of one file to the types of another
        if file and not os.path.isfile(file):
            raise DataError(f"there is no file {file}")
        try:
            connection = duckdb.connect(file, read_only=True) if file else duckdb.connect()
        except duckdb.Error as error:
            raise DataError(f"{file} is no database that DuckDB can open: {' '.join(str(error).split())}") from None
        try:
            if self.path is None:
                return Duck(connection, quote_table(self.table), [], label=file)
            kind, place = self.path
            return Duck(connection, _scan(connection, kind), [place], label=place)
        except DataError as error:
            tables = [str(one[0]) for one in connection.execute("SHOW TABLES").fetchall()]
            connection.close()
            if self.path is None and self.table not in tables and "does not exist" in str(error):
                have = ", ".join(tables[:12]) + (", …" if len(tables) > 12 else "")
                raise DataError(f"{file} has no table {self.table!r}: it has {have or 'none'}") from None
            raise


def _has_secret(address: str) -> bool:
    """Whether an address has a password in it, to PostgreSQL, to Spark, or to who reads addresses as the web does."""
    try:
        parts = urlsplit(address)
        keys = [*parse_qs(parts.query, True), *(one.partition("=")[0] for one in parts.path.split(";")[1:])]
        if parts.password is not None or any(_SECRETS.search(key) for key in keys):
            return True
    except ValueError:
        raise DataError("the address of the database is malformed: write postgresql://user@host/database") from None
    # PostgreSQL takes what stands before an "@" for a name and a password, "#" and "?" included.
    hosts = (one.partition("/")[0].partition("@") for one in address.split("://")[1:])
    return any(at and ":" in entering for entering, at, _ in hosts)


def _scan(connection: Any, kind: str) -> str:
    """What reads a table of files in DuckDB, whose extensions are nobody's to install but the user's."""
    import duckdb

    if kind not in _SCANS:
        raise DataError(f"DuckDB reads no tables of the format {kind!r} here: it may be parquet, {', '.join(_SCANS)}")
    try:
        connection.execute("SET autoinstall_known_extensions = false")  # else LOAD would fetch what is not there
        connection.execute(f"LOAD {kind}")
    except duckdb.Error:
        raise DataError(
            f"DuckDB's {kind} extension is not installed: run INSTALL {kind} in DuckDB once "
            f"(python -c \"import duckdb; duckdb.sql('INSTALL {kind}')\")"
        ) from None
    return _SCANS[kind]


def _open(data: Any, **_: Any) -> Stream:
    return (data if isinstance(data, Address) else Address(data, "")).stream()


def _on_a_server(data: Any) -> bool:
    return isinstance(data, Address) and data.file is None and not data.cluster


def _on_a_cluster(data: Any) -> bool:
    return isinstance(data, Address) and data.cluster


register("a table at an address", lambda data: isinstance(data, Address) or is_address(data), _open)
register("a table on a server", _on_a_server, _open, counts=True)
register("a table on a cluster", _on_a_cluster, _open, beside=True)
