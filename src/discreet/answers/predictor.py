"""PrivatePredictor: a bounded number of labels, each chosen privately, instead of a model that is released."""

from __future__ import annotations

import os
import threading
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from discreet.answers.plan import AnswerPlan, make_answer_plan
from discreet.answers.votes import Ballot, FittedVoters, Voters
from discreet.errors import BudgetError, QueryError
from discreet.estimators.base import SchemaEstimator
from discreet.mechanisms.choose import choose, coins_of
from discreet.mechanisms.deal import deal
from discreet.mechanisms.noise import Sampler
from discreet.privacy.certificate import Certificate
from discreet.privacy.certifier import certify
from discreet.privacy.ledger import Sequential
from discreet.schema import Schema
from discreet.sources import Source, encode_rows, read_rows

COVERS = "the labels that are answered, all of them together, and everything computed from them"
DEALT = "every row is dealt to one part by a random draw of its own, whatever the rows say"
APART = (
    "the voter draws from its random_state parameters and the global generators of NumPy and Python alone, which begin "
    "anew for each part, and keeps no other state from one part to the next"
)
KEPT = "the fitted predictor itself holds exact statistics of the rows: it stays with the curator and is never released"


class PrivatePredictor(SchemaEstimator):
    """Answer label queries with differential privacy where no model is to be released.

    Rows are dealt to many parts, a Naive Bayes model is fitted on each, and the parts vote. A label is chosen by the
    votes with permute-and-flip (pure ε) or the exponential mechanism (if there is a delta). A row is in one part and
    moves one vote, so few answers need little noise; every answer spends its part of the budget.

    Parameters
    ----------
    epsilon : float, default 1.0
        The budget of all answers together; `math.inf` gives the non-private baseline.
    delta : float, default 0.0
        Above zero, answers are accounted by the worst losses of all of them where that makes each surer.
    schema : Schema or "infer"
        What is public about the data.
    queries : int, default 100
        The most labels that are answered. A row that was asked about before, as the schema's cells see it, is free.
    parts : int or "auto"
        How many parts vote; "auto" follows from the cost of an answer and a noisy number of rows, which takes a
        fiftieth of epsilon (none under "replace"). At most 20,000, and fewer where their tables would take more than
        256 MiB.
    voter : classifier, optional
        What each part fits instead of Naive Bayes: any scikit-learn classifier, on one column per category and one with
        the bin of each number. It needs no privacy of its own: a row moves one vote, if parts share nothing. So each
        part gets seeds of its own, in place of any `random_state` that the voter has.
    {adjacency, contributions, random_state, unexpected}

    Attributes
    ----------
    remaining_ : answers that are left
    ledger_ : what was spent so far: the number of rows, and the answers given
    parts_ : how many parts vote
    certificate_ : Certificate of all answers together
    {classes_}
    """

    _spends_delta = True

    def __init__(
        self, epsilon: float = 1.0, delta: float = 0.0, schema: Schema | str | None = None, queries: int = 100,
        parts: int | str = "auto", voter: Any = None, adjacency: str = "add-remove", contributions: int = 1,
        random_state: Any = None, unexpected: str = "refuse",
    ) -> None:  # fmt: skip
        self._configure(locals())

    def _plan(self, schema: Schema, *_: Any) -> AnswerPlan:
        if self.voter is not None and not (hasattr(self.voter, "fit") and hasattr(self.voter, "get_params")):
            raise BudgetError(f"voter must be a scikit-learn classifier or None, not {self.voter!r}")
        return make_answer_plan(
            schema, self._budget(), **self._people(), queries=self.queries, parts=self.parts, tables=self.voter is None
        )

    def _release(self, source: Source, plan: AnswerPlan, sampler: Sampler, *_: Any) -> Certificate:
        held = source.held()
        cells, labels = held.cells.astype(np.int64), held.labels
        rows = np.array([len(labels)])
        if plan.count is not None:
            rows = sampler.laplace(rows, plan.count.spread)
        self.parts_ = plan.parts_for(int(rows[0]))
        seeds = deal(self.parts_, 1 << 31, sampler)  # before rows are dealt: a row more does not shift them
        where = deal(len(labels), self.parts_, sampler)
        self._voters: Ballot = (
            Voters(plan.schema, cells, labels, where, self.parts_)
            if self.voter is None
            else FittedVoters(plan.schema, cells, labels, where, self.parts_, self.voter, seeds)
        )
        self._answers = Answers(plan, sampler)
        return _certificate(plan, sampler, () if self.voter is None else (APART,))

    def _keep(self, released: Certificate) -> None:
        self.certificate_ = released  # there is no model to release

    @property
    def remaining_(self) -> int:
        """How many answers are left."""
        check_is_fitted(self, "certificate_")
        return self._answers.remaining

    @property
    def ledger_(self) -> Sequential:
        """What was spent so far."""
        check_is_fitted(self, "certificate_")
        return self._answers.node

    def predict(self, X: Any) -> NDArray[Any]:
        """A label for each row; if more new answers are needed than remain, none is given and nothing is lost."""
        check_is_fitted(self, "certificate_")
        self._check_width(X)
        plan = self._answers.plan
        blocks = [encode_rows(rows) for rows in read_rows(X, plan.schema, labelled=False)]
        cells = np.concatenate(blocks) if blocks else np.empty((0, self.n_features_in_), np.int64)
        return np.asarray(plan.schema.class_array()[self._answers.give(cells, self._voters)])

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "certificate_")

    def __getstate__(self) -> Any:
        if hasattr(self, "_voters"):
            raise BudgetError(
                "a fitted PrivatePredictor holds exact statistics of the rows and the count of its answers: it cannot "
                "be copied, pickled or sent to another process"
            )
        return super().__getstate__()


class Answers:
    """The answers given so far; the only way from votes to labels."""

    def __init__(self, plan: AnswerPlan, sampler: Sampler) -> None:
        self.plan = plan
        self._known: dict[bytes, int] = {}
        self._coins = coins_of(sampler)
        self._lock = threading.Lock()
        self._process = os.getpid()

    @property
    def remaining(self) -> int:
        """How many answers are left."""
        return self.plan.queries - len(self._known)

    @property
    def node(self) -> Sequential:
        """The ledger entry of what was answered so far."""
        parts = [] if self.plan.count is None else [self.plan.count]
        if self.plan.answers is not None:
            given = len(self._known)
            paid = self.plan.answers.cost * given / self.plan.queries
            what = f"{given} of {self.plan.queries} labels, each chosen at epsilon {self.plan.each}"
            parts.append(replace(self.plan.answers, what=what, cost=paid))
        return Sequential("answers so far", tuple(parts))

    def give(self, cells: NDArray[np.int64], voters: Ballot) -> NDArray[np.int64]:
        """One class per row. Rows with equal cells have equal votes, so one answer holds for all of them."""
        if os.getpid() != self._process:  # a forked process has a copy of what is left, and would spend it again
            raise QueryError("answers are given by the process that fitted the predictor alone: this is another one")
        keys = [row.tobytes() for row in np.ascontiguousarray(cells, np.int64)]
        with self._lock:
            fresh = {key: i for i, key in enumerate(keys) if key not in self._known}
            if len(fresh) > self.remaining and self.plan.budget.private:
                raise QueryError(
                    f"{len(fresh)} new answers are asked for and {self.remaining} of {self.plan.queries} remain: ask "
                    "about fewer rows; none was answered and none was charged"
                )
            for key, i in fresh.items():
                votes = voters.votes(cells[i : i + 1])[0]
                self._known[key] = choose(votes, self.plan.rate, law=self.plan.law, coins=self._coins)
            return np.array([self._known[key] for key in keys], np.int64)


def _certificate(plan: AnswerPlan, sampler: Sampler, more: tuple[str, ...]) -> Certificate:
    return certify(
        plan,
        sampler=f"{sampler.name}; choices by exact coins",
        simulation=sampler.simulation,
        accounting=plan.accounting,
        rho=plan.rho,
        covers=COVERS,
        kind="these answers are",
        assumptions=(DEALT, *more, KEPT),
    )
