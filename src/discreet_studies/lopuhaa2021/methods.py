"""What the study of lopuhaa2021 compares: the library's five models and the paper's three."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.kinds import find
from discreet_studies.methods import Floats, Method, Scores, Setting
from discreet_studies.published.lopuhaa2021 import METHODS as PUBLISHED

LEAST = 1e-6  # below it linear models are refused, and a guess without the data takes their place


def _library(name: str, title: str, model: str, **parameters: Any) -> Method:
    def fit(setting: Setting, X: Floats, y: NDArray[np.int64]) -> Scores:
        if setting.epsilon < LEAST and model in {"svm", "lr"}:
            rng, sides = np.random.default_rng(setting.seed), len(setting.schema.classes)
            return lambda rows: rng.random((len(rows), sides))
        settings = {"epsilon": setting.epsilon, "schema": setting.schema, "random_state": setting.seed}
        fitted = find(model).make(**settings, **parameters).fit(X, y)
        classes = len(setting.schema.classes)
        return lambda rows: np.eye(classes)[fitted.predict(rows).astype(np.int64)]

    return Method(name, title, fit, private=True)


SOUND = (
    _library("nb", "Naive Bayes", "nb", mechanism="laplace", reading="plain"),
    _library("svm", "SVM", "svm"),
    _library("tree", "decision tree", "tree"),
    _library("tree-counts", "decision tree from noisy counts", "tree", split="noisy-counts"),
    _library("lr", "logistic regression", "lr"),
    _library("forest", "forest", "forest"),
)
METHODS: dict[str, Method] = {method.name: method for method in (*SOUND, *PUBLISHED)}
THREE = ("nb", "svm", "tree")
PAPER = ("paper-nb", "paper-svm", "paper-tree")
