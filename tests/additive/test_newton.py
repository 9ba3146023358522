"""Noisy Newton on released shapes: what a row adds, what neighbours cost by enumeration, and a whole watched fit."""

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest
from scipy.stats import norm

from discreet import Adjacency, Budget, Categorical, Ledger, Numeric, PrivateClassifier, Schema, kinds, sources
from discreet.additive import newton
from discreet.additive.newton import FREE, RATE, Shapes, derivatives, noisy, plan_newton, rates, read_shapes, worst_rate
from discreet.auto.rule import choose
from discreet.estimators.counts import ClassCounts
from discreet.mechanisms.noise import SimulationSampler
from discreet.mechanisms.normal import rounding_distance
from discreet.privacy.calibrate import zcdp_rho
from discreet.privacy.ledger import cost
from tests.recorder import replayed

SCHEMA = Schema([Categorical("a", [0, 1]), Categorical("b", [0, 1, 2])], "y", [0, 1])
ROWS = list(itertools.product([0, 1], [0, 1, 2], [0, 1]))
TABLES = [np.log([[0.7, 0.3], [0.2, 0.8]]), np.log([[0.5, 0.3, 0.2], [0.1, 0.3, 0.6]])]
SHAPES = read_shapes(np.log([0.6, 0.4]), TABLES)
WEIGHTS = [np.zeros(3), np.array([0.4, -0.3, 0.1]), np.array([9.0, 4.0, -2.0]), np.array([-60.0, 80.0, 70.0])]
WEIGHTS += [np.array([0.0, 0.0, 60.0])]  # rows that are opposite but for the constant all pull as far as they can


def held(rows):
    table = np.array(rows, np.int64).reshape(-1, 3)
    return sources.open(table[:, :2], SCHEMA, table[:, 2]).held()


def plan_of(adjacency=Adjacency.ADD_REMOVE, contributions=1):
    people = {"adjacency": adjacency, "contributions": contributions, "unexpected": "refuse"}
    return plan_newton(SCHEMA, Budget(1, 1e-5), **people)


class Handed:
    """A sampler that adds nothing and keeps what it is handed."""

    def __init__(self):
        self.calls = []

    def gaussian(self, values, variance):
        self.calls.append((values.copy(), variance))
        return values


def worst_rho(plan, rows_moved):
    """The most that neighbours cost in one step, over all rows there are, labels and some weights."""
    found = 0.0
    for weights in WEIGHTS:
        alone = {row: derivatives(held([row]), SHAPES, weights) for row in ROWS}
        moves = [alone[row] for row in ROWS]
        if plan.adjacency is Adjacency.REPLACE:
            moves = [[x - z for x, z in zip(alone[one], alone[two], strict=True)] for one in ROWS for two in ROWS]
        for gradient, bend in moves:
            sampler = Handed()
            noisy(gradient * rows_moved, bend * rows_moved, SHAPES.square, plan, sampler)
            found = max(found, sum(float(np.square(v, dtype=float).sum() / (2 * s)) for v, s in sampler.calls))
    return found


@pytest.mark.parametrize("adjacency", list(Adjacency))
@pytest.mark.parametrize("rows", [1, 2])
def test_neighbours_cost_what_a_step_is_charged(monkeypatch, adjacency, rows):
    plan = plan_of(adjacency, rows)
    worst, charged = worst_rho(plan, rows), float(plan.step_rho)
    # Of two rows that come and go the constant's column is the same, and all others may be opposite to each other.
    assert 0.9 * charged < worst <= charged * (1 + 1e-12)
    assert float(cost(plan.entry([SHAPES.square] * newton.STEPS), "rho")) == pytest.approx(float(plan.rho), rel=1e-12)
    assert cost(plan.node, "rho") <= plan.rho
    whole = worst_rate()
    monkeypatch.setattr(newton, "worst_rate", lambda: Fraction(16 * whole, 25))
    assert worst_rho(plan, rows) > 1.2 * charged


def test_second_derivatives_cost_nothing_up_to_the_golden_ratio():
    """For s = |p − y|: s²(1 + c(1 − s)²) ≤ 1 up to c = (11 + 5√5)/2; the table of integers is below that for all."""
    pulls, curvature = rates()
    assert worst_rate() == int(np.max(pulls**2)) <= RATE**2
    assert (11 + 5 * math.sqrt(5)) / 2 > FREE
    assert int(np.max(pulls**2 + 12 * curvature**2)) > worst_rate()
    s = np.linspace(0, 1, 100_001)
    assert np.max(s**2 * (1 + FREE * (1 - s) ** 2)) == 1
    grid = np.arange(-newton.FAR * newton.FINE, newton.FAR * newton.FINE + 1) / newton.FINE
    np.testing.assert_allclose(pulls[0] / RATE, 1 / (1 + np.exp(-grid)), atol=1.01 / RATE)
    np.testing.assert_allclose(curvature / RATE, pulls[0] / RATE * (1 - pulls[0] / RATE), atol=3 / RATE)


def test_a_row_adds_the_same_wherever_it_stands(monkeypatch):
    """Rows in another order, in parts of other sizes, and one by one: the same integers."""
    rng = np.random.default_rng(0)
    rows = [ROWS[i] for i in rng.integers(0, len(ROWS), 50)]
    weights = rng.normal(size=3) * 3
    whole = derivatives(held(rows), SHAPES, weights)
    monkeypatch.setattr(newton, "PART", 7)
    for order in (rows[::-1], [rows[i] for i in rng.permutation(50)]):
        for one, two in zip(whole, derivatives(held(order), SHAPES, weights), strict=True):
            assert np.array_equal(one, two)
    alone = [derivatives(held([row]), SHAPES, weights) for row in rows]
    assert np.array_equal(whole[0], sum(one for one, _ in alone))
    assert np.array_equal(whole[1], sum(one for _, one in alone))


def test_columns_are_no_longer_than_what_is_charged():
    """Shapes of any range, flat ones included: the exact square is what no row exceeds."""
    rng = np.random.default_rng(1)
    for sizes in ((2, 3), (5, 1, 9), (2,) * 30):
        tables = [np.log(rng.dirichlet(np.ones(size), 2)) for size in sizes]
        shapes = read_shapes(np.log([0.5, 0.5]), tables)
        largest = math.floor((1 + newton.CONSTANT) * newton.UNIT**2)
        longest = sum(int(np.abs(column).max()) ** 2 for column in shapes.columns)
        assert longest == shapes.square <= largest
    assert isinstance(SHAPES, Shapes)


# ---- a whole fit

FULL = Schema([Categorical("a", [0, 1]), Categorical("b", [0, 1, 2]), Numeric("x", 0, 8, step=0.5)], "y", ["n", "p"])


def table():
    rng = np.random.default_rng(0)
    X = np.column_stack([rng.integers(0, 2, 80), rng.integers(0, 3, 80), rng.integers(0, 17, 80) / 2])
    y = np.where(rng.random(80) < (X[:, 0] + X[:, 1]) / 3, "p", "n")
    X[:2], y[:2] = (0, 0, 0.0), "n"
    return X, y


@pytest.mark.parametrize(("adjacency", "moved"), [("add-remove", 1), ("add-remove", 2), ("replace", 1)])
def test_a_fit_costs_what_its_certificate_says(monkeypatch, adjacency, moved):
    monkeypatch.setattr(kinds, "SHAPES_LEAN", 0.0)
    monkeypatch.setattr(kinds, "SHAPES_FEW", 1)
    monkeypatch.setattr(kinds, "BINARY", math.inf)
    X, y = table()
    other, inserted = (X.copy(), y.copy()), ()
    if adjacency == "replace":
        other[0][0], other[1][0] = (1, 2, 8.0), "p"
    else:
        inserted = tuple(range(moved))
        other = np.concatenate([[(1, 2, 8.0)] * moved, X]), np.concatenate([["p"] * moved, y])
    made = []

    def fit(data):
        ledger = Ledger(Budget(2, 1e-5), composition="basic")
        estimator = PrivateClassifier(2, FULL, "additive", adjacency=adjacency, contributions=moved, delta=1e-5).fit(
            *data, ledger=ledger
        )
        made.append(estimator.certificate_)
        return estimator.model_.to_dict()

    tape = replayed(monkeypatch, fit, (X, y), other, inserted=inserted)
    charges = [charge for charge in made[0].charges() if charge.measure == "rho"]
    rho = float(sum(Fraction(charge.cost) for charge in charges))
    assert len(charges) == 1 + newton.STEPS
    assert 0.6 * rho * newton.SHAPES < tape.loss("gaussian") <= rho * (1 + 1e-9)
    tables = sum(event.loss for event in tape.of("gaussian")[: -3 * newton.STEPS])
    assert tables <= rho * float(newton.SHAPES) * (1 + 1e-9)
    assert tape.loss("laplace") == pytest.approx(2 * (0.01 + 0.04))  # so few rows are counted again
    assert Fraction(made[0].epsilon) == 2 and Fraction(made[0].delta) == Fraction(1, 10**5)
    # ρ is worth no more than what ε has left of the counts, by the law of one normal variable written out here.
    mu, left = math.sqrt(2 * rho), 2 * 0.95
    spent = norm.cdf(mu / 2 - left / mu) - math.exp(left) * norm.cdf(-mu / 2 - left / mu)
    assert 0.999e-5 < spent <= 1e-5


def test_noise_is_paid_for_as_normal_where_it_all_but_is_and_as_discrete_elsewhere():
    plan = plan_of()
    assert plan.accounting == newton.ACCOUNTING and plan.rho > 1.1 * zcdp_rho(Fraction(1), Fraction(1, 10**5))
    assert plan.distance < 1e-12
    # What is within the distance of normal noise, at ρ, is (ε, δ)-DP with room for the distance on both sides.
    mu = math.sqrt(2 * plan.rho)
    spent = norm.cdf(mu / 2 - 1 / mu) - math.e * norm.cdf(-mu / 2 - 1 / mu)
    assert spent + (1 + math.e) * plan.distance <= 1e-5
    people = {"adjacency": Adjacency.ADD_REMOVE, "contributions": 1, "unexpected": "refuse"}
    far = plan_newton(SCHEMA, Budget(30, 1e-6), **people)  # the distance is paid for e^30 times
    assert far.accounting == newton.CONCENTRATED and far.rho == zcdp_rho(Fraction(30), Fraction(1, 10**6))


@pytest.mark.parametrize("cells", [3, 5000])
def test_the_distance_is_that_of_all_integers_that_are_drawn(monkeypatch, cells):
    """Every call of a fit, its size and its variance: together they are as far from normal noise as the plan says."""
    calls = []

    class Counting(SimulationSampler):
        def gaussian(self, values, variance):
            calls.append((variance, values.size))
            return super().gaussian(values, variance)

    schema = Schema([Categorical("a", [0, 1]), Categorical("b", range(cells))], "y", [0, 1])
    people = {"adjacency": Adjacency.ADD_REMOVE, "contributions": 1, "unexpected": "refuse"}
    plan = plan_newton(schema, Budget(1, 1e-5), **people)
    table = np.array(ROWS * 9, np.int64)
    rows = sources.open(table[:, :2], schema, table[:, 2]).held()
    newton.fit_newton(rows, plan, ClassCounts(np.full(2, 54.0), 2.0, None), Counting(0))
    assert rounding_distance(calls) <= plan.distance
    planned = []
    monkeypatch.setattr(newton, "rounding_distance", lambda draws: planned.extend(draws) or 0.0)
    assert plan.distance == 0.0
    # Tables are what the plan says; derivatives are drawn for columns no shorter than it says.
    tables, steps = calls[: -3 * newton.STEPS], calls[-3 * newton.STEPS :]
    assert rounding_distance(tables) == pytest.approx(rounding_distance(planned[:-2]), rel=1e-9, abs=0)
    assert sum(count for _, count in steps) == sum(count for _, count in planned[-2:])
    assert rounding_distance(planned[-2:]) / 25 < rounding_distance(steps) <= rounding_distance(planned[-2:])


def test_weights_find_what_features_say_together(monkeypatch):
    """Twice the same feature: Naive Bayes counts it twice, weights do not. With plenty of rows noise is small."""
    monkeypatch.setattr(kinds, "SHAPES_LEAN", 0.0)
    monkeypatch.setattr(kinds, "BINARY", math.inf)
    monkeypatch.setattr(kinds, "SHAPES_FEW", 1)
    schema = Schema([Categorical(f"f{i}", [0, 1]) for i in range(9)], "y", [0, 1])
    rng = np.random.default_rng(3)
    X = np.repeat(rng.integers(0, 2, (20_000, 1)), 9, axis=1)
    y = (rng.random(20_000) < np.where(X[:, 0] == 1, 0.7, 0.3)).astype(int)
    fitted = PrivateClassifier(4, schema, "additive", delta=1e-6, random_state=0).fit(X, y)
    assert fitted.predict_proba(X[:1])[0, y[0]] == pytest.approx(0.7 if X[0, 0] == y[0] else 0.3, abs=0.03)
    assert "first and second derivatives" in str(fitted.certificate_.ledger)


def test_shapes_are_for_wide_tables_whose_cells_have_too_little_support_for_weights():
    def choice(features, rows, delta, cells=12):
        made = [Categorical(f"c{i}", range(cells)) for i in range(features)]
        counts = ClassCounts(np.full(2, rows / 2), 2.0, None)
        return choose(Schema(made, "y", [0, 1]), counts, Fraction(1), delta=delta)

    found = choice(36, 6500, Fraction(1, 10**6))
    assert "shape of each feature" in found.reason and found.model == "additive"
    assert found.facts["support"] < kinds.BINARY and found.facts["clear"] > kinds.SHAPES_LEAN
    assert choice(36, 6500, 0).facts.get("clear") is None
    others = (choice(36, 6500, 0), choice(36, 50_000, 1e-6), choice(36, 3000, 1e-6), choice(20, 6500, 1e-6))
    assert all("shape" not in one.reason for one in others)
    assert [one.model for one in others] == ["naive-bayes", "additive", "naive-bayes", "additive"]
    # Weights of few cells have support early, but more noise than one weight for each shape until cells are clear.
    small, large = choice(36, 2500, Fraction(1, 10**6), cells=2), choice(36, 8000, Fraction(1, 10**6), cells=2)
    assert small.facts["support"] > kinds.BINARY and small.facts["clear"] < kinds.SHAPES_RICH < large.facts["clear"]
    assert "shape of each feature" in small.reason and "shape" not in large.reason


def test_flat_shapes_keep_room_of_their_own():
    """A feature that says nothing by itself may say something beside others: it gets less noise than none at all."""
    shapes = read_shapes(np.log([0.5, 0.5]), [np.log([[0.9, 0.1], [0.1, 0.9]]), np.log([[0.5, 0.5], [0.49, 0.51]])])
    assert shapes.doubts[1] == pytest.approx(math.sqrt(newton.UNSEEN / 2), rel=0.01)
    assert shapes.doubts[0] > newton.DOUBT * shapes.reaches[0]
    assert np.square(shapes.widths).sum() == pytest.approx(1 + newton.CONSTANT)
    assert shapes.widths[1] / shapes.widths[0] == pytest.approx(math.sqrt(shapes.doubts[1] / shapes.doubts[0]))


@pytest.mark.parametrize("scale", [1.0, 1e9])
def test_a_row_adds_the_same_beside_others_however_large_the_weights_are(scale):
    weights = np.array([1.0, -0.7, 0.9]) * scale
    together = derivatives(held(ROWS * 3), SHAPES, weights)
    alone = [derivatives(held([row]), SHAPES, weights) for row in ROWS]
    for part in range(2):
        np.testing.assert_array_equal(together[part], 3 * sum(one[part] for one in alone))


def test_sums_of_one_part_are_exact_in_doubles_and_do_not_wrap_beyond():
    assert newton.PART * newton.UNIT**2 * RATE // 4 <= 2**53


def test_sums_stay_at_their_end(monkeypatch):
    """Where 64 bits do not suffice, one row more still moves a sum by no more than it adds."""
    monkeypatch.setattr(newton, "saturated_add", lambda left, right: (calls.append(1), left + right)[1])
    calls = []
    derivatives(held(ROWS), SHAPES, np.zeros(3))
    assert len(calls) == 2  # the gradient and the second derivatives of the one part there is
