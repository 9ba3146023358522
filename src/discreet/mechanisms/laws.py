"""The variances of discrete noise, by its exact laws."""

from __future__ import annotations

import math

import numpy as np


def laplace_variance(scale: float) -> float:
    """The variance of the discrete Laplace law: 2q/(1 − q)² with q = exp(−1/scale)."""
    return 0.5 / math.sinh(0.5 / scale) ** 2 if 0.5 / scale < 300 else 0.0


def gaussian_variance(variance: float) -> float:
    """The variance of the discrete Gaussian law, which is a little below its parameter."""
    if variance > 25:
        return variance
    points = np.arange(-210.0, 211.0)
    weights = np.exp(-(points**2) / (2 * variance))
    return float((weights * points**2).sum() / weights.sum())
