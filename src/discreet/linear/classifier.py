"""PrivateSVC and PrivateLogisticRegression: linear classifiers with differential privacy, for scikit-learn."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from discreet.errors import BudgetError
from discreet.estimators.base import SchemaEstimator
from discreet.kinds import find
from discreet.linear.encode import Encoding
from discreet.linear.losses import Huber, Logistic, Loss
from discreet.linear.model import LinearModel
from discreet.linear.plan import LinearPlan, make_plan
from discreet.linear.release import LinearRelease, release
from discreet.mechanisms.noise import Sampler
from discreet.privacy.budget import number
from discreet.privacy.certificate import Certificate
from discreet.privacy.certifier import certify
from discreet.privacy.unexpected import ABSORB, FIXED
from discreet.schema import Schema
from discreet.sources import Progress, Source

Floats = NDArray[np.float64]
REFUSALS = (
    "that a fit ends in weights rather than in a refusal by the solver's certificate is not protected: a refusal "
    "depends on the random draw and, where the regularisation is very small or the rows are very many, on the rows"
)


class LinearEstimator(SchemaEstimator):
    """What the linear estimators share: all but the loss."""

    model_: LinearModel
    _kind: str
    _texts = """
    numeric : {"binned", "scaled"}
        Numbers as one column per public bin, or as one column scaled to the public bounds.
    regularisation : float or None
        Λ of the objective Σ loss + Λ/2·‖w‖², which is not divided by the number of rows; by default it follows from
        epsilon and the schema. Choosing it by a look at the data would be a disclosure.
    noise : {"auto", "laplace", "spherical"}
        The law of the noise vector; "auto" takes the one with the smaller variance for this schema.
    tolerance : float or None
        The norm of the gradient that the solver must certify; without it nothing is released.
    """

    def _loss(self) -> Loss:
        raise NotImplementedError

    def _method(self) -> str:
        return "objective"

    def _settings(self) -> dict[str, Any]:
        return {"method": self._method()}

    # ---- fitting

    def _plan(self, schema: Schema, *_: Any) -> LinearPlan:
        return make_plan(
            Encoding(schema, self.numeric), self._budget(), **self._people(), loss=self._loss(), method=self._method(),
            ridge=self.regularisation, noise=self.noise, tolerance=self.tolerance,
        )  # fmt: skip

    def _release(self, source: Source, plan: LinearPlan, sampler: Sampler, *_: Any) -> LinearModel:
        released = release(plan.encoding.design(source.held()), plan, sampler)
        settings = {**self._settings(), "ridge": float(plan.ridge)}
        return LinearModel(
            plan.schema, released.weights, release_certificate(released), kind=self._kind, numeric=self.numeric,
            settings=settings, deviation=plan.deviation(float(np.linalg.norm(released.weights, axis=1).max())),
        )  # fmt: skip

    def _describe(self, X: Any, schema: Schema) -> None:
        super()._describe(X, schema)
        self.coef_, self.intercept_ = self._coefficients(self.model_.encoding)

    def _coefficients(self, encoding: Encoding) -> tuple[Floats, Floats]:
        """Weights of the encoded columns and of the constant, in the order of `classes_`."""
        weights = self.model_.weights
        if len(weights) == 1:
            weights = weights * (1.0 if self._order[1] == 1 else -1.0)
        else:
            weights = weights[self._order]
        return weights[:, :-1].copy(), weights[:, -1] * encoding.scale

    # ---- prediction

    def decision_function(self, X: Any) -> Floats:
        """The margin of each row: of the second class, or of each class against the rest if there are more."""
        check_is_fitted(self)
        self._check_width(X)
        margins = self.model_.decision_function(X)
        if margins.shape[1] == 1:
            return margins[:, 0] * (1.0 if self._order[1] == 1 else -1.0)
        return margins[:, self._order]

    def encode(self, X: Any) -> Floats:
        """Rows as the dense matrix that `coef_` and `intercept_` belong to (the constant is left out)."""
        check_is_fitted(self)
        self._check_width(X)
        return self.model_.encoding.matrix(X)[:, :-1]


class PrivateSVC(LinearEstimator):
    """A linear support vector machine with Huber loss, by objective perturbation.

    Parameters
    ----------
    {epsilon, schema, adjacency}
    h : float, default 0.05
        Half the width over which the corner of the hinge loss is rounded off.
    {numeric, regularisation, noise, tolerance, contributions, random_state, unexpected, delta}

    Attributes
    ----------
    model_ : LinearModel
    {certificate_}
    coef_, intercept_, classes_, n_features_in_, feature_names_in_ : as in scikit-learn, of the encoded columns
    """

    _kind = "svm"

    def __init__(
        self, epsilon: float = 1.0, schema: Schema | str | None = None, adjacency: str = "add-remove",
        numeric: str = "binned", h: float = 0.05, regularisation: float | None = None, noise: str = "auto",
        tolerance: float | None = None, contributions: int = 1, random_state: Any = None, unexpected: str = "refuse",
        delta: float = 0.0,
    ) -> None:  # fmt: skip
        self._configure(locals())

    def _loss(self) -> Loss:
        h = number(self.h, "h")
        if not 1e-6 <= h <= 1e6:
            raise BudgetError(f"h must lie between 1e-6 and 1e6, not {self.h!r}")
        return Huber(float(h))

    def _settings(self) -> dict[str, Any]:
        return {"method": "objective", "h": float(self.h)}


class PrivateLogisticRegression(LinearEstimator):
    """Logistic regression with differential privacy.

    Parameters
    ----------
    {epsilon, schema}
    method : {"objective", "output", "functional"}
        Noise in the objective, on its minimum, or on the coefficients of its second-order polynomial.
    {adjacency, numeric, regularisation, noise, tolerance, contributions, random_state, unexpected, delta}

    Attributes
    ----------
    model_ : LinearModel
    {certificate_}
    coef_, intercept_, classes_, n_features_in_, feature_names_in_ : as in scikit-learn, of the encoded columns
    """

    _kind = "logistic"

    def __init__(
        self, epsilon: float = 1.0, schema: Schema | str | None = None, method: str = "objective",
        adjacency: str = "add-remove", numeric: str = "binned", regularisation: float | None = None,
        noise: str = "auto", tolerance: float | None = None, contributions: int = 1, random_state: Any = None,
        unexpected: str = "refuse",
        delta: float = 0.0,
    ) -> None:  # fmt: skip
        self._configure(locals())

    def _loss(self) -> Loss:
        return Logistic()

    def _method(self) -> str:
        return str(self.method)

    def predict_log_proba(self, X: Any) -> Floats:
        """log P(class | features), columns in the order of `classes_`."""
        check_is_fitted(self)
        self._check_width(X)
        return self.model_.predict_log_proba(X)[:, self._order]

    def predict_proba(self, X: Any) -> Floats:
        """P(class | features), columns in the order of `classes_`."""
        return np.exp(self.predict_log_proba(X))


def release_certificate(released: LinearRelease) -> Certificate:
    """What a linear release guarantees."""
    plan = released.plan
    exact = not plan.budget.private or plan.method == "functional"
    machine = "logarithm, root, exponential and cosine of this machine are exact to two units in the last place"
    return certify(
        plan,
        sampler=released.samplers,
        simulation=released.simulation,
        accounting="pure epsilon, added up over classes and steps",
        assumptions=() if exact else (machine, FIXED if plan.unexpected == ABSORB else REFUSALS),
    )


def twin_of(model: LinearModel, data: Any, y: Any = None, *, progress: Progress | None = None) -> LinearModel:
    """The same kind of model fitted without noise: for comparison, never for release."""
    settings = {name: model.settings[name] for name in ("h",) if name in model.settings}
    made = find(model.kind).make(
        epsilon=math.inf, schema=model.schema, numeric=model.encoding.numeric,
        regularisation=model.settings.get("ridge"), **settings,
    )  # fmt: skip
    twin: LinearModel = made.fit(data, y, progress=progress).model_
    return twin
