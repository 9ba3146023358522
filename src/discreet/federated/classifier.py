"""FederatedNB: a federation of nodes in one process, as a scikit-learn classifier, to try it before deploying it."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from numbers import Integral
from typing import Any, Self

import numpy as np

from discreet import sources
from discreet.bayes.base import NaiveBayesEstimator
from discreet.bayes.plan import Plan
from discreet.errors import BudgetError, DataError
from discreet.estimators.settings import check_smoothing
from discreet.federated.aggregate import Aggregate
from discreet.federated.certificate import NODES, study_certificate
from discreet.federated.partition import DEPENDENT, assign, node_budgets
from discreet.federated.shares import share_plan
from discreet.federated.update import Settings, node_plan, update_of
from discreet.mechanisms.noise import sampler_for
from discreet.mechanisms.shares import ExactShares, SimulationShares
from discreet.privacy.budget import Budget
from discreet.privacy.certifier import read_under
from discreet.privacy.ledger import Node, Parallel
from discreet.privacy.payer import Payer, paying
from discreet.privacy.unexpected import check_unexpected
from discreet.schema import Schema
from discreet.sources import HeldRows, is_outside


class FederatedNB(NaiveBayesEstimator):
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
    unexpected : {"refuse", "absorb"}
        What happens to values without a place in the schema and to people with too many rows: an error, which is
        outside the guarantee, or a place by public rules (docs/unexpected.md): the guarantee then covers every table.

    Attributes
    ----------
    model_, certificate_, classes_, n_features_in_, feature_names_in_ : as for `PrivateNB`
    nodes_ : list of dict
        Each node's budget, reported rows, noise level and weight; empty under secure aggregation.
    """

    def __init__(
        self,
        epsilon: float = 1.0,
        delta: float = 0.0,
        schema: Schema | str | None = None,
        n_nodes: int = 10,
        secure: bool = False,
        partition: Any = "uniform",
        weighting: str = "sum",
        epsilons: Any = None,
        adjacency: str = "add-remove",
        mechanism: str = "auto",
        numeric: str = "histogram",
        split: Any = "weighted",
        smoothing: float = 1.0,
        contributions: int = 1,
        cutoff: float | None = None,
        robust: float = 0.1,
        honest: int | None = None,
        random_state: Any = None,
        unexpected: str = "refuse",
    ) -> None:
        self.epsilon = epsilon
        self.delta = delta
        self.schema = schema
        self.n_nodes = n_nodes
        self.secure = secure
        self.partition = partition
        self.weighting = weighting
        self.epsilons = epsilons
        self.adjacency = adjacency
        self.mechanism = mechanism
        self.numeric = numeric
        self.split = split
        self.smoothing = smoothing
        self.contributions = contributions
        self.cutoff = cutoff
        self.robust = robust
        self.honest = honest
        self.random_state = random_state
        self.unexpected = unexpected

    def fit(  # type: ignore[override]
        self, X: Any, y: Any = None, *, ledger: Payer | None = None, account: Any = None
    ) -> Self:
        """Deal the rows out to nodes, let each send its update, and make the model of what arrives."""
        if is_outside(X):
            raise DataError("FederatedNB deals out rows that are in memory: pass an array or a data frame")
        payer = paying(ledger, account, X, self)
        if isinstance(self.schema, str):
            payer.allow_inference(Budget(self.epsilon, self.delta))
        schema = self._schema_for(X, y)
        rng = self._generator()
        plans, settings = self._plans(schema, rng)
        aggregate = self._empty(schema, settings)
        dearest = [(plan.budget.epsilon or 0, plan.budget.delta) for plan in plans]
        grant = Budget(*(max(side) for side in zip(*dearest, strict=True))) if plans[0].budget.private else None
        payer.charge(self._cost(plans), grant or plans[0].budget, plans[0].unit, self, schema=schema)
        draw = None if self._seed is None else rng.bytes
        rules: Any = {"contributions": self.contributions, "unexpected": self.unexpected, "draw": draw}
        rows = sources.open(X, schema, y, **rules).held()
        if self.secure:
            self._fit_secure(rows, plans[0], rng)
        else:
            self._fit_plain(rows, plans, settings, aggregate, rng)
        self.model_.certificate = self.certificate_ = read_under(self.model_.certificate, self.unexpected)
        self._describe(X, schema)
        return self

    def _fit_plain(
        self, rows: HeldRows, plans: list[Plan], settings: Settings, aggregate: Aggregate, rng: np.random.Generator
    ) -> None:
        parts = rows.parts(self._where(rows, rng), len(plans), plans[0].detail)
        digits = len(str(len(plans) - 1))
        for number, plan in enumerate(plans):
            sampler = sampler_for(self._seed, number)
            name = f"node-{number:0{digits}d}"
            aggregate.add(update_of(parts.statistics(number), plan, settings, sampler, node=name, round_id="fit"))
        self.model_ = aggregate.model(float(self.smoothing))
        if isinstance(self.partition, str) and self.partition in DEPENDENT and plans[0].budget.private:
            self.model_.certificate = study_certificate(self.model_.certificate)
        self.nodes_: list[dict[str, Any]] = aggregate.table()

    def _fit_secure(self, rows: HeldRows, plan: Plan, rng: np.random.Generator) -> None:
        """The sum of all nodes' integers and noise shares, drawn at once: its law is that of a real round."""
        nodes = int(self.n_nodes)
        honest = nodes if self.honest is None else int(self.honest)
        if not 1 <= honest <= nodes:
            raise BudgetError("the honest survivors are at least 1 and at most all nodes")
        shared = share_plan(plan, nodes, colluding=nodes - honest)
        statistics = rows.statistics(plan.detail)
        seeded = self._seed is not None
        sampler = SimulationShares(rng) if seeded else ExactShares()
        total = shared.noised(statistics, Fraction(nodes, honest), sampler)
        self.model_ = shared.model(total, nodes, smoothing=float(self.smoothing), simulation=seeded)
        self.nodes_ = []

    # ---- what is asked for

    def _generator(self) -> np.random.Generator:
        seed = self.random_state
        sampler_for(seed)  # refuses what is no seed
        if isinstance(seed, np.random.RandomState):
            seed = seed.randint(2**31)
        self._seed: Any = int(seed) if isinstance(seed, Integral) else seed
        return seed if isinstance(seed, np.random.Generator) else np.random.default_rng(seed)

    def _plans(self, schema: Schema, rng: np.random.Generator) -> tuple[list[Plan], Settings]:
        check_smoothing(self.smoothing)
        nodes = self.n_nodes
        if isinstance(nodes, bool) or not isinstance(nodes, Integral) or int(nodes) < 1:
            raise BudgetError(f"n_nodes must be a whole number of nodes, at least 1, not {nodes!r}")
        if self.secure and (self.weighting != "sum" or self.epsilons is not None):
            raise BudgetError(
                "under secure aggregation nobody sees single updates: weighting must be 'sum' and epsilons None"
            )
        policy = check_unexpected(self.unexpected)
        settings = Settings.of(self.adjacency, self.numeric, self.split, self.contributions)
        budgets = [
            Budget(epsilon, self.delta) for epsilon in node_budgets(self.epsilons, int(nodes), self.epsilon, rng=rng)
        ]
        plans = [node_plan(schema, settings, budget, self.mechanism) for budget in budgets]
        return [replace(plan, unexpected=policy) for plan in plans], settings

    def _empty(self, schema: Schema, settings: Settings) -> Aggregate:
        options = {"weighting": self.weighting, "cutoff": self.cutoff, "robust": self.robust}
        return Aggregate(schema, settings=settings, **options)  # type: ignore[arg-type]

    @staticmethod
    def _cost(plans: list[Plan]) -> Node:
        parts = tuple(dict.fromkeys(plan.node for plan in plans))
        return Parallel("nodes with different people", NODES[plans[0].adjacency], parts)

    def _where(self, rows: HeldRows, rng: np.random.Generator) -> Any:
        nodes = int(self.n_nodes)
        if isinstance(self.partition, str):
            cells = rows.cells.astype(np.int64) if self.partition == "clustered" else None
            return assign(rows.labels, nodes, self.partition, rng=rng, cells=cells)
        where = np.asarray(self.partition)
        whole = where.dtype.kind in "iu" and where.shape == (len(rows) if rows.read is None else rows.read,)
        if not whole or (len(where) and (where.min() < 0 or where.max() >= nodes)):
            raise DataError(f"partition must name a node from 0 to {nodes - 1} for every row")
        if rows.places is not None:
            where = where[rows.places]
        return where.astype(np.int64)
