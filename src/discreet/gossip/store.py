"""The store: a gossip node's state on disk, written before anything that follows from it leaves the node."""

from __future__ import annotations

import json
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

from discreet.errors import DiscreetError
from discreet.files import make_private, parse_json
from discreet.gossip.membership import MemberEntry
from discreet.gossip.protocol import PushSum
from discreet.gossip.wire import state_from_text, state_to_text
from discreet.nodes.journal import transaction

FORMAT = "discreet/gossip 2"  # since 2 members sign all that is said of them
LEDGER = "ledger.db"


class StateError(DiscreetError):
    """A state directory that cannot be used."""


def state_file(directory: Path, network: str) -> Path:
    """Where the state of one round is: rounds share a directory, because they share its ledger."""
    return directory / f"state-{network[:16]}.db"


def find_state(directory: Path, name: str | None = None) -> Path:
    """The state of the round of that name or of that network, or of the only round there is."""
    found = sorted(directory.glob("state-*.db"))
    if not found:
        raise StateError(f"there is no state of a gossip node in {directory}")
    if name is None and len(found) == 1:
        return found[0]
    names = {}
    for path in found:
        with closing(StateFile(path)) as store:
            names[path] = store.identity.get("round", "")
    chosen = [path for path in found if name in (names[path], path.stem.removeprefix("state-"))]
    if len(chosen) != 1:
        known = ", ".join(sorted(f"{name} ({path.stem.removeprefix('state-')})" for path, name in names.items()))
        raise StateError(f"name one of the rounds in {directory} by --round: {known}")
    return chosen[0]


class StateFile:
    """One node's machine and roster in a round, replaced whole by every `save`, safe from any crash once that returns.

    The ledger's lock keeps two processes from running one node; others may read while it runs.
    """

    def __init__(self, path: Path, identity: dict[str, str] | None = None) -> None:
        """Open the state of a node, or begin one; without an identity only read what is there."""
        self.path = path
        if identity is None and not path.exists():
            raise StateError(f"there is no state of a gossip node at {path}")
        try:
            if identity is None:
                self._db = sqlite3.connect(f"{self.path.resolve().as_uri()}?mode=ro", uri=True, timeout=5)
            else:
                make_private(self.path)
                self._db = sqlite3.connect(self.path, isolation_level=None, timeout=5)
                self._db.execute("PRAGMA journal_mode = WAL")
                self._db.execute("PRAGMA synchronous = FULL")  # a save that returned survives a power cut
                self._begin(identity)
            self.identity = dict(self._db.execute("SELECT name, value FROM about"))
        except sqlite3.Error as error:
            raise StateError(f"{self.path} is no state of a gossip node, or it is damaged: {error}") from None
        if self.identity.get("format") != FORMAT:
            raise StateError(
                f"{self.path} is no state of a gossip node of this version: end the round with the version that began "
                "it, or start a round of another name"
            )
        for name, value in (identity or {}).items():
            if self.identity.get(name) != value:
                raise StateError(f"{self.path} is the state of another {name}, {self.identity.get(name)!r}")

    def _begin(self, identity: dict[str, str]) -> None:
        with transaction(self._db, "IMMEDIATE"):
            if not self._db.execute("SELECT name FROM sqlite_master WHERE name = 'about'").fetchone():
                self._db.execute("CREATE TABLE about (name TEXT PRIMARY KEY, value TEXT NOT NULL) STRICT")
                self._db.execute("CREATE TABLE state (part TEXT PRIMARY KEY, content TEXT NOT NULL) STRICT")
                self._db.executemany("INSERT INTO about VALUES (?, ?)", [("format", FORMAT), *identity.items()])

    def _part(self, name: str) -> str | None:
        row = self._db.execute("SELECT content FROM state WHERE part = ?", (name,)).fetchone()
        return None if row is None else str(row[0])

    def machine(self) -> PushSum | None:
        """The machine as last saved; None if the node never got as far."""
        text = self._part("machine")
        return None if text is None else state_from_text(text)

    def entries(self) -> list[MemberEntry]:
        """The roster as last saved."""
        return [MemberEntry.read(fields) for fields in parse_json(self._part("roster") or "[]")]

    def facts(self) -> dict[str, Any]:
        """What the node last noted about itself."""
        found = parse_json(self._part("facts") or "{}")
        return found if isinstance(found, dict) else {}

    def save(
        self, machine: PushSum, entries: list[MemberEntry] | None = None, facts: dict[str, Any] | None = None
    ) -> None:
        """Write the machine, and the rest where it has changed, as one change."""
        parts = [("machine", state_to_text(machine))]
        if entries is not None:
            parts.append(("roster", json.dumps([entry.plain() for entry in entries])))
        if facts is not None:
            parts.append(("facts", json.dumps(facts)))
        with transaction(self._db, "IMMEDIATE"):
            self._db.executemany("INSERT OR REPLACE INTO state VALUES (?, ?)", parts)

    def close(self) -> None:
        """Let go of the file."""
        self._db.close()
