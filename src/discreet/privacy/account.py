"""The account: a budget on disk that every process can charge, and that none can forget."""

from __future__ import annotations

import os
import re
from collections import Counter
from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from fractions import Fraction
from numbers import Integral
from typing import Any

from discreet.errors import AccountError, BudgetError, ConnectionLostError
from discreet.privacy.budget import Adjacency, Budget
from discreet.privacy.chain import Chain, Link, canonical
from discreet.privacy.composition import Composition, Totals, amounts
from discreet.privacy.nodes import Node
from discreet.privacy.payer import BudgetedPayer, Tab, check_unit, note_charge, unit_of

FORMAT, VERSION = "discreet/account", 1
SHORT = 12  # digits of a hash that name a charge


@dataclass(frozen=True)
class Entry:
    """One charge of an account: its number, when it was made, what it was granted and what for."""

    number: int
    when: str
    grant: Budget
    rho: Fraction | None
    unit: str | None
    schema: str | None
    label: str
    node: dict[str, Any]
    hash: str

    @property
    def totals(self) -> Totals:
        """What this charge adds."""
        return Totals(self.grant.epsilon, self.grant.delta, self.rho)


@dataclass(frozen=True)
class State:
    """An account as it was read at one moment."""

    header: dict[str, Any]
    entries: tuple[Entry, ...]
    head: str
    hashes: tuple[str, ...] = ()  # of charges and of notes about them, in order
    unused: frozenset[str] = frozenset()  # charges for which nothing was released, and which may be resumed
    times: Mapping[str, int] = field(default_factory=dict)  # how often each charge was given up

    def receipt(self, charge: str) -> tuple[str, int]:
        """What whoever makes or resumes a charge now holds of it, for as long as it is not given up."""
        return charge, self.times.get(charge, 0)

    @property
    def composition(self) -> Composition:
        """The budget and its rule."""
        return Composition.of(_budget(self.header), self.header["composition"])

    @property
    def totals(self) -> Totals:
        """What all charges add up to."""
        return self.totals_without(())

    def totals_without(self, left_out: Collection[str]) -> Totals:
        """What charges add up to without some of them."""
        totals = Totals()
        for entry in self.entries:
            if entry.hash not in left_out:
                totals = totals.plus(entry.totals)
        return totals

    @property
    def unit(self) -> str | None:
        """Whom the costs are counted for: fixed when the account was made, or by the first charge that says so."""
        told: str | None = self.header["unit"]
        return told if told is not None else next((one.unit for one in self.entries if one.unit is not None), None)


class Account(BudgetedPayer):
    """A budget in a file, shared by all that is ever released about the same people.

    Hand it to `fit(..., account=account)`, give its path, or fit inside `with account:`. Every charge is checked and
    written in one transaction before the first row is read, so that threads, processes and crashes cannot overspend it.
    An Account is no more than the path: it may be copied, pickled and carried over a fork.
    """

    noun = "account"

    def __init__(self, path: str | os.PathLike[str], *, label: str | None = None) -> None:
        self.path = os.path.abspath(os.fspath(path))
        if "\0" in self.path:
            raise AccountError(f"no file can have the name {os.fspath(path)!r}: choose another for the account")
        self.label = label
        self.charges: list[str] = []  # that were made by way of this very object and not given up
        self._resuming: str | None = None  # a charge to be used instead of a new one

    # ---- making and opening

    @classmethod
    def create(
        cls,
        path: str | os.PathLike[str],
        budget: Budget,
        people: str | None = None,
        adjacency: Any = None,
        contributions: int | None = None,
        composition: str | None = None,
    ) -> Account:
        """Make a new account; an existing file is never touched.

        `people` names the id column that tells people apart: fits whose schema does not declare it are then refused.
        `adjacency` and `contributions` say whom costs are counted for; without them the first charge decides.
        """
        rule = Composition.of(budget, composition)
        if not budget.private:
            raise BudgetError("an account without a limit would refuse nothing: give a finite epsilon or rho")
        if people is not None and (not isinstance(people, str) or not people):
            raise BudgetError(f"people must be the name of an id column, not {people!r}")
        unit = None
        if adjacency is not None or contributions is not None:
            rows = 1 if contributions is None else contributions
            if isinstance(rows, bool) or not isinstance(rows, Integral) or rows < 1:
                raise BudgetError("contributions must be a whole number of rows, at least 1")
            unit = unit_of(Adjacency.ADD_REMOVE if adjacency is None else adjacency, int(rows))
        made = cls(path)
        header = {
            "format": FORMAT, "version": VERSION, "id": os.urandom(16).hex(), "created": _now(), **_amounts(budget),
            "composition": rule.rule, "people": people, "unit": unit,
        }  # fmt: skip
        Chain.create(made.path, canonical(header))
        return made

    @classmethod
    def open(cls, path: str | os.PathLike[str], *, label: str | None = None) -> Account:
        """An account that is there already."""
        found = cls(path, label=label)
        found.state()
        return found

    # ---- reading

    def state(self) -> State:
        """The whole account as it is now; an entry that does not fit into the chain is an error."""
        with self._chain() as chain:
            return self._read(chain)

    @property
    def composition(self) -> Composition:
        """The budget and its rule."""
        return self.state().composition

    @property
    def totals(self) -> Totals:
        """What all charges add up to."""
        return self.state().totals

    @property
    def unit(self) -> str | None:
        """Whom the costs are counted for."""
        return self.state().unit

    @property
    def identity(self) -> str:
        """What tells this account from every other, wherever its file is moved."""
        return str(self.state().header["id"])

    @property
    def people(self) -> str | None:
        """The id column that tells people apart, if the account asks for one."""
        found: str | None = self.state().header["people"]
        return found

    @property
    def head(self) -> str:
        """The hash of the last entry: written down elsewhere, it shows later that nothing before it was changed."""
        return self.state().head

    def entries(self) -> tuple[Entry, ...]:
        """Every charge, in order."""
        return self.state().entries

    def verify(self, head: str | None = None) -> State:
        """Check every entry, the chain and the amounts; with `head`, also that the chain still passes through it."""
        if head is not None and not re.fullmatch("[0-9a-f]{64}", head):
            raise AccountError(f"{head!r} is no hash: a head is 64 hexadecimal digits, as 'account show' prints it")
        state = self.state()
        from discreet.privacy.certificate import parse_record, recorded_amounts

        for entry in state.entries:
            which = f"entry {entry.number} of {self.path}"
            try:
                found = recorded_amounts(parse_record(entry.node), entry.grant)
            except BudgetError:
                raise AccountError(f"{which} states less than its charges cost") from None
            except ValueError:
                raise AccountError(f"{which} records no valid charge") from None
            if found != entry.totals:
                raise AccountError(f"{which} states another rho than its charges have")
        if not state.composition.admits(state.totals):
            raise AccountError(f"the entries of {self.path} add up to more than its budget")
        if head is not None and head not in {self._origin(state), *state.hashes}:
            raise AccountError(f"the chain of {self.path} does not pass through {head}: entries before it were changed")
        return state

    # ---- charging

    def charge(
        self, node: Node, grant: Budget, unit: str | None = None, owner: Any = None, *, schema: Any = None
    ) -> Tab:
        """Enter a release durably, or raise before any data are read if the budget does not allow it."""
        with self._chain(write=True) as chain:
            state = self._read(chain)
            self._check_people(state, schema)
            check_unit(state.unit, unit, self.noun)
            entered = self._resumed(state, node, grant, unit, schema)
            if entered is not None:
                chain.append(self._note("resumed", [entered], state))
            else:
                state.composition.check(state.totals, node, grant, self.noun)
                entered = chain.append(self._entry(node, grant, unit, owner, schema, state))
        self.charges.append(entered)
        note_charge(state.receipt(entered))
        return Tab(self, node, owner, state.receipt(entered))

    def afford(self, grant: Budget, node: Node | None = None) -> None:
        """Raise if a budget of that size, or the release it is for, could not be charged now or resumed."""
        if not self._resuming:
            return super().afford(grant, node)
        state = self.state()
        if node is not None:
            state.composition.check(state.totals_without([self._resuming]), node, grant, self.noun)

    def give_up(self, error: ConnectionLostError) -> str | None:
        """Note that nothing was released for the charge of a fit that ended in this error, and return what to resume
        by; None if there is nothing to give up.

        What anybody sees of that fit and of the one that resumes is what the second releases, which the one charge
        pays for (docs/proofs/composition.md).
        """
        if error.charge is None:
            return None
        made = error.charge[0]
        with self._chain(write=True) as chain:
            state = self._read(chain)
            known = any(entry.hash == made for entry in state.entries)
            if not known or made in state.unused or state.receipt(made) != error.charge:
                return None
            chain.append(self._note("unused", [made], state))
        self.charges = [one for one in self.charges if one != made]
        error.charge = None
        return made[:SHORT]

    def resume(self, charge: str) -> None:
        """Let the next charge through this object be one that was given up: for the same plan, and once."""
        state = self.state()
        found = [one for one in state.unused if len(charge) >= SHORT and one.startswith(charge)]
        if not found:
            raise BudgetError(
                f"{self.path} has no charge {charge!r} that was left unused: only a command that lost its connection "
                "leaves one, which can be resumed once"
            )
        self._resuming = found[0]

    def _resumed(self, state: State, node: Node, grant: Budget, unit: str | None, schema: Any) -> str | None:
        """The unused charge that this one repeats, if it is one that was given up."""
        from discreet.privacy.certificate import record

        if self._resuming is None:
            return None
        wanted, self._resuming = self._resuming, None
        asked = (record(node).model_dump(mode="json"), grant, unit, getattr(schema, "hash", None))
        for entry in state.entries:
            same = (entry.node, entry.grant, entry.unit, entry.schema) == asked
            if same and entry.hash == wanted and wanted in state.unused:
                return entry.hash
        raise BudgetError(
            "the charge to be resumed was made for another plan or schema, or it was resumed already: repeat the "
            "command that lost its connection, or leave --resume-charge out"
        )

    def allow_inference(self, grant: Budget, node: Node | None = None) -> None:
        """Refuse: what a schema takes from the rows is not counted."""
        raise BudgetError(
            "a fit that is charged to an account needs a declared schema, because no budget pays for one that is read "
            "off the rows: pass schema=Schema(...) or Schema.load(file)"
        )

    def holds(self, tab: Tab) -> bool:
        """Whether the charge is entered in the file that is there now, and was not given up since."""
        state = self.state()
        return any(state.receipt(entry.hash) == tab.receipt for entry in state.entries)

    def _check_people(self, state: State, schema: Any) -> None:
        people = state.header["people"]
        if people is not None and getattr(schema, "id", None) != people:
            raise BudgetError(
                f"this account counts people by their {people!r}: declare it in the schema (id = {people!r}), so that "
                "rows of one person are told apart"
            )

    def _entry(self, node: Node, grant: Budget, unit: str | None, owner: Any, schema: Any, state: State) -> bytes:
        from discreet.privacy.certificate import record

        who = self.label or (type(owner).__name__ if owner is not None else "")
        rho = amounts(node, grant).rho
        return canonical(
            {
                "number": len(state.hashes) + 1, "previous": state.head, "time": _now(), **_amounts(grant),
                "concentrated": None if rho is None else str(rho), "unit": unit,
                "schema": getattr(schema, "hash", None), "label": who, "node": record(node).model_dump(mode="json"),
            }
        )  # fmt: skip

    def _note(self, what: str, charges: list[str], state: State) -> bytes:
        number = len(state.hashes) + 1
        return canonical({"number": number, "previous": state.head, "time": _now(), "note": what, "charges": charges})

    @contextmanager
    def _chain(self, *, write: bool = False) -> Iterator[Chain]:
        with Chain.open(self.path, write=write) as chain:
            yield chain

    def _read(self, chain: Chain) -> State:
        try:
            header, links = chain.read()
            if header["format"] != FORMAT or header["version"] != VERSION:
                raise AccountError(f"{self.path} is an account of another version: it was left as it is")
            entries = tuple(_parse(link) for link in links if "note" not in link.record)
            state = State(
                header, entries, links[-1].hash if links else chain.origin, tuple(link.hash for link in links),
                *_given_up([link.record for link in links if "note" in link.record]),
            )  # fmt: skip
            _ = state.composition, state.unit, header["people"]
        except (KeyError, TypeError, ValueError) as error:
            if isinstance(error, AccountError):
                raise
            raise AccountError(f"{self.path} is no account, or it is damaged: it was left as it is") from None
        return state

    @staticmethod
    def _origin(state: State) -> str:
        import hashlib

        return hashlib.sha256(canonical(state.header)).hexdigest()

    # ---- no more than a path

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Account) and os.path.realpath(other.path) == os.path.realpath(self.path)

    def __hash__(self) -> int:
        return hash(os.path.realpath(self.path))

    def _repr_html_(self) -> str:
        from discreet.html import page

        return page("Account", [("file", self.path), ("spent", self.totals), ("left", self.room), ("unit", self.unit)])

    def __repr__(self) -> str:
        return f"Account({self.path!r})"


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="seconds")


def _amounts(budget: Budget) -> dict[str, str | None]:
    parts = {"epsilon": budget.epsilon, "delta": budget.delta, "rho": budget.rho}
    return {name: None if part is None else str(part) for name, part in parts.items()}


def _budget(record: dict[str, Any]) -> Budget:
    if record["rho"] is not None:
        return Budget(rho=Fraction(record["rho"]))
    return Budget(Fraction(record["epsilon"]), delta=Fraction(record["delta"]))


def _parse(link: Link) -> Entry:
    found = link.record
    rho = found["concentrated"]
    return Entry(
        found["number"], found["time"], _budget(found), None if rho is None else Fraction(rho), found["unit"],
        found["schema"], found["label"], found["node"], link.hash,
    )  # fmt: skip


def _given_up(notes: list[dict[str, Any]]) -> tuple[frozenset[str], Counter[str]]:
    """The charges that are unused after these notes, and how often each was given up."""
    unused: set[str] = set()
    times: Counter[str] = Counter()
    for note in notes:
        charges = tuple(str(one) for one in note["charges"])
        if note["note"] == "unused":
            unused.update(charges)
            times.update(charges)
        elif note["note"] == "resumed" and unused.issuperset(charges):
            unused.difference_update(charges)
        else:
            raise ValueError("a note that does not follow from those before it")
    return frozenset(unused), times
