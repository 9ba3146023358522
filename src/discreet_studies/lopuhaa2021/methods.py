"""What the study of lopuhaa2021 compares: the library's models, as like the paper's as is sound, and the paper's."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.kinds import find
from discreet.schema import Numeric, Schema
from discreet_studies.methods import Floats, Method, Scores, Setting
from discreet_studies.published.lopuhaa2021 import METHODS as PUBLISHED
from discreet_studies.published.lopuhaa2021 import random_codes

LEAST = 1e-6  # below it linear models are refused, and a guess without the data takes their place


def _numbers(schema: Schema) -> Schema:
    """Categories as whole numbers from 0 on, whose bounds are public."""
    features = [
        feature if isinstance(feature, Numeric) else Numeric(feature.name, 0, max(feature.cells - 1, 1), integer=True)
        for feature in schema.features
    ]
    return Schema(features, schema.target, schema.classes)


def _coded(setting: Setting, X: Floats, y: NDArray[np.int64]) -> Scores:
    """The paper's coding in the sound SVM: codes dealt at random, without a look at rows, scaled by public bounds."""
    code = random_codes(setting.schema, np.random.default_rng([setting.seed, 1]))
    numbers = Setting(_numbers(setting.schema), setting.epsilon, 0.0, setting.n, setting.seed)
    scores = _CODED.fit(numbers, code(X), y)
    return lambda rows: scores(code(rows))


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


_CODED = _library("svm-codes", "", "svm", numeric="scaled")
SOUND = (
    _library("nb", "Naive Bayes", "nb", mechanism="laplace", reading="plain"),
    _library("bell", "Naive Bayes with bell curves", "nb", mechanism="laplace", reading="plain", numeric="gaussian"),
    _library("svm", "SVM", "svm"),
    Method("svm-codes", "SVM on random codes", _coded, private=True),
    _library("tree", "decision tree", "tree"),
    _library("tree-counts", "decision tree from noisy counts", "tree", split="noisy-counts"),
    _library("lr", "logistic regression", "lr"),
    _library("forest", "forest", "forest"),
)
METHODS: dict[str, Method] = {method.name: method for method in (*SOUND, *PUBLISHED)}
THREE = ("bell", "svm", "tree")  # the paper models numbers by bell curves
BINNED = ("nb", "svm", "tree")
PAPER = ("paper-nb", "paper-svm", "paper-tree")
