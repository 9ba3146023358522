"""scikit-learn without privacy: what the larger class, Naive Bayes, logistic regression and boosted trees reach."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from benchmarks.peers.prepared import Floats, Prepared, spread

MOST_CATEGORIES = 255


def score(data: Prepared, method: str, epsilon: float, seed: int) -> Any:
    """Scores of the test rows, one column per class."""
    return METHODS[method](data, *data.splits[seed], seed)


def _majority(data: Prepared, train: Any, test: Any, seed: int) -> Floats:
    """The shares of the classes for every row: what is known without a look at any feature."""
    shares = np.bincount(data.y[train], minlength=data.classes) / len(train)
    return np.tile(shares, (len(test), 1))


def _binned_bayes(data: Prepared, train: Any, test: Any, seed: int) -> Floats:
    """CategoricalNB, numbers in 16 cells of equal width between their public bounds."""
    from sklearn.naive_bayes import CategoricalNB

    codes, sizes = data.codes
    model = CategoricalNB(min_categories=sizes).fit(codes[train], data.y[train])
    return spread(model.predict_joint_log_proba(codes[test]), model.classes_, data.classes)


def _bell_bayes(data: Prepared, train: Any, test: Any, seed: int) -> Floats:
    """CategoricalNB on the categories and GaussianNB on the numbers, their log-likelihoods added."""
    from sklearn.naive_bayes import CategoricalNB, GaussianNB

    numbers = [j for j, feature in enumerate(data.features) if feature.categories is None]
    rest = [j for j, feature in enumerate(data.features) if feature.categories is not None]
    total: Any = 0.0
    if numbers:
        bell = GaussianNB().fit(data.ordinal[train][:, numbers], data.y[train])
        total = bell.predict_joint_log_proba(data.ordinal[test][:, numbers])
        classes, prior = bell.classes_, np.log(bell.class_prior_)
    if rest:
        codes, sizes = data.codes
        model = CategoricalNB(min_categories=[sizes[j] for j in rest]).fit(codes[train][:, rest], data.y[train])
        total = total + model.predict_joint_log_proba(codes[test][:, rest]) - (prior if numbers else 0.0)
        classes = model.classes_
    return spread(total, classes, data.classes)


def _logistic(data: Prepared, train: Any, test: Any, seed: int) -> Floats:
    """Logistic regression on one-hot categories and numbers scaled by their bounds."""
    from scipy.sparse import csr_array
    from sklearn.linear_model import LogisticRegression

    matrix = csr_array(data.one_hot)
    model = LogisticRegression(max_iter=1000).fit(matrix[train], data.y[train])
    return spread(model.predict_log_proba(matrix[test]), model.classes_, data.classes)


def _boosting(data: Prepared, train: Any, test: Any, seed: int) -> Floats:
    """Gradient boosting on histograms, which is told which features are categories."""
    from sklearn.ensemble import HistGradientBoostingClassifier

    kinds = [2 < (feature.categories or 0) <= MOST_CATEGORIES for feature in data.features]
    # Its default, to stop early on many rows, needs two of every class, which not all training sets have.
    early = "auto" if np.unique(data.y[train], return_counts=True)[1].min() > 1 else False
    model = HistGradientBoostingClassifier(categorical_features=kinds, early_stopping=early, random_state=seed)
    model.fit(data.X[train], data.y[train])
    with np.errstate(divide="ignore"):
        return spread(np.log(model.predict_proba(data.X[test])), model.classes_, data.classes)


METHODS: dict[str, Callable[[Prepared, Any, Any, int], Floats]] = {
    "sklearn/majority": _majority,
    "sklearn/bayes": _binned_bayes,
    "sklearn/bayes-bell": _bell_bayes,
    "sklearn/logistic": _logistic,
    "sklearn/boosting": _boosting,
}
