"""What an audit needs of calibrations: their released numbers on the neighbours that move them farthest."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.audit import AuditCase, case_at_one, contradicted
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


def audit_cases() -> list[AuditCase]:
    """Two and three classes under both adjacencies, and what goes wrong without clipping or without the vector."""
    listed: list[tuple[str, Callable[[float], Any], str, str, int]] = []
    for near in ("add-remove", "replace"):
        listed += [
            (f"calibration-histogram-{near}", partial(ReleasedHistogram, classes=2, adjacency=near), near,
             "scores in bins, by the simulation twin", 4_000),
            *(
                (f"calibration-{classes}-classes-{near}", partial(ReleasedNumbers, classes=classes, adjacency=near),
                 near, "slope and biases, by the simulation twin", 4_000)
                for classes in (2, 3)
            ),
        ]  # fmt: skip
    near = "add-remove"  # and controls, so far off that few runs show it
    listed += [
        ("control-calibration-unclipped", partial(ReleasedNumbers, classes=2, adjacency=near, reach=FAR), near,
         "scores far beyond the reach that the noise is for", 1_000),
        ("control-calibration-no-vector", partial(Untilted, classes=2, adjacency=near), near,
         "only the final rounding is noised", 1_000),
    ]  # fmt: skip
    return [
        case_at_one(
            name, build, [contradicted(((0, 0),) * 10, (0, 1), adjacency)], note, adjacency=adjacency, samples=samples
        )
        for name, build, adjacency, note, samples in listed
    ]
