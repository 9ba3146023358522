"""What an audit needs of the noise mechanisms: samplers at a claimed ε, and neighbours as far apart as allowed."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property, partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.audit import AuditCase, Pair, case_at_one
from discreet.domain import exact
from discreet.mechanisms.choose import CHOICES, choice_rate, choose
from discreet.mechanisms.coins import Coins
from discreet.mechanisms.counted import PureLaplace
from discreet.mechanisms.knorm import KNorm
from discreet.mechanisms.kvectors import KVector
from discreet.mechanisms.noise import ExactSampler, SimulationSampler
from discreet.mechanisms.smooth_plan import (
    FAMILIES,
    SmoothPlan,
    Statistic,
    plan_smooth,
    release_smooth,
    simulate_smooth,
)
from discreet.mechanisms.trimmed import TrimmedSample
from discreet.mechanisms.trimming import tune
from discreet.mechanisms.vectors import SeededBits
from discreet.privacy.calibrate import zcdp_rho

DELTA = Fraction(1, 10**5)
HALF = 8
LATTICE = 1 << 10


@dataclass(frozen=True)
class NoisyCount:
    """One integer with discrete noise, as a release draws it."""

    epsilon: float
    law: str
    simulated: bool

    @cached_property
    def spread(self) -> Fraction:
        """The scale or variance at the claimed ε."""
        epsilon = exact(self.epsilon)
        return 1 / epsilon if self.law == "laplace" else 1 / (2 * zcdp_rho(epsilon, DELTA))

    def sample(self, data: int, size: int, *, rng: np.random.Generator) -> NDArray[Any]:
        """Noisy copies of an integer."""
        sampler = SimulationSampler(rng) if self.simulated else ExactSampler()
        values = np.full((size, 1), data, np.int64)
        return sampler.laplace(values, self.spread) if self.law == "laplace" else sampler.gaussian(values, self.spread)


@dataclass(frozen=True)
class SmoothStatistic:
    """A mean or variance under a smooth bound with the whole budget on it, as a release draws it."""

    epsilon: float
    law: str
    statistic: Statistic
    exact: bool = False

    @cached_property
    def plan(self) -> SmoothPlan:
        """The public plan at the claimed ε; a concentrated law is tuned to the ρ that converts to it."""
        epsilon = exact(self.epsilon)
        if self.law == "counted":
            return plan_smooth(self.statistic, law=PureLaplace(), epsilon=epsilon, trim=0, half_range=HALF, beta=0,
                               fineness=4, rows=2)  # fmt: skip
        law = FAMILIES[self.law](*((DELTA,) if self.law in {"laplace", "gaussian"} else ()))
        if law.measure == "zcdp":
            epsilon = Fraction(math.sqrt(2 * float(zcdp_rho(epsilon, DELTA))) * (1 - 1e-9))
        beta = tune(self.statistic, (law,), float(epsilon), rows=2, ratio=1 / 4, trim=0).beta
        return plan_smooth(self.statistic, law=law, epsilon=epsilon, trim=0, half_range=HALF, beta=beta, fineness=4)

    def sample(self, data: Sequence[int], size: int, *, rng: np.random.Generator) -> NDArray[Any]:
        """Releases of one sample of lattice points; exact draws come from the operating system."""
        found = TrimmedSample.from_values(np.array(data, np.int64), trim=0, half_range=HALF)
        if self.exact:
            return np.array([[release_smooth(found, self.plan)] for _ in range(size)])
        return np.asarray(simulate_smooth(found, self.plan, size=size, rng=rng))[:, None]


@dataclass(frozen=True)
class PrivateChoice:
    """One of a few candidates by its score, drawn exactly; `monotone` scores cost half."""

    epsilon: float
    law: str
    monotone: bool

    def sample(self, data: Sequence[int], size: int, *, rng: np.random.Generator) -> NDArray[Any]:
        """Chosen candidates; the coins are the operating system's and ignore `rng`."""
        rate, coins = choice_rate(exact(self.epsilon), monotone=self.monotone), Coins()
        return np.array([[choose(data, rate, law=self.law, coins=coins)] for _ in range(size)])


SMOOTH_PAIRS: dict[Statistic, list[Pair]] = {
    # An empty window has the midpoint for its mean and no variance; one row at a bound moves it as far as can be.
    "mean": [Pair((), (HALF,), "the first row, at a bound"), Pair((-HALF, HALF), (-HALF, HALF, HALF), "a third row")],
    "variance": [
        Pair((-HALF,), (-HALF, HALF), "a second row, at the other bound"),
        Pair((0, 0, 0), (0, 0, 0, HALF), "a row away from the others"),
    ],
}


@dataclass(frozen=True)
class NoisyTables:
    """Two count tables of one class with K-norm noise, as a release draws it."""

    epsilon: float

    def sample(self, data: Sequence[int], size: int, *, rng: np.random.Generator) -> NDArray[Any]:
        """Noisy tables, one row each; the coins are seeded by `rng` for speed and have the law of the system's."""
        noise, coins = KNorm((2, 2)), Coins(rng.bytes)
        drawn = [np.concatenate(noise.draw(exact(self.epsilon), coins)) for _ in range(size)]
        return np.asarray(np.array(drawn) + np.asarray(data))


@dataclass(frozen=True)
class NoisySums:
    """Sums of one-hot rows in two blocks with a K-norm noise vector, rounded: doubles as such are never released."""

    epsilon: float

    def sample(self, data: Sequence[int], size: int, *, rng: np.random.Generator) -> NDArray[Any]:
        """Noisy sums, one row each; the words are those of `rng`."""
        noise, bits = KVector((2, 2)), SeededBits(rng)
        vectors = np.array([noise.draw(exact(self.epsilon), bits).vector for _ in range(size)])
        return np.asarray(np.rint((vectors + np.asarray(data)) * LATTICE) / LATTICE)


def audit_cases() -> list[AuditCase]:
    """Discrete Laplace and Gaussian noise on a count, exact and simulated; heavy tails; tables; private choices."""
    return [*_counts(), *_smooth(), *_counted(), *_tables(), *_choices()]


def _counts() -> Iterator[AuditCase]:
    pairs = [Pair(0, 1, "a count and the count of one row more")]
    for law, delta in (("laplace", 0.0), ("gaussian", float(DELTA))):
        released, studied = (partial(NoisyCount, law=law, simulated=simulated) for simulated in (False, True))
        yield case_at_one(f"discrete-{law}", released, pairs, "the sampler of releases", delta=delta)
        yield case_at_one(f"discrete-{law}-simulated", studied, pairs, "the sampler of studies", delta=delta)


def _smooth() -> Iterator[AuditCase]:
    for law in FAMILIES:
        delta = 0.0 if law in {"student-t", "cauchy"} else float(DELTA)
        for statistic, pairs in SMOOTH_PAIRS.items():
            build, name = partial(SmoothStatistic, law=law, statistic=statistic), f"smooth-{statistic}-{law}"
            yield case_at_one(name, build, pairs, "drawn by the simulation twin", delta=delta)
            if law == "student-t":
                exactly = partial(build, exact=True)
                yield case_at_one(f"{name}-exact", exactly, pairs, "drawn exactly", samples=4_000)


def _counted() -> Iterator[AuditCase]:
    joins = {"mean": [Pair((-HALF, -HALF), (-HALF, -HALF, HALF), "a row at the other bound")],
             "deviation": [Pair((-HALF,), (-HALF, HALF), "a second row, at the other bound")]}  # fmt: skip
    pairs: dict[Statistic, list[Pair]] = {"mean": joins["mean"], "deviation": joins["deviation"]}
    for statistic, found in pairs.items():
        build = partial(SmoothStatistic, law="counted", statistic=statistic)
        yield case_at_one(f"counted-{statistic}", build, found, "by public bounds and a released number of rows")


def _tables() -> Iterator[AuditCase]:
    pairs = [Pair((0, 0, 0, 0), (1, 0, 0, 1), "no row, and one"), Pair((1, 2, 1, 2), (1, 3, 2, 2), "a fourth row")]
    yield case_at_one("k-norm-tables", NoisyTables, pairs, "all tables of a class in one draw", samples=20_000)
    yield case_at_one("k-norm-vectors", NoisySums, pairs, "the continuous law of noise vectors", samples=20_000)


def _choices() -> Iterator[AuditCase]:
    apart = [Pair((1, 0), (0, 1), "one score falls, the other rises")]
    rising = [Pair((0, 0), (1, 0), "one score rises")]
    note = "scores of one row each"
    for law in CHOICES:
        parting, together = (partial(PrivateChoice, law=law, monotone=monotone) for monotone in (False, True))
        yield case_at_one(f"choice-{law}", parting, apart, note, samples=20_000)
        yield case_at_one(f"choice-{law}-monotone", together, rising, note, samples=20_000)
    wrong, parted = partial(PrivateChoice, law=CHOICES[1], monotone=True), [Pair((2, 0), (1, 1), "scores part")]
    note = "scores that may part, at the rate of scores that move together"
    yield case_at_one("control-choice-monotone", wrong, parted, note, samples=60_000)
