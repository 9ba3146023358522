"""The house of a gossip node: its terms, and its one noised update, which is paid for once and kept."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

from discreet.bayes.plan import Plan
from discreet.errors import DiscreetError
from discreet.federated.journal import Journal
from discreet.federated.update import LONGEST, Settings, Update, node_plan, node_update
from discreet.gossip.membership import budget_kind
from discreet.gossip.protocol import PushSum
from discreet.gossip.store import LEDGER, Store, StoreError, state_file
from discreet.gossip.vector import BITS, Layout, share_of
from discreet.privacy.account import Account
from discreet.privacy.budget import Budget
from discreet.schema import Schema
from discreet.sources import check_columns


@dataclass(frozen=True)
class Terms:
    """What the person who answers for a node's rows has fixed, and what all nodes of a network agree on.

    `settings`, `schema`, `name` of the round and the kind of budget make the network: nodes that differ in them refuse
    each other.
    """

    node: str
    data: str
    schema: Schema
    budget: Budget
    state: Path
    settings: Settings = field(default_factory=Settings)
    mechanism: str = "auto"
    name: str = "gossip"
    total: Budget | None = None
    account: Account | None = None

    def __post_init__(self) -> None:
        for name, what in ((self.node, "node"), (self.name, "round")):
            if not 0 < len(name) <= LONGEST or not name.isprintable():
                raise DiscreetError(f"{name!r} is no name for a {what}: use 1 to {LONGEST} printable characters")

    @property
    def network(self) -> str:
        """A fingerprint of all that members have in common."""
        split = self.settings.split if isinstance(self.settings.split, str) else [
            [feature, str(share)] for feature, share in self.settings.split
        ]  # fmt: skip
        agreed = [self.schema.hash, str(self.settings.adjacency), self.settings.numeric, split,
                  self.settings.contributions, self.name, budget_kind(self.budget), BITS]  # fmt: skip
        return hashlib.sha256(json.dumps(agreed).encode()).hexdigest()

    @property
    def plan(self) -> Plan:
        """The plan of this node's update."""
        return node_plan(self.schema, self.settings, self.budget, self.mechanism)

    @property
    def unit(self) -> str:
        """Whom the ledger counts for."""
        contributions = self.settings.contributions
        rows = "one row" if contributions == 1 else f"{contributions} rows"
        return f"{self.settings.adjacency} neighbours, {rows} per person"

    def identity(self) -> Mapping[str, str]:
        """By what a state is known to be this node's."""
        return {"node": self.node, "network": self.network, "round": self.name}


class House:
    """One node's ledger, state and update. Opening it charges the ledger, the first time only."""

    def __init__(self, terms: Terms) -> None:
        self.terms = terms
        plan = terms.plan  # a budget that makes no plan is refused before anything is written
        if not terms.state.is_dir():
            raise DiscreetError(f"there is no directory {terms.state} for the node's state: make it first")
        self.journal = Journal(terms.state / LEDGER, total=terms.total or terms.budget, unit=terms.unit)
        try:
            self._open(plan)
        except BaseException:
            self.journal.close()
            raise

    def _open(self, plan: Plan) -> None:
        terms = self.terms
        round_id = f"gossip {terms.network}"
        path = state_file(terms.state, terms.network)
        held = None
        if path.exists() and path.stat().st_size:
            store = Store(path, dict(terms.identity()))  # that of another node is refused before anything is paid
            held = store.machine()
            store.close()
        if held is None and self.journal.marked(round_id):
            # Whatever this node has sent is somewhere in the network: to begin anew would count its rows twice.
            raise StoreError(
                f"the ledger in {terms.state} shows that this node took part already, but its state is gone: "
                "start a round of another name"
            )
        question = json.dumps([terms.node, terms.network, str(terms.budget), terms.mechanism])
        if not self.journal.paid(round_id):
            check_columns(terms.data, terms.schema)
        pay = None
        if terms.account is not None:
            pay = partial(terms.account.charge, plan.node, terms.budget, plan.unit, schema=terms.schema)
        self.update = Update.from_bytes(self.journal.answer(round_id, question, terms.budget, self._make, pay))
        self.store = Store(path, dict(terms.identity()))
        self.layout = Layout.of(plan)
        self.machine = held or PushSum(terms.node, share_of(self.layout.flat(self.update.values)))
        if held is None:
            self.store.save(self.machine)
        self.journal.mark(round_id)  # before anything is sent
        if self.machine.closed and self.machine.empty:
            raise StoreError(f"node {terms.node!r} has left this network for good: start a round of another name")

    def _make(self) -> bytes:
        terms, settings = self.terms, self.terms.settings
        made = node_update(
            terms.data,
            terms.schema,
            terms.budget,
            node=terms.node,
            adjacency=str(settings.adjacency),
            numeric=settings.numeric,
            split=settings.split if isinstance(settings.split, str) else dict(settings.split),
            mechanism=terms.mechanism,
            contributions=settings.contributions,
            round_id=terms.name,
        )
        return made.to_bytes()

    def close(self) -> None:
        """Let another process have the node."""
        self.store.close()
        self.journal.close()
