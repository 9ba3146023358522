"""Precise solving: exponentials in whole numbers, minima that doubles cannot certify, and what stands in for none."""

import math
from dataclasses import replace
from fractions import Fraction

import mpmath
import numpy as np
import pytest

from discreet import Categorical, Schema
from discreet.additive import PrivateAdditiveClassifier
from discreet.additive.release import released_weights
from discreet.errors import SolverError
from discreet.linear import PrivateLogisticRegression, precise
from discreet.linear.encode import Design
from discreet.linear.losses import Huber, Logistic
from discreet.linear.release import approximate, problem_weights, settled
from discreet.linear.solve import Objective, minimise, minimise_precisely
from discreet.mechanisms.noise import SimulationSampler
from discreet.mechanisms.vectors import Drawn

SCHEMA = Schema([Categorical("a", ["p", "q"]), Categorical("b", ["r", "s", "t"])], "y", [0, 1])
LOSSES = [Logistic(), Huber(0.05)]


def design(rows=40, valued=False, seed=0):
    rng = np.random.default_rng(seed)
    codes = np.stack([rng.integers(0, 2, rows), 2 + rng.integers(0, 3, rows)], 1).astype(np.uint16)
    values = rng.integers(-4096, 4097, (rows, 3)).astype(np.int32) if valued else None
    return Design(codes, values, rng.integers(0, 2, rows), 6, 3, 0.5)


def objective(loss, valued=False, ridge=0.5, seed=0, size=3.0):
    rows = design(valued=valued, seed=seed)
    tilt = np.random.default_rng(seed + 1).normal(size=6) * size
    return Objective(rows, np.where(rows.labels == 1, 1.0, -1.0), loss, ridge, tilt)


def exact_gradient(one, weights):
    """∇J at weights in units of 2^−200, by mpmath from the definition."""
    with mpmath.workprec(400):
        w = [mpmath.mpf(int(value)) / precise.ONE for value in weights]
        total = [mpmath.mpf(one.ridge) * v + mpmath.mpf(t) for v, t in zip(w, one.tilt.tolist(), strict=True)]
        for i in range(len(one.design)):
            row = [mpmath.mpf(0)] * 6
            spots = [*one.design.codes[i].tolist(), 5]
            for j, spot in enumerate(spots):
                value = 1 if one.design.values is None else int(one.design.values[i, j])
                row[spot] += mpmath.mpf(one.design.unit) * value
            sign = mpmath.mpf(one.signs[i])
            margin = sign * sum(a * b for a, b in zip(row, w, strict=True))
            if isinstance(one.loss, Logistic):
                slope = -1 / (1 + mpmath.e**margin)
            else:
                h = mpmath.mpf(one.loss.h)
                slope = -min(max((1 + h - margin) / (2 * h), 0), 1)
            total = [t + slope * sign * x for t, x in zip(total, row, strict=True)]
        return [value * precise.ONE for value in total]


def test_decay_is_the_exponential_to_200_digits():
    x = precise.wholes(np.array([0.0, 1e-9, 0.3, 1.0, 5.5, 100.0, 138.0, 700.0, 1e6]))
    with mpmath.workprec(600):
        for whole, found in zip(x.tolist(), precise.decay(x).tolist(), strict=True):
            assert abs(found - mpmath.e ** (-mpmath.mpf(whole) / precise.ONE) * precise.ONE) < 2**14


@pytest.mark.parametrize("valued", [False, True])
@pytest.mark.parametrize("loss", LOSSES, ids=["logistic", "huber"])
def test_the_gradient_is_within_its_bound(loss, valued):
    one = objective(loss, valued)
    weights = precise.wholes(np.random.default_rng(5).normal(size=6) * 4)
    found, error = one.precise_gradient(weights)
    gaps = [abs(a - b) for a, b in zip(found.tolist(), exact_gradient(one, weights), strict=True)]
    assert float(mpmath.norm(mpmath.matrix(gaps))) / precise.ONE <= error < 2.0**-150


@pytest.mark.parametrize("valued", [False, True])
@pytest.mark.parametrize("loss", LOSSES, ids=["logistic", "huber"])
def test_a_minimum_that_doubles_cannot_certify(loss, valued):
    one = objective(loss, valued, ridge=1e-3, size=300.0)
    tolerance = 1e-13
    with pytest.raises(SolverError):
        minimise(one, tolerance)
    found = minimise_precisely(one, tolerance, spare=1e-15)
    assert found is not None and found.bound <= tolerance
    # The bound is true: an exact gradient, and strong convexity turns it into a distance.
    gradient = exact_gradient(one, precise.wholes(found.weights))
    better = minimise_precisely(one, tolerance / 100)
    assert better is None or np.linalg.norm(better.weights - found.weights) <= 1.01 * found.bound / one.ridge
    assert float(mpmath.norm(mpmath.matrix(gradient))) / precise.ONE < 1e-9


def test_a_solution_at_twice_the_tolerance_is_not_taken():
    one = objective(Logistic())
    far = minimise(one, 1e-9).weights + 1e-5
    gradient = float(np.linalg.norm(one.gradient(far, one.at(far))))
    weights, bound = precise.refine(one, far, gradient / 2)
    assert bound <= gradient / 2 and not np.array_equal(weights, far)


def test_what_no_digits_can_certify_gives_way_to_zeros():
    """A spare above the tolerance leaves nothing to certify: an error under "refuse", zeros under "absorb"."""
    one = objective(Logistic())
    with pytest.raises(SolverError):
        settled(one, 1e-3, 1.0, "refuse")
    assert not settled(one, 1e-3, 1.0, "absorb").any()
    rows, plans = design(), {}
    for policy in ("refuse", "absorb"):
        plan = PrivateLogisticRegression(1.0, schema=SCHEMA, unexpected=policy).plan()
        plans[policy] = replace(plan, tolerance=Fraction(1, 10**30))
    signs, drawn = np.where(rows.labels == 1, 1.0, -1.0), Drawn(np.ones(6), 1e-12)
    with pytest.raises(SolverError):
        approximate(rows, signs, plans["refuse"], drawn)
    assert not approximate(rows, signs, plans["absorb"], drawn).any()
    output = replace(plans["absorb"], method="output")
    assert np.array_equal(approximate(rows, signs, output, drawn), np.ones(6))  # zeros, and the noise all the same


def test_the_final_noise_is_added_to_what_stands_in():
    plan = replace(
        PrivateLogisticRegression(1.0, schema=SCHEMA, unexpected="absorb").plan(), tolerance=Fraction(1, 10**30)
    )
    rows = design()
    found = [problem_weights(rows, rows.labels == 1, plan, SimulationSampler(seed)) for seed in range(25)]
    spread = math.sqrt(2) * plan.steps / float(plan.epsilons[1]) * 2.0**-plan.lattice
    # 150 draws: a standard deviation off by half has a chance below 1e-6.
    assert 0.5 * spread < np.std(found) < 1.5 * spread


@pytest.mark.parametrize("classes", [2, 3])
def test_additive_models_have_both_too(classes):
    schema = Schema(SCHEMA.features, "y", list(range(classes)))
    rng = np.random.default_rng(0)
    X = np.stack([rng.choice(["p", "q"], 60), rng.choice(["r", "s", "t"], 60)], 1).astype(object)
    y = rng.integers(0, classes, 60)
    from discreet import sources
    from discreet.additive.budget import plan_additive
    from discreet.additive.fit import choose_knots, start_at
    from discreet.additive.plan import plan_fit
    from discreet.additive.solve import Objective as Additive
    from discreet.estimators.counts import ClassCounts
    from discreet.privacy.budget import Budget

    counts = ClassCounts(np.full(classes, 20.0), 1.0, None)
    whole = plan_additive(schema, Budget(1.0), unexpected="absorb")
    blocks = choose_knots(whole, counts)
    plan = replace(plan_fit(blocks, whole.rest, counts), unexpected="absorb")
    held, centre = sources.open(X, schema, y).held(), start_at(blocks, counts)
    tilt = rng.normal(size=centre.shape) * 5
    one = Additive(blocks.design(held), len(blocks.sizes) + 1, plan.chain, centre, tilt)
    doubles = minimise(one, 1e-6)
    found = minimise_precisely(one, 1e-13)
    assert found is not None and found.bound <= 1e-13
    assert np.abs(found.weights - doubles.weights).max() < 1e-6
    weights = precise.wholes(doubles.weights)
    gradient = precise.rounded(one.precise_gradient(weights)[0])
    assert np.abs(gradient - one.gradient(doubles.weights, one.at(doubles.weights))).max() < 1e-12
    impossible = replace(plan, tolerance=1e-40)
    with pytest.raises(SolverError):
        released_weights(one.design, replace(impossible, unexpected="refuse"), centre, SimulationSampler(1))
    stand_in = released_weights(one.design, impossible, centre, SimulationSampler(1))
    assert np.abs(stand_in).max() < 20 * plan.final_deviation + 1e-9


def test_fits_say_nothing_else_than_before():
    X = np.array([["p", "r"], ["q", "s"]] * 20, object)
    for model in (PrivateLogisticRegression, PrivateAdditiveClassifier):
        fits = [
            model(1.0, schema=SCHEMA, unexpected=p, random_state=1).fit(X, [0, 1] * 20) for p in ("refuse", "absorb")
        ]
        assert np.array_equal(fits[0].predict(X), fits[1].predict(X))
        assert np.array_equal(fits[0].model_.weights, fits[1].model_.weights)
