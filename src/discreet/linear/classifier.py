"""PrivateSVC and PrivateLogisticRegression: linear classifiers with differential privacy, for scikit-learn."""

from __future__ import annotations

import math
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from discreet import sources
from discreet.bayes.base import SchemaEstimator
from discreet.bayes.certificates import MODEL
from discreet.errors import BudgetError
from discreet.linear.encode import Encoding
from discreet.linear.losses import Huber, Logistic, Loss
from discreet.linear.model import LinearModel
from discreet.linear.plan import LinearPlan, make_plan
from discreet.linear.release import LinearRelease, release
from discreet.mechanisms.noise import bytes_of, sampler_for
from discreet.privacy.budget import Adjacency, Budget, number
from discreet.privacy.certificate import Certificate, certify, covering, standing
from discreet.privacy.payer import Payer, paying
from discreet.privacy.unexpected import ABSORB, FIXED
from discreet.schema import Schema
from discreet.sources import Progress

Floats = NDArray[np.float64]
REFUSALS = (
    "that a fit ends in weights rather than in a refusal by the solver's certificate is not protected: a refusal "
    "depends on the random draw and, where the regularisation is very small or the rows are very many, on the rows"
)


class LinearEstimator(SchemaEstimator):
    """What the linear estimators share: all but the loss."""

    adjacency: Any
    numeric: Any
    regularisation: Any
    noise: Any
    tolerance: Any
    contributions: Any
    unexpected: Any
    model_: LinearModel
    _kind: str

    def _loss(self) -> Loss:
        raise NotImplementedError

    def _method(self) -> str:
        return "objective"

    def _settings(self) -> dict[str, Any]:
        return {"method": self._method()}

    # ---- fitting

    def plan(self) -> LinearPlan:
        """How the budget would be spent, from public knowledge alone."""
        return self._plan(self._public_schema())

    def _plan(self, schema: Schema) -> LinearPlan:
        return make_plan(
            Encoding(schema, self.numeric),
            Budget(self.epsilon),
            loss=self._loss(),
            method=self._method(),
            adjacency=Adjacency.of(self.adjacency),
            contributions=self.contributions,
            ridge=self.regularisation,
            noise=self.noise,
            tolerance=self.tolerance,
            unexpected=self.unexpected,
        )

    def fit(
        self,
        X: Any,
        y: Any = None,
        *,
        ledger: Payer | None = None,
        account: Any = None,
        progress: Progress | None = None,
    ) -> Self:
        """Fit to an array or data frame with labels `y`, or to a file or database table that has the target.

        The whole cost is known and charged to the `account` (or `ledger`), if there is one, before a row is read.
        """
        payer = paying(ledger, account, X, self)
        if isinstance(self.schema, str):
            payer.allow_inference(Budget(self.epsilon))  # the rows will be read for a schema: not in vain
        schema = self._schema_for(X, y)
        plan = self._plan(schema)
        payer.charge(plan.node, plan.budget, plan.unit, self, schema=schema)
        sampler = sampler_for(self.random_state)
        rows = sources.open(
            X, schema, y, contributions=plan.contributions, unexpected=plan.unexpected, draw=bytes_of(sampler),
            progress=progress,
        ).held()  # fmt: skip
        released = release(plan.encoding.design(rows), plan, sampler)
        self.certificate_ = release_certificate(released)
        settings = {**self._settings(), "ridge": float(plan.ridge)}
        self.model_ = LinearModel(
            schema, released.weights, self.certificate_, kind=self._kind, numeric=self.numeric, settings=settings
        )
        self._describe(X, schema)
        self.coef_, self.intercept_ = self._coefficients(plan.encoding)
        return self

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
    epsilon : float, default 1.0
        The privacy budget of each fit; `math.inf` gives the non-private twin.
    schema : Schema or "infer"
        What is public about the data. "infer" reads it off the training data, which is a disclosure that the
        certificate states; without a schema there is no fit.
    adjacency : {"add-remove", "replace"}
        Neighbours differ by one row more or less, or by one changed row (then the number of rows is public).
    numeric : {"binned", "scaled"}
        Numbers as one column per public bin, or as one column scaled to the public bounds.
    h : float, default 0.05
        Half the width over which the corner of the hinge loss is rounded off.
    regularisation : float or None
        Λ of the objective Σ loss + Λ/2·‖w‖², which is not divided by the number of rows; by default it follows from
        epsilon and the schema. Choosing it by a look at the data would be a disclosure.
    noise : {"auto", "laplace", "spherical"}
        The law of the noise vector; "auto" takes the one with the smaller variance for this schema.
    tolerance : float or None
        The norm of the gradient that the solver must certify; without it nothing is released.
    contributions : int, default 1
        The most rows one person may have in the data. If the schema names an id column, this is enforced.
    random_state : int, Generator or None
        A seed makes the fit a reproducible simulation, which is not for release; the certificate says so.
    unexpected : {"refuse", "absorb"}
        What happens to values without a place in the schema and to people with too many rows: an error, which is
        outside the guarantee, or a place by public rules (docs/unexpected.md): the guarantee then covers every table.

    Attributes
    ----------
    model_ : LinearModel
    certificate_ : Certificate
    coef_, intercept_, classes_, n_features_in_, feature_names_in_ : as in scikit-learn, of the encoded columns
    """

    _kind = "svm"

    def __init__(
        self,
        epsilon: float = 1.0,
        schema: Schema | str | None = None,
        adjacency: str = "add-remove",
        numeric: str = "binned",
        h: float = 0.05,
        regularisation: float | None = None,
        noise: str = "auto",
        tolerance: float | None = None,
        contributions: int = 1,
        random_state: Any = None,
        unexpected: str = "refuse",
    ) -> None:
        self.epsilon = epsilon
        self.schema = schema
        self.adjacency = adjacency
        self.numeric = numeric
        self.h = h
        self.regularisation = regularisation
        self.noise = noise
        self.tolerance = tolerance
        self.contributions = contributions
        self.random_state = random_state
        self.unexpected = unexpected

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
    epsilon, schema, adjacency, numeric, regularisation, noise, tolerance, contributions, random_state
        As in `PrivateSVC`.
    method : {"objective", "output", "functional"}
        Noise in the objective, on its minimum, or on the coefficients of its second-order polynomial.
    unexpected : {"refuse", "absorb"}
        What happens to values without a place in the schema and to people with too many rows: an error, which is
        outside the guarantee, or a place by public rules (docs/unexpected.md): the guarantee then covers every table.

    Attributes
    ----------
    model_ : LinearModel
    certificate_ : Certificate
    coef_, intercept_, classes_, n_features_in_, feature_names_in_ : as in scikit-learn, of the encoded columns
    """

    _kind = "logistic"

    def __init__(
        self,
        epsilon: float = 1.0,
        schema: Schema | str | None = None,
        method: str = "objective",
        adjacency: str = "add-remove",
        numeric: str = "binned",
        regularisation: float | None = None,
        noise: str = "auto",
        tolerance: float | None = None,
        contributions: int = 1,
        random_state: Any = None,
        unexpected: str = "refuse",
    ) -> None:
        self.epsilon = epsilon
        self.schema = schema
        self.method = method
        self.adjacency = adjacency
        self.numeric = numeric
        self.regularisation = regularisation
        self.noise = noise
        self.tolerance = tolerance
        self.contributions = contributions
        self.random_state = random_state
        self.unexpected = unexpected

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
    private, schema = plan.budget.private, plan.schema
    simulation = private and released.simulation
    stated = [*standing(schema, plan.contributions)]
    if private and plan.method != "functional":
        stated.append(
            "logarithm, root, exponential and cosine of this machine are exact to two units in the last place"
        )
        stated.append(FIXED if plan.unexpected == ABSORB else REFUSALS)
    return certify(
        plan.node,
        plan.budget,
        adjacency=plan.adjacency,
        contributions=plan.contributions,
        identified=schema.id is not None,
        unexpected=plan.unexpected,
        simulation=simulation,
        sampler=" and ".join(released.samplers) if private else "none",
        schema_hash=schema.hash,
        rho=None,
        accounting="pure epsilon, added up over classes and steps" if private else "none",
        covers=covering(MODEL, schema, usable=private and not simulation),
        assumptions=tuple(stated),
    )


def twin_of(model: LinearModel, data: Any, y: Any = None, *, progress: Progress | None = None) -> LinearModel:
    """The same kind of model fitted without noise: for comparison, never for release."""
    common: dict[str, Any] = {
        "epsilon": math.inf,
        "schema": model.schema,
        "numeric": model.encoding.numeric,
        "regularisation": model.settings.get("ridge"),
    }
    estimator: LinearEstimator
    if model.kind == "svm":
        estimator = PrivateSVC(**common, h=model.settings.get("h", 0.05))
    else:
        estimator = PrivateLogisticRegression(**common)
    return estimator.fit(data, y, progress=progress).model_
