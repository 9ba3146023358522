"""What an audit needs of the noise mechanisms: samplers at a claimed ε, and neighbours as far apart as allowed."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from discreet.audit import AuditCase, Claim, Pair
from discreet.domain import exact
from discreet.mechanisms.choose import CHOICES, choice_rate, choose
from discreet.mechanisms.coins import Coins
from discreet.mechanisms.knorm import KNorm
from discreet.mechanisms.kvectors import KVector
from discreet.mechanisms.noise import ExactSampler, SimulationSampler
from discreet.mechanisms.smooth_plan import FAMILIES, SmoothPlan, plan_smooth, release_smooth, simulate_smooth
from discreet.mechanisms.trimmed import TrimmedSample
from discreet.mechanisms.vectors import SeededBits
from discreet.privacy.calibrate import zcdp_rho

DELTA = Fraction(1, 10**5)
HALF = 8
LATTICE = 1 << 10


@dataclass(frozen=True)
class NoisyCount:
    """One integer with discrete noise, as a release draws it."""

    law: str
    spread: Fraction
    simulated: bool

    def sample(self, data: int, size: int, *, rng: np.random.Generator) -> NDArray[Any]:
        """Noisy copies of an integer."""
        sampler = SimulationSampler(rng) if self.simulated else ExactSampler()
        values = np.full((size, 1), data, np.int64)
        return sampler.laplace(values, self.spread) if self.law == "laplace" else sampler.gaussian(values, self.spread)


def _build(law: str, simulated: bool) -> Callable[[float], NoisyCount]:
    def build(epsilon: float) -> NoisyCount:
        if law == "laplace":
            return NoisyCount(law, 1 / exact(epsilon), simulated)
        return NoisyCount(law, 1 / (2 * zcdp_rho(exact(epsilon), DELTA)), simulated)

    return build


@dataclass(frozen=True)
class SmoothStatistic:
    """A mean or variance under a smooth bound with the whole budget on it, as a release draws it."""

    law: str
    statistic: Literal["mean", "variance"]
    epsilon: float
    exact: bool = False

    @cached_property
    def plan(self) -> SmoothPlan:
        """The public plan at the claimed ε; a concentrated law is tuned to the ρ that converts to it."""
        epsilon = exact(self.epsilon)
        law = FAMILIES[self.law](*((DELTA,) if self.law in {"laplace", "gaussian"} else ()))
        if law.measure == "zcdp":
            epsilon = Fraction(math.sqrt(2 * float(zcdp_rho(epsilon, DELTA))) * (1 - 1e-9))
        return plan_smooth(self.statistic, law=law, epsilon=epsilon, trim=0, half_range=HALF, rows=2, fineness=4)

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


def _choice_cases() -> list[AuditCase]:
    def build(law: str, monotone: bool) -> Callable[[float], PrivateChoice]:
        return lambda epsilon: PrivateChoice(epsilon, law, monotone)

    def case(name: str, law: str, monotone: bool, pair: Pair, control: bool = False) -> AuditCase:
        note = "scores that may part, at the rate of scores that move together" if control else "scores of one row each"
        return AuditCase(
            name=name,
            claim=Claim(1.0),
            build=build(law, monotone),
            pairs=lambda epsilon: [pair],
            adjacency="add-remove",
            control=control,
            note=note,
            samples=20_000,
        )

    apart = Pair((1, 0), (0, 1), "one score falls, the other rises")
    return [
        *(case(f"choice-{law}", law, False, apart) for law in CHOICES),
        *(case(f"choice-{law}-monotone", law, True, Pair((0, 0), (1, 0), "one score rises")) for law in CHOICES),
        case("control-choice-monotone", CHOICES[1], True, Pair((2, 0), (1, 1), "scores part"), control=True),
    ]


SMOOTH_PAIRS = {
    # An empty window has the midpoint for its mean and no variance; one row at a bound moves it as far as can be.
    "mean": [Pair((), (HALF,), "the first row, at a bound"), Pair((-HALF, HALF), (-HALF, HALF, HALF), "a third row")],
    "variance": [
        Pair((-HALF,), (-HALF, HALF), "a second row, at the other bound"),
        Pair((0, 0, 0), (0, 0, 0, HALF), "a row away from the others"),
    ],
}


def _smooth_cases() -> list[AuditCase]:
    def build(law: str, statistic: Any, exact: bool) -> Callable[[float], SmoothStatistic]:
        return lambda epsilon: SmoothStatistic(law, statistic, epsilon, exact)

    def pairs(statistic: str) -> Callable[[float], list[Pair]]:
        return lambda epsilon: SMOOTH_PAIRS[statistic]

    return [
        AuditCase(
            name=f"smooth-{statistic}-{law}{'-exact' if exact else ''}",
            claim=Claim(1.0, 0.0 if law in {"student-t", "cauchy"} else float(DELTA)),
            build=build(law, statistic, exact),
            pairs=pairs(statistic),
            adjacency="add-remove",
            note="drawn exactly" if exact else "drawn by the simulation twin",
            samples=4_000 if exact else None,
        )
        for law in ("student-t", "cauchy", "laplace-log-normal", "laplace", "gaussian")
        for statistic in ("mean", "variance")
        for exact in ((False, True) if law == "student-t" else (False,))
    ]


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


def _tables_cases() -> list[AuditCase]:
    pairs = [Pair((0, 0, 0, 0), (1, 0, 0, 1), "no row, and one"), Pair((1, 2, 1, 2), (1, 3, 2, 2), "a fourth row")]
    builds: dict[str, tuple[Callable[[float], Any], str]] = {
        "k-norm-tables": (NoisyTables, "all tables of a class in one draw"),
        "k-norm-vectors": (NoisySums, "the continuous law of noise vectors"),
    }
    return [
        AuditCase(
            name=name,
            claim=Claim(1.0),
            build=build,
            pairs=lambda epsilon: pairs,
            adjacency="add-remove",
            note=note,
            samples=20_000,
        )
        for name, (build, note) in builds.items()
    ]


def audit_cases() -> list[AuditCase]:
    """Discrete Laplace and Gaussian noise on a count, exact and simulated; heavy tails; private choices."""
    pairs = [Pair(0, 1, "a count and the count of one row more")]
    counts = [
        AuditCase(
            name=f"discrete-{law}{'-simulated' if simulated else ''}",
            claim=Claim(1.0, 0.0 if law == "laplace" else float(DELTA)),
            build=_build(law, simulated),
            pairs=lambda epsilon: pairs,
            adjacency="add-remove",
            note="the sampler of studies" if simulated else "the sampler of releases",
        )
        for law in ("laplace", "gaussian")
        for simulated in (False, True)
    ]
    return [*counts, *_smooth_cases(), *_tables_cases(), *_choice_cases()]
