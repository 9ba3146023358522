"""Mechanisms that are broken on purpose: an audit is worth nothing unless it catches every one of them.

Each has a repaired twin, so that a test can show the flaw itself is what the audit finds. All but one draw
whole numbers of lattice steps, lest every control be caught by its floating-point bits alone.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.audit.registry import AuditCase, case_at_one
from discreet.audit.result import Pair

Rng = np.random.Generator
Numbers = NDArray[np.float64]


def discrete_laplace(scale: float, size: int | tuple[int, ...], *, rng: Rng) -> Numbers:
    """Draw whole numbers with mass proportional to exp(-|k| / scale): a difference of two geometrics."""
    p = -math.expm1(-1.0 / scale)
    return np.asarray(rng.geometric(p, size) - rng.geometric(p, size), dtype=np.float64)


@dataclass(frozen=True)
class ShortNoise:
    """A count whose noise has `factor` times the scale it needs."""

    epsilon: float
    factor: float = 0.7

    def sample(self, data: Sequence[Any], size: int, *, rng: Rng) -> Numbers:
        """Return noisy counts."""
        return len(data) + discrete_laplace(self.factor / self.epsilon, (size, 1), rng=rng)


@dataclass(frozen=True)
class LocalMaximum:
    """A sum of whole numbers with noise scaled to the largest of them that is present.

    The repaired twin clips to a public bound and scales to that.
    """

    epsilon: float
    bound: float | None = None

    def sample(self, data: Sequence[float], size: int, *, rng: Rng) -> Numbers:
        """Return noisy sums."""
        values = np.asarray(data, dtype=np.float64)
        largest = float(np.abs(values).max(initial=1.0)) if self.bound is None else self.bound
        total = float(np.clip(values, -largest, largest).sum())
        return total + discrete_laplace(largest / self.epsilon, (size, 1), rng=rng)


@dataclass(frozen=True)
class ClassByClass:
    """One count per class, each at full budget: parallel under add-remove, but a label change moves two."""

    epsilon: float
    moved: int = 1

    def sample(self, data: Sequence[int], size: int, *, rng: Rng) -> Numbers:
        """Return noisy class counts; `moved` is the sensitivity they are scaled to."""
        counts = np.bincount(np.asarray(data, dtype=np.int64), minlength=2).astype(np.float64)
        return counts + discrete_laplace(self.moved / self.epsilon, (size, 2), rng=rng)


@dataclass(frozen=True)
class UncentredSums:
    """Sums per class of values in [1000, 1001], scaled as if only the width of the bounds could move them.

    The repaired twin centres first, so that a row weighs at most half the width in each class it touches.
    """

    epsilon: float
    centred: bool = False
    step: float = 2.0**-7

    def sample(self, data: Sequence[tuple[int, float]], size: int, *, rng: Rng) -> Numbers:
        """Return noisy sums of both classes."""
        sums = np.zeros(2)
        for label, value in data:
            sums[label] += value - 1000.5 if self.centred else value
        steps = np.round(sums / self.step)
        return (steps + discrete_laplace(1.0 / (self.step * self.epsilon), (size, 2), rng=rng)) * self.step


@dataclass(frozen=True)
class ClassesFromData:
    """Noisy counts of the classes that occur: the list of classes itself gives a lone member away."""

    epsilon: float
    classes: tuple[str, ...] | None = None

    def __call__(self, data: Sequence[str], *, rng: Rng) -> dict[str, float]:
        """Return a noisy count per class; the repaired twin takes the classes from a public list."""
        names = sorted(set(data)) if self.classes is None else self.classes
        noise = discrete_laplace(1.0 / self.epsilon, len(names), rng=rng)
        return {name: data.count(name) + float(extra) for name, extra in zip(names, noise, strict=True)}


@dataclass(frozen=True)
class FloatingLaplace:
    """The textbook inverse-CDF Laplace in doubles: some outputs can be reached from one input only.

    The repaired twin rounds to a coarse grid, after which the low bits carry nothing.
    """

    epsilon: float
    grid: float | None = None

    def sample(self, data: float, size: int, *, rng: Rng) -> Numbers:
        """Return noisy values."""
        uniform = rng.random((size, 1)) - 0.5
        noise = -np.sign(uniform) * np.log(1.0 - 2.0 * np.abs(uniform)) / self.epsilon
        noisy: Numbers = data + noise
        return noisy if self.grid is None else np.asarray(np.round(noisy / self.grid) * self.grid)


@dataclass(frozen=True)
class RepeatedSeed:
    """Sums of two features that share one budget, with the same noise on both: their difference is exact."""

    epsilon: float
    repeated: bool = True

    def sample(self, data: Sequence[tuple[int, int]], size: int, *, rng: Rng) -> Numbers:
        """Return noisy sums per feature."""
        sums = np.asarray(data, dtype=np.float64).reshape(-1, 2).sum(axis=0)
        noise = discrete_laplace(2.0 / self.epsilon, (size, 2), rng=rng)
        return np.asarray(sums + (noise[:, :1] if self.repeated else noise))


@dataclass(frozen=True)
class RefusedRows:
    """A noisy count that is refused if a row is no number: the refusal is an output that the noise does not cover.

    The repaired twin leaves such rows out.
    """

    epsilon: float
    absorbs: bool = False

    def sample(self, data: Sequence[float], size: int, *, rng: Rng) -> Numbers:
        """Return noisy counts, or −1000 for a refusal."""
        good = [value for value in data if math.isfinite(value)]
        if len(good) < len(data) and not self.absorbs:
            return np.full((size, 1), -1000.0)
        return len(good) + discrete_laplace(1.0 / self.epsilon, (size, 1), rng=rng)


@dataclass(frozen=True)
class ChoiceByPosition:
    """A sum over one row of each person, the one that stands at an even place of the table if there is one.

    A row before the others moves them all to other places. The repaired twin draws one of a person's rows evenly.
    """

    epsilon: float
    drawn: bool = False

    def sample(self, data: Sequence[tuple[str, int]], size: int, *, rng: Rng) -> Numbers:
        """Return noisy sums of values that are 0 or 1."""
        own: dict[str, list[tuple[int, int]]] = {}
        for place, (person, value) in enumerate(data):
            own.setdefault(person, []).append((place, value))
        total = np.zeros(size)
        for rows in own.values():
            if self.drawn:
                total += np.array([value for _, value in rows])[rng.integers(len(rows), size=size)]
            else:
                total += next((value for place, value in rows if place % 2 == 0), rows[0][1])
        return np.asarray((total + discrete_laplace(1.0 / self.epsilon, size, rng=rng))[:, None])


def audit_cases() -> list[AuditCase]:
    """Declare the negative controls."""
    far = [(0, 1001.0), (1, 1000.75)]
    people = [(person, value) for person in "abcdefghij" for value in (0, 1)]
    declared: list[tuple[str, str, Callable[[float], Any], Any, Any, str, str]] = [
        ("short-noise", "add-remove", ShortNoise, [0] * 5, [0] * 6,
         "noise at 70 % of the right scale", "one row more"),
        ("local-maximum", "add-remove", LocalMaximum, [1.0] * 5, [1.0] * 5 + [10.0],
         "noise scaled to the largest value in the data", "a row ten times the others"),
        ("class-by-class", "replace", ClassByClass, [0, 0, 1], [0, 1, 1],
         "each class at full budget although a label change touches two", "one label changed"),
        ("uncentred-sums", "replace", UncentredSums, far, [(1, 1001.0), far[1]],
         "sums in [1000, 1001] scaled to the width of the bounds", "one label changed"),
        ("classes-from-data", "add-remove", ClassesFromData, ["a", "b"], ["a", "b", "c"],
         "classes are read from the data", "the only row of a class"),
        ("floating-laplace", "add-remove", FloatingLaplace, 0.0, 1.0,
         "textbook Laplace in double precision", "a sum of 0 or 1"),
        ("repeated-seed", "add-remove", RepeatedSeed, [(1, 1)], [(1, 1), (1, 0)],
         "the same noise on two features", "a row with one feature set"),
        ("refused-rows", "add-remove", RefusedRows, [1.0] * 5, [1.0] * 5 + [math.nan],
         "a row that is no number ends in a refusal", "a row that is no number"),
        ("choice-by-position", "add-remove", ChoiceByPosition, people, [("z", 1), *people],
         "which of a person's rows counts depends on where they stand", "one more person, before the others"),
    ]  # fmt: skip
    return [
        case_at_one(f"control-{name}", build, [Pair(left, right, pair)], note, adjacency=adjacency)
        for name, adjacency, build, left, right, note, pair in declared
    ]
