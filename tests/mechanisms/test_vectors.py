"""Noise vectors: their laws, two-sided, and that the doubles are as near to an exact draw as they say."""

import math

import mpmath
import numpy as np
import pytest
from scipy import stats

from discreet.errors import BudgetError
from discreet.mechanisms.vectors import (
    SeededBits,
    SystemBits,
    exponentials,
    laplace_vector,
    noise_vector,
    spherical_vector,
)

ALARM = 1e-7  # the false-alarm rate of each sampled check


class Words:
    """A chosen stream of words."""

    def __init__(self, *words):
        self.stream = list(words)

    def words(self, size):
        taken, self.stream = self.stream[:size], self.stream[size:]
        return np.array(taken, np.uint64)


@pytest.mark.parametrize("bits", [SystemBits(), SeededBits(np.random.default_rng(0))])
@pytest.mark.parametrize("size", [1, 3, 12])
def test_laws(bits, size):
    scale, draws = 2.5, 4000
    spherical = np.linalg.norm([spherical_vector(size, scale, bits).vector for _ in range(draws)], axis=1)
    laplace = np.abs([laplace_vector(size, scale, bits).vector for _ in range(draws)]).sum(axis=1)
    for lengths in (spherical, laplace):  # both norms are of a Gamma law of that many degrees
        assert stats.kstest(lengths, stats.gamma(size, scale=scale).cdf).pvalue > ALARM
        for wrong in (0.7, 1.3):
            assert stats.kstest(lengths, stats.gamma(size, scale=wrong * scale).cdf).pvalue < ALARM


def test_directions_are_uniform():
    bits = SeededBits(np.random.default_rng(1))
    drawn = np.array([spherical_vector(3, 1.0, bits).vector for _ in range(4000)])
    heights = drawn / np.linalg.norm(drawn, axis=1, keepdims=True)
    for axis in range(3):  # Archimedes: each coordinate of a point of the sphere is uniform
        assert stats.kstest(heights[:, axis], stats.uniform(-1, 2).cdf).pvalue > ALARM


@pytest.mark.parametrize(
    "words", [[2**64 - 1], [2**63], [1 << 56], [(1 << 56) - 1, 12345], [0, 0, 77 << 50], [1, 2**64 - 1]]
)
def test_exponentials_are_near_an_exact_draw(words):
    """Whatever bits follow those drawn, −ln of the whole number is within the stated distance."""
    found = exponentials(1, Words(*words))[0]
    with mpmath.workdps(60):
        used = words
        value = sum(mpmath.mpf(w) * mpmath.mpf(2) ** (-64 * (k + 1)) for k, w in enumerate(used))
        last = mpmath.mpf(2) ** (-64 * len(used))
        for exact in (-mpmath.log(value + last), -mpmath.log(value + last / 2)):
            assert abs(exact - mpmath.mpf(float(found))) <= mpmath.mpf(2) ** -50 * (1 + exact)


def test_numbers_of_two_words_keep_their_digits():
    """As above for words just short of enough bits, where the logarithm of all bits would lose some of its own."""
    rng = np.random.default_rng(3)
    with mpmath.workdps(60):
        for _ in range(1000):
            high = int(rng.integers(1, 1 << int(rng.integers(1, 57))))
            low = int(rng.integers(0, 2**64, dtype=np.uint64))
            found = mpmath.mpf(float(exponentials(1, Words(high, low))[0]))
            for end in (0, 1):
                exact = -mpmath.log((mpmath.mpf(high << 64 | low) + end) * mpmath.mpf(2) ** -128)
                assert abs(exact - found) <= mpmath.mpf(2) ** -50 * (1 + exact)


def test_errors_are_small_and_grow_with_the_scale():
    bits = SystemBits()
    for law in ("laplace", "spherical"):
        for size in (2, 200):
            one = noise_vector(law, size, 1.0, bits)
            assert 0 < one.error < 1e-8 * size
            assert noise_vector(law, size, 1e6, bits).error > 1e3 * one.error / size
            assert np.isfinite(one.vector).all() and len(one.vector) == size
    with pytest.raises(BudgetError):
        noise_vector("normal", 2, 1.0, bits)


def test_signs_are_fair():
    bits = SystemBits()
    ups = int(sum((laplace_vector(100, 1.0, bits).vector > 0).sum() for _ in range(100)))
    assert abs(ups - 5000) < 5.4 * math.sqrt(2500)
