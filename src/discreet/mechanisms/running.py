"""Running sums under noise: which integer sums of steps get noise, and how they add up to the sum so far.

Every step has integers x_s. What gets fresh noise are integer combinations C·x, each of steps that have been, so that
the row of a person, which is in one step, moves them by one column of C. The sum so far is a combination of what was
released: post-processing, in floating point (proof: docs/proofs/running.md).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache, cached_property
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]
MOST = 10_000  # steps


class Running(Protocol):
    """How the sums of up to `steps` steps are released."""

    @property
    def steps(self) -> int:
        """The most steps."""

    @property
    def reach(self) -> int:
        """The largest norm of a column of C: L1 for a tree, the square of L2 for a root."""

    @property
    def name(self) -> str:
        """What it is, in words."""

    def emitted(self, step: int) -> list[tuple[int, ...]]:
        """The combinations released at a step: coefficients of the latest steps, this one last."""

    def kept(self, step: int) -> int:
        """How many of the latest steps' integers are still needed after this one."""

    def weights(self, step: int) -> Floats:
        """The sum of all steps so far, as a combination of all that was released so far, in its order."""

    @property
    def mean_square(self) -> float:
        """The variance of the sum so far over that of one draw of noise, in the mean over all steps."""


def mean_square(running: Running, step: int) -> float:
    """The variance of the sum so far over that of one draw of noise."""
    return float(np.sum(running.weights(step) ** 2))


@dataclass(frozen=True)
class Tree:
    """Blocks of `branches` blocks on `levels` levels; the lowest are single steps. Noise goes on every whole block.

    A step is in at most one block of each level, so a column of C has at most `levels` ones.
    """

    steps: int
    branches: int
    levels: int

    @property
    def reach(self) -> int:
        return self.levels

    @property
    def name(self) -> str:
        return f"blocks of steps on {self.levels} level(s), each of {self.branches} of the level below"

    def emitted(self, step: int) -> list[tuple[int, ...]]:
        sizes = [self.branches**level for level in range(self.levels)]
        return [(1,) * size for size in sizes if step % size == 0]

    def kept(self, step: int) -> int:
        return step % int(self.branches ** (self.levels - 1))

    @cached_property
    def variances(self) -> tuple[float, ...]:
        """The variance of a block's sum, from its own noise and that of all blocks inside, by least squares."""
        found = [1.0]
        for _ in range(1, self.levels):
            inside = self.branches * found[-1]
            found.append(inside / (1 + inside))
        return tuple(found)

    def weights(self, step: int) -> Floats:
        sizes = [self.branches**level for level in range(self.levels)]
        before = [sum((end - 1) // size for size in sizes) for end in range(1, step + 2)]
        found = np.zeros(before[step])

        def spread(level: int, end: int, factor: float) -> None:
            """Write a block's sum as its own release and those inside, each by what it is worth."""
            own = self.branches * self.variances[level - 1] if level else math.inf
            share = own / (1 + own) if level else 1.0
            found[before[end - 1] + level] += factor * share
            if level:
                for inner in range(self.branches):
                    spread(level - 1, end - inner * sizes[level - 1], factor * (1 - share))

        start = 0
        for level in reversed(range(self.levels)):
            while start + sizes[level] <= step:
                start += sizes[level]
                spread(level, start, 1.0)
        return found

    @cached_property
    def mean_square(self) -> float:
        left, total = np.arange(1, self.steps + 1), np.zeros(self.steps)
        for level in reversed(range(self.levels)):
            size = self.branches**level
            total += left // size * self.variances[level]
            left = left % size
        return float(total.mean())


@cache
def best_tree(steps: int) -> Tree:
    """The tree whose running sums err least in the mean over all steps, at one ε shared evenly by its levels."""
    found = [Tree(steps, steps, 1)]
    for branches in range(2, min(steps, 128) + 1):
        levels = 2
        while branches ** (levels - 1) <= steps:
            found.append(Tree(steps, branches, levels))
            levels += 1
    return min(found, key=lambda tree: tree.mean_square * tree.levels**2)


@dataclass(frozen=True)
class Root:
    """C is the square root of the matrix of running sums, its entries rounded to whole numbers of 1/scale.

    Lower triangular, the same on each diagonal: step s has the coefficient c(t−s) in what is released at step t. Noise
    of one law at every step; the inverse of the rounded C undoes it exactly, so rounding costs no more than a little
    of the best accuracy.
    """

    steps: int

    @property
    def name(self) -> str:
        return "the square root of the matrix of running sums, in whole numbers"

    @cached_property
    def coefficients(self) -> tuple[int, ...]:
        """c(0), …, c(T − 1): binom(2j, j)/4^j times the scale, rounded."""
        scale = 1 if self.steps == 1 else 1 << math.ceil(math.log2(16 * math.sqrt(math.pi * self.steps)))
        found, value = [], float(scale)
        for j in range(self.steps):
            found.append(max(round(value), 1))
            value *= (2 * j + 1) / (2 * j + 2)
        return tuple(found)

    @cached_property
    def reach(self) -> int:
        """The first column is the longest: a later one has fewer of the same entries."""
        return sum(one * one for one in self.coefficients)

    def emitted(self, step: int) -> list[tuple[int, ...]]:
        return [self.coefficients[:step][::-1]]

    def kept(self, step: int) -> int:
        return step if step < self.steps else 0

    @cached_property
    def _undone(self) -> Floats:
        """The running sums of C's inverse: coefficients of 1/((1 − x)·C(x))."""
        given = np.array(self.coefficients, np.float64)
        inverse = np.zeros(self.steps)
        inverse[0] = 1 / given[0]
        for j in range(1, self.steps):
            inverse[j] = -float(given[1 : j + 1] @ inverse[j - 1 :: -1][:j]) / given[0]
        return np.cumsum(inverse)

    def weights(self, step: int) -> Floats:
        return self._undone[:step][::-1]

    @cached_property
    def mean_square(self) -> float:
        return float(np.cumsum(self._undone**2).mean())


def combined(parts: Sequence[Integers], coefficients: Sequence[int]) -> Integers:
    """Σ coefficient·part, exactly, or held within 64 bits: a row moves it by no more than it moves the sum itself."""
    largest = max((max(int(part.max(initial=0)), -int(part.min(initial=0))) for part in parts), default=0)
    wide = largest * sum(map(abs, coefficients)) >= 2**62
    total = np.zeros_like(parts[0], dtype=object if wide else np.int64)
    for part, factor in zip(parts, coefficients, strict=True):
        total += part.astype(total.dtype) * factor
    return np.asarray(np.clip(total, -(2**63), 2**63 - 1) if wide else total, dtype=np.int64)
