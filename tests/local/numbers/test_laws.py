"""Exact laws of the number mechanisms: privacy by enumeration, no bias, and the variance formulas."""

import math
from fractions import Fraction

import numpy as np
import pytest

from discreet.local.chances import exp_bounds
from discreet.local.geometric import SLACK
from discreet.local.mechanism import worst_ratio
from discreet.local.numbers import NUMBERS, Hybrid, LaplaceAll, LaplaceSampled, OneBit, OneBitSampled, Piecewise
from discreet.local.numbers.laplace import Coordinate

from .common import EPSILONS, SMALL, exact_moments


@pytest.mark.parametrize("epsilon", EPSILONS)
@pytest.mark.parametrize("classes", [1, 2, 3])
@pytest.mark.parametrize("name", SMALL)
def test_no_report_tells_more_than_epsilon(name, classes, epsilon):
    mechanism = SMALL[name](classes, epsilon)
    bound = exp_bounds(Fraction(epsilon))[0]
    assert mechanism.worst <= bound
    # The whole of ε is used: what is left over is rounding, not waste. Rounded centres never meet at both ends.
    assert mechanism.worst > bound * (1 - Fraction(1, 10**9))


@pytest.mark.parametrize("kind", NUMBERS.values(), ids=lambda kind: kind.name)
def test_every_registered_mechanism_keeps_its_epsilon_by_listing_all_reports(kind):
    for mechanism in kind.listed():
        laws = list(mechanism.laws())
        assert all(sum(law.values()) == 1 for law in laws)
        low = exp_bounds(mechanism.epsilon)[0]
        worst = worst_ratio(laws)
        assert worst == mechanism.worst <= low
        if kind.tight:
            assert worst > low * (1 - Fraction(1, 10**6))


@pytest.mark.parametrize("name", SMALL)
def test_laws_add_up_to_one(name):
    mechanism = SMALL[name](1 if name == "laplace" else 2, "1")
    for point in (-mechanism.half, 0, 1):
        law = mechanism.law(0, point)
        assert sum(law.values()) == 1 and min(law.values()) > 0


def test_the_laplace_short_cut_agrees_with_the_whole_law():
    mechanism = LaplaceSampled(2, 1, "4")
    whole = worst_ratio(mechanism.law(label, point) for label in (0, 1) for point in (-1, 0, 1))
    assert whole == mechanism.worst


@pytest.mark.parametrize("epsilon", ["0.5", "2.5", "4", "8", "12", "20", "30"])
@pytest.mark.parametrize("half", [1, 2, 3])
def test_each_noisy_coordinate_keeps_its_slack(half, epsilon):
    """Clamping gathers the tail at the ends: for a large ε the tail must be long enough beyond the clamp."""
    scale = 2 * half / (Fraction(epsilon) - 2 * SLACK)
    coordinate = Coordinate.of(half, scale)
    laws = {t: coordinate.law(t) for t in range(-half, half + 1)}
    for a in laws:
        for b in laws:
            found = max(laws[a][x] / laws[b][x] for x in laws[a])
            assert found <= exp_bounds(abs(a - b) / scale + SLACK)[0]


def test_a_clamp_as_far_as_the_noise_itself_would_break_the_promise():
    """The reason for the tail beyond the clamp: without it, ε = 30 costs more than 30."""

    class Careless(Coordinate):
        limit = property(lambda self: self.half + self.noise.reach)

    for steps in range(100, 200):  # a scale whose highest digit is as likely as can be
        scale = Fraction(steps, 100) * 2 / 30
        if Careless(1, scale).noise.reach < 31 * scale:
            break
    low, high = Careless(1, scale).law(-1), Careless(1, scale).law(1)
    assert max(high[x] / low[x] for x in high) > exp_bounds(2 / scale + SLACK)[1]
    low, high = Coordinate(1, scale).law(-1), Coordinate(1, scale).law(1)
    assert max(high[x] / low[x] for x in high) <= exp_bounds(2 / scale + SLACK)[0]


@pytest.mark.parametrize("epsilon", EPSILONS)
@pytest.mark.parametrize("classes", [pytest.param(1, marks=pytest.mark.slow), 2])
def test_all_numbers_at_once_cost_epsilon_together(classes, epsilon):
    mechanism = LaplaceAll(classes, (1, 1) if epsilon == "0.1" else (1, 2), epsilon)
    bound = exp_bounds(Fraction(epsilon))[0]
    assert bound * (1 - Fraction(1, 10**9)) < mechanism.worst <= bound


def test_the_real_grid_is_private_too():
    mechanism = Piecewise(1, 2, "0.7")
    assert mechanism.limit > 1000 and mechanism.worst <= exp_bounds(Fraction("0.7"))[0]
    assert mechanism.hi <= mechanism.lo * exp_bounds(Fraction("0.7"))[0] and mechanism.total <= 1 << 64


@pytest.mark.parametrize("epsilon", ["1e-6", "0.1", "1", "10", "20", "30"])
@pytest.mark.parametrize("half", [1, 1 << 16, 1 << 40])
def test_piecewise_weights_at_every_size(half, epsilon):
    mechanism = Piecewise(2, half, epsilon)
    assert Fraction(mechanism.hi, mechanism.lo) <= exp_bounds(Fraction(epsilon))[0]
    assert Fraction(mechanism.hi, mechanism.lo) > exp_bounds(Fraction(epsilon))[0] * (1 - Fraction(1, 1 << 18))
    assert (1 << 63) < mechanism.total <= 1 << 64 and mechanism.width == 3 and mechanism.limit < 1 << 15


@pytest.mark.parametrize("epsilon", EPSILONS)
@pytest.mark.parametrize("name", [name for name in SMALL if name != "laplace"])
def test_reports_are_unbiased_and_their_variance_is_the_formula(name, epsilon):
    classes = 3
    mechanism = SMALL[name](classes, epsilon)
    for point in (-mechanism.half, 1, mechanism.half):
        own = exact_moments(mechanism, 1, point, about=1)
        other = exact_moments(mechanism, 0, point, about=1)
        size = mechanism.variance(1, 1.0, point**2)
        assert own[0] == pytest.approx(point, abs=1e-9 * size) and other[0] == pytest.approx(0, abs=1e-9 * size)
        assert other[1] == pytest.approx(mechanism.variance(1, 0.0, 0.0), rel=1e-9)
        if name == "piecewise-rounded":  # the formula takes an average rounding, at most a quarter of a step off
            off = classes * mechanism.step**2 * mechanism.gain / 4
            assert own[1] == pytest.approx(size, abs=off)
        else:
            assert own[1] == pytest.approx(size, rel=1e-9)
        mixed = 0.25 * own[1] + 0.75 * other[1]
        assert mechanism.variance(40, 0.25, point**2) == pytest.approx(
            40 * mixed, rel=1e-9 if name != "piecewise-rounded" else 0.1
        )


@pytest.mark.parametrize("epsilon", EPSILONS)
def test_laplace_is_unbiased_with_the_variance_of_its_noise(epsilon):
    mechanism = LaplaceSampled(1, 1, epsilon)
    for point in (-1, 0, 1):
        mean, variance = exact_moments(mechanism, 0, point, about=0)
        # Clamping moves a mean by the tail's chance, below 2⁻⁴⁰ scales here.
        assert mean == pytest.approx(point, abs=1e-8) and variance == pytest.approx(mechanism.variance(1), rel=1e-8)


@pytest.mark.parametrize("epsilon", EPSILONS)
def test_one_class_and_one_bit_is_duchi(epsilon):
    value = float(epsilon)
    constant = (math.exp(value) + 1) / (math.exp(value) - 1)
    assert OneBit(1, 10, epsilon).estimate(np.array([0, 1]), 1)[0] == pytest.approx(10 * constant)
    assert OneBitSampled(1, 10, epsilon).step == pytest.approx(10 * constant)
    assert OneBit(1, 10, epsilon).variance(1, 1.0, 25.0) == pytest.approx(100 * constant**2 - 25)


@pytest.mark.parametrize("epsilon", [0.2, 1.0, 3.0, 8.0])
@pytest.mark.parametrize("share", [0.0, 0.3, 1.0])
def test_piecewise_and_hybrid_have_the_published_variance(epsilon, share):
    """Wang et al. 2019: t²/(e^{ε/2} − 1) + (e^{ε/2} + 3)/(3(e^{ε/2} − 1)²) in units of the bound."""
    half = 1 << 14
    point, root = share * half, math.exp(epsilon / 2)
    published = share**2 / (root - 1) + (root + 3) / (3 * (root - 1) ** 2)
    piecewise = Piecewise(1, half, epsilon)
    assert piecewise.variance(1, 1.0, point**2) / half**2 == pytest.approx(published, rel=2e-3)
    hybrid, chance = Hybrid(1, half, epsilon), 1 - math.exp(-epsilon / 2) if epsilon > 0.61 else 0.0
    one_bit = 1 / math.tanh(epsilon / 2) ** 2 - share**2
    mixed = chance * published + (1 - chance) * one_bit
    assert float(hybrid.share) == pytest.approx(chance, abs=1e-15)
    assert hybrid.variance(1, 1.0, point**2) / half**2 == pytest.approx(mixed, rel=2e-3)
