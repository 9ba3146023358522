"""What the study of yilmaz2020 compares: the library's local mechanisms, the published estimates, and baselines."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.local.classifier import LocalNB
from discreet.local.projections import PublicDCA, PublicPCA
from discreet.schema import Numeric, Schema
from discreet_studies.methods import MAJORITY, Floats, Method, Scores, Setting
from discreet_studies.published.yilmaz2020 import METHODS as PUBLISHED
from discreet_studies.published.yilmaz2020 import THETA
from discreet_studies.tasks import seed_of

PUBLIC_SHARE = 0.2  # of the training rows: people who agreed to be public, from whom bounds and projections come
TITLES = {
    "grr": "DE (direct encoding)",
    "sue": "SUE",
    "oue": "OUE",
    "she": "SHE",
    "the": f"THE({THETA})",
    "olh": "OLH",
    "subset": "subset selection",
    "hadamard": "Hadamard response",
    "auto": "the oracle of lowest variance",
}
NUMBERS = {
    "laplace-all": "Laplace on all numbers",
    "one-bit": "one bit with the class",
    "laplace": "Laplace on one number",
    "piecewise": "piecewise",
    "hybrid": "hybrid",
}


def local_nb(setting: Setting, schema: Schema, **parameters: Any) -> LocalNB:
    """An unfitted LocalNB with a simulation seed."""
    theta = float(setting.options.get("theta", THETA)) if parameters.get("oracle") == "the" else None
    return LocalNB(setting.epsilon, schema, random_state=setting.seed, theta=theta, **parameters)


def discrete(oracle: str) -> Method:
    """Categories by one oracle, tables projected on the simplex, the class prior from all inputs."""

    def fit(setting: Setting, X: Floats, y: NDArray[np.int64]) -> Scores:
        return local_nb(setting, setting.schema, oracle=oracle).fit(X, y).predict_joint_log_proba

    return Method(oracle, TITLES[oracle], fit, private=True)


def continuous(name: str, title: str, **parameters: Any) -> Method:
    """Numbers in buckets or as numbers; bounds and projections come from a public sample of the people."""

    def fit(setting: Setting, X: Floats, y: NDArray[np.int64]) -> Scores:
        rng = np.random.default_rng(seed_of("public sample", setting.seed))
        order = rng.permutation(len(y))
        size = round(PUBLIC_SHARE * len(y))
        public, asked = order[:size], order[size:]
        schema, view = prepared(setting, X[public], y[public])
        fitted = local_nb(setting, schema, **parameters).fit(view(X[asked]), y[asked])
        return lambda rows: fitted.predict_joint_log_proba(view(rows))

    return Method(name, title, fit, private=True)


def _same(rows: Floats) -> Floats:
    return rows


def prepared(setting: Setting, X: Floats, y: NDArray[np.int64]) -> tuple[Schema, Any]:
    """The public schema of what is reported, and how a device makes it of its row, both from public rows."""
    kind, count = setting.options.get("projection", "none"), int(setting.options["buckets"])
    low, high = X.min(axis=0), X.max(axis=0)
    high = np.where(high > low, high, low + 1.0)
    bounds = zip(setting.schema.names, low.tolist(), high.tolist(), strict=True)
    features = [Numeric(name, a, b, bins=count) for name, a, b in bounds]
    schema = Schema(features, setting.schema.target, setting.schema.classes)
    if kind == "none":
        return schema, _same
    build: Any = PublicPCA if kind == "pca" else PublicDCA
    projection = build(int(setting.options["dims"]), schema, X, y, bounds="sample", bins=count).fit()
    return projection.schema_, projection.transform


def _without(name: str, title: str, **parameters: Any) -> Method:
    """A twin that is told everything exactly."""

    def fit(setting: Setting, X: Floats, y: NDArray[np.int64]) -> Scores:
        schema, view = setting.schema, _same
        if "buckets" in setting.options:
            schema, view = prepared(setting, X, y)
        fitted = LocalNB(math.inf, schema, **parameters).fit(view(X), y)
        return lambda rows: fitted.predict_joint_log_proba(view(rows))

    return Method(name, title, fit, private=False, reason="no noise is added")


PLAIN = _without("plain", "without privacy")
PLAIN_GAUSSIAN = _without("plain-gaussian", "bell curves without privacy", numeric="laplace")
DISCRETE = tuple(discrete(oracle) for oracle in TITLES)
BUCKETS = tuple(
    continuous(f"buckets-{oracle}", f"buckets by {TITLES[oracle]}", oracle=oracle) for oracle in ("grr", "oue", "auto")
)
GAUSSIAN = tuple(continuous(f"gaussian-{name}", title, numeric=name) for name, title in NUMBERS.items())
METHODS: dict[str, Method] = {
    method.name: method
    for method in (PLAIN, PLAIN_GAUSSIAN, MAJORITY, *DISCRETE, *BUCKETS, *GAUSSIAN, *PUBLISHED)
}  # fmt: skip
BASELINES = ("plain", "plain-gaussian", "majority")
PAPER_DISCRETE = ("paper-de", "paper-sue", "paper-oue", "paper-she", "paper-the")
PAPER_ALL = tuple(f"paper-all-{name.removeprefix('paper-')}" for name in PAPER_DISCRETE)
OURS_DISCRETE = tuple(method.name for method in DISCRETE)
PAPER_BUCKETS = ("paper-buckets-de", "paper-buckets-oue")
OURS_BUCKETS = tuple(method.name for method in BUCKETS)
PAPER_GAUSSIAN = ("paper-approach-1", "paper-approach-2", "paper-approach-3")
OURS_GAUSSIAN = tuple(method.name for method in GAUSSIAN)
