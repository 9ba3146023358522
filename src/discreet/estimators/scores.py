"""Scores: from joint log-probabilities to those of classes."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]


def normalised(scores: Floats) -> Floats:
    """Joint log-probabilities less their log-sum: no underflow however many features there are."""
    top = scores.max(axis=1, keepdims=True)
    return np.asarray(scores - top - np.log(np.exp(scores - top).sum(axis=1, keepdims=True)))
