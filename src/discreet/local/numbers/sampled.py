"""Sampled classes: a class is drawn before the row is read, and one number is reported: the point, or 0 elsewhere."""

from __future__ import annotations

from abc import abstractmethod
from fractions import Fraction
from typing import Any

import numpy as np

from discreet.local.entropy import Source, below, evenly
from discreet.local.mechanism import Floats, Law, Reports
from discreet.local.numbers.base import NumberMechanism, class_parts, joined
from discreet.local.wire.integers import Integers, Run


class Sampled(NumberMechanism):
    """A report (class, value): the class drawn evenly and openly, the value about the point if it is the person's.

    Whoever is of another class reports about 0. The drawn class depends on no one's row, so the report is as private
    as its value; estimates are multiplied by the number of classes. `step` is what one unit of a value stands for.
    """

    step: float
    limit: int
    shape = (2,)

    def _prepare(self) -> None:
        self.runs = Run(0, self.classes - 1), Run(-self.limit, self.limit)

    @abstractmethod
    def draw_value(self, point: int, source: Source) -> int:
        """The value about a point, word by word."""

    @abstractmethod
    def perturb_values(self, points: Integers, rng: np.random.Generator | None) -> Integers:
        """The values about many points."""

    @abstractmethod
    def value_law(self, point: int) -> dict[int, Fraction]:
        """The exact chance of each value."""

    @abstractmethod
    def second(self, label_share: float, mean_square: float) -> float:
        """The mean square of a value over the people, in its own units."""

    @abstractmethod
    def value_constants(self) -> dict[str, Any]:
        """What a client needs to draw a value."""

    def draw(self, label: int, point: int, source: Source) -> tuple[int, ...]:
        chosen = below(source, self.classes)
        return chosen, self.draw_value(point if chosen == label else 0, source)

    def perturb(self, labels: Any, points: Any, *, rng: np.random.Generator | None = None) -> Reports:
        label, point = self.check(labels, points)
        chosen = evenly(len(label), self.classes, rng).astype(np.int64)
        return np.stack([chosen, self.perturb_values(np.where(chosen == label, point, 0), rng)], axis=1)

    def law(self, label: int, point: int) -> Law:
        share = Fraction(1, self.classes)
        about = {True: self.value_law(point), False: self.value_law(0)}
        return {
            (chosen, value): share * chance
            for chosen in range(self.classes)
            for value, chance in about[chosen == label].items()
        }

    def constants(self) -> dict[str, Any]:
        return {"classes": self.classes, "bytes": [run.each for run in self.runs], **self.value_constants()}

    def support(self, reports: Reports) -> Integers:
        rows = np.asarray(reports, np.int64)
        return class_parts(rows[:, 0], rows[:, 1], self.classes)

    def estimate(self, support: Any, m: int) -> Floats:
        return self.classes * self.step * np.array(joined(support), np.float64)

    def variance(self, m: int, label_share: float = 0.0, mean_square: float = 0.0) -> float:
        square = self.classes * self.step**2 * self.second(label_share, mean_square)
        return m * (square - label_share * mean_square)
