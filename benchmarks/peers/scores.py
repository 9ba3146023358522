"""Accuracy and the area under the ROC curve of a table of scores, with NumPy alone so that all workers share it."""

from __future__ import annotations

from typing import Any

import numpy as np


def accuracy(truth: Any, scores: Any) -> float:
    """The share of rows whose highest score is their class; the first of equal scores counts."""
    return float((np.argmax(scores, axis=1) == truth).mean())


def auc(truth: Any, scores: Any) -> float | None:
    """The chance that a row of the second of two classes outscores one of the first, ties counting half."""
    if scores.shape[1] != 2:
        return None
    positive = truth == 1
    ones, zeros = int(positive.sum()), int((~positive).sum())
    if not ones or not zeros:
        return None
    margin = np.clip(scores[:, 1], -1e150, 1e150) - np.clip(scores[:, 0], -1e150, 1e150)
    _, place, times = np.unique(margin, return_inverse=True, return_counts=True)
    ranks = (np.cumsum(times) - (times - 1) / 2)[place]
    return float((ranks[positive].sum() - ones * (ones + 1) / 2) / (ones * zeros))
