"""Shrinkage: what each cell says about the class, as far as it can be told from the noise (empirical Bayes).

The log-odds of a class in a cell, beside its odds at large, have a normal prior of unknown width; the width is inferred
for each feature from all its cells. A feature that is all noise gets a width near zero and says nothing.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from discreet.bayes.reading.segments import segments
from discreet.bayes.reading.tables import NoisyTable

Floats = NDArray[np.float64]
ODDS = np.linspace(-7, 7, 141)
WIDTHS = np.array([0.02, 0.1, 0.2, 0.4, 0.7, 1.1, 1.7, 2.5, 4.0])
BELIEF = np.array([2.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 0.7, 0.4])  # beforehand, in each width: silence is likely
NARROW = 0.2  # log-odds known this well are no longer looked for on the grid
_PRIOR = np.exp(-0.5 * (ODDS / WIDTHS[:, None]) ** 2)
_PRIOR = (_PRIOR / _PRIOR.sum(axis=1, keepdims=True)).T


def shrunk(table: NoisyTable, plain: Floats, rows: Floats, smoothing: float) -> Floats:
    """log P(cell | class) read with shrinkage; `plain` is the reading without, towards which it tends as noise fades.

    `rows` are the rows of each class, none zero.
    """
    shares = rows / rows.sum()
    groups = segments(table, shares)
    values, variance, sizes = table.merged(groups)
    scores = _scores(values, variance, sizes / table.cells, rows)[:, groups]
    marginal = _marginal(table.values.sum(axis=0), float(table.variance.sum()), float(rows.sum()), 1 / table.cells)
    marginal = marginal / marginal.sum()
    trust = 1 / (1 + float(table.variance.mean()))  # noise of less than a row is hardly any
    scores = (1 - trust) * scores + trust * (plain - np.log(marginal))
    joint = np.exp(scores - scores.max(axis=0)) * marginal
    joint = joint / (shares @ joint) * marginal  # now Σ over classes of share times probability is the marginal
    return np.asarray(np.log(joint) - np.log(joint.sum(axis=1, keepdims=True)))


def _marginal(cells: Floats, variance: float | Floats, rows: float, guess: float | Floats) -> Floats:
    """Rows in each cell over all classes, moved towards an even spread as far as they are noise."""
    even = rows * guess
    signal = max(float(np.mean((cells - even) ** 2 - variance)), float(np.mean(even)) ** 2 * 0.02)
    weight = signal / (signal + variance + 1e-9)
    return np.maximum(weight * cells + (1 - weight) * even, 0.5)


def _scores(values: Floats, variance: Floats, guess: Floats, rows: Floats) -> Floats:
    """For each class and cell the log of P(class | cell) over P(class), up to a constant of the cell."""
    classes, cells = values.shape
    shares, whole = rows / rows.sum(), values.sum(axis=0)
    noise = variance.sum(axis=0)
    mass = _marginal(whole, noise, float(rows.sum()), guess)
    scores = np.zeros((classes, cells))
    for c in [1] if classes == 2 else range(classes):
        base = float(np.log(shares[c]) - np.log1p(-shares[c]))
        contrast = values[c] - shares[c] * whole
        spread = (1 - 2 * shares[c]) * variance[c] + shares[c] ** 2 * noise
        scores[c] = _posterior(contrast, spread, mass, base, float(shares[c]), classes == 2)
    return scores


def _posterior(contrast: Floats, spread: Floats, mass: Floats, base: float, share: float, two: bool) -> Floats:
    """The mean of the log-odds (for two classes) or of the log-probability of one class in every cell."""
    chance = 1 / (1 + np.exp(-(base + ODDS)))
    level = mass[:, None]
    whole = spread[:, None] + level * chance * (1 - chance) + 0.25
    logs = -0.5 * (contrast[:, None] - level * (chance - share)) ** 2 / whole - 0.5 * np.log(whole)
    likely = np.exp(logs - logs.max(axis=1, keepdims=True))
    evidence = np.maximum(likely @ _PRIOR, 1e-300)
    value = ODDS if two else np.log(chance / share)
    means = (likely * value) @ _PRIOR / evidence
    # Where the data fix the odds within a step or two of the grid, the posterior is a normal one.
    seen = np.clip(share + contrast / mass, 1e-6, 1 - 1e-6)
    width = np.sqrt(spread + mass * seen * (1 - seen)) / (mass * seen * (1 - seen))
    odds = np.log(seen) - np.log1p(-seen) - base
    close = (width < NARROW) & (np.abs(odds) < 6)
    if close.any():
        total = WIDTHS**2 + width[close, None] ** 2
        gap = odds[close, None]
        evidence[close] = np.exp(np.maximum(-0.5 * gap**2 / total, -600)) / np.sqrt(total)
        mean = gap * WIDTHS**2 / total
        means[close] = mean if two else -np.log1p(np.exp(-(base + mean))) - np.log(share)
    weights = np.log(evidence).sum(axis=0) + np.log(BELIEF)
    weights = np.exp(weights - weights.max())
    return np.asarray(means @ (weights / weights.sum()))
