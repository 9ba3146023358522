"""One-bit numbers: the point becomes a random sign, and the sign with its class goes through a frequency oracle."""

from __future__ import annotations

from collections.abc import Iterable
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.errors import SchemaError
from discreet.local.entropy import Source, below, evenly
from discreet.local.mechanism import Floats, Law, Reports
from discreet.local.numbers.base import NUMBERS, NumberMechanism
from discreet.local.numbers.sampled import Sampled
from discreet.local.oracles.base import ORACLES, Oracle
from discreet.local.oracles.grr import GRR
from discreet.local.wire.integers import Integers, Raw


@NUMBERS.register
class OneBit(NumberMechanism):
    """Round the point to ±half without bias, then report (class, sign) out of 2·classes values by an oracle.

    With one class and direct encoding this is Duchi's mechanism: ±half·(e^ε + 1)/(e^ε − 1). Rounding looks at one
    person alone and the oracle is ε-private for its input, hence for the pair behind it.

    >>> mechanism = OneBit(2, 10, epsilon=1)
    >>> mechanism.perturb([0, 1, 1], [-10, 3, 10]).shape
    (3,)
    """

    name, code, script = "one-bit", 17, "oneBit"

    def __init__(self, classes: int, half: int, epsilon: Any, oracle: type[Oracle] = GRR) -> None:
        if not oracle.signs:
            able = " or ".join(name for name, kind in ORACLES.items() if kind.signs)
            raise SchemaError(f"one bit can be reported by {able}, not by {oracle.name}")
        self._kind = oracle
        super().__init__(classes, half, epsilon)

    def _prepare(self) -> None:
        self.oracle = self._kind(2 * self.classes, self.epsilon)
        self.runs, self.shape, self.dtype = self.oracle.runs, self.oracle.shape, self.oracle.dtype

    def draw(self, label: int, point: int, source: Source) -> tuple[int, ...]:
        plus = below(source, 2 * self.half) < self.half + point
        return self.oracle.draw(2 * label + plus, source)

    def perturb(self, labels: Any, points: Any, *, rng: np.random.Generator | None = None) -> Reports:
        label, point = self.check(labels, points)
        return self.oracle.perturb(2 * label + signs(point, self.half, rng), rng=rng)

    def encode(self, reports: Reports) -> Raw:
        return self.oracle.encode(reports)

    def decode(self, raw: Raw) -> tuple[Reports, NDArray[np.bool_]]:
        return self.oracle.decode(raw)

    def law(self, label: int, point: int) -> Law:
        plus = Fraction(self.half + point, 2 * self.half)
        up, down = self.oracle.law(2 * label + 1), self.oracle.law(2 * label)
        return {one: plus * up[one] + (1 - plus) * down[one] for one in up}

    def constants(self) -> dict[str, Any]:
        return {"half": str(self.half), "oracle": self.oracle.code, **self.oracle.constants()}

    def support(self, reports: Reports) -> Integers:
        return self.oracle.support(reports)

    def estimate(self, support: Any, m: int) -> Floats:
        counts = np.asarray(support, np.int64).reshape(self.classes, 2)
        return self.half * (counts[:, 1] - counts[:, 0]) / float(self.oracle.p - self.oracle.q)

    def variance(self, m: int, label_share: float = 0.0, mean_square: float = 0.0) -> float:
        own, other = map(float, self.oracle.together())
        p, q = float(self.oracle.p), float(self.oracle.q)
        square = label_share * (p + q - 2 * own) + (1 - label_share) * (2 * q - 2 * other)
        return m * (self.half**2 * square / (p - q) ** 2 - label_share * mean_square)

    def simulate(self, labels: Any, points: Any, rng: np.random.Generator) -> Integers:
        label, point = self.check(labels, points)
        counts = np.bincount(2 * label + signs(point, self.half, rng), minlength=2 * self.classes)
        return self.oracle.simulate(counts, rng)


@NUMBERS.register
class OneBitSampled(Sampled):
    """The classic form: a class is drawn first, and one bit says the sign of the point, or of 0 for another class.

    `OneBit` has a lower variance; this form is a part of `Hybrid` and serves studies.

    >>> mechanism = OneBitSampled(2, 10, epsilon=1)
    >>> mechanism.perturb([0, 1, 1], [-10, 3, 10]).shape
    (3, 2)
    """

    name, code, script = "one-bit-sampled", 21, "oneBitSampled"

    def _prepare(self) -> None:
        self.coin = GRR(2, self.epsilon)
        self.step = self.half / float(self.coin.p - self.coin.q)
        self.limit = 1
        super()._prepare()

    def draw_value(self, point: int, source: Source) -> int:
        plus = below(source, 2 * self.half) < self.half + point
        return 2 * self.coin.draw(int(plus), source)[0] - 1

    def perturb_values(self, points: Integers, rng: np.random.Generator | None) -> Integers:
        return 2 * self.coin.perturb(signs(points, self.half, rng), rng=rng).astype(np.int64) - 1

    def value_law(self, point: int) -> dict[int, Fraction]:
        plus, p = Fraction(self.half + point, 2 * self.half), self.coin.p
        up = plus * p + (1 - plus) * (1 - p)
        return {-1: 1 - up, 1: up}

    def possible(self, rows: Integers) -> NDArray[np.bool_]:
        return np.asarray(np.abs(rows[:, 1]) == 1)

    def second(self, label_share: float, mean_square: float) -> float:
        return 1.0

    def value_constants(self) -> dict[str, Any]:
        return {"half": str(self.half), **self.coin.constants()}


def signs(points: Integers, half: int, rng: np.random.Generator | None) -> Integers:
    """1 with chance (half + point)/(2·half), else 0, for each point."""
    drawn = evenly(len(points), 2 * half, rng).astype(np.int64)
    return np.asarray(drawn < half + points, np.int64)


def best_oracle(classes: int, epsilon: Any, kinds: Iterable[type[Oracle]]) -> type[Oracle]:
    """The oracle that gives `OneBit` the lowest variance where all classes are equally frequent."""
    return min(kinds, key=lambda kind: OneBit(classes, 1, epsilon, kind).variance(1, 1 / classes, 0.0))
