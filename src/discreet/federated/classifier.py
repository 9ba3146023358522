"""FederatedNB: a federation of nodes in one process, as a scikit-learn classifier, to try it before deploying it."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

from discreet.bayes.model import NaiveBayesModel
from discreet.bayes.plan import Plan
from discreet.errors import BudgetError
from discreet.federated.aggregate import Aggregate
from discreet.federated.shares import share_plan
from discreet.federated.steps import SteppedNodes
from discreet.mechanisms.shares import ExactShares, SimulationShares
from discreet.nodes.estimator import NodesPlan
from discreet.nodes.running import NOT_MASKED
from discreet.nodes.settings import Settings
from discreet.privacy.plan import check_smoothing, checked_count
from discreet.schema import Schema
from discreet.sources import HeldRows


class FederatedNB(SteppedNodes):
    """Naive Bayes trained by nodes that each noise their own counts, or their shares of one noise.

    The rows are dealt out to nodes in this process, so this is for studies and rehearsals; `discreet federate` runs
    the same updates and the same aggregate between machines.

    Parameters
    ----------
    epsilon, delta, schema, adjacency, mechanism, numeric, split, smoothing, contributions, random_state
        As for `PrivateNB`; the budget is that of each node.
    n_nodes : int, default 10
        How many nodes there are.
    secure : bool, default False
        Secure aggregation: every node adds a share of the noise, and all shares together are one node's noise.
    honest : int or None
        Under secure aggregation, the least number of honest survivors that shares are sized for; all, if None, which
        protects from a coordinator that is no node. A node that reads the model can take its own share of the noise
        away, so each such node counts as not honest: where all of them get the model, `n_nodes - 1` or fewer.
    partition : {"uniform", "uniform-1-10", "exponential", "log-uniform", "label-skew", "clustered"} or array
        Which node holds which row: sizes that are even, U[1, 10], Exp(2) or log-uniform, classes or similar rows
        that gather at few nodes, or the number of the node of every row. In "log-uniform" and "clustered" a row's node
        depends on other rows, so that costs at nodes add up in no known way: their certificate covers nothing.
    weighting : {"sum", "inverse-variance", "cut-off", "trimmed", "median-of-means"}
        How nodes count, as for `Aggregate`; under secure aggregation there is only the sum.
    cutoff, robust
        As for `Aggregate`.
    epsilons : list or "log-uniform", optional
        The budget of each node in `epsilon`'s place.
    {unexpected}
    stream : int, optional
        The most steps of a stream: each `partial_fit` is one, with the rows of new people, all of them are one charge
        at each node, and there is a model after each. Neither for `secure` nor for other weightings than the sum.

    Attributes
    ----------
    model_, certificate_, classes_, n_features_in_, feature_names_in_ : as for `PrivateNB`
    nodes_ : list of dict
        Each node's budget, reported rows, noise level and weight; empty under secure aggregation.
    """

    def __init__(
        self, epsilon: float = 1.0, delta: float = 0.0, schema: Schema | str | None = None, n_nodes: int = 10,
        secure: bool = False, partition: Any = "uniform", weighting: str = "sum", epsilons: Any = None,
        adjacency: str = "add-remove", mechanism: str = "auto", numeric: str = "histogram", split: Any = "weighted",
        smoothing: float = 1.0, contributions: int = 1, cutoff: float | None = None, robust: float = 0.1,
        honest: int | None = None, random_state: Any = None, unexpected: str = "refuse",
        stream: int | None = None,
    ) -> None:  # fmt: skip
        self._configure(locals())

    def _check(self, schema: Schema, settings: Settings) -> None:
        self._empty(schema, settings)
        if self.stream is not None and self.secure:
            raise BudgetError(NOT_MASKED)
        if self.stream is not None and self.weighting != "sum":
            raise BudgetError("the running sums of a stream are added up as they are: its weighting is 'sum'")
        if self.secure and (self.weighting != "sum" or self.epsilons is not None):
            raise BudgetError(
                "under secure aggregation nobody sees single updates: weighting must be 'sum' and epsilons None"
            )
        if self.honest is not None:
            checked_count(self.honest, "honest", most=int(self.n_nodes))

    def _empty(self, schema: Schema, settings: Settings) -> Aggregate:
        return Aggregate(schema, settings=settings, weighting=self.weighting, cutoff=self.cutoff, robust=self.robust)

    def _combined(self, rows: HeldRows, plan: NodesPlan) -> NaiveBayesModel:
        if self.secure:
            self.nodes_ = []
            return self._secure(rows, plan.plans[0])
        aggregate = self._empty(plan.schema, plan.settings)
        for update in self._updates(rows, plan):
            aggregate.add(update)
        self.nodes_ = aggregate.table()
        return aggregate.model(check_smoothing(self.smoothing))

    def _secure(self, rows: HeldRows, plan: Plan) -> NaiveBayesModel:
        """The sum of all nodes' integers and noise shares, drawn at once: its law is that of a real round."""
        nodes = int(self.n_nodes)
        honest = nodes if self.honest is None else int(self.honest)
        shared = share_plan(plan, nodes, colluding=nodes - honest)
        statistics = rows.statistics(plan.detail)
        seeded = self._seed is not None
        sampler = SimulationShares(self._rng) if seeded else ExactShares()
        total = shared.noised(statistics, Fraction(nodes, honest), sampler)
        return shared.model(total, nodes, smoothing=check_smoothing(self.smoothing), simulation=seeded)
