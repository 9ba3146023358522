"""Private logistic regression as thesis2015 runs it: sound noise, but the regularisation is tuned on private rows."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from discreet.linear.encode import Design
from discreet.linear.losses import Logistic
from discreet.linear.solve import Objective, minimise
from discreet.mechanisms.vectors import SeededBits, spherical_vector

Floats = NDArray[np.float64]
Fit = Callable[[Design, float, float, np.random.Generator], Floats]
LAMBDAS = tuple(10.0**k for k in range(-3, 6))
REASON = "the regularisation is picked by cross-validation on the private rows"
_C = 0.25
_TOLERANCE = 1e-5


def _minimum(design: Design, ridge: float, tilt: Floats) -> Floats:
    signs = np.where(design.labels == 1, 1.0, -1.0)
    return minimise(Objective(design, signs, Logistic(), ridge, tilt), max(_TOLERANCE, 1e-9 * ridge)).weights


def output(design: Design, epsilon: float, ridge: float, rng: np.random.Generator) -> Floats:
    """Algorithm 6: the minimum plus noise of density exp(−λε‖b‖/2)."""
    noise = spherical_vector(design.columns, 2 / (ridge * epsilon), SeededBits(rng)).vector
    return _minimum(design, ridge, np.zeros(design.columns)) + noise


def objective(design: Design, epsilon: float, ridge: float, rng: np.random.Generator) -> Floats:
    """Algorithm 7: 2·ln(1 + c/λ) is paid for curvature, or else half of ε with more regularisation."""
    left = epsilon - 2 * math.log1p(_C / ridge)
    if left <= 0:
        ridge, left = max(ridge, _C / math.expm1(epsilon / 4)), epsilon / 2
    return _minimum(design, ridge, spherical_vector(design.columns, 2 / left, SeededBits(rng)).vector)


def exact(design: Design, epsilon: float, ridge: float, rng: np.random.Generator) -> Floats:
    """Logistic regression without privacy."""
    return _minimum(design, ridge, np.zeros(design.columns))


def part(design: Design, rows: NDArray[np.bool_]) -> Design:
    """Some rows of a design."""
    values = None if design.values is None else design.values[rows]
    return replace(design, codes=design.codes[rows], values=values, labels=design.labels[rows])


def hits(design: Design, weights: Floats) -> float:
    """The share of rows on the right side."""
    return float(np.mean((design.margins(weights) > 0) == (design.labels == 1)))


def tuned(
    fit: Fit, design: Design, epsilon: float, rng: np.random.Generator, *, lambdas: Sequence[float] = LAMBDAS,
    folds: int = 5, tried: int = 5,
) -> tuple[Floats, float]:  # fmt: skip
    """The λ of the best cross-validated accuracy, by `tried` of the folds, and a fit on all rows with it."""
    where = rng.permutation(len(design)) % folds
    scores = [
        np.mean(
            [hits(part(design, where == k), fit(part(design, where != k), epsilon, ridge, rng)) for k in range(tried)]
        )
        for ridge in lambdas
    ]
    best = lambdas[int(np.argmax(scores))]
    return fit(design, epsilon, best, rng), best


# The thesis's two bounds on the L1 sensitivity of the polynomial's coefficients, and the one used here.
BOUNDS: dict[str, Callable[[int], float]] = {
    "fm-sens1": lambda d: d * d / 4 + 3 * d,
    "fm-sens2": lambda d: d / 4 + 3 * math.sqrt(d),
    "fm-merged": lambda d: math.sqrt(d) + d / 4,
}
