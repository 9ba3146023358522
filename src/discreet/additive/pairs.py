"""Pairs: which two features together explain what a released model leaves unexplained, chosen privately."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from fractions import Fraction
from itertools import combinations
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.additive.blocks import Blocks
from discreet.loops import machine_code
from discreet.mechanisms.choose import choice_rate, choose, coins_of
from discreet.mechanisms.noise import Sampler
from discreet.sources import Held

WHOLE = 1 << 20  # a probability of one, as a whole number
MOST_CELLS = 64
MOST_CANDIDATES = 2000


def candidates(blocks: Blocks) -> list[tuple[int, int]]:
    """The pairs whose blocks are not too large, the smallest first if there are very many."""
    cells = {j: blocks.pair_cells(j) for j in blocks.singles}
    several = [j for j, size in cells.items() if size > 1]
    found = [(a, b) for a, b in combinations(several, 2) if cells[a] * cells[b] <= MOST_CELLS]
    if len(found) > MOST_CANDIDATES:
        found = sorted(sorted(found, key=lambda pair: cells[pair[0]] * cells[pair[1]])[:MOST_CANDIDATES])
    return found


def residual_points(scores: Any, labels: Any, out: Any) -> None:
    """out[i, k] = probability of class k less the truth, in whole numbers: of row i alone, whatever the others are."""
    classes = scores.shape[1]
    for i in range(len(scores)):
        top = scores[i, 0]
        for k in range(1, classes):
            top = max(top, scores[i, k])
        total = 0.0
        for k in range(classes):
            total += np.exp(scores[i, k] - top)
        for k in range(classes):
            # Rounded down, so that the residuals of a row add up to at most two in size.
            out[i, k] = np.int64(np.exp(scores[i, k] - top) / total * 1048576.0)
        own = labels[i]
        rest = 0
        for k in range(classes):
            if k != own:
                rest += out[i, k]
        out[i, own] = -rest


def residuals(scores: NDArray[np.float64], labels: NDArray[Any]) -> NDArray[np.int64]:
    """Whole residuals of rows under released scores; the sizes of one row's add up to at most 2·WHOLE."""
    out = np.empty(scores.shape, np.int64)
    machine_code(residual_points).residual_points(scores, labels.astype(np.int64), out)
    return out


def masses(
    blocks: Blocks, parts: Iterable[tuple[Sequence[Held], NDArray[np.int64]]], pairs: list[tuple[int, int]]
) -> list[int]:
    """For each pair, the sizes of the summed residuals of its cells and classes, added up.

    `parts` are what is held of some rows at a time, and their residuals.
    """
    sums: dict[tuple[int, int], Any] = dict.fromkeys(pairs, 0)
    for held, points in parts:
        codes = {j: blocks.pair_codes(j, held[j]) for j in {j for pair in pairs for j in pair}}
        for a, b in pairs:
            cell = codes[a] * blocks.pair_cells(b) + codes[b]
            size = blocks.pair_cells(a) * blocks.pair_cells(b)
            # Sums of doubles are exact here: whole numbers below 2⁵³ for fewer than 2³³ rows.
            sums[a, b] += np.stack([np.bincount(cell, weights=column, minlength=size) for column in points.T])
    return [int(np.abs(sums[pair]).sum()) for pair in pairs]


def choose_pairs(scores: list[int], pairs: list[tuple[int, int]], count: int, epsilon: Fraction | None, moved: int,
                 sampler: Sampler) -> tuple[tuple[int, int], ...]:  # fmt: skip
    """`count` of the pairs, one after the other, each by a private choice at an equal share of ε."""
    left, chosen = list(range(len(pairs))), []
    coins = coins_of(sampler)
    rate = None if epsilon is None else choice_rate(epsilon / count, 2 * WHOLE * moved)
    for _ in range(count):
        spot = choose([scores[j] for j in left], rate, coins=coins)
        chosen.append(pairs[left.pop(spot)])
    return tuple(sorted(chosen))
