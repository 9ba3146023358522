"""Bundles: which count tables share one K-norm draw, and how much of the budget each bundle gets."""

from __future__ import annotations

from functools import lru_cache
from math import lgamma

import numpy as np

DIMENSIONS = 160  # of one draw at most: its law is then computed in a tenth of a second


@lru_cache(4096)
def cell_square(size: int) -> float:
    """The mean square of one cell of a table of norm at most one, drawn evenly with sum zero.

    The common sum of all tables adds to every cell alike; it says nothing about a feature, so it is left out here.
    """
    if size < 2:
        return 0.0
    k = np.arange(1, size)
    logs = -np.array([lgamma(n + 1) + lgamma(size - n + 1) + lgamma(n) + lgamma(size - n) for n in k.tolist()])
    weights = np.exp(logs - logs.max())
    # Half of the norm is spread over k positive cells, half over the others; n parts of one add up to 2/(n+1) squared.
    spread = ((2 / (k + 1) + 2 / (size - k + 1)) * weights).sum() / weights.sum() / 4
    return float(spread * (size - 1) / (size + 1) / size)


def bundle_cost(sizes: list[int]) -> float:
    """Σ over the tables of cells times the variance of a cell, for one draw at ε = 1."""
    dim = 1 + sum(size - 1 for size in sizes)
    return (dim + 1) * (dim + 2) * sum(size * cell_square(size) for size in sizes)


def bundle_tables(sizes: list[int]) -> list[list[int]]:
    """The tables (by place) in bundles of similar size that make the total of cost^(1/3) least.

    Each bundle of cost A at share w of the budget errs by A/w²; the best shares are in proportion to A^(1/3), and the
    total error is then the cube of their sum. Tables of one size stay together, unless there are too many dimensions
    for one draw: m draws of a part each, at a share of 1/m each, err by hardly more than one draw of all.
    """
    wide = [[place] for place, size in enumerate(sizes) if size > DIMENSIONS]
    kinds = sorted({size for size in sizes if size <= DIMENSIONS})
    counts = [sizes.count(size) for size in kinds]
    best, cut = [0.0] + [np.inf] * len(kinds), [0] * (len(kinds) + 1)
    for stop in range(1, len(kinds) + 1):
        for start in range(stop):
            inside = [kinds[i] for i in range(start, stop) for _ in range(counts[i])]
            total = best[start] + bundle_cost(inside) ** (1 / 3)
            if total < best[stop]:
                best[stop], cut[stop] = total, start
    bundles: list[list[int]] = []
    stop = len(kinds)
    while stop:
        low, high = kinds[cut[stop]], kinds[stop - 1]
        inside = sorted((place for place, size in enumerate(sizes) if low <= size <= high), key=sizes.__getitem__)
        bundles[:0] = _parts(inside, sizes)
        stop = cut[stop]
    return bundles + wide


def _parts(places: list[int], sizes: list[int]) -> list[list[int]]:
    """The tables dealt out to as few draws as keep to the dimensions of one."""
    parts = 1
    while any(1 + sum(sizes[p] - 1 for p in places[i::parts]) > DIMENSIONS for i in range(parts)):
        parts += 1
    return [sorted(places[i::parts]) for i in range(parts)]
