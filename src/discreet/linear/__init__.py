"""Linear models: support vector machine and logistic regression with differential privacy."""

from discreet.linear.classifier import PrivateLogisticRegression, PrivateSVC
from discreet.linear.model import LinearModel

__all__ = ["LinearModel", "PrivateLogisticRegression", "PrivateSVC"]
