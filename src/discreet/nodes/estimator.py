"""NodesNB: what estimators share that deal rows out to nodes in this process, to try them before deploying them."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator
from dataclasses import replace
from numbers import Integral
from typing import Any, Self

import numpy as np

from discreet import sources
from discreet.bayes.base import NaiveBayesEstimator
from discreet.bayes.plan import Plan
from discreet.errors import BudgetError, DataError
from discreet.estimators.settings import check_smoothing
from discreet.mechanisms.noise import sampler_for
from discreet.nodes.certificate import NODES, study_certificate
from discreet.nodes.partition import DEPENDENT, assign, node_budgets
from discreet.nodes.settings import Settings, node_plan
from discreet.nodes.site import update_of
from discreet.nodes.update import Update
from discreet.privacy.budget import Budget
from discreet.privacy.certifier import read_under
from discreet.privacy.ledger import Node, Parallel
from discreet.privacy.payer import Payer, paying
from discreet.privacy.unexpected import check_unexpected
from discreet.schema import Schema
from discreet.sources import HeldRows, Progress, is_lazy, is_outside


class NodesNB(NaiveBayesEstimator):
    """Naive Bayes of nodes that each hold a part of the rows; subclasses say how their updates come together."""

    least = 1  # nodes
    secure = False
    nodes_: list[dict[str, Any]]

    def __init__(
        self, epsilon: float, delta: float, schema: Schema | str | None, n_nodes: int, partition: Any, epsilons: Any,
        adjacency: str, mechanism: str, numeric: str, split: Any, smoothing: float, contributions: int,
        random_state: Any, unexpected: str,
    ) -> None:  # fmt: skip
        self.epsilon, self.delta, self.schema = epsilon, delta, schema
        self.n_nodes, self.partition, self.epsilons = n_nodes, partition, epsilons
        self.adjacency, self.mechanism, self.numeric, self.split = adjacency, mechanism, numeric, split
        self.smoothing, self.contributions = smoothing, contributions
        self.random_state, self.unexpected = random_state, unexpected

    def fit(
        self,
        X: Any,
        y: Any = None,
        *,
        ledger: Payer | None = None,
        account: Any = None,
        progress: Progress | None = None,
    ) -> Self:
        """Deal the rows out to nodes, let each make its update, and make the model of what becomes of them."""
        if is_outside(X) and not is_lazy(X):
            raise DataError(f"{type(self).__name__} deals out rows that are in memory: pass an array or a data frame")
        payer = paying(ledger, account, X, self)
        if isinstance(self.schema, str):
            payer.allow_inference(Budget(self.epsilon, self.delta))
        schema = self._schema_for(X, y)
        rng = self._generator()
        plans, settings = self._plans(schema, rng)
        self._check(schema, settings)
        dearest = [(plan.budget.epsilon or 0, plan.budget.delta) for plan in plans]
        grant = Budget(*(max(side) for side in zip(*dearest, strict=True))) if plans[0].budget.private else None
        payer.charge(self._cost(plans), grant or plans[0].budget, plans[0].unit, self, schema=schema)
        draw = None if self._seed is None else rng.bytes
        terms: Any = {"contributions": self.contributions, "unexpected": self.unexpected, "draw": draw}
        rows = sources.open(X, schema, y, **terms, progress=progress).held()
        self._fit_nodes(rows, plans, settings, rng)
        made = self.model_.certificate
        if not self.secure and self._dependent and plans[0].budget.private:
            made = study_certificate(made)
        self.model_.certificate = self.certificate_ = read_under(made, self.unexpected)
        self._describe(X, schema)
        return self

    @abstractmethod
    def _check(self, schema: Schema, settings: Settings) -> None:
        """Raise if what is the estimator's own makes no sense, before anything is paid for."""

    @abstractmethod
    def _fit_nodes(self, rows: HeldRows, plans: list[Plan], settings: Settings, rng: np.random.Generator) -> None:
        """Set `model_` and `nodes_` out of the rows; all of it is paid for."""

    def _updates(
        self, rows: HeldRows, plans: list[Plan], settings: Settings, rng: np.random.Generator
    ) -> Iterator[Update]:
        """Each node's noised update of the rows that were dealt to it."""
        parts = rows.parts(self._where(rows, rng), len(plans), plans[0].detail)
        digits = len(str(len(plans) - 1))
        for number, plan in enumerate(plans):
            name, sampler = f"node-{number:0{digits}d}", sampler_for(self._seed, number)
            yield update_of(parts.statistics(number), plan, settings, sampler, node=name, round_id="fit")

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
            raise BudgetError(f"n_nodes must be a whole number of nodes, at least {self.least}, not {nodes!r}")
        policy = check_unexpected(self.unexpected)
        settings = Settings.of(self.adjacency, self.numeric, self.split, self.contributions)
        spent = node_budgets(self.epsilons, int(nodes), self.epsilon, rng=rng)
        plans = [node_plan(schema, settings, Budget(epsilon, self.delta), self.mechanism) for epsilon in spent]
        return [replace(plan, unexpected=policy) for plan in plans], settings

    @property
    def _dependent(self) -> bool:
        """Whether which node holds a row depends on other people's rows."""
        return isinstance(self.partition, str) and self.partition in DEPENDENT

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
