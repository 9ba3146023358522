"""Methods: what a study compares, as data; the library's own are built through one adapter."""

from __future__ import annotations

import inspect
import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.bayes import PrivateNB
from discreet.schema import Numeric, Schema
from discreet_studies import StudyError

Floats = NDArray[np.float64]
Scores = Callable[[Floats], Floats]


class NotAvailableError(StudyError):
    """This version of the library has no such method."""


@dataclass(frozen=True)
class Setting:
    """What a method is told: public facts, the budget, and the seed of its noise."""

    schema: Schema
    epsilon: float
    delta: float
    n: int
    seed: int
    options: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Method:
    """A named way to fit a model; `fit` returns the function from rows to log P(class, row), one column per class.

    `private` says whether the law of the outcome keeps the (ε, δ) it is given, with the `reason` if not. All noise
    in a study is simulated from a seed, so no model of a study is for release either way.
    """

    name: str
    title: str
    fit: Callable[[Setting, Floats, NDArray[np.int64]], Scores]
    private: bool
    reason: str = ""


def private_nb(setting: Setting, build: Callable[..., Any] = PrivateNB, /, **parameters: Any) -> Any:
    """An unfitted PrivateNB with a simulation seed, or an error if it does not know a parameter yet.

    The papers are about independent noise on every count, read as it is: the better defaults are left out.
    """
    known = inspect.signature(build).parameters
    unknown = [name for name in parameters if name not in known]
    if unknown:
        raise NotAvailableError(
            f"not available yet: PrivateNB has no parameter {unknown[0]!r} in this version of the library"
        )
    plain = {"reading": "plain"}
    if not setting.delta and getattr(parameters.get("smooth"), "noise", None) is None:
        plain["mechanism"] = "laplace"
    parameters = {name: value for name, value in plain.items() if name in known} | parameters
    return build(
        epsilon=setting.epsilon,
        delta=setting.delta,
        schema=setting.schema,
        random_state=setting.seed,
        **parameters,
    )


def library(name: str, title: str, **parameters: Any) -> Method:
    """A method of the library itself: sound under add-remove neighbours, class counts included in the budget."""

    def fit(setting: Setting, X: Floats, y: NDArray[np.int64]) -> Scores:
        chosen = dict(parameters)
        weight = setting.options.get("weight")
        if weight:
            chosen["split"] = shares(setting.schema, str(weight))
        fitted = private_nb(setting, **chosen).fit(X, y)
        scores: Scores = fitted.predict_joint_log_proba
        return scores

    return Method(name, title, fit, private=True)


def shares(schema: Schema, weight: str) -> dict[str, Fraction]:
    """The budget split "numeric:categorical": parts per attribute of each kind, and one part for class counts.

    >>> from discreet.schema import Categorical
    >>> both = Schema([Numeric("a", 0, 1), Categorical("b", [0, 1])], "t", [0, 1])
    >>> [str(share) for share in shares(both, "2:1").values()]
    ['1/2', '1/4', '1/4']
    """
    numeric, categorical = (Fraction(part) for part in weight.split(":"))
    parts = {f.name: numeric if isinstance(f, Numeric) else categorical for f in schema.features}
    parts[schema.target] = Fraction(1)
    whole = sum(parts.values())
    return {name: part / whole for name, part in parts.items()}


def _plain(setting: Setting, X: Floats, y: NDArray[np.int64]) -> Scores:
    without = Setting(setting.schema, math.inf, 0.0, setting.n, setting.seed)
    fitted = private_nb(without, numeric="gaussian").fit(X, y)
    scores: Scores = fitted.predict_joint_log_proba
    return scores


def _majority(setting: Setting, X: Floats, y: NDArray[np.int64]) -> Scores:
    counts = np.bincount(y, minlength=len(setting.schema.classes)) + 1.0
    prior = np.log(counts / counts.sum())
    return lambda rows: np.tile(prior, (len(rows), 1))


PLAIN = Method("plain", "Naive Bayes without privacy", _plain, private=False, reason="no noise is added")
MAJORITY = Method("majority", "majority class", _majority, private=False, reason="the class is counted without noise")
