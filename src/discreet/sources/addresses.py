"""Addresses of tables in databases, as the command line takes them; who may enter is a matter of the surroundings."""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import Any
from urllib.parse import parse_qs, urlsplit

from discreet.errors import ConnectionLostError, DataError
from discreet.privacy.payer import is_charged
from discreet.sources.postgres import Postgres
from discreet.sources.streams import Stream, register
from discreet.sources.tables import Duck, quote_table

_SERVERS = ("postgresql://", "postgres://")
_FILES = "duckdb:"


def is_address(data: Any) -> bool:
    """Whether a text is the address of a database."""
    return isinstance(data, str) and data.startswith((*_SERVERS, _FILES))


@dataclass(frozen=True)
class Address:
    """A table at an address such as postgresql://host/database or duckdb:file.db, opened anew for each reading.

    PostgreSQL's usual variables and files say who enters and how (PGPASSWORD, PGSERVICE, ~/.pgpass): an address stands
    in lists of processes and in histories of shells, so one with a password in it is refused.
    """

    address: str
    table: str

    def __post_init__(self) -> None:
        if not is_address(self.address):
            raise DataError("an address begins with postgresql:// or duckdb:")
        if not self.table:
            raise DataError("an address is of a database, which has many tables: name one by --table")
        if self.file is None and _has_secret(self.address):
            raise DataError(
                "the address has a password in it, which others can see: take it out and set PGPASSWORD, or write it "
                "into ~/.pgpass"
            )

    @property
    def file(self) -> str | None:
        """The file in which the database lies, if it is one."""
        return self.address.removeprefix(_FILES) if self.address.startswith(_FILES) else None

    def stream(self) -> Stream:
        """Its rows, through a connection of its own."""
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
        return Postgres(connection, quote_table(self.table), owned=True)

    def _duck(self, file: str) -> Stream:
        import duckdb

        if not os.path.isfile(file):
            raise DataError(f"there is no file {file}")
        try:
            connection = duckdb.connect(file, read_only=True)
        except duckdb.Error as error:
            raise DataError(f"{file} is no database that DuckDB can open: {' '.join(str(error).split())}") from None
        try:
            return Duck(connection, quote_table(self.table), [], label=file)
        except DataError:
            connection.close()
            raise


def _has_secret(address: str) -> bool:
    """Whether an address has a password in it, to PostgreSQL or to who reads addresses as the web does."""
    try:
        parts = urlsplit(address)
        if parts.password is not None or any("password" in key.lower() for key in parse_qs(parts.query, True)):
            return True
    except ValueError:
        raise DataError("the address of the database is malformed: write postgresql://user@host/database") from None
    # PostgreSQL takes what stands before an "@" for a name and a password, "#" and "?" included.
    entering, at, _ = address.partition("://")[2].partition("/")[0].partition("@")
    return bool(at) and ":" in entering


def _open(data: Any, **_: Any) -> Stream:
    return (data if isinstance(data, Address) else Address(data, "")).stream()


def _on_a_server(data: Any) -> bool:
    return isinstance(data, Address) and data.file is None


register("a table at an address", lambda data: isinstance(data, Address) or is_address(data), _open)
register("a table on a server", _on_a_server, _open, counts=True)
