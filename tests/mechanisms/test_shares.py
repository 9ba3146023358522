"""Noise shares draw the laws they claim: tests pass at the claimed scale and fail at 30 % more or less.

Each goodness-of-fit test rejects a right sampler with probability 1e-8; there are under 50 of them.
"""

import math
import os
from fractions import Fraction

import numpy as np
import pytest
from scipy.stats import kstest, poisson, skellam

from discreet.mechanisms.coins import Coins
from discreet.mechanisms.noise import laplace_variance
from discreet.mechanisms.poisson import centred_poisson
from discreet.mechanisms.shares import ExactShares, SimulationShares, wrapped
from tests.laws import laplace_log_pmf
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


def near_one(values, deviation):
    """Whether the mean of values with mean 1 and this standard deviation is within 5.9 standard errors of 1."""
    return abs(np.mean(values) - 1) < 5.9 * deviation / math.sqrt(len(values))


def skellam_log_pmf(points, variance):
    return skellam.logpmf(points, variance / 2, variance / 2)


@pytest.mark.parametrize("name", SAMPLERS)
@pytest.mark.parametrize("count", [1, 3, 10])
@pytest.mark.parametrize("scale", [Fraction(1, 3), Fraction(7, 2)])
def test_one_share(name, count, scale):
    size = 12_000 if count == 1 else 40_000 if scale > 1 else 100_000
    draws = SAMPLERS[name]().laplace(np.full(size, 5, np.int64), scale, Fraction(1, count)) - 5
    assert p_value(draws, share_log_pmf(1 / count), float(scale)) > ALARM
    for factor in (0.7, 1.3):
        assert p_value(draws, share_log_pmf(1 / count), factor * float(scale)) < ALARM
    if scale > 1:  # a share of a small scale is hardly ever anything but zero: its shape is felt too little
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
        total = sampler.laplace(total, Fraction(2**20), Fraction(1, 3))
    sizes = np.abs(total) / 2**20
    assert kstest(total / 2**20, "laplace").pvalue > ALARM and near_one(sizes, 1)
    assert not any(near_one(sizes / factor, 1) for factor in (0.7, 1.3))


@pytest.mark.parametrize("name", SAMPLERS)
@pytest.mark.parametrize(("variance", "count"), [(Fraction(5), 4), (Fraction(90), 1), (Fraction(900), 3)])
def test_skellam_shares_add_up(name, variance, count):
    sampler, total = SAMPLERS[name](), np.zeros(1_800, np.int64)
    for _ in range(count):
        total = sampler.skellam(total, variance, Fraction(1, count))
    assert p_value(total, skellam_log_pmf, float(variance)) > ALARM
    squares = total**2 / float(variance)
    deviation = math.sqrt(2 + 1 / float(variance))  # the fourth moment of Skellam noise is 3μ² + μ
    assert near_one(squares, deviation)
    assert not any(near_one(squares / factor**2, deviation) for factor in (0.7, 1.3))


def test_skellam_noise_of_a_large_variance_is_normal():
    for sampler in (ExactShares(), SimulationShares(2)):
        draws = sampler.skellam(np.zeros(2_500, np.int64), Fraction(2**70), Fraction(1)) / 2.0**35
        assert kstest(draws, "norm").pvalue > ALARM and near_one(draws**2, math.sqrt(2))
        assert not any(near_one((draws / factor) ** 2, math.sqrt(2)) for factor in (0.7, 1.3))


@pytest.mark.parametrize(("mean", "size"), [(Fraction(1, 9), 40_000), (Fraction(31), 5_000), (Fraction(97, 3), 5_000)])
def test_centred_poisson_draws(mean, size):
    draws = np.array(centred_poisson(mean, size, Coins()))
    assert p_value(draws, lambda z, m: poisson.logpmf(z + math.floor(mean), m), float(mean)) > ALARM
    for factor in (0.7, 1.3):
        assert p_value(draws, lambda z, m: poisson.logpmf(z + math.floor(mean), m), factor * float(mean)) < ALARM


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


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system has no fork")
def test_a_forked_process_draws_other_bits():
    coins = Coins()
    coins.bits(8)
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        os.write(writer, coins.bits(256).to_bytes(32, "little"))
        os._exit(0)
    os.waitpid(child, 0)
    assert os.read(reader, 32) != coins.bits(256).to_bytes(32, "little")
    os.close(reader)
    os.close(writer)
