"""Prediction sets: public bins of the lead of a class that is not the best one, in which held-out rows are counted."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from discreet.models import leads

Floats = NDArray[np.float64]
PARTS = 12  # bins of equal weight in the model's own view, and as many again of made-up rows alike
LOG_ODDS = np.concatenate([np.arange(-9.0, -2.0, 1.0), np.arange(-2.0, 0.0, 0.25)])  # wherever the model is mistaken
ATOMS = 60  # a model with no more leads than this gets a bin for each


def set_edges(scores: Floats, probabilistic: bool) -> Floats:
    """Where bins of leads end, the last one at 0, by the scores of made-up rows: public, like the model."""
    found = np.clip(leads(scores, probabilistic), -1e12, 0.0)
    second = np.sort(found, axis=1)[:, -2]  # of the best class but one
    distinct = np.unique(found[found < 0])
    if len(distinct) <= ATOMS:
        between = (distinct[1:] + distinct[:-1]) / 2
        return np.unique(np.concatenate([between, [0.0]]))
    own = _quantiles(found.ravel(), 1 / (1 + np.exp(-np.maximum(found.ravel(), -700.0))))
    fixed = LOG_ODDS if probabilistic else np.empty(0)
    edges = np.unique(np.concatenate([own, _quantiles(second, np.ones(len(second))), fixed, [0.0]]))
    return np.asarray(edges)


def _quantiles(values: Floats, weights: Floats) -> Floats:
    order = np.argsort(values, kind="stable")
    levels = np.cumsum(weights[order]) / weights.sum()
    return np.asarray(values[order][np.searchsorted(levels, np.arange(1, PARTS) / PARTS)])
