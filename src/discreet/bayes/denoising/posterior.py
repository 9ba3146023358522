"""The posterior of the true counts behind noisy ones, and the probabilities it predicts."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from discreet.bayes.denoising.tables import NoisyTable

Floats = NDArray[np.float64]
POINTS = 257
AT_ONCE = 4096  # cells and classes: about 80 MB
REACH = 9.0  # standard deviations of noise around a noisy count, outside of which the true one is not looked for


def posterior(table: NoisyTable, rows: Floats, smoothing: float) -> Floats:
    """log of the posterior mean of P(cell | class), under a Dirichlet prior of weight `smoothing` in every cell.

    Beforehand a cell's count among n rows is beta-binomial; its noisy value is normal about it. A prediction that is
    averaged over all true parameters, weighted by their posterior, uses the mean of the probability.
    """
    step = max(1, AT_ONCE // len(table.values))
    parts = [_mean(table, rows, smoothing, slice(at, at + step)) for at in range(0, table.cells, step)]
    padded = np.concatenate(parts, axis=1) + smoothing
    return np.asarray(np.log(padded) - np.log(padded.sum(axis=1, keepdims=True)))


def _mean(table: NoisyTable, rows: Floats, smoothing: float, cells: slice) -> Floats:
    """The posterior mean of the true counts of some cells: each by itself, whichever others stand beside it."""
    from scipy.special import gammaln

    values = table.values[:, cells]
    whole = np.maximum(rows, 1.0)[:, None]
    rest = smoothing * max(table.cells - 1, 1)
    reach = REACH * np.sqrt(table.variance)[:, None]
    low = np.clip(values - reach, 0.0, whole)
    high = np.clip(values + reach, 0.0, whole)
    low, high = np.minimum(low, np.maximum(high - 1e-9, 0.0)), np.maximum(high, low + 1e-9)
    count = low[..., None] + (high - low)[..., None] * np.linspace(0, 1, POINTS)
    total = whole[..., None]
    prior = gammaln(count + smoothing) - gammaln(count + 1)
    left = np.maximum(total - count, 0.0)
    prior = prior + gammaln(left + rest) - gammaln(left + 1)
    seen = -0.5 * (count - values[..., None]) ** 2 / table.variance[:, None, None]
    weight = prior + seen
    weight = np.exp(weight - weight.max(axis=-1, keepdims=True))
    return np.asarray((weight * count).sum(axis=-1) / weight.sum(axis=-1))
