"""Sums of noise for studies: the noise of many nodes drawn at once, by the exact law of the sum."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from discreet.mechanisms.noise import discrete_gaussian, discrete_laplace

Integers = NDArray[np.int64]
_WHOLE = 2.0**52  # beyond this a double holds no finer than whole numbers
_LIMIT = 2.0**62
_BLOCK = 1 << 20


def discrete_laplace_sum(size: int, scale: float, count: float, *, rng: np.random.Generator) -> Integers:
    """Sums of `count` discrete Laplace noises: NB(count, p) − NB(count, p) with p = 1 − exp(−1/scale).

    A discrete Laplace noise is the difference of two geometric variables, and a sum of geometric variables is
    negative binomial; `count` may be a fraction, because that law is infinitely divisible: 1/N is a share of which
    N make one noise.
    """
    if count == 1:
        return discrete_laplace(size, scale, rng=rng)
    first, second = (_negative_binomial(size, scale, count, rng) for _ in range(2))
    return np.asarray(np.clip(first - second, -_LIMIT, _LIMIT), dtype=np.int64)


def _negative_binomial(size: int, scale: float, count: float, rng: np.random.Generator) -> NDArray[np.float64]:
    """A Poisson variable whose mean is Gamma(count) times q/(1 − q), q = exp(−1/scale)."""
    if scale <= 0:
        return np.zeros(size)
    odds = 1 / math.expm1(1 / scale) if 1 / scale < 700 else 0.0
    means = rng.standard_gamma(count, size) * odds
    draws = np.empty(size)
    small = means < _WHOLE
    draws[small] = rng.poisson(means[small])
    far = means[~small]  # a Poisson law this far out is a normal one to far below a double's precision
    draws[~small] = np.rint(far + np.sqrt(far) * rng.standard_normal(len(far)))
    return draws


def discrete_gaussian_sum(size: int, variance: float, count: int, *, rng: np.random.Generator) -> Integers:
    """Sums of `count` discrete Gaussian noises, noise by noise in blocks: the sum has no law of that family."""
    result = np.zeros(size, np.int64)
    step = max(1, _BLOCK // max(size, 1))
    for start in range(0, count, step):
        nodes = min(step, count - start)
        result += discrete_gaussian(nodes * size, variance, rng=rng).reshape(nodes, size).sum(axis=0)
    return result
