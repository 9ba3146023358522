"""The exact laws of discrete noise: log-probabilities and variances, for proofs by enumeration and for weights."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray


def laplace_log_pmf(noise: Any, scale: float) -> NDArray[np.float64]:
    """log P(Z = z) of the discrete Laplace law, P(z) ∝ exp(−|z|/scale)."""
    ratio = 1.0 / scale
    constant = math.log(math.tanh(ratio / 2))
    return np.asarray(constant - np.abs(np.asarray(noise, dtype=np.float64)) * ratio)


def laplace_variance(scale: float) -> float:
    """The variance of the discrete Laplace law: 2q/(1 − q)² with q = exp(−1/scale)."""
    return 0.5 / math.sinh(0.5 / scale) ** 2 if 0.5 / scale < 300 else 0.0


def gaussian_log_pmf(noise: Any, variance: float) -> NDArray[np.float64]:
    """log P(Z = z) of the discrete Gaussian law, P(z) ∝ exp(−z²/(2·variance))."""
    reach = math.ceil(40 * math.sqrt(variance)) + 2
    if reach <= 10**6:
        points = np.arange(-reach, reach + 1, dtype=np.float64)
        normaliser = float(np.log(np.exp(-(points**2) / (2 * variance)).sum()))
    else:  # the sum equals the integral to far below a double's precision (Poisson summation)
        normaliser = 0.5 * math.log(2 * math.pi * variance)
    return np.asarray(-(np.asarray(noise, dtype=np.float64) ** 2) / (2 * variance) - normaliser)


def gaussian_variance(variance: float) -> float:
    """The variance of the discrete Gaussian law, which is a little below its parameter."""
    if variance > 25:
        return variance
    points = np.arange(-210.0, 211.0)
    weights = np.exp(-(points**2) / (2 * variance))
    return float((weights * points**2).sum() / weights.sum())
