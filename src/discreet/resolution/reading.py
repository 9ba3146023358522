"""Reading a noisy fine table at several scales at once: post-processing, which sees noisy counts and nothing else.

A curve over the cells is a smooth chain (Ornstein-Uhlenbeck) plus a part that is each cell's own (atoms, sentinel
values). How far either goes and how long the chain remembers is not chosen: readings of all tried scales are averaged
by their evidence, so that noise pools many cells and signal few.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from discreet.bayes.denoising.chain import chains

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]
LEVELS = 12  # of a number's excess, at most
PRICE = 1.0  # of a level, beside the logarithm of the number of cells
ROOM = 2048  # cells that are read together, in a core's own cache


def _averaged(seen: Floats, size: Floats, noise: Floats, tries: Sequence[tuple[float, float, float]]) -> Floats:
    """The posterior mean of f + w by seen = size·(f + w) + noise, of these variances, averaged over what is tried.

    Each try is a variance of the chain f, its memory, and a variance of w; they are weighted by their evidence.
    """
    told, known = size * seen / noise, size * size / noise
    found = []
    step = max(1, ROOM // len(seen))
    for at in range(0, len(tries), step):
        spread, memory, own = np.array(tries[at : at + step]).T
        many = len(own)
        seen_of, lengths = (np.tile(told, many), np.tile(known, many)), np.full(many, len(seen))
        found.append(chains(*seen_of, lengths, spread, memory, own))
    evidence, means = (np.concatenate(parts) for parts in zip(*found, strict=True))
    weights = np.exp(evidence - evidence.max())
    return np.asarray(weights @ means.reshape(len(tries), -1) / weights.sum())


def shares(table: Floats, variance: float, rows: float) -> Floats:
    """Shares of the rows by cell, from noisy counts of that variance."""
    cells = len(table)
    even = rows / cells
    tries = [
        ((a * even) ** 2, math.exp(-1 / (cells * far)), (b * even) ** 2)
        for a in (0.3, 1.0, 2.0, 4.0)
        for far in (0.03, 0.15, 0.6)
        for b in (0.05, 0.5, 5.0, 30.0)
    ]
    more = _averaged(table - even, np.ones(cells), np.full(cells, variance + even), tries)
    found = np.maximum(even + more, 0.02 * even)
    return np.asarray(found / found.sum())


@dataclass(frozen=True, eq=False)
class Reading:
    """What a noisy table of a number says of a class, the second of two or one of several: shares of the rows by cell,
    and by how much the class is more probable in a cell than at large.
    """

    shares: Floats
    excess: Floats


def read(
    table: Floats, variance: float, rows: float, share: float, which: int = 1, part: Floats | None = None
) -> Reading:
    """Read noisy counts by class and cell for one class, whose share is given; `variance` is that of each count.

    `part` are the shares of the rows by cell, where they have been read before.
    """
    total, spread = table.sum(axis=0), share * (1 - share)
    classes, cells = table.shape
    part = shares(total, classes * variance, rows) if part is None else part
    noise = variance * ((1 - share) ** 2 + (classes - 1) * share**2) + rows * part * spread + 0.25
    tries = [
        (a * a * spread, math.exp(-1 / (cells * far)), b * b)
        for a in (0.03, 0.12, 0.4, 1.0)
        for far in (0.02, 0.1, 0.5)
        for b in (0.0, 0.1, 0.4)
    ]
    found = _averaged(table[which] - share * total, rows * part, noise, tries)
    found = np.clip(found, -share + 0.002, 1 - share - 0.002)
    return Reading(part, np.asarray(found - found @ part))


def quantiles(part: Floats, count: int) -> list[int]:
    """Where `count` runs of cells begin, but for the first, with the least Σ share²: heavy cells stay alone."""
    below, cells = np.concatenate([[0.0], np.cumsum(part)]), len(part)
    cost = (below[None] - below[:, None]) ** 2
    cost[np.tril_indices(cells + 1)] = np.inf
    best, back = np.full(cells + 1, np.inf), []
    best[0] = 0.0
    for _ in range(min(count, cells)):
        step = best[:, None] + cost
        back.append(step.argmin(axis=0))
        best = step.min(axis=0)
    found = [cells]
    for one in back[::-1]:
        found.append(int(one[found[-1]]))
    return sorted({spot for spot in found if 0 < spot < cells})


def levels(
    part: Floats, excess: Floats, rows: float, spread: float, noise: float, most: int = LEVELS
) -> tuple[Integers, int]:
    """Cells put together by their excess: which level each cell has, and how many levels there are, `most` at most.

    Least Σ rows·(excess − that of its level)²/spread + Σ over levels (price + noise/(rows of the level·spread)): what a
    level hides, and what another weight costs under the noise of the fit to come. The price is the logarithm of the
    number of cells that it might have been, and twice as much again and again until there are few enough levels.
    """
    price = PRICE * math.log(len(part))
    while True:
        label, count = _levels(part, excess, rows, spread, noise, price)
        if count <= most:
            return label, count
        price *= 2


def _levels(
    part: Floats, excess: Floats, rows: float, spread: float, noise: float, price: float
) -> tuple[Integers, int]:
    order = np.argsort(excess, kind="stable")
    weight, value, cells = rows * part[order], excess[order] / math.sqrt(spread), len(part)
    sums = (np.concatenate([[0.0], np.cumsum(one)]) for one in (weight, weight * value, weight * value * value))
    mass, first, square = (one[None] - one[:, None] for one in sums)
    cost = square - first**2 / np.maximum(mass, 1e-12) + price + noise / np.maximum(spread * mass, 1e-9)
    cost[np.tril_indices(cells + 1)] = np.inf
    best, cut = np.zeros(cells + 1), np.zeros(cells + 1, np.int64)
    for stop in range(1, cells + 1):
        options = best[:stop] + cost[:stop, stop]
        cut[stop] = options.argmin()
        best[stop] = options[cut[stop]]
    label, stop, count = np.zeros(cells, np.int64), cells, 0
    while stop:
        label[order[cut[stop] : stop]] = count
        stop, count = int(cut[stop]), count + 1
    return label, count


def left_over(reading: Reading, spots: Floats, knots: Floats) -> Floats:
    """What straight lines through the knots leave of the excess, cell by cell."""
    hats = np.stack([np.interp(spots, knots, row) for row in np.eye(len(knots))], axis=1)
    root = np.sqrt(reading.shares)[:, None]
    weights = np.linalg.lstsq(hats * root, reading.excess * root[:, 0], rcond=1e-8)[0]
    return np.asarray(reading.excess - hats @ weights)
