"""Sensitivities: how far one neighbour can move each statistic (proof: docs/proofs/additive-noise.md)."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

from discreet.privacy.budget import Adjacency
from discreet.privacy.plan import moved_rows


@dataclass(frozen=True)
class Sensitivity:
    """The L1 sensitivity and the square of the L2 sensitivity, both exact."""

    l1: Fraction
    l2_squared: Fraction


def table_sensitivity(adjacency: Adjacency, contributions: int = 1) -> Sensitivity:
    """A count table: a row sits in exactly one cell; a changed row leaves one and enters another."""
    moved = moved_rows(adjacency)
    return Sensitivity(Fraction(moved * contributions), Fraction(moved * contributions**2))


def sum_sensitivity(half: int, adjacency: Adjacency, contributions: int = 1) -> Sensitivity:
    """Sums of lattice points by class: a point is at most `half`; a changed row moves one sum by 2·half."""
    reach = Fraction(half * moved_rows(adjacency, contributions))
    return Sensitivity(reach, reach**2)


def square_sensitivity(half: int, adjacency: Adjacency, contributions: int = 1) -> Sensitivity:
    """Sums of squares re-centred by half²/2, so that each term lies within ± half²/2."""
    reach = Fraction(half**2, 2) * moved_rows(adjacency, contributions)
    return Sensitivity(reach, reach**2)
