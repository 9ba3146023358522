"""The journal: a node's budget ledger on disk, which answers a round asked for twice with the bytes it has kept."""

from __future__ import annotations

import hashlib
import os
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from fractions import Fraction
from pathlib import Path

from discreet.errors import BudgetError
from discreet.files import make_private
from discreet.nodes.settings import plain_budget, read_budget
from discreet.privacy.budget import Budget

FORMAT = "discreet/journal 1"
PARTS = ("epsilon", "delta", "rho")


Pay = Callable[[], object]  # charges an account for one round, or raises a BudgetError


class OverspentError(BudgetError):
    """The ledger does not pay for another round."""


class LockedError(BudgetError):
    """Another process has the ledger open."""


class OtherQuestionError(BudgetError):
    """A round was asked for before under other conditions."""


@dataclass(frozen=True)
class PaidRound:
    """One round of the journal: what it cost, and the fingerprint of the answer if one was given."""

    round_id: str
    cost: Budget
    when: str
    answer: str | None


def fits(total: Budget, costs: list[Budget]) -> bool:
    """Whether the costs add up to no more than the total: ε and δ each add up, ρ adds up, ε-DP is ε²/2-zCDP."""
    if not total.private:
        return True
    if any(not cost.private for cost in costs):
        return False
    if total.rho is not None:
        if any(cost.kind == "approximate" for cost in costs):
            return False
        spent = sum((c.rho if c.rho is not None else (c.epsilon or 0) ** 2 / 2 for c in costs), Fraction(0))
        return spent <= total.rho
    if any(cost.rho is not None for cost in costs):
        return False
    assert total.epsilon is not None
    epsilons = sum((cost.epsilon or Fraction(0) for cost in costs), Fraction(0))
    return epsilons <= total.epsilon and sum((cost.delta for cost in costs), Fraction(0)) <= total.delta


@contextmanager
def transaction(db: sqlite3.Connection, kind: str) -> Iterator[None]:
    """All changes within, or none of them."""
    db.execute(f"BEGIN {kind}")
    try:
        yield
        db.execute("COMMIT")
    except BaseException:
        if db.in_transaction:
            db.execute("ROLLBACK")
        raise


class Journal(AbstractContextManager["Journal"]):
    """The rounds a node has paid for, durable through any crash, for one process at a time.

    A charge is on disk before any noise is drawn, and an answer is on disk before it is handed out. So a crash in
    between loses no charge and lets no second draw out: the bytes that left are the bytes that are kept.
    """

    def __init__(self, path: str | os.PathLike[str], *, total: Budget, unit: str = "one row") -> None:
        self.path = Path(path)
        self.total, self.unit = total, unit
        if not self.path.parent.is_dir():
            raise BudgetError(f"there is no directory {self.path.parent} for the ledger: make it first")
        self.created = not self.path.exists()
        try:
            make_private(self.path)
        except OSError as error:
            raise BudgetError(f"the ledger {self.path} cannot be opened: {error.strerror}") from None
        self._db = sqlite3.connect(self.path, isolation_level=None, timeout=0, check_same_thread=False)
        try:
            self._open()
        except sqlite3.OperationalError as error:
            self._db.close()
            if "locked" in str(error):
                raise LockedError(f"another process has the ledger {self.path} open: a node runs once") from None
            raise BudgetError(f"the ledger {self.path} cannot be used: {error}") from None
        except sqlite3.DatabaseError:
            self._db.close()
            raise BudgetError(f"{self.path} is no budget ledger, or it is damaged: it was left as it is") from None
        except BudgetError:
            self._db.close()
            raise

    def _open(self) -> None:
        self._db.execute("PRAGMA locking_mode = EXCLUSIVE")
        self._db.execute("PRAGMA journal_mode = DELETE")
        self._db.execute("PRAGMA synchronous = EXTRA")
        self._db.execute("BEGIN EXCLUSIVE")  # the lock stays until the journal is closed
        tables = {name for (name,) in self._db.execute("SELECT name FROM sqlite_master WHERE type = 'table'")}
        if not tables:
            self._db.execute("CREATE TABLE about (name TEXT PRIMARY KEY, value TEXT) STRICT")
            self._db.execute(
                "CREATE TABLE rounds (round TEXT PRIMARY KEY, question TEXT NOT NULL, epsilon TEXT,"
                " delta TEXT NOT NULL, rho TEXT, at TEXT NOT NULL, answer BLOB) STRICT"
            )
            about = {"format": FORMAT, "unit": self.unit, **plain_budget(self.total)}
            self._db.executemany("INSERT INTO about VALUES (?, ?)", about.items())
        elif tables != {"about", "rounds"}:
            raise sqlite3.DatabaseError("other tables")
        about = dict(self._db.execute("SELECT name, value FROM about"))
        if about.get("format") != FORMAT:
            raise sqlite3.DatabaseError("another format")
        self._db.execute("COMMIT")
        kept = read_budget(*(about[part] for part in PARTS))
        if about["unit"] != self.unit:
            raise BudgetError(f"the ledger {self.path} counts costs for {about['unit']}, not for {self.unit}")
        if kept != self.total:
            raise BudgetError(
                f"the ledger {self.path} was opened for {kept} in all, not {self.total}: "
                "give that total again, or change it by 'discreet federate ledger --total'"
            )

    @classmethod
    def about(cls, path: str | os.PathLike[str]) -> tuple[Budget, str]:
        """The total and the unit that a ledger on disk was opened for."""
        if not Path(path).is_file():
            raise BudgetError(f"there is no ledger {path}")
        try:
            with sqlite3.connect(f"{Path(path).resolve().as_uri()}?mode=ro", uri=True, timeout=0) as db:
                about = dict(db.execute("SELECT name, value FROM about"))
            db.close()
            return read_budget(*(about[part] for part in PARTS)), about["unit"]
        except sqlite3.OperationalError as error:
            what = "another process has it open" if "locked" in str(error) else "it is no budget ledger"
            raise BudgetError(f"the ledger {path} cannot be read: {what}") from None
        except (sqlite3.DatabaseError, KeyError):
            raise BudgetError(f"{path} is no budget ledger, or it is damaged") from None

    @classmethod
    def open(cls, path: str | os.PathLike[str]) -> Journal:
        """A ledger that is there already, with the total it was opened for."""
        total, unit = cls.about(path)
        return cls(path, total=total, unit=unit)

    def answer(
        self, round_id: str, question: str, cost: Budget, make: Callable[[], bytes], pay: Pay | None = None
    ) -> bytes:
        """The bytes for a round: those that are kept, or new ones out of `make`, charged before it is called.

        `question` is all that the answer depends on beside the rows: one round has one question. `pay` charges the
        account that the rows have beside this ledger, if there is one: both must pay.
        """
        asked = hashlib.sha256(question.encode()).hexdigest()
        row = self._db.execute("SELECT question, answer FROM rounds WHERE round = ?", (round_id,)).fetchone()
        if row is not None and row[0] != asked:
            raise OtherQuestionError("this round was asked for before with another question: ask under a new name")
        if row is not None and row[1] is not None:
            return bytes(row[1])
        if row is None:
            self._charge(round_id, asked, cost, pay)
        made = make()
        self._db.execute("UPDATE rounds SET answer = ? WHERE round = ? AND answer IS NULL", (made, round_id))
        kept = self._db.execute("SELECT answer FROM rounds WHERE round = ?", (round_id,)).fetchone()
        return bytes(kept[0])  # what was kept first, should two have drawn for one charge

    def _charge(self, round_id: str, asked: str, cost: Budget, pay: Pay | None) -> None:
        with transaction(self._db, "EXCLUSIVE"):
            if not fits(self.total, [*(entry.cost for entry in self.entries()), cost]):
                raise OverspentError(f"this node's ledger of {self.total} in all does not pay for another {cost}")
            if pay is not None:
                _pay(pay)  # first: a crash in between may charge the account twice, but never not at all
            now = datetime.now(UTC).isoformat(timespec="seconds")
            self._db.execute(
                "INSERT INTO rounds VALUES (?, ?, ?, ?, ?, ?, NULL)",
                (round_id, asked, *plain_budget(cost).values(), now),
            )

    def paid(self, round_id: str) -> bool:
        """Whether a round was charged, answered or not."""
        return self._db.execute("SELECT 1 FROM rounds WHERE round = ?", (round_id,)).fetchone() is not None

    def kept(self, round_id: str) -> bytes | None:
        """The bytes that were handed out for a round, if any."""
        row = self._db.execute("SELECT answer FROM rounds WHERE round = ?", (round_id,)).fetchone()
        return None if row is None or row[0] is None else bytes(row[0])

    def mark(self, round_id: str) -> None:
        """Note that the answer to a round has come into use."""
        self._db.execute("INSERT OR IGNORE INTO about VALUES (?, ?)", (f"used {round_id}", "yes"))

    def marked(self, round_id: str) -> bool:
        """Whether the answer to a round has come into use."""
        return self._db.execute("SELECT 1 FROM about WHERE name = ?", (f"used {round_id}",)).fetchone() is not None

    def entries(self) -> list[PaidRound]:
        """Every round that was paid for, in order."""
        rows = self._db.execute("SELECT round, epsilon, delta, rho, at, answer FROM rounds ORDER BY rowid")
        return [
            PaidRound(
                name, read_budget(epsilon, delta, rho), at, None if raw is None else hashlib.sha256(raw).hexdigest()
            )
            for name, epsilon, delta, rho, at, raw in rows
        ]

    def set_total(self, total: Budget) -> None:
        """Grant another total: a decision of the person who answers for the data."""
        if not fits(total, [entry.cost for entry in self.entries()]):
            raise BudgetError(f"more than {total} is spent already: the total cannot be lowered to it")
        pairs = [(value, name) for name, value in plain_budget(total).items()]
        with transaction(self._db, "EXCLUSIVE"):
            self._db.executemany("UPDATE about SET value = ? WHERE name = ?", pairs)
        self.total = total

    def close(self) -> None:
        """Let another process have the ledger."""
        self._db.close()

    def __exit__(self, *_: object) -> None:
        self.close()


def _pay(pay: Pay) -> None:
    try:
        pay()
    except BudgetError as error:
        raise OverspentError(str(error)) from None
