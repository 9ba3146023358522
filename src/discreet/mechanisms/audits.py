"""What an audit needs of the noise mechanisms: samplers at a claimed ε, and neighbours as far apart as allowed."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.audit import AuditCase, Claim, Pair
from discreet.domain import exact
from discreet.mechanisms.noise import ExactSampler, SimulationSampler
from discreet.privacy.calibrate import zcdp_rho

DELTA = Fraction(1, 10**5)


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


def audit_cases() -> list[AuditCase]:
    """Discrete Laplace and Gaussian noise on a count, exact and simulated."""
    pairs = [Pair(0, 1, "a count and the count of one row more")]
    return [
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
