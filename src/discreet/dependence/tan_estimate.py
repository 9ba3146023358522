"""Reading noisy tables of pairs: consistent marginals, then dependence as far as it rises above noise."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from discreet.bayes import Plan, Release
from discreet.bayes.estimate import estimate
from discreet.bayes.likelihoods import TableLikelihood
from discreet.dependence.pairs import Pair
from discreet.dependence.pyramid import spread
from discreet.dependence.tree import neighbours

Floats = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class NoisyTables:
    """Released counts: by class and pair, by class and each feature that is in no pair; and each cell's variance."""

    pairs: list[Pair]
    tables: list[Floats]
    variances: list[float]
    singles: dict[int, tuple[Floats, float]]


def marginals(noisy: NoisyTables, features: int) -> list[tuple[Floats, float]]:
    """Rows by class and cell of each feature, from every table it is in by inverse variance, and their variance."""
    result = []
    for feature, places in enumerate(neighbours(noisy.pairs, features)):
        if not places:
            result.append(noisy.singles[feature])
            continue
        sums, weights = [], []
        for place in places:
            axis = 2 if noisy.pairs[place][0] == feature else 1
            sums.append(noisy.tables[place].sum(axis=axis))
            weights.append(1 / max(noisy.variances[place] * noisy.tables[place].shape[axis], 1e-12))
        mean = np.tensordot(np.array(weights) / sum(weights), np.array(sums), axes=1)
        result.append((mean, 1 / sum(weights) if max(noisy.variances) > 0 else 0.0))
    return result


def naive(singles: Sequence[tuple[Floats, float]], plan: Plan) -> tuple[Floats, list[Floats]]:
    """The class log-prior and log P(cell | class) of each feature, read as Naive Bayes reads its tables."""
    names = plan.schema.names
    values = {("table", name): table for name, (table, _) in zip(names, singles, strict=True)}
    noise = {("table", name): variance for name, (_, variance) in zip(names, singles, strict=True)}
    private = any(noise.values())
    prior, likelihoods = estimate(Release(plan, values, noise=noise if private else None))
    tables = []
    for likelihood in likelihoods:
        assert isinstance(likelihood, TableLikelihood)
        tables.append(likelihood.log_prob)
    return prior, tables


def log_ratio(table: Floats, variance: float, rows: Floats, first: Floats, second: Floats) -> Floats:
    """log P(a, b | class)/(P(a | class)·P(b | class)) from a noisy table and both features' chances by class.

    The table is moved to the given marginals, and from independence towards its own counts as far as noise and
    sampling let it: the best linear predictor, under a spread that all cells of the table tell.
    """
    apart = first[:, :, None] * second[:, None, :]
    size = np.maximum(rows, 1.0)[:, None, None]
    own = _with_marginals(table, size * first[:, :, None], size * second[:, None, :])
    rest = own - size * apart
    cells = table[0].size
    free = (first.shape[1] - 1) * (second.shape[1] - 1) / cells  # of the noise is left beside the marginals
    noise = np.full_like(rest, variance * free)
    sampled = size * apart * (1 - first[:, :, None]) * (1 - second[:, None, :]) + 1e-9
    scale = (size * apart) ** 2
    square, beside = rest**2 - noise - sampled, noise + sampled
    found = np.array([spread(*one, 20.0) for one in zip(square, scale, beside, strict=True)])[:, None, None]
    gain = found * scale / (found * scale + beside)
    joint = np.maximum(apart * size + gain * rest, 0.05 * apart * size)
    joint /= joint.sum(axis=(1, 2), keepdims=True)
    return np.asarray(
        np.log(joint) - np.log(joint.sum(axis=2, keepdims=True)) - np.log(joint.sum(axis=1, keepdims=True))
    )


def _with_marginals(table: Floats, first: Floats, second: Floats) -> Floats:
    """The nearest table (least squares) with these sums over the second and over the first feature."""
    sizes = table.shape[1:]
    over_b = first - table.sum(axis=2, keepdims=True)
    over_a = second - table.sum(axis=1, keepdims=True)
    both = over_b.sum(axis=1, keepdims=True)
    return np.asarray(table + over_b / sizes[1] + over_a / sizes[0] - both / (sizes[0] * sizes[1]))
