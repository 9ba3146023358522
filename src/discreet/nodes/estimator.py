"""NodesNB: what estimators share that deal rows out to nodes in this process, to try them before deploying them."""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass, replace
from numbers import Integral
from typing import Any

import numpy as np

from discreet.bayes.export import NaiveBayesEstimator
from discreet.bayes.model import NaiveBayesModel
from discreet.bayes.plan import Plan
from discreet.errors import DataError
from discreet.mechanisms.noise import Sampler, sampler_for
from discreet.nodes.certificate import NODES, study_certificate
from discreet.nodes.partition import DEPENDENT, assign, node_budgets
from discreet.nodes.settings import Settings, node_plan
from discreet.nodes.site import update_of
from discreet.nodes.update import Update
from discreet.privacy.budget import Budget
from discreet.privacy.certifier import read_under
from discreet.privacy.ledger import Parallel
from discreet.privacy.plan import Protected, check_smoothing, checked_count
from discreet.privacy.unexpected import check_unexpected
from discreet.schema import Schema
from discreet.sources import HeldRows, Source, is_aligned, is_lazy, is_outside


@dataclass(frozen=True)
class NodesPlan(Protected):
    """The plans of all nodes, and what they cost together: a person's rows are at one node, so the dearest counts."""

    plans: tuple[Plan, ...]
    settings: Settings

    @property
    def node(self) -> Parallel:
        """The ledger entry."""
        parts = tuple(dict.fromkeys(plan.node for plan in self.plans))
        return Parallel("nodes with different people", NODES[self.adjacency], parts)


class NodesNB(NaiveBayesEstimator):
    """Naive Bayes of nodes that each hold a part of the rows; subclasses say how their updates come together."""

    secure = False
    stream: int | None = None
    _spends_delta = True
    nodes_: list[dict[str, Any]]

    @abstractmethod
    def _check(self, schema: Schema, settings: Settings) -> None:
        """Raise if what is the estimator's own makes no sense, before anything is paid for."""

    @abstractmethod
    def _combined(self, rows: HeldRows, plan: NodesPlan) -> NaiveBayesModel:
        """The model of what becomes of the nodes' updates; sets `nodes_`."""

    def _schema_for(self, X: Any, y: Any, classes: Any = None) -> Schema:
        if is_outside(X) and not is_lazy(X):
            raise DataError(f"{type(self).__name__} deals out rows that are in memory: pass an array or a data frame")
        if not isinstance(self.partition, str) and is_outside(X) and not is_aligned(X):
            raise DataError(
                "a partition names a node for every row in order, and the rows of this frame have none: pass a data "
                "frame in memory, or name a rule of dealing"
            )
        return super()._schema_for(X, y, classes)

    def _plan(self, schema: Schema, *bought: Any) -> NodesPlan:
        check_smoothing(self.smoothing)
        nodes = checked_count(self.n_nodes, "n_nodes")
        policy = check_unexpected(self.unexpected)
        settings = Settings.of(self.adjacency, self.numeric, self.split, self.contributions)
        self._rng = self._generator()
        spent = node_budgets(self.epsilons, nodes, self.epsilon, rng=self._rng)
        made = [
            node_plan(schema, settings, Budget(epsilon, self.delta), self.mechanism, self.stream) for epsilon in spent
        ]
        plans = tuple(replace(plan, unexpected=policy) for plan in made)
        self._check(schema, settings)
        dearest = max((plan.budget for plan in plans), key=lambda own: math.inf if own.epsilon is None else own.epsilon)
        return NodesPlan(
            schema, dearest, settings.adjacency, settings.contributions, plans, settings, unexpected=policy
        )

    def _release(self, source: Source, plan: NodesPlan, sampler: Sampler, *bought: Any) -> NaiveBayesModel:
        return self._certified(self._combined(source.held(), plan), plan)

    def _certified(self, model: NaiveBayesModel, plan: NodesPlan) -> NaiveBayesModel:
        """The model with what its certificate says of how rows were dealt out and read."""
        del self._rng  # which row went where is nobody's business later
        if not self.secure and self._dependent and plan.budget.private:
            model.certificate = study_certificate(model.certificate)
        model.certificate = read_under(model.certificate, plan.unexpected)
        return model

    def _updates(self, rows: HeldRows, plan: NodesPlan) -> Iterator[Update]:
        """Each node's noised update of the rows that were dealt to it."""
        plans = plan.plans
        parts = rows.parts(self._where(rows), len(plans), plans[0].detail)
        digits = len(str(len(plans) - 1))
        for number, own in enumerate(plans):
            name, sampler = f"node-{number:0{digits}d}", sampler_for(self._seed, number)
            yield update_of(parts.statistics(number), own, plan.settings, sampler, node=name, round_id="fit")

    def _generator(self) -> np.random.Generator:
        seed = self.random_state
        sampler_for(seed)  # refuses what is no seed
        if isinstance(seed, np.random.RandomState):
            seed = seed.randint(2**31)
        self._seed: Any = int(seed) if isinstance(seed, Integral) else seed
        return seed if isinstance(seed, np.random.Generator) else np.random.default_rng(seed)

    def _sampler(self) -> Sampler:
        return sampler_for(None if self._seed is None else self._rng)

    @property
    def _dependent(self) -> bool:
        """Whether which node holds a row depends on other people's rows."""
        return isinstance(self.partition, str) and self.partition in DEPENDENT

    def _where(self, rows: HeldRows) -> Any:
        nodes = int(self.n_nodes)
        if isinstance(self.partition, str):
            cells = rows.cells.astype(np.int64) if self.partition == "clustered" else None
            return assign(rows.labels, nodes, self.partition, rng=self._rng, cells=cells)
        where = np.asarray(self.partition)
        whole = where.dtype.kind in "iu" and where.shape == (len(rows) if rows.read is None else rows.read,)
        if not whole or (len(where) and (where.min() < 0 or where.max() >= nodes)):
            raise DataError(f"partition must name a node from 0 to {nodes - 1} for every row")
        if rows.places is not None:
            where = where[rows.places]
        return where.astype(np.int64)
