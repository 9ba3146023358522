"""Naive Bayes: plan, release, estimate, model; and PrivateNB, which walks this road for you."""

from typing import TYPE_CHECKING, Any

from discreet.bayes.model import NaiveBayesModel
from discreet.bayes.plan import Plan, make_plan
from discreet.bayes.release import Release, release

if TYPE_CHECKING:
    from discreet.bayes.classifier import PrivateNB
    from discreet.bayes.smooth_settings import SmoothSettings

__all__ = ["NaiveBayesModel", "Plan", "PrivateNB", "Release", "SmoothSettings", "make_plan", "release"]


def __getattr__(name: str) -> Any:
    # A model is read and asked, and a node's update made, without scikit-learn, whose import takes a second.
    if name not in {"PrivateNB", "SmoothSettings"}:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from discreet.bayes import classifier

    return getattr(classifier, name)
