"""Settings that several kinds of estimators take, checked."""

from __future__ import annotations

import math
from typing import Any

from discreet.errors import BudgetError


def check_smoothing(given: Any) -> None:
    """Refuse a number of added rows that is not above zero."""
    try:
        smoothing = float(given)
    except (TypeError, ValueError):
        smoothing = -1.0
    if not smoothing > 0 or math.isinf(smoothing):
        raise BudgetError(f"smoothing must be a number above zero, not {given!r}")
