"""The posterior of the true counts behind noisy ones, and the probabilities it predicts."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from discreet.bayes.reading.tables import NoisyTable

Floats = NDArray[np.float64]
POINTS = 257
REACH = 9.0  # standard deviations of noise around a noisy count, outside of which the true one is not looked for


def posterior(table: NoisyTable, rows: Floats, smoothing: float) -> Floats:
    """log of the posterior mean of P(cell | class), under a Dirichlet prior of weight `smoothing` in every cell.

    Beforehand a cell's count among n rows is beta-binomial; its noisy value is normal about it. A prediction that is
    averaged over all true parameters, weighted by their posterior, uses the mean of the probability.
    """
    from scipy.special import gammaln

    cells = table.cells
    whole = np.maximum(rows, 1.0)[:, None]
    rest = smoothing * max(cells - 1, 1)
    reach = REACH * np.sqrt(table.variance)[:, None]
    low = np.clip(table.values - reach, 0.0, whole)
    high = np.clip(table.values + reach, 0.0, whole)
    low, high = np.minimum(low, np.maximum(high - 1e-9, 0.0)), np.maximum(high, low + 1e-9)
    count = low[..., None] + (high - low)[..., None] * np.linspace(0, 1, POINTS)
    total = whole[..., None]
    prior = gammaln(count + smoothing) - gammaln(count + 1)
    left = np.maximum(total - count, 0.0)
    prior = prior + gammaln(left + rest) - gammaln(left + 1)
    seen = -0.5 * (count - table.values[..., None]) ** 2 / table.variance[:, None, None]
    weight = prior + seen
    weight = np.exp(weight - weight.max(axis=-1, keepdims=True))
    mean = (weight * count).sum(axis=-1) / weight.sum(axis=-1)
    padded = mean + smoothing
    return np.asarray(np.log(padded) - np.log(padded.sum(axis=1, keepdims=True)))
