"""The laws of the selectors by their definitions, as plain sums over everything that can be chosen."""

from functools import cache
from itertools import combinations, permutations, product

import numpy as np


def mask_law(scores, k, rate):
    """Exponential mechanism over sets."""
    return _normal({s: np.exp(rate * sum(scores[i] for i in s)) for s in combinations(range(len(scores)), k)})


def peeled_law(scores, k, rate):
    """Exponential mechanism over items, one after another."""
    return _one_by_one(scores, k, lambda left: _softmax([scores[i] for i in left], rate))


def flipped_law(scores, k, rate):
    """Permute-and-flip, one after another."""
    return _one_by_one(scores, k, lambda left: _flip([scores[i] for i in left], rate))


def joint_law(scores, k, rate):
    """Joint exponential mechanism over sequences."""
    best = sorted(scores, reverse=True)
    return _normal(
        {
            s: np.exp(-rate * max(best[i] - scores[item] for i, item in enumerate(s)))
            for s in permutations(range(len(scores)), k)
        }
    )


LAWS = {"mask": mask_law, "gumbel": peeled_law, "permute-and-flip": flipped_law, "joint": joint_law}


def _normal(weights):
    whole = sum(weights.values())
    return {key: float(value / whole) for key, value in weights.items()}


def _softmax(scores, rate):
    weights = np.exp(rate * (np.array(scores, float) - max(scores)))
    return weights / weights.sum()


def _flip(scores, rate):
    """Walk through every order of the items and flip each one's coin until the first heads."""
    chance = np.exp(rate * (np.array(scores, float) - max(scores)))
    found = np.zeros(len(scores))
    orders = list(permutations(range(len(scores))))
    for order in orders:
        alive = 1.0
        for item in order:
            found[item] += alive * chance[item] / len(orders)
            alive *= 1 - chance[item]
    return found


def _one_by_one(scores, k, law):
    found = {}

    def walk(chosen, chance):
        if len(chosen) == k:
            found[chosen] = chance
            return
        left = [i for i in range(len(scores)) if i not in chosen]
        for item, part in zip(left, law(left), strict=True):
            walk((*chosen, item), chance * part)

    walk((), 1.0)
    return found


def sparse_law(scores, k, threshold, fence, query):
    """Which items pass, met in their order, up to the k-th that does; the noise cut off where it is below 1e-18."""
    reach = int(42 * max(fence, query)) + 1
    bars = np.arange(-reach, reach + 1)
    weight = np.tanh(1 / (2 * fence)) * np.exp(-np.abs(bars) / fence)
    above = [_above(threshold - score, reach, query) for score in scores]
    found = {}
    for pattern in product((False, True), repeat=len(scores)):
        passed = np.flatnonzero(pattern)
        stop = passed[k - 1] + 1 if len(passed) >= k else len(scores)
        key = pattern[:stop]
        if key not in found:
            chance = weight
            for i, hit in enumerate(key):
                chance = chance * (above[i] if hit else 1 - above[i])
            found[key] = float(chance.sum())
    return found


@cache
def _above(level, reach, query):
    """The tail beyond a level, moved by each noise of the bar."""
    return _tail(level + np.arange(-reach, reach + 1), query)


def _tail(levels, scale):
    """P(discrete Laplace noise ≥ level)."""
    ratio = np.exp(-1 / scale)
    return np.where(
        levels > 0, ratio ** np.abs(levels) / (1 + ratio), 1 - ratio ** (1 - levels * (levels <= 0)) / (1 + ratio)
    )
