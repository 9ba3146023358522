"""A gossip site: its terms, and its one noised update, which is paid for once, kept, and passed on in shares."""

from __future__ import annotations

import hashlib
import json
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path

from discreet.bayes.plan import Plan
from discreet.errors import DiscreetError
from discreet.gossip.protocol import PushSum
from discreet.gossip.store import LEDGER, StateError, StateFile, state_file
from discreet.gossip.vector import BITS, Layout, share_of
from discreet.nodes.journal import Journal
from discreet.nodes.settings import Settings, budget_kind, node_plan
from discreet.nodes.site import SiteTerms
from discreet.nodes.update import LONGEST, Update
from discreet.privacy.budget import Budget


@dataclass(frozen=True)
class GossipTerms(SiteTerms):
    """The terms of one node, and what all nodes of a network agree on.

    `settings`, `schema`, `name` of the round and the kind of budget make the network: nodes that differ in them refuse
    each other.
    """

    state: Path
    settings: Settings = field(default_factory=Settings)
    mechanism: str = "auto"
    name: str = "gossip"
    total: Budget | None = None

    def __post_init__(self) -> None:
        for name, what in ((self.node, "node"), (self.name, "round")):
            if not 0 < len(name) <= LONGEST or not name.isprintable():
                raise DiscreetError(f"{name!r} is no name for a {what}: use 1 to {LONGEST} printable characters")

    @property
    def network(self) -> str:
        """A fingerprint of all that members have in common."""
        adjacency, numeric, split, contributions = self.settings.plain().values()
        agreed = [self.schema.hash, adjacency, numeric, split if isinstance(split, str) else list(split.items()),
                  contributions, self.name, budget_kind(self.budget), BITS]  # fmt: skip
        return hashlib.sha256(json.dumps(agreed).encode()).hexdigest()

    def identity(self) -> dict[str, str]:
        """By what a state is known to be this node's."""
        return {"node": self.node, "network": self.network, "round": self.name}


class SharingSite:
    """One node's ledger, state and update. Opening it charges the ledger, the first time only."""

    def __init__(self, terms: GossipTerms) -> None:
        self.terms = terms
        # A budget that makes no plan is refused before anything is written.
        plan = node_plan(terms.schema, terms.settings, terms.budget, terms.mechanism)
        if not terms.state.is_dir():
            raise DiscreetError(f"there is no directory {terms.state} for the node's state: make it first")
        self.journal = Journal(terms.state / LEDGER, total=terms.total or terms.budget, unit=terms.settings.unit)
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
            with closing(StateFile(path, terms.identity())) as store:  # that of another node is refused, unpaid
                held = store.machine()
        if held is None and self.journal.marked(round_id):
            # Whatever this node has sent is somewhere in the network: to begin anew would count its rows twice.
            raise StateError(
                f"the ledger in {terms.state} shows that this node took part already, but its state is gone: "
                "start a round of another name"
            )
        question = json.dumps([terms.node, terms.network, str(terms.budget), terms.mechanism])
        self.update = Update.from_bytes(terms.answer(self.journal, round_id, question, plan, self._make))
        self.store = StateFile(path, terms.identity())
        self.layout = Layout.of(plan)
        self.machine = held or PushSum(terms.node, share_of(self.layout.flat(self.update.values)))
        if held is None:
            self.store.save(self.machine)
        self.journal.mark(round_id)  # before anything is sent
        if self.machine.closed and self.machine.empty:
            raise StateError(f"node {terms.node!r} has left this network for good: start a round of another name")

    def _make(self) -> bytes:
        return self.terms.noised(self.terms.settings, self.terms.mechanism, self.terms.name)

    def close(self) -> None:
        """Let another process have the node."""
        self.store.close()
        self.journal.close()
