"""What every Naive Bayes estimator shares once it holds a released model: prediction by scikit-learn's conventions."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import ClassifierMixin
from sklearn.utils.validation import check_is_fitted

from discreet.bayes.model import NaiveBayesModel, normalised
from discreet.errors import DataError
from discreet.schema import Schema
from discreet.sources import is_outside
from discreet.sources.frames import as_matrix, open_frame

Floats = NDArray[np.float64]


class ModelPredictor(ClassifierMixin):
    """Prediction from `model_`, with the columns of every score in the order of `classes_`."""

    model_: NaiveBayesModel

    def _remember_columns(self, X: Any, schema: Schema) -> None:
        """Classes, number and names of features, as scikit-learn wants them known after fit."""
        labels = schema.class_array()
        try:
            self._order = np.argsort(labels)
        except TypeError:  # labels of several types have no order but the schema's
            self._order = np.arange(len(labels))
        self.classes_ = labels[self._order]
        self.n_features_in_ = len(schema.features)
        frame = None if is_outside(X) else open_frame(X)
        if frame is not None and all(isinstance(name, str) for name in frame.columns):
            self.feature_names_in_ = np.array(schema.names, dtype=object)
        elif hasattr(self, "feature_names_in_"):
            del self.feature_names_in_

    def _check_width(self, X: Any) -> None:
        """Scikit-learn's message where a matrix has another number of columns than in fit."""
        if is_outside(X) or open_frame(X) is not None:
            return
        width = as_matrix(X).shape[1]
        if width != self.n_features_in_:
            name, expected = type(self).__name__, self.n_features_in_
            raise DataError(f"X has {width} features, but {name} is expecting {expected} features as input")

    def predict_joint_log_proba(self, X: Any) -> Floats:
        """log P(class, features), columns in the order of `classes_`."""
        check_is_fitted(self)
        self._check_width(X)
        return self.model_.predict_joint_log_proba(X)[:, self._order]

    def predict_log_proba(self, X: Any) -> Floats:
        """log P(class | features), columns in the order of `classes_`."""
        return normalised(self.predict_joint_log_proba(X))

    def predict_proba(self, X: Any) -> Floats:
        """P(class | features), columns in the order of `classes_`."""
        return np.exp(self.predict_log_proba(X))

    def predict(self, X: Any) -> NDArray[Any]:
        """The most probable class of each row."""
        check_is_fitted(self)
        self._check_width(X)
        return self.model_.predict(X)

    def to_sklearn(self) -> Any:
        """The released model as a fitted scikit-learn pipeline, which needs this library no longer."""
        from discreet.bayes.export import to_sklearn

        check_is_fitted(self)
        return to_sklearn(self.model_, named=hasattr(self, "feature_names_in_"))
