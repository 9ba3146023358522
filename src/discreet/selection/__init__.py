"""Selection: which features are worth their share of the budget, chosen privately from exact statistics."""

from __future__ import annotations

from discreet.selection.classifier import SelectiveNB
from discreet.selection.kbest import PrivateSelectKBest
from discreet.selection.plan import SCORES, SELECTORS, SelectionPlan, make_selection_plan
from discreet.selection.select import Selection, select

__all__ = [
    "SCORES",
    "SELECTORS",
    "PrivateSelectKBest",
    "Selection",
    "SelectionPlan",
    "SelectiveNB",
    "make_selection_plan",
    "select",
]
