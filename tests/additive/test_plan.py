"""Plans: what the last step adds is small beside the noise of the objective and what sampling does to weights."""

import itertools
import math
from fractions import Fraction

import numpy as np
import pandas as pd
import pytest

from discreet import BudgetError, Categorical, Numeric, PrivateAdditiveClassifier, Schema
from discreet.additive import plan as planning
from discreet.additive.blocks import place_knots
from discreet.additive.bound import widest
from discreet.additive.kernels import compiled
from discreet.additive.plan import CURVATURE, _cell_noise, plan_fit
from discreet.estimators.counts import ClassCounts


def planned(features, classes, epsilon, rows):
    schema = Schema([Numeric(f"x{j}", 0, 1) for j in range(features)], "y", list(range(classes)))
    counts = ClassCounts(np.full(classes, rows / classes), 1.0, None)
    return plan_fit(place_knots(schema, 6), Fraction(str(epsilon)), counts)


def deviations(plan, rows):
    """What the objective's noise and what sampling the rows does to a weight, by the plan's own curvature."""
    sizes = np.array(plan.blocks.sizes)
    noise = _cell_noise(plan.blocks, [b.places for b in plan.bundles], [float(b.rate) for b in plan.bundles])
    bend = CURVATURE * rows * (1 - 1 / plan.classes) / plan.classes / sizes
    whole = bend + np.array(plan.strengths)
    return float(np.sqrt(noise / whole**2).min()), float(np.sqrt(bend / whole**2).min())


@pytest.mark.parametrize(("features", "classes"), list(itertools.product((10, 40), (2, 3))))
@pytest.mark.parametrize("epsilon", [0.1, 1, 4])
def test_the_final_noise_is_small_for_any_number_of_rows(features, classes, epsilon):
    for rows in (1e4, 1e5, 1e6, 1e7, 1e8):
        plan = planned(features, classes, epsilon, rows)
        noise, sampling = deviations(plan, rows)
        assert sum(plan.epsilons) == Fraction(str(epsilon))
        assert plan.final_deviation <= (0.1 * noise if rows <= 1e6 else math.hypot(noise, sampling))
        assert plan.final_deviation <= 0.002


def test_the_whole_rate_is_within_reach():
    """For two classes scores may spread as far as the rate at no cost, so there is room beside the whole of it."""
    for epsilon in (1e-6, 0.1, 1.0, 10.0):
        assert widest(epsilon * (1 - 1e-8), epsilon, 2, 1) == pytest.approx(epsilon, rel=1e-3)
    plan = planned(40, 2, 0.1, 1e4)
    assert float(plan.rate) == pytest.approx(float(plan.epsilons[0]), rel=1e-7)


def test_the_constant_is_held_where_its_noise_is_large():
    weak, strong = planned(40, 2, 0.1, 2000), planned(40, 2, 4, 1e5)
    assert weak.constant > 1000 > 10 > strong.constant >= 1


def test_scores_are_good_to_their_last_digit():
    """Terms that cancel: plain sums lose most digits, these do not."""
    rng = np.random.default_rng(0)
    codes = np.tile(np.arange(40, dtype=np.uint16), (50, 1))
    values = rng.integers(0, 4097, (50, 41)).astype(np.int16)
    weights = rng.normal(size=(41, 2)) * 10.0 ** rng.uniform(-6, 6, (41, 1))
    out, plain = np.empty((50, 2)), np.empty((50, 2))
    for i in range(50):  # the last term takes the others back, but for some digits
        values[i, 40] = 4096
    weights[40] = -np.sum(weights[:40] * values[0, :40, None], axis=0) / 4096
    compiled().exact_scores(codes, values, weights, out)
    compiled().scores(codes, values, weights, plain)
    worse = 0
    for i, k in itertools.product(range(50), range(2)):
        terms = [Fraction(float(weights[c, k])) * int(values[i, c]) for c in range(41)]
        exact, size = sum(terms), sum(map(abs, terms))
        allowed = (abs(exact) + 41 * size / 2**25) / 2**53
        assert abs(Fraction(float(out[i, k])) - exact) <= allowed
        worse += abs(Fraction(float(plain[i, k])) - exact) > allowed
    assert worse >= 2


def test_a_tiny_budget_is_not_refused():
    rng = np.random.default_rng(0)
    schema = Schema(
        [Numeric("x", 0, 1), Numeric("z", 0, 1), *(Categorical(f"c{j}", [0, 1, 2, 3]) for j in range(4))], "y", [0, 1]
    )
    rows = [[*rng.random(2), *rng.integers(0, 4, 4)] for _ in range(200)]
    labels = rng.integers(0, 2, 200)
    frame = pd.DataFrame(rows, columns=schema.names).astype({f"c{j}": int for j in range(4)})
    for seed in range(12):
        PrivateAdditiveClassifier(1e-6, schema, pairs=5, random_state=seed).fit(frame, labels)


@pytest.mark.parametrize("classes", [2, 3])
def test_a_plan_that_costs_more_than_it_may_is_refused(classes, monkeypatch):
    """The last word before anything is drawn: scores that may spread half as far again cost more than ε."""
    assert planned(4, classes, 1, 1e4).private
    monkeypatch.setattr(planning, "widest", lambda *settings: 1.5 * widest(*settings))
    with pytest.raises(BudgetError, match="too small"):
        planned(4, classes, 1, 1e4)
