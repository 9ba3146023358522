"""Who pays for a fit: one interface for ledgers and accounts, and the account that a block of code is charged to."""

from __future__ import annotations

import os
import threading
import weakref
from abc import ABC, abstractmethod
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, ClassVar, NoReturn, Self

from discreet.errors import BudgetError, ConnectionLostError
from discreet.privacy.budget import Adjacency, Budget
from discreet.privacy.composition import Composition, Room, Totals, amounts
from discreet.privacy.nodes import Node


def unit_of(adjacency: Any, contributions: int) -> str:
    """Whom costs are counted for."""
    return f"{Adjacency.of(adjacency)} neighbours with up to {contributions} row(s) per person"


class OneLife:
    """What was paid for once: a copy of it is nothing."""

    def __copy__(self) -> None:
        return None

    def __deepcopy__(self, memo: Any) -> None:
        return None

    def __reduce__(self) -> tuple[type[None], tuple[()]]:
        return type(None), ()


class Tab(OneLife):
    """A charge that batches of other people may share; a copy of it is worthless."""

    def __init__(self, payer: Payer, node: Node, owner: Any, receipt: tuple[str, int] | None = None) -> None:
        self._payer, self._node, self.receipt = payer, node, receipt
        self._owner = None if owner is None else weakref.ref(owner)

    def covers(self, payer: Payer, node: Node, owner: Any) -> bool:
        """Whether this very payer was charged by this very owner for releases like `node`."""
        mine = self._owner is not None and self._owner() is owner
        return mine and self._payer == payer and self._node == node and payer.holds(self)

    def check_step(self, payer: Payer) -> None:
        """Refuse another payer for a later step of what was charged whole: it would believe that it paid."""
        if not isinstance(payer, Unpaid | Refusing) and payer != self._payer:
            raise BudgetError(
                "a stream is charged whole with its first step, and another account or ledger than that step's would "
                "be charged nothing: leave it out, or begin a new stream with it"
            )


_ATTEMPTS: ContextVar[tuple[list[tuple[str, int]], ...]] = ContextVar("discreet_attempts", default=())


@contextmanager
def attempt() -> Iterator[None]:
    """A block that puts out nothing before its end: should it lose its connection to the rows, the error names its
    charge. If it made several, one may have followed from noise of another, and none of them is named.
    """
    made: list[tuple[str, int]] = []
    token = _ATTEMPTS.set((*_ATTEMPTS.get(), made))
    try:
        yield
    except ConnectionLostError as error:
        error.charge = made[0] if len(made) == 1 else None
        raise
    finally:
        _ATTEMPTS.reset(token)


def note_charge(receipt: tuple[str, int]) -> None:
    """Tell the attempts of this thread or task that an account was charged."""
    for made in _ATTEMPTS.get():
        made.append(receipt)


def is_charged() -> bool:
    """Whether an account was charged in an attempt that is under way."""
    return any(_ATTEMPTS.get())


class Payer(ABC):
    """What a fit can be charged to.

    `with payer:` makes it pay for every fit inside the block, in this thread and in all that open no block themselves.
    """

    noun: ClassVar[str] = "budget"

    @abstractmethod
    def charge(
        self, node: Node, grant: Budget, unit: str | None = None, owner: Any = None, *, schema: Any = None
    ) -> Tab:
        """Enter a release, or raise before any data are read if the budget does not allow it.

        `unit` says whom the cost is counted for: neighbours and rows per person. Costs for different units do not
        add up, so the first one holds for all.
        """

    @abstractmethod
    def afford(self, grant: Budget, node: Node | None = None) -> None:
        """Raise if a budget of that size, or the release it is for, could not be charged now."""

    def allow_inference(self, grant: Budget, node: Node | None = None) -> None:
        """Raise if the rows may not be read for a schema: what cannot be paid for is not looked at."""
        self.afford(grant, node)

    def holds(self, tab: Tab) -> bool:
        """Whether a charge that was made here is still entered."""
        return True

    def carried(self) -> Payer:
        """What an estimator that is sent to another process takes along."""
        return self

    def __enter__(self) -> Self:
        with _LOCK:
            mine = _mine()
            block = _Block(self, mine[-1] if mine else None)
            _OPEN.append(block)
            _STACK.set((*mine, block))
        return self

    def __exit__(self, *_: Any) -> None:
        with _LOCK:
            block = next(one for one in (*reversed(_mine()), *reversed(_OPEN)) if one.payer is self)
            _OPEN.remove(block)
            _STACK.set(_mine())


class BudgetedPayer(Payer):
    """A payer with a budget of its own and a rule that was fixed beforehand."""

    @property
    @abstractmethod
    def composition(self) -> Composition:
        """The budget and its rule."""

    @property
    @abstractmethod
    def totals(self) -> Totals:
        """What all charges add up to."""

    @property
    def budget(self) -> Budget:
        """All that may ever be spent."""
        return self.composition.budget

    @property
    def spent(self) -> Fraction:
        """What is used up of ε (or of ρ, for a zCDP budget), as the rule reads the charges."""
        return self.composition.spent(self.totals)

    @property
    def remaining(self) -> Fraction | None:
        """The budget's ε or ρ less what is spent; None if the budget is infinite. `room` says what would fit."""
        limit = self.budget.rho if self.budget.rho is not None else self.budget.epsilon
        return None if limit is None else limit - self.spent

    @property
    def room(self) -> Room:
        """The largest single charges that would be admitted now."""
        return self.composition.room(self.totals)

    def afford(self, grant: Budget, node: Node | None = None) -> None:
        """Raise if a budget of that size, or the release it is for, could not be charged now."""
        composition = self.composition
        if node is None:
            if composition.budget.kind != "pure":
                return  # other budgets need the whole plan to tell
            from discreet.privacy.nodes import Sequential

            node = Sequential("a fit", ())
        composition.check(self.totals, node, grant, self.noun)


def check_unit(held: str | None, unit: str | None, noun: str) -> str | None:
    """The unit that holds from now on, or an error if costs would be counted for different people."""
    if unit is not None and held is not None and unit != held:
        raise BudgetError(f"this {noun} counts costs for {held}, not for {unit}: use another {noun}")
    return held if unit is None else unit


class Unpaid(Payer):
    """Nobody pays: nothing is remembered, but a second fit on the same data is pointed out."""

    def __init__(self, data: Any = None, owner: Any = None) -> None:
        self._data: Any = None if owner is None else data
        self._owner: Any = owner

    def charge(
        self, node: Node, grant: Budget, unit: str | None = None, owner: Any = None, *, schema: Any = None
    ) -> Tab:
        """Point out a repeated fit, once for all steps of this one."""
        data, kind = self._data, type(self._owner)
        self._data = self._owner = None  # a fitted estimator remembers who paid, and must not keep its rows by that
        if grant.private and data is not None:
            from discreet.privacy.repeats import note_fit

            note_fit(kind, data)
        return Tab(self, node, owner)

    def afford(self, grant: Budget, node: Node | None = None) -> None:
        """Anything goes."""


PAID = Unpaid()  # for steps of a whole that was charged already


class Prepaid(Unpaid):
    """What was charged for a step as part of a whole; a step that costs more than that is charged by itself."""

    def __init__(self, paid: Totals, payer: Payer) -> None:
        super().__init__()
        self.paid, self.payer = paid, payer

    def charge(
        self, node: Node, grant: Budget, unit: str | None = None, owner: Any = None, *, schema: Any = None
    ) -> Tab:
        """Charge nothing if the step costs no more than was paid for it."""
        pairs = zip(*((one.epsilon, one.delta, one.rho) for one in (amounts(node, grant), self.paid)), strict=True)
        if any(held is not None and (cost is None or cost > held) for cost, held in pairs):
            return self.payer.charge(node, grant, unit, owner, schema=schema)
        return super().charge(node, grant, unit, owner, schema=schema)


@dataclass(frozen=True, eq=False)
class _Block:
    """An open `with` block, and the one around it."""

    payer: Payer
    around: _Block | None


@dataclass(frozen=True)
class Refusing(Payer):
    """In place of a payer that cannot be reached, or where nobody knows which of several is meant."""

    reason: str

    def charge(self, *_: Any, **__: Any) -> NoReturn:
        """Refuse: the charge could not be entered."""
        raise BudgetError(self.reason)

    def afford(self, *_: Any, **__: Any) -> NoReturn:
        """Refuse, as `charge` would."""
        self.charge()


AMBIGUOUS = Refusing(
    "several threads are charged to different accounts, and this one opened no block of its own: pass account= to the "
    "fit, or open the account in this thread"
)
_LOCK = threading.Lock()
_OPEN: list[_Block] = []  # all blocks of this process that are open now
_STACK: ContextVar[tuple[_Block, ...]] = ContextVar("discreet_blocks", default=())  # those of this thread or task


def _mine() -> tuple[_Block, ...]:
    """The blocks that this thread or task opened or was started in, outermost first, as far as they are open yet."""
    return tuple(one for one in _STACK.get() if one in _OPEN)


def _fresh_lock() -> None:
    global _LOCK
    _LOCK = threading.Lock()  # another thread may have held it as this process was forked


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_fresh_lock)


def active() -> Payer | None:
    """The payer of the innermost `with` block of this thread; else of the innermost block of the others.

    A thread of a pool opens none itself: it works for whoever did. If those are several, its fits are refused.
    """
    with _LOCK:
        mine = _mine()
        if mine:
            return mine[-1].payer
        around = [one.around for one in _OPEN]
        inner = [one.payer for one in _OPEN if one not in around]
    if not inner:
        return None
    return inner[-1] if all(one == inner[-1] for one in inner) else AMBIGUOUS


def paying(ledger: Any = None, account: Any = None, data: Any = None, owner: Any = None) -> Payer:
    """Who pays for a fit: what it was given, else the open block, else what the estimator brought along, else nobody.

    `account` is an Account, a Ledger or the path of an account. `data` and `owner` are of the fit, for the warning that
    nobody pays for a repeated one.
    """
    if ledger is not None and account is not None:
        raise BudgetError("a fit is charged once: give either account or ledger, not both")
    given = ledger if account is None else account
    if isinstance(given, str | os.PathLike):
        from discreet.privacy.account import Account

        return Account.open(given)
    if given is not None and not isinstance(given, Payer):
        raise BudgetError(f"a fit is charged to an Account, a Ledger or the path of an account, not to {given!r}")
    found = given or _settled(active(), owner)
    return Unpaid(data, owner) if found is None else found


CARRIED = "_carried_payer"


def _settled(found: Payer | None, owner: Any) -> Payer | None:
    """The payer of the open block, or what the estimator brought along if no block is open or it is unclear which."""
    carried: Payer | None = getattr(owner, CARRIED, None)
    return found if carried is None or (found is not None and found is not AMBIGUOUS) else carried


class Carrier:
    """An estimator that takes the account of an open block along, for good, when it is pickled or copied.

    A clone of one that has come with an account has it too; a clone alone takes none along.
    """

    def __getstate__(self) -> Any:
        state: Any = super().__getstate__()
        found = _settled(active(), self)
        return state if found is None else {**state, CARRIED: found.carried()}

    def __sklearn_clone__(self) -> Any:
        fresh = super().__sklearn_clone__()  # type: ignore[misc]
        if CARRIED in vars(self):
            setattr(fresh, CARRIED, getattr(self, CARRIED))
        return fresh
