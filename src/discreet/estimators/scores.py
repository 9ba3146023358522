"""Scores: the smoothing behind them, and from joint log-probabilities to those of classes."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.errors import BudgetError

Floats = NDArray[np.float64]


def normalised(scores: Floats) -> Floats:
    """Joint log-probabilities less their log-sum: no underflow however many features there are."""
    top = scores.max(axis=1, keepdims=True)
    return np.asarray(scores - top - np.log(np.exp(scores - top).sum(axis=1, keepdims=True)))


def check_smoothing(given: Any) -> None:
    """Refuse a number of added rows that is not above zero."""
    try:
        smoothing = float(given)
    except (TypeError, ValueError):
        smoothing = -1.0
    if not smoothing > 0 or math.isinf(smoothing):
        raise BudgetError(f"smoothing must be a number above zero, not {given!r}")
