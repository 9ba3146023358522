"""diffprivlib's classifiers as a careful user would call them: public bounds, public classes, no warning of a leak."""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np

from benchmarks.peers.prepared import Prepared, spread


def score(data: Prepared, method: str, epsilon: float, seed: int) -> Any:
    """Scores of the test rows, one column per class."""
    from diffprivlib.utils import PrivacyLeakWarning

    _, kind, *rest = method.replace("/", "-").split("-")
    matrix = data.ordinal if "ordinal" in rest else data.one_hot
    train, test = data.splits[seed]
    with warnings.catch_warnings():
        warnings.simplefilter("error", PrivacyLeakWarning)
        model = MODELS[kind](data, matrix.shape[1], epsilon, seed).fit(matrix[train], data.y[train])
        with np.errstate(all="ignore"):
            if kind in ("bayes", "logistic"):
                scores = model.predict_log_proba(matrix[test])
            else:
                scores = model.predict_proba(matrix[test])
    return spread(scores, model.classes_, data.classes)


def _bayes(data: Prepared, width: int, epsilon: float, seed: int) -> Any:
    from diffprivlib.models import GaussianNB

    return GaussianNB(epsilon=epsilon, bounds=(np.zeros(width), np.ones(width)), random_state=seed)


def _logistic(data: Prepared, width: int, epsilon: float, seed: int) -> Any:
    from diffprivlib.models import LogisticRegression

    # Every feature adds at most 1 to the squared norm: a one-hot block has a single one.
    norm = math.sqrt(len(data.features))
    return LogisticRegression(epsilon=epsilon, data_norm=norm, max_iter=200, random_state=seed)


def _forest(data: Prepared, width: int, epsilon: float, seed: int) -> Any:
    from diffprivlib.models import RandomForestClassifier

    bounds, classes = (np.zeros(width), np.ones(width)), list(range(data.classes))
    return RandomForestClassifier(
        n_estimators=10, epsilon=epsilon, bounds=bounds, classes=classes, random_state=seed, n_jobs=1
    )


MODELS: dict[str, Callable[[Prepared, int, float, int], Any]] = {
    "bayes": _bayes,
    "logistic": _logistic,
    "forest": _forest,
}
