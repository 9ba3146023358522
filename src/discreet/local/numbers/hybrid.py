"""Hybrid numbers: a coin that no data touch chooses between the piecewise mechanism and one bit."""

from __future__ import annotations

from collections.abc import Iterable
from fractions import Fraction
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from discreet.local.chances import WHOLE, exp_bounds
from discreet.local.entropy import Source, below, chance, evenly, words
from discreet.local.mechanism import Floats, Law, Reports
from discreet.local.numbers.base import NUMBERS, NumberMechanism
from discreet.local.numbers.onebit import OneBitSampled
from discreet.local.numbers.piecewise import GRID, Piecewise
from discreet.local.wire.integers import Integers, Run

THRESHOLD = Fraction(61, 100)


@NUMBERS.register
class Hybrid(NumberMechanism):
    """With chance 1 − e^{−ε/2} (if ε > 0.61, else never) the piecewise mechanism, otherwise one bit; class drawn first.

    A report is (class, kind, value): kind 1 for piecewise and 0 for one bit, drawn before the row is read.

    >>> mechanism = Hybrid(2, 10, epsilon=1)
    >>> mechanism.perturb([0, 1, 1], [-10, 3, 10]).shape
    (3, 3)
    """

    name, code, script = "hybrid", 19, "hybrid"
    shape = (3,)

    def __init__(self, classes: int, half: int, epsilon: Any, grid: int = GRID) -> None:
        self.grid = grid
        super().__init__(classes, half, epsilon)

    @classmethod
    def listed(cls) -> Iterable[Self]:
        return [cls(one.classes, 4, one.epsilon, grid=4) for one in super().listed()]

    def _prepare(self) -> None:
        self.piecewise = Piecewise(self.classes, self.half, self.epsilon, self.grid)
        self.one_bit = OneBitSampled(self.classes, self.half, self.epsilon)
        rare = exp_bounds(-self.epsilon / 2)[1]
        self.threshold = round(WHOLE * (1 - rare)) if self.epsilon > THRESHOLD else 0
        first, last = self.piecewise.runs
        self.runs = first, Run(0, int(self.threshold > 0)), last

    @property
    def share(self) -> Fraction:
        """The chance of the piecewise mechanism."""
        return Fraction(self.threshold, WHOLE)

    def draw(self, label: int, point: int, source: Source) -> tuple[int, ...]:
        chosen = below(source, self.classes)
        kind = chance(source, self.threshold)
        part = self.piecewise if kind else self.one_bit
        return chosen, int(kind), part.draw_value(point if chosen == label else 0, source)

    def perturb(self, labels: Any, points: Any, *, rng: np.random.Generator | None = None) -> Reports:
        label, point = self.check(labels, points)
        chosen = evenly(len(label), self.classes, rng).astype(np.int64)
        kind = words(len(label), rng) < np.uint64(self.threshold)
        about, value = np.where(chosen == label, point, 0), np.empty(len(label), np.int64)
        value[kind] = self.piecewise.perturb_values(about[kind], rng)
        value[~kind] = self.one_bit.perturb_values(about[~kind], rng)
        return np.stack([chosen, kind.astype(np.int64), value], axis=1)

    def possible(self, rows: Integers) -> NDArray[np.bool_]:
        return np.asarray((rows[:, 1] == 1) | self.one_bit.possible(rows[:, ::2]))

    def law(self, label: int, point: int) -> Law:
        shares = ((1, self.share, self.piecewise), (0, 1 - self.share, self.one_bit))
        return {
            (chosen, kind, value): share * chance
            for kind, share, part in shares
            if share
            for (chosen, value), chance in part.law(label, point).items()
        }

    def constants(self) -> dict[str, Any]:
        return {
            "classes": self.classes,
            "bytes": [run.each for run in self.runs],
            "threshold": str(self.threshold),
            "piecewise": self.piecewise.value_constants(),
            "one_bit": self.one_bit.value_constants(),
        }

    def support(self, reports: Reports) -> Integers:
        """The piecewise mechanism's support, then that of one bit."""
        rows = np.asarray(reports, np.int64)
        kind = rows[:, 1] == 1
        parts = ((self.piecewise, rows[kind][:, ::2]), (self.one_bit, rows[~kind][:, ::2]))
        return np.concatenate([part.support(own) for part, own in parts])

    def estimate(self, support: Any, m: int) -> Floats:
        ours = np.asarray(support, np.int64).reshape(2, -1)
        return self.piecewise.estimate(ours[0], m) + self.one_bit.estimate(ours[1], m)

    def variance(self, m: int, label_share: float = 0.0, mean_square: float = 0.0) -> float:
        share = float(self.share)
        parts = self.piecewise, self.one_bit
        one, two = (part.variance(m, label_share, mean_square) for part in parts)
        return share * one + (1 - share) * two  # both are unbiased for each person, so their variances mix
