"""The automatic choice: which kind of model fits the budget, the schema and a noisy number of rows."""

from discreet.auto.classifier import PrivateClassifier
from discreet.auto.rule import Choice, choose

__all__ = ["Choice", "PrivateClassifier", "choose"]
