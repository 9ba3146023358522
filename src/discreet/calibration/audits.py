"""What an audit needs of calibrations: their released numbers on the neighbours that move them farthest."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.audit import AuditCase, Claim, contradicted
from discreet.calibration.calibrate import objective, released_weights
from discreet.calibration.histogram import histogram
from discreet.calibration.plan import CalibrationPlan, make_plan
from discreet.calibration.solve import minimise
from discreet.linear.release import finish
from discreet.mechanisms.noise import SimulationSampler
from discreet.privacy.budget import Adjacency

Row = tuple[int, int]  # the best class by the model's scores, by far, and the label
FAR = 20.0
REACH = 10


@dataclass(frozen=True)
class ReleasedNumbers:
    """Slope and biases as a calibration publishes them, drawn many times by the simulation twin of the noise."""

    epsilon: float
    classes: int
    adjacency: str
    reach: float = 1.0
    method: str = "objective"

    @cached_property
    def plan(self) -> CalibrationPlan:
        """The plan of such a calibration."""
        return make_plan(self.classes, self.epsilon, method=self.method, adjacency=Adjacency.of(self.adjacency))

    def sample(self, data: Sequence[Row], size: int, *, rng: np.random.Generator) -> NDArray[Any]:
        """One release per row."""
        scores = self.reach * (np.eye(self.classes)[[best for best, _ in data]] - 1.0)
        labels = np.array([label for _, label in data], np.int64)
        sampler = SimulationSampler(rng)
        return np.stack([self.once(scores, labels, sampler) for _ in range(size)])

    def once(self, scores: Any, labels: NDArray[np.int64], sampler: SimulationSampler) -> NDArray[Any]:
        """One release."""
        return released_weights(scores, labels, self.plan, REACH, sampler)


@dataclass(frozen=True)
class ReleasedHistogram(ReleasedNumbers):
    """The histogram of scores that two classes are calibrated by."""

    method: str = "histogram"

    def once(self, scores: Any, labels: NDArray[np.int64], sampler: SimulationSampler) -> NDArray[Any]:
        assert self.plan.spread is not None
        return sampler.laplace(histogram(scores, labels), self.plan.spread).ravel()


@dataclass(frozen=True)
class Untilted(ReleasedNumbers):
    """A control: no noise vector, and only the final rounding is noised."""

    def once(self, scores: Any, labels: NDArray[np.int64], sampler: SimulationSampler) -> NDArray[Any]:
        plain = objective(scores, labels, self.plan, REACH, np.zeros(self.classes + 1))
        return finish(minimise(plain, float(self.plan.tolerance)), self.plan, sampler)


def _case(name: str, build: Callable[[float], ReleasedNumbers], adjacency: str, note: str,
          control: bool = False) -> AuditCase:  # fmt: skip
    samples = 1_000 if control else 4_000  # a control is so far off that few runs show it
    pairs = [contradicted(((0, 0),) * 10, (0, 1), adjacency)]
    return AuditCase(name, Claim(1.0), build, lambda epsilon: pairs, adjacency, control, note, samples)


def audit_cases() -> list[AuditCase]:
    """Two and three classes under both adjacencies, and what goes wrong without clipping or without the vector."""

    def honest(classes: int, adjacency: str) -> AuditCase:
        return _case(f"calibration-{classes}-classes-{adjacency}", lambda e: ReleasedNumbers(e, classes, adjacency),
                     adjacency, "slope and biases, by the simulation twin")  # fmt: skip

    def counted(adjacency: str) -> AuditCase:
        return _case(f"calibration-histogram-{adjacency}", lambda e: ReleasedHistogram(e, 2, adjacency), adjacency,
                     "scores in bins, by the simulation twin")  # fmt: skip

    return [
        *(counted(adjacency) for adjacency in ("add-remove", "replace")),
        *(honest(classes, adjacency) for classes in (2, 3) for adjacency in ("add-remove", "replace")),
        _case("control-calibration-unclipped", lambda e: ReleasedNumbers(e, 2, "add-remove", FAR), "add-remove",
              "scores far beyond the reach that the noise is for", control=True),
        _case("control-calibration-no-vector", lambda e: Untilted(e, 2, "add-remove"), "add-remove",
              "only the final rounding is noised", control=True),
    ]  # fmt: skip
