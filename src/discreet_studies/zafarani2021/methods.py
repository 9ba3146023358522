"""What the study of zafarani2021 compares: sound methods of the library, their published originals, baselines."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet import PrivateNB, SmoothSettings
from discreet_studies.methods import MAJORITY, PLAIN, Floats, Method, Scores, Setting, library
from discreet_studies.published.zafarani2021 import METHODS as PUBLISHED


def smooth(name: str, title: str, **settings: Any) -> Method:
    """A smooth-sensitivity method of the library with the paper's equal split: the one place that knows its call."""
    return library(name, title, numeric="gaussian", smooth=SmoothSettings(**settings), split="equal")


def _plain_truncated(setting: Setting, X: Floats, y: NDArray[np.int64]) -> Scores:
    fitted = PrivateNB(math.inf, schema=setting.schema, numeric="truncated-gaussian").fit(X, y)
    scores: Scores = fitted.predict_joint_log_proba
    return scores


VAIDYA = SmoothSettings("global", estimator="vaidya")
LAWS = ("student-t", "laplace-log-normal", "uniform-log-normal", "arsinh-normal")
SOUND = (
    library("vaidya", "global sensitivity, Vaidya et al., sound", numeric="gaussian", smooth=VAIDYA, split="equal"),
    library("global-truncated", "global sensitivity, truncated normal", numeric="truncated-gaussian", split="equal"),
    library(
        "smooth-truncated",
        "smooth sensitivity, Cauchy, truncated normal",
        numeric="truncated-gaussian",
        smooth=SmoothSettings(noise="cauchy"),
        split="equal",
    ),
    *(
        smooth(f"bun-steinke-{law}", f"Bun–Steinke mean, {law}, (ε, δ)", noise=law, estimator="bun-steinke")
        for law in LAWS
    ),
    library("global", "global sensitivity", numeric="gaussian", split="equal"),
    smooth("smooth", "smooth sensitivity, Cauchy", noise="cauchy"),
    smooth("smooth-t", "smooth sensitivity, Student t", noise="student-t"),
    smooth("bun-steinke", "Bun–Steinke mean, Cauchy", noise="cauchy", estimator="bun-steinke"),
    smooth("auto", "smooth or global by feature", sensitivity="auto"),
    library("histogram", "bins with Laplace noise"),
    library("global-gaussian", "global sensitivity, (ε, δ)", numeric="gaussian", split="equal"),
    smooth("smooth-gaussian", "smooth sensitivity, (ε, δ)", noise="gaussian"),
)
PLAIN_TRUNCATED = Method(
    "plain-truncated", "Naive Bayes without privacy, truncated normal", _plain_truncated, private=False,
    reason="no noise is added",
)  # fmt: skip
METHODS: dict[str, Method] = {method.name: method for method in (PLAIN, PLAIN_TRUNCATED, MAJORITY, *SOUND, *PUBLISHED)}

BASELINES = ("plain", "majority", "plain-truncated")
PURE = (
    "vaidya", "global", "smooth", "smooth-t", "bun-steinke", "auto", "histogram", "global-truncated",
    "smooth-truncated",
    "paper-global", "paper-smooth", "paper-untrimmed", "paper-bun-steinke",
)  # fmt: skip
APPROXIMATE = ("global-gaussian", "smooth-gaussian", "paper-gaussian", "paper-gaussian-swap")
CONCENTRATED = tuple(f"bun-steinke-{law}" for law in LAWS)
WEIGHTED = ("global", "smooth", "paper-smooth")
BASES = ("vaidya", "paper-global")  # what smooth sensitivity is measured against where only one kind of feature tells
TIMED = ("vaidya", "global", "smooth", "paper-global", "paper-smooth", "paper-literal")
