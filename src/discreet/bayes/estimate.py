"""Estimation: noisy tables → Naive Bayes parameters; post-processing only, so it costs no privacy."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from discreet.bayes.denoising import noisy_table, posterior, shrunk
from discreet.bayes.likelihoods import GaussianLikelihood, Likelihood, TableLikelihood
from discreet.bayes.release import Release
from discreet.bayes.smooth_estimate import trimmed_moments
from discreet.schema import Feature, Numeric, Schema

Floats = NDArray[np.float64]


def class_totals(release: Release) -> tuple[Floats, float]:
    """Rows per class from every count table, weighted by inverse variance, and the variance of the result.

    Each row sits in exactly one cell of each table, so every table's row sums estimate the same totals.
    """
    estimates, variances = [], []
    bundles: set[int] = set()
    for item in release.plan.items:
        if item.kind in {"class", "table", "present"} and item.bundle not in bundles:
            estimates.append(release.values[item.key].sum(axis=1).astype(np.float64))
            variances.append(float(np.mean(release.total_variance(item))))
            bundles |= set() if item.bundle is None else {item.bundle}  # one draw, one sum in all its tables
    if min(variances) == 0.0:
        return estimates[int(np.argmin(variances))], 0.0
    weights = 1 / np.array(variances)
    return np.tensordot(weights / weights.sum(), np.array(estimates), axes=1), float(1 / weights.sum())


def consistent(
    table: Floats,
    totals: Floats,
    variance: float | Floats,
    total_variance: float | Floats,
    own: float | Floats | None = None,
) -> Floats:
    """The table moved towards the known class totals (least squares), then to the nearest non-negative one.

    Variances are one number, or one for each class; `own` is that of a row sum if cells are not independent.
    """
    if not np.any(variance):
        return table
    cells = table.shape[1]
    own = cells * variance if own is None else own
    gap = (totals - table.sum(axis=1)) * own / (own + total_variance)
    moved = table + gap[:, None] / cells
    return np.stack([project(row, max(float(row.sum()), 0.0)) for row in moved])


def project(row: Floats, total: float) -> Floats:
    """The point of {x ≥ 0, Σx = total} nearest to `row`."""
    falling = np.sort(row)[::-1]
    excess = (np.cumsum(falling) - total) / np.arange(1, len(row) + 1)
    kept = int(np.count_nonzero(falling > excess))
    return np.asarray(np.maximum(row - excess[max(kept - 1, 0)], 0.0))


def log_prior(totals: Floats) -> Floats:
    """Class log-probabilities; a class that seems empty counts as half a row."""
    rows = np.maximum(totals, 0.5)
    return np.asarray(np.log(rows) - math.log(float(rows.sum())))


def log_table(table: Floats, totals: Floats, variance: float | Floats, smoothing: float) -> Floats:
    """Log-probability of each cell given the class.

    To the usual pseudo-count comes one in proportion to the noise, split over the classes like the rows are: a
    cell that is all noise then says little for or against any class.
    """
    shares = np.maximum(totals, 0.5) / np.maximum(totals, 0.5).sum()
    extra = NOISE_WEIGHT * np.sqrt(variance) * shares
    padded = table + (smoothing + extra)[:, None]
    return np.asarray(np.log(padded) - np.log(padded.sum(axis=1, keepdims=True)))


NARROWEST = 1e-9  # of the widest feature's variance is added to every variance, as scikit-learn does
NOISE_WEIGHT = 0.5  # measured on the reference data: 0 lets noise speak, 2 silences rare cells


def estimate(release: Release, smoothing: float = 1.0, reading: str = "plain") -> tuple[Floats, list[Likelihood]]:
    """The class log-prior and the likelihood of each feature; `reading` says how noisy tables are read."""
    totals, total_variance = class_totals(release)
    likelihoods = [
        feature_likelihood(release, feature, totals, total_variance, smoothing)
        for feature in release.plan.schema.features
    ]
    if reading != "plain":
        likelihoods = reread(release, likelihoods, totals, total_variance, smoothing, reading)
        totals = doubtful(totals, total_variance)
    return log_prior(totals), widened(likelihoods, totals, release.plan.schema)


def reread(
    release: Release,
    likelihoods: list[Likelihood],
    totals: Floats,
    total_variance: float,
    smoothing: float,
    reading: str,
) -> list[Likelihood]:
    """The likelihoods with noisy tables read with shrinkage ("shrunk") or by a posterior of their counts ("bayes")."""
    items = {
        item.feature: item for item in release.plan.items if item.kind == "table" and np.any(release.variance(item))
    }
    tables = {}
    for feature in release.plan.schema.features:
        if feature.name in items:
            item = items[feature.name]
            bins = feature.cells - (feature.missing_code is not None) if isinstance(feature, Numeric) else 0
            tables[feature.name] = noisy_table(
                release.values[item.key].astype(np.float64), release.variance(item), release.total_variance(item),
                totals, total_variance, bins,
            )  # fmt: skip
    if not tables:
        return likelihoods
    rows = doubtful(totals, total_variance)
    if reading == "bayes":
        read = [posterior(table, rows, smoothing) for table in tables.values()]
    else:
        plain = [one.log_prob for one in likelihoods if isinstance(one, TableLikelihood) and one.name in tables]
        read = [shrunk(table, one, rows) for table, one in zip(tables.values(), plain, strict=True)]
    found = dict(zip(tables, read, strict=True))
    return [TableLikelihood(one.name, found[one.name]) if one.name in found else one for one in likelihoods]


def doubtful(totals: Floats, variance: float) -> Floats:
    """Rows per class, none below zero, and all of them nearer to each other the less is known about them."""
    return np.asarray(np.maximum(totals, 0.5) + 0.5 * math.sqrt(variance))


def feature_likelihood(
    release: Release,
    feature: Feature,
    totals: Floats,
    total_variance: float | Floats,
    smoothing: float,
) -> Likelihood:
    """The likelihood of one feature, given the rows per class and how uncertain those are."""
    item = release.plan.tables.get(feature.name)
    if item is None:
        assert isinstance(feature, Numeric)
        return _gaussian(release, feature, totals, smoothing)
    raw, spread = release.values[item.key].astype(np.float64), release.variance(item)
    fixed = consistent(raw, totals, spread, total_variance, release.total_variance(item))
    return TableLikelihood(feature.name, log_table(fixed, totals, spread, smoothing))


def widened(likelihoods: list[Likelihood], totals: Floats, schema: Schema) -> list[Likelihood]:
    """The likelihoods with a sliver of the widest number's variance added to every bell curve, inside its bounds."""
    widest = max((_overall(one, totals) for one in likelihoods if isinstance(one, GaussianLikelihood)), default=0.0)
    most = {feature.name: (feature.upper - feature.lower) ** 2 for feature in schema.numeric}
    return [
        replace(one, variance=np.minimum(one.variance + NARROWEST * widest, most[one.name]))
        if isinstance(one, GaussianLikelihood)
        else one
        for one in likelihoods
    ]


def _overall(likelihood: GaussianLikelihood, totals: Floats) -> float:
    """The variance of a number over all classes, from what is released for each."""
    shares = np.maximum(totals, 0.0) / max(float(np.maximum(totals, 0.0).sum()), 1.0)
    mean = float(shares @ likelihood.mean)
    return float(shares @ (likelihood.variance + (likelihood.mean - mean) ** 2))


def rows_present(
    release: Release, feature: Numeric, totals: Floats, smoothing: float = 1.0
) -> tuple[Floats, Floats | None]:
    """Rows per class in which a number is present, and the log-probabilities of present and missing."""
    present = next((item for item in release.plan.items if item.key == ("present", feature.name)), None)
    if present is None:
        return totals, None
    split = release.values[present.key].astype(np.float64)
    fixed = consistent(split, totals, release.variance(present), math.inf, release.total_variance(present))
    return fixed[:, 0], log_table(fixed, totals, release.variance(present), smoothing)


def _gaussian(release: Release, feature: Numeric, totals: Floats, smoothing: float) -> GaussianLikelihood:
    """Mean and variance per class from noisy lattice sums, inside what the bounds allow."""
    there, absent = rows_present(release, feature, totals, smoothing)
    rows = np.maximum(there, 1.0)
    step = float(feature.lattice.step)
    if ("mean", feature.name) in release.smooth:
        mean, spread = trimmed_moments(release, feature, rows)
    else:
        mean, spread = _plain_moments(release, feature, there)
    # Noise leaves no reason to trust a spread below that of rounding; without noise it is what it is.
    spread = np.maximum(spread, 1 / 12 if release.plan.budget.private else 0.0)
    spread = np.maximum(spread, (2e-9 * feature.lattice.half) ** 2)
    centre = feature.lattice.middle
    return GaussianLikelihood(
        feature.name,
        mean=centre + mean * step,
        variance=spread * step * step,
        truncated=release.plan.numeric == "truncated-gaussian",
        present=absent,
    )


def _plain_moments(release: Release, feature: Numeric, there: Floats) -> tuple[Floats, Floats]:
    """Mean and variance in lattice units from sums with noise of a known size."""
    items = {item.key: item for item in release.plan.items}
    total, square = items["sum", feature.name], items["square", feature.name]
    half, rows = feature.lattice.half, np.maximum(there, 1.0)
    mean = np.clip(release.values[total.key][:, 0] / rows, -half, half)
    second = release.values[square.key][:, 0] / rows + there / rows * (half * half / 2)
    spread = second - mean**2
    # A variance drowned in noise is not trusted below the noise's own size; the mean's error widens it further.
    doubt = np.sqrt(release.variance(square)) / rows
    mean_doubt = release.variance(total) / rows**2
    widest = float(half * half)
    spread = np.clip(spread, np.minimum(doubt, widest / 3), widest) + np.minimum(mean_doubt, widest / 3)
    return mean, spread
