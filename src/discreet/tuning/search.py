"""PrivateGridSearch: a choice among private estimators or their settings, inside one budget."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import partial
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from discreet.errors import BudgetError, SchemaError
from discreet.estimators.base import SchemaEstimator
from discreet.estimators.purchase import buys
from discreet.mechanisms.choose import CHOICES, choice_rate, choose, coins_of
from discreet.mechanisms.deal import hold_out
from discreet.mechanisms.noise import Sampler, SimulationSampler, bytes_of, sampler_for
from discreet.mechanisms.stopping import best_of_random_runs, check_stopping
from discreet.privacy.budget import Adjacency, number
from discreet.privacy.certificate import Certificate
from discreet.privacy.certifier import certify
from discreet.privacy.ledger import Sequential
from discreet.privacy.payer import PAID, Payer, Unpaid
from discreet.privacy.unexpected import REFUSE, check_unexpected
from discreet.schema import Schema
from discreet.sources import CodedTable, Progress, RowTable, charge, check_shape, keep_rows
from discreet.tuning.candidates import common_schema, list_candidates, prepared, require_certificate
from discreet.tuning.grants import Grant, Terms
from discreet.tuning.plan import DEALT, METHODS, SearchPlan, plan_holdout, plan_stopping

EMPTY = (
    "that a search ends in a model rather than in a refusal because no row was dealt to training is not protected: a "
    "deal of n rows is refused with chance validation^n, at most 2^-n"
)
COVERS = "which candidate was chosen, the parameters of this model, and everything computed from them"


def _gives_probabilities(search: Any) -> bool:
    """Whether the chosen estimator, or before a fit every candidate, has probabilities."""
    if hasattr(search, "best_estimator_"):
        return hasattr(search.best_estimator_, "predict_proba")
    return all(hasattr(one, "predict_proba") for _, one in list_candidates(search.estimator, search.param_grid))


class PrivateGridSearch(SchemaEstimator):
    """Choose among private estimators, or settings of one, without paying for each look at the data.

    Parameters
    ----------
    estimator : a private estimator, or a list or dict of them
    param_grid : dict or list of dicts, as in scikit-learn; only with a single estimator
    epsilon : float, default 1.0
        The budget of everything together: fits, choice and released model. With a `delta` all of it adds up as
        concentrated privacy where no candidate is then promised larger errors; else the fits of a "holdout" share the
        delta as they share epsilon, and "random-stopping" is pure ε.
    schema : Schema, "infer" or None
        None takes the one that all candidates share.
    {adjacency}
    method : {"holdout", "random-stopping"}
        "holdout" fits every candidate on the training rows and chooses by the correct answers on the others with
        permute-and-flip (in ρ by the exponential mechanism). "random-stopping" fits candidates drawn at random, a
        random number of times, and keeps the best by a noisy count of correct answers: each fit has
        ε/(2 + eta), however many candidates there are.
    validation : float, default 0.25
        The chance that a row is for validation, at most one half.
    refit : float, default 0.5
        The part of the budget kept to fit the chosen candidate on all rows; 0 releases the fit that was chosen.
        Random stopping has no second fit.
    eta, gamma : numbers
        The law of the number of runs under random stopping: truncated negative binomial. `gamma` None is one in ten
        times the number of candidates, by which one of two is never tried with chance 0.215 (0.048 if eta is 1).
    random_state : int, Generator or None
        A seed makes the search a reproducible simulation, which is not for release.
    {unexpected, delta}

    Attributes
    ----------
    best_index_, best_name_, best_estimator_, model_, certificate_
    {classes_}
    """

    _spends_delta = True
    of_kinds = True  # what it fits is of a registered kind

    def __init__(
        self, estimator: Any = None, param_grid: Any = None, epsilon: float = 1.0, schema: Schema | str | None = None,
        adjacency: str = "add-remove", method: str = "holdout", validation: float = 0.25, refit: float = 0.5,
        eta: float = 0, gamma: float | None = None, random_state: Any = None, unexpected: str = "refuse",
        delta: float = 0.0,
    ) -> None:  # fmt: skip
        self._configure(locals())

    def plan(self) -> SearchPlan:
        """How the budget would be spent, from public knowledge alone."""
        candidates = list_candidates(self.estimator, self.param_grid)
        return self._search(candidates, common_schema(candidates, self.schema))

    def _search(self, candidates: list[tuple[str, Any]], schema: Schema | None) -> SearchPlan:
        budget, adjacency, count = self._budget(), Adjacency.of(self.adjacency), len(candidates)
        make = partial(SearchPlan, schema, budget, adjacency, 1, self.method, count, unexpected=self.unexpected)  # type: ignore[arg-type]  # it may still have to be read
        check_unexpected(self.unexpected)
        if self.method not in METHODS:
            raise BudgetError(f"method must be one of {', '.join(METHODS)}, not {self.method!r}")
        if not 0 < number(self.validation, "validation") <= Fraction(1, 2):
            raise BudgetError("validation must lie above 0 and not above 0.5: training must not run out of rows")
        eta = number(self.eta, "eta")
        gamma = Fraction(1, 10 * count) if self.gamma is None else number(self.gamma, "gamma")
        check_stopping(eta, gamma)
        kept = number(self.refit, "refit")
        if not 0 <= kept < 1:
            raise BudgetError("refit is a part of the budget: at least 0 and below 1")
        terms = Terms(schema, adjacency, self.unexpected) if schema is not None and budget.delta else None
        made = make(None, None, None, eta, gamma, Sequential("a search", ()))
        if self.method == "random-stopping":
            return plan_stopping(made, candidates, terms)
        return plan_holdout(made, candidates, kept, terms)

    def _fit(self, X: Any, y: Any, payer: Payer, progress: Progress | None, *_: Any) -> Self:
        candidates = list_candidates(self.estimator, self.param_grid)
        known = common_schema(candidates, self.schema)
        plan = self._search(candidates, known)
        if known is None and not isinstance(payer, Unpaid):
            raise SchemaError("a search that is charged needs a declared schema")
        check_shape(X, y, known, who=type(self).__name__)
        charge(payer, plan, X, self, schema=known)
        schema = Schema.infer(X, y) if known is None else known
        sampler = sampler_for(self.random_state)
        exact = any(buys(clone(one).set_params(schema=schema)) for _, one in candidates)
        rows = keep_rows(X, schema, y, unexpected=plan.unexpected, draw=bytes_of(sampler), exact=exact)
        run = _Search(candidates, plan, schema, rows, sampler, float(self.validation), progress)
        index, fitted = run.stop_at_random() if self.method == "random-stopping" else run.hold_out()
        self.best_index_, self.best_name_ = index, candidates[index][0]
        certificate = _certificate(replace(plan, schema=schema), fitted.model_.schema, sampler, fitted.certificate_)
        self.certificate_ = certificate
        # The model that is released carries what the whole search cost, not its own fit alone.
        self.model_ = fitted.model_.with_certificate(self.certificate_)
        self.best_estimator_ = fitted
        fitted.model_, fitted.certificate_ = self.model_, self.certificate_
        self._describe(X, schema)
        return self

    def _narrowed(self, X: Any) -> Any:
        return self.best_estimator_._narrowed(X) if hasattr(self.best_estimator_, "_narrowed") else X

    @available_if(_gives_probabilities)  # type: ignore[untyped-decorator]
    def predict_proba(self, X: Any) -> NDArray[np.float64]:
        """P(class | features) by the chosen estimator, columns in the order of `classes_`."""
        check_is_fitted(self)
        self._check_width(X)
        chances: NDArray[np.float64] = self.best_estimator_.predict_proba(X)
        return chances


@dataclass(frozen=True, eq=False)
class _Search:
    """One search under way."""

    candidates: list[tuple[str, Any]]
    plan: SearchPlan
    schema: Schema
    rows: RowTable | CodedTable
    sampler: Sampler
    share: float
    progress: Progress | None = None

    def _fit(self, index: int, grant: Grant, rows: NDArray[np.int64]) -> Any:
        seed = int(self.sampler.rng.integers(2**31)) if isinstance(self.sampler, SimulationSampler) else None
        amount: Any = math.inf if grant.epsilon is None else grant.epsilon
        fitted = prepared(
            self.candidates[index][1], amount, self.schema, self.plan.adjacency, seed, self.plan.unexpected,
            grant.delta, grant.mechanism,
        )  # fmt: skip
        fitted.fit(*self.rows.take(rows), ledger=PAID)  # as a part of the search
        require_certificate(fitted, grant.epsilon, self.schema, self.plan.adjacency, grant.delta, grant.rho)
        return fitted

    def _correct(self, fitted: Any, rows: NDArray[np.int64], truth: NDArray[np.int64]) -> int:
        """How many validation rows a candidate answers correctly."""
        if not len(rows):
            return 0
        label = self.schema.label.lookup
        answers = [label.find(one) for one in fitted.predict(self.rows.take(rows)[0]).tolist()]
        return int(np.count_nonzero(np.array(answers) == truth))

    def _deal(self) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """(training, validation): each row is for validation with probability `share`, by a draw of its own."""
        return hold_out(self.rows.size, self.share, self.sampler)

    def hold_out(self) -> tuple[int, Any]:
        """Fit all, choose by correct answers on the rows held out, and fit the chosen one again."""
        train, held = self._deal()
        fitted = []
        for index in range(len(self.candidates)):
            fitted.append(self._fit(index, self.plan.fits[index], train))
            if self.progress is not None:
                self.progress(index + 1, len(self.candidates))
        truth = self.rows.truth(held)
        scores = [self._correct(one, held, truth) for one in fitted]
        rate = None
        if self.plan.choice is not None:
            rate = choice_rate(self.plan.choice, monotone=self.plan.adjacency is Adjacency.ADD_REMOVE)
        index = choose(scores, rate, law=CHOICES[self.plan.rho is not None], coins=coins_of(self.sampler))
        if not self.plan.refits:
            return index, fitted[index]
        return index, self._fit(index, self.plan.refits[index], np.arange(self.rows.size))

    def stop_at_random(self) -> tuple[int, Any]:
        """Candidates drawn evenly, fitted and scored a random number of times; the best run is released."""
        coins = coins_of(self.sampler)

        def run() -> tuple[int, tuple[int, Any]]:
            index = coins.below(len(self.candidates))
            train, held = self._deal()
            fitted = self._fit(index, self.plan.fits[index], train)
            score = np.array([self._correct(fitted, held, self.rows.truth(held))])
            if self.plan.rho is not None:
                score = self.sampler.gaussian(score, 1 / (2 * self.plan.rho))
            elif self.plan.choice is not None:
                score = self.sampler.laplace(score, 1 / self.plan.choice)
            return int(score[0]), (index, fitted)

        best, _ = best_of_random_runs(run, self.plan.eta, self.plan.gamma, coins=coins)
        return best


def _certificate(plan: SearchPlan, schema: Schema, sampler: Sampler, own: Certificate) -> Certificate:
    # What the chosen fit assumes stands for all: which others ran is not for anyone to know.
    empty = [EMPTY] if plan.unexpected == REFUSE else []
    made = certify(
        plan,
        schema=schema,
        sampler=f"{sampler.name}; choices by exact coins",
        simulation=sampler.simulation,
        accounting=plan.accounting,
        rho=plan.rho if plan.method == METHODS[0] else None,
        covers=COVERS,
        assumptions=(*own.assumptions, DEALT, *empty, "what the certificates of the candidates assume"),
    )
    return made.model_copy(update={"included": (*own.included, own.hash)})
