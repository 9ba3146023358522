"""Tuning: a choice among private estimators or their settings that stays inside one budget."""

from discreet.tuning.search import PrivateGridSearch, SearchPlan

__all__ = ["PrivateGridSearch", "SearchPlan"]
