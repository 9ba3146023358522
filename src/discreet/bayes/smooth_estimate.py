"""Mean and variance out of trimmed releases: post-processing of released numbers and public parameters only."""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from discreet.bayes.release import Release
from discreet.mechanisms.smooth_plan import SmoothPlan, Statistic
from discreet.mechanisms.trimming import UNKNOWN_RATIO, kept_variance, relative_bound
from discreet.schema import Numeric

Floats = NDArray[np.float64]
_SIZES = np.geomspace(2.0**-14, 0.75, 80)  # standard deviations to weigh, as shares of the half range
_FAR = np.sinh(np.linspace(-9, 9, 181)) / 4  # distances from a released mean, in units of its noise
TILT = 0.5  # the prior leans towards wide bells: one too narrow costs far more than one too wide
_NO_BELL = 0.01  # a released variance that bells of the expected width have less often is not of a bell
_APART = 32.0  # bells of one feature differ less in width than this, unless noise is unlikely to have done it
_LIKELY = 0.25  # noise that is above a released variance so often is as often as not farther from zero than it
_ALIKE = 0.8  # how much of the prior says that classes resemble each other; the rest rules nothing out


def trimmed_moments(release: Release, feature: Numeric, rows: Floats) -> tuple[Floats, Floats]:
    """Mean and variance of each class in lattice units, the trimming of a normal sample undone.

    The true scale of the noise is private. What stands in for it is the scale that a normal sample of the released
    size would have under the public parameters; the posterior mean of the variance is the best guess for log-loss.
    """
    half = feature.lattice.half
    first, second = ("mean", feature.name), ("variance", feature.name)
    if ("deviation", feature.name) in release.smooth:  # read as they come, as Vaidya et al. do
        deviations = _shares(release, ("deviation", feature.name))
        return _shares(release, first) * half, np.square(deviations * half)
    squares = second not in release.smooth
    if squares:
        second = ("second", feature.name)
    means, widths = _shares(release, first), _shares(release, second)
    sizes = np.maximum(np.rint(rows), 1).astype(np.int64).tolist()
    trims = np.array([plan.trim for plan in release.smooth[second]], dtype=np.float64)
    if squares:
        # Squares are released around half²/2, in units of that.
        shrink, released = np.ones(len(sizes)), (widths + 1) / 2 - means**2
    else:
        shrink, released = kept_variance(trims / rows), widths
    if not release.plan.budget.private:
        return means * half, released / shrink * half**2
    scales = [_scale(plan, size) for plan, size in zip(release.smooth[first], sizes, strict=True)]
    expected = release.ratios.get(feature.name) or UNKNOWN_RATIO
    likelihoods, noises, bells = [], [], True
    for group, (plan, size) in enumerate(zip(release.smooth[second], sizes, strict=True)):
        scale = _scale(plan, size, 2 if squares else 1)
        if squares:
            scale = scale / 2 + 2 * abs(means[group]) * scales[group]
        noises.append(scale)
        centres = shrink[group] * _SIZES**2
        if released[group] <= 0:
            usual = np.interp(expected, _SIZES, centres) / np.interp(expected, _SIZES, scale)
            bells = bells and float(plan.law.cdf(-usual)) >= _NO_BELL
        likelihoods.append(_likelihood(plan, float(released[group]), centres, scale))
    if not bells:
        return _one_bell(means, rows, expected, half)
    spreads = np.array([_posterior(likelihoods, group) @ _SIZES**2 for group in range(len(sizes))])
    # A spread far below the declared or bought one is what trimming makes of a spike with tails, not of a bell.
    spreads = np.maximum(spreads, (release.ratios.get(feature.name, 0.0) / 2) ** 2)
    if _needle(spreads, released, release.smooth[second], noises):
        return _one_bell(means, rows, expected, half)
    noise = np.array([np.interp(math.sqrt(v), _SIZES, scale) for v, scale in zip(spreads, scales, strict=True)])
    settled = [
        _mean(release.smooth[first][group], means, spreads, noise, group) if len(sizes) > 1 else (means[0], 0.0)
        for group in range(len(sizes))
    ]
    centres, doubts = np.array(settled, dtype=np.float64).T
    return centres * half, (spreads + doubts) * half**2


def _one_bell(means: Floats, rows: Floats, expected: float, half: int) -> tuple[Floats, Floats]:
    """The same bell for all classes: a feature that tells nothing.

    A variance of about zero from many rows is what trimming leaves of a spike with tails. Its noise, and that of the
    mean, has the size of the tails, which is private: neither number may be taken for a class's own.
    """
    centre = float(means @ rows / rows.sum())
    return np.full(len(means), centre * half), np.full(len(means), (expected * half) ** 2)


def _needle(spreads: Floats, released: Floats, plans: Sequence[SmoothPlan], noises: list[Floats]) -> bool:
    """Whether some class is far narrower than the widest one because noise fell just above zero.

    Noise around no spread is above zero as often as below. What lies just above it would be a needle of a bell, which
    outvotes all else. It is not believed if noise of the size that a bell as wide as the widest class's brings explains
    it: a variance just above zero says no more than one just below.
    """
    widest = float(spreads.max())
    for spread, value, plan, noise in zip(spreads, released, plans, noises, strict=True):
        if spread * _APART**2 < widest:
            size = np.interp(math.sqrt(widest), _SIZES, noise)
            if float(plan.law.cdf(-value / size)) >= _LIKELY:
                return True
    return False


def _shares(release: Release, key: tuple[str, str]) -> Floats:
    """Released values as shares of the half range, or of its square."""
    values = release.values[key][:, 0].astype(np.float64)
    units = [
        plan.fineness * (plan.half_range**2 if plan.statistic == "variance" else plan.half_range)
        for plan in release.smooth[key]
    ]
    return np.asarray(values / np.array(units, dtype=np.float64))


def _scale(plan: SmoothPlan, rows: int, factor: int = 1) -> Floats:
    """The scale of the noise for normal samples of the spreads in `_SIZES`, times `factor`."""
    return _model_scale(plan.statistic, plan.trim, float(plan.beta), float(plan.divisor), rows, factor)


@lru_cache(maxsize=1024)
def _model_scale(statistic: Statistic, trim: int, beta: float, divisor: float, rows: int, factor: int) -> Floats:
    ratios = _SIZES if factor == 1 else np.minimum(factor * _SIZES, 0.5)
    bound = relative_bound(statistic, trim, rows, ratios, np.array([beta]))[:, 0]
    return np.asarray(np.maximum(bound / divisor, 1e-12))


def _likelihood(plan: SmoothPlan, released: float, centres: Floats, scale: Floats) -> Floats:
    """How well each spread explains the released variance; one at a bound stands for all beyond it."""
    if released <= 0:
        weight = plan.law.cdf(-centres / scale)
    elif released >= 1:
        weight = plan.law.cdf((centres - 1) / scale)
    else:
        weight = np.exp(plan.law.log_density((released - centres) / scale)) / scale
    total = float(weight.sum())
    return np.asarray(weight / total if total > 0 else np.full(len(weight), 1 / len(weight)))


def _posterior(likelihoods: list[Floats], group: int) -> Floats:
    """Weights of the spreads for one class: its own likelihood, leaning towards what the others say."""
    others = [one for index, one in enumerate(likelihoods) if index != group]
    prior = _SIZES**TILT / (_SIZES**TILT).sum()
    if others:
        steps = np.log(_SIZES)
        blur = np.exp(-np.square(steps[:, None] - steps[None, :]) / 2)
        alike = (blur / blur.sum(axis=0)) @ np.mean(others, axis=0)
        prior = _ALIKE * alike + (1 - _ALIKE) * prior
    weight = prior * likelihoods[group]
    total = float(weight.sum())
    return np.asarray(weight / total if total > 0 else prior / prior.sum())


def _mean(plan: SmoothPlan, means: Floats, spreads: Floats, noise: Floats, group: int) -> tuple[float, float]:
    """The posterior mean of a class's mean and its variance; class means lie a few deviations apart, or anywhere."""
    points = np.unique(np.clip(np.concatenate([means[group] + noise[group] * _FAR, means]), -1, 1))
    if len(points) < 3:
        return float(means[group]), 0.0
    widths = np.gradient(points)
    others = np.arange(len(means)) != group
    reach = np.sqrt(9 * np.maximum(spreads[group], spreads[others]) + np.square(noise[others]))
    gaps = (points[:, None] - means[others]) / reach
    alike = (np.exp(-np.square(gaps) / 2) / (reach * math.sqrt(2 * math.pi))).mean(axis=1)
    log_weight = plan.law.log_density((means[group] - points) / noise[group])
    weight = np.exp(log_weight - log_weight.max()) * (_ALIKE * alike + (1 - _ALIKE) / 2) * widths
    weight = weight / weight.sum()
    centre = float(weight @ points)
    return centre, float(weight @ np.square(points - centre))
