"""The exact law of a smooth release for every small data set: counts, then means and variances given the counts."""

from __future__ import annotations

import functools
import itertools

import numpy as np

import discreet.bayes.smooth as staged
from discreet import Numeric, Schema, Statistics
from discreet.bayes.plan import Plan
from discreet.mechanisms import smooth_plan
from discreet.mechanisms.noise import SimulationSampler
from discreet.mechanisms.trimmed import TrimmedSample
from discreet.privacy.calibrate import float_up, sqrt_up
from tests.laws import gaussian_log_pmf, laplace_log_pmf

SCHEMA = Schema(features=[Numeric("x", 0, 2, integer=True)], target="y", classes=[0, 1])
HALF = SCHEMA.numeric[0].lattice.half
POINTS = (-2, 0, 2)
OUTCOMES = tuple(range(-40, 46))
Values = tuple[int, ...]


class Pinned(SimulationSampler):
    """A sampler whose noisy counts come out as chosen."""

    def __init__(self, outcome: int) -> None:
        super().__init__(0)
        self.outcome = outcome

    def laplace(self, values, scale):
        return np.full_like(values, self.outcome)

    gaussian = laplace


def histogram(values: Values) -> np.ndarray:
    return np.bincount(np.array(values, int) + HALF, minlength=2 * HALF + 1)


def settled(plan: Plan, outcome: int, values: Values = ()):
    """What the release fixes for class 0 when its noisy count comes out as `outcome`."""
    table = np.stack([histogram(values), histogram(())])
    statistics = Statistics(SCHEMA, table.sum(axis=1), {}, lattice={"x": table})
    released = staged.release_staged(statistics, plan, Pinned(outcome))
    return {key[0]: plans[0] for key, plans in released.smooth.items()}


def log_law(plan, kind: str, values: Values) -> np.ndarray:
    """The log-probability of every integer that can be released."""
    build = TrimmedSample.from_squares if kind == "second" else TrimmedSample.from_histogram
    sample = build(histogram(values), trim=plan.trim, half_range=HALF)
    centre, scale = smooth_plan._center_and_scale(sample, plan)
    lower, upper = plan.limits
    edges = ((np.arange(lower, upper) + 0.5) * float(plan.spacing) - float(centre)) / float(scale)
    left, right = np.append(-np.inf, edges), np.append(edges, np.inf)
    cdf = plan.law.cdf
    # The smaller tail keeps its relative accuracy.
    with np.errstate(divide="ignore"):
        return np.log(np.where(left < 0, cdf(right) - cdf(left), cdf(-left) - cdf(-right)))


class Laws:
    """The laws of one plan: of the class count, and given the count of each smooth statistic."""

    def __init__(self, plan: Plan, most: int) -> None:
        self.plan = plan
        charge = plan.items[0].charge
        noise = np.arange(OUTCOMES[0] - most - 3, OUTCOMES[-1] + 1)
        if charge.measure == "epsilon":
            mass = laplace_log_pmf(noise, float_up(charge.spread))
        else:
            mass = gaussian_log_pmf(noise, sqrt_up(charge.spread) ** 2)
        self.counts = dict(zip(noise.tolist(), mass.tolist(), strict=True))
        self.settled = {outcome: tuple(settled(plan, outcome).items()) for outcome in OUTCOMES}
        self.law = functools.lru_cache(None)(log_law)

    def count(self, outcome: int, values: Values) -> float:
        return self.counts[outcome - len(values)]

    @functools.lru_cache(None)  # noqa: B019 - lives as long as one test
    def loss(self, left: Values, right: Values) -> float:
        """max over outputs of log P(output | left) − log P(output | right), one class, all its releases."""
        if left == right:
            return 0.0
        return max(
            self.count(outcome, left)
            - self.count(outcome, right)
            + sum(self.alone(kind, plan, left, right) for kind, plan in self.settled[outcome])
            for outcome in OUTCOMES
        )

    @functools.lru_cache(None)  # noqa: B019
    def alone(self, kind: str, plan, left: Values, right: Values) -> float:
        return float(np.max(self.law(plan, kind, left) - self.law(plan, kind, right)))

    def worst_alone(self, kind: str, pairs) -> float:
        plans = {plan for entry in self.settled.values() for name, plan in entry if name == kind}
        return max(max(self.alone(kind, plan, a, b), self.alone(kind, plan, b, a)) for plan in plans for a, b in pairs)

    def renyi(self, left: Values, right: Values, order: float) -> float:
        """The Rényi divergence of the whole release of one class."""
        logs = []
        for outcome in OUTCOMES:
            log = order * self.count(outcome, left) + (1 - order) * self.count(outcome, right)
            for kind, plan in self.settled[outcome]:
                p, q = self.law(plan, kind, left), self.law(plan, kind, right)
                seen = np.isfinite(p) | np.isfinite(q)  # where both underflow nothing is left that counts
                log += float(np.logaddexp.reduce(order * p[seen] + (1 - order) * q[seen]))
            logs.append(log)
        return float(np.logaddexp.reduce(logs)) / (order - 1)

    def hockey_stick(self, left: Values, right: Values, epsilon: float) -> float:
        """δ at ε for the whole release of one class."""
        total = 0.0
        for outcome in OUTCOMES:
            p = np.full((1, 1), self.count(outcome, left))
            q = np.full((1, 1), self.count(outcome, right))
            for kind, plan in self.settled[outcome]:
                p = p.reshape(-1, 1) + self.law(plan, kind, left)
                q = q.reshape(-1, 1) + self.law(plan, kind, right)
            total += float(np.maximum(np.exp(p) - np.exp(epsilon + q), 0).sum())
        return total


def multisets(most: int) -> list[Values]:
    return [v for size in range(most + 1) for v in itertools.combinations_with_replacement(POINTS, size)]


def grown(values: Values, rows: int = 1) -> list[Values]:
    return [tuple(sorted((*values, *more))) for more in itertools.combinations_with_replacement(POINTS, rows)]


def one_class(most: int, rows: int = 1) -> list[tuple[Values, Values]]:
    """Every data set of one class beside every one with `rows` rows more."""
    return [(small, large) for small in multisets(most) for large in grown(small, rows)]
