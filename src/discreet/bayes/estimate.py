"""Estimation: noisy tables → Naive Bayes parameters; post-processing only, so it costs no privacy."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from discreet.bayes.denoising import NoisyTable, noisy_table, posterior, shrunk
from discreet.bayes.items import Item
from discreet.bayes.likelihoods import Likelihood, likelihood_for
from discreet.bayes.model import Noise
from discreet.bayes.release import Release
from discreet.bayes.smooth_estimate import trimmed_moments
from discreet.privacy.plan import check_smoothing
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
    return project(moved, np.maximum(moved.sum(axis=1), 0.0))


def project(table: Floats, totals: Floats) -> Floats:
    """For each row of a table the nearest point of {x ≥ 0, Σx = its total}."""
    falling = np.sort(table, axis=1)[:, ::-1]
    excess = (np.cumsum(falling, axis=1) - totals[:, None]) / np.arange(1, table.shape[1] + 1)
    kept = np.count_nonzero(falling > excess, axis=1)
    return np.asarray(np.maximum(table - excess[np.arange(len(table)), np.maximum(kept - 1, 0)][:, None], 0.0))


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
    smoothing = check_smoothing(smoothing)
    totals, total_variance = class_totals(release)
    evidence = Released(release, totals, total_variance, smoothing, reading)
    likelihoods = [evidence.likelihood(feature) for feature in release.plan.schema.features]
    if reading != "plain":
        totals = doubtful(totals, total_variance)
    return log_prior(totals), widened(likelihoods, totals, release.plan.schema)


@dataclass(frozen=True)
class Released:
    """The evidence that a release is to likelihoods, given the rows per class and how uncertain those are."""

    release: Release
    totals: Floats
    total_variance: float | Floats
    smoothing: float
    reading: str = "plain"

    @cached_property
    def items(self) -> dict[tuple[str, str], Item]:
        """What was released."""
        return {item.key: item for item in self.release.plan.items}

    def likelihood(self, feature: Feature) -> Likelihood:
        """The likelihood of a feature."""
        return likelihood_for(feature, self.release.plan.numeric).estimate(self, feature)

    def table(self, feature: Feature) -> Floats:
        """log P(cell | class): plain, with shrinkage ("shrunk"), or by a posterior of the counts ("bayes")."""
        if self.reading == "plain" or not np.any(self.release.variance(self.items["table", feature.name])):
            return self._plain(feature)
        if self.reading == "bayes":
            return posterior(self._noisy(feature), doubtful(self.totals, self.total_variance), self.smoothing)
        return self._shrunk[feature.name]

    @cached_property
    def _shrunk(self) -> dict[str, Floats]:
        """All tables with noise, read with shrinkage at once."""
        counted = [feature for feature in self.release.plan.schema.features if ("table", feature.name) in self.items]
        tables = [one for one in counted if np.any(self.release.variance(self.items["table", one.name]))]
        noisy, plain = [self._noisy(one) for one in tables], [self._plain(one) for one in tables]
        found = shrunk(noisy, plain, doubtful(self.totals, self.total_variance))
        return {feature.name: table for feature, table in zip(tables, found, strict=True)}

    def _plain(self, feature: Feature) -> Floats:
        item = self.items["table", feature.name]
        raw, spread = self.release.values[item.key].astype(np.float64), self.release.variance(item)
        fixed = consistent(raw, self.totals, spread, self.total_variance, self.release.total_variance(item))
        return log_table(fixed, self.totals, spread, self.smoothing)

    def _noisy(self, feature: Feature) -> NoisyTable:
        item = self.items["table", feature.name]
        bins = feature.cells - (feature.missing_code is not None) if isinstance(feature, Numeric) else 0
        raw, own = self.release.values[item.key].astype(np.float64), self.release.total_variance(item)
        return noisy_table(raw, self.release.variance(item), own, self.totals, self.total_variance, bins)

    def moments(self, feature: Numeric) -> tuple[Floats, Floats]:
        """Mean and variance per class from noisy lattice sums, inside what the bounds allow."""
        there, _ = rows_present(self.release, feature, self.totals, self.smoothing)
        if ("mean", feature.name) in self.release.smooth:
            mean, spread = trimmed_moments(self.release, feature, np.maximum(there, 1.0))
        else:
            mean, spread = self._plain_moments(feature, there)
        # Noise leaves no reason to trust a spread below that of rounding; without noise it is what it is.
        spread = np.maximum(spread, 1 / 12 if self.release.plan.budget.private else 0.0)
        spread = np.maximum(spread, (2e-9 * feature.lattice.half) ** 2)
        step = float(feature.lattice.step)
        return feature.lattice.middle + mean * step, spread * step * step

    def _plain_moments(self, feature: Numeric, there: Floats) -> tuple[Floats, Floats]:
        """Mean and variance in lattice units from sums with noise of a known size."""
        release, total, square = self.release, self.items["sum", feature.name], self.items["square", feature.name]
        half, rows = feature.lattice.half, np.maximum(there, 1.0)
        mean = np.clip(release.values[total.key][:, 0] / rows, -half, half)
        second = release.values[square.key][:, 0] / rows + there / rows * (half * half / 2)
        spread = second - mean**2
        # A variance drowned in noise is not trusted below the noise's own size; the mean's error widens it further.
        doubt = np.sqrt(release.variance(square)) / rows
        mean_doubt = release.variance(total) / rows**2
        widest = float(half * half)
        return mean, np.clip(spread, np.minimum(doubt, widest / 3), widest) + np.minimum(mean_doubt, widest / 3)

    def present(self, feature: Numeric) -> Floats | None:
        """The log-probabilities of present and missing, if they were counted."""
        return rows_present(self.release, feature, self.totals, self.smoothing)[1]


def noise_of(release: Release) -> Noise | None:
    """How large the noise of each table is beside the noisy rows of each class: what error bands rest on."""
    deviation = {}
    for item in release.plan.items:
        spread = np.sqrt(np.broadcast_to(release.variance(item), release.values[item.key].shape[:1]))
        if item.kind == "table" and (spread > 0).all():
            deviation[item.key[1]] = [float(f"{one:.6g}") for one in spread]
    if not deviation:
        return None
    return Noise(np.round(doubtful(*class_totals(release)), 1), deviation)


def doubtful(totals: Floats, variance: float | Floats) -> Floats:
    """Rows per class, none below zero, and all of them nearer to each other the less is known about them."""
    return np.asarray(np.maximum(totals, 0.5) + 0.5 * np.sqrt(variance))


def widened(likelihoods: list[Likelihood], totals: Floats, schema: Schema) -> list[Likelihood]:
    """The likelihoods with a sliver of the widest number's variance added to every curve that can take it."""
    shares = np.maximum(totals, 0.0) / max(float(np.maximum(totals, 0.0).sum()), 1.0)
    widest = max((_overall(*found, shares) for one in likelihoods if (found := one.moments())), default=0.0)
    pairs = zip(likelihoods, schema.features, strict=True)
    return [one.widened(feature, NARROWEST * widest) for one, feature in pairs]


def _overall(means: Floats, variances: Floats, shares: Floats) -> float:
    """The variance of a number over all classes, from what is released for each."""
    return float(shares @ (variances + (means - float(shares @ means)) ** 2))


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
