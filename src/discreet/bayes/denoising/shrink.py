"""Shrinkage: what each cell says about the class, as far as it can be told from the noise (empirical Bayes).

Two unknowns stand behind a cell: its share q of all rows, and the log-odds β of a class in it beside the odds of that
class at large. β has a normal prior whose width is inferred for each feature from all its cells, so that a feature that
is all noise gets a width near zero and says next to nothing.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from discreet.bayes.denoising.segments import segments
from discreet.bayes.denoising.tables import NoisyTable

Floats = NDArray[np.float64]
ODDS = 0.8 * np.sinh(np.linspace(-3, 3, 61))  # a grid for β, finer near zero
WIDTHS = np.array([0.02, 0.1, 0.2, 0.4, 0.7, 1.1, 1.7, 2.5, 4.0])  # of the prior of β, all equally likely
POINTS, REACH = 15, 4.5  # of a grid for q, and how many standard deviations it reaches
NARROW = 0.25  # log-odds known this well are no longer looked for on the grid
CHUNK = 2048  # cells that are read at once
_PRIOR = np.exp(-0.5 * (ODDS / WIDTHS[:, None]) ** 2) * np.gradient(ODDS)
_PRIOR = (_PRIOR / _PRIOR.sum(axis=1, keepdims=True)).T


def shrunk(table: NoisyTable, plain: Floats, rows: Floats) -> Floats:
    """log P(cell | class), read with shrinkage; `plain` is the reading without, towards which it tends as noise fades.

    `rows` are the rows of each class, none zero. Bins of a number are read twice, each on its own and in segments whose
    bins noise does not let one tell apart; the two readings are averaged.
    """
    shares = rows / rows.sum()
    scores = _scores(table, np.arange(table.cells), rows)
    groups = segments(table, shares)
    if len(np.unique(groups)) < table.cells:
        scores = (scores + _scores(table, groups, rows)) / 2
    marginal = _marginal(table.values.sum(axis=0), float(table.variance.sum()), float(rows.sum()))
    joint = np.exp(scores - scores.max(axis=0))
    joint = joint / (shares @ joint) * marginal  # now the classes' probabilities average to the share of the cell
    trust = 1 / (1 + float(table.variance.mean()))  # noise of less than a row is hardly any
    return _normalised((1 - trust) * _normalised(np.log(joint)) + trust * plain)


def _normalised(logs: Floats) -> Floats:
    return np.asarray(logs - np.log(np.exp(logs).sum(axis=1, keepdims=True)))


def _marginal(cells: Floats, variance: float, rows: float) -> Floats:
    """The share of rows in each cell over all classes, moved towards an even one as far as it is noise."""
    even = rows / len(cells)
    signal = max(float(np.mean((cells - even) ** 2 - variance)), 0.02 * even**2)
    weight = signal / (signal + variance)
    found = np.maximum(weight * cells + (1 - weight) * even, 0.5)
    return np.asarray(found / found.sum())


def _scores(table: NoisyTable, groups: NDArray[np.intp], rows: Floats) -> Floats:
    """For each class and cell the posterior mean of β, with cells of one group read as one."""
    values, variance, sizes = table.merged(groups)
    classes, cells = values.shape
    whole, noise, total = values.sum(axis=0), variance.sum(axis=0), float(rows.sum())
    scores = np.zeros(values.shape)
    for c in [1] if classes == 2 else range(classes):  # with two classes the second tells all
        seen, spread = np.stack([values[c], whole - values[c]]), np.stack([variance[c], noise - variance[c]])
        evidence, means = np.zeros(len(WIDTHS)), []
        for i in range(0, cells, CHUNK):
            cut = slice(i, i + CHUNK)
            one, mean = _posterior(seen[:, cut], spread[:, cut], sizes[cut], table.cells, total, float(rows[c] / total))
            evidence += one
            means.append(mean)
        weights = np.exp(evidence - evidence.max())
        scores[c] = np.concatenate(means) @ (weights / weights.sum())
    return scores[:, groups]


def _posterior(
    seen: Floats, noise: Floats, size: Floats, cells: int, rows: float, share: float
) -> tuple[Floats, Floats]:
    """The log-evidence of each width, and the posterior mean of the log-odds by cell and width.

    `seen` are the noisy rows of the class and of all others. Any shares of the cells are equally likely beforehand, so
    that of a run of `size` of them has a beta law. No class can have more rows in a cell than it has at all.
    """
    base = float(np.log(share) - np.log1p(-share))
    # Where the data fix the odds within a step or two of the grid, the likelihood is a normal one.
    whole, spread = seen.sum(axis=0), noise.sum(axis=0)
    mass = np.maximum(whole, 0.5)
    p = np.clip(seen[0] / mass, 1e-6, 1 - 1e-6)
    doubt = (1 - p) ** 2 * noise[0] + p**2 * noise[1] + mass * p * (1 - p)
    width = np.sqrt(doubt) / (mass * p * (1 - p))
    odds = np.log(p) - np.log1p(-p) - base
    close = (width < NARROW) & (np.abs(odds) < 6) & (whole > 6 * np.sqrt(spread))
    total = WIDTHS**2 + width[:, None] ** 2
    evidence = np.exp(np.maximum(-0.5 * odds[:, None] ** 2 / total, -600)) / np.sqrt(total)
    means = odds[:, None] * WIDTHS**2 / total
    if not close.all():
        far = ~close
        evidence[far], means[far] = _on_grid(seen[:, far], noise[:, far], size[far], cells, rows, share, base)
    return np.log(evidence).sum(axis=0), means


def _on_grid(
    seen: Floats, noise: Floats, size: Floats, cells: int, rows: float, share: float, base: float
) -> tuple[Floats, Floats]:
    """The evidence of each width and the posterior mean, by cell and width, summed over a grid of odds and shares."""
    chance = 1 / (1 + np.exp(-(base + ODDS)))
    whole, spread = seen.sum(axis=0), noise.sum(axis=0)
    unsure = np.sqrt(spread + np.clip(whole, 0.0, rows) + 1.0)
    low = np.clip(whole - REACH * unsure, 0.0, rows * 0.999) + 0.25
    high = np.clip(whole + REACH * unsure, low + 1.0, rows + 1.0)
    q = (low[:, None] + (high - low)[:, None] * np.linspace(0, 1, POINTS)) / (rows + 1.25)
    logs = (size[:, None] - 1) * np.log(q) + (cells - size[:, None] - 1) * np.log1p(-q)
    logs = np.repeat(logs[:, :, None], len(ODDS), axis=2)
    for side, part, limit in ((0, chance, share), (1, 1 - chance, 1 - share)):
        mean = rows * q[:, :, None] * part
        variance = noise[side][:, None, None] + mean
        variance += 0.25
        gap = seen[side][:, None, None] - mean
        gap *= gap
        gap /= variance
        gap += np.log(variance, out=variance)
        gap *= 0.5
        logs -= gap
        np.putmask(logs, mean > rows * limit * 1.02 + 1, -np.inf)
    logs -= logs.max(axis=(1, 2), keepdims=True)
    likely = np.exp(logs, out=logs).sum(axis=1)
    evidence = np.maximum(likely @ _PRIOR, 1e-300)
    return evidence, (likely * ODDS) @ _PRIOR / evidence
