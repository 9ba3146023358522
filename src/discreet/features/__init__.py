"""Features: a categorical or a numeric column, or a date, and all that is public about it."""

from __future__ import annotations

from discreet.features.base import DEFAULT_BINS, LIMIT, MAX_CELLS, MISSING, Public, Value, Values, refuse_same
from discreet.features.categorical import Categorical
from discreet.features.dates import Date
from discreet.features.numeric import Numeric

Feature = Categorical | Numeric | Date

__all__ = [
    "DEFAULT_BINS",
    "LIMIT",
    "MAX_CELLS",
    "MISSING",
    "Categorical",
    "Date",
    "Feature",
    "Numeric",
    "Public",
    "Value",
    "Values",
    "refuse_same",
]
