"""What an audit needs of evaluations: noisy counts of a few rows, whole hold-outs, and deals that are broken."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cache, partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.audit import AuditCase, Pair, case_at_one
from discreet.bayes import NaiveBayesModel, PrivateNB
from discreet.domain import exact
from discreet.evaluation.holdout import PrivateHoldout
from discreet.evaluation.plan import make_evaluation_plan
from discreet.evaluation.release import add_noise, count_rows
from discreet.mechanisms.deal import RowCoins
from discreet.mechanisms.noise import SimulationSampler, discrete_laplace
from discreet.privacy.budget import Adjacency, Budget
from discreet.schema import Categorical, Schema

Row = tuple[int, int]
SCHEMA = Schema([Categorical("a", [0, 1])], "y", [0, 1])
FEW: tuple[Row, ...] = ((0, 0), (1, 1)) * 12  # enough that training rows are always dealt
SHARE = Fraction(1, 5)
ALL = Fraction(9, 10)  # nearly all for prediction sets, so that the rest tells little


@cache
def _model() -> NaiveBayesModel:
    X, y = _columns(((0, 0),) * 3 + ((1, 1),) * 3 + ((0, 1), (1, 0)))
    model: NaiveBayesModel = PrivateNB(math.inf, schema=SCHEMA).fit(X, y).model_
    return model


def _columns(rows: Sequence[Row]) -> tuple[NDArray[Any], NDArray[Any]]:
    return np.array([[a] for a, _ in rows]).reshape(-1, 1), np.array([label for _, label in rows])


@dataclass(frozen=True)
class Counted:
    """Noisy tables of a private evaluation; `factor` shortens the noise, `sets` is the part of prediction sets."""

    epsilon: float
    adjacency: str = "add-remove"
    factor: Fraction = Fraction(1)
    sets: Fraction = Fraction(0)

    def sample(self, data: Sequence[Row], size: int, *, rng: np.random.Generator) -> NDArray[Any]:
        """One release per row of the result."""
        budget = Budget(exact(self.epsilon) / self.factor)
        plan = make_evaluation_plan(_model(), budget, adjacency=Adjacency.of(self.adjacency), sets=self.sets)
        tables, sampler = count_rows(_model(), plan, *_columns(data)), SimulationSampler(rng)
        drawn = (add_noise(tables, plan, sampler) for _ in range(size))
        return np.array([np.concatenate([one.counts.ravel() for one in every]) for every in drawn])


@dataclass(frozen=True)
class WholeHoldout:
    """A fit with a hold-out: the model's parameters and what was counted on the rows held out."""

    epsilon: float

    def __call__(self, data: Sequence[Row]) -> Any:
        """Fit once with exact noise and return what is published."""
        fitted = PrivateHoldout(PrivateNB(self.epsilon, schema=SCHEMA), share=0.4).fit(*_columns(data))
        told = [cell.value for line in fitted.evaluation_.confusion for cell in line]
        scores = fitted.model_.predict_joint_log_proba(np.array([[0], [1]]))
        return [fitted.model_.log_prior, scores, told]


@dataclass(frozen=True)
class DealtCounts:
    """Rows of each class on either side of a deal, each side with noise for all of ε.

    Faults: `position` deals every other row by where it stands; `again` counts the training rows among the others too.
    """

    epsilon: float
    fault: str = ""

    def sample(self, data: Sequence[int], size: int, *, rng: np.random.Generator) -> NDArray[Any]:
        """Noisy counts of both sides, training first."""
        rows, sampler = np.array(data, np.int64), SimulationSampler(rng)
        found = np.empty((size, 4), np.int64)
        coins = RowCoins(SHARE, sampler).held(0, size * len(rows)).reshape(size, len(rows))
        if self.fault == "position":
            coins = np.broadcast_to(np.arange(len(rows)) % 2 == 1, (size, len(rows)))
        for k in (0, 1):
            found[:, k] = (~coins & (rows == k)).sum(axis=1)
            found[:, 2 + k] = (((self.fault == "again") | coins) & (rows == k)).sum(axis=1)
        return found + discrete_laplace(4 * size, 1 / self.epsilon, rng=rng).reshape(size, 4)


def audit_cases() -> list[AuditCase]:
    """The counts under both adjacencies, hold-outs, and controls with short noise or a deal that is none."""

    base: tuple[Row, ...] = ((0, 0), (1, 1))
    added, changed = Pair(base, (*base, (0, 1)), "a row more"), Pair(base, ((0, 0), (0, 0)), "a row changes its label")
    against, every_other = Pair(FEW, (*FEW, (0, 1)), "a row against the others"), (0, 1) * 8
    front, more = Pair(every_other, (1, *every_other), "a row more in front"), Pair((0,), (0, 0), "a row more")
    listed: list[tuple[str, Callable[[float], Any], str, Pair, str, int]] = [
        ("private-evaluation-add-remove", Counted, "add-remove", added,
         "rows by true class and score bin", 20_000),
        ("private-evaluation-replace", partial(Counted, adjacency="replace"), "replace", changed,
         "rows by true class and score bin", 20_000),
        ("control-evaluation-half-noise", partial(Counted, factor=Fraction(1, 2)), "add-remove", added,
         "counts with half the noise", 20_000),
        ("prediction-sets", partial(Counted, sets=ALL), "add-remove", added,
         "rows by the lead of their class, and how many there are", 20_000),
        ("control-prediction-sets-half-noise", partial(Counted, sets=ALL, factor=Fraction(1, 2)), "add-remove", added,
         "counts for prediction sets with half the noise", 20_000),
        ("holdout", WholeHoldout, "add-remove", against,
         "a model and the counts of the rows held out", 1_000),
        ("holdout-counts", DealtCounts, "add-remove", more,
         "noisy counts of both sides of a deal", 40_000),
        ("control-holdout-by-position", partial(DealtCounts, fault="position"), "add-remove", front,
         "rows dealt by where they stand", 5_000),
        ("control-holdout-tests-training-rows", partial(DealtCounts, fault="again"), "add-remove", more,
         "training rows among those tested, each side at full epsilon", 80_000),
    ]  # fmt: skip
    return [
        case_at_one(name, build, [pair], note, adjacency=adjacency, samples=samples)
        for name, build, adjacency, pair, note, samples in listed
    ]
