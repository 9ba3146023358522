"""Grids: how finely numbers are cut for a joint table, from public sizes and released counts alone."""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from discreet.bayes.bins import is_free, recut
from discreet.bayes.likelihoods import Likelihood, TableLikelihood
from discreet.dependence.joint_model import LARGEST
from discreet.errors import BudgetError, SchemaError
from discreet.features import DEFAULT_BINS
from discreet.schema import Feature, Numeric, Schema

Floats = NDArray[np.float64]
FINE = 64  # bins of the marginal tables that edges are read off
MOST = 32  # bins of one number in the joint table
ROWS_PER_CELL = 10.0  # times ε: as many rows as a cell needs to rise above its noise
STRONGEST = 4.0  # a larger ε does not ask for finer cells: sampling error stays
EVEN = 0.5  # the part of the edges that is placed by width; the rest is placed by rows


@lru_cache(16)
def fine_schema(schema: Schema) -> Schema:
    """The schema with every free number in many bins, or as many as its lattice has room for."""
    return recut(schema, _finest)


def _finest(feature: Numeric, most: int = FINE) -> Numeric:
    bins = most
    while bins > DEFAULT_BINS:
        try:
            return feature.having(bins)
        except SchemaError:
            bins //= 2
    return feature


def joint_cells(schema: Schema, rows: float, epsilon: float) -> int:
    """Bins per free number in a joint table of that many rows at ε; 0 if no such table fits or would be filled.

    Every cell should hold about ROWS_PER_CELL/ε rows. Features whose cells are fixed (categories, declared bins,
    numbers with few values) take their part first. Without free numbers it is 1 if the table suits.
    """
    room = rows * min(epsilon, STRONGEST) / ROWS_PER_CELL
    fixed = math.prod(feature.cells for feature in schema.features if not is_free(feature))
    pairs = zip(schema.features, fine_schema(schema).features, strict=True)
    free = sorted(fine.cells - (fine.missing_code is not None) for given, fine in pairs if is_free(given))
    extra = 1 if not free else 2
    if fixed * extra ** len(free) * len(schema.classes) > LARGEST or fixed > max(room, 1.0):
        return 0
    if not free:
        return 1
    most = min(room, LARGEST / len(schema.classes)) / fixed
    bins = 0
    for place, cells in enumerate(free):
        bins = int(max(most, 1.0) ** (1 / (len(free) - place)) + 1e-9)
        if cells > bins:
            break
        most /= cells  # it has so few values that others may have more bins
    return max(1, min(bins, MOST))


def suits_joint(schema: Schema, rows: float, epsilon: float) -> bool:
    """Whether a joint table can be expected to beat Naive Bayes: at most four features, six bins or more each."""
    bins = joint_cells(schema, rows, epsilon)
    free = sum(is_free(feature) for feature in schema.features)
    return len(schema.features) <= 4 and (bins >= 6 if free else bins == 1)


def grid(
    schema: Schema, fine: Schema, bins: int, prior: Floats, likelihoods: Sequence[Likelihood], *, study: bool = False
) -> tuple[Schema, list[Floats]]:
    """The schema of the joint table, and P(cell | class) of each of its features by the released marginals.

    Neighbouring fine bins of a free number are merged until `bins` are left, which hold about as many rows each,
    half by width and half by rows. Marginals for `study` were not private, hence nor are the edges: the schema says so.
    """
    features: list[Feature] = []
    tables = []
    shares = np.exp(prior)
    for given, feature, likelihood in zip(schema.features, fine.features, likelihoods, strict=True):
        assert isinstance(likelihood, TableLikelihood)
        table = np.exp(likelihood.log_prob)
        if is_free(given) and isinstance(feature, Numeric):
            ordered = len(feature.edges) - 1
            cuts = merged(shares @ table[:, :ordered], bins)
            back = 0.5 if feature.integer else 0.0  # so that a bin of the last whole number alone begins below it
            edges = (feature.lower, *(feature.edges[cut] - back for cut in cuts), feature.upper)
            missing = [ordered] if feature.missing_code is not None else []
            table = np.add.reduceat(table, [0, *cuts, *missing], axis=1)
            feature = feature.having(edges)
        features.append(feature)
        tables.append(table)
    joint = schema.having(features, inferred=schema.inferred or (study and tuple(features) != schema.features))
    if math.prod(feature.cells for feature in features) * len(schema.classes) > LARGEST:
        raise BudgetError(
            f"one table over all features has more than {LARGEST} cells: declare fewer bins or use fewer features"
        )
    return joint, tables


def merged(rows: Floats, bins: int) -> list[int]:
    """Where merged bins begin, as places among the fine ones."""
    fine = len(rows)
    total = float(rows.sum())
    weights = (1 - EVEN) * rows / total + EVEN / fine if total > 0 else np.full(fine, 1 / fine)
    reached = np.cumsum(weights)
    cuts = {int(np.abs(reached - k / bins).argmin()) + 1 for k in range(1, bins)}
    return sorted(cut for cut in cuts if cut < fine)
