"""Loudness: how loud the noise on tables of pairs will be, by either mechanism, before it is known which are taken."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache

from discreet.bayes.bundling import cell_square
from discreet.dependence.pairs import Pair
from discreet.mechanisms.residual import Residual
from discreet.privacy.budget import Adjacency
from discreet.privacy.calibrate import root_down
from discreet.schema import Schema


@dataclass(frozen=True)
class Sizes:
    """Cells of features and of their pairs, on average."""

    features: int
    area: float
    mean: float

    @classmethod
    def of(cls, schema: Schema, pairs: Sequence[Pair]) -> Sizes:
        """The sizes of a schema's features and of some pairs of them."""
        sizes = [feature.cells for feature in schema.features]
        areas = [sizes[a] * sizes[b] for a, b in pairs]
        return cls(len(sizes), sum(areas) / max(len(areas), 1), sum(sizes) / len(sizes))

    def alone(self, pairs: int) -> int:
        """How many features are in none of so many pairs, at least."""
        return max(0, self.features - 2 * pairs)


@dataclass(frozen=True)
class Pure:
    """K-norm noise: `tables` is the scale with choices before the tables, `whole` without any; `choice` their ε."""

    sizes: Sizes
    tables: float
    whole: float
    choice: Fraction

    def cell(self, size: float, pairs: int) -> float:
        """The deviation of the noise on one cell, the common sum of all tables left aside, if so many are taken."""
        dim = pairs * self.sizes.area + self.sizes.alone(pairs) * self.sizes.mean
        return table_noise(size, dim, self.tables if pairs else self.whole)

    def each(self, rounds: int) -> Fraction:
        """What each of so many choices may cost."""
        return self.choice / rounds


@dataclass(frozen=True)
class Gaussian:
    """Gaussian noise in a residual basis at ρ of its part, and choices of bounded range, ε²/8 each."""

    sizes: Sizes
    tables: Fraction
    choice: Fraction
    adjacency: Adjacency
    contributions: int

    def cell(self, size: float, pairs: int) -> float:
        """The deviation of the noise on one cell, the common sum of all tables left aside, if so many are taken."""
        rho = self.tables if pairs else self.tables + self.choice
        spread = _spread(self.sizes, pairs, self.adjacency, self.contributions) / (2 * float(rho))
        return math.sqrt(spread / math.sqrt(size) * (1 - 1 / size))

    def each(self, rounds: int) -> Fraction:
        """The ε of each of so many choices: exponential mechanisms whose ρ add up."""
        return root_down(8 * self.choice / rounds)

    def better(self, other: Pure, pairs: int) -> bool:
        """Whether tables are quieter and choices have at least the ε of the pure way, if so many pairs are taken."""
        size = self.sizes.area if pairs else self.sizes.mean
        quieter = size > 1 and self.cell(size, pairs) < other.cell(size, pairs)
        return quieter and (not pairs or self.each(pairs) >= other.each(pairs))


@lru_cache(4096)
def _spread(sizes: Sizes, pairs: int, adjacency: Adjacency, contributions: int) -> float:
    cells = [round(sizes.area)] * pairs + [round(sizes.mean)] * sizes.alone(pairs)
    return float(Residual(tuple(cells)).reach(adjacency, contributions))


def table_noise(size: float, dim: float, scale: float) -> float:
    """The standard deviation of K-norm noise on one cell, the common sum of all tables left aside."""
    return math.sqrt((dim + 1) * (dim + 2) * cell_square(max(2, round(size)))) * scale
