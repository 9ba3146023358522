"""The pooled table: where in their ranges all numbers lie together, for tables of many skewed numbers and few rows."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from discreet.bayes.bins import free_numbers, recut
from discreet.estimators.counts import ClassCounts, CountPlan
from discreet.mechanisms.noise import Sampler, laplace_variance
from discreet.privacy.budget import Adjacency, Budget
from discreet.privacy.certificate import Certificate
from discreet.privacy.certifier import certify
from discreet.privacy.ledger import Charge
from discreet.privacy.unexpected import REFUSE
from discreet.resolution.fine import stating
from discreet.resolution.grids import COARSE, PARTS, relative_cells, with_edges
from discreet.resolution.reading import Floats, quantiles, shares
from discreet.schema import Numeric, Schema
from discreet.sources import BINS, Source

Integers = NDArray[np.int64]
SHARE = Fraction(1, 25)  # of the budget
NUMBERS = 6  # at least, and half of the features, for one shape to speak for all
LEAST = 100.0  # rows times ε, below which the noise of the table would speak
DENSE = 20_000.0  # rows times ε, from which on the table has many cells
LOW, SKEWED = 1 / 16, 0.6  # a lowest part of the ranges, and the share of all values in it that makes numbers skewed
WHAT = "the pooled table that bin edges are read off"
COVERS = "where in their ranges all numbers together lie, and everything computed from it"


@dataclass(frozen=True)
class PooledPlan(CountPlan):
    """The purchase of one table of relative positions, all numbers counted together."""

    parts: tuple[float, ...] = PARTS
    what: ClassVar[str] = "relative positions of numbers"


@dataclass(frozen=True)
class Pooled:
    """A schema whose numbers have edges by their common shape, or that is as it was, and what the look cost."""

    schema: Schema
    skewed: bool
    certificate: Certificate


def worth_pooled(schema: Schema, rows: float, epsilon: float) -> bool:
    """Whether a pooled table may pay, by what is public: many numbers, half of all features, and rows times ε."""
    numbers = len(free_numbers(schema))
    return numbers >= NUMBERS and 2 * numbers >= len(schema.features) and rows * epsilon >= LEAST


def pooled_plan(
    schema: Schema, budget: Budget, *, adjacency: Adjacency = Adjacency.ADD_REMOVE, contributions: int = 1,
    unexpected: str = REFUSE, parts: tuple[float, ...] = PARTS,
) -> PooledPlan:  # fmt: skip
    """A row is in at most one cell for each number, and all of these cells are of the same table."""
    plan = PooledPlan(schema, budget, adjacency, contributions, None, unexpected=unexpected, parts=parts)
    if budget.epsilon is None:
        return plan
    moved = Fraction(plan.moves * len(free_numbers(schema)))
    words = f"values of {len(free_numbers(schema))} numbers by relative position"
    charge = Charge("discrete Laplace", words, "L1", str(moved), moved / budget.epsilon, "epsilon", budget.epsilon)
    return replace(plan, charge=charge)


def parts_for(rows: float, epsilon: float) -> tuple[float, ...]:
    """Where the cells of the table begin, by what is public: few cells where there is little to tell them apart by."""
    return PARTS if rows * epsilon >= DENSE else COARSE


def relatively(schema: Schema, parts: tuple[float, ...] = PARTS) -> Schema:
    """The schema with the cells of the pooled table, for a source."""
    return recut(schema, lambda one: relative_cells(one, parts)[0])


def pooled_counts(source: Source, schema: Schema, parts: tuple[float, ...] = PARTS) -> Integers:
    """Values of all numbers by relative position; the source is of the schema that `relatively` makes.

    Missing values are in no cell.
    """
    tables = source.statistics(BINS).tables
    result = np.zeros(len(parts) + 1, np.int64)
    for one in free_numbers(schema):
        places = relative_cells(one, parts)[1]
        np.add.at(result, list(places), tables[one.name].sum(axis=0)[: len(places)])
    return result


def buy_pooled(
    source: Source, plan: PooledPlan, schema: Schema, counts: ClassCounts, bins: int, sampler: Sampler
) -> Pooled:
    """Release the table and read it. The caller has charged the plan before reading any rows."""
    exact = pooled_counts(source, schema, plan.parts)
    noisy = exact if plan.charge is None else sampler.laplace(exact, plan.charge.spread)
    certificate = certify(
        plan, sampler=sampler.name, simulation=sampler.simulation, covers=COVERS, kind="this table is", named=True
    )
    scale = 0.0 if plan.charge is None else float(plan.charge.spread)
    edges = read_pooled(noisy, scale, len(free_numbers(schema)), counts.rows, bins, plan.parts)
    if edges is None:
        return Pooled(schema, False, certificate)
    made = recut(schema, lambda one: _edged(one, edges))
    return Pooled(stating(made, schema, certificate, WHAT), True, certificate)


def read_pooled(
    noisy: Integers, scale: float, numbers: int, rows: float, bins: int, parts: tuple[float, ...] = PARTS
) -> list[float] | None:
    """Relative edges of `bins` bins with about as many values each, if most values lie low; from noisy counts alone.

    They do if the noisy counts still say so with one deviation of their noise taken off.
    """
    variance = laplace_variance(scale) if scale else 0.0
    low = parts.index(LOW) + 1
    surely = (float(noisy[:low].sum()) - math.sqrt(low * variance)) / numbers
    part: Floats = shares(noisy / numbers, variance / numbers**2, rows)
    if min(surely / max(rows, 1.0), part[:low].sum()) < SKEWED:
        return None
    return [parts[spot - 1] for spot in quantiles(part, bins)]


def _edged(feature: Numeric, edges: list[float]) -> Numeric:
    span = feature.upper - feature.lower
    return with_edges(feature, (feature.lower + span * edge for edge in edges))
