"""Evaluation: how good a released model is on private rows, measured from noisy counts with intervals."""

from discreet.evaluation.evaluate import evaluate_privately
from discreet.privacy.measured import PrivateEvaluation

__all__ = ["PrivateEvaluation", "evaluate_privately"]
