"""Samplers draw the law they claim: the test passes at the claimed scale and fails at 30 % more or less.

Each goodness-of-fit test rejects a right sampler with probability 1e-8; there are under 50 of them, so a run
gives a false alarm with probability below 1e-6.
"""

from fractions import Fraction

import numpy as np
import pytest
from scipy.stats import chisquare, kstest

from discreet.mechanisms.noise import (
    ExactSampler,
    SimulationSampler,
    discrete_gaussian,
    discrete_laplace,
    gaussian_variance,
    laplace_variance,
)
from tests.laws import gaussian_log_pmf, laplace_log_pmf

ALARM = 1e-8
DRAWS = 40_000
SAMPLERS = {"exact": ExactSampler, "simulation": lambda: SimulationSampler(7)}


def p_value(draws, log_pmf, parameter):
    """Chi-square test of integer draws against a law, cells pooled until 25 draws are expected in each group.

    With fewer, a group would exceed what the test allows far more often than it says.
    """
    reach = int(np.abs(draws).max()) + 1
    points = np.arange(-reach, reach + 1)
    expected = np.exp(log_pmf(points, parameter)) * len(draws)
    observed = np.bincount(draws + reach, minlength=len(points)).astype(float)
    order = np.argsort(expected)
    want, have = [max(len(draws) - expected.sum(), 0.0)], [0.0]  # the tails beyond every draw
    for more, seen in zip(expected[order], observed[order], strict=True):
        if want[-1] >= 25:
            want.append(0.0)
            have.append(0.0)
        want[-1] += more
        have[-1] += seen
    return chisquare(have, np.array(want) * (len(draws) / sum(want))).pvalue


@pytest.mark.parametrize("name", SAMPLERS)
@pytest.mark.parametrize("scale", [Fraction(1, 3), Fraction(1), Fraction(7, 2), Fraction(20)])
def test_laplace(name, scale):
    values = np.full(DRAWS, 5, np.int64)
    draws = SAMPLERS[name]().laplace(values, scale) - 5
    assert p_value(draws, laplace_log_pmf, float(scale)) > ALARM
    for factor in (0.7, 1.3):
        assert p_value(draws, laplace_log_pmf, factor * float(scale)) < ALARM


@pytest.mark.parametrize("name", SAMPLERS)
@pytest.mark.parametrize("variance", [Fraction(1, 4), Fraction(2), Fraction(50), Fraction(400)])
def test_gaussian(name, variance):
    values = np.full(DRAWS, -3, np.int64)
    draws = SAMPLERS[name]().gaussian(values, variance) + 3
    assert p_value(draws, gaussian_log_pmf, float(variance)) > ALARM
    for factor in (0.7, 1.3):
        assert p_value(draws, gaussian_log_pmf, factor**2 * float(variance)) < ALARM


@pytest.mark.parametrize("law", ["laplace", "gaussian"])
@pytest.mark.parametrize("name", SAMPLERS)
def test_large_scales_follow_the_continuous_law(name, law):
    """At scale 1e6 the step of one is invisible to a Kolmogorov–Smirnov test of this size."""
    sampler, scale = SAMPLERS[name](), 10**6
    parameter = Fraction(scale) if law == "laplace" else Fraction(scale) ** 2
    draws = getattr(sampler, law)(np.zeros(DRAWS, np.int64), parameter) / scale
    shape = "laplace" if law == "laplace" else "norm"
    assert kstest(draws, shape).pvalue > ALARM
    for factor in (0.7, 1.3):
        assert kstest(draws / factor, shape).pvalue < ALARM


@pytest.mark.parametrize("sigma", [251.0, 3000.0])
def test_rejection_branch_of_the_simulation(sigma):
    draws = discrete_gaussian(200_000, sigma**2, rng=np.random.default_rng(3))
    assert p_value(draws, gaussian_log_pmf, sigma**2) > ALARM
    assert p_value(draws, gaussian_log_pmf, (1.3 * sigma) ** 2) < ALARM


def test_exact_noise_is_fresh_and_a_seed_repeats():
    values = np.zeros(64, np.int64)
    assert not np.array_equal(
        ExactSampler().laplace(values, Fraction(100)), ExactSampler().laplace(values, Fraction(100))
    )
    first, again = (SimulationSampler(1).laplace(values, Fraction(100)) for _ in range(2))
    assert np.array_equal(first, again)


def test_noise_differs_between_statistics_of_one_release():
    sampler = SimulationSampler(1)
    values = np.zeros(64, np.int64)
    assert not np.array_equal(sampler.laplace(values, Fraction(100)), sampler.laplace(values, Fraction(100)))


@pytest.mark.parametrize("scale", [0.4, 1.0, 13.0])
def test_variances_match_the_laws(scale):
    points = np.arange(-4000, 4001)
    assert laplace_variance(scale) == pytest.approx((np.exp(laplace_log_pmf(points, scale)) * points**2).sum())
    assert gaussian_variance(scale) == pytest.approx(
        (np.exp(gaussian_log_pmf(points, scale)) * points**2).sum(), rel=1e-6
    )


def test_saturation_instead_of_overflow():
    top = np.array([2**63 - 1, -(2**63)], np.int64)
    for sampler in (ExactSampler(), SimulationSampler(0)):
        noisy = sampler.laplace(top, Fraction(10**6))
        assert noisy[0] > 2**61 and noisy[1] < -(2**61)
    assert np.abs(discrete_laplace(1000, 1e300, rng=np.random.default_rng(0))).max() <= 2**63 - 1
