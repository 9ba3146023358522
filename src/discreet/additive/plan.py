"""The plan of one fit: bundles of blocks with their noise, penalties from what is known, and the final lattice."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property, lru_cache
from typing import Any

import numpy as np

from discreet.additive.blocks import Blocks
from discreet.additive.bound import check_cost, objective_cost, reach, widest
from discreet.additive.normal import check_normal, widest_slope
from discreet.additive.penalty import Chain, make_chain
from discreet.additive.solve import row_errors, row_rounding
from discreet.bayes.bundling import bundle_cost, bundle_tables, cell_square
from discreet.estimators.counts import ClassCounts
from discreet.linear.plan import final_deviation, finish_charge
from discreet.mechanisms.kvectors import KVector
from discreet.privacy.calibrate import float_up, fraction_down, sqrt_up, step_delta
from discreet.privacy.ledger import Charge, SmoothCharge
from discreet.privacy.unexpected import REFUSE

ZERO = Fraction(0)
FINISH = (Fraction(1, 128), Fraction(1, 64), Fraction(1, 16))  # of the budget: covers the solver's inexactness
CONSTANT = 0.1  # the part of the spread of scores that the constant may have
PRIOR = 8.0  # the variance of a score before anything is known, shared out over the blocks; at most one for each
CURVATURE = 0.1  # of a cell, relative to evenly filled cells of unrelated features at the class shares
SCORE, TERMS = 32.0, 1024.0  # of a score and of its terms, added up: more than they come to at a minimum
COMMON = 0.1  # the weight of the sum that blocks share under normal noise, against one of all they have beside it
SPREADS = (0.05, 0.1, 0.2, 0.4, 0.7, 1.0, 1.5, 2.5, 4.0, 7.0, 12.0)  # of scores, that normal noise is weighed against
GAIN = 1.0  # of what K-norm noise lets a fit learn, from which on normal noise is taken
FINER = 8  # bits by which the lattice is finer than it need be
SHARES = (1.0, 0.99, 0.98, 0.97, 0.96, 0.95, 0.94, 0.92, 0.9, 0.875, 0.85, 0.8, 0.75, 0.7, 0.6, 0.5, 0.35, 0.2, 0.1)


@dataclass(frozen=True)
class Bundle:
    """Blocks that share one draw of noise per class, at a rate that adds up with those of other bundles."""

    places: tuple[int, ...]
    rate: Fraction


@dataclass(frozen=True)
class FitPlan:
    """One objective perturbation: what is drawn, how weights are penalised and how the answer is rounded.

    `strengths` are the inverse prior variances of the blocks, `constant` that of the constant. `epsilons` are the costs
    of the noise vector and of the last step for one row; `lattice` and `steps` as in linear models. The common sum of
    the bundle at `anchor` is the constant's noise.

    Normal noise has `deviations` in place of bundles: of what each block has beside the common sum of all, and of that
    sum, which is the constant's noise, last. Its costs are those of one row that comes or goes, and `delta` is that of
    all rows that do between neighbours.
    """

    blocks: Blocks
    moved: int
    epsilons: tuple[Fraction, Fraction]
    bundles: tuple[Bundle, ...]
    strengths: tuple[float, ...]
    constant: float
    tolerance: float
    lattice: int
    steps: int
    anchor: int = 0
    unexpected: str = REFUSE
    deviations: tuple[float, ...] = ()
    delta: Fraction = Fraction(0)

    @property
    def private(self) -> bool:
        """Whether there is any noise."""
        return bool(self.bundles or self.deviations)

    @property
    def classes(self) -> int:
        """The number of classes."""
        return len(self.blocks.schema.classes)

    @property
    def vectors(self) -> int:
        """How many weights a column has: one for two classes, else one per class."""
        return 1 if self.classes == 2 else self.classes

    @cached_property
    def chain(self) -> Chain:
        """The penalty of one class."""
        return make_chain(self.blocks, list(self.strengths), self.constant)

    @property
    def spread(self) -> float:
        """q: the largest prior variance that a row's score can have, from above."""
        return (math.fsum(1 / s for s in self.strengths) + 1 / self.constant) * (1 + 1e-12)

    @property
    def rate(self) -> Fraction:
        """The rates of all bundles together."""
        return sum((bundle.rate for bundle in self.bundles), Fraction(0))

    @property
    def slope(self) -> float:
        """a: the largest √(xᵀΣ⁻¹x) of a row under normal noise, from above.

        A row's block has a square of at most 1 − 1/cells beside its sum, which is one.
        """
        *blocks, common = (1 / Fraction(deviation) ** 2 for deviation in self.deviations)
        parts = zip(self.blocks.sizes, blocks, strict=True)
        return sqrt_up(common + sum((weight * Fraction(size - 1, size) for size, weight in parts), Fraction(0)))

    @property
    def final_deviation(self) -> float:
        """The standard deviation of what the last step adds to a weight."""
        return final_deviation(self) if self.private else 0.0

    def noise(self) -> dict[str, Any]:
        """The noise of this fit as it stands in a model file: the variance of a cell, and of cells beside each other,
        at most, and the penalty of each block; and what the last step adds.
        """
        sizes = np.array(self.blocks.sizes, np.float64)
        if self.deviations:
            *own, common = (deviation**2 for deviation in self.deviations)
            cells = np.maximum(own, np.array(own) * (1 - 1 / sizes) + common / sizes**2)
        else:  # cells whose sum were always zero would err by this much beside each other
            groups, rates = [b.places for b in self.bundles], [float(b.rate) for b in self.bundles]
            cells = _cell_noise(self.blocks, groups, rates) * sizes / np.maximum(sizes - 1, 1)
        return {
            "cells": [float(f"{variance:.6g}") for variance in cells],
            "strengths": [float(f"{strength:.6g}") for strength in self.strengths],
            "final": float(f"{self.final_deviation:.6g}"),
        }

    def charges(self, contributions: int, what: str) -> list[Charge | SmoothCharge]:
        """The ledger entries."""
        if not self.private:
            return []
        first = self.epsilons[0]
        if self.deviations:
            moves = contributions * self.moved
            public = (("a", f"{self.slope:.6g}"), ("q", f"{self.spread:.6g}"), ("rows that come or go", str(moves)))
            return [
                SmoothCharge(
                    "objective perturbation, normal noise", what, "epsilon", first * moves, self.delta, public
                ),
                finish_charge(what, self, moves),
            ]
        row = f"one row: residual up to {self.moved * reach(self.classes)} in the K-norm, and its curvature"
        return [
            Charge("objective perturbation, K-norm noise", what, "K", row, 1 / self.rate, "epsilon",
                   first * contributions),
            finish_charge(what, self, contributions),
        ]  # fmt: skip


def plan_fit(
    blocks: Blocks, epsilon: Fraction | None, counts: ClassCounts, *, moved: int = 1, scales: Sequence[float] = (),
    delta: Fraction = ZERO, contributions: int = 1,
) -> FitPlan:  # fmt: skip
    """Noise and penalties for ε per row; `scales` are the prior deviations of the blocks (default: 1).

    With a δ, which is that of all rows of a person, noise is normal where that promises less error.
    Everything follows from the schema, ε, δ and the noisy class counts.
    """
    scale = np.array(scales) if len(scales) else np.ones(len(blocks.sizes))
    scale = scale * min(1.0, math.sqrt(PRIOR / len(blocks.sizes)))
    if epsilon is None:
        return _finished(blocks, moved, (ZERO, ZERO), (), 1 / scale**2, 1.0, counts, NONE)
    tried = [_plan_finish(blocks, epsilon, share, counts, moved, scale) for share in FINISH]
    error, best = min(tried, key=lambda found: found[0])
    normal = plan_normal(blocks, epsilon, delta, counts, moved, contributions, scale) if delta else None
    known = float(np.sum(scale**2))  # the error of a score before anything is fitted
    return normal[1] if normal is not None and gain(known, error, normal[0]) > GAIN else best


def gain(known: float, error: float, other: float) -> float:
    """What a fit with error `other` learns of a score, as a multiple of what one with `error` does."""
    return (known - other) / max(known - error, 1e-12 * known)


def plan_normal(blocks: Blocks, epsilon: Fraction, delta: Fraction, counts: ClassCounts, moved: int,
                 contributions: int, scale: np.ndarray) -> tuple[float, FitPlan] | None:  # fmt: skip
    """The plan with normal noise and the error that it promises; None if the budget leaves no room for it.

    A changed row is one that goes and one that comes, and so are all rows of a person: each step has its part of ε
    and of δ.
    """
    classes, sizes = len(blocks.schema.classes), np.array(blocks.sizes, np.float64)
    each = epsilon / moved
    if (moved * contributions - 1) * each > 700:
        return None  # no δ is left for one step
    epsilons = (each * (1 - FINISH[1]), each * FINISH[1])
    goal, tail = float(epsilons[0]), float(step_delta(delta, each, moved * contributions))
    weights = np.sqrt(sizes) / max(float(np.sum(np.sqrt(sizes) * (1 - 1 / sizes))), 1e-9)
    best: tuple[float, float, np.ndarray, float, Noise, np.ndarray] | None = None
    for spread in SPREADS:
        slope = widest_slope(goal, tail, spread, classes) * (1 - 1e-4)
        if slope <= 0:
            continue
        common = (1 + COMMON) / slope**2 / COMMON
        own = (1 + COMMON) / slope**2 / weights
        deviations = np.sqrt(np.append(own, common)) * (1 + 1e-9)
        # The sum that all blocks share tilts every score alike: the constant answers for it.
        noise = Noise(own * (1 - 1 / sizes), common, float(np.sum(deviations * np.append(sizes, 1))))
        strengths, constant, error = _penalties(blocks, noise, spread, counts, scale)
        if best is None or error < best[0]:
            best = (error, spread, strengths, constant, noise, deviations)
    if best is None:
        return None
    error, _, strengths, constant, noise, deviations = best
    finished = _finished(blocks, moved, epsilons, (), strengths, constant, counts, noise)
    plan = replace(finished, deviations=tuple(float(one) for one in deviations), delta=delta)
    check_normal(plan.slope, plan.spread, goal, tail, classes)
    return error + (len(blocks.sizes) + 1) * plan.final_deviation**2, plan


def _plan_finish(blocks: Blocks, epsilon: Fraction, finish: Fraction, counts: ClassCounts, moved: int,
                 scale: np.ndarray) -> tuple[float, FitPlan]:  # fmt: skip
    """The plan that leaves this share of ε to the last step, and the mean square error of a score that it promises."""
    classes = len(blocks.schema.classes)
    epsilons = (epsilon * (1 - finish), epsilon * finish)
    groups = bundle_tables(list(blocks.sizes))
    weights = np.array([max(bundle_cost([blocks.sizes[j] for j in group]), 1e-9) for group in groups]) ** (1 / 3)
    weights = weights / weights.sum()
    best: tuple[float, float, np.ndarray, float] | None = None
    goal = float(epsilons[0])
    for share in SHARES:
        rate = share * goal / (moved * reach(classes)) * (1 - 1e-8)
        spread = widest(rate, goal, classes, moved)
        if spread <= 0:
            continue
        strengths, constant, error = _penalties(
            blocks, _bundle_noise(blocks, groups, weights * rate), spread, counts, scale
        )
        if best is None or error < best[0]:
            best = (error, rate, strengths, constant)
    assert best is not None
    error, rate, strengths, constant = best
    bundles = tuple(
        Bundle(tuple(group), fraction_down(weight * rate)) for group, weight in zip(groups, weights, strict=True)
    )
    noise = _bundle_noise(blocks, groups, np.array([float(bundle.rate) for bundle in bundles]))
    plan = _finished(blocks, moved, epsilons, bundles, strengths, constant, counts, noise)
    check_cost(float_up(plan.rate), plan.spread, goal, classes, moved)
    return error + (len(blocks.sizes) + 1) * plan.final_deviation**2, plan


@dataclass(frozen=True, eq=False)
class Noise:
    """Variances of the noise of a cell, by block, and of the constant's; and the size of all draws, about."""

    cells: np.ndarray
    constant: float
    size: float


NONE = Noise(np.zeros(1), 0.0, 0.0)


def _bundle_noise(blocks: Blocks, groups: Sequence[Sequence[int]], rates: np.ndarray) -> Noise:
    drawn = sum(
        len(group) * sum(blocks.sizes[j] for j in group) / rate for group, rate in zip(groups, rates, strict=True)
    )
    return Noise(_cell_noise(blocks, groups, rates), _sum_noise(blocks, groups, rates), float(drawn))


def _penalties(blocks: Blocks, drawn: Noise, spread: float, counts: ClassCounts,
               scale: np.ndarray) -> tuple[np.ndarray, float, float]:  # fmt: skip
    """Strengths for that noise within that spread, and the mean square error of a score that they promise.

    A column of a block of s cells sees a share 1/s of the rows' curvature h; noise of variance V and a prior of
    variance τ² give the error (strength²·τ² + V + h)/(h + strength)², least at strength = (V/h + 1)/τ².
    """
    sizes, noise = np.array(blocks.sizes, np.float64), drawn.cells
    shares = counts.shares
    bend = CURVATURE * counts.rows * (1 - float(shares @ shares)) / len(shares) / sizes
    strengths = (noise / bend + 1) / scale**2
    swing = drawn.constant / (CURVATURE * counts.rows * (1 - float(shares @ shares)) / len(shares))
    constant = max(1.0 + swing, 1 / (CONSTANT * spread))
    room = (spread - 1 / constant) * (1 - 1e-9)
    strengths = strengths * max(1.0, float(np.sum(1 / strengths)) / room)
    error = float(np.sum(((strengths * scale) ** 2 + noise + bend) / (bend + strengths) ** 2))
    return strengths, constant, error


def _cell_noise(blocks: Blocks, groups: Sequence[Sequence[int]], rates: Sequence[float] | np.ndarray) -> np.ndarray:
    """The variance of the noise of a cell, by block."""
    noise = np.empty(len(blocks.sizes))
    for group, rate in zip(groups, rates, strict=True):
        dim = 1 + sum(blocks.sizes[j] - 1 for j in group)
        for j in group:
            noise[j] = (dim + 1) * (dim + 2) * cell_square(blocks.sizes[j]) / rate**2
    return noise


def _anchor(blocks: Blocks, groups: Sequence[Sequence[int]], rates: Sequence[float] | np.ndarray) -> int:
    """The bundle whose common sum is the constant's noise: the one that holds the block with the least noise."""
    noisy = _cell_noise(blocks, groups, rates) * blocks.sizes
    return min(range(len(groups)), key=lambda k: min(noisy[j] for j in groups[k]), default=0)


def _sum_noise(blocks: Blocks, groups: Sequence[Sequence[int]], rates: np.ndarray) -> float:
    """The variance of the constant's noise."""
    place = _anchor(blocks, groups, rates)
    return _sum_square(tuple(blocks.sizes[j] for j in groups[place])) / float(rates[place]) ** 2


@lru_cache(256)
def _sum_square(sizes: tuple[int, ...]) -> float:
    """The variance of a bundle's common sum at rate one; that of one block is a sum of Laplace variables."""
    return 2.0 * sizes[0] if len(sizes) == 1 else KVector(sizes).moments()[1]


def _finished(blocks: Blocks, moved: int, epsilons: tuple[Fraction, Fraction], bundles: tuple[Bundle, ...],
              strengths: np.ndarray, constant: float, counts: ClassCounts, noise: Noise) -> FitPlan:  # fmt: skip
    vectors = 1 if len(blocks.schema.classes) == 2 else len(blocks.schema.classes)
    chain = make_chain(blocks, [float(s) for s in strengths], constant)
    groups, rates = [b.places for b in bundles], [float(b.rate) for b in bundles]
    tolerance = _tolerance(blocks, noise, chain, strengths, counts.rows, vectors)
    total, row = chain.reach()
    # Neighbours' answers are within this of each other in L1: twice √(1ᵀΓ⁻¹1)·√‖Γ⁻¹‖·tolerance.
    apart = 2 * math.sqrt(vectors * total * row) * tolerance * (1 + 1e-9)
    lattice = math.ceil(math.log2(vectors * blocks.columns / apart)) + FINER
    steps = math.ceil(Fraction(apart) * Fraction(2) ** lattice) + vectors * blocks.columns
    anchor = _anchor(blocks, groups, rates) if bundles else 0
    return FitPlan(blocks, moved, epsilons, bundles, tuple(float(s) for s in strengths), constant, tolerance, lattice,
                   steps, anchor)  # fmt: skip


def _tolerance(blocks: Blocks, noise: Noise, chain: Chain, strengths: np.ndarray, rows: float,
               vectors: int) -> float:  # fmt: skip
    """What the certificate of the solver will have to allow for: rounding over the rows, the noise's and the chain's.

    It is no part of the proof: a minimum that cannot be certified to it is refused.
    """
    sizes = np.array(blocks.sizes, np.float64)
    score, terms = np.full((1, vectors), SCORE), np.full((1, vectors), TERMS)
    errors = rows * row_errors(blocks.entries, score, terms)
    summed = row_rounding(len(sizes) + 1, errors, rows, vectors)
    spread = np.sum(noise.cells * sizes)
    pulled = math.sqrt(vectors * float(spread + np.sum(strengths**2 * sizes)))
    return max(2.0**-28, 2 * (summed + 2.0**-44 * noise.size * vectors + 2.0**-46 * chain.strain() * pulled))


__all__ = ["Bundle", "FitPlan", "objective_cost", "plan_fit", "plan_normal"]
