"""Mean and variance out of trimmed releases: post-processing of released numbers and public parameters only."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from discreet.bayes.release import Release
from discreet.bayes.tuning import kept_variance, relative_bound, unit_noise
from discreet.mechanisms.smooth_plan import SmoothPlan
from discreet.schema import Numeric

Floats = NDArray[np.float64]
_SIZES = np.geomspace(2.0**-12, 0.5, 23)  # spreads to try, as shares of the half range


def trimmed_moments(release: Release, feature: Numeric, rows: Floats) -> tuple[Floats, Floats]:
    """Mean and variance of each class in lattice units, a normal sample's trimming undone.

    The scale of the noise is private. What stands in for it is the noise that a normal sample of the released size
    and spread would have met under the public parameters: a variance below it is not to be told from none.
    """
    half = feature.lattice.half
    first, second = ("mean", feature.name), ("variance", feature.name)
    squares = second not in release.smooth
    if squares:
        second = ("second", feature.name)
    centres = [
        value / plan.fineness for value, plan in zip(release.values[first][:, 0], release.smooth[first], strict=True)
    ]
    widths = [
        value / plan.fineness for value, plan in zip(release.values[second][:, 0], release.smooth[second], strict=True)
    ]
    mean, width = np.array(centres, dtype=np.float64), np.array(widths, dtype=np.float64)
    if squares:
        variance = width + half * half / 2 - mean**2
    else:
        trims = np.array([plan.trim for plan in release.smooth[second]], dtype=np.float64)
        variance = width / kept_variance(trims / rows)
    if not release.plan.budget.private:
        return mean, variance
    floors = np.array([_floor(plan, size, squares) for plan, size in zip(release.smooth[second], rows, strict=True)])
    widest = float(half * half)
    variance = np.clip(variance, np.minimum(floors * widest, widest / 3), widest)
    doubts = [
        _noise(plan, size, np.array([math.sqrt(float(v)) / half]))[0] * half
        for plan, size, v in zip(release.smooth[first], rows, variance, strict=True)
    ]
    return mean, variance + np.minimum(np.square(doubts), widest / 3)


def _noise(plan: SmoothPlan, rows: float, ratios: Floats) -> Floats:
    """Typical noise for normal samples of these spreads; the half range counts as 1."""
    size = max(round(rows), 1)
    bound = relative_bound(plan.statistic, plan.trim, size, ratios, np.array([float(plan.beta)]))[:, 0]
    return bound * unit_noise(plan.law, float(plan.epsilon), float(plan.beta))


def _floor(plan: SmoothPlan, rows: float, squares: bool) -> float:
    """The largest variance, as a share of the squared half range, that typical noise would drown."""
    ratios = np.minimum(2 * _SIZES, 0.5) if squares else _SIZES
    noise = _noise(plan, rows, ratios) * (0.5 if squares else 1.0)
    drowned = noise >= _SIZES**2
    return float(noise[drowned][-1]) if drowned.any() else float(noise[0])
