"""The chain: an append-only list of records in an SQLite file, each bound to the one before it by a hash."""

from __future__ import annotations

import hashlib
import json
import os
import sqlite3
import tempfile
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from discreet.errors import AccountError
from discreet.files import parse_json, sync_folder

PATIENCE = 120  # seconds that a charge waits for those of other processes
MARK = 0x64697363  # application_id of our files

# Nobody changes or takes back an entry by accident: SQLite itself refuses. The head may only move one entry on.
TABLES = (
    "CREATE TABLE about (header BLOB NOT NULL) STRICT",
    "CREATE TABLE entries (number INTEGER PRIMARY KEY, entry BLOB NOT NULL, hash TEXT NOT NULL) STRICT",
    "CREATE TABLE head (count INTEGER NOT NULL, hash TEXT NOT NULL) STRICT",
    *(
        f"CREATE TRIGGER {table}_{verb.lower()} BEFORE {verb} ON {table} BEGIN SELECT RAISE(ABORT, 'append only'); END"
        for table, verb in (
            ("about", "UPDATE"), ("about", "DELETE"), ("entries", "UPDATE"), ("entries", "DELETE"), ("head", "DELETE"),
        )
    ),
    "CREATE TRIGGER head_update BEFORE UPDATE ON head WHEN NEW.count <> OLD.count + 1 "
    "BEGIN SELECT RAISE(ABORT, 'append only'); END",
)  # fmt: skip


def canonical(record: Any) -> bytes:
    """The one text of a record: what is hashed."""
    return json.dumps(record, sort_keys=True, separators=(",", ":"), ensure_ascii=False, allow_nan=False).encode()


@dataclass(frozen=True)
class Link:
    """A record of the chain and its hash."""

    record: dict[str, Any]
    hash: str


# Held while any chain of this process is open: SQLite's state must not be copied in the middle of a transaction, and
# a child that inherited an open connection would believe in locks that are its parent's.
_GUARD = threading.RLock()


def _renew() -> None:
    global _GUARD
    _GUARD = threading.RLock()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(
        before=lambda: _GUARD.acquire() and None, after_in_parent=lambda: _GUARD.release(), after_in_child=_renew
    )


class Chain:
    """An open chain: one connection, for one transaction. Other ways to open the file would drop SQLite's locks."""

    def __init__(self, path: str, db: sqlite3.Connection) -> None:
        self.path, self._db = path, db
        self.origin = ""

    # ---- making

    @classmethod
    def create(cls, path: str, header: bytes) -> None:
        """A new file with nothing but its header, made whole under another name; an existing one is refused."""
        folder, name = os.path.split(path)
        if not os.path.isdir(folder):
            raise AccountError(f"there is no directory {folder} for the account: make it first")
        if os.path.lexists(path):
            raise AccountError(f"{path} is there already, and an account is never overwritten: choose another name")
        temporary = None
        try:
            handle, temporary = tempfile.mkstemp(prefix=f".{name}.", dir=folder)  # with mode 0600 from the start
            os.close(handle)
            _fill(temporary, header)
            _take_name(temporary, path)
            sync_folder(Path(folder))
        except FileExistsError:
            raise AccountError(f"{path} was made by another process just now: it was left as it is") from None
        except OSError as error:
            raise AccountError(f"the account {path} cannot be made: {error.strerror}") from None
        except sqlite3.Error as error:
            raise AccountError(f"the account {path} cannot be made: {error}") from None
        finally:
            if temporary is not None:
                with suppress(OSError):
                    os.unlink(temporary)

    # ---- using

    @classmethod
    @contextmanager
    def open(cls, path: str, *, write: bool = False) -> Iterator[Chain]:
        """A transaction on the file: committed as the block ends, given up if it raises."""
        if not os.path.isfile(path):
            raise AccountError(f"there is no account {path}: make one by 'discreet account create' or Account.create")
        with _GUARD, _explained(path, write):
            db = sqlite3.connect(f"{Path(path).resolve().as_uri()}?mode=rw", uri=True, timeout=PATIENCE,
                                 isolation_level=None, check_same_thread=False)  # fmt: skip
            try:
                db.execute("PRAGMA synchronous = EXTRA")
                db.execute("BEGIN IMMEDIATE" if write else "BEGIN")
                yield cls(path, db)
                db.execute("COMMIT")
            finally:
                db.close()  # an open transaction is rolled back

    def read(self) -> tuple[dict[str, Any], list[Link]]:
        """The header and every record, each checked against the one before it, and the last against the head."""
        made = {sql for (sql,) in self._db.execute("SELECT sql FROM sqlite_master WHERE sql IS NOT NULL")}
        mark = self._db.execute("PRAGMA application_id").fetchone()[0]
        if mark != MARK or not made:
            raise AccountError(f"{self.path} is no account: it was left as it is")
        if made != set(TABLES):
            raise self._changed("its tables")
        headers = self._db.execute("SELECT header FROM about").fetchall()
        if len(headers) != 1:
            raise self._changed("its header")
        header = _mapping(headers[0][0])
        self.origin = last = hashlib.sha256(headers[0][0]).hexdigest()
        links: list[Link] = []
        for number, raw, told in self._db.execute("SELECT number, entry, hash FROM entries ORDER BY number"):
            found, record = hashlib.sha256(raw).hexdigest(), _mapping(raw)
            place = len(links) + 1
            if (number, record.get("number"), record.get("previous"), told) != (place, place, last, found):
                raise self._changed(f"entry {place}")
            links.append(Link(record, found))
            last = found
        if self._db.execute("SELECT count, hash FROM head").fetchall() != [(len(links), last)]:
            raise self._changed("its last entries")
        return header, links

    def append(self, entry: bytes) -> str:
        """Add a record, which names the one before it; it is on disk once the transaction has ended."""
        made = hashlib.sha256(entry).hexdigest()
        number = parse_json(entry)["number"]
        self._db.execute("INSERT INTO entries VALUES (?, ?, ?)", (number, entry, made))
        self._db.execute("UPDATE head SET count = ?, hash = ?", (number, made))
        return made

    def _changed(self, what: str) -> AccountError:
        return AccountError(f"the account {self.path} was changed from outside ({what}): do not charge it any more")


def _mapping(raw: Any) -> dict[str, Any]:
    found = parse_json(raw)
    if not isinstance(found, dict):
        raise ValueError("not a record")
    return found


def _fill(path: str, header: bytes) -> None:
    db = sqlite3.connect(path, isolation_level=None)
    try:
        db.execute("PRAGMA journal_mode = DELETE")
        db.execute("PRAGMA synchronous = EXTRA")
        db.execute(f"PRAGMA application_id = {MARK}")
        db.execute("BEGIN IMMEDIATE")
        for statement in TABLES:
            db.execute(statement)
        db.execute("INSERT INTO about VALUES (?)", (header,))
        db.execute("INSERT INTO head VALUES (0, ?)", (hashlib.sha256(header).hexdigest(),))
        db.execute("COMMIT")
    finally:
        db.close()


def _take_name(temporary: str, path: str) -> None:
    """Give a finished file its name, unless that is taken."""
    try:
        os.link(temporary, path)
    except FileExistsError:
        raise
    except OSError:  # a file system without links: keep the name first, so that nobody else takes it
        os.close(os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600))
        os.replace(temporary, path)


@contextmanager
def _explained(path: str, write: bool) -> Iterator[None]:
    """SQLite's errors in one sentence."""
    lost = "nothing was charged and no row was read" if write else "it was left as it is"
    try:
        yield
    except sqlite3.OperationalError as error:
        code = error.sqlite_errorcode & 0xFF
        if code in (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED):
            raise AccountError(f"other processes kept the account {path} busy for {PATIENCE} s: try again") from None
        if code == sqlite3.SQLITE_FULL:
            raise AccountError(f"the disk of the account {path} is full: {lost}") from None
        if code in (sqlite3.SQLITE_READONLY, sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_PERM, sqlite3.SQLITE_IOERR):
            raise AccountError(
                f"the account {path} or its directory cannot be read and written ({error}): {lost}"
            ) from None
        raise AccountError(f"the account {path} cannot be used ({error}): {lost}") from None
    except sqlite3.Error:
        raise AccountError(f"{path} is no account, or it is damaged: it was left as it is") from None
