"""PrivateHoldout: a fit that measures itself on rows dealt aside, for the cost of the fit alone."""

from __future__ import annotations

import inspect
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from discreet.errors import BudgetError
from discreet.estimators.base import SchemaEstimator
from discreet.estimators.purchase import buys
from discreet.evaluation.evaluate import check_confidence, evaluation_certificate, measure
from discreet.evaluation.plan import EvaluationPlan, evaluation_charges, make_evaluation_plan
from discreet.kinds import of_a_kind
from discreet.mechanisms.deal import KeyCoins, RowCoins
from discreet.mechanisms.noise import Sampler, SimulationSampler, sampler_for
from discreet.privacy.budget import Adjacency, Budget, number
from discreet.privacy.certificate import Certificate, recorded_rho
from discreet.privacy.ledger import Charge, Node, Parallel, Sequential, SmoothCharge, concentrated, cost
from discreet.privacy.payer import PAID, Payer
from discreet.privacy.plan import Protected, check_smoothing, checked_contributions
from discreet.privacy.unexpected import ABSORB, REFUSE, check_unexpected
from discreet.schema import Schema
from discreet.sources import Progress, charge, check_shape, deal_rows, new_reading, watching

NEEDED = ("epsilon", "schema", "adjacency", "random_state")
SIDES = "training rows and rows held out"
DEALT_ROWS = "every row is dealt to training or to testing by a coin of its own, whatever the rows say"
DEALT_PEOPLE = (
    "every person is dealt with all their rows to training or to testing by a coin of their own, a keyed hash of their "
    "id with a secret that is thrown away"
)
EMPTY = (
    "that a fit ends in a model rather than in a refusal because no row was dealt to training is not protected: n rows "
    "are all held out with chance share^n"
)


@dataclass(frozen=True)
class HoldoutPlan(Protected):
    """What the whole costs: the dearer of the fit and the measurement, which read different rows."""

    share: Fraction
    node: Node
    sets: Fraction


def _has(name: str) -> Any:
    """Whether the estimator, fitted or not, can do something."""

    def check(holdout: Any) -> bool:
        return hasattr(getattr(holdout, "estimator_", holdout.estimator), name)

    return check


class PrivateHoldout(SchemaEstimator):
    """Fit a private estimator on some rows and measure it on the others, at no further cost.

    Every row (every person, if the schema names an id column) is dealt to training or to testing by a coin of its own.
    The estimator is fitted on one part and its figures are released from the other, each at the estimator's epsilon:
    a row is in one of the two, so the whole costs epsilon too. The model then carries its own figures.

    Parameters
    ----------
    estimator : a private estimator with a schema
        It says epsilon, adjacency and contributions.
    share : float, default 0.2
        The chance that a row is held out for testing, at most one half.
    confidence : float, default 0.95
        Of the figures' intervals.
    sets : float, default 0.2
        The part of what is measured on the rows held out that goes to prediction sets; 0 for none.
    random_state : int, Generator or None
        A seed makes everything a reproducible simulation, which is not for release.

    Attributes
    ----------
    estimator_ : the fitted estimator
    evaluation_ : PrivateEvaluation, with accuracy, AUC and others
    model_ : the released model, with `evaluation` in it
    certificate_ : Certificate of both
    {classes_}
    """

    def __init__(
        self, estimator: Any = None, share: float = 0.2, confidence: float = 0.95, random_state: Any = None,
        sets: float = 0.2,
    ) -> None:  # fmt: skip
        self._configure(locals())

    def plan(self) -> HoldoutPlan:
        """What it would cost, from public knowledge alone; settings that cannot be fitted with are refused here."""
        return self._plan(self.estimator)

    def _plan(self, estimator: Any) -> HoldoutPlan:
        settings = _private(estimator)
        share = number(self.share, "share")
        if not 0 < share <= Fraction(1, 2):
            raise BudgetError("share is the chance that a row is held out: above 0 and not above 0.5")
        check_confidence(self.confidence)
        sets = number(self.sets, "sets")
        if not 0 <= sets <= Fraction(9, 10):
            raise BudgetError("sets is the part of the measurement for prediction sets: from 0 to 0.9")
        adjacency, rows = Adjacency.of(settings["adjacency"]), checked_contributions(settings.get("contributions", 1))
        schema = settings["schema"] if isinstance(settings["schema"], Schema) else None
        if schema is None and settings["schema"] != "infer":
            estimator._public_schema()  # says what is missing
        if rows > 1 and (schema is None or schema.id is None):
            raise BudgetError(
                "rows of one person would be dealt to both sides of a hold-out: with contributions above 1, declare an "
                "id column in the schema, so that all rows of a person are dealt together"
            )
        budget = _granted(estimator, schema)
        node = _node(estimator, budget, adjacency, rows, schema, sets)
        policy = check_unexpected(settings.get("unexpected", REFUSE))
        return HoldoutPlan(schema, budget, adjacency, rows, share, node, sets, unexpected=policy)  # type: ignore[arg-type]

    def _fit(self, X: Any, y: Any, payer: Payer, progress: Progress | None, *_: Any) -> Self:
        plan, sampler = self.plan(), sampler_for(self.random_state)
        if not isinstance(self.estimator.schema, Schema):
            payer.allow_inference(plan.budget, plan.node)  # the rows will be read for a schema: not in vain
        schema = _schema_of(self.estimator, X, y)
        if not isinstance(self.estimator.schema, Schema):
            plan = self._plan(clone(self.estimator).set_params(schema=schema))
        charge(payer, plan, X, self, schema=schema)
        coins = (RowCoins if schema.id is None else KeyCoins)(plan.share, sampler)
        fitted = clone(self.estimator).set_params(schema=schema)
        with watching() as dealt:
            train, test = deal_rows(X, schema, y, coins, lenient=plan.unexpected == ABSORB, exact=buys(fitted))
        if isinstance(sampler, SimulationSampler):
            fitted.set_params(random_state=int(sampler.rng.integers(2**31)))
        known = inspect.signature(fitted.fit).parameters  # not every estimator shows its progress
        with watching() as readings:
            fitted.fit(*train, ledger=PAID, **({"progress": progress} if "progress" in known else {}))
        _require_kept(fitted, plan)
        model = fitted.model_
        pure = Budget(float("inf") if plan.budget.epsilon is None else plan.budget.epsilon)
        looked = make_evaluation_plan(
            model, pure, adjacency=plan.adjacency, contributions=plan.contributions, unexpected=plan.unexpected,
            sets=plan.sets,
        )  # fmt: skip
        if hasattr(fitted, "_narrowed") and isinstance(test[0], np.ndarray):  # its model asks for some of the columns
            test = (fitted._narrowed(test[0]), test[1])
        with watching() as others:
            self.evaluation_ = measure(
                model, looked, sampler, *test, confidence=check_confidence(self.confidence), progress=progress,
                held_out=float(plan.share),
            )  # fmt: skip
        new_reading().include(dealt, readings, others)
        self.certificate_ = _certificate(fitted.certificate_, looked, sampler, coins.keyed)
        model = model.with_certificate(self.certificate_, self.evaluation_)
        fitted.model_, fitted.certificate_ = model, self.certificate_
        self.estimator_, self.model_ = fitted, model
        self._describe(X, schema)
        return self

    # ---- prediction

    def predict(self, X: Any) -> NDArray[Any]:
        """The most probable class of each row, by the fitted estimator."""
        return self._ask("predict", X)

    @available_if(_has("predict_proba"))  # type: ignore[untyped-decorator]
    def predict_proba(self, X: Any) -> NDArray[np.float64]:
        """P(class | features) by the fitted estimator, columns in the order of `classes_`."""
        return self._ask("predict_proba", X)

    @available_if(_has("predict_log_proba"))  # type: ignore[untyped-decorator]
    def predict_log_proba(self, X: Any) -> NDArray[np.float64]:
        """log P(class | features) by the fitted estimator, columns in the order of `classes_`."""
        return self._ask("predict_log_proba", X)

    @available_if(_has("decision_function"))  # type: ignore[untyped-decorator]
    def decision_function(self, X: Any) -> NDArray[np.float64]:
        """The margins of the fitted estimator."""
        return self._ask("decision_function", X)

    def _ask(self, what: str, X: Any) -> NDArray[np.float64]:
        check_is_fitted(self)
        self._check_width(X)
        found: NDArray[np.float64] = getattr(self.estimator_, what)(X)
        return found

    @property
    def epsilon(self) -> Any:
        """The budget of the estimator, and of the whole."""
        return getattr(self.estimator, "epsilon", None)

    @property  # type: ignore[misc]
    def schema(self) -> Any:
        """The schema of the estimator."""
        return getattr(self.estimator, "schema", None)


def _private(estimator: Any) -> dict[str, Any]:
    """The settings of a private estimator of this library that releases a model; any other is refused."""
    made = type(estimator)
    # Not of a class that somebody derived: what its `fit` does nobody here has proved.
    ours = made.__module__.startswith("discreet.") and "of_kinds" in vars(made)
    home = of_a_kind(estimator) or ours
    settings: dict[str, Any] = estimator.get_params(deep=False) if home and hasattr(estimator, "get_params") else {}
    takes = inspect.signature(estimator.fit).parameters if hasattr(estimator, "fit") else {}
    if any(name not in settings for name in NEEDED) or "ledger" not in takes or not hasattr(estimator, "predict"):
        raise BudgetError(
            f"{type(estimator).__name__} is not a private estimator that releases a model: use PrivateNB, "
            "PrivateClassifier or another of this library's that is fitted by a trusted curator"
        )
    return settings


def _schema_of(estimator: Any, X: Any, y: Any) -> Schema:
    """The estimator's schema, which may leave bounds open that it buys; or one read off the data, if it says so."""
    schema = estimator.schema
    if isinstance(schema, Schema):
        check_shape(X, y, schema, who="a hold-out")
        return schema
    found: Schema = estimator._schema_for(X, y)
    return found


def _granted(estimator: Any, schema: Schema | None) -> Budget:
    """What the fit is granted, by its own plan where it has one: a δ that it spends nothing of stays whole."""
    if not isinstance(estimator, SchemaEstimator):  # somebody's own, which says no more than its settings
        return Budget(estimator.epsilon, getattr(estimator, "delta", 0))
    asked, bought = estimator._budget(), estimator._purchase()
    if schema is None:
        return asked
    planned = getattr(estimator.plan(), "budget", asked) if bought is None else bought.granted
    return asked if planned.delta else asked.pure


def _fit_node(estimator: Any, budget: Budget, schema: Schema | None) -> Node:
    """What the fit will be charged as: by its own plan, which keeps its ρ, or else as a whole, with its δ."""
    whole = SmoothCharge(
        type(estimator).__name__, "the fit on the training rows, as its certificate says", "epsilon",
        Fraction(0) if budget.epsilon is None else budget.epsilon, budget.delta,
    )  # fmt: skip
    if "smoothing" in estimator.get_params(deep=False):
        check_smoothing(estimator.smoothing)  # not every plan looks at it
    if schema is None or not hasattr(estimator, "plan"):
        return whole
    plan = estimator.plan()
    bought = estimator.settlement() if hasattr(estimator, "settlement") else None
    node = getattr(plan, "node", plan)
    if not isinstance(node, Node) or budget.epsilon is None:
        return whole
    if bought is not None:
        node = Sequential("a settlement and a fit", (bought.node, node))
    kept = cost(node, "epsilon") <= budget.epsilon and cost(node, "delta") <= budget.delta
    return node if kept and (budget.delta or not cost(node, "rho")) else whole


def _node(
    estimator: Any, budget: Budget, adjacency: Adjacency, contributions: int, schema: Schema | None, sets: Fraction
) -> Node:
    fit = _fit_node(estimator, budget, schema)
    if budget.epsilon is None:
        return Parallel(SIDES, DEALT_ROWS, ())
    people = schema is not None and schema.id is not None
    classes = 2 if schema is None else len(schema.classes)  # tables differ with the classes, their cost does not
    looked: tuple[Charge, ...] = evaluation_charges(
        Budget(budget.epsilon), classes, adjacency=adjacency, contributions=contributions, sets=sets
    )
    measured = looked[0] if len(looked) == 1 else Sequential("an evaluation", looked)
    return Parallel(SIDES, DEALT_PEOPLE if people else DEALT_ROWS, (fit, measured))


def _require_kept(fitted: Any, plan: HoldoutPlan) -> None:
    """Check what the fit says that it spent against what was charged."""
    own: Certificate = fitted.certificate_
    kept = own.adjacency == plan.adjacency and own.contributions == plan.contributions
    if plan.budget.epsilon is not None:
        kept = kept and own.private and own.epsilon is not None and Fraction(own.epsilon) <= plan.budget.epsilon
        kept = kept and Fraction(own.delta) <= plan.budget.delta
        if not cost(plan.node, "delta"):  # it was charged with a ρ
            spent = recorded_rho(own.ledger)
            kept = kept and spent is not None and spent <= concentrated(plan.node)
    if not kept:
        raise BudgetError(f"{type(fitted).__name__} did not keep to the budget of the hold-out: nothing is released")


def _certificate(own: Certificate, looked: EvaluationPlan, sampler: Sampler, people: bool) -> Certificate:
    """One certificate for a fit and a measurement on different rows: the dearer of the two is the cost."""
    if not own.private:
        return own
    figures, dealt = evaluation_certificate(looked, sampler, held_out=True), DEALT_PEOPLE if people else DEALT_ROWS
    whole = own.beside(figures, SIDES, dealt)
    return whole if looked.unexpected != REFUSE else whole.assuming(EMPTY)
