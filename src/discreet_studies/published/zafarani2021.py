"""Zafarani and Clifton's Algorithm 1, Vaidya et al. 2013 and Bun–Steinke with Cauchy noise, as published."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from fractions import Fraction
from functools import partial

import numpy as np
from numpy.typing import NDArray

from discreet.schema import Numeric, Schema
from discreet_studies.methods import Method, Scores, Setting
from discreet_studies.published import Record
from discreet_studies.published.trimmed_replace import square_bound, trimmed, width_bound

Floats = NDArray[np.float64]
Indices = NDArray[np.int64]
TRIM = Fraction(1, 20)  # of the class at either end; the paper does not print its choice
NARROWEST = 1e-6  # a deviation truncated to zero has no density: this part of the range takes its place
LABELS = (
    "class sizes enter the noise scale as if they were known, and a changed label moves rows in two classes at once, "
    "which the proof counts as one"
)
REASONS = {
    "algorithm 1": f"the Cauchy scale √2·S/ε' with smoothing e^(-kε') costs up to 1.22 ε', the deviation gets the "
    f"variance's bound, and {LABELS}",
    "gaussian": f"the deviation gets the variance's bound, and {LABELS}",
    "gaussian swap": f"the Gaussian scale does not depend on δ at all, the deviation gets the variance's bound, and "
    f"{LABELS}",
    "vaidya": LABELS,
    "bun-steinke": LABELS,
}


@dataclass(frozen=True, eq=False)
class PublishedModel:
    """Naive Bayes over unit-scaled numbers and coded categories, with the record in a certificate's place."""

    schema: Schema
    record: Record
    log_prior: Floats
    log_tables: dict[str, Floats] = field(default_factory=dict)
    curves: dict[str, tuple[Floats, Floats]] = field(default_factory=dict)

    def scores(self, X: Floats) -> Floats:
        """log P(class, row), one column per class."""
        total = np.tile(self.log_prior, (len(X), 1))
        for column, feature in enumerate(self.schema.features):
            if isinstance(feature, Numeric):
                mean, deviation = self.curves[feature.name]
                gap = (unit(feature, X[:, column])[:, None] - mean) / deviation
                total += -0.5 * gap * gap - np.log(deviation)
            else:
                total += self.log_tables[feature.name].T[X[:, column].astype(np.int64)]
        return total


def unit(feature: Numeric, values: Floats) -> Floats:
    """Values clipped to the public bounds and scaled to [0, 1]."""
    return np.asarray((np.clip(values, feature.lower, feature.upper) - feature.lower) / (feature.upper - feature.lower))


@dataclass(frozen=True)
class Access:
    """The budget of one access to the data: ε' and δ' of a numeric statistic."""

    epsilon: float
    delta: float


Curve = Callable[[Floats, Access, np.random.Generator], tuple[float, float]]


def _fit(kind: str, curve: Curve, prior_noise: str, setting: Setting, X: Floats, y: Indices) -> PublishedModel:
    """The frame all three share: ε' per access, counts with Laplace noise, a curve per class and number."""
    schema, rng = setting.schema, np.random.default_rng(setting.seed)
    numeric, categorical = (float(part) for part in str(setting.options.get("weight", "2:1")).split(":"))
    unit_epsilon = setting.epsilon / (numeric * len(schema.numeric) + categorical * len(schema.categorical) + 1)
    access = Access(unit_epsilon * numeric / 2, setting.delta / max(1, 2 * len(schema.numeric)))
    classes = len(schema.classes)
    log_tables, curves = {}, {}
    for column, feature in enumerate(schema.features):
        if isinstance(feature, Numeric):
            values = unit(feature, X[:, column])
            pairs = [curve(np.sort(values[y == group]), access, rng) for group in range(classes)]
            mean, deviation = np.array(pairs).T
            curves[feature.name] = (np.maximum(mean, 0.0), np.maximum(deviation, NARROWEST))
        else:
            table = np.zeros((classes, feature.cells))
            np.add.at(table, (y, X[:, column].astype(np.int64)), 1)
            noisy = table + rng.laplace(0, 1 / (unit_epsilon * categorical), table.shape)
            padded = np.maximum(noisy, 0) + 1
            log_tables[feature.name] = np.log(padded / padded.sum(axis=1, keepdims=True))
    counts = np.bincount(y, minlength=classes).astype(np.float64)
    if prior_noise == "cauchy":
        counts += math.sqrt(2) / unit_epsilon * rng.standard_cauchy(classes)
    else:
        counts += rng.laplace(0, 1 / unit_epsilon, classes)
    prior = np.maximum(counts, 0) + 1
    record = Record("zafarani2021", setting.epsilon, setting.delta, REASONS[kind])
    return PublishedModel(schema, record, np.log(prior / prior.sum()), log_tables, curves)


def _moments(window: Floats) -> tuple[float, float]:
    return (float(window.mean()), float(window.std())) if len(window) else (0.5, 0.0)


def algorithm1_curve(
    x: Floats, access: Access, rng: np.random.Generator, *, noise: str, trim: Fraction
) -> tuple[float, float]:
    """Lines 11 to 17: trimmed mean and deviation, each with noise scaled by a smooth bound under replacement."""
    cut = int(trim * len(x))
    window = trimmed(x, cut)
    mean, deviation = _moments(window)
    epsilon = access.epsilon
    if noise == "textbook gaussian":  # Nissim, Raskhodnikova and Smith's constants for (ε, δ)
        decades = math.log(2 / access.delta)
        beta, scale = epsilon / (4 * (1 + decades)), 5 * math.sqrt(2 * decades) / epsilon
    else:
        beta, scale = epsilon, math.sqrt(2) / epsilon
    draw = rng.standard_cauchy if noise == "cauchy" else rng.standard_normal
    mean_bound = width_bound(x, cut, beta, 1) / len(window) if len(window) else 1.0
    # Line 15 asks for the bound of the deviation and names the theorem about the variance: so does the noise.
    deviation_bound = square_bound(x, cut, beta)
    return mean + mean_bound * scale * float(draw()), deviation + deviation_bound * scale * float(draw())


def vaidya_curve(x: Floats, access: Access, rng: np.random.Generator) -> tuple[float, float]:
    """Mean and deviation with their global sensitivities as printed: 1/(n+1) and √n/(n+1) of the range."""
    mean, deviation = _moments(x)
    n = len(x)
    noise = rng.laplace(0, 1 / access.epsilon, 2)
    return mean + noise[0] / (n + 1), deviation + noise[1] * math.sqrt(max(n, 1)) / (n + 1)


def bun_steinke_curve(x: Floats, access: Access, rng: np.random.Generator, *, trim: Fraction) -> tuple[float, float]:
    """Trimmed means of x and x² with Cauchy noise (β = ε'/6, scale 6S/ε'), and E[x²] − E[x]² for the variance."""
    cut, beta = int(trim * len(x)), access.epsilon / 6
    noisy = []
    for sample in (x, np.square(x)):
        window = trimmed(sample, cut)
        bound = width_bound(sample, cut, beta, 1) / len(window) if len(window) else 1.0
        middle = float(window.mean()) if len(window) else 0.5
        noisy.append(min(1.0, max(0.0, middle + bound * 6 / access.epsilon * float(rng.standard_cauchy()))))
    return noisy[0], math.sqrt(max(0.0, noisy[1] - noisy[0] ** 2))


def _method(name: str, title: str, kind: str, curve: Curve, prior_noise: str = "laplace") -> Method:
    def fit(setting: Setting, X: Floats, y: Indices) -> Scores:
        return _fit(kind, curve, prior_noise, setting, X, y).scores

    return Method(name, title, fit, private=False, reason=REASONS[kind])


def fit_algorithm1(setting: Setting, X: Floats, y: Indices, *, trim: Fraction = TRIM) -> PublishedModel:
    """Algorithm 1 with Cauchy noise, as a model with its record."""
    return _fit("algorithm 1", partial(algorithm1_curve, noise="cauchy", trim=trim), "cauchy", setting, X, y)


def fit_vaidya(setting: Setting, X: Floats, y: Indices) -> PublishedModel:
    """Vaidya et al. 2013, as a model with its record."""
    return _fit("vaidya", vaidya_curve, "laplace", setting, X, y)


METHODS = (
    _method("paper-global", "global sensitivity, as published", "vaidya", vaidya_curve),
    _method(
        "paper-smooth",
        "smooth sensitivity, as published",
        "algorithm 1",
        partial(algorithm1_curve, noise="cauchy", trim=TRIM),
        "cauchy",
    ),
    _method(
        "paper-untrimmed",
        "smooth sensitivity without trimming, as published",
        "algorithm 1",
        partial(algorithm1_curve, noise="cauchy", trim=Fraction(0)),
        "cauchy",
    ),
    _method(
        "paper-bun-steinke",
        "Bun–Steinke mean, as published",
        "bun-steinke",
        partial(bun_steinke_curve, trim=TRIM),
    ),
    _method(
        "paper-gaussian",
        "smooth, Gaussian with textbook constants, as published",
        "gaussian",
        partial(algorithm1_curve, noise="textbook gaussian", trim=TRIM),
        "cauchy",
    ),
    _method(
        "paper-gaussian-swap",
        "smooth, Gaussian in the Cauchy's place, as published",
        "gaussian swap",
        partial(algorithm1_curve, noise="gaussian", trim=TRIM),
        "cauchy",
    ),
)
