"""What an audit needs of a federation: the opened sum of noise shares, and sums that must not be opened."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property, partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.audit import AuditCase, Pair, case_at_one
from discreet.bayes.plan import make_plan
from discreet.federated.shares import SharePlan, share_plan
from discreet.mechanisms.shares import ExactShares, ShareSampler, SimulationShares
from discreet.privacy.budget import Budget
from discreet.privacy.ledger import Charge
from discreet.schema import Categorical, Schema
from discreet.sources import collect

DELTA = 1e-5
SCHEMA = Schema(features=[Categorical("c", ["p", "q"])], target="y", classes=[0, 1])
FEW = (("p", 0), ("q", 1))
NODES, COLLUDING, DROPOUTS = 6, 1, 1


@dataclass(frozen=True)
class ShareSum:
    """What the coordinator sees together with colluding nodes: the sum of the shares of `present` honest ones.

    The audited rows are at one node, the others hold none. With `masked` every release goes through a round of secure
    aggregation between the honest nodes.
    """

    epsilon: float
    delta: float = 0.0
    present: int = NODES - COLLUDING - DROPOUTS
    masked: bool = False
    simulated: bool = True

    @cached_property
    def shared(self) -> SharePlan:
        """The share plan at the claimed budget."""
        plan = make_plan(SCHEMA, Budget(self.epsilon, self.delta))
        return share_plan(plan, NODES, colluding=COLLUDING, dropouts=DROPOUTS)

    def _share(self, values: NDArray[np.int64], sampler: ShareSampler) -> NDArray[np.int64]:
        parts, at = [], 0
        for item in self.shared.plan.items:
            block = values[:, at : at + 2 * item.cells]
            if isinstance(item.charge, Charge):
                block = getattr(sampler, self.shared.law)(block, item.charge.spread, self.shared.part)
            parts.append(block)
            at += 2 * item.cells
        return np.concatenate(parts, axis=1)

    def sample(self, data: Sequence[tuple[str, int]], size: int, *, rng: np.random.Generator) -> NDArray[Any]:
        """Opened sums, one per row."""
        X = np.array([[value] for value, _ in data], dtype=object)
        statistics = collect(X, SCHEMA, np.array([label for _, label in data], dtype=object))
        exact = np.tile(self.shared.noised(statistics, Fraction(0), ExactShares()), (size, 1))
        sampler: ShareSampler = SimulationShares(rng) if self.simulated else ExactShares()
        held = [exact] + [np.zeros_like(exact)] * (self.present - 1)
        shares = [self._share(values, sampler) for values in held]
        return _aggregated(shares) if self.masked else np.asarray(sum(shares))


def _aggregated(shares: Sequence[NDArray[np.int64]]) -> NDArray[np.int64]:
    """The sum by secure aggregation: all releases of the sample as one long vector."""
    from discreet.federated.secure.local import aggregate
    from discreet.nodes.signing import KeySigner

    vectors = {f"node {i}": share.ravel() for i, share in enumerate(shares)}
    draws = {name: (lambda vector=vector: vector) for name, vector in vectors.items()}
    signers = {name: KeySigner.generate() for name in vectors}
    return aggregate(signers, draws, shares[0].size).total.reshape(shares[0].shape)


def audit_cases() -> list[AuditCase]:
    """The sum of enough shares, drawn exactly and simulated; one share alone and too few shares as controls."""

    pairs = [Pair(FEW, (*FEW, ("q", 0)), "one more row at one of the nodes")]

    def case(name: str, note: str, *, control: bool = False, samples: int | None = None, **settings: Any) -> AuditCase:
        build, delta = partial(ShareSum, **settings), settings.get("delta", 0.0)
        return case_at_one(name, build, pairs, note, samples=samples, delta=delta, control=control)

    return [
        case("share-sum-laplace", "the least honest survivors", masked=True, simulated=False, samples=10_000),
        case("share-sum-laplace-simulated", "the least honest survivors, by the simulation twin"),
        case("share-sum-laplace-surplus", "one survivor more than the noise needs", present=NODES - COLLUDING),
        case("share-sum-skellam", "the least honest survivors", delta=DELTA),
        case("share-alone", "one share without a mask", control=True, present=1),
        case("share-sum-too-few", "half of the nodes that the noise is sized for", control=True, present=2),
    ]
