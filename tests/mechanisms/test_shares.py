"""Noise shares draw the laws they claim: tests pass at the claimed scale and fail at 30 % more or less.

Each goodness-of-fit test rejects a right sampler with probability 1e-8; there are under 50 of them.
"""

import math
from fractions import Fraction

import numpy as np
import pytest
from scipy.stats import kstest, skellam

from discreet.mechanisms.coins import Coins
from discreet.mechanisms.laws import laplace_log_pmf, laplace_variance
from discreet.mechanisms.poisson import centred_poisson
from discreet.mechanisms.shares import ExactShares, SimulationShares, wrapped
from tests.statistical.test_noise import p_value

ALARM = 1e-8
SAMPLERS = {"exact": ExactShares, "simulation": lambda: SimulationShares(11)}


def share_log_pmf(shape):
    """log P of one share of discrete Laplace noise, by its characteristic function."""

    def log_pmf(points, scale, size=1 << 15):
        q = math.exp(-1 / scale)
        angle = 2 * np.pi * np.arange(size) / size
        law = np.fft.ifft(((1 - q) ** 2 / np.abs(1 - q * np.exp(1j * angle)) ** 2) ** shape).real
        return np.log(np.maximum(law[np.asarray(points) % size], 1e-300))

    return log_pmf


def skellam_log_pmf(points, variance):
    return skellam.logpmf(points, variance / 2, variance / 2)


@pytest.mark.parametrize("name", SAMPLERS)
@pytest.mark.parametrize("count", [1, 3, 10])
@pytest.mark.parametrize("scale", [Fraction(1, 3), Fraction(7, 2), Fraction(20)])
def test_one_share(name, count, scale):
    size = 20_000 if count == 1 else 40_000 if scale > 1 else 100_000
    draws = SAMPLERS[name]().laplace(np.full(size, 5, np.int64), scale, Fraction(1, count)) - 5
    assert p_value(draws, share_log_pmf(1 / count), float(scale)) > ALARM
    for factor in (0.7, 1.3):
        assert p_value(draws, share_log_pmf(1 / count), factor * float(scale)) < ALARM
    assert p_value(draws, share_log_pmf(1.3 / count), float(scale)) < ALARM


@pytest.mark.parametrize("name", SAMPLERS)
def test_the_sum_of_all_shares_is_discrete_laplace_noise(name):
    sampler, total = SAMPLERS[name](), np.zeros(20_000, np.int64)
    for _ in range(5):
        total = sampler.laplace(total, Fraction(7, 2), Fraction(1, 5))
    assert p_value(total, laplace_log_pmf, 3.5) > ALARM
    for factor in (0.7, 1.3):
        assert p_value(total, laplace_log_pmf, factor * 3.5) < ALARM


def test_large_scales_follow_the_continuous_law():
    sampler, total = ExactShares(), np.zeros(5_000, np.int64)
    for _ in range(3):
        total = sampler.laplace(total, Fraction(2**40), Fraction(1, 3))
    assert kstest(total / 2**40, "laplace").pvalue > ALARM
    for factor in (0.7, 1.3):
        assert kstest(total / 2**40 / factor, "laplace").pvalue < ALARM


@pytest.mark.parametrize("name", SAMPLERS)
@pytest.mark.parametrize(("variance", "count"), [(Fraction(5), 4), (Fraction(90), 1), (Fraction(900), 3)])
def test_skellam_shares_add_up(name, variance, count):
    sampler, total = SAMPLERS[name](), np.zeros(2_500, np.int64)
    for _ in range(count):
        total = sampler.skellam(total, variance, Fraction(1, count))
    assert p_value(total, skellam_log_pmf, float(variance)) > ALARM
    for factor in (0.5, 1.7):  # 30 % of the standard deviation
        assert p_value(total, skellam_log_pmf, factor * float(variance)) < ALARM


def test_skellam_noise_of_a_large_variance_is_normal():
    for sampler in (ExactShares(), SimulationShares(2)):
        draws = sampler.skellam(np.zeros(3_000, np.int64), Fraction(2**70), Fraction(1)) / 2.0**35
        assert kstest(draws, "norm").pvalue > ALARM
        for factor in (0.7, 1.3):
            assert kstest(draws / factor, "norm").pvalue < ALARM


@pytest.mark.parametrize("mean", [Fraction(1, 9), Fraction(31), Fraction(97, 3)])
def test_centred_poisson_draws(mean):
    from scipy.stats import poisson

    draws = np.array(centred_poisson(mean, 5_000, Coins()))
    assert p_value(draws, lambda z, m: poisson.logpmf(z + math.floor(mean), m), float(mean)) > ALARM
    assert p_value(draws, lambda z, m: poisson.logpmf(z + math.floor(mean), m), 1.3 * float(mean)) < ALARM


def test_the_variance_of_a_share_is_its_part():
    draws = SimulationShares(3).laplace(np.zeros(400_000, np.int64), Fraction(30), Fraction(1, 50))
    assert np.var(draws) == pytest.approx(laplace_variance(30.0) / 50, rel=0.1)


def test_sums_wrap_around_and_no_share_is_no_noise():
    assert wrapped([2**63, -1, 2**64 + 5, -(2**63) - 1]).tolist() == [-(2**63), -1, 5, 2**63 - 1]
    values = np.array([2**63 - 1, -(2**63)], np.int64)
    assert ExactShares().laplace(values, Fraction(3), Fraction(0)).tolist() == values.tolist()
    assert ExactShares().laplace(np.zeros(0, np.int64), Fraction(3), Fraction(1)).size == 0
    with pytest.raises(ArithmeticError):
        centred_poisson(Fraction(2**91), 1, Coins())


def test_exact_shares_are_fresh_and_a_seed_repeats():
    values, draw = np.zeros(64, np.int64), (Fraction(1000), Fraction(1))
    assert not np.array_equal(ExactShares().laplace(values, *draw), ExactShares().laplace(values, *draw))
    assert np.array_equal(SimulationShares(4).laplace(values, *draw), SimulationShares(4).laplace(values, *draw))
