"""Two classes: a histogram of scores per class with exact noise, and the slope and bias that fit it.

Six cells a class say as much about two numbers as the rows themselves do under the noise of an objective, and exact
noise on whole counts leaves nothing to a solver.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
BINS = 6
PART = 1 << 20  # rows that are looked at together


def histogram(scores: Floats, labels: NDArray[np.int64]) -> NDArray[np.int64]:
    """Rows by class and bin of the gap between the two scores, which lies between −1 and 1: each row in one cell."""
    counts = np.zeros(2 * BINS, np.int64)
    for low in range(0, len(scores), PART):
        part = slice(low, low + PART)
        gaps = scores[part, 1] - scores[part, 0]
        bins = np.clip(np.floor((gaps + 1) * (BINS / 2)), 0, BINS - 1).astype(np.int64)
        counts += np.bincount(labels[part] * BINS + bins, minlength=2 * BINS)
    return counts.reshape(2, BINS)


def fit_histogram(counts: Floats, spread: float, usual: float) -> tuple[float, float]:
    """Slope and bias per gap of one, by logistic regression on noisy counts.

    The pull to the usual slope and to no bias is as strong as the noise: without rows there is nothing to learn.
    """
    from scipy.optimize import minimize

    centres = (2 * np.arange(BINS) + 1) / BINS - 1
    other, own = np.maximum(counts, 0.0)
    ridge, start = max(spread, 1e-6), np.array([usual, 0.0])

    def objective(w: Floats) -> tuple[float, Floats]:
        z = w[0] * centres + w[1]
        away = w - start
        value = float(own @ np.logaddexp(0.0, -z) + other @ np.logaddexp(0.0, z)) + ridge / 2 * float(away @ away)
        rest = (own + other) / (1 + np.exp(-np.clip(z, -700, 700))) - own
        return value, np.array([float(rest @ centres), float(rest.sum())]) + ridge * away

    found = minimize(objective, start, jac=True, method="L-BFGS-B").x
    if not all(math.isfinite(value) for value in found):
        return usual, 0.0
    return float(found[0]), float(found[1])
