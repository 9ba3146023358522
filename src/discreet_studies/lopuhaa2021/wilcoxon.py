"""The signed-rank test of the paper's definition 4.1, with the variance that belongs to it."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True)
class SignedRanks:
    """The normal score of the smaller rank sum and its two-sided p-value; and what the printed variance would say."""

    pairs: int
    z: float
    p: float
    printed_z: float
    printed_p: float


def signed_ranks(differences: Sequence[float]) -> SignedRanks:
    """Ranks of |d|, equal ones sharing their mean, those of d = 0 split evenly between the two sums.

    The paper prints the variance N(N + 1)(2N + 1)/4, six times too large.
    """
    from scipy.stats import norm, rankdata

    gaps = np.asarray(differences, np.float64)
    count = len(gaps)
    ranks = rankdata(np.abs(gaps))
    up, level = float(ranks[gaps > 0].sum()), float(ranks[gaps == 0].sum())
    down = float(ranks[gaps < 0].sum())
    smaller = min(up, down) + level / 2
    # Each nonzero rank goes to either sum with even odds: N(N + 1)(2N + 1)/24 where no ranks are equal or zero.
    variance = max(float((ranks[gaps != 0] ** 2).sum()) / 4, 1e-300)
    printed_variance = count * (count + 1) * (2 * count + 1) / 4
    middle = count * (count + 1) / 4
    z, printed = (smaller - middle) / math.sqrt(variance), (smaller - middle) / math.sqrt(printed_variance)
    return SignedRanks(count, z, float(min(1.0, 2 * norm.sf(-z))), printed, float(min(1.0, 2 * norm.sf(-printed))))
