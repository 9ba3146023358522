"""Selection: which features are worth their share of the budget, chosen privately from exact statistics."""

from __future__ import annotations

from discreet.selection.classifier import SelectiveNB
from discreet.selection.kbest import PrivateSelectKBest
from discreet.selection.plan import SCORES, SELECTORS, SelectionPlan, make_selection_plan
from discreet.selection.released import ReleasedChoice, choose_from_model
from discreet.selection.select import Selection, select

__all__ = [
    "SCORES",
    "SELECTORS",
    "PrivateSelectKBest",
    "ReleasedChoice",
    "Selection",
    "SelectionPlan",
    "SelectiveNB",
    "choose_from_model",
    "make_selection_plan",
    "select",
]
