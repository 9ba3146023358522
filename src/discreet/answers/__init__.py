"""Answers: labels answered one by one under a budget, where no model is released."""

from discreet.answers.predictor import PrivatePredictor

__all__ = ["PrivatePredictor"]
