"""Chains: unknowns along ordered cells that change smoothly, with a part that is each cell's own; post-processing only.

What is known of each cell is a normal likelihood, so that a chain (Ornstein-Uhlenbeck) has a precision of three
diagonals. Chains are laid end to end, with nothing between them: one factorisation reads any number of them.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import lapack

Floats = NDArray[np.float64]
Integers = NDArray[np.intp]


def chains(
    told: Floats, known: Floats, lengths: Integers, spread: Floats, memory: Floats, own: Floats
) -> tuple[Floats, ...]:
    """The log-evidence of each chain and the posterior mean in each cell, of f + w: f a chain and w white.

    The likelihood of a cell is exp(told·(f + w) − known·(f + w)²/2), with any other factor left out of the evidence.
    By chain: `lengths` in cells, `spread` and `own` the variances of f and w, `memory` the correlation of neighbours.
    """
    return _read(told, known, lengths, spread, memory, own)[:2]


def cavities(
    told: Floats, known: Floats, lengths: Integers, spread: Floats, memory: Floats, own: Floats
) -> tuple[Floats, Floats, Floats]:
    """The log-evidence of each chain, and mean and variance of f + w in each cell by all others of its chain."""
    evidence, _, centre, doubt = _read(told, known, lengths, spread, memory, own, True)
    return evidence, centre, doubt


def _read(
    told: Floats, known: Floats, lengths: Integers, spread: Floats, memory: Floats, own: Floats, others: bool = False
) -> tuple[Floats, ...]:
    starts = np.cumsum(lengths) - lengths
    ends = np.zeros(len(told))  # how many ends of its chain a cell is
    ends[starts] += 1.0
    ends[starts + lengths - 1] += 1.0
    fresh = spread * (1 - memory * memory)
    white, kept, each = (np.repeat(one, lengths) for one in (own, memory, 1 / fresh))
    less = 1 + white * known  # w makes a cell tell this many times less of f
    ties = -kept[1:] * each[1:]
    ties[starts[1:] - 1] = 0.0
    ties = ties if len(ties) else np.zeros(1)  # which a single cell has no use for
    diagonal = (1 + kept * kept * (1 - ends)) * each + known / less
    pivots, lower, _ = lapack.dpttrf(diagonal, ties)
    mean = lapack.dpttrs(pivots, lower, told / less)[0]
    gained = told * (mean + white * told) / less - np.log(pivots * less)
    evidence = np.add.reduceat(gained, starts) - np.log(spread) - (lengths - 1) * np.log(fresh)
    found = np.asarray(0.5 * evidence), mean + white * (told - known * mean) / less
    if not others:
        return found
    back = lapack.dpttrf(diagonal[::-1], ties[::-1])[0][::-1]
    whole = pivots + back - diagonal  # the precision of f by all cells
    rest = np.maximum(whole - known / less, 1e-12 * whole)
    return *found, (mean * whole - told / less) / rest, 1 / rest + white
