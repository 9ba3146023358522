"""GossipNB: a gossip network in one process, as a scikit-learn classifier, to try it before deploying it."""

from __future__ import annotations

from numbers import Integral
from typing import Any, Self

import numpy as np

from discreet.bayes.plan import Plan
from discreet.errors import BudgetError, DataError
from discreet.federated.aggregate import Aggregate
from discreet.federated.classifier import FederatedNB
from discreet.federated.update import Settings, update_of
from discreet.gossip.model import gossip_model
from discreet.gossip.simulate import PROTOCOLS, Simulation
from discreet.gossip.topology import Network
from discreet.gossip.vector import Layout, whole
from discreet.mechanisms.noise import sampler_for
from discreet.privacy.payer import Payer
from discreet.schema import Schema
from discreet.sources import HeldRows, is_outside


class GossipNB(FederatedNB):
    """Naive Bayes trained by nodes that noise their own counts and pass shares of the sum to random peers.

    The rows are dealt out to nodes in this process, so this is for studies and rehearsals; `discreet gossip` runs
    the same protocol between machines. The model is that of one node, the first.

    Parameters
    ----------
    epsilon, delta, schema, adjacency, mechanism, numeric, split, smoothing, contributions, random_state
        As for `PrivateNB`; the budget is that of each node.
    n_nodes, partition, epsilons
        As for `FederatedNB`.
    rounds : int, default 60
        How many messages each node sends.
    protocol : {"push-sum", "published"}
        Push-sum, which finds the sum of all updates, or the rule of Giaretta et al., which stays beside it.
    topology : {"complete", "random-regular", "small-world", "ring"}
        Whom nodes know; all but the first and the last have `degree` neighbours.
    degree : int, default 8
        The neighbours of a node, where the topology leaves them open.
    clock : {"rounds", "free"}
        All nodes send at the same moment, or one after the other in random order.
    loss : float, default 0
        The share of messages that are lost; push-sum sends them again.
    unexpected : {"refuse", "absorb"}
        What happens to values without a place in the schema and to people with too many rows: an error, which is
        outside the guarantee, or a place by public rules (docs/unexpected.md): the guarantee then covers every table.

    Attributes
    ----------
    model_, certificate_, classes_, n_features_in_, feature_names_in_ : as for `PrivateNB`
    nodes_ : list of dict
        Each node's budget, reported rows, noise level and relative gap to the true sum.
    gap_ : float
        The largest relative gap of any node to the sum that a coordinator would have found.
    """

    # What a federation may choose and gossip may not.
    secure = False
    weighting = "sum"
    cutoff = None
    robust = 0.1
    honest = None

    def __init__(
        self,
        epsilon: float = 1.0,
        delta: float = 0.0,
        schema: Schema | str | None = None,
        n_nodes: int = 10,
        rounds: int = 60,
        protocol: str = "push-sum",
        topology: str = "complete",
        degree: int = 8,
        clock: str = "rounds",
        loss: float = 0.0,
        partition: Any = "uniform",
        epsilons: Any = None,
        adjacency: str = "add-remove",
        mechanism: str = "auto",
        numeric: str = "histogram",
        split: Any = "weighted",
        smoothing: float = 1.0,
        contributions: int = 1,
        random_state: Any = None,
        unexpected: str = "refuse",
    ) -> None:
        self.epsilon = epsilon
        self.delta = delta
        self.schema = schema
        self.n_nodes = n_nodes
        self.rounds = rounds
        self.protocol = protocol
        self.topology = topology
        self.degree = degree
        self.clock = clock
        self.loss = loss
        self.partition = partition
        self.epsilons = epsilons
        self.adjacency = adjacency
        self.mechanism = mechanism
        self.numeric = numeric
        self.split = split
        self.smoothing = smoothing
        self.contributions = contributions
        self.random_state = random_state
        self.unexpected = unexpected

    def fit(  # type: ignore[override]
        self, X: Any, y: Any = None, *, ledger: Payer | None = None, account: Any = None
    ) -> Self:
        """Deal the rows out to nodes, let them gossip, and take the first node's model."""
        if is_outside(X):
            raise DataError("GossipNB deals out rows that are in memory: pass an array or a data frame")
        if self.protocol not in PROTOCOLS:
            raise BudgetError(f"protocol must be one of {', '.join(PROTOCOLS)}, not {self.protocol!r}")
        if isinstance(self.rounds, bool) or not isinstance(self.rounds, Integral) or int(self.rounds) < 1:
            raise BudgetError(f"rounds must be a whole number of messages, at least 1, not {self.rounds!r}")
        if isinstance(self.n_nodes, bool) or not isinstance(self.n_nodes, Integral):
            raise BudgetError(f"n_nodes must be a whole number of nodes, at least 2, not {self.n_nodes!r}")
        self._network()
        super().fit(X, y, ledger=ledger, account=account)
        return self

    def _network(self) -> Network:
        nodes, degree = int(self.n_nodes), int(self.degree)
        return Network(nodes, self.topology, degree, clock=self.clock, loss=float(self.loss))

    def _fit_plain(
        self, rows: HeldRows, plans: list[Plan], settings: Settings, aggregate: Aggregate, rng: np.random.Generator
    ) -> None:
        parts = rows.parts(self._where(rows, rng), len(plans), plans[0].detail)
        layout = Layout.of(plans[0])
        digits, vectors = len(str(len(plans) - 1)), []
        for number, plan in enumerate(plans):
            name, sampler = f"node-{number:0{digits}d}", sampler_for(self._seed, number)
            update = update_of(parts.statistics(number), plan, settings, sampler, node=name, round_id="fit")
            aggregate.add(update)
            vectors.append(layout.flat(update.values))
        simulation = Simulation(np.stack(vectors), self._network(), self.protocol)
        simulation.run(int(self.rounds), rng=rng)
        sums = whole(simulation.averages(slice(0, 1))[0], len(plans))
        members = list(aggregate.members.values())
        self.model_ = gossip_model(plans[0].schema, settings, members, sums, smoothing=float(self.smoothing))
        gaps = simulation.gaps()
        self.gap_ = float(gaps.max())
        self.nodes_ = [{**row, "gap": float(gap)} for row, gap in zip(aggregate.table(), gaps, strict=True)]
