"""Discrete Gaussians on a fine lattice against normal noise: distances and profiles, enumerated."""

import math
from fractions import Fraction

import numpy as np
import pytest
from scipy.stats import norm

from discreet.mechanisms.normal import FINER, FineSampler, finer, held_delta, rounding_distance
from discreet.privacy.calibrate import normal_delta, normal_rho


def law(variance, points):
    weights = np.exp(-(points**2) / (2 * variance))
    return weights / weights.sum()


@pytest.mark.parametrize("variance", [1, 3, 40, 2500])
def test_rounded_normal_noise_is_within_the_distance(variance):
    points = np.arange(-12 * math.ceil(math.sqrt(variance)), 12 * math.ceil(math.sqrt(variance)) + 1)
    sigma = math.sqrt(variance)
    rounded = norm.cdf((points + 0.5) / sigma) - norm.cdf((points - 0.5) / sigma)
    apart = np.abs(law(variance, points) - rounded).sum() / 2
    assert 0.35 * rounding_distance([(Fraction(variance), 1)]) < apart < rounding_distance([(Fraction(variance), 1)])


def test_distances_add_up_and_small_variances_have_none():
    assert rounding_distance([(Fraction(100), 3), (Fraction(50), 1)]) == pytest.approx(5 / 2300)
    assert rounding_distance([(Fraction(1, 2), 1)]) == 1.0
    assert rounding_distance([(Fraction(1), 10**9)]) == 1.0


@pytest.mark.parametrize("epsilon", [0.0, 0.2, 1.0])
@pytest.mark.parametrize("less", [1.0, 0.8])
def test_two_releases_have_the_profile_of_one_normal_variable(epsilon, less):
    """δ of two integers that move by 7 and by −11, over all pairs; with a fifth less noise it is exceeded."""
    whole, draws = 1.0, [(20.0**2, 7), (30.0**2, -11)]
    ratio = math.sqrt(sum(move**2 / variance for variance, move in draws))
    parts = []
    for variance, move in draws:
        points = np.arange(-400, 401)
        parts.append((law(less**2 * variance, points), law(less**2 * variance, points - move)))
    (p1, q1), (p2, q2) = parts
    spent = np.maximum(np.outer(p1, p2) - math.exp(epsilon) * np.outer(q1, q2), 0).sum()
    distance = rounding_distance([(Fraction(variance), 1) for variance, _ in draws])
    allowed = normal_delta(ratio, epsilon) + (whole + math.exp(epsilon)) * distance
    assert (spent <= allowed) == (less == 1)
    assert held_delta(Fraction(allowed), Fraction(epsilon), distance) == pytest.approx(normal_delta(ratio, epsilon))


@pytest.mark.parametrize(
    ("epsilon", "delta"), [(0.1, 1e-6), (1, 1e-6), (4, 1e-9), (1, 1e-13), (1e-4, 1e-5), (60, 1e-6)]
)
def test_rho_of_normal_noise_spends_delta(epsilon, delta):
    mu = math.sqrt(2 * float(normal_rho(Fraction(epsilon), delta)))
    spent = norm.cdf(mu / 2 - epsilon / mu) - math.exp(epsilon + norm.logcdf(-mu / 2 - epsilon / mu))
    assert (1 - 1e-5) * delta < spent <= delta


def test_the_finer_lattice_keeps_the_noise_and_what_neighbours_are_apart():
    calls = []

    class Handed:
        name, simulation = "handed", True

        def gaussian(self, values, variance):
            calls.append((values, variance))
            return values + 1

    values = np.array([5, -3, 2**62])
    found = FineSampler(Handed()).gaussian(values, Fraction(7, 2))
    (seen, variance), step = calls[0], 2.0**-FINER
    assert variance == finer(Fraction(7, 2)) == Fraction(7, 2) * 4**FINER
    assert seen[:2].tolist() == [5 << FINER, -3 << FINER] and 0 < seen[2] <= 2**61
    assert found[:2].tolist() == [5 + step, -3 + step]
