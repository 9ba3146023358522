"""Confidence intervals of figures made of noisy counts: post-processing, from the counts and the noise's known law.

Every figure is a ratio. An interval holds the values a for which `numerator − a·denominator`, which has no bias however
strong the noise, is not further from zero than its standard deviation allows; where the denominator may be nothing but
noise, that is every value from 0 to 1.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from statistics import NormalDist

import numpy as np
from numpy.typing import NDArray

from discreet.privacy.measured import Figure, Share

Floats = NDArray[np.float64]
GRID: Floats = np.linspace(0.0, 1.0, 201)
KURTOSIS = 3.0  # of a Laplace law, in excess of the normal one


@dataclass(frozen=True)
class Level:
    """How sure an interval is to be."""

    confidence: float

    def reach(self, weight: float, fourth: float) -> float:
        """Standard deviations to either side, for Σ wᵢ·noiseᵢ plus normal error with Σ wᵢ²·v = `weight` of the whole.

        `fourth` is Σ wᵢ⁴/(Σ wᵢ²)², one for a single noise: the tails of few noises are longer than a normal law's
        (Cornish and Fisher's first term).
        """
        z = NormalDist().inv_cdf((1 + self.confidence) / 2)
        return max(z, z + KURTOSIS * fourth * weight**2 * (z**3 - 3 * z) / 24)


def _hull(excess: Callable[[Floats], Floats], value: float, spread: float) -> tuple[float, float]:
    """The least interval around the values with excess ≤ 0."""
    points = np.unique([*GRID, value])
    inside = np.flatnonzero(excess(points) <= 0)
    if not len(inside):  # noise has carried the estimate beyond 0 or 1
        return max(0.0, value - spread), min(1.0, value + spread)
    first, last = int(inside[0]), int(inside[-1])

    def end(good: float, bad: float) -> float:
        for _ in range(30):
            middle = (good + bad) / 2
            good, bad = (middle, bad) if excess(np.array([middle]))[0] <= 0 else (good, middle)
        return bad

    low = end(points[first], points[first - 1]) if first else 0.0
    high = end(points[last], points[last + 1]) if last + 1 < len(points) else 1.0
    return min(low, value), max(high, value)


def share(inside: float, whole: float, cells: tuple[int, int], variance: float, level: Level) -> Share:
    """A part of the rows: `inside` sums cells[0] noisy cells, `whole` those and cells[1] others."""
    value = min(1.0, max(0.0, inside / whole)) if whole > 0 else 0.5
    own, other = cells

    def noise(a: Floats) -> Floats:
        return np.asarray(variance * (own * (1 - a) ** 2 + other * a**2))

    def sampling(a: Floats) -> Floats:
        return np.asarray(max(whole, 1.0) * a * (1 - a))

    weights = own * (1 - value) ** 4 + other * value**4, own * (1 - value) ** 2 + other * value**2
    fourth = weights[0] / weights[1] ** 2 if weights[1] else 1.0
    if not _there(whole, own + other, variance, level):
        return _nothing()
    return _ratio(inside, whole, value, noise, sampling, fourth, level)


def ordering(own: Floats, other: Floats, within: Floats, variance: float, level: Level) -> Share:
    """AUC: the chance that a row of the class scores higher than another, from noisy rows by class and bin.

    `within` is that chance inside each bin. It is a guess, so what it adds to the chance of a tie counts as an error.
    """
    bins = len(own)
    order = np.tri(bins, k=-1) + np.diag(within)
    ahead, behind = order @ other, own @ order
    mine, others = float(own.sum()), float(other.sum())
    above, whole = float(own @ ahead), mine * others
    known = _there(mine, bins, variance, level) and _there(others, bins, variance, level)
    value = min(1.0, max(0.0, above / whole)) if known else 0.5
    guess = float((np.abs(within - 0.5) * np.maximum(own, 0.0) * np.maximum(other, 0.0)).sum())

    def noise(a: Floats) -> Floats:
        left = (ahead**2).sum() - 2 * a * others * ahead.sum() + bins * a**2 * others**2
        right = (behind**2).sum() - 2 * a * mine * behind.sum() + bins * a**2 * mine**2
        return np.asarray(variance * (left + right) + guess**2)

    def sampling(a: Floats) -> Floats:
        return np.maximum(_hanley(a, max(mine, 1.0), max(others, 1.0)), _delong(own, other, ahead, behind)) * whole**2

    weights = np.concatenate([ahead - value * others, behind - value * mine]) ** 2
    fourth = float((weights**2).sum() / weights.sum() ** 2) if weights.sum() > 0 else 1.0
    return _ratio(above, whole, value, noise, sampling, fourth, level) if known else _nothing()


def _there(total: float, cells: int, variance: float, level: Level) -> bool:
    """Whether some noisy cells hold any rows for sure; a part of what may be nothing can be any part."""
    return total > 0 and total > level.reach(1.0, 1.0 / cells) * math.sqrt(cells * variance)


def _hanley(a: Floats, mine: float, others: float) -> Floats:
    """Hanley and McNeil's variance of an AUC of `a`: it does not vanish where all rows happen to be in order."""
    first, second = a / (2 - a), 2 * a**2 / (1 + a)
    total = a * (1 - a) + (mine - 1) * (first - a**2) + (others - 1) * (second - a**2)
    return np.asarray(np.maximum(total, 0.0) / (mine * others))


def _delong(own: Floats, other: Floats, ahead: Floats, behind: Floats) -> float:
    """DeLong's variance, from the spread of each row's chance to be ordered rightly."""

    def part(counts: Floats, chances: Floats) -> float:
        counts = np.maximum(counts, 0.0)
        total = counts.sum()
        if total <= 0:
            return 0.0
        mean = counts @ chances / total
        return float(counts @ (chances - mean) ** 2 / total**2)

    return part(own, ahead / other.sum()) + part(other, behind / own.sum())


def _ratio(
    inside: float,
    whole: float,
    value: float,
    noise: Callable[[Floats], Floats],
    sampling: Callable[[Floats], Floats],
    fourth: float,
    level: Level,
) -> Share:
    at = np.array([value])

    def bounds(drawn: bool) -> tuple[float, float]:
        extra = sampling if drawn else np.zeros_like
        whole_variance = float(noise(at)[0] + extra(at)[0])
        reach = level.reach(float(noise(at)[0]) / whole_variance if whole_variance > 0 else 0.0, fourth)
        return _hull(
            lambda a: (inside - a * whole) ** 2 - reach**2 * (noise(a) + extra(a)),
            value,
            reach * math.sqrt(whole_variance) / whole,
        )

    narrow, wide = bounds(False), bounds(True)
    return Share(
        value=value,
        low=min(narrow[0], wide[0]),
        high=max(narrow[1], wide[1]),
        noise_low=narrow[0],
        noise_high=narrow[1],
    )


def _nothing() -> Share:
    """What is known of a share of no rows."""
    return Share(value=0.5, low=0.0, high=1.0, noise_low=0.0, noise_high=1.0)


def count(value: float, cells: int, variance: float, level: Level) -> Figure:
    """A number of rows, the sum of some noisy cells; that the rows were drawn moves it as a Poisson number."""
    value = max(0.0, value)
    noisy = level.reach(1.0, 1.0 / cells) * math.sqrt(cells * variance)
    share = cells * variance / (cells * variance + value) if variance else 0.0
    wide = max(noisy, level.reach(share, 1.0 / cells) * math.sqrt(cells * variance + value))
    return Figure(
        value=value,
        low=max(0.0, value - wide),
        high=value + wide,
        noise_low=max(0.0, value - noisy),
        noise_high=value + noisy,
    )


def mean(parts: Sequence[Share], *, apart: bool) -> Share:
    """The mean of shares with independent noise, from their own intervals (Zou and Donner's way, MOVER).

    Their rows are others if they are `apart`; else the errors of drawing rows are taken to add up, the worst case.
    So are the distances of parts of which nothing is known, whose estimates are no estimates.
    """
    value = float(np.mean([one.value for one in parts]))
    known = np.array([one.noise_low > 0 or one.noise_high < 1 for one in parts])

    def side(end: str) -> tuple[float, float]:
        noise = np.array([abs(one.value - getattr(one, f"noise_{end}")) for one in parts])
        whole = np.array([abs(one.value - getattr(one, end)) for one in parts])
        drawn = np.sqrt(np.maximum(whole**2 - noise**2, 0.0))
        together = (drawn**2).sum() if apart else drawn.sum() ** 2
        spread, lost = float((noise[known] ** 2).sum()), float(noise[~known].sum())
        return (math.sqrt(spread) + lost) / len(parts), (math.sqrt(spread + together) + lost) / len(parts)

    (narrow, wide), (narrow_up, wide_up) = side("low"), side("high")
    return Share(
        value=value,
        low=max(0.0, value - wide),
        high=min(1.0, value + wide_up),
        noise_low=max(0.0, value - narrow),
        noise_high=min(1.0, value + narrow_up),
    )
