"""What an audit needs of tuning: whole searches on a few rows, and the best of a random number of runs."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.audit import AuditCase, Claim, Pair
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

    def searching(method: str) -> Callable[[float], WholeSearch]:
        return lambda epsilon: WholeSearch(epsilon, method)

    pairs = [Pair(FEW, (*FEW, (0, 1)), "a row against the others")]
    cases = [
        AuditCase(
            name=f"search-{method}",
            claim=Claim(1.0),
            build=searching(method),
            pairs=lambda epsilon: pairs,
            adjacency="add-remove",
            note="the chosen candidate and the parameters of its model",
            samples=1_000,
        )
        for method in ("holdout", "random-stopping")
    ]
    for name, factor, control in (("random-stopping", 2, False), ("control-best-run-charged-once", 1, True)):
        cases.append(
            AuditCase(
                name=name,
                claim=Claim(1.0),
                build=lambda epsilon, factor=factor: BestOutput(epsilon, factor),  # type: ignore[misc]
                pairs=lambda epsilon: [Pair(0, 1, "a row that tilts the odds of two outputs against each other")],
                adjacency="add-remove",
                control=control,
                note="the best of many runs at the cost of one"
                if control
                else "the largest of a random number of runs",
                samples=200_000,
            )
        )
    return cases
