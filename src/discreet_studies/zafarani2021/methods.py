"""What the study of zafarani2021 compares: sound methods of the library, their published originals, baselines."""

from __future__ import annotations

from typing import Any

from discreet import SmoothSettings
from discreet_studies.methods import MAJORITY, PLAIN, Method, library
from discreet_studies.published.zafarani2021 import METHODS as PUBLISHED


def smooth(name: str, title: str, **settings: Any) -> Method:
    """A smooth-sensitivity method of the library with the paper's equal split: the one place that knows its call."""
    return library(name, title, numeric="gaussian", smooth=SmoothSettings(**settings), split="equal")


SOUND = (
    library("global", "global sensitivity", numeric="gaussian", split="equal"),
    smooth("smooth", "smooth sensitivity, Cauchy", noise="cauchy"),
    smooth("smooth-t", "smooth sensitivity, Student t", noise="student-t"),
    smooth("bun-steinke", "Bun–Steinke mean, Cauchy", noise="cauchy", estimator="bun-steinke"),
    smooth("auto", "smooth or global by feature", sensitivity="auto"),
    library("histogram", "bins with Laplace noise"),
    library("global-gaussian", "global sensitivity, (ε, δ)", numeric="gaussian", split="equal"),
    smooth("smooth-gaussian", "smooth sensitivity, (ε, δ)", noise="gaussian"),
)
METHODS: dict[str, Method] = {method.name: method for method in (PLAIN, MAJORITY, *SOUND, *PUBLISHED)}

BASELINES = ("plain", "majority")
PURE = (
    "global", "smooth", "smooth-t", "bun-steinke", "auto", "histogram",
    "paper-global", "paper-smooth", "paper-untrimmed", "paper-bun-steinke",
)  # fmt: skip
APPROXIMATE = ("global-gaussian", "smooth-gaussian", "paper-gaussian", "paper-gaussian-swap")
WEIGHTED = ("global", "smooth", "paper-smooth")
TIMED = ("global", "smooth", "paper-smooth", "paper-literal")
