"""The journal: a node's budget ledger on disk, which answers a round asked for twice with the bytes it has kept."""

from __future__ import annotations

import hashlib
import os
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import partial
from pathlib import Path

from discreet.errors import BudgetError
from discreet.files import make_private
from discreet.nodes.settings import budget_rho, plain_budget, read_budget
from discreet.privacy.budget import Budget
from discreet.privacy.composition import Composition, Totals

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
    spent = Totals()
    for cost in costs:
        spent = spent.plus(Totals(cost.epsilon, cost.delta, budget_rho(cost)))
    return Composition.of(total, "basic" if total.kind == "approximate" else None).admits(spent)


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

    account = "charged"  # what marks a round that an account has paid for as well

    def __init__(
        self, path: str | os.PathLike[str], *, total: Budget | None = None, unit: str | None = "one row"
    ) -> None:
        """Open a ledger, or begin one; without a total only one that is there, for whatever it was opened for."""
        self.path = Path(path)
        if total is None and not self.path.is_file():
            raise BudgetError(f"there is no ledger {self.path}")
        if not self.path.parent.is_dir():
            raise BudgetError(f"there is no directory {self.path.parent} for the ledger: make it first")
        self.created = not self.path.exists()
        try:
            make_private(self.path)
        except OSError as error:
            raise BudgetError(f"the ledger {self.path} cannot be opened: {error.strerror}") from None
        self._db = sqlite3.connect(self.path, isolation_level=None, timeout=0, check_same_thread=False)
        try:
            self.total, self.unit = self._open(total, unit)
        except BaseException as error:
            self._db.close()
            if isinstance(error, sqlite3.OperationalError) and "locked" in str(error):
                raise LockedError(f"another process has the ledger {self.path} open: a node runs once") from None
            if isinstance(error, sqlite3.OperationalError):
                raise BudgetError(f"the ledger {self.path} cannot be used: {error}") from None
            if isinstance(error, sqlite3.DatabaseError | KeyError):
                raise BudgetError(f"{self.path} is no budget ledger, or it is damaged: it was left as it is") from None
            raise

    def _open(self, total: Budget | None, unit: str | None) -> tuple[Budget, str]:
        """Take the lock, and read what the ledger was opened for, which must be what is asked for."""
        self._db.execute("PRAGMA locking_mode = EXCLUSIVE")
        self._db.execute("PRAGMA journal_mode = DELETE")
        self._db.execute("PRAGMA synchronous = EXTRA")
        self._db.execute("BEGIN EXCLUSIVE")  # the lock stays until the journal is closed
        tables = {name for (name,) in self._db.execute("SELECT name FROM sqlite_master WHERE type = 'table'")}
        if not tables and total is not None:
            self._db.execute("CREATE TABLE about (name TEXT PRIMARY KEY, value TEXT) STRICT")
            self._db.execute(
                "CREATE TABLE rounds (round TEXT PRIMARY KEY, question TEXT NOT NULL, epsilon TEXT,"
                " delta TEXT NOT NULL, rho TEXT, at TEXT NOT NULL, answer BLOB) STRICT"
            )
            about = {"format": FORMAT, "unit": unit, **plain_budget(total)}
            self._db.executemany("INSERT INTO about VALUES (?, ?)", about.items())
        elif tables != {"about", "rounds"}:
            raise sqlite3.DatabaseError("other tables")
        about = dict(self._db.execute("SELECT name, value FROM about"))
        if about.get("format") != FORMAT:
            raise sqlite3.DatabaseError("another format")
        self._db.execute("COMMIT")
        kept = read_budget(*(about[part] for part in PARTS))
        if unit is not None and about["unit"] != unit:
            raise BudgetError(f"the ledger {self.path} counts costs for {about['unit']}, not for {unit}")
        if total is not None and kept != total:
            raise BudgetError(
                f"the ledger {self.path} was opened for {kept} in all, not {total}: "
                "give that total again, or change it by 'discreet federate ledger --total'"
            )
        return kept, str(about["unit"])

    @classmethod
    def open(cls, path: str | os.PathLike[str]) -> Journal:
        """A ledger that is there already, with the total it was opened for."""
        return cls(path, unit=None)

    def answer(
        self, round_id: str, question: str, cost: Budget, make: Callable[[], bytes], pay: Pay | None = None
    ) -> bytes:
        """The bytes for a round: those that are kept, or new ones out of `make`, charged before it is called.

        `question` is all that the answer depends on beside the rows: one round has one question. `pay` charges the
        account that the rows have beside this ledger, if there is one: both must pay.
        """
        asked = hashlib.sha256(question.encode()).hexdigest()
        row = self._round(round_id)
        if row is not None and row[0] != asked:
            raise OtherQuestionError("this round was asked for before with another question: ask under a new name")
        if row is not None and row[1] is not None:
            return row[1]
        if row is None:
            self._charge(round_id, asked, cost, pay)
        made = make()
        self._db.execute("UPDATE rounds SET answer = ? WHERE round = ? AND answer IS NULL", (made, round_id))
        kept = self.kept(round_id)  # what was kept first, should two have drawn for one charge
        assert kept is not None
        return kept

    def _charge(self, round_id: str, asked: str, cost: Budget, pay: Pay | None) -> None:
        with transaction(self._db, "EXCLUSIVE"):
            self.check_room(cost)
            if pay is not None:
                _pay(pay)  # first: a crash in between may charge the account twice, but never not at all
                self.mark(round_id, self.account)
            now = datetime.now(UTC).isoformat(timespec="seconds")
            self._db.execute(
                "INSERT INTO rounds VALUES (?, ?, ?, ?, ?, ?, NULL)",
                (round_id, asked, *plain_budget(cost).values(), now),
            )

    def check_room(self, cost: Budget, afford: Pay | None = None) -> None:
        """Raise unless the ledger, and the account if there is one, would pay for another such round."""
        if not fits(self.total, [*(entry.cost for entry in self.entries()), cost]):
            raise OverspentError(f"this node's ledger of {self.total} in all does not pay for another {cost}")
        if afford is not None:
            _pay(afford)

    def name_account(self, account: str, charge: Callable[[Budget], object]) -> None:
        """Pay from now on with an account beside this ledger, first of all for each round that it has not paid for.

        What has left was about the people of that account, whenever it was named: an account that cannot pay for the
        past raises, and nothing is answered with it.
        """
        self.account = f"charged to {account}"
        for entry in self.entries():
            if not self.marked(entry.round_id, self.account):
                _pay(partial(charge, entry.cost))
                self.mark(entry.round_id, self.account)

    def _round(self, round_id: str) -> tuple[str, bytes | None] | None:
        row: tuple[str, bytes | None] | None
        row = self._db.execute("SELECT question, answer FROM rounds WHERE round = ?", (round_id,)).fetchone()
        return row

    def paid(self, round_id: str) -> bool:
        """Whether a round was charged, answered or not."""
        return self._round(round_id) is not None

    def kept(self, round_id: str) -> bytes | None:
        """The bytes that were handed out for a round, if any."""
        row = self._round(round_id)
        return None if row is None else row[1]

    def mark(self, round_id: str, what: str = "used") -> None:
        """Note of a round that its answer has come into use, or something else."""
        self._db.execute("INSERT OR IGNORE INTO about VALUES (?, ?)", (f"{what} {round_id}", "yes"))

    def marked(self, round_id: str, what: str = "used") -> bool:
        """Whether that was noted of a round."""
        return self._db.execute("SELECT 1 FROM about WHERE name = ?", (f"{what} {round_id}",)).fetchone() is not None

    def entries(self) -> list[PaidRound]:
        """Every round that was paid for, in order."""
        rows = self._db.execute("SELECT round, epsilon, delta, rho, at, answer FROM rounds ORDER BY rowid")
        return [
            PaidRound(name, read_budget(*amounts), at, None if raw is None else hashlib.sha256(raw).hexdigest())
            for name, *amounts, at, raw in rows
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
