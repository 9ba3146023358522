"""The law of a calibration: its noise, the cost of a row, and density ratios of all neighbours on a grid."""

from __future__ import annotations

import itertools
import math
from fractions import Fraction
from typing import Any

import mpmath
import numpy as np
import pytest
from scipy import stats

from discreet.calibration.calibrate import objective
from discreet.calibration.histogram import fit_histogram, histogram
from discreet.calibration.plan import calibration_share, make_plan, row_cost
from discreet.errors import BudgetError
from discreet.mechanisms.coins import Coins
from discreet.mechanisms.kvectors import slope_vector
from discreet.mechanisms.vectors import SeededBits, SystemBits
from discreet.privacy.budget import Adjacency
from tests.mechanisms.test_kvectors import ExactWords

ALARM = 1e-8  # the false-alarm rate of each sampled check; there are fewer than thirty


def norm(vector: Any) -> float:
    return max(abs(vector[0]), np.abs(vector[1:]).sum() / 2)


# ---- the noise


@pytest.mark.parametrize("bits", [SystemBits(), SeededBits(np.random.default_rng(0))])
def test_for_two_classes_the_noise_is_a_pair_of_laplace_variables(bits: Any) -> None:
    """max(|u|, |x|) is half of |u + x| + |u − x|: both are Laplace variables of twice the scale, independent."""
    drawn = np.array([slope_vector(2, Fraction(1, 3), bits).vector for _ in range(3000)])
    assert np.array_equal(drawn[:, 1], -drawn[:, 2])
    first, second = drawn[:, 0] + drawn[:, 1], drawn[:, 0] - drawn[:, 1]
    for values in (first, second):
        assert stats.kstest(values, stats.laplace(scale=6).cdf).pvalue > ALARM
        assert stats.kstest(np.abs(values), stats.expon(scale=6 * 1.5).cdf).pvalue < ALARM
    assert stats.kstest(np.abs(first) + np.abs(second), stats.gamma(2, scale=6).cdf).pvalue > ALARM


@pytest.mark.parametrize("classes", [3, 5])
def test_the_norm_is_of_a_gamma_law_and_biases_are_alike(classes: int) -> None:
    bits = SeededBits(np.random.default_rng(classes))
    drawn = np.array([slope_vector(classes, Fraction(2), bits).vector for _ in range(4000)])
    norms = np.array([norm(v) for v in drawn])
    assert stats.kstest(norms, stats.gamma(classes, scale=0.5).cdf).pvalue > ALARM
    for wrong in (0.7, 1.4):
        assert stats.kstest(norms * wrong, stats.gamma(classes, scale=0.5).cdf).pvalue < ALARM
    assert drawn[:, 1:].sum(axis=1) == pytest.approx(np.zeros(4000), abs=1e-9)
    assert stats.ks_2samp(drawn[:, 1], drawn[:, -1]).pvalue > ALARM
    assert stats.binomtest(int((drawn[:, 0] > 0).sum()), 4000).pvalue > ALARM
    # Where the biases give the norm, the slope is even below it, and the other way round the biases fill their slice.
    outer = np.abs(drawn[:, 1:]).sum(axis=1) / 2
    ratios = np.abs(drawn[:, 0])[outer == norms] / norms[outer == norms]
    assert stats.kstest(ratios, stats.uniform().cdf).pvalue > ALARM
    inner = (outer / norms)[outer < norms] ** (classes - 1)
    assert stats.kstest(inner, stats.uniform().cdf).pvalue > ALARM
    # P(bias gives the norm) = dimension of the biases over the whole dimension.
    assert stats.binomtest(int((outer == norms).sum()), 4000, (classes - 1) / classes).pvalue > ALARM


@pytest.mark.parametrize("classes", [2, 3, 7])
def test_the_stated_distance_holds(classes: int) -> None:
    with mpmath.workdps(60):
        for seed in range(30):
            found, bits = slope_vector(classes, Fraction(1, 4), ExactWords(seed)), ExactWords(seed)
            coins = Coins(lambda size, bits=bits: bits.words(-(-size // 8)).tobytes())
            steps = bits.exponentials(2 * classes + 2)
            radius = mpmath.fsum(steps[: classes + 1])
            turn = (mpmath.mpf(int(bits.words(1)[0])) + 0.5) * mpmath.mpf(2) ** -63 - 1
            places = set(coins.sample(2 * classes - 2, classes - 1))
            low, parts = radius * mpmath.exp(-steps[-1] / (classes - 1)), steps[classes + 1 : -1]
            sums = [mpmath.fsum(e for k, e in enumerate(parts) if (k in places) == up) for up in (False, True)]
            biases = [(low if k in places else -low) * e / sums[k in places] for k, e in enumerate(parts)]
            exact = [4 * value for value in (radius * turn, *biases)]
            off = mpmath.sqrt(
                mpmath.fsum((mpmath.mpf(float(a)) - b) ** 2 for a, b in zip(found.vector, exact, strict=True))
            )
            assert off <= found.error < 1e-11


def test_no_biases_of_one_class() -> None:
    with pytest.raises(BudgetError):
        slope_vector(1, Fraction(1), SystemBits())


# ---- the cost of a row


@pytest.mark.parametrize("classes", [2, 3, 6])
def test_no_row_costs_more_than_the_bound(classes: int) -> None:
    """Random chances and scores, and the worst corners: the pull of a row and its curvature at no other rows."""
    rng = np.random.default_rng(classes)
    ridges, rate = (1.7, 2.9), 0.6
    bound = row_cost(classes, ridges, rate)
    scale = np.sqrt([ridges[0], *[ridges[1]] * classes])
    best = 0.0
    for k in range(4000):
        q = -rng.random(classes) if k % 2 else -rng.integers(0, 2, classes).astype(float)
        p = rng.dirichlet(np.full(classes, rng.choice([0.1, 1.0, 20.0])))
        label = int(rng.integers(classes))
        residual = p - np.eye(classes)[label]
        pull = norm(np.array([residual @ q, *residual]))
        columns = np.column_stack([q, np.eye(classes)])
        bend = columns.T @ (np.diag(p) - np.outer(p, p)) @ columns / np.outer(scale, scale)
        cost = rate * pull + float(np.linalg.slogdet(np.eye(classes + 1) + bend)[1])
        assert cost <= bound + 1e-12
        best = max(best, cost)
    assert best > 0.9 * bound if classes == 2 else best > 0.6 * bound


def test_the_supremum_is_that_of_a_fine_grid() -> None:
    s = np.linspace(0, 1, 100_001)
    for classes, ridges, rate in itertools.product(
        (2, 3, 8), ((0.5, 0.5), (4.0, 1.0), (300.0, 90.0)), (0.01, 0.5, 3.0)
    ):
        level = s * (1 - s) if classes == 2 else np.where(s < 0.5, s * (1 - s), 0.25)
        trace = level / ridges[0] + (1 - (1 - s) ** 2 - s * s / (classes - 1)) / ridges[1]
        values = rate * s + (classes - 1) * np.log1p(trace / (classes - 1))
        assert row_cost(classes, ridges, rate) == pytest.approx(values.max(), rel=1e-6)
        assert row_cost(classes, ridges, rate) >= values.max()


# ---- neighbours

ROWS = {
    2: [((0.0, -1.0), 0), ((0.0, -1.0), 1), ((0.0, 0.0), 1), ((-0.4, 0.0), 1), ((-1.0, 0.0), 0)],
    3: [((0.0, -1.0, -1.0), 0), ((0.0, -1.0, -0.3), 1), ((-1.0, 0.0, -1.0), 2)],
}


def log_density(rows: Any, plan: Any, weights: Any) -> float:
    """ln p(w) up to a constant, from the derivatives of the very objective that is minimised."""
    scores = np.array([q for q, _ in rows]).reshape(-1, plan.classes)
    labels = np.array([y for _, y in rows], np.int64)
    form = objective(scores, labels, plan, 10, np.zeros(plan.classes + 1))
    gradient, bends = form.slopes(weights)
    inverse = 1 / np.sqrt(form.ridges)
    det = float(np.linalg.slogdet(bends * np.outer(inverse, inverse))[1])
    return det - float(plan.rate) * norm(gradient)


@pytest.mark.parametrize("adjacency", ["add-remove", "replace"])
@pytest.mark.parametrize(("classes", "epsilon"), [(2, 1.0), (2, 0.1), (3, 1.0)])
def test_density_ratios_of_all_neighbours(adjacency: str, classes: int, epsilon: float) -> None:
    plan = make_plan(classes, epsilon, method="objective", adjacency=Adjacency.of(adjacency))
    rows = ROWS[classes]
    bases = [c for n in range(3) for c in itertools.combinations_with_replacement(rows, n)]
    steps = (-40.0, -3.0, 0.0, 2.0, 5.0, 60.0)
    biases = list(itertools.product((-30.0, -1.0, 0.0, 0.7, 25.0), repeat=classes - 1))
    worst = 0.0
    for slope, bias in itertools.product(steps, biases):
        weights = np.array([slope, *bias, -sum(bias)])
        for base in bases:
            with_one = [log_density((*base, row), plan, weights) for row in rows]
            if adjacency == "add-remove":
                here = log_density(base, plan, weights)
                worst = max(worst, *(abs(there - here) for there in with_one))
            else:
                worst = max(worst, max(with_one) - min(with_one))
    assert worst <= float(plan.epsilons[0])
    assert worst > 0.7 * float(plan.epsilons[0])  # the grid comes near the bound, so that a wrong one would show


def test_the_objective_is_what_its_derivatives_say() -> None:
    rng = np.random.default_rng(5)
    form = objective(-rng.random((40, 3)), rng.integers(0, 3, 40), make_plan(3, 1), 10, rng.normal(size=4))
    weights, h = rng.normal(size=4) * 3, 1e-5
    gradient, bends = form.slopes(weights)
    for k, step in enumerate(np.eye(4) * h):
        assert (form.value(weights + step) - form.value(weights - step)) / (2 * h) == pytest.approx(
            gradient[k], abs=1e-5
        )
        rise = (form.slopes(weights + step)[0] - form.slopes(weights - step)[0]) / (2 * h)
        assert rise == pytest.approx(bends[k], abs=1e-5)


# ---- the histogram of two classes


@pytest.mark.parametrize(("adjacency", "reach"), [(Adjacency.ADD_REMOVE, 1), (Adjacency.REPLACE, 2)])
def test_a_row_moves_the_histogram_by_what_its_noise_is_for(adjacency: Adjacency, reach: int) -> None:
    """All rows of a fine grid of scores, all pairs of neighbours: the L1 distance is at most `reach` and attains it."""
    gaps = np.linspace(-1, 1, 41)
    rows = [((min(0.0, -g), min(0.0, g)), y) for g in gaps for y in (0, 1)]
    counts = [histogram(np.array([q]), np.array([y])) for q, y in rows]
    assert all(count.sum() == 1 for count in counts) and sum(counts).min() > 0
    moves = {int(np.abs(a - b).sum()) for a in counts for b in counts} if reach == 2 else {int(c.sum()) for c in counts}
    assert max(moves) == reach
    for times in (1, 3):
        plan = make_plan(2, Fraction(1, 4), adjacency=adjacency, contributions=times)
        assert plan.method == "histogram" and plan.spread == 4 * reach * times
        assert [part.cost for part in plan.node.parts] == [Fraction(1, 4)]


def test_the_fit_of_a_histogram_finds_slope_and_bias() -> None:
    centres = (2 * np.arange(6) + 1) / 6 - 1
    chances = 1 / (1 + np.exp(-(3 * centres - 0.7)))
    counts = 1e6 * np.stack([1 - chances, chances])
    assert fit_histogram(counts, 1.0, 5.0) == pytest.approx((3, -0.7), abs=1e-3)
    assert fit_histogram(0 * counts - 5, 10.0, 5.0) == pytest.approx((5, 0))


# ---- plans


def test_shares_follow_the_released_number_of_rows() -> None:
    assert calibration_share(1000, 0.1, 2) == 0
    assert calibration_share(6000, 0.1, 2) == Fraction(1, 10)
    assert calibration_share(20_000, 0.1, 2) == Fraction(1, 10)  # 100 rows times its ε for each class
    assert calibration_share(40_000, 0.1, 2) == Fraction(1, 20)
    assert calibration_share(1e9, 1.0, 2) == Fraction(1, 40)
    assert Fraction(1, 40) < calibration_share(5000, 1.0, 2) < Fraction(1, 10)


def test_costs_add_up_and_rows_of_one_person_count() -> None:
    for adjacency, times in itertools.product(Adjacency, (1, 3)):
        plan = make_plan(3, Fraction(1, 5), adjacency=adjacency, contributions=times)
        assert sum(part.cost for part in plan.node.parts) == Fraction(1, 5)
        cost = row_cost(3, plan.ridges, float(plan.rate)) + (adjacency is Adjacency.REPLACE) * float(plan.rate)
        assert cost <= float(plan.epsilons[0]) <= 0.2 / times
        assert cost > 0.999 * float(plan.epsilons[0])


@pytest.mark.parametrize("bad", [0, -1, "x", True])
def test_bad_plans_are_refused(bad: Any) -> None:
    with pytest.raises(BudgetError):
        make_plan(2, bad if bad is not True else 1.0, contributions=True if bad is True else 1)
    with pytest.raises(BudgetError):
        make_plan(1, 1.0)
    for classes, method in ((2, "newton"), (3, "histogram")):
        with pytest.raises(BudgetError, match="method"):
            make_plan(classes, 1.0, method=method)
    assert math.isinf(float("inf")) and make_plan(2, math.inf).rate is None
