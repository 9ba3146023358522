"""What an audit needs of tuning: whole searches on a few rows, and the best of a random number of runs."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.audit import AuditCase, Pair, case_at_one
from discreet.domain import exact
from discreet.mechanisms.stopping import runs_law
from discreet.privacy.calibrate import zcdp_rho
from discreet.privacy.repeated import repeated_rho
from discreet.schema import Categorical, Schema
from discreet.trees import PrivateTreeClassifier
from discreet.tuning.search import PrivateGridSearch

SCHEMA = Schema([Categorical("a", [0, 1])], "y", [0, 1])
DELTA, GAMMA = Fraction(1, 100), Fraction(1, 100)
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


@dataclass(frozen=True)
class BestNoisyCount:
    """The largest of a random number of noisy counts, each of which costs the ρ that the best of them allows.

    `once` gives each of them all that one release may cost.
    """

    epsilon: float
    once: bool = False

    def sample(self, data: int, size: int, *, rng: np.random.Generator) -> NDArray[Any]:
        """Largest counts by the laws of the number of runs and of one count: the best of k is not above y at F(y)^k."""
        epsilon = exact(self.epsilon)
        rho = zcdp_rho(epsilon, DELTA) if self.once else repeated_rho(epsilon, DELTA, Fraction(1), GAMMA)
        variance = 1 / (2 * float(rho))
        reach = np.arange(-math.ceil(12 * math.sqrt(variance)), math.ceil(12 * math.sqrt(variance)) + 1)
        below = np.cumsum(np.exp(-np.square(reach) / (2 * variance)))
        runs = rng.geometric(float(GAMMA), size)  # η = 1
        spot = np.searchsorted(below / below[-1], rng.random(size) ** (1 / runs))
        return np.asarray(reach[np.minimum(spot, len(reach) - 1)] + data)[:, None]


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
    once, counted = partial(BestOutput, factor=1), [Pair(0, 1, "one more correct answer")]
    best = "the largest of a random number of counts with Gaussian noise"
    return [
        *searches,
        case_at_one("random-stopping", BestOutput, tilted, note, samples=200_000),
        case_at_one("control-best-run-charged-once", once, tilted, broken, samples=200_000),
        case_at_one("random-stopping-gaussian", BestNoisyCount, counted, best, samples=200_000, delta=float(DELTA)),
        case_at_one(
            "control-best-gaussian-run-charged-once",
            partial(BestNoisyCount, once=True),
            counted,
            broken,
            samples=200_000,
            delta=float(DELTA),
        ),
    ]
