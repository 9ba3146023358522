"""What an audit needs of tuning: whole searches on a few rows, and the best of a random number of runs."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.audit import AuditCase, Pair, case_at_one
from discreet.mechanisms.stopping import runs_law
from discreet.schema import Categorical, Schema
from discreet.trees import PrivateTreeClassifier
from discreet.tuning.search import PrivateGridSearch

SCHEMA = Schema([Categorical("a", [0, 1])], "y", [0, 1])
FEW = ((0, 0), (1, 1)) * 12  # enough that training rows are always dealt


@dataclass(frozen=True)
class WholeSearch:
    """Which of two trees was chosen, and what it says in the end."""

    epsilon: float
    method: str

    def __call__(self, data: Sequence[tuple[int, int]]) -> Any:
        """Search once with exact noise and return what is published."""
        X, y = np.array([[a] for a, _ in data]), np.array([label for _, label in data])
        trees = PrivateTreeClassifier(schema=SCHEMA)
        search = PrivateGridSearch(trees, {"depth": [0, 1]}, epsilon=self.epsilon, method=self.method, refit=0.3)
        model = search.fit(X, y).model_
        return [search.best_index_, model.log_prior, model.predict_joint_log_proba(np.array([[0], [1]]))]


@dataclass(frozen=True)
class BestOutput:
    """The best of a random number of draws from three outputs, each draw at ε/factor; factor two is what it needs.

    On the neighbour the middle output grows rarer while the best one grows more frequent: nothing tells more.
    """

    epsilon: float
    factor: int = 2

    def sample(self, data: int, size: int, *, rng: np.random.Generator) -> NDArray[Any]:
        """Best outputs by the law of the number of runs: the best of k is not above y with probability F(y)^k."""
        tilt = math.exp((0.5 - data) * self.epsilon / self.factor)
        middle, top = 0.01 * tilt, 0.05 / tilt
        law = np.array(runs_law(0.0, 0.01, 3000))
        runs = rng.choice(len(law), size, p=law / law.sum()) + 1
        spot = rng.random(size) ** (1 / runs)
        return np.digitize(spot, [1 - top - middle, 1 - top])[:, None]


def audit_cases() -> list[AuditCase]:
    """Both ways to search, random stopping alone, and a control that charges the best run as a single one."""

    pairs = [Pair(FEW, (*FEW, (0, 1)), "a row against the others")]
    note = "the chosen candidate and the parameters of its model"
    searches = [
        case_at_one(f"search-{method}", partial(WholeSearch, method=method), pairs, note, samples=1_000)
        for method in ("holdout", "random-stopping")
    ]
    tilted = [Pair(0, 1, "a row that tilts the odds of two outputs against each other")]
    note, broken = "the largest of a random number of runs", "the best of many runs at the cost of one"
    once = partial(BestOutput, factor=1)
    return [
        *searches,
        case_at_one("random-stopping", BestOutput, tilted, note, samples=200_000),
        case_at_one("control-best-run-charged-once", once, tilted, broken, samples=200_000),
    ]
