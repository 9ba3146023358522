"""Export: a released model as a fitted scikit-learn pipeline that needs this library no longer."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from discreet.bayes.likelihoods.histogram import TableLikelihood
from discreet.bayes.model import NaiveBayesModel
from discreet.errors import ModelError
from discreet.estimators.base import Floats, ScoreEstimator
from discreet.schema import Numeric


def to_sklearn(model: NaiveBayesModel, named: bool = True, totals: Floats | None = None) -> Any:
    """Scikit-learn's own Naive Bayes where it has one for likelihoods that are all of one kind (CategoricalNB for
    tables, GaussianNB for plain bell curves), else the logistic regression with the same probabilities; behind the
    encoders that bring columns into its form.

    Columns are found by name, or by place if not `named`. `totals` are noisy rows per class, for the counts that
    scikit-learn shows; they take no part in its answers.
    """
    from sklearn.pipeline import Pipeline

    try:
        order = np.argsort(model.classes)
    except TypeError:
        raise ModelError("scikit-learn needs classes of one type") from None
    kinds = {type(likelihood) for likelihood in model.likelihoods}
    fitted = kinds.pop().native(model, order) if len(kinds) == 1 else None
    encoder = _encoder(model, linear=fitted is None, named=named)
    if fitted is None:
        fitted = _logistic(model, order)
    else:
        fitted.class_count_ = np.ones(len(order)) if totals is None else totals[order]
        if hasattr(fitted, "category_count_"):
            fitted.category_count_ = [fitted.class_count_[:, None] * np.exp(one) for one in fitted.feature_log_prob_]
        fitted.n_features_in_ = len(model.likelihoods)
    fitted.classes_ = model.classes[order]
    return Pipeline([("encode", encoder), ("classify", fitted)])


def _encoder(model: NaiveBayesModel, linear: bool, named: bool) -> Any:
    """A column transformer fitted on nothing but the public schema."""
    from sklearn.compose import ColumnTransformer

    try:
        import pandas as pd
    except ImportError:
        raise ModelError("the export needs pandas: pip install 'discreet[frames]'") from None

    steps: list[Any] = []
    example: dict[str, list[Any]] = {}
    for j, (feature, likelihood) in enumerate(zip(model.schema.features, model.likelihoods, strict=True)):
        if not feature.plain:
            raise ModelError(
                f"scikit-learn cannot read {feature.name!r} as the schema says (parse, transform, dates or patterns): "
                "keep this model"
            )
        if isinstance(feature, Numeric):
            if feature.missing_code is not None and not isinstance(likelihood, TableLikelihood):
                raise ModelError(
                    f"scikit-learn has no place for the missing values of the number {feature.name!r}: keep this model"
                )
            example[feature.name] = [feature.lower, feature.upper]
        else:
            last = feature.categories[-1] if feature.missing_code is None else np.nan
            example[feature.name] = [feature.categories[0], last]
        steps.append((f"f{j}", likelihood.encoder(feature, linear), [feature.name if named else j]))
    rows: Any = pd.DataFrame(example)
    encoder = ColumnTransformer(steps, verbose_feature_names_out=False)
    try:
        encoder.fit(rows if named else rows.to_numpy())
    except (TypeError, ValueError) as error:
        raise ModelError(f"scikit-learn cannot encode these categories: {error}") from None
    return encoder


def _logistic(model: NaiveBayesModel, order: Any) -> Any:
    """Naive Bayes is linear in what each likelihood encodes a value by: the same posterior as a softmax."""
    from sklearn.linear_model import LogisticRegression

    forms = [one.linear_form(feature) for feature, one in zip(model.schema.features, model.likelihoods, strict=True)]
    slopes = np.concatenate([weights for weights, _ in forms], axis=1)[order]
    bias = (model.log_prior + sum(constants for _, constants in forms))[order]
    fitted = LogisticRegression()
    if len(order) == 2:
        slopes, bias = slopes[1:] - slopes[:1], bias[1:] - bias[:1]
    fitted.coef_, fitted.intercept_ = slopes, bias
    fitted.n_features_in_ = slopes.shape[1]
    fitted.n_iter_ = np.zeros(1, dtype=np.int32)
    return fitted


# ---- what Naive Bayes estimators share: a model that scikit-learn can take over


class NaiveBayesEstimator(ScoreEstimator):
    """The part of a Naive Bayes estimator that has nothing to do with how its model came about."""

    model_: NaiveBayesModel

    def to_sklearn(self) -> Any:
        """The released model as a fitted scikit-learn pipeline, which needs this library no longer."""
        check_is_fitted(self)
        return to_sklearn(self.model_, named=hasattr(self, "feature_names_in_"), totals=self._totals())

    def _totals(self) -> Floats | None:
        """Rows per class as the noisy tables have them, in the order of the schema."""
        from discreet.bayes.estimate import class_totals

        released = getattr(self, "release_", None)
        return None if released is None else np.maximum(class_totals(released)[0], 0.0)

    @property
    def class_count_(self) -> Floats:
        """Noisy rows per class, in the order of `classes_`."""
        check_is_fitted(self)
        found = self._totals()
        if found is None:
            raise AttributeError(f"this {type(self).__name__} released no counts of rows")
        return found[self._order]

    @property
    def category_count_(self) -> list[Floats]:
        """For each feature with a table, in order, the noisy rows by class and cell as they were released."""
        check_is_fitted(self)
        released = getattr(self, "release_", None)
        if released is None:
            raise AttributeError(f"this {type(self).__name__} released no counts of rows")
        tables = (released.values.get(("table", name)) for name in released.plan.schema.names)
        return [table[self._order].astype(np.float64) for table in tables if table is not None]
