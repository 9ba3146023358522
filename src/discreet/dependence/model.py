"""What released networks have in common: how their tables are checked and kept."""

from __future__ import annotations

from typing import Any

import numpy as np

from discreet.errors import ModelError
from discreet.models import Floats

DIGITS = 5  # of a log-probability in a file: far below what noise leaves of it


def numbers(values: Any, shape: tuple[int, ...], what: str) -> Floats:
    """Finite log-probabilities of a shape, or an error that says what they are of."""
    table = np.asarray(values, dtype=np.float64)
    if table.shape != shape:
        raise ModelError(f"{what} has the wrong shape")
    if not np.isfinite(table).all() or (np.abs(table) > 1e6).any():
        raise ModelError(f"{what} holds numbers out of range")
    return table
