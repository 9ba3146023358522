"""Noisy Newton: Naive Bayes shapes by Gaussian noise, then one weight for each of them by a few noisy steps.

For two classes and a δ. Every step releases sums of integers that each row adds by itself, so no solver has to be
certified (proof: docs/proofs/newton.md).
"""

from __future__ import annotations

import functools
import math
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit

from discreet.additive.blocks import Blocks
from discreet.additive.model import AdditiveModel
from discreet.bayes.bundling import residual_of
from discreet.bayes.estimate import estimate
from discreet.bayes.items import Plan
from discreet.bayes.plan import make_plan
from discreet.bayes.release import release
from discreet.estimators.counts import ClassCounts
from discreet.mechanisms.noise import Sampler
from discreet.mechanisms.normal import FineSampler, finer, held_delta, rounding_distance
from discreet.privacy.budget import Adjacency, Budget
from discreet.privacy.calibrate import normal_rho, zcdp_rho
from discreet.privacy.certifier import certify
from discreet.privacy.ledger import Charge, Node, Sequential
from discreet.privacy.plan import Protected
from discreet.schema import Schema
from discreet.sources import HeldRows
from discreet.statistics import saturated_add

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]
STEPS = 5
SHAPES = Fraction(3, 5)  # of ρ, for the tables that shapes are read off
FREE = 11  # times a row's square by which the second derivatives may weigh in and cost nothing: below (11 + 5√5)/2
LARGE = 4.0  # log-odds that a cell may speak for
CONSTANT = 0.05  # the square of the constant's column, where those of all features add up to one at most
UNIT = 1 << 11  # of a column: rows are integers
RATE = 1 << 15  # of a residual
FINE, FAR = 1 << 10, 16  # steps of one unit of a score, and the largest one
PART = 1 << 17  # rows whose sums are taken at once: none leaves the 53 bits of a double
WEIGHT, DOUBT = 0.6, 0.4  # of a shape before anything is seen, and its deviation
START = 0.25  # of that weight in the first step: all of it may put scores where second derivatives say nothing
KEPT = 0.7  # of what earlier steps count for, with every step
UNSEEN = 0.25  # the variance of a score that features may have only together, shared out over their shapes
ACCOUNTING = (
    "rho of zCDP for the discrete noise, costs added up exactly, then the profile of one normal variable; only this "
    "conversion takes noise for normal: it is discrete Gaussian on lattices so fine that its distance from rounded "
    "normal noise is paid for in delta"
)
CONCENTRATED = "rho of zCDP, costs added up exactly, then the tight conversion to (epsilon, delta)"


@functools.cache
def rates() -> tuple[Integers, Integers]:
    """For scores on a public grid, what a row pulls by if its class is the first or the second, and its curvature.

    Rounded toward zero, so that pull² + FREE·curvature² is at most RATE² for every score and class.
    """
    chance = expit(np.arange(-FAR * FINE, FAR * FINE + 1) / FINE)
    pulls = np.stack([np.floor(chance * RATE), -np.floor((1 - chance) * RATE)])
    return pulls.astype(np.int64), np.floor(chance * (1 - chance) * RATE).astype(np.int64)


def worst_rate() -> int:
    """The largest pull² + FREE·curvature²: a maximum over the whole table, not an estimate."""
    pulls, curvature = rates()
    return int(np.max(pulls**2 + FREE * curvature**2))


@dataclass(frozen=True)
class NewtonPlan(Protected):
    """Tables first, then steps of equal cost: everything but the columns' squares is known before a row is read."""

    tables: Plan
    rho: Fraction
    accounting: str = ACCOUNTING

    @property
    def step_rho(self) -> Fraction:
        """What each step costs."""
        return self.rho * (1 - SHAPES) / STEPS

    def spread(self, square: int) -> Fraction:
        """σ² of the gradient, of rows whose columns have at most this square together."""
        return Fraction(worst_rate() * square * self.moves**2) / (2 * self.step_rho)

    @property
    def distance(self) -> float:
        """How far all that is drawn is from rounded normal noise, in total variation, at most."""
        items = [item for item in self.tables.items if item.bundle is not None]
        basis, size = residual_of(items), len(self.schema.features) + 1
        charge = items[0].charge
        assert isinstance(charge, Charge)
        classes = len(self.schema.classes)
        draws = [(finer(charge.spread / basis.common, 1), classes)]
        for cells, weight in zip(basis.sizes, basis.weights, strict=True):
            draws += [(finer(cells * cells * charge.spread / weight, cells), classes * cells)] * (cells > 1)
        least = math.floor(CONSTANT * UNIT**2) - 2 * UNIT  # of a row's square: that of the constant alone
        first, second = self.spread(least), self.spread(least) * least / FREE / 2
        draws += [(first, STEPS * size), (second, STEPS * size * (size + 1) // 2)]
        return rounding_distance(draws)

    @property
    def node(self) -> Sequential:
        """The ledger entry, for columns with the square that they have at most."""
        return self.entry([_largest()] * STEPS)

    def entry(self, squares: list[int]) -> Sequential:
        """The ledger entry of steps with these squares."""
        parts: list[Node] = [self.tables.node]
        for square in squares:
            what = "first and second derivatives of the likelihood, by the weights of released shapes"
            reach = str(worst_rate() * square * self.moves**2)
            parts.append(
                Charge("discrete Gaussian", what, "L2 squared", reach, self.spread(square), "rho", self.step_rho)
            )
        return Sequential("weights of released shapes", tuple(parts))


def _largest() -> int:
    return math.floor((1 + CONSTANT) * UNIT**2)


def plan_newton(
    schema: Schema, budget: Budget, *, adjacency: Adjacency, contributions: int, unexpected: str
) -> NewtonPlan:  # fmt: skip
    """The plan for (ε, δ), by the ρ that it is worth to normal noise."""
    assert budget.epsilon is not None
    epsilon, delta = budget.epsilon, budget.delta

    def made(rho: Fraction, accounting: str) -> NewtonPlan:
        tables = make_plan(
            schema, Budget(rho=rho * SHAPES), mechanism="residual", adjacency=adjacency, contributions=contributions,
            unexpected=unexpected,
        )  # fmt: skip
        return NewtonPlan(schema, budget, adjacency, contributions, tables, rho, accounting, unexpected=unexpected)

    # What is drawn at less ρ is no farther from normal noise than at more.
    tail = held_delta(delta, epsilon, made(normal_rho(epsilon, float(delta)), ACCOUNTING).distance)
    if tail < float(delta) / 2:
        return made(zcdp_rho(epsilon, delta), CONCENTRATED)
    return made(normal_rho(epsilon, tail), ACCOUNTING)


@dataclass(frozen=True, eq=False)
class Shapes:
    """Released log-odds of the second class by cell of each feature, as columns of integers; the constant's is last."""

    odds: list[Floats]
    middles: Floats
    reaches: Floats  # half of the range of each
    base: float  # log-odds of the second class at large

    @property
    def doubts(self) -> Floats:
        """How far each may move a score from what is expected of it; one that is flat by itself may, too."""
        return np.asarray(np.sqrt((DOUBT * self.reaches) ** 2 + UNSEEN / len(self.reaches)))

    @property
    def widths(self) -> Floats:
        """The largest entry of each column; their squares add up to 1 + CONSTANT. Noise is less where doubt is more."""
        doubts = self.doubts
        return np.append(np.sqrt(doubts / doubts.sum()), math.sqrt(CONSTANT))

    @functools.cached_property
    def columns(self) -> list[Integers]:
        """The integer of each cell, rounded toward zero."""
        return [
            np.trunc((odds - middle) / reach * width * UNIT).astype(np.int64)
            for odds, middle, reach, width in zip(self.odds, self.middles, self.reaches, self.widths, strict=False)
        ] + [np.array([math.floor(self.widths[-1] * UNIT)])]

    @property
    def square(self) -> int:
        """The largest square that a row's columns can have together, exactly."""
        return sum(int(np.max(column**2)) for column in self.columns)

    @property
    def scale(self) -> Floats:
        """What one unit of a weight on a column is worth in units of its shape, and of the constant."""
        return np.append(self.reaches / self.widths[:-1], 1 / self.widths[-1])


def read_shapes(prior: Floats, tables: list[Floats]) -> Shapes:
    """Shapes of likelihood tables, log P(cell | class)."""
    odds = [np.clip(table[1] - table[0], -LARGE, LARGE) for table in tables]
    ends = np.array([(float(one.min()), float(one.max())) for one in odds])
    reaches = np.maximum((ends[:, 1] - ends[:, 0]) / 2, 1e-3)
    return Shapes(odds, ends.mean(axis=1), reaches, float(prior[1] - prior[0]))


def derivatives(rows: HeldRows, shapes: Shapes, weights: Floats) -> tuple[Integers, Integers]:
    """Σ pull·x and Σ curvature·x·xᵀ over rows, exactly; what a row adds depends on that row alone.

    Columns and weights are integers and no sum leaves the 53 bits of a double, so a row's score is exact however many
    others are summed beside it.
    """
    size = len(shapes.columns)
    gradient, bend = np.zeros(size, np.int64), np.zeros((size, size), np.int64)
    most = math.floor(2**52 / (UNIT * size))
    fine = np.clip(np.rint(weights * 2.0**20), -most, most)
    pulls, curvature = rates()
    for piece in rows.pieces():
        codes, labels = piece.cells, piece.labels
        for low in range(0, len(piece), PART):
            part = slice(low, low + PART)
            x = np.empty((len(labels[part]), size))
            for j, column in enumerate(shapes.columns[:-1]):
                x[:, j] = column[codes[part, j]]
            x[:, -1] = shapes.columns[-1][0]
            score = np.rint((x @ fine) * (FINE / (2.0**20 * UNIT)))
            spot = (np.clip(score, -FAR * FINE, FAR * FINE) + FAR * FINE).astype(np.int64)
            pulled = (x.T @ pulls[labels[part], spot].astype(np.float64)).astype(np.int64)
            gradient = saturated_add(gradient, pulled)
            bend = saturated_add(bend, ((x * curvature[spot][:, None]).T @ x).astype(np.int64))
    return gradient, bend


def noisy(gradient: Integers, bend: Integers, square: int, plan: NewtonPlan, sampler: Sampler) -> tuple[Floats, Floats]:
    """Both with discrete Gaussian noise, in units of rows and columns; each entry beside the diagonal is drawn once."""
    variance = plan.spread(square)
    second = variance * square / FREE
    size = len(gradient)
    above = np.triu_indices(size, 1)
    first = sampler.gaussian(gradient, variance).astype(np.float64)
    curved = np.diag(sampler.gaussian(np.diag(bend).copy(), second)).astype(np.float64)
    curved[above] = sampler.gaussian(bend[above], second / 2)
    curved.T[above] = curved[above]
    return first / (RATE * UNIT), curved / (RATE * UNIT**2)


def fitted_weights(rows: HeldRows, shapes: Shapes, plan: NewtonPlan, sampler: Sampler) -> Floats:
    """The weights of the columns after all steps; between them everything is post-processing."""
    square, size = shapes.square, len(shapes.columns)
    back = shapes.scale
    own = float(plan.spread(square))
    steep, bent = own / (RATE * UNIT) ** 2, math.sqrt(own * square / FREE) / (RATE * UNIT**2)
    middle = float(shapes.middles.sum())
    mean = np.append(np.full(size - 1, WEIGHT), WEIGHT * middle + shapes.base) * back
    known = np.diag(1 / (np.append(shapes.doubts / shapes.reaches, 2.0) * back) ** 2)
    weights = np.append(np.full(size - 1, START * WEIGHT), START * WEIGHT * middle + shapes.base) * back
    been, pulled, curved, worth, squares = np.zeros(size), np.zeros(size), np.zeros((size, size)), 0.0, 0.0
    for _ in range(STEPS):
        gradient, found = noisy(*derivatives(rows, shapes, weights), square, plan, sampler)
        # Where second derivatives are alike, a mean of gradients is that at the same mean of weights. The first steps
        # may have been far off, and count for less.
        been, pulled, curved = KEPT * been + weights, KEPT * pulled + gradient, KEPT * curved + found
        worth, squares = KEPT * worth + 1, KEPT**2 * squares + 1
        left = squares / worth**2  # of the variance of one step
        floor = bent * math.sqrt(2 * size * left)
        values, vectors = np.linalg.eigh(curved / worth)
        values = np.maximum(values, 0.02 * floor) + 0.15 * floor  # what noise may have made negative
        trust = (vectors * (values / (values + steep * left))) @ vectors.T
        precision = trust @ ((vectors * values) @ vectors.T)
        seen = precision @ been - trust @ pulled
        weights = np.linalg.solve(known + precision, known @ mean + seen / worth)
    return np.asarray(weights)


def fit_newton(rows: HeldRows, plan: NewtonPlan, counts: ClassCounts, sampler: Sampler) -> AdditiveModel:
    """Release a model. The caller has charged the plan before reading any rows."""
    released = release(rows.statistics(plan.tables.detail), plan.tables, FineSampler(sampler))
    prior, likelihoods = estimate(released, 1.0, "shrunk")
    shapes = read_shapes(prior, [one.log_prob for one in likelihoods])  # type: ignore[attr-defined]
    weights = fitted_weights(rows, shapes, plan, sampler) / shapes.scale
    blocks = Blocks(plan.schema, (None,) * len(plan.schema.features))
    cells = [weights[j] * (shapes.odds[j] - shapes.middles[j]) for j in blocks.singles]
    made = np.concatenate([*cells, [weights[-1]]])[None]
    certificate = certify(
        plan,
        node=plan.entry([shapes.square] * STEPS),
        sampler=released.samplers,
        simulation=sampler.simulation,
        accounting=plan.accounting,
        rho=plan.rho,
        elsewhere=counts.elsewhere(),
    )
    return AdditiveModel(blocks, made, certificate)
