"""Evaluation: how good a released model is on private rows, measured from noisy counts with intervals."""

from discreet.evaluation.evaluate import evaluate_privately
from discreet.evaluation.holdout import PrivateHoldout
from discreet.privacy.measured import PrivateEvaluation

__all__ = ["PrivateEvaluation", "PrivateHoldout", "evaluate_privately"]
