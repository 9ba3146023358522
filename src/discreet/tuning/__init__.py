"""Tuning: a choice among private estimators or their settings that stays inside one budget."""

from discreet.tuning.plan import SearchPlan
from discreet.tuning.search import PrivateGridSearch

__all__ = ["PrivateGridSearch", "SearchPlan"]
