"""Additive models: logistic and softmax regression over blocks of features and pairs, with differential privacy."""

from discreet.additive.classifier import PrivateAdditiveClassifier
from discreet.additive.model import AdditiveModel

__all__ = ["AdditiveModel", "PrivateAdditiveClassifier"]
