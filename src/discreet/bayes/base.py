"""What estimators share: a schema, scikit-learn's attributes, and prediction by a released model."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils.validation import check_is_fitted

from discreet.bayes.model import NaiveBayesModel, normalised
from discreet.bayes.settled import Purchase, purchase
from discreet.domain import text
from discreet.errors import BudgetError, DataError, SchemaError
from discreet.privacy.payer import Carrier, Payer
from discreet.privacy.unexpected import ABSORB, REFUSE
from discreet.schema import Schema
from discreet.sources import Progress, as_matrix, is_outside, open_frame, require, rows_of

Floats = NDArray[np.float64]


def check_smoothing(given: Any) -> None:
    """Refuse a number of added rows that is not above zero."""
    try:
        smoothing = float(given)
    except (TypeError, ValueError):
        smoothing = -1.0
    if not smoothing > 0 or math.isinf(smoothing):
        raise BudgetError(f"smoothing must be a number above zero, not {given!r}")


def check_shape(name: str, X: Any, y: Any, schema: Schema | None = None) -> None:
    """Refuse what is seen to be wrong without a look at any row: missing labels, columns or lengths that do not fit.

    It comes before the charge, so that a slip does not cost budget. Rows in lists, in lazy frames and in things of
    unknown make are not looked at.
    """
    X, y = rows_of(X, y)
    if y is None and not is_outside(X) and open_frame(X) is None:
        raise DataError(f"{name} requires y to be passed, but the target y is None")
    if schema is None:
        return
    rows: int | None = None
    if isinstance(X, np.ndarray):
        if X.ndim == 2 and X.shape[1]:
            rows = len(X)
            if X.shape[1] != len(schema.features):
                raise DataError(f"X has {X.shape[1]} features, but the schema declares {len(schema.features)}")
    elif _is_made(X, "DataFrame", "Table"):
        frame = open_frame(X)
        rows = len(frame)
        require(schema, [text(one) for one in frame.columns], labelled=y is None)
    known = isinstance(y, list | tuple) or (isinstance(y, np.ndarray) and y.ndim) or _is_made(y, "Series")
    if rows is not None and known and len(y) != rows:
        raise DataError(f"X and y have inconsistent numbers of samples: [{rows}, {len(y)}]")


def _is_made(data: Any, *kinds: str) -> bool:
    """Whether this is a table or a column in memory, by its type alone."""
    made = type(data)
    return made.__name__ in kinds and made.__module__.partition(".")[0] in {"pandas", "polars", "pyarrow"}


class SchemaEstimator(Carrier, ClassifierMixin, BaseEstimator):
    """The part of an estimator that has nothing to do with its kind of model or how that came about."""

    epsilon: Any
    schema: Any
    random_state: Any
    bounds_share: Any
    model_: Any

    # ---- fitting

    def _public_schema(self) -> Schema:
        if isinstance(self.schema, Schema) and not self.schema.unsettled:
            return self.schema
        if isinstance(self.schema, Schema):
            raise SchemaError(
                f"the bounds of {self.schema.unsettled[0]!r} are private and {type(self).__name__} does not buy them: "
                "settle them first by settle_schema(schema, data, epsilon) or 'discreet settle'"
            )
        raise SchemaError(
            f"{type(self).__name__} needs a schema, because bounds, categories and classes read off the data would "
            "leak: pass schema=Schema(...) or Schema.load(file); 'discreet schema DATA --target COLUMN' drafts one"
        )

    def _schema_for(self, X: Any, y: Any, classes: Any = None) -> Schema:
        known = self.schema if isinstance(self.schema, Schema) else None
        check_shape(type(self).__name__, X, y, known)
        if isinstance(self.schema, str) and self.schema == "infer":
            if getattr(self, "unexpected", REFUSE) == ABSORB:
                raise SchemaError(
                    "a schema cannot be read off rows of which any content is to be absorbed: declare one, or draft it "
                    "by Schema.infer and edit it"
                )
            return Schema.infer(X, y, classes=() if classes is None else classes)
        return self._public_schema()

    def _purchase(self) -> Purchase | None:
        """The bounds and edges to be bought before a fit, for an estimator with the settings that say so."""
        return purchase(self, getattr(self, "bounds", "declared"), getattr(self, "edges", None), self.bounds_share)

    def _fit_settled(self, X: Any, y: Any, payer: Payer, progress: Progress | None) -> bool:
        """Buy bounds and edges with a part of the budget and fit with the rest; False if all of them are declared."""
        bought = self._purchase()
        if bought is None:
            return False
        check_shape(type(self).__name__, X, y, bought.plan.schema)
        fitted = bought.fit(X, y, payer=payer, progress=progress)
        settings = self.get_params(deep=False)
        self.__dict__.pop("feature_names_in_", None)  # of an earlier fit
        self.__dict__.update({key: value for key, value in vars(fitted).items() if key not in settings})
        return True

    def _describe(self, X: Any, schema: Schema) -> None:
        """Set the attributes that scikit-learn expects of a fitted classifier."""
        labels = schema.class_array()
        try:
            self._order = np.argsort(labels)
        except TypeError:  # labels of several types have no order but the schema's
            self._order = np.arange(len(labels))
        self.classes_ = labels[self._order]
        self.n_features_in_ = len(schema.features)
        frame = open_frame(rows_of(X)[0])
        if frame is not None and all(isinstance(name, str) for name in frame.columns):
            self.feature_names_in_ = np.array(schema.names, dtype=object)
        elif hasattr(self, "feature_names_in_"):
            del self.feature_names_in_

    # ---- prediction

    def _check_width(self, X: Any) -> None:
        """Scikit-learn's message where a matrix has another number of columns than in fit."""
        X = rows_of(X)[0]
        if is_outside(X) or open_frame(X) is not None:
            return
        width = as_matrix(X).shape[1]
        if width != self.n_features_in_:
            name, expected = type(self).__name__, self.n_features_in_
            raise DataError(f"X has {width} features, but {name} is expecting {expected} features as input")

    def predict(self, X: Any) -> NDArray[Any]:
        """The most probable class of each row."""
        check_is_fitted(self)
        self._check_width(X)
        labels: NDArray[Any] = self.model_.predict(X)
        return labels

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.categorical = True
        tags.input_tags.string = True
        tags.input_tags.allow_nan = not isinstance(self.schema, Schema) or any(
            feature.missing != "error" for feature in self.schema.features
        )
        tags.non_deterministic = self.random_state is None and self.epsilon != math.inf
        return tags


class ScoreEstimator(SchemaEstimator):
    """An estimator whose model scores classes by log-probabilities up to a constant."""

    def predict_joint_log_proba(self, X: Any) -> Floats:
        """log P(class, features), columns in the order of `classes_`."""
        check_is_fitted(self)
        self._check_width(X)
        scores: Floats = self.model_.predict_joint_log_proba(X)[:, self._order]
        return scores

    def predict_log_proba(self, X: Any) -> Floats:
        """log P(class | features), columns in the order of `classes_`."""
        return normalised(self.predict_joint_log_proba(X))

    def predict_proba(self, X: Any) -> Floats:
        """P(class | features), columns in the order of `classes_`."""
        return np.exp(self.predict_log_proba(X))


class NaiveBayesEstimator(ScoreEstimator):
    """The part of a Naive Bayes estimator that has nothing to do with how its model came about."""

    model_: NaiveBayesModel

    def to_sklearn(self) -> Any:
        """The released model as a fitted scikit-learn pipeline, which needs this library no longer."""
        from discreet.bayes.export import to_sklearn

        check_is_fitted(self)
        return to_sklearn(self.model_, named=hasattr(self, "feature_names_in_"))
