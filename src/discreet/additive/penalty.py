"""The penalty: a chain of squares over the columns, whose inverse is known entry by entry.

Σ_c pull_c·(θ_c − link_c·θ_{c−1})² is the energy of independent columns where `link` is 0, and of columns that follow
one another on a line elsewhere: their prior is a stationary process, correlated by link^k over k columns.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import solveh_banded

from discreet.additive.blocks import Blocks
from discreet.privacy.calibrate import float_up

Floats = NDArray[np.float64]
LENGTH = 0.5  # of a line: as far as values of a smooth block are alike
_U = 2.0**-52


@dataclass(frozen=True, eq=False)
class Chain:
    """½·Σ pull·(θ − link·θ before)² over one class' columns."""

    pull: Floats
    link: Floats

    def _parts(self, gap: Floats) -> Floats:
        before = np.zeros_like(gap)
        before[:, 1:] = gap[:, :-1]
        return self.pull * (gap - self.link * before)

    def value(self, gap: Floats) -> float:
        """The energy of θ = centre + gap, one row per class."""
        parts = self._parts(gap)
        return float(np.sum(parts * parts / self.pull)) / 2

    def gradient(self, gap: Floats) -> Floats:
        """Γ·gap."""
        parts = self._parts(gap)
        result = parts.copy()
        result[:, :-1] -= self.link[1:] * parts[:, 1:]
        return result

    def precise_gradient(self, gap: Any) -> Any:
        """Γ·gap for whole numbers, off by one each."""
        pull, link = ([Fraction(value) for value in side.tolist()] for side in (self.pull, self.link))
        result = np.full(gap.shape, 0, object)
        for line, own in zip(result, gap.tolist(), strict=True):
            before = [0, *own[:-1]]
            parts = [p * (g - k * b) for p, k, g, b in zip(pull, link, own, before, strict=True)]
            after = [*(k * part for k, part in zip(link[1:], parts[1:], strict=True)), 0]
            line[:] = [math.floor(part - more) for part, more in zip(parts, after, strict=True)]
        return result

    def rounding(self, gap: Floats) -> float:
        """A bound on the norm of what rounding did to the gradient, that of θ − centre included."""
        size = np.abs(gap)
        before = np.zeros_like(size)
        before[:, 1:] = size[:, :-1]
        parts = self.pull * (size + self.link * before)
        whole = parts.copy()
        whole[:, :-1] += self.link[1:] * parts[:, 1:]
        return 8 * _U * float(np.linalg.norm(whole))

    def strain(self) -> float:
        """How much larger than the gradient, at most, are the sizes of its terms: the norm of |Γ|·Γ⁻¹, about."""
        whole, rows = self.diagonal(), self.solve(np.ones(len(self.pull)))
        off = self.pull[1:] * self.link[1:]
        result = whole * rows
        result[1:] += off * rows[:-1]
        result[:-1] += off * rows[1:]
        return float(result.max())

    def matrix(self) -> Floats:
        """Γ."""
        result = np.diag(self.pull)
        result[:-1, :-1] += np.diag(self.pull[1:] * self.link[1:] ** 2)
        off = -self.pull[1:] * self.link[1:]
        return np.asarray(result + np.diag(off, 1) + np.diag(off, -1))

    def solve(self, vector: Floats) -> Floats:
        """Γ⁻¹·vector."""
        bands = np.zeros((2, len(vector)))
        bands[1] = self.diagonal()
        bands[0, 1:] = -self.pull[1:] * self.link[1:]
        return np.asarray(solveh_banded(bands, vector, check_finite=False))

    def diagonal(self) -> Floats:
        """The diagonal of Γ."""
        result = self.pull.copy()
        result[:-1] += self.pull[1:] * self.link[1:] ** 2
        return result

    def reach(self) -> tuple[float, float]:
        """Of Γ⁻¹, whose entries are not negative: the sum of all of them, and the largest sum of a row, from above."""
        size = len(self.pull)
        left, right, spread = np.empty(size), np.zeros(size), np.empty(size)
        last, tail = 0.0, 0.0
        for c in range(size):  # spread = variance; left = Σ over the columns up to c of their covariance with c
            last = self.link[c] ** 2 * last + 1 / self.pull[c]
            tail = last + self.link[c] * tail
            spread[c], left[c] = last, tail
        for c in range(size - 2, -1, -1):  # Σ over the columns after c, as multiples of the variance of c
            right[c] = self.link[c + 1] * (1 + right[c + 1])
        rows = left + spread * right
        return float(rows.sum()) * (1 + 1e-9), float(rows.max()) * (1 + 1e-9)


def make_chain(blocks: Blocks, strengths: list[float], constant: float) -> Chain:
    """Γ with (Γ⁻¹)_cc ≤ 1/strength in every block and 1/constant for the constant, in exact arithmetic.

    By induction over a line: if the variance before is at most 1/strength, the next is link²/strength + 1/pull, which
    is at most 1/strength if pull ≥ strength/(1 − link²).
    """
    pull, link = np.empty(blocks.columns), np.zeros(blocks.columns)
    for size, line, start, strength in zip(blocks.sizes, blocks.ordered, blocks.starts, strengths, strict=False):
        pull[start : start + size] = strength
        if line > 1:
            tie = math.exp(-1 / (LENGTH * line))
            link[start + 1 : start + line] = tie
            pull[start + 1 : start + line] = float_up(Fraction(strength) / (1 - Fraction(tie) ** 2))
    pull[-1] = constant
    return Chain(pull, link)
