"""GossipNB: a gossip network in one process, as a scikit-learn classifier, to try it before deploying it."""

from __future__ import annotations

from typing import Any

import numpy as np

from discreet.bayes.model import NaiveBayesModel
from discreet.errors import BudgetError
from discreet.gossip.result import gossip_model
from discreet.gossip.simulate import PROTOCOLS, Simulation
from discreet.gossip.topology import Network
from discreet.gossip.vector import Layout, whole
from discreet.nodes.estimator import NodesNB, NodesPlan
from discreet.nodes.members import Member, member_table, row_shares
from discreet.nodes.settings import Settings
from discreet.privacy.plan import check_smoothing, checked_count
from discreet.schema import Schema
from discreet.sources import HeldRows


class GossipNB(NodesNB):
    """Naive Bayes trained by nodes that noise their own counts and pass shares of the sum to random peers.

    The rows are dealt out to nodes in this process, so this is for studies and rehearsals; `discreet gossip` runs
    the same protocol between machines. The model is that of one node, the first.

    Parameters
    ----------
    epsilon, delta, schema, adjacency, mechanism, numeric, split, smoothing, contributions, random_state
        As for `PrivateNB`; the budget is that of each node.
    n_nodes, partition, epsilons, unexpected
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

    Attributes
    ----------
    model_, certificate_, classes_, n_features_in_, feature_names_in_ : as for `PrivateNB`
    nodes_ : list of dict
        Each node's budget, reported rows, noise level and relative gap to the true sum.
    gap_ : float
        The largest relative gap of any node to the sum that a coordinator would have found.
    """

    def __init__(
        self, epsilon: float = 1.0, delta: float = 0.0, schema: Schema | str | None = None, n_nodes: int = 10,
        rounds: int = 60, protocol: str = "push-sum", topology: str = "complete", degree: int = 8,
        clock: str = "rounds", loss: float = 0.0, partition: Any = "uniform", epsilons: Any = None,
        adjacency: str = "add-remove", mechanism: str = "auto", numeric: str = "histogram", split: Any = "weighted",
        smoothing: float = 1.0, contributions: int = 1, random_state: Any = None, unexpected: str = "refuse",
    ) -> None:  # fmt: skip
        self._configure(locals())

    def _check(self, schema: Schema, settings: Settings) -> None:
        if self.protocol not in PROTOCOLS:
            raise BudgetError(f"protocol must be one of {', '.join(PROTOCOLS)}, not {self.protocol!r}")
        checked_count(self.rounds, "rounds")
        self._network()

    def _network(self) -> Network:
        nodes, degree = int(self.n_nodes), int(self.degree)
        return Network(nodes, self.topology, degree, clock=self.clock, loss=float(self.loss))

    def _combined(self, rows: HeldRows, plan: NodesPlan) -> NaiveBayesModel:
        layout = Layout.of(plan.plans[0])
        members, vectors = [], []
        for update in self._updates(rows, plan):
            members.append(Member.of(update, plan.schema))
            vectors.append(layout.flat(update.values))
        simulation = Simulation(np.stack(vectors), self._network(), self.protocol)
        simulation.run(int(self.rounds), rng=self._rng)
        sums = whole(simulation.averages(slice(0, 1))[0], len(members))
        gaps = simulation.gaps()
        self.gap_ = float(gaps.max())
        table = member_table(members, row_shares(members))
        self.nodes_ = [{**row, "gap": float(gap)} for row, gap in zip(table, gaps, strict=True)]
        return gossip_model(plan.schema, plan.settings, members, sums, smoothing=check_smoothing(self.smoothing))
