"""Export: a released model as a fitted scikit-learn pipeline that needs this library no longer."""

from __future__ import annotations

from typing import Any

import numpy as np

from discreet.bayes.likelihoods import GaussianLikelihood, TableLikelihood
from discreet.bayes.model import NaiveBayesModel
from discreet.errors import ModelError
from discreet.schema import Categorical, Numeric


def to_sklearn(model: NaiveBayesModel, named: bool = True) -> Any:
    """CategoricalNB where every feature is a table, GaussianNB where every one is a plain bell curve, else the
    logistic regression with the same probabilities; behind the encoders that bring columns into its form.

    Columns are found by name, or by place if not `named`.
    """
    from sklearn.pipeline import Pipeline

    kinds = {type(likelihood) for likelihood in model.likelihoods}
    if kinds == {TableLikelihood}:
        return Pipeline([("encode", _encoder(model, onehot=False, named=named)), ("classify", _categorical(model))])
    if kinds == {GaussianLikelihood} and not any(
        likelihood.truncated or likelihood.present is not None  # type: ignore[union-attr]
        for likelihood in model.likelihoods
    ):
        return Pipeline([("encode", _encoder(model, onehot=False, named=named)), ("classify", _gaussian(model))])
    return Pipeline([("encode", _encoder(model, onehot=True, named=named)), ("classify", _logistic(model))])


def _order(model: NaiveBayesModel) -> Any:
    try:
        return np.argsort(model.classes)
    except TypeError:
        raise ModelError("scikit-learn needs classes of one type") from None


def _cells(feature: Any) -> list[int]:
    """Cells in the encoder's order: categories, then missing, then other, whose code lies past the rest."""
    cells = list(range(feature.cells))
    if isinstance(feature, Categorical) and feature.other_code is not None and feature.missing_code is not None:
        cells[-2:] = [feature.missing_code, feature.other_code]
    return cells


def _array(categories: list[Any]) -> Any:
    """Whole numbers as numbers, so that they meet integers and floats alike; anything else as objects."""
    plain = all(isinstance(one, int) and not isinstance(one, bool) for one in categories)
    return np.array(categories) if plain else np.array(categories, dtype=object)


def _encoder(model: NaiveBayesModel, onehot: bool, named: bool) -> Any:
    """A column transformer fitted on nothing but the public schema."""
    from sklearn.compose import ColumnTransformer
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import FunctionTransformer, KBinsDiscretizer, OneHotEncoder, OrdinalEncoder

    try:
        import pandas as pd
    except ImportError:
        raise ModelError("the export needs pandas: pip install 'discreet[frames]'") from None

    steps: list[Any] = []
    example: dict[str, list[Any]] = {}
    for j, (feature, likelihood) in enumerate(zip(model.schema.features, model.likelihoods, strict=True)):
        if isinstance(feature, Numeric):
            if feature.missing_code is not None:
                raise ModelError(
                    f"scikit-learn has no place for the missing values of the number {feature.name!r}: keep this model"
                )
            example[feature.name] = [feature.lower, feature.upper]
            clip = FunctionTransformer(np.clip, kw_args={"a_min": feature.lower, "a_max": feature.upper})
            if isinstance(likelihood, TableLikelihood):
                step: Any = KBinsDiscretizer(
                    n_bins=max(feature.cells, 2),
                    encode="onehot-dense" if onehot else "ordinal",
                    strategy="uniform",
                )
            elif onehot:
                from sklearn.preprocessing import PolynomialFeatures

                step = make_pipeline(clip, PolynomialFeatures(2, include_bias=False))
            else:
                step = clip
        else:
            categories: list[Any] = list(feature.categories)
            if feature.missing_code is not None:
                categories.append(np.nan)
            example[feature.name] = [categories[0], categories[-1]]
            if onehot:
                if feature.other_code is not None:
                    raise ModelError(f"a mixed model with the 'other' bucket of {feature.name!r} cannot be exported")
                step = OneHotEncoder(categories=[_array(categories)], sparse_output=False)
            else:
                unknown: dict[str, Any] = {}
                if feature.other_code is not None:
                    unknown = {"handle_unknown": "use_encoded_value", "unknown_value": len(categories)}
                if feature.missing_code is not None:
                    unknown["encoded_missing_value"] = len(categories) - 1
                step = OrdinalEncoder(categories=[_array(categories)], **unknown)
            if feature.missing_code is not None:  # the encoders know NaN as missing, but not None
                step = make_pipeline(FunctionTransformer(pd.DataFrame.fillna, kw_args={"value": np.nan}), step)
        steps.append((f"f{j}", step, [feature.name if named else j]))
    rows: Any = pd.DataFrame(example)
    encoder = ColumnTransformer(steps, verbose_feature_names_out=False)
    try:
        encoder.fit(rows if named else rows.to_numpy())
    except (TypeError, ValueError) as error:
        raise ModelError(f"scikit-learn cannot encode these categories: {error}") from None
    for j, feature in enumerate(model.schema.features):
        fitted = encoder.named_transformers_[f"f{j}"]
        if not isinstance(feature, Numeric):
            continue
        if isinstance(fitted, KBinsDiscretizer):
            # A value belongs to the bin of its nearest lattice point, so bins change half a step early.
            starts = [feature.lattice.value(cut) - float(feature.lattice.step) / 2 for cut in feature.cuts]
            fitted.bin_edges_ = np.array([np.array([feature.lower, *starts, feature.upper])], dtype=object)
            fitted.n_bins_ = np.array([len(starts) + 1])
    return encoder


def _categorical(model: NaiveBayesModel) -> Any:
    from sklearn.naive_bayes import CategoricalNB

    order = _order(model)
    fitted = CategoricalNB()
    fitted.classes_ = model.classes[order]
    fitted.class_log_prior_ = model.log_prior[order]
    fitted.feature_log_prob_ = [
        likelihood.log_prob[order][:, _cells(feature)]  # type: ignore[union-attr]
        for feature, likelihood in zip(model.schema.features, model.likelihoods, strict=True)
    ]
    fitted.n_categories_ = np.array([feature.cells for feature in model.schema.features])
    # Scikit-learn also shows counts; the release has probabilities only, so they stand in for one row per class.
    fitted.category_count_ = [np.exp(table) for table in fitted.feature_log_prob_]
    fitted.class_count_ = np.ones(len(order))
    fitted.n_features_in_ = len(model.likelihoods)
    return fitted


def _gaussian(model: NaiveBayesModel) -> Any:
    from sklearn.naive_bayes import GaussianNB

    order = _order(model)
    fitted = GaussianNB()
    fitted.classes_ = model.classes[order]
    fitted.class_prior_ = np.exp(model.log_prior[order])
    fitted.class_count_ = np.ones(len(order))
    fitted.theta_ = np.stack([one.mean[order] for one in model.likelihoods], axis=1)  # type: ignore[union-attr]
    fitted.var_ = np.stack([one.variance[order] for one in model.likelihoods], axis=1)  # type: ignore[union-attr]
    fitted.epsilon_ = 0.0
    fitted.n_features_in_ = len(model.likelihoods)
    return fitted


def _logistic(model: NaiveBayesModel) -> Any:
    """Naive Bayes is linear in one-hot cells, x and x²: the same posterior as a softmax."""
    from sklearn.linear_model import LogisticRegression

    order, weights = _order(model), []
    bias = model.log_prior.copy()
    for feature, likelihood in zip(model.schema.features, model.likelihoods, strict=True):
        if isinstance(likelihood, TableLikelihood):
            weights.append(likelihood.log_prob[:, _cells(feature)])
            continue
        assert isinstance(feature, Numeric)
        constant, weight, _ = likelihood.constants(feature)
        bias = bias + constant - weight * likelihood.mean**2
        weights.append(np.stack([2 * weight * likelihood.mean, -weight], axis=1))
    slopes, bias = np.concatenate(weights, axis=1)[order], bias[order]
    fitted = LogisticRegression()
    fitted.classes_ = model.classes[order]
    if len(order) == 2:
        slopes, bias = slopes[1:] - slopes[:1], bias[1:] - bias[:1]
    fitted.coef_, fitted.intercept_ = slopes, bias
    fitted.n_features_in_ = slopes.shape[1]
    fitted.n_iter_ = np.zeros(1, dtype=np.int32)
    return fitted
