"""The selection itself: exact statistics in, the names of k features out, by a mechanism that was paid for."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from discreet.errors import DataError, StatisticsError
from discreet.mechanisms.joint import draw_joint
from discreet.mechanisms.noise import Sampler
from discreet.mechanisms.odds import Odds
from discreet.mechanisms.subsets import check_scores, draw_above, draw_flipped, draw_mask, draw_peeled, draw_ranked
from discreet.privacy.budget import Adjacency
from discreet.privacy.certificate import Certificate
from discreet.privacy.certifier import certify
from discreet.privacy.unexpected import REFUSE
from discreet.schema import Schema
from discreet.selection.plan import SelectionPlan
from discreet.selection.scores import class_weights
from discreet.statistics import BLOCKS, Statistics

Integers = NDArray[np.int64]
DRAWS = {"permute-and-flip": draw_flipped, "gumbel": draw_peeled, "mask": draw_mask, "joint": draw_joint}
NOISED = {"sparse-vector", "noisy-scores", "noisy-tables"}  # these add noise besides tossing coins
WHAT = "the choice of features"
COVERS = "which features were selected, and everything computed from that choice"


@dataclass(frozen=True)
class Selection:
    """The chosen features; nothing in here is exact or private."""

    plan: SelectionPlan
    chosen: tuple[int, ...]
    sampler: str
    simulation: bool
    read: bool = True  # whether the rows were read for it, or counted elsewhere

    @property
    def names(self) -> tuple[str, ...]:
        """The chosen features in the schema's order."""
        return tuple(self.plan.schema.names[i] for i in sorted(self.chosen))

    @cached_property
    def schema(self) -> Schema:
        """The schema of the chosen features, which says at what cost or, if none was paid, that it was read off."""
        reduced = reduced_schema(self.plan.schema, self.names)
        if not self.plan.budget.private:
            return reduced.having(inferred=True)
        stated = (*reduced.provenance, self.certificate.provenance(WHAT))
        return reduced.having(provenance=stated, inferred=reduced.inferred or self.simulation)

    @cached_property
    def certificate(self) -> Certificate:
        """What the choice guarantees."""
        return certify(
            self.plan, sampler=self.sampler, simulation=self.simulation, covers=COVERS, kind="this choice is",
            read=self.read, named=True, rho=self.plan.rho, accounting=self.plan.accounting,
        )  # fmt: skip


def check_counted(statistics: Statistics, schema: Schema) -> None:
    """Refuse statistics of another schema, before anything is charged for them."""
    if statistics.schema != schema:
        raise StatisticsError("the statistics are of another schema than the selection")


def reduced_schema(schema: Schema, names: tuple[str, ...]) -> Schema:
    """The same schema with some of its features."""
    kept = [feature for feature in schema.features if feature.name in set(names)]
    return schema.having(kept)


def reduced_statistics(statistics: Statistics, schema: Schema) -> Statistics:
    """The statistics of some of the features."""
    blocks = {
        kind: {name: values for name, values in getattr(statistics, kind).items() if name in set(schema.names)}
        for kind in BLOCKS
    }
    return Statistics(schema, statistics.counts, **blocks)


def select(statistics: Statistics, plan: SelectionPlan, *, sampler: Sampler, odds: Odds) -> Selection:
    """Choose features by the plan. The caller has charged the plan to its ledger before reading any rows."""
    if statistics.schema != plan.schema:
        raise StatisticsError("the statistics are of another schema than the plan")
    if plan.schema.numeric and "bins" not in statistics.detail:
        raise StatisticsError("selection needs the binned tables of numbers: collect statistics with detail 'bins'")
    if plan.score.rows is not None and plan.adjacency is Adjacency.REPLACE and plan.unexpected == REFUSE:
        rows = int(statistics.counts.sum())  # public under these neighbours
        if rows > plan.score.rows:
            raise DataError(f"max_rows is {plan.score.rows}, but there are {rows} rows")
    chosen = _choose(statistics, plan, sampler, odds)
    noised = plan.selector in NOISED or plan.score.name == "balanced"
    drew: tuple[Sampler | Odds, ...] = (sampler, odds) if noised else (odds,)
    names = " and ".join(one.name for one in drew)
    return Selection(plan, tuple(chosen.tolist()), names, any(one.simulation for one in drew))


def _choose(statistics: Statistics, plan: SelectionPlan, sampler: Sampler, odds: Odds) -> Integers:
    weights = None
    if plan.score.name == "balanced":
        counts = statistics.counts
        if plan.budget.epsilon is not None:
            moved = plan.moves
            counts = sampler.laplace(counts, Fraction(moved) / (plan.budget.epsilon * plan.counted))
        weights = class_weights(counts)
    names, k = plan.schema.names, plan.k
    if plan.budget.epsilon is None:
        return np.argsort(-plan.score.values(statistics, weights), kind="stable")[:k]
    if plan.selector == "noisy-tables":
        scale = Fraction(plan.node.parts[-1].spread)  # type: ignore[union-attr]
        noisy = [sampler.laplace(statistics.tables[name], scale) for name in names]
        return draw_ranked(plan.score.of_tables(noisy, weights), k, odds=odds)
    scores = plan.score.values(statistics, weights)
    check_scores(scores, k)
    if plan.selector == "noisy-scores":
        scale = Fraction(plan.node.parts[-1].spread)  # type: ignore[union-attr]
        return draw_ranked(sampler.laplace(scores, scale), k, odds=odds)
    if plan.selector == "sparse-vector":
        assert plan.threshold is not None
        fence, query = plan.scales
        return draw_above(scores, k, plan.threshold, fence=fence, query=query, sampler=sampler, odds=odds)
    return DRAWS[plan.selector](scores, k, plan.rate, odds=odds)
