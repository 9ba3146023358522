"""Segments: runs of neighbouring bins whose class shares noise does not let one tell apart."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from discreet.bayes.denoising.tables import NoisyTable

Floats = NDArray[np.float64]
PENALTY = 4.0  # for each segment more, in units of a χ² of one degree of freedom
MOST = 64  # bins that are tried as ends of a segment
ROOM = 1 << 16  # residuals that are looked at together


def segments(table: NoisyTable, shares: Floats) -> NDArray[np.intp]:
    """For each cell the number of its segment; cells that are in no order have one each.

    The cut points minimise the sum of squared residuals of all cells, each over its variance, from the class shares of
    its segment, plus a penalty for every segment.
    """
    groups = np.arange(table.cells)
    size = table.ordered
    if size <= 2:
        return groups
    stride = 1
    if size > MOST:
        mean = float(np.maximum(table.values, 0).sum()) / table.cells
        if float(table.variance.sum()) < mean**2:
            return groups
        stride = math.ceil(size / MOST)
    bounds = np.unique(np.append(np.arange(0, size, stride), size))
    cost = _costs(table, shares, bounds)
    lots = len(bounds) - 1
    penalty = PENALTY * (1.0 if len(shares) == 2 else 0.75 * (len(shares) - 1))
    best, cut = [0.0], [0]
    for stop, costs in enumerate(cost.T.tolist()[1:], start=1):
        options = [before + own + penalty for before, own in zip(best, costs, strict=False)]
        cut.append(min(range(stop), key=options.__getitem__))
        best.append(options[cut[stop]])
    stop, found = lots, []
    while stop:
        found.append(int(bounds[cut[stop]]))
        stop = cut[stop]
    groups[:size] = np.searchsorted(np.array(found[::-1]), np.arange(size), side="right") - 1
    groups[size:] = len(found) + np.arange(table.cells - size)
    return groups


def _costs(table: NoisyTable, shares: Floats, bounds: NDArray[np.intp]) -> Floats:
    """cost[b, e]: the squared residuals of the bins from bounds[b] to bounds[e] about the shares of all of them."""
    values, size = table.values[:, : table.ordered], table.ordered
    classes, lots = len(shares), len(bounds) - 1
    sums = np.concatenate([np.zeros((classes, 1)), values.cumsum(axis=1)], axis=1)[:, bounds]
    cells, variance, spread = values.sum(axis=0), table.variance, float(table.variance.mean())
    beyond = np.maximum(cells, 0.0)
    kept = slice(0, classes - 1 if classes == 2 else classes)
    result = np.full((lots + 1, lots + 1), np.inf)
    chunk = max(1, ROOM // (classes * lots * size))  # first bins that are tried at once
    for low in range(0, lots, chunk):
        firsts = np.arange(low, min(low + chunk, lots))
        starts, stops = bounds[firsts], bounds[1:]
        length = np.maximum(stops - starts[:, None], 0)  # first, stop
        inside = np.maximum(sums[:, None, 1:] - sums[:, firsts, None], 0.0)
        inside = inside + shares[:, None, None] * (1 + 0.5 * np.sqrt(spread * length))
        p = (inside / inside.sum(axis=0))[kept, :, :, None]  # class, first, stop, 1
        noise = (1 - 2 * p) * variance[kept, None, None, None] + p**2 * variance.sum()
        gap = values[kept, None, None] - p * cells
        squares = (gap**2 / (noise + beyond * p * (1 - p) + 0.5)).sum(axis=0)
        squares[np.broadcast_to((np.arange(size) < starts[:, None])[:, None], squares.shape)] = 0.0
        found = squares.cumsum(axis=2)[:, np.arange(lots), stops - 1]
        result[firsts, 1:] = np.where(length > 0, found, np.inf)
    return result
