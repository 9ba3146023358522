"""Share plans: each node adds a share of the noise, and the sum over enough nodes is the central release."""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from numpy.typing import NDArray

from discreet.bayes.estimate import estimate
from discreet.bayes.model import NaiveBayesModel
from discreet.bayes.plan import Item, Plan
from discreet.bayes.release import Release, exact_bundles
from discreet.errors import BudgetError, StatisticsError
from discreet.federated.threshold import most_dropouts
from discreet.mechanisms.shares import ExactShares, ShareSampler, SimulationShares
from discreet.nodes.members import reach
from discreet.privacy.budget import Budget
from discreet.privacy.certificate import Certificate
from discreet.privacy.certifier import certify
from discreet.privacy.ledger import Charge, Sequential, SmoothCharge
from discreet.privacy.skellam import SkellamPart, skellam_factor
from discreet.statistics import Statistics

if TYPE_CHECKING:
    from discreet.federated.secure.round import Round

Integers = NDArray[np.int64]
MOST_ROWS = 1 << 22
_RENYI = "Renyi divergences of Skellam noise at whole orders, added up and converted to (epsilon, delta)"


@dataclass(frozen=True)
class SharedRelease(Release):
    """A release whose noise came in shares; nodes beyond those it was sized for make its variance `surplus` larger."""

    surplus: Fraction = Fraction(1)

    def variance(self, item: Item) -> float | NDArray[np.float64]:
        """The variance of the noise on one integer of an item."""
        return super().variance(item) * float(self.surplus)


@dataclass(frozen=True)
class SharePlan:
    """What every node adds: the sum over `least_honest` nodes has exactly the noise that `plan` names.

    Make it with `share_plan`. All of it is public, and `purpose` binds it into a round of secure aggregation.
    """

    plan: Plan
    law: Literal["laplace", "skellam", "none"]
    nodes: int
    colluding: int
    least_honest: int
    most_rows: int

    @property
    def length(self) -> int:
        """How many integers a node sends."""
        return len(self.plan.schema.classes) * sum(item.cells for item in self.plan.items)

    @property
    def part(self) -> Fraction:
        """One node's share of the noise."""
        return Fraction(1, self.least_honest)

    @property
    def node(self) -> Sequential:
        """The ledger entry of one opened sum."""
        if self.law != "skellam":
            return self.plan.node
        budget = self.plan.budget
        assert budget.epsilon is not None
        variances = tuple((item.what, f"variance {item.charge.spread}") for item in self.plan.items if item.charge)  # type: ignore[union-attr]
        whole = SmoothCharge(
            "Skellam noise shares", "all statistics together", "epsilon", budget.epsilon, budget.delta, variances
        )
        return Sequential("Naive Bayes statistics", (whole,))

    @property
    def purpose(self) -> bytes:
        """A digest of all that the nodes must agree on: schema, budget, noise and the sizes it counts on."""
        items = [
            [item.kind, item.feature, item.cells, str(getattr(item.charge, "spread", None))] for item in self.plan.items
        ]
        terms = [
            "discreet/share-plan/1", self.plan.schema.hash, str(self.plan.adjacency), self.plan.contributions, self.law,
            str(self.plan.budget), items, self.nodes, self.colluding, self.least_honest, self.most_rows,
        ]  # fmt: skip
        return hashlib.sha256(json.dumps(terms, ensure_ascii=True).encode()).digest()

    # ---- at a node

    def vector(self, statistics: Statistics, sampler: ShareSampler | None = None) -> Integers:
        """A node's integers, each with its share of noise, modulo 2^64. One share alone protects nothing: mask it."""
        return self.noised(statistics, self.part, ExactShares() if sampler is None else sampler)

    def noised(self, statistics: Statistics, part: Fraction, sampler: ShareSampler) -> Integers:
        """All integers with `part` of the noise: 1/N′ for one node, S/N′ for the sum over S nodes at once."""
        if statistics.schema != self.plan.schema:
            raise StatisticsError("the statistics are of another schema than the share plan")
        bundles = exact_bundles(statistics, self.plan)
        parts = []
        for item in self.plan.items:
            values = np.stack([bundle[item.key] for bundle in bundles])
            if isinstance(item.charge, Charge):
                values = getattr(sampler, self.law)(values, item.charge.spread, part)
            parts.append(values.ravel())
        return np.concatenate(parts)

    # ---- at the coordinator

    def release(self, total: Integers, survivors: int, *, simulation: bool = False) -> SharedRelease:
        """The release in an opened sum over `survivors` nodes."""
        if total.shape != (self.length,) or total.dtype != np.int64:
            raise StatisticsError(f"the sum must have {self.length} integers of 64 bits")
        if survivors < self.least_honest + self.colluding:
            raise BudgetError("the sum has fewer nodes than its noise was sized for: it must not be used")
        values, at, classes = {}, 0, len(self.plan.schema.classes)
        for item in self.plan.items:
            size = classes * item.cells
            values[item.key] = total[at : at + size].reshape(classes, item.cells)
            at += size
        sampler = SimulationShares if simulation else ExactShares
        surplus = Fraction(survivors, self.least_honest)
        options = {"samplers": (sampler.name,), "simulation": simulation, "ledger": self.node}
        return SharedRelease(self.plan, values, surplus=surplus, **options)  # type: ignore[arg-type]

    def model(
        self, total: Integers, survivors: int, *, smoothing: float = 1.0, simulation: bool = False
    ) -> NaiveBayesModel:
        """The model of an opened sum, with its certificate."""
        released = self.release(total, survivors, simulation=simulation)
        prior, likelihoods = estimate(released, smoothing)
        return NaiveBayesModel(self.plan.schema, prior, likelihoods, self.certificate(simulation=simulation))

    def certificate(self, *, simulation: bool = False) -> Certificate:
        """The central guarantee, against the coordinator together with the colluding nodes, and what it rests on."""
        plan = self.plan
        covers = (
            "the sum that the coordinator opened, the parameters of this model and everything computed from them, "
            f"against the coordinator and up to {self.colluding} node(s) working with it, for rows at the other nodes"
        )
        return certify(
            plan,
            node=self.node,
            sampler=(SimulationShares if simulation else ExactShares).name,
            simulation=simulation,
            accounting=plan.accounting,
            covers=covers,
            where="in the data of all nodes together",
            checked=False,
            assumptions=(
                f"at least {self.least_honest} honest nodes are in the sum; every honest node refuses to open another",
                f"at most {self.colluding} of {self.nodes} nodes work with the coordinator, and nodes hold each "
                f"other's true public keys; each node's private key was made there and has never left it",
                "every node that sees the sum or the model counts among those: it can take its own noise away",
                "X25519, HKDF-SHA256 and ChaCha20 hide what they should: whoever can break them sees single nodes",
            ),
        )

    # ---- rounds

    def open_round(self, registry: Mapping[str, bytes], **options: Any) -> Round:
        """A fresh round of secure aggregation on these terms."""
        from discreet.federated.secure.round import Round

        if len(registry) != self.nodes:
            raise BudgetError(f"the share plan is for {self.nodes} nodes, and {len(registry)} are registered")
        dropouts = self.nodes - self.colluding - self.least_honest
        return Round.open(
            registry, self.length, colluding=self.colluding, dropouts=dropouts, purpose=self.purpose, **options
        )

    def accept(self, invitation: bytes, registry: Mapping[str, bytes]) -> Round:
        """The round of an invitation, if it is on exactly these terms and with these registered keys."""
        from discreet.federated.secure.round import accept

        return accept(
            invitation, registry=registry, length=self.length, least_honest=self.least_honest,
            colluding=self.colluding, purpose=self.purpose,
        )  # fmt: skip


def share_plan(
    plan: Plan, nodes: int, *, colluding: int = 0, dropouts: int = 0, most_rows: int = MOST_ROWS
) -> SharePlan:
    """Shares of the noise of a central plan, sized for the nodes that are left if all who may drop out or collude do.

    Discrete Laplace noise is shared as it is. Discrete Gaussian noise does not add up exactly, so Skellam noise takes
    its place, with the least variance that keeps (ε, δ). No sum can wrap around, but with probability below 2^−60,
    as long as all nodes together hold at most `most_rows` rows.
    """
    least = nodes - colluding - dropouts
    if min(nodes, least) < 1 or min(colluding, dropouts) < 0 or most_rows < 1:
        raise BudgetError("of the nodes, at least one must be neither colluding nor allowed to drop out")
    if dropouts > most_dropouts(nodes, colluding):
        raise BudgetError(
            f"of {nodes} nodes with {colluding} colluding at most {most_dropouts(nodes, colluding)} may drop out: with "
            f"fewer left no sum is opened"
        )
    if plan.mechanism in {"knorm", "residual"}:
        raise BudgetError("noise on tables together cannot be shared: use mechanism='laplace' or 'gaussian'")
    if plan.smooth is not None:
        raise BudgetError("noise that follows the data cannot be shared: use sensitivity='global'")
    if plan.mechanism == "gaussian":
        plan, law = _skellam(plan), "skellam"
    else:
        law = "laplace" if plan.budget.private else "none"
    shared = SharePlan(plan, law, nodes, colluding, least, most_rows)  # type: ignore[arg-type]
    for item in plan.items:
        if most_rows * reach(item) + _tail(item, shared) >= 2**63:
            raise BudgetError(
                f"the {item.what} could leave the range of 64-bit integers: declare fewer rows or a larger step"
            )
    return shared


def _skellam(plan: Plan) -> Plan:
    """The plan with Skellam noise in place of Gaussian noise: all variances in the same ratio, at the same (ε, δ)."""
    budget: Budget = plan.budget
    if budget.epsilon is None or not budget.delta:
        raise BudgetError("Skellam noise has no rho: give the budget as epsilon and delta")
    charges = [item.charge for item in plan.items]
    moves = [item.sensitivity(plan.adjacency, plan.contributions) for item in plan.items]
    parts = tuple(
        SkellamPart(move.l1, move.l2_squared, charge.spread)
        for move, charge in zip(moves, charges, strict=True)
        if isinstance(charge, Charge)
    )
    factor = skellam_factor(parts, budget.epsilon, budget.delta)
    items = tuple(
        replace(
            item,
            charge=replace(charge, mechanism="Skellam", spread=charge.spread * factor, cost=charge.cost / factor),
        )
        for item, charge in zip(plan.items, charges, strict=True)
        if isinstance(charge, Charge)
    )
    return replace(plan, mechanism="skellam", items=items, rho=None, accounting=_RENYI)


def _tail(item: Item, shared: SharePlan) -> float:
    """What the noise on one integer exceeds with probability below 2^−60/length, all nodes surviving."""
    if not isinstance(item.charge, Charge):
        return 0.0
    spread = float(item.charge.spread)
    if shared.law == "laplace":
        copies = math.ceil(shared.nodes / shared.least_honest)
        return copies * (1 + spread * (math.log(2 * copies * shared.length) + 60 * math.log(2)))
    # Skellam noise of variance v passes √(2vL) + L/3 with probability at most 2·exp(−L) (Bernstein).
    level = math.log(2 * shared.length) + 60 * math.log(2)
    return math.sqrt(2 * spread * shared.nodes / shared.least_honest * level) + level / 3
