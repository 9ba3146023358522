"""The store: ids, reports, tallies and fates of reports in one SQLite database, changed together or not at all."""

from __future__ import annotations

import contextlib
import json
import os
import sqlite3
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.errors import DiscreetError
from discreet.files import make_private, parse_json, replacing
from discreet.local.wire.frames import Key
from discreet.local.wire.report import ID_BYTES
from discreet.schema import Schema

UNEXPECTED, REPLAYED = 3, 4
FATES = ("accepted", "malformed", "foreign", "unexpected", "replayed")  # 0, 1 and 2 are what parsing tells


@dataclass(frozen=True)
class Outcome:
    """How many reports met which fate.

    - accepted: counted, once;
    - malformed: damaged, or not what its mechanism could have said;
    - foreign: about another schema;
    - unexpected: an ε or mechanism that this collector does not want, one design or one report too many;
    - replayed: a report that has been counted before.
    """

    accepted: int = 0
    malformed: int = 0
    foreign: int = 0
    unexpected: int = 0
    replayed: int = 0

    def __add__(self, other: Outcome) -> Outcome:
        return Outcome(*(getattr(self, fate) + getattr(other, fate) for fate in FATES))

    @property
    def rejected(self) -> int:
        """All that were not accepted."""
        return self.malformed + self.foreign + self.unexpected + self.replayed

    def to_dict(self) -> dict[str, int]:
        """The counts by name."""
        return asdict(self)


APPLICATION = 0x44495243
VERSION = 1
PROBE = 64 << 10  # bytes that a healthy disk takes
CACHE = 32 << 10  # KiB of the database kept in memory, however many reports there are

_TABLES = """
CREATE TABLE facts (name TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;
CREATE TABLE counts (name TEXT PRIMARY KEY, value INTEGER NOT NULL) WITHOUT ROWID;
CREATE TABLE batches (batch INTEGER PRIMARY KEY, reports BLOB NOT NULL);
CREATE TABLE ids (id BLOB PRIMARY KEY, batch INTEGER NOT NULL) WITHOUT ROWID;
CREATE TABLE tallies (
  input INTEGER, code INTEGER, parameter INTEGER, epsilon INTEGER, parts INTEGER,
  reports INTEGER NOT NULL, support BLOB NOT NULL,
  PRIMARY KEY (input, code, parameter, epsilon, parts)
) WITHOUT ROWID;
"""
# One statement for all ids of a batch: they come as one sorted string of bytes and never become Python objects.
_EACH = "WITH RECURSIVE n(i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n WHERE i + 1 < :size) "
_REMEMBER = _EACH + f"INSERT OR IGNORE INTO ids SELECT substr(:ids, 1 + {ID_BYTES} * i, {ID_BYTES}), :batch FROM n"
_KNOWN = _EACH + f"SELECT i FROM n JOIN ids ON id = substr(:ids, 1 + {ID_BYTES} * i, {ID_BYTES}) WHERE batch <> :batch"


class StoreError(DiscreetError):
    """A store that cannot be opened, read or written."""


class Store:
    """A database file that one process at a time may write; without a path, a temporary one that leaves with it."""

    def __init__(
        self, path: str | os.PathLike[str] | None = None, schema: Schema | None = None, *, readonly: bool = False
    ) -> None:
        self.path, self.readonly = None if path is None else Path(path), readonly
        self._lock: int | None = None
        self._broken = False
        try:
            with self._errors():
                self._open(schema)
        except BaseException:
            self.close()
            raise

    def _open(self, schema: Schema | None) -> None:
        new = self.path is None or not self.path.exists() or not self.path.stat().st_size
        if new and schema is None:
            raise StoreError(f"there is no store {self.path}")
        if self.path is not None:
            if not self.path.parent.is_dir():
                raise StoreError(f"there is no directory {self.path.parent}: make it first, or name another store")
            if not self.readonly:
                try:
                    self._take_lock()
                    make_private(self.path)
                    self._close_to_others()
                except OSError as error:
                    raise StoreError(f"the store {self.path} cannot be used: {error.strerror}") from None
        where = "" if self.path is None else f"{self.path.absolute().as_uri()}?mode={'ro' if self.readonly else 'rwc'}"
        self._base = sqlite3.connect(
            where, isolation_level=None, check_same_thread=False, uri=self.path is not None, timeout=2.0
        )
        self._base.execute(f"PRAGMA cache_size = -{CACHE}")
        if self.path is None:
            self._base.execute("PRAGMA journal_mode = OFF")
            self._base.execute("PRAGMA synchronous = OFF")
        elif not self.readonly:
            self._base.execute("PRAGMA journal_mode = WAL")
            self._base.execute("PRAGMA synchronous = FULL")
            self._base.execute("PRAGMA wal_autocheckpoint = 4000")  # ids are random: let changes of a page gather
        found = self._base.execute("PRAGMA application_id").fetchone()[0]
        if new and not found:
            assert schema is not None
            self._create(schema)
        elif found != APPLICATION:
            raise StoreError(f"{self.path} is a database of another program")
        self._check(schema)

    def _close_to_others(self) -> None:
        """Reports say something about single people: not everybody reads them, whoever made the file."""
        assert self.path is not None
        for path in (self.path, *(Path(f"{self.path}{end}") for end in ("-wal", "-shm", ".lock"))):
            with contextlib.suppress(OSError):  # not there, or somebody else's
                path.chmod(path.stat().st_mode & 0o770)

    def _create(self, schema: Schema) -> None:
        facts = {"schema": json.dumps(schema.to_dict()), "since": datetime.now(UTC).isoformat(timespec="seconds")}
        self._base.execute("BEGIN IMMEDIATE")
        for statement in _TABLES.split(";"):
            self._base.execute(statement)
        self._base.executemany("INSERT INTO facts VALUES (?, ?)", list(facts.items()))
        self._base.execute(f"PRAGMA application_id = {APPLICATION}")
        self._base.execute(f"PRAGMA user_version = {VERSION}")
        self._base.execute("COMMIT")

    def _check(self, schema: Schema | None) -> None:
        version = self._base.execute("PRAGMA user_version").fetchone()[0]
        if version != VERSION:
            raise StoreError(f"the store {self.path} is of version {version}; this library reads {VERSION}")
        self.facts = dict(self._base.execute("SELECT name, value FROM facts").fetchall())
        try:
            self.schema = Schema.from_dict(parse_json(self.facts["schema"]))
        except (KeyError, ValueError) as error:
            raise StoreError(f"the store {self.path} is damaged: {error}") from None
        if schema is not None and schema != self.schema:
            raise StoreError(f"the store {self.path} holds reports for another schema: name another store")

    def bind(self, fingerprint: str, settings: Mapping[str, Any]) -> None:
        """Keep this store for the reports of one campaign; one that is kept for another is refused."""
        held = self.facts.get("campaign")
        if held == fingerprint:
            return
        if held is not None:
            told = self.settings or {}
            raise StoreError(
                f"the store {self.path} holds reports of another campaign (epsilon = "
                f"{float(Fraction(told['epsilon'])):g}, oracle {told['oracle']}, numbers by {told['numeric']}): "
                "name another store"
            )
        facts = {"campaign": fingerprint, "settings": json.dumps(dict(settings))}
        if not self.readonly:
            with self.change():
                self._base.executemany("INSERT INTO facts VALUES (?, ?)", list(facts.items()))
        self.facts.update(facts)

    @property
    def settings(self) -> dict[str, Any] | None:
        """The settings of the campaign that this store is kept for, if it is for one."""
        try:
            found = parse_json(self.facts["settings"]) if "settings" in self.facts else None
            if found is not None:
                Fraction(found["epsilon"]), found["oracle"], found["numeric"], found["reports"], found["theta"]
        except (ValueError, TypeError, KeyError, ZeroDivisionError) as error:
            raise StoreError(f"the store {self.path} is damaged: {error}") from None
        return None if found is None else dict(found)

    def probe(self) -> None:
        """Write a little, in the database and beside it: raises where nothing more can be kept."""
        with self.change():
            self.write(0, b"", {}, {})
            self._base.execute("UPDATE facts SET value = value WHERE name = 'since'")
        if self.path is None:
            return
        spare = self.path.with_name(f".{self.path.name}.probe")
        try:
            with open(spare, "wb") as file:
                file.write(b"\0" * PROBE)
                file.flush()
                os.fsync(file.fileno())
        except OSError as error:
            raise StoreError(f"the disk of {self.path} takes nothing more: {error.strerror}") from None
        finally:
            spare.unlink(missing_ok=True)

    def _take_lock(self) -> None:
        """One writer per store: its tallies are kept in memory, so two would overwrite each other's."""
        try:
            import fcntl
        except ImportError:  # no such locks on this system: the database's own have to do
            return
        self._lock = os.open(f"{self.path}.lock", os.O_RDWR | os.O_CREAT, 0o600)
        try:
            fcntl.flock(self._lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            raise StoreError(f"the store {self.path} is in use by another process: stop it first") from None

    # ---- reading

    def counts(self) -> dict[str, int]:
        """How many reports met which fate."""
        with self._errors():
            return dict(self._base.execute("SELECT name, value FROM counts").fetchall())

    def tallies(self) -> Iterator[tuple[Key, int, NDArray[np.int64]]]:
        """The sums of the reports, by what they have in common."""
        with self._errors():
            for *key, reports, support in self._base.execute("SELECT * FROM tallies").fetchall():
                if len(support) % 8:
                    raise StoreError(f"the store {self.path} is damaged: a sum is cut short")
                yield Key(*key), reports, np.frombuffer(support, "<i8").astype(np.int64)

    def batches(self) -> Iterator[bytes]:
        """The accepted reports, some at a time."""
        last = -1
        while True:
            with self._errors():
                query = "SELECT batch, reports FROM batches WHERE batch > ? ORDER BY batch LIMIT 1"
                row = self._base.execute(query, (last,)).fetchone()
            if row is None:
                return
            last = row[0]
            yield row[1]

    @contextlib.contextmanager
    def view(self) -> Iterator[None]:
        """What is read inside belongs to one moment, even if another process is writing."""
        with self._errors():
            self._base.execute("BEGIN")
            try:
                yield
            finally:
                self._base.execute("COMMIT")

    # ---- writing

    @contextlib.contextmanager
    def change(self) -> Iterator[None]:
        """What happens inside is there after a crash, all of it or nothing."""
        if self._broken:
            raise StoreError("an earlier change failed half way and the temporary store cannot undo it: begin anew")
        if self.readonly:
            raise StoreError(f"the store {self.path} was opened for reading only")
        with self._errors():
            self._base.execute("BEGIN IMMEDIATE")
            try:
                yield
                self._base.execute("COMMIT")
            except BaseException:
                self._broken = self.path is None
                with contextlib.suppress(sqlite3.Error):
                    self._base.execute("ROLLBACK")
                raise

    def remember(self, ids: NDArray[np.uint8]) -> tuple[int, NDArray[np.bool_]]:
        """Note the ids (sorted, different) of a new batch: its number, and which of them are new."""
        batch = (self._base.execute("SELECT max(batch) FROM batches").fetchone()[0] or 0) + 1
        fresh = np.ones(len(ids), bool)
        if len(ids):
            values = {"ids": ids.tobytes(), "size": len(ids), "batch": batch}
            if self._base.execute(_REMEMBER, values).rowcount != len(ids):
                fresh[[i for (i,) in self._base.execute(_KNOWN, values)]] = False
        return batch, fresh

    def grant(self, hashes: Iterable[bytes]) -> None:
        """Let a new report in for each of the tokens with these fingerprints."""
        with self.change():
            self._base.execute("CREATE TABLE IF NOT EXISTS tokens (hash BLOB PRIMARY KEY) WITHOUT ROWID")
            self._base.executemany("INSERT INTO tokens VALUES (?)", [(one,) for one in hashes])

    def granted(self, hashes: Iterable[bytes]) -> set[bytes]:
        """Which of these fingerprints belong to tokens that nobody has used."""
        if not self._base.execute("SELECT 1 FROM sqlite_master WHERE name = 'tokens'").fetchone():
            return set()
        ask = "SELECT hash FROM tokens WHERE hash = ?"
        return {one for one in hashes if self._base.execute(ask, (one,)).fetchone()}

    def use(self, hashes: Iterable[bytes]) -> None:
        """Forget tokens, inside a change: which report one was used for is not written down."""
        self._base.executemany("DELETE FROM tokens WHERE hash = ?", [(one,) for one in hashes])

    def known(self, ids: NDArray[np.uint8]) -> NDArray[np.bool_]:
        """Which of these ids (sorted, different) have been noted before."""
        found = np.zeros(len(ids), bool)
        if len(ids):
            found[[i for (i,) in self._base.execute(_KNOWN, {"ids": ids.tobytes(), "size": len(ids), "batch": -1})]] = (
                True
            )
        return found

    def write(
        self,
        batch: int,
        reports: bytes,
        tallies: Mapping[Key, tuple[int, NDArray[np.int64]]],
        counts: Mapping[str, int],
    ) -> None:
        """Keep a batch of reports, the new sums and the new counts."""
        if reports:
            self._base.execute("INSERT INTO batches VALUES (?, ?)", (batch, reports))
        rows = [(*key, count, support.astype("<i8").tobytes()) for key, (count, support) in tallies.items()]
        self._base.executemany("INSERT OR REPLACE INTO tallies VALUES (?, ?, ?, ?, ?, ?, ?)", rows)
        self._base.executemany("INSERT OR REPLACE INTO counts VALUES (?, ?)", list(counts.items()))

    def copy(self, path: str | os.PathLike[str]) -> None:
        """Write the whole store as a file, or nothing."""
        if self.path is not None and Path(path).exists() and Path(path).samefile(self.path):
            return
        with (
            replacing(path, private=True) as temporary,
            self._errors(),
            contextlib.closing(sqlite3.connect(temporary)) as target,
        ):
            target.execute("PRAGMA synchronous = OFF")
            self._base.backup(target)

    def close(self) -> None:
        """Let go of the file; a store that was left without this loses nothing either."""
        base = getattr(self, "_base", None)
        if base is not None:
            with contextlib.suppress(sqlite3.Error):
                base.close()
        if self._lock is not None:
            os.close(self._lock)
            self._lock = None

    @contextlib.contextmanager
    def _errors(self) -> Iterator[None]:
        """Turn what SQLite says into one sentence."""
        name = "the temporary store" if self.path is None else f"the store {self.path}"
        try:
            yield
        except sqlite3.OperationalError as error:
            what = str(error)
            if "locked" in what or "busy" in what:
                raise StoreError(f"{name} is in use by another process: stop it first") from None
            if "no such" in what:
                raise StoreError(f"{name} is damaged: {what}") from None
            raise StoreError(f"{name} cannot be used: {what}") from None
        except sqlite3.Error as error:
            raise StoreError(f"{name} is damaged or no store of reports: {error}") from None


def is_store(path: str | os.PathLike[str]) -> bool:
    """Whether a file is a database, as opposed to a file of reports."""
    with open(path, "rb") as file:
        return file.read(16) == b"SQLite format 3\0"
