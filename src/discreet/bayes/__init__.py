"""Naive Bayes: plan, release, estimate, model; and PrivateNB, which walks this road for you."""

from discreet.bayes.classifier import PrivateNB
from discreet.bayes.model import NaiveBayesModel
from discreet.bayes.plan import Plan, make_plan
from discreet.bayes.release import Release, release

__all__ = ["NaiveBayesModel", "Plan", "PrivateNB", "Release", "make_plan", "release"]
