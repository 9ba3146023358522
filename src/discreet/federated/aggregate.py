"""The aggregate: a coordinator's state, updates in and a model out; it has no clock, no socket and no dice."""

from __future__ import annotations

import math
import os
from collections import Counter
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.bayes.estimate import estimate
from discreet.bayes.likelihoods import Likelihood
from discreet.bayes.model import NaiveBayesModel
from discreet.bayes.plan import Plan
from discreet.bayes.release import Release
from discreet.errors import BudgetError, StatisticsError, UpdateError
from discreet.federated.certificate import aggregate_certificate
from discreet.federated.plausible import check
from discreet.federated.refusal import Refusal, demand, refuse
from discreet.federated.update import Key, Settings, Update, node_plan
from discreet.privacy.budget import Budget
from discreet.privacy.certificate import Certificate, record
from discreet.privacy.unexpected import TOTAL
from discreet.schema import Schema
from discreet.statistics import checked_add, checked_subtract

Integers = NDArray[np.int64]
Floats = NDArray[np.float64]
WEIGHTINGS = ("sum", "inverse-variance", "cut-off", "trimmed", "median-of-means")


@dataclass(frozen=True)
class Member:
    """What is remembered of a node whether or not its integers are kept; all of it is public."""

    node: str
    round_id: str
    digest: str
    budget: Budget
    mechanism: str
    rows: int | None
    simulation: bool
    sampler: str
    noise_level: float
    total: bool = False  # whether the node's certificate covers every table that it might have had


class Aggregate:
    """The sum of the nodes' updates and the model that follows from it.

    Parameters
    ----------
    schema : Schema
        What all nodes have declared.
    settings : Settings, optional
        What all nodes must have in common; by default that of the first update.
    keep : bool, default True
        Keep every update, so that nodes can be removed and weighted anew; without, only running sums are held.
    weighting : {"sum", "inverse-variance", "cut-off", "trimmed", "median-of-means"}
        How nodes count; see docs/federated.md. All but "sum" and "cut-off" need the kept updates.
    cutoff : float, optional
        The noise level above which "cut-off" leaves a node out; `table()` lists the levels.
    overlap : bool, default False
        Whether a person may have rows at several nodes: costs then add up instead of the dearest being counted.
    most_rows : int, optional
        A public bound on the rows of one node; an update that speaks of more is refused.
    robust : float, default 0.1
        The share of lying nodes that "trimmed" and "median-of-means" stand.
    """

    def __init__(
        self,
        schema: Schema,
        *,
        settings: Settings | None = None,
        keep: bool = True,
        weighting: str = "sum",
        cutoff: float | None = None,
        overlap: bool = False,
        most_rows: int | None = None,
        robust: float = 0.1,
    ) -> None:
        if weighting not in WEIGHTINGS:
            raise BudgetError(f"weighting must be one of {', '.join(WEIGHTINGS)}, not {weighting!r}")
        if not keep and weighting not in {"sum", "cut-off"}:
            raise BudgetError(f"weighting {weighting!r} looks at every update again: it needs keep=True")
        if (weighting == "cut-off") != (cutoff is not None):
            raise BudgetError("weighting 'cut-off' goes with a cutoff, the noise level above which a node is left out")
        if not 0 < robust < 0.5:
            raise BudgetError("robust is the share of lying nodes to stand, between 0 and 0.5")
        self.schema = schema
        self.settings = settings
        self.keep = keep
        self.weighting = weighting
        self.cutoff = cutoff
        self.overlap = overlap
        self.most_rows = most_rows
        self.robust = robust
        self.members: dict[str, Member] = {}
        self.updates: dict[str, Update] = {}
        self.sums: dict[Key, Integers] = {}
        self.counted: Counter[tuple[Budget, str]] = Counter()

    def __len__(self) -> int:
        return len(self.members)

    # ---- joining and leaving

    def add(self, update: Update) -> None:
        """Take in an update, or raise `UpdateError` with a reason and change nothing."""
        self.examine(update)
        member = self._member(update)
        if self.counts(member):
            self._accumulate(update, 1)
        self.settings = update.settings
        self.members[update.node] = member
        if self.keep:
            self.updates[update.node] = update

    def remove(self, node: str) -> None:
        """Take a node's update out again, as if it had never come."""
        if node not in self.members:
            refuse(Refusal.UNKNOWN_NODE, f"there is no update of a node {node!r} to remove")
        if not self.keep:
            refuse(Refusal.NOT_KEPT, "updates are not kept, so that none can be taken out again: start with keep=True")
        if self.counts(self.members[node]):
            self._accumulate(self.updates[node], -1)
        del self.members[node], self.updates[node]

    def examine(self, update: Any) -> None:
        """Raise `UpdateError` if the update would be refused now."""
        demand(isinstance(update, Update), "this is no update of a node")
        if update.schema_hash != self.schema.hash:
            refuse(Refusal.SCHEMA, "the update is of another schema than this federation's")
        if any(member.digest == update.digest for member in self.members.values()):
            refuse(Refusal.DUPLICATE_UPDATE, "this very update has been counted already")
        if update.node in self.members:
            refuse(Refusal.DUPLICATE_NODE, f"the node {update.node!r} has an update already: remove that one first")
        if self.settings is not None and update.settings != self.settings:
            refuse(
                Refusal.SETTINGS, "the update has other settings than this federation's: see its adjacency and split"
            )
        known = next(iter(self.members.values()), None)
        if known is not None and _kind(known.budget) != _kind(update.budget):
            refuse(Refusal.SETTINGS, "nodes without noise, with epsilon and with rho cannot be mixed in one model")
        plan = self._plan_of(update)
        for item in plan.items:
            shape = (len(self.schema.classes), item.cells)
            demand(update.values[item.key].shape == shape, f"the {item.what} have the wrong shape")
        self._check_certificate(update, plan)
        check(update.values, update.rows, plan, self.most_rows)

    def _plan_of(self, update: Update) -> Plan:
        try:
            plan = update.plan(self.schema)
        except BudgetError as error:
            refuse(Refusal.SETTINGS, f"the update's settings make no plan: {error}")
        demand({item.key for item in plan.items} == set(update.values), "the update lacks a statistic or has one more")
        return plan

    def _check_certificate(self, update: Update, plan: Plan) -> None:
        held = update.certificate
        claimed = (held.schema_hash, held.adjacency, held.contributions, held.epsilon, held.delta, held.private)
        budget = plan.budget
        epsilon = None if budget.epsilon is None else str(budget.epsilon)
        facts = (
            self.schema.hash, plan.adjacency, plan.contributions, epsilon, str(budget.delta), budget.private
        )  # fmt: skip
        demand(claimed == facts and held.ledger == record(plan.node), "the certificate does not belong to the update")

    def _member(self, update: Update) -> Member:
        from discreet.federated.weights import noise_level

        return Member(
            update.node,
            update.round_id,
            update.digest,
            update.budget,
            update.mechanism,
            update.rows,
            update.certificate.simulation,
            update.certificate.sampler,
            noise_level(update.plan(self.schema), update.rows),
            update.certificate.tables == TOTAL,
        )

    def counts(self, member: Member) -> bool:
        """Whether a node's update enters the model."""
        return self.cutoff is None or member.noise_level <= self.cutoff

    def _accumulate(self, update: Update, sign: int) -> None:
        combine = checked_add if sign > 0 else checked_subtract
        try:
            fresh = {key: combine(self.sums.get(key, np.zeros_like(v)), v) for key, v in update.values.items()}
        except StatisticsError:
            refuse(Refusal.IMPLAUSIBLE, "the update's integers are larger than any sum may be")
        self.sums = fresh
        self.counted[update.budget, update.mechanism] += sign

    # ---- what follows

    def release(self) -> Release:
        """The plain sum as a release: its noise is that of all nodes together."""
        plans = self._plans()
        (plan, _), *_ = plans
        noise = {
            item.key: math.fsum(count * other.items[i].variance for other, count in plans)
            for i, item in enumerate(plan.items)
        }
        counted = [member for member in self.members.values() if self.counts(member)]
        return Release(
            plan,
            self.sums,
            samplers=tuple(dict.fromkeys(member.sampler for member in counted)),
            simulation=any(member.simulation for member in counted),
            noise=noise,
        )

    def _plans(self) -> list[tuple[Plan, int]]:
        if not +self.counted:
            reason = "every node was left out by the cutoff" if self.members else "no node has sent an update yet"
            raise BudgetError(f"there is nothing to make a model of: {reason}")
        assert self.settings is not None
        return [
            (node_plan(self.schema, self.settings, budget, mechanism), count)
            for (budget, mechanism), count in (+self.counted).items()
        ]

    def certificate(self) -> Certificate:
        """What the whole guarantees: the dearest node counts, or the sum if a person may be at several."""
        assert self.settings is not None or not self.members
        self._plans()
        return aggregate_certificate(self.schema, self.settings, list(self.members.values()), self.overlap)

    def model(self, smoothing: float = 1.0) -> NaiveBayesModel:
        """The model of all nodes that count, with the certificate of the whole."""
        certificate = self.certificate()
        prior, likelihoods = self._estimate(smoothing)
        return NaiveBayesModel(self.schema, prior, likelihoods, certificate)

    def _estimate(self, smoothing: float) -> tuple[Floats, list[Likelihood]]:
        if self.weighting in {"sum", "cut-off"}:
            return estimate(self.release(), smoothing)
        from discreet.federated.robust import robust_estimate
        from discreet.federated.stack import Stack
        from discreet.federated.weights import weighted_estimate

        stack = Stack.of(self.kept())
        if self.weighting == "inverse-variance":
            return weighted_estimate(stack, smoothing)[:2]
        return robust_estimate(stack, self.weighting, self.robust, smoothing)

    def kept(self) -> list[Release]:
        """The kept updates as releases, in the order of the nodes' names so that the order of joining is forgotten."""
        return [self.updates[node].release(self.schema) for node in sorted(self.updates)]

    def weights(self) -> dict[str, float]:
        """Each node's share of the model: of the rows as reported, after weighting; they add up to one."""
        from discreet.federated.weights import node_shares

        return node_shares(self)

    def table(self) -> list[dict[str, Any]]:
        """One record per node: its name, ε, δ, rows as reported, noise level and weight."""
        shares = self.weights()
        return [
            {
                "node": member.node,
                "epsilon": None if member.budget.epsilon is None else float(member.budget.epsilon),
                "delta": float(member.budget.delta),
                "rho": None if member.budget.rho is None else float(member.budget.rho),
                "rows": member.rows,
                "noise_level": member.noise_level,
                "weight": shares[member.node],
            }
            for member in self.members.values()
        ]

    # ---- on disk

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the state as JSON, whole or not at all."""
        from discreet.federated.state import save

        save(self, path)

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Aggregate:
        """Read what `save` wrote; updates are examined again."""
        from discreet.federated.state import load

        return load(path)


def _kind(budget: Budget) -> str:
    return {"none": "none", "zcdp": "zcdp"}.get(budget.kind, "epsilon")


__all__ = ["Aggregate", "Member", "UpdateError"]
