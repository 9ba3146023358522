"""The settlement: a schema whose numbers lack bounds or bins becomes an ordinary one by a charged look at the rows."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from discreet import sources
from discreet.bounds.grid import PARTS, Integers, Octaves
from discreet.bounds.plan import SettlePlan, make_settle_plan
from discreet.bounds.read import allot, confirmed, edges_of, found_bounds, found_cells
from discreet.errors import SchemaError
from discreet.features import Numeric
from discreet.mechanisms.noise import Sampler, bytes_of, sampler_for
from discreet.privacy.budget import Adjacency, Budget
from discreet.privacy.certificate import Certificate
from discreet.privacy.certifier import certify
from discreet.privacy.ledger import Charge
from discreet.privacy.payer import Payer, attempt, paying
from discreet.privacy.unexpected import REFUSE
from discreet.schema import Schema
from discreet.sources import Draw, Progress, charge, check_shape

COVERS = "the bounds and bin edges of this schema and everything computed from them"
WHAT = "bounds and bins of the schema"
REST = "the rest of the schema (classes, categories) was read off the data and assumed public"


@dataclass(frozen=True)
class Settlement:
    """A schema with bounds and bins, and the certificate of what they cost."""

    schema: Schema
    plan: SettlePlan
    certificate: Certificate


def private_bounds(
    schema: Schema, data: Any, epsilon: float, *, bounds: str = "declared", edges: str | None = None,
    adjacency: str = "add-remove", contributions: int = 1, unexpected: str = REFUSE, random_state: Any = None,
    ledger: Payer | None = None, account: Any = None, progress: Progress | None = None, delta: float = 0.0,
) -> Settlement:  # fmt: skip
    """Buy the bounds and bin edges that a schema leaves open, from an array, a data frame, a file or a table.

    `bounds` "private" buys the bounds of every number, "declared" those of numbers whose schema says private. `edges`
    "private" buys bins of about equal weight too, "declared" leaves them equally wide; None follows the bounds.
    With `unexpected="absorb"` rows with a number that is none are left out instead of being refused. The cost is
    charged to the `account` (or `ledger`), if there is one, before the first row is read. With a `delta` noise is
    Gaussian where that finds bounds among fewer rows, as for many numbers; else it stays whole.
    """
    if schema is None:
        raise SchemaError("a schema is needed: declare one with Schema(...), or draft one with 'discreet schema'")
    schema = Schema.of(schema)
    plan = make_settle_plan(
        schema, Budget(epsilon, delta), bounds=bounds, edges=edges, adjacency=Adjacency.of(adjacency),
        contributions=contributions, unexpected=unexpected,
    )  # fmt: skip
    sampler = sampler_for(random_state)
    check_shape(data, schema=schema, labelled=False)
    with attempt():
        charge(paying(ledger, account), plan, data, schema=schema, labelled=False)
        return settle(data, plan, sampler, progress=progress)


def settle(data: Any, plan: SettlePlan, sampler: Sampler, *, progress: Progress | None = None) -> Settlement:
    """Settle by a plan. The caller has charged it to its ledger before reading any rows."""
    finest = count_finest(data, plan, draw=bytes_of(sampler), progress=progress)
    schema = settled(finest, plan, sampler)
    certificate = _certificate(plan, schema, sampler)
    if certificate.private:
        schema = schema.having(provenance=(*schema.provenance, certificate.provenance(WHAT)))
    return Settlement(schema, plan, certificate)


def count_finest(
    data: Any, plan: SettlePlan, *, draw: Draw | None = None, progress: Progress | None = None
) -> dict[str, Integers]:  # fmt: skip
    """Rows by finest cell of every number; missing values are in no cell."""
    source = sources.open(
        data, plan.schema, labelled=False, contributions=plan.contributions, unexpected=plan.unexpected, draw=draw,
        progress=progress,
    )  # fmt: skip
    return source.histograms({feature.name: Octaves.of(feature) for feature in plan.features})


def settled(finest: Mapping[str, Integers], plan: SettlePlan, sampler: Sampler) -> Schema:
    """The two noisy histograms and what is read off them: rows by octave, then rows by part of the octaves found."""
    fresh: dict[str, Numeric] = {}
    for feature in plan.features:
        grid, exact = Octaves.of(feature), finest[feature.name]
        octaves = noisy(by_octave(exact), plan.octaves, sampler)
        over = octaves > plan.threshold(feature)
        first, last = found_cells(octaves, over)
        bins: Any = feature.bins
        if feature.name not in plan.edges:
            lower, upper = found_bounds(feature, grid, first, last)
        else:
            scale = plan.second_scale
            cells = allot(octaves, grid, max(first - 1, 0), min(last + 1, grid.size - 1), scale)
            counts = noisy(cells.counts(exact), plan.parts, sampler)
            cells, counts = confirmed(cells, counts, over, plan.second_threshold, grid.below)
            lower, upper = found_bounds(feature, grid, cells.octaves[0], cells.octaves[-1])
            bins = edges_of(feature, lower, upper, cells, counts, scale)
        fresh[feature.name] = feature.within(lower, upper, bins)
    schema = plan.schema
    features = [fresh.get(feature.name, feature) for feature in schema.features]
    # Without privacy, or with noise that can be repeated, this was read off the data: later certificates say so.
    study = not plan.budget.private or sampler.simulation
    return schema.having(features, inferred=schema.inferred or study)


def by_octave(finest: Integers) -> Integers:
    """Rows by octave."""
    return np.asarray(finest.reshape(-1, PARTS).sum(axis=1))


def noisy(counts: Integers, charge: Charge | None, sampler: Sampler) -> Integers:
    """Counts with the noise of a charge; without one, as they are."""
    if charge is None:
        return counts
    return (sampler.gaussian if charge.measure == "rho" else sampler.laplace)(counts, charge.spread)


def _certificate(plan: SettlePlan, schema: Schema, sampler: Sampler) -> Certificate:
    return certify(
        plan, schema=schema, sampler=sampler.name, simulation=sampler.simulation, accounting=plan.accounting,
        rho=plan.rho, covers=COVERS, kind="this schema is", inferred=REST, named=True,
    )  # fmt: skip
