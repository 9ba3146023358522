"""Draws of the number mechanisms against their exact laws and closed-form variances.

Each sampled check raises a false alarm with chance 5e-9, the 120 or so of this file together with less than 1e-6.
"""

from collections import Counter

import numpy as np
import pytest

from discreet.local.bits import toss
from discreet.local.geometric import signed
from discreet.local.numbers import NUMBERS, Hybrid, LaplaceAll, LaplaceSampled, OneBit, OneBitSampled, Piecewise

from .common import ALARM, EPSILONS, SMALL, as_rows, deviations, fits

FULL = [LaplaceSampled, OneBit, OneBitSampled, Piecewise, Hybrid]


class Words:
    """A seeded source, so that a check of scalar draws repeats itself."""

    def __init__(self, seed):
        self.rng = np.random.default_rng(seed)

    def word(self):
        return int(self.rng.integers(0, 1 << 64, dtype=np.uint64))


@pytest.mark.parametrize("epsilon", EPSILONS)
@pytest.mark.parametrize("name", SMALL)
def test_scalar_and_vector_draws_follow_the_law(name, epsilon):
    mechanism = SMALL[name](1 if name == "laplace" else 2, epsilon)
    label, point = (0, 1) if name == "laplace" else (1, 2)
    law = mechanism.law(label, point)
    rng, source = np.random.default_rng(11), Words(12)
    many = Counter(as_rows(mechanism.perturb(np.full(100_000, label), np.full(100_000, point), rng=rng)))
    assert fits(many, law) > ALARM
    assert fits(Counter(mechanism.draw(label, point, source) for _ in range(6_000)), law) > ALARM
    # The check has teeth: the same draws do not fit the law of the opposite point.
    assert fits(many, mechanism.law(label, -point)) < ALARM


@pytest.mark.parametrize("kind", NUMBERS.values(), ids=lambda kind: kind.name)
def test_draws_of_every_registered_mechanism_follow_its_law(kind):
    mechanism = min(kind.listed(), key=lambda one: (abs(one.epsilon - 1), -one.classes))
    label, point, size = mechanism.classes - 1, mechanism.half, 50_000
    law = mechanism.law(label, point)
    many = mechanism.perturb(np.full(size, label), np.array([point] * size), rng=np.random.default_rng(13))
    assert fits(Counter(as_rows(many)), law) > ALARM
    assert fits(Counter(mechanism.draw(label, point, Words(14 + i)) for i in range(3_000)), law) > ALARM


def below_threshold(draws, digits):
    """64 coins by the definition: each lane reads digits that differ from the threshold's or not, until one does."""
    lanes, rest = [], iter([])
    words = iter(draws)
    first = [next(words) for _ in digits[:4]]
    for lane in range(64):
        lanes.append(next((digits[k] for k, word in enumerate(first) if word >> lane & 1), None))
    for lane in range(64):
        place = len(first)
        while lanes[lane] is None:
            if place == len(digits):
                lanes[lane] = 0
                break
            bit = next(rest, None)
            if bit is None:
                word = next(words)
                rest = iter([word >> shift & 1 for shift in range(64)])
                bit = next(rest)
            lanes[lane] = digits[place] if bit else None
            place += 1
    return sum(bit << lane for lane, bit in enumerate(lanes))


@pytest.mark.parametrize("size", [1, 3, 4, 5, 128])
def test_coins_compare_digits_as_the_definition_does(size):
    """Same words, same coins: the compiled loop against the definition, thresholds of few digits included."""
    rng = np.random.default_rng(size)
    digits = [*rng.integers(0, 2, size - 1).tolist(), 1]
    for _ in range(20):
        drawn = rng.integers(0, 1 << 64, size=size + 6, dtype=np.uint64)
        out = np.zeros(1, np.uint64)
        assert toss(drawn, np.array(digits, np.uint8), out) == 1
        assert int(out[0]) == below_threshold(drawn.tolist(), digits)


def test_noise_is_put_together_as_the_scalar_draw_does():
    """Digits from the lowest, then the sign, and minus zeros left out: planes of bits against the definition."""
    rng = np.random.default_rng(5)
    planes = rng.integers(0, 1 << 64, size=(3, 2), dtype=np.uint64)
    signs = rng.integers(0, 1 << 64, size=2, dtype=np.uint64)
    expected = []
    for word in range(2):
        for lane in range(64):
            magnitude = sum((int(plane[word]) >> lane & 1) << k for k, plane in enumerate(planes))
            negative = int(signs[word]) >> lane & 1
            if magnitude or not negative:
                expected.append(-magnitude if negative else magnitude)
    result = np.zeros(128, np.int64)
    assert signed(planes, signs, result) == len(expected) < 128
    assert result[: len(expected)].tolist() == expected
    assert signed(planes, signs, result[:7]) == 7


def test_noise_of_a_wide_scale_has_its_variance():
    noise, drawn = LaplaceSampled(1, 1 << 16, 1).coordinate.noise, np.empty(30_000, np.int64)
    noise.fill(drawn, np.random.default_rng(3))
    assert len(np.unique(drawn)) > 20_000
    spread = drawn.std() / noise.variance**0.5
    assert abs(spread - 1) < deviations(ALARM) * (5 / 4 / 30_000) ** 0.5  # a Laplace law has kurtosis 6


def test_the_system_source_is_the_default():
    mechanism = LaplaceSampled(2, 1000, 1)
    first, second = (mechanism.perturb([0, 1] * 50, [5, -5] * 50) for _ in range(2))
    assert not np.array_equal(first, second)
    seeded = [mechanism.perturb([0, 1], [5, -5], rng=np.random.default_rng(1)) for _ in range(2)]
    assert np.array_equal(*seeded)


def population(half, classes, size, rng):
    labels = rng.choice(classes, size, p=np.array([0.6, 0.3, 0.1]))
    points = np.rint(np.clip(rng.normal(0.3 * half, 0.4 * half, size), -half, half)).astype(np.int64)
    return labels, points


def check(kind, epsilon, half, size, runs, seed, tolerance, simulated=False):
    """Means within their error and variances within the tolerance, over many runs on one population."""
    rng = np.random.default_rng(seed)
    mechanism, (labels, points) = kind(3, half, epsilon), population(half, 3, size, rng)
    estimates = np.empty((runs, 3))
    for i in range(runs):
        if simulated:
            support = mechanism.simulate(labels, points, rng)
        else:
            support = mechanism.support(mechanism.perturb(labels, points, rng=rng))
        estimates[i] = mechanism.estimate(support, size)
    for c in range(3):
        own = points[labels == c].astype(float)
        variance = mechanism.variance(size, len(own) / size, float((own**2).mean()))
        gap = estimates[:, c].mean() - own.sum()
        assert abs(gap) < deviations(ALARM) * (variance / runs) ** 0.5
        assert estimates[:, c].var(ddof=1) == pytest.approx(variance, rel=tolerance)


# Sums of 400 reports are nearly normal: a sample variance of r runs has relative deviation √((2 + 6/400·3)/r).
@pytest.mark.parametrize("epsilon", [pytest.param("0.5", marks=pytest.mark.slow), "2"])
@pytest.mark.parametrize("kind", FULL)
def test_sums_are_unbiased_with_the_stated_variance(kind, epsilon):
    runs = 600
    check(kind, epsilon, 1 << 16, 400, runs, 21, deviations(ALARM) * (2.05 / runs) ** 0.5)


@pytest.mark.parametrize("kind", [LaplaceSampled, OneBit])
def test_the_law_of_the_sum_is_that_of_the_reports(kind):
    runs = 3_000
    check(kind, "1", 1 << 16, 400, runs, 22, deviations(ALARM) * (2.05 / runs) ** 0.5, simulated=True)


@pytest.mark.slow
@pytest.mark.parametrize("epsilon", EPSILONS)
@pytest.mark.parametrize("kind", FULL)
def test_variances_within_three_percent(kind, epsilon):
    """5.85 deviations of √(2.1/90,000) are 2.9 %: a false alarm below 5e-9 for each class, 3e-7 for the whole test."""
    check(kind, epsilon, 1 << 16, 100, 90_000, 23, 0.03)


def test_all_numbers_at_once():
    rng = np.random.default_rng(31)
    mechanism, size, runs = LaplaceAll(2, (10, 1 << 16), 2), 300, 400
    labels = rng.integers(0, 2, size)
    points = np.stack([rng.integers(-10, 11, size), rng.integers(-(1 << 16), (1 << 16) + 1, size)], axis=1)
    truth = np.array([[points[labels == c, j].sum() for c in (0, 1)] for j in (0, 1)])
    deviation = np.sqrt(mechanism.variance(size))[:, None]
    for draw in (
        lambda: mechanism.support(mechanism.perturb(labels, points, rng=rng)),
        lambda: mechanism.simulate(labels, points, rng),
    ):
        scores = np.array([(mechanism.estimate(draw(), size) - truth) / deviation for _ in range(runs)])
        assert np.abs(scores.mean(axis=0)).max() < deviations(ALARM) / runs**0.5
        assert scores.var(axis=0) == pytest.approx(np.ones((2, 2)), abs=deviations(ALARM) * (2.05 / runs) ** 0.5)
    row = mechanism.draw(1, (3, -70), Words(1))
    assert len(row) == 4 and len(mechanism.packed(row)) == mechanism.width
