"""Weights: how much each node counts, from its known noise and its noised size, never from true statistics."""

from __future__ import annotations

import numpy as np

from discreet.bayes.estimate import Released, estimate, log_prior, widened
from discreet.bayes.likelihoods import Likelihood
from discreet.bayes.release import Release
from discreet.federated.stack import Floats, Stack
from discreet.schema import Feature, Numeric


def sizes(stack: Stack) -> tuple[Floats, Floats]:
    """Rows per node and class, drawn towards the nodes' mean by what noise explains, and the variance left in them.

    Weights that followed noisy sizes would count a node more whenever its noise made it look large, and so bias
    every rate downwards; what a node should be expected to hold, given its noisy count, does not. The spread between
    nodes beyond their noise is DerSimonian and Laird's estimate: where there is none, all are taken to be of one size.
    """
    totals, variance = stack.counted
    noise = np.maximum(variance, 1e-300)[:, None]
    precision = 1 / noise
    mean = (precision * totals).sum(axis=0) / precision.sum(axis=0)
    excess = (precision * (totals - mean) ** 2).sum(axis=0) - (len(totals) - 1)
    room = precision.sum(axis=0) - (precision**2).sum(axis=0) / precision.sum(axis=0)
    between = np.maximum(excess, 0.0) / np.maximum(room, 1e-300)
    trust = 1 / (noise + between)
    centre = (trust * totals).sum(axis=0) / trust.sum(axis=0)
    share = between / (between + noise)
    return np.asarray(centre + (totals - centre) * share), np.asarray(noise * share)


def factor(rows: Floats, sampling: Floats, noise: Floats) -> Floats:
    """n·s²/(n·s² + v): what a node's sum counts, so that its rate enters by the inverse of its variance.

    A rate x/n has the variance s²/n of sampling and v/n² of noise; weighing rates by its inverse is weighing the
    sums x and n by this factor.
    """
    kept = rows * sampling
    return np.where(noise > 0, kept / (kept + np.maximum(noise, 1e-300)), 1.0)


def _factors(stack: Stack, feature: Feature, rows: Floats, guess: Likelihood | None) -> Floats:
    """The factor of each node and class for the statistics of one feature."""
    shift = stack.counted[1][:, None]
    if ("table", feature.name) in stack.values:
        cells = feature.cells
        table = None if guess is None else guess.by_cell
        p = np.full((1, cells), 1 / cells) if table is None else np.exp(table)
        noise = stack.variances["table", feature.name][:, None] + (p**2).mean(axis=1) * shift
        return factor(rows, (p * (1 - p)).mean(axis=1), noise)
    assert isinstance(feature, Numeric)
    half = float(feature.lattice.half)
    mean, variance = np.zeros(1), np.full(1, half**2 / 3)
    if guess is not None and (moments := guess.moments()) is not None:
        step = float(feature.lattice.step)
        mean, variance = (moments[0] - feature.lattice.middle) / step, moments[1] / step**2
    centred = mean**2 + variance - half**2 / 2
    sums = factor(rows, variance, stack.variances["sum", feature.name][:, None] + mean**2 * shift)
    spread = 2 * variance**2 + 4 * mean**2 * variance
    squares = factor(rows, spread, stack.variances["square", feature.name][:, None] + centred**2 * shift)
    # Mean and variance share one number of rows, hence one factor: the middle of the two.
    return np.sqrt(sums * squares)


def _weighted(stack: Stack, feature: Feature, factors: Floats) -> Release:
    """The weighted sum of one feature's statistics."""
    keys = [item.key for item in stack.plan.items if item.feature == feature.name]
    return Release(
        stack.plan,
        {key: np.einsum("nc,ncv->cv", factors, stack.values[key]) for key in keys},
        noise={key: np.einsum("nc,n->c", factors**2, stack.variances[key]) for key in keys},
    )


def weighted_estimate(stack: Stack, smoothing: float = 1.0) -> tuple[Floats, list[Likelihood], Floats]:
    """Prior and likelihoods with each node's rates weighted by inverse variance, and each node's weight.

    Sampling variances are first those of evenly spread values, then those that the first estimate implies.
    """
    totals, variance = stack.counted
    if stack.noiseless:
        prior, likelihoods = estimate(stack.sum(), smoothing)
        return prior, likelihoods, totals.sum(axis=1)
    held, left = sizes(stack)
    rows = np.maximum(held, 0.5)
    likelihoods, weights = [], np.zeros(len(rows))
    for feature in stack.plan.schema.features:
        guess: Likelihood | None = None
        for _ in range(2):
            factors = _factors(stack, feature, rows, guess)
            # Back on the scale of all rows, class by class: equal nodes then add up to the plain sum.
            factors = factors * (rows.sum(axis=0) / (factors * rows).sum(axis=0))
            behind, doubt = (factors * held).sum(axis=0), (factors**2 * left).sum(axis=0)
            guess = Released(_weighted(stack, feature, factors), behind, doubt, smoothing).likelihood(feature)
        assert guess is not None
        likelihoods.append(guess)
        weights += (factors * rows).sum(axis=1)
    whole = rows.sum(axis=1)
    shares = np.maximum(totals.sum(axis=0), 0.5) / np.maximum(totals.sum(axis=0), 0.5).sum()
    by_node = factor(whole, np.asarray((shares * (1 - shares)).mean()), variance)
    by_node = by_node * (whole.sum() / (by_node * whole).sum())
    prior_totals = by_node @ totals
    return log_prior(prior_totals), widened(likelihoods, prior_totals, stack.plan.schema), weights
