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
GRID: Floats = np.linspace(0.0, 1.0, 401)
Quadratic = tuple[float, float, float]  # coefficients of 1, a and a²
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


def _between(inside: float, whole: float, reach: float, variance: Quadratic) -> tuple[float, float]:
    """The values a with (inside − a·whole)² ≤ reach²·variance(a), from the least to the largest."""
    square = reach**2
    c = inside**2 - square * variance[0]
    b = -2 * inside * whole - square * variance[1]
    a = whole**2 - square * variance[2]
    inner = b**2 - 4 * a * c
    if a <= 0:
        return 0.0, 1.0
    root = math.sqrt(max(inner, 0.0))
    return (-b - root) / (2 * a), (-b + root) / (2 * a)


def _searched(inside: float, whole: float, reach: float, variance: Callable[[Floats], Floats]) -> tuple[float, float]:
    """The same where the variance is no polynomial: the ends of what a grid finds, refined."""

    def fits(a: Floats) -> NDArray[np.bool_]:
        return np.asarray((inside - a * whole) ** 2 <= reach**2 * variance(a))

    found = np.flatnonzero(fits(GRID))
    middle = min(1.0, max(0.0, inside / whole))
    if not len(found):
        low, high = middle, middle
    else:
        low, high = min(float(GRID[found[0]]), middle), max(float(GRID[found[-1]]), middle)
    step = float(GRID[1] - GRID[0])
    down, up = low - np.linspace(0, step, 65), high + np.linspace(0, step, 65)
    return tuple(float(side[np.argmin(fits(side))]) if not fits(side).all() else float(side[-1]) for side in (down, up))  # type: ignore[return-value]


def share(inside: float, whole: float, cells: tuple[int, int], variance: float, level: Level) -> Share:
    """A part of the rows: `inside` sums cells[0] noisy cells, `whole` those and cells[1] others."""
    value = min(1.0, max(0.0, inside / whole)) if whole > 0 else 0.5
    own, other = cells
    noise = (variance * own, -2 * variance * own, variance * (own + other))
    drawn = max(whole, 1.0)
    weights = own * (1 - value) ** 4 + other * value**4, own * (1 - value) ** 2 + other * value**2
    fourth = weights[0] / weights[1] ** 2 if weights[1] else 1.0
    if not _there(whole, own + other, variance, level):
        return _nothing()
    both = (noise[0], noise[1] + drawn, noise[2] - drawn)
    narrow = _between(inside, whole, level.reach(1.0, fourth), noise)
    there = _at(noise, value)
    reach = level.reach(there / _at(both, value) if there > 0 else 0.0, fourth)
    # Rows are whole: half a row to either side, as a continuity correction, or few rows would be held too rarely.
    low, high = (_between(inside + step, whole, reach, both)[side] for side, step in enumerate((-0.5, 0.5)))
    return _share(value, narrow, (low, high))


def _at(variance: Quadratic, a: float) -> float:
    return variance[0] + variance[1] * a + variance[2] * a**2


def ordering(
    own: Floats,
    other: Floats,
    within: Floats,
    variance: float,
    level: Level,
    mixed: NDArray[np.bool_] | None = None,
) -> Share:
    """AUC: the chance that a row of the class scores higher than another, from noisy rows by class and bin.

    `within` is that chance inside each bin. It is a guess, so what it adds to the chance of a tie counts as an error.
    So does the order in which rows happen to lie in bins with several scores, which are `mixed` (else: where the guess
    is no tie).
    """
    bins = len(own)
    order = np.tri(bins, k=-1) + np.diag(within)
    ahead, behind = order @ other, own @ order
    mine, others = float(own.sum()), float(other.sum())
    above, whole = float(own @ ahead), mine * others
    known = _there(mine, bins, variance, level) and _there(others, bins, variance, level)
    value = min(1.0, max(0.0, above / whole)) if known else 0.5
    first, second = np.maximum(own, 0.0), np.maximum(other, 0.0)
    guess = float((np.abs(within - 0.5) * first * second).sum())
    several = within != 0.5 if mixed is None else mixed
    chance = float((first * second * (first + second + 1))[several].sum()) / 12  # Mann and Whitney's, of a random order

    noise = (
        variance * float((ahead**2).sum() + (behind**2).sum()) + guess**2 + chance,
        -2 * variance * float(others * ahead.sum() + mine * behind.sum()),
        variance * bins * (others**2 + mine**2),
    )
    if not known:
        return _nothing()
    least = _delong(own, other, ahead, behind)

    def both(a: Floats) -> Floats:
        drawn = np.maximum(_hanley(a, max(mine, 1.0), max(others, 1.0)), least) * whole**2
        return np.asarray(noise[0] + noise[1] * a + noise[2] * a**2 + drawn)

    weights = np.concatenate([ahead - value * others, behind - value * mine]) ** 2
    fourth = float((weights**2).sum() / weights.sum() ** 2) if weights.sum() > 0 else 1.0
    there = _at(noise, value)
    reach = level.reach(there / float(both(np.array([value]))[0]) if there > 0 else 0.0, fourth)
    narrow = _between(above, whole, max(level.reach(1.0, fourth), _one(weights, variance, there, level)), noise)
    return _share(value, narrow, _searched(above, whole, reach, both))


def _one(weights: Floats, variance: float, whole: float, level: Level) -> float:
    """Standard deviations that one unit of noise in the heaviest of some cells is away; none if noise is too rare.

    Noises are whole numbers. Few of them, with a small variance, are no normal error: most are nothing, and one is one.
    """
    nothing = (1 + 2 * variance) ** (-len(weights) / 2)  # the chance that all are: (1 − q)/(1 + q) is 1/√(1 + 2v)
    if nothing >= level.confidence or not whole > 0:
        return 0.0
    return math.sqrt(float(weights.max()) / whole)


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


def _share(value: float, narrow: tuple[float, float], wide: tuple[float, float]) -> Share:
    """A share with its two intervals, cut to what is possible and around the estimate."""
    low, high = max(0.0, min(narrow[0], value)), min(1.0, max(narrow[1], value))
    return Share(
        value=value,
        low=max(0.0, min(wide[0], low)),
        high=min(1.0, max(wide[1], high)),
        noise_low=low,
        noise_high=high,
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
    So are distances to 0 or 1, which are shorter than the noise reaches: they hold the truth with nothing to spare.
    """
    value = float(np.mean([one.value for one in parts]))

    def side(end: str) -> tuple[float, float]:
        noise = np.array([abs(one.value - getattr(one, f"noise_{end}")) for one in parts])
        whole = np.array([abs(one.value - getattr(one, end)) for one in parts])
        known = np.array([0 < getattr(one, f"noise_{end}") < 1 for one in parts])
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
