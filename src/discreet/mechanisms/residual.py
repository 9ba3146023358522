"""Count tables of one class in a residual basis: its rows, and what each table has beside them, by Gaussian noise.

A row adds one to the class total N and e_c to each table T_j of s_j cells. Released are N and s_j·T_j − N·1, integers
in which a row moves one cell by s_j − 1 and the others by −1: beside N a table has only 1 − 1/s_j of a row's square
(proof: docs/proofs/residual.md).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from discreet.mechanisms.noise import Sampler, gaussian_variance
from discreet.privacy.budget import Adjacency
from discreet.privacy.calibrate import Moves

Integers = NDArray[np.int64]
Floats = NDArray[np.float64]
_FINE = 1 << 20


@dataclass(frozen=True)
class Residual:
    """Tables of these sizes; σ² of what table j has beside the total is spread/weights[j], of the total spread/common.

    The weights make the sum of all cells' variances least: σ_j² ∝ s_j^(−½), σ₀² ∝ (Σ 1/s_j)^(−½).
    """

    sizes: tuple[int, ...]

    @cached_property
    def weights(self) -> tuple[Fraction, ...]:
        """One over the variance of each table's own part, at a spread of one."""
        return tuple(Fraction(round(math.sqrt(size) * _FINE), _FINE) for size in self.sizes)

    @cached_property
    def common(self) -> Fraction:
        """One over the variance of the total, at a spread of one."""
        return Fraction(round(math.sqrt(sum(1 / size for size in self.sizes)) * _FINE) + 1, _FINE)

    def reach(self, adjacency: Adjacency, contributions: int = 1) -> Fraction:
        """Twice ρ at a spread of one: the largest square of what a neighbour moves, in units of the noise."""
        parts = list(zip(self.sizes, self.weights, strict=True))
        one = self.common + sum((weight * Fraction(size - 1, size) for size, weight in parts), Fraction(0))
        if adjacency is Adjacency.REPLACE:
            # A new label takes a row from one class to another; with the old one, each table has two cells that move.
            same = sum((weight for size, weight in parts if size > 1), Fraction(0))
            one = max(2 * one, 2 * same)
        return one * contributions**2

    def moves(self, adjacency: Adjacency) -> tuple[Moves, ...]:
        """What a neighbour with one row can move: for each case (σ² at ρ = 1, by how much, how many integers)."""
        spread = self.reach(adjacency) / 2
        parts = [(s, s * s * spread / w) for s, w in zip(self.sizes, self.weights, strict=True) if s > 1]
        times = 1 if adjacency is Adjacency.ADD_REMOVE else 2
        row: list[tuple[Fraction, int, int]] = [(spread / self.common, 1, times)]
        for size, variance in parts:
            row += [(variance, size - 1, times), (variance, 1, times * (size - 1))]
        if adjacency is Adjacency.ADD_REMOVE:
            return (tuple(row),)
        return tuple(row), tuple((variance, size, 2) for size, variance in parts)

    def variances(self, spread: Fraction) -> tuple[list[float], float]:
        """The variance of one cell of each table as it is put together again, and that of the total."""
        whole = gaussian_variance(float(spread / self.common))
        own = [
            gaussian_variance(float(s * s * spread / w)) / (s * s) * (1 - 1 / s) + whole / s**2
            for s, w in zip(self.sizes, self.weights, strict=True)
        ]
        return own, whole

    def released(self, tables: Sequence[Integers], spread: Fraction, sampler: Sampler) -> list[Floats]:
        """The tables of one class with noise; all have the same sum, which is the noisy total."""
        gaussian: Callable[[Integers, Fraction], Integers] = sampler.gaussian
        rows = gaussian(_held(tables[0], 0), spread / self.common)
        found = []
        for table, size, weight in zip(tables, self.sizes, self.weights, strict=True):
            beside = np.zeros(table.shape)
            if size > 1:
                noisy = gaussian(_held(table, size), size * size * spread / weight).astype(np.float64)
                beside = noisy - noisy.mean(axis=-1, keepdims=True)
            found.append((beside + rows) / size)
        return found


def _held(table: Integers, size: int) -> Integers:
    """size·T − N·1, or N for size 0, held within 64 bits: a row moves it by no more than it moves the integer."""
    wide = max(int(table.max(initial=0)), -int(table.min(initial=0))) * max(size, table.shape[-1]) >= 2**61
    cells = table.astype(object) if wide else table
    rows = cells.sum(axis=-1, keepdims=True)
    found = size * cells - rows if size else rows
    return np.asarray(np.clip(found, -(2**63), 2**63 - 1) if wide else found, dtype=np.int64)
