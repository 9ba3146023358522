"""A site: the terms of whoever answers for a node's rows, and the one way in which they leave, noised."""

from __future__ import annotations

import secrets
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import partial
from typing import Any

from discreet.bayes.estimate import class_totals
from discreet.bayes.plan import Plan
from discreet.bayes.release import Release, release, release_certificate
from discreet.errors import BudgetError
from discreet.mechanisms.noise import Sampler, bytes_of, sampler_for
from discreet.nodes.journal import Journal
from discreet.nodes.settings import Settings, node_plan
from discreet.nodes.update import Update
from discreet.privacy.account import Account
from discreet.privacy.budget import Budget
from discreet.privacy.nodes import Node, SmoothCharge
from discreet.privacy.payer import Payer, paying
from discreet.privacy.unexpected import REFUSE, check_unexpected
from discreet.schema import Schema
from discreet.sources import Progress, charge, check_columns, check_shape, collect, trusting
from discreet.statistics import Statistics

COVERS = "every integer of this node's update and everything computed from them"


@dataclass(frozen=True)
class SiteTerms:
    """What the person who answers for a node's rows has fixed."""

    node: str
    data: str
    schema: Schema
    budget: Budget
    account: Account | None = field(default=None, kw_only=True)  # which the rows may have beside the node's ledger

    def answer(
        self, journal: Journal, round_id: str, question: str, plan: Plan, make: Callable[[], bytes],
        node: Node | None = None, data: str | None = None,
    ) -> bytes:  # fmt: skip
        """The bytes for a round: kept ones, or new ones for which the ledger and the account both pay, once.

        Nothing is paid for a file (`data`, if not all there is) that is not there or lacks a column. What is charged is
        `plan`, or another `node`.
        An account that is named later pays for earlier rounds first.
        """
        if not journal.paid(round_id):
            check_columns(self.data if data is None else data, self.schema)
        pay = None
        if self.account is not None:
            charge = partial(self.account.charge, unit=plan.unit, schema=self.schema)
            journal.name_account(self.account.identity, lambda cost: charge(_whole(cost), cost))
            pay = partial(charge, node or plan.node, self.budget)
        return journal.answer(round_id, question, self.budget, make, pay)

    def check_payable(self, journal: Journal, plan: Plan, data: str) -> None:
        """Raise unless a new round could be paid for, out of rows that are there; nothing is written."""
        check_columns(data, self.schema)
        afford = None if self.account is None else partial(self.account.afford, self.budget, plan.node)
        journal.check_room(self.budget, afford)

    def noised(self, settings: Settings, mechanism: str, round_id: str) -> bytes:
        """A fresh update of this node's rows, as bytes; the caller has charged its budget."""
        made = node_update(
            self.data, self.schema, self.budget, node=self.node, mechanism=mechanism, round_id=round_id,
            **settings.options,
        )  # fmt: skip
        return made.to_bytes()


def _whole(cost: Budget) -> SmoothCharge:
    """A round of which nothing is known any more but its cost, as a ledger entry."""
    measure, amount = ("epsilon", cost.epsilon) if cost.rho is None else ("rho", cost.rho)
    return SmoothCharge("an earlier round of this node", "all statistics", measure, amount or Fraction(0), cost.delta)


def node_update(
    source: Any,
    schema: Schema,
    budget: Budget,
    *,
    node: str,
    adjacency: str = "add-remove",
    numeric: str = "histogram",
    split: Any = "weighted",
    mechanism: str = "auto",
    contributions: int = 1,
    unexpected: str = REFUSE,
    random_state: Any = None,
    ledger: Payer | None = None,
    account: Any = None,
    y: Any = None,
    progress: Progress | None = None,
    round_id: str | None = None,
) -> Update:
    """Count the node's rows and noise every integer; the cost is charged before the first row is read.

    `source` is an array, a data frame, a file or a database table, with labels `y` for an array. A seed in
    `random_state` makes it a simulation, which is not for release. With `unexpected="absorb"` no content of a row can
    make it fail. Each call draws fresh noise and is a fresh
    charge: a node that is asked twice for the same round sends the bytes it has kept.
    """
    if not isinstance(budget, Budget):
        raise BudgetError("the budget of a node is a Budget, such as Budget(1.0) or Budget(1.0, delta=1e-6)")
    settings = Settings.of(adjacency, numeric, split, contributions)
    # How a node reads its rows is its own affair: nodes of one federation may differ in it.
    plan = replace(node_plan(schema, settings, budget, mechanism), unexpected=check_unexpected(unexpected))
    plan = trusting(plan, source)
    sampler = sampler_for(random_state)
    check_shape(source, y, schema, who="a node")
    charge(paying(ledger, account), plan, source, schema=schema)
    # No rows is an answer like any other: an error would tell that there are none.
    statistics = collect(
        source, schema, y, detail=plan.detail, contributions=contributions, unexpected=unexpected,
        draw=bytes_of(sampler), progress=progress, empty=True,
    )  # fmt: skip
    return update_of(statistics, plan, settings, sampler, node=node, round_id=round_id)


def update_of(
    statistics: Statistics, plan: Plan, settings: Settings, sampler: Sampler, *, node: str, round_id: str | None = None
) -> Update:
    """Noise statistics that were counted already; the caller has charged the plan."""
    released = release(statistics, plan, sampler)
    certificate = release_certificate(released, plan.node, covers=COVERS, kind="this update is")
    return Update(
        node,
        secrets.token_hex(16) if round_id is None else round_id,
        plan.schema.hash,
        settings,
        plan.budget,
        plan.mechanism,
        released.values,
        certificate,
        noised_rows(released),
    )


def noised_rows(released: Release) -> int:
    """The number of rows as the noised tables tell it: it costs nothing more and is never the exact one."""
    totals, _ = class_totals(released)
    return max(0, round(float(totals.sum())))
