"""What Naive Bayes estimators share: a model that scikit-learn can take over."""

from __future__ import annotations

from typing import Any

from sklearn.utils.validation import check_is_fitted

from discreet.bayes.model import NaiveBayesModel
from discreet.estimators.base import ScoreEstimator


class NaiveBayesEstimator(ScoreEstimator):
    """The part of a Naive Bayes estimator that has nothing to do with how its model came about."""

    model_: NaiveBayesModel

    def to_sklearn(self) -> Any:
        """The released model as a fitted scikit-learn pipeline, which needs this library no longer."""
        from discreet.bayes.export import to_sklearn

        check_is_fitted(self)
        return to_sklearn(self.model_, named=hasattr(self, "feature_names_in_"))
