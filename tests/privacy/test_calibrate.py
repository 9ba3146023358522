"""Calibration errs on the side of privacy, and is tight."""

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import norm

from discreet.privacy.calibrate import (
    counting_delta,
    counting_rho,
    float_up,
    fraction_down,
    sqrt_up,
    zcdp_delta,
    zcdp_epsilon,
    zcdp_rho,
)

positive = st.fractions(min_value=Fraction(1, 10**9), max_value=10**12)


@given(positive)
def test_scales_are_never_below_the_exact_fraction(value):
    assert value <= Fraction(float_up(value)) <= value * (1 + Fraction(1, 2**50))
    assert value <= Fraction(sqrt_up(value)) ** 2 <= value * (1 + Fraction(1, 2**48))
    assert float(value) - 1e-18 <= float(fraction_down(float(value))) <= float(value)


def gaussian_delta(rho, epsilon):
    """δ of the continuous Gaussian mechanism with that ρ, in closed form: no conversion can be below it."""
    mu = math.sqrt(2 * rho)
    return norm.cdf(mu / 2 - epsilon / mu) - math.exp(epsilon) * norm.cdf(-mu / 2 - epsilon / mu)


@pytest.mark.parametrize("rho", [1e-4, 0.02, 0.5, 4.0])
@pytest.mark.parametrize("epsilon", [0.05, 1.0, 5.0])
def test_conversion_is_above_the_gaussian_and_below_the_simple_bound(rho, epsilon):
    delta = zcdp_delta(rho, epsilon)
    assert delta >= gaussian_delta(rho, epsilon)
    if epsilon > rho:
        assert delta <= math.exp(-((epsilon - rho) ** 2) / (4 * rho)) * (1 + 1e-6)


@pytest.mark.parametrize("epsilon", [Fraction(1, 10), Fraction(1), Fraction(8)])
@pytest.mark.parametrize("delta", [Fraction(1, 10**9), Fraction(1, 100)])
def test_the_chosen_rho_stays_within_and_a_larger_one_does_not(epsilon, delta):
    rho = zcdp_rho(epsilon, delta)
    assert zcdp_delta(float(rho), float(epsilon)) <= float(delta)
    assert zcdp_delta(float(rho) * 1.001, float(epsilon)) > float(delta)
    assert float(epsilon) <= zcdp_epsilon(float(rho), float(delta)) * (1 + 1e-6)
    assert zcdp_epsilon(float(rho), float(delta)) == pytest.approx(float(epsilon), rel=1e-5)


@pytest.mark.parametrize(("rho", "epsilon"), [(1e-4, 1e-4), (1e-10, 1e-7), (1e-4, 1e-6), (0.5, 1e-4), (1e-6, 0.0)])
def test_conversion_finds_the_best_order_where_epsilon_is_far_below_delta(rho, epsilon):
    orders = 1 + np.exp(np.linspace(-6, 16, 20_001))
    logs = (orders - 1) * (orders * rho - epsilon) + orders * np.log1p(-1 / orders) - np.log(orders - 1)
    delta = zcdp_delta(rho, epsilon)
    assert gaussian_delta(rho, epsilon) <= delta <= math.exp(logs.min()) * (1 + 1e-4)


def test_counting_is_tighter_than_zcdp_and_no_better_than_the_gaussian():
    epsilon, delta, parts = Fraction(1), Fraction(1, 10**6), ((Fraction(1, 5), 1),) * 5
    plain, tight = zcdp_rho(epsilon, delta), counting_rho(epsilon, delta, parts)
    assert tight > plain * Fraction(11, 10)
    assert counting_delta(float(tight), 1.0, parts) <= 1e-6
    # With σ this large the discrete law is the continuous one to many digits.
    assert gaussian_delta(float(tight), 1.0) <= 1e-6
    assert gaussian_delta(float(tight) * 1.05, 1.0) > 1e-6


def test_zero_rho_costs_nothing():
    assert zcdp_delta(0.0, 0.1) == 0.0
    assert np.isfinite(zcdp_epsilon(1e-9, 1e-6))


@pytest.mark.parametrize("value", [1e-25, 1 / 3, 0.1, 1.0, 7.25])
def test_what_is_rounded_down_is_never_above(value):
    assert Fraction(value) - Fraction(1, 2**64) < fraction_down(value) <= Fraction(value)
