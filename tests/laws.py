"""The exact laws of draws, by their definitions: what enumerations and goodness of fit compare with."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.mechanisms.heavy import NoiseLaw


def exponential_law(scores: Sequence[int], rate: float) -> NDArray[np.float64]:
    """P(i) of the exponential mechanism."""
    weights = np.exp(rate * (np.asarray(scores, np.float64) - max(scores)))
    return np.asarray(weights / weights.sum())


def permute_and_flip_law(scores: Sequence[int], rate: float) -> NDArray[np.float64]:
    """P(i) of permute-and-flip, by the definition: over all orders in which the candidates may come."""
    odds = [math.exp(rate * (score - max(scores))) for score in scores]
    law = np.zeros(len(scores))
    orders = list(itertools.permutations(range(len(scores))))
    for order in orders:
        left = 1.0
        for spot in order:
            law[spot] += left * odds[spot]
            left *= 1 - odds[spot]
    return law / len(orders)


def laplace_log_pmf(noise: Any, scale: float) -> NDArray[np.float64]:
    """log P(Z = z) of the discrete Laplace law, P(z) ∝ exp(−|z|/scale)."""
    ratio = 1.0 / scale
    constant = math.log(math.tanh(ratio / 2))
    return np.asarray(constant - np.abs(np.asarray(noise, dtype=np.float64)) * ratio)


def gaussian_log_pmf(noise: Any, variance: float) -> NDArray[np.float64]:
    """log P(Z = z) of the discrete Gaussian law, P(z) ∝ exp(−z²/(2·variance))."""
    reach = math.ceil(40 * math.sqrt(variance)) + 2
    if reach <= 10**6:
        points = np.arange(-reach, reach + 1, dtype=np.float64)
        normaliser = float(np.log(np.exp(-(points**2) / (2 * variance)).sum()))
    else:  # the sum equals the integral to far below a double's precision (Poisson summation)
        normaliser = 0.5 * math.log(2 * math.pi * variance)
    return np.asarray(-(np.asarray(noise, dtype=np.float64) ** 2) / (2 * variance) - normaliser)


def cell_probability(
    k: int, center: Fraction, scale: Fraction, law: NoiseLaw, *, lower: int, upper: int, spacing: Fraction | int = 1,
    bits: int = 96,
) -> tuple[Fraction, Fraction]:  # fmt: skip
    """Enclose the probability that a rounded draw returns k (for tests and audits)."""

    def below(edge: int) -> tuple[Fraction, Fraction]:
        if edge < lower:
            return Fraction(0), Fraction(0)
        if edge >= upper:
            return Fraction(1), Fraction(1)
        return law.cdf_interval(((edge + Fraction(1, 2)) * spacing - center) / scale, bits)

    if not lower <= k <= upper:
        return Fraction(0), Fraction(0)
    outer, inner = below(k), below(k - 1)
    return max(Fraction(0), outer[0] - inner[1]), outer[1] - inner[0]
