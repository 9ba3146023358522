"""Curves: bell curves of numbers from noisy sums of points and of their squares.

A class's mean and mean square are sums over its share of the people. Both are pulled towards what all classes have in
common by as much as their noise demands: the best linear estimate if means were spread evenly over the public bounds.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from discreet.bayes.likelihoods import GaussianLikelihood
from discreet.local.inputs import Input, point_features
from discreet.local.mechanism import Floats
from discreet.schema import Numeric, Schema

_ROUNDING = 1 / 12  # lattice steps squared: noise leaves no reason to trust a spread below that of rounding


@dataclass(frozen=True, eq=False)
class Curve:
    """A bell curve per class and how many people reported for it."""

    likelihood: GaussianLikelihood
    rows: float


@dataclass(frozen=True, eq=False)
class Moment:
    """E[t·1(class)] over all people, with its variance, for points t in −half … half."""

    means: Floats
    variance: float
    half: float
    rows: int


def curve_of(schema: Schema, feature: Numeric, asked: Mapping[Input, Sequence[Any]], prior: Floats) -> Curve | None:
    """The curve of a number out of all tallies about it; None if either the mean or the square is missing."""
    first = _moment(schema, feature, ("mean", "means"), asked)
    second = _moment(schema, feature, ("square", "squares"), asked)
    if first is None or second is None:
        return None
    lattice, shares = feature.lattice, np.maximum(prior, 1 / min(first.rows, second.rows))
    mean, spread = gaussian_parameters(lattice.half, *_pulled(first, shares), *_pulled(second, shares))
    spread = np.clip(spread, (2e-9 * lattice.half) ** 2, 4.0 * lattice.half**2)
    step = float(lattice.step)
    likelihood = GaussianLikelihood(feature.name, lattice.middle + mean * step, spread * step * step)
    return Curve(likelihood, first.rows + second.rows)


def _moment(
    schema: Schema, feature: Numeric, kinds: tuple[str, str], asked: Mapping[Input, Sequence[Any]]
) -> Moment | None:
    """All tallies of one moment, alone or among all numbers, combined by inverse variance."""
    place = [one.name for one in point_features(schema)].index(feature.name) if feature.missing_code is None else -1
    half = float(feature.lattice.half) if kinds[0] == "mean" else float(feature.lattice.half) ** 2
    means, variances, rows = [], [], 0
    classes = len(schema.classes)
    for about, tallies in asked.items():
        if not ((about.kind == kinds[0] and about.feature == feature) or (about.kind == kinds[1] and place >= 0)):
            continue
        for one in tallies:
            sums, m = one.mechanism.estimate(one.support, one.reports), one.reports
            noise = one.mechanism.variance(m, 1 / classes, half * half / 3)
            if about.kind == kinds[1]:
                sums, noise = sums[place], noise[place]
            means.append(np.asarray(sums, np.float64) / m)
            variances.append(float(noise) / m**2 + half * half / 3 / classes / m)  # noise, and who was asked
            rows += m
    if not rows:
        return None
    weights = 1 / np.array(variances)
    return Moment(np.tensordot(weights / weights.sum(), np.array(means), axes=1), 1 / weights.sum(), half, rows)


def _pulled(moment: Moment, shares: Floats) -> tuple[Floats, Floats]:
    """The mean of each class, pulled towards the mean of all, and the variance that is left in it."""
    even = moment.half**2 / 3
    overall = float(np.clip(moment.means.sum(), -moment.half, moment.half))
    overall *= even / (even + len(shares) * moment.variance)
    noise = moment.variance / shares**2
    trust = even / (even + noise)
    mean = np.clip(overall + trust * (moment.means / shares - overall), -moment.half, moment.half)
    return mean, trust * noise


def gaussian_parameters(
    half: int, mean: Floats, mean_noise: Floats, square: Floats, square_noise: Floats
) -> tuple[Floats, Floats]:
    """Mean and variance per class in lattice units, inside what the bounds allow.

    `mean` is that of points k in −half … half and `square` that of 2·k² − half², each with the variance of its noise.
    """
    widest = float(half) ** 2
    inside = np.clip(mean, -half, half)
    second = np.clip((square + widest) / 2, 0.0, widest)
    # A variance drowned in noise is not trusted below the noise's own size; the mean's error widens it further.
    doubt = np.sqrt(square_noise) / 2
    spread = np.clip(second - inside**2, np.minimum(doubt, widest / 3), widest) + np.minimum(mean_noise, widest / 3)
    return inside, np.maximum(spread, _ROUNDING)
