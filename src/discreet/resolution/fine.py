"""Fine tables: every number by class in some 500 public cells, bought once, for knots and for levels of spikes."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.additive.blocks import Level
from discreet.bayes.bins import free_numbers, recut
from discreet.bayes.plan import Plan, make_plan
from discreet.bayes.release import Release, release, release_certificate
from discreet.estimators.counts import ClassCounts
from discreet.mechanisms.noise import Sampler
from discreet.privacy.budget import Budget
from discreet.privacy.certificate import Certificate
from discreet.resolution.grids import fine_cells, with_edges
from discreet.resolution.reading import Reading, left_over, levels, quantiles, read
from discreet.schema import Numeric, Schema
from discreet.sources import BINS, Source
from discreet.statistics import Statistics

SHARE = Fraction(1, 5)  # of the budget
RICH, RICHER = 1000.0, 1000.0  # rows times ε for each number, from which on fine tables are worth it; of more classes
LEAN = 0.2  # the share of features that are numbers, below which they are not: the others would pay for few
Floats = NDArray[np.float64]
WHAT = "the fine tables that knots and levels are read off"
COVERS = "rows by class and fine cell of each number, and everything computed from them"


@dataclass(frozen=True)
class Finely:
    """A schema whose numbers have their knots as edges, levels of those that have spikes, and what it cost."""

    schema: Schema
    levels: tuple[Level, ...]
    certificate: Certificate


def worth_fine(schema: Schema, rows: float, epsilon: float) -> bool:
    """Whether fine tables pay, by what is public: many rows times ε for each number."""
    numbers = free_numbers(schema)
    some = len(numbers) > 0 and len(numbers) >= LEAN * len(schema.features)
    rich = RICH if len(schema.classes) == 2 else RICHER
    return some and rows * min(epsilon, 1e6) >= rich * len(numbers)


def fine_plan(schema: Schema, budget: Budget, **people: Any) -> Plan:
    """One table by class for each number that nobody declared bins of, all of them in very fine public cells."""
    numbers = [fine_cells(one) for one in free_numbers(schema)]
    return make_plan(schema.having(numbers), budget, mechanism="laplace", **people)


def fine_statistics(source: Source, plan: Plan) -> Statistics:
    """The exact tables of the plan's numbers; the source holds its rows, in cells that are as fine."""
    found = source.statistics(BINS)
    return Statistics(plan.schema, found.counts, tables={name: found.tables[name] for name in plan.schema.names})


def finely(schema: Schema) -> Schema:
    """The schema with the cells of fine tables, for a source."""
    return recut(schema, fine_cells)


def buy_fine(
    source: Source, plan: Plan, schema: Schema, counts: ClassCounts, left: float, gaps: int, sampler: Sampler
) -> Finely:
    """Release the tables and read them. The caller has charged the plan before reading any rows.

    `source` is of the schema that `finely` makes; `left` is the ε of one row in the fit to come, and `gaps` how many
    there should be between the knots of a number.
    """
    released = release(fine_statistics(source, plan), plan, sampler)
    certificate = release_certificate(released, released.node, covers=COVERS, kind="these tables are", named=True)
    changed, found = read_fine(released, schema, counts, left, gaps)
    return Finely(stating(changed, schema, certificate, WHAT), found, certificate)


def stating(changed: Schema, schema: Schema, certificate: Certificate, what: str) -> Schema:
    """The changed schema, saying what its edges were read off: a release, or the data where that is but a study."""
    study = certificate.simulation or not certificate.private
    paid = (certificate.provenance(what),) if certificate.private else ()
    return changed.having(
        inferred=changed.inferred or (study and changed != schema), provenance=(*changed.provenance, *paid)
    )


def read_fine(
    released: Release, schema: Schema, counts: ClassCounts, left: float, gaps: int
) -> tuple[Schema, tuple[Level, ...]]:
    """Knots and levels, from released tables and bought counts alone."""
    noise = 2 * (len(schema.features) / left) ** 2
    items = {item.feature: item for item in released.plan.items if item.kind == "table"}
    features, found = list(schema.features), []
    for j, feature in enumerate(features):
        if feature.name not in items:
            continue
        assert isinstance(feature, Numeric)
        cells = released.plan.schema.numeric[released.plan.schema.names.index(feature.name)]
        table = np.asarray(released.values["table", feature.name], np.float64)[:, : len(cells.cuts) + 1]
        seen = _readings(table, float(np.mean(released.variance(items[feature.name]))), counts)
        edges = [cells.edges[spot] for spot in quantiles(seen[0].shares, gaps)]
        features[j] = with_edges(feature, edges)
        made = _levels(seen, cells, features[j], counts, noise)  # type: ignore[arg-type]
        if made is not None:
            found.append(Level(j, cells.cuts, made))
    return schema.having(features), tuple(found)


def _readings(table: Floats, variance: float, counts: ClassCounts) -> list[Reading]:
    """One reading for the second of two classes, or one for each of several."""
    first, *others = [1] if len(table) == 2 else range(len(table))
    found = [read(table, variance, counts.rows, float(counts.shares[first]), first)]
    part = found[0].shares
    return found + [read(table, variance, counts.rows, float(counts.shares[k]), k, part) for k in others]


def _levels(
    seen: list[Reading], cells: Numeric, knotted: Numeric, counts: ClassCounts, noise: float
) -> tuple[int, ...] | None:
    """The level of each cell, if lines through the knots leave something over.

    Of several classes levels follow what they leave in the direction, from some classes to others, of most of it.
    """
    starts = np.array([cells.lower, *cells.edges[1:-1]])
    ends = np.array([*cells.edges[1:-1], cells.upper])
    spots = starts if cells.integer and len(starts) > (cells.upper - cells.lower) else (starts + ends) / 2
    part, knots = seen[0].shares, np.array(knotted.edges)
    whole, over = np.stack([one.excess for one in seen]), np.stack([left_over(one, spots, knots) for one in seen])
    taken = counts.shares if len(seen) > 1 else counts.shares[1:]
    spreads = taken * (1 - taken)
    spread = float(spreads.mean())
    if len(seen) > 1:
        weights = np.sqrt(spread / spreads)
        way = np.linalg.svd(weights[:, None] * over * np.sqrt(part))[0][:, 0] * weights
        whole, over = way[None] @ whole, way[None] @ over
    label, count = levels(part, whole[0], counts.rows, spread, noise)
    if count == 1 or levels(part, over[0], counts.rows, spread, noise)[1] == 1:
        return None
    return tuple(int(one) for one in label)


def shared(epsilon: Any, share: Fraction) -> tuple[Budget, Any]:
    """What a look may cost that is given this share of ε, and what is left."""
    if not isinstance(epsilon, Fraction):
        return Budget(math.inf), epsilon
    return Budget(epsilon * share), epsilon * (1 - share)
