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
    normal_vector,
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


@pytest.mark.parametrize("bits", [SystemBits(), SeededBits(np.random.default_rng(0))])
def test_normal_variables(bits):
    drawn = normal_vector(8000, 2.5, bits).vector
    assert stats.kstest(drawn, stats.norm(scale=2.5).cdf).pvalue > ALARM
    for wrong in (0.7, 1.3):
        assert stats.kstest(drawn, stats.norm(scale=2.5 * wrong).cdf).pvalue < ALARM


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


class Lengthened:
    """Words of a seed, all remembered, so that the exact draw which they begin can be made in sixty digits."""

    def __init__(self, seed, small=False):
        self.rng, self.tail, self.small = np.random.default_rng(seed), np.random.default_rng(seed + 1), small
        self.taken = []

    def words(self, size):
        found = self.rng.integers(0, 2**64, size, dtype=np.uint64)
        if self.small and size > 1:  # numbers near one have logarithms near zero, where roots are steep
            found[::2] |= np.uint64(2**64 - 2**12)
        self.taken.append([int(word) for word in found])
        return found

    def uniform(self, word, shift=64):
        """The number that a word begins: the bits that nobody looked at are random."""
        word, shift = word << 60 | int(self.tail.integers(0, 2**60)), shift + 60
        return (mpmath.mpf(word) + 0.5) * mpmath.mpf(2) ** -shift

    def exponentials(self):
        first = self.taken.pop(0)
        result = []
        for word in first:
            shift = 64
            while word < 1 << 56:
                (more,) = self.taken.pop(0)
                word, shift = word << 64 | more, shift + 64
            result.append(-mpmath.log(self.uniform(word, shift)))
        return result


def distance(found, exact):
    return mpmath.sqrt(mpmath.fsum((mpmath.mpf(float(a)) - b) ** 2 for a, b in zip(found.vector, exact, strict=True)))


@pytest.mark.parametrize("small", [False, True])
@pytest.mark.parametrize("size", [2, 5, 60])
def test_vectors_are_within_their_stated_distance_of_an_exact_draw(size, small):
    scale, worst = 3.7, {"laplace": 0.0, "spherical": 0.0, "normal": 0.0}
    with mpmath.workdps(60):
        for seed in range(20):
            bits = Lengthened(seed, small)
            found = laplace_vector(size, scale, bits)
            sizes = bits.exponentials()
            (signs,) = bits.taken
            exact = [(2 * (word & 1) - 1) * value * scale for word, value in zip(signs, sizes, strict=True)]
            off = distance(found, exact)
            assert off <= found.error < 1e-12 * scale * size
            worst["laplace"] = max(worst["laplace"], float(off / found.error))
            bits = Lengthened(seed, small)
            found = spherical_vector(size, scale, bits)
            length, doubled = mpmath.fsum(bits.exponentials()), [2 * value for value in bits.exponentials()]
            (turns,) = bits.taken
            normal = [mpmath.sqrt(two) * mpmath.cos(2 * mpmath.pi * bits.uniform(word))
                      for two, word in zip(doubled, turns, strict=True)]  # fmt: skip
            norm = mpmath.sqrt(mpmath.fsum(value**2 for value in normal))
            off = distance(found, [scale * length * value / norm for value in normal])
            assert off <= found.error
            worst["spherical"] = max(worst["spherical"], float(off / found.error))
            bits = Lengthened(seed, small)
            found = normal_vector(size, scale, bits)
            doubled = [2 * value for value in bits.exponentials()]
            (turns,) = bits.taken
            off = distance(found, [scale * mpmath.sqrt(two) * mpmath.cos(2 * mpmath.pi * bits.uniform(word))
                                   for two, word in zip(doubled, turns, strict=True)])  # fmt: skip
            assert off <= found.error
            worst["normal"] = max(worst["normal"], float(off / found.error))
    assert min(worst.values()) > 1e-3  # the bounds are not empty
