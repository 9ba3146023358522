"""Explanation: what a released model makes of each feature and of one row, in numbers and figures, at no cost."""

from discreet.explanation.designed import LIMITS, designed
from discreet.explanation.shapes import Explanation, Shape, explain

__all__ = ["LIMITS", "Explanation", "Shape", "designed", "explain"]
