"""thesis2015 as it may have been run: masks that leave out the number of features, and iterative sampling."""

from __future__ import annotations

import math
from functools import lru_cache
from typing import cast

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]
REASON_MASK = "the score of a mask of T features moves T times as far as that of one, which the draw ignores"
REASON_ITERATIVE = "every feature passed over is a release too, and only those selected are paid for"


def mask_by_tables(scores: Floats, k: int, rate: float, *, rng: np.random.Generator) -> Integers:
    """Algorithm 5: log-sums over sub-masks by dynamic programming, then bits from the last to the first.

    Line 26 of the printed algorithm drops the score of the feature; equation 3.28 has it. The law is that of
    exponential weights exp(rate·Σ scores) up to the rounding of floats.
    """
    weights = tuple((rate * (np.asarray(scores, np.float64) - np.max(scores))).tolist())
    sums = _log_sums(weights, k)
    chosen, left = [], k
    for d in range(len(weights), 0, -1):
        if left == 0:
            break
        if math.log1p(-rng.random()) < sums[d - 1][left - 1] + weights[d - 1] - sums[d][left]:
            chosen.append(d - 1)
            left -= 1
    return np.array(chosen[::-1])


@lru_cache(maxsize=2)
def _log_sums(weights: tuple[float, ...], k: int) -> list[list[float]]:
    """At [d][t], over masks of the first d features with t ones: made once for draws that share the weights."""
    sums = np.full((len(weights) + 1, k + 1), -np.inf)
    sums[:, 0] = 0.0
    for d, weight in enumerate(weights):
        sums[d + 1, 1:] = np.logaddexp(sums[d, 1:], sums[d, :-1] + weight)
    return cast(list[list[float]], sums.tolist())


def iterative_sampling(scores: Floats, k: int, epsilon: float, reach: float, *, rng: np.random.Generator) -> Integers:
    """Algorithm 4: features from the best on, each kept by a coin that costs ε/T, until T are kept."""
    order = np.argsort(-scores, kind="stable")
    shifted = scores - (scores[order[k]] if k < len(scores) else 0.0)
    chosen: list[int] = []
    while len(chosen) < k:
        for item in order.tolist():
            chance = 1 / (1 + np.exp(-epsilon / k / (2 * reach) * shifted[item]))
            if item not in chosen and len(chosen) < k and rng.random() < chance:
                chosen.append(item)
    return np.array(chosen)
