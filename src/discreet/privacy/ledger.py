"""The ledger: a budget in memory, for the fits of one process."""

from __future__ import annotations

import os
import threading
from typing import Any, NoReturn

from discreet.errors import BudgetError
from discreet.privacy.budget import Budget
from discreet.privacy.composition import Composition, Totals
from discreet.privacy.nodes import Charge, Node, Parallel, Response, Sequential, SmoothCharge, concentrated, cost
from discreet.privacy.payer import BudgetedPayer, Payer, Refusing, Tab, check_unit

__all__ = [
    "Charge",
    "Ledger",
    "Node",
    "Parallel",
    "Payer",
    "Response",
    "Sequential",
    "SmoothCharge",
    "Tab",
    "concentrated",
    "cost",
]


class Ledger(BudgetedPayer):
    """A budget shared by several fits: hand it to `fit(..., ledger=ledger)` and each fit is charged to it.

    Threads may share it. It cannot be copied, pickled or used by another process, because a charge to the copy would be
    lost: an `Account` is a budget that several processes can share. `composition` is the rule for an (ε, δ) budget:
    "basic", "zcdp" or "either", the default.

    >>> ledger = Ledger(Budget(1))
    >>> ledger.spent
    Fraction(0, 1)
    """

    noun = "ledger"

    def __init__(self, budget: Budget, composition: str | None = None) -> None:
        self._composition = Composition.of(budget, composition)
        self._totals = Totals()
        self._unit: str | None = None
        self._nodes: list[Node] = []
        self._grants: list[Budget] = []
        self._lock, self._process = threading.Lock(), os.getpid()

    @property
    def composition(self) -> Composition:
        """The budget and its rule."""
        return self._composition

    @property
    def totals(self) -> Totals:
        """What all charges add up to."""
        self._stay()
        return self._totals

    @property
    def nodes(self) -> list[Node]:
        """What was released, in order."""
        return list(self._nodes)

    @property
    def grants(self) -> list[Budget]:
        """What each release was granted."""
        return list(self._grants)

    @property
    def unit(self) -> str | None:
        """Whom the costs are counted for, once there is a charge that says so."""
        return self._unit

    def charge(
        self, node: Node, grant: Budget, unit: str | None = None, owner: Any = None, *, schema: Any = None
    ) -> Tab:
        """Enter a release, or raise before any data are read if the budget does not allow it."""
        self._stay()
        with self._lock:  # what was checked is what is entered
            held = check_unit(self._unit, unit, self.noun)
            totals = self._composition.check(self._totals, node, grant, self.noun)
            self._nodes.append(node)
            self._grants.append(grant)
            self._totals, self._unit = totals, held
        return Tab(self, node, owner)

    def carried(self) -> Payer:
        """What an estimator that is sent to another process takes along: the reason why it cannot be fitted there."""
        return Refusing(
            "this estimator was sent here from a block that is charged to a ledger, which other processes cannot "
            "reach: use an Account (discreet.Account.create) instead"
        )

    def _stay(self) -> None:
        if os.getpid() != self._process:
            raise BudgetError(
                "a ledger belongs to the process that made it, and charges made here would be lost to it: use an "
                "Account (discreet.Account.create), which processes can share"
            )

    def __repr__(self) -> str:
        return f"Ledger({self.budget}, composition={self.composition.rule!r})"

    def _refuse(self, *_: Any) -> NoReturn:
        raise BudgetError(
            "a ledger cannot be copied or sent to another process, because charges to the copy would be lost: use an "
            "Account (discreet.Account.create), which processes can share"
        )

    __copy__ = __deepcopy__ = __reduce__ = __reduce_ex__ = _refuse
