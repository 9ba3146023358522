"""What an additive model hands to samplers in a real fit: noisy counts first, a tilted objective, a covered answer."""

from fractions import Fraction

import numpy as np
import pytest

from discreet import Budget, Categorical, Ledger, PrivateAdditiveClassifier, Schema
from discreet.additive import release
from tests.recorder import recorded

SCHEMA = Schema([Categorical("c", [0, 1, 2]), Categorical("d", [0, 1])], "y", ["n", "p"])


def fitted(monkeypatch, adjacency, contributions):
    rng = np.random.default_rng(0)
    X, y = np.column_stack([rng.integers(0, 3, 200), rng.integers(0, 2, 200)]), rng.choice(["n", "p"], 200)
    estimator = PrivateAdditiveClassifier(1, SCHEMA, adjacency=adjacency, contributions=contributions, pairs=0)
    plans, ledger = [], Ledger(Budget(1))
    draw = release.draw_tilt
    with monkeypatch.context() as patch:
        patch.setattr(release, "draw_tilt", lambda plan, bits: plans.append(plan) or draw(plan, bits))
        tape, _ = recorded(monkeypatch, lambda: estimator.fit(X, y, ledger=ledger))
    assert ledger.spent == 1 == sum(Fraction(charge.cost) for charge in estimator.certificate_.charges())
    return tape, plans, estimator


@pytest.mark.parametrize(("adjacency", "contributions"), [("add-remove", 1), ("add-remove", 3), ("replace", 1)])
def test_counts_tilt_and_last_step(monkeypatch, adjacency, contributions):
    moved, share = 1 + (adjacency == "replace"), 0.96 / contributions
    tape, (plan,), estimator = fitted(monkeypatch, adjacency, contributions)
    counts, last = tape.of("laplace")
    assert counts.public == (Fraction(25 * moved * contributions), (2,))
    # The residual of a row of two classes is at most one, and moves `moved` times.
    assert float(plan.rate) * moved < share < float(plan.rate) * moved * 1.2 + float(plan.epsilons[1])
    assert float(sum(plan.epsilons)) == pytest.approx(share)
    assert last.public[0] == Fraction(plan.steps) / plan.epsilons[1]
    weights = np.ldexp(last.outcome.astype(float), -plan.lattice)
    assert np.array_equal(np.sort(np.ravel(estimator.model_.weights)), np.sort(np.ravel(weights)))


def test_the_tilt_reaches_the_answer(monkeypatch):
    """With the same rows and the same noisy counts two answers differ, by the noise vectors alone."""
    one, two = (fitted(monkeypatch, "add-remove", 1)[0].of("laplace") for _ in range(2))
    assert np.array_equal(one[0].outcome, two[0].outcome)
    assert not np.array_equal(one[1].given, two[1].given)
