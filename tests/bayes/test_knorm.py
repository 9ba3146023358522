"""K-norm releases of Naive Bayes: the cost by enumerating neighbours, one draw per class and bundle, and refusals."""

from __future__ import annotations

import itertools
import math
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from discreet import Budget, BudgetError, Categorical, Ledger, Numeric, PrivateNB, Schema, collect
from discreet.auto import PrivateClassifier
from discreet.bayes.bundling import bundle_tables, cell_square
from discreet.bayes.plan import make_plan
from discreet.bayes.release import exact_bundles, release
from discreet.dependence import PrivateJointHistogram
from discreet.federated.shares import share_plan
from discreet.mechanisms.knorm import KNorm
from discreet.mechanisms.noise import SimulationSampler
from discreet.privacy.budget import Adjacency
from discreet.privacy.ledger import cost

SCHEMA = Schema([Categorical("a", ["p", "q"]), Categorical("b", [1, 2, 3])], target="y", classes=[0, 1])
ROWS = list(itertools.product(["p", "q"], [1, 2, 3], [0, 1]))


def plan_of(epsilon: Any = 1, **settings: Any) -> Any:
    return make_plan(SCHEMA, Budget(epsilon), mechanism="knorm", **settings)


def bundles(rows: list[tuple[Any, ...]], plan: Any) -> list[dict[Any, Any]]:
    table = np.array(rows, object).reshape(-1, 3)
    return exact_bundles(collect(table[:, :2], SCHEMA, table[:, 2]), plan)


def log_ratio(one: list[tuple[Any, ...]], other: list[tuple[Any, ...]], plan: Any) -> Fraction:
    """The largest log-ratio of the two release laws: rate times norm of the difference, over classes and bundles."""
    total = Fraction(0)
    for left, right in zip(bundles(one, plan), bundles(other, plan), strict=True):
        for which in {item.bundle for item in plan.items}:
            inside = [item for item in plan.items if item.bundle == which]
            gap = [left[item.key] - right[item.key] for item in inside]
            assert len({int(block.sum()) for block in gap}) == 1  # outputs possible for one side only would break it
            total += max(int(np.abs(block).sum()) for block in gap) / inside[0].charge.spread
    return total


@pytest.mark.parametrize("adjacency", list(Adjacency))
def test_neighbours_cost_epsilon_and_never_more(adjacency: Adjacency) -> None:
    plan, base = plan_of("0.7", adjacency=adjacency), ROWS[:3]
    if adjacency is Adjacency.ADD_REMOVE:
        pairs = [(base, [*base, row]) for row in ROWS]
    else:
        pairs = [([*base, one], [*base, other]) for one in ROWS for other in ROWS]
    assert max(log_ratio(*pair, plan) for pair in pairs) == Fraction(7, 10)
    assert cost(plan.node, "epsilon") == Fraction(7, 10)


def test_the_plan_spends_the_budget_over_bundles_of_similar_tables() -> None:
    schema = Schema(
        [Categorical(f"b{i}", [0, 1]) for i in range(9)] + [Categorical("big", list(range(60)))],
        target="y",
        classes=[0, 1],
    )
    plan = make_plan(schema, Budget(1), mechanism="knorm")
    assert len({item.bundle for item in plan.items}) == 2
    assert len(plan.node.parts) == 2
    assert cost(plan.node, "epsilon") == 1
    assert sum(item.share for item in plan.items) == 1
    laplace = make_plan(schema, Budget(1), mechanism="laplace")
    worst = max(item.variance for item in plan.items)
    assert worst < max(item.variance for item in laplace.items)


def test_each_class_and_bundle_is_one_draw_at_the_charged_rate(monkeypatch: pytest.MonkeyPatch) -> None:
    calls = []
    real = KNorm.draw

    def spy(self: KNorm, rate: Fraction, coins: Any = None) -> Any:
        calls.append((self.sizes, rate))
        return real(self, rate, coins)

    monkeypatch.setattr(KNorm, "draw", spy)
    plan = plan_of(1, contributions=2)
    table = np.array(ROWS, object)
    release(collect(table[:, :2], SCHEMA, table[:, 2]), plan, SimulationSampler(1))
    expected = []
    for which in sorted({item.bundle for item in plan.items}):
        inside = [item for item in plan.items if item.bundle == which]
        expected.append((tuple(item.cells for item in inside), 1 / inside[0].charge.spread))
    assert sorted(calls) == sorted(expected * 2)
    assert sum((rate for _, rate in calls[: len(expected)]), Fraction(0)) == Fraction(1, 2)


def test_an_estimator_fits_predicts_and_certifies() -> None:
    rng = np.random.default_rng(0)
    y = rng.integers(0, 2, 4000)
    X = np.column_stack([np.where(rng.random(4000) < 0.85, y, 1 - y) for _ in range(12)])
    schema = Schema([Categorical(f"f{i}", [0, 1]) for i in range(12)], target="y", classes=[0, 1])
    ledger = Ledger(Budget(1))
    fitted = PrivateNB(0.5, schema=schema, mechanism="knorm").fit(X, y, ledger=ledger)
    assert fitted.score(X, y) > 0.95
    assert ledger.spent == Fraction(1, 2)
    certificate = fitted.certificate_
    assert (certificate.epsilon, certificate.simulation, certificate.private) == ("1/2", False, True)
    assert [charge.mechanism for charge in certificate.charges()] == ["K-norm"]
    exact = PrivateNB(math.inf, schema=schema, mechanism="knorm").fit(X, y)
    assert np.array_equal(exact.predict(X), PrivateNB(math.inf, schema=schema).fit(X, y).predict(X))


def test_batches_add_up_and_numbers_keep_their_own_noise() -> None:
    schema = Schema([Categorical("a", ["p", "q"]), Numeric("x", 0, 1), Categorical("b", ["p", "q"])], "y", [0, 1])
    rows = np.array([["p", 0.2, "p"], ["q", 0.9, "p"]] * 200, object)
    fitted = PrivateNB(1.0, schema=schema, mechanism="knorm", numeric="gaussian", random_state=1)
    fitted.partial_fit(rows, [0, 1] * 200).partial_fit(rows, [0, 1] * 200)
    charges = {charge.mechanism for charge in fitted.certificate_.charges()}
    assert charges == {"K-norm", "discrete Laplace"}
    table = next(item for item in fitted.release_.plan.items if item.kind == "table")
    assert fitted.release_.variance(table) == 2 * table.variance
    assert fitted.release_.total_variance(table) == 2 * table.total_variance


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"budget": Budget(rho=1)}, "pure epsilon"),
        ({"split": {"a": 0.5, "b": 0.5}}, "together"),
    ],
)
def test_what_does_not_go_together_is_said(settings: dict[str, Any], words: str) -> None:
    with pytest.raises(BudgetError, match=words):
        make_plan(SCHEMA, settings.pop("budget", Budget(1)), mechanism="knorm", **settings)


def test_no_shares_of_it() -> None:
    with pytest.raises(BudgetError, match="cannot be shared"):
        share_plan(plan_of(), 3)


def test_bundling_is_a_partition_and_its_guess_of_noise_is_close() -> None:
    sizes = [2, 16, 2, 16, 42, 2, 5, 9, 16]
    found = bundle_tables(sizes)
    assert sorted(itertools.chain(*found)) == list(range(len(sizes)))
    for size in (2, 5, 16):
        cells, total = KNorm([size] * 6).moments(Fraction(1, 10))
        exact = (cells[size] - total / size**2) / 100  # the guess is about cells beside their share of the sum
        dim = 1 + 6 * (size - 1)
        assert cell_square(size) * (dim + 1) * (dim + 2) == pytest.approx(exact, rel=0.35)


@pytest.mark.parametrize("features", [1, 2, 5])
@pytest.mark.parametrize("kind", ["category", "bin"])
def test_features_of_one_cell_tell_the_classes(features: int, kind: str) -> None:
    """3,000 rows against 1,000, noise of scale 6 at most: off by 0.05 (150 rows) has a chance below 1e-9."""
    names = "abcde"[:features]
    one = [Categorical(name, [0]) if kind == "category" else Numeric(name, 0, 1, bins=1) for name in names]
    schema = Schema(one, "y", [0, 1])
    X, y = np.zeros((4_000, features)), np.repeat([0, 1, 1, 1], 1_000)
    for estimator in (PrivateNB, PrivateJointHistogram, PrivateClassifier):
        fitted = estimator(1, schema=schema).fit(X, y)
        assert fitted.certificate_.epsilon == "1"
        assert fitted.predict_proba(X[:1])[0, 1] == pytest.approx(0.75, abs=0.05)


def test_a_table_of_one_cell_beside_moments_gets_a_share() -> None:
    schema = Schema([Categorical("a", [0]), Numeric("b", 0, 1)], "y", [0, 1])
    plan = make_plan(schema, Budget(1), mechanism="knorm", numeric="gaussian")
    assert [item.share > 0 for item in plan.items if item.kind == "table"] == [True]
