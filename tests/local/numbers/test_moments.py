"""Bell curves from two groups of reports."""

import numpy as np
import pytest

from discreet.local.curves import gaussian_parameters
from discreet.local.inputs import as_square
from discreet.local.numbers import Hybrid, LaplaceAll, LaplaceSampled, OneBit, Piecewise

HALF = 1 << 10
SHARES = np.array([0.7, 0.3])
MEANS, DEVIATIONS = np.array([-300.0, 400.0]), np.array([150.0, 250.0])


def people(size, rng):
    labels = np.repeat([0, 1], (SHARES * size).astype(int))
    points = np.rint(np.clip(rng.normal(MEANS[labels], DEVIATIONS[labels]), -HALF, HALF)).astype(np.int64)
    return labels, points


def means_of(mechanism, support, size):
    """Each class's mean by so many reports about one number and its variance, as if points were spread evenly."""
    noise = [mechanism.variance(size, float(share), mechanism.half**2 / 3) for share in SHARES]
    return mechanism.estimate(support, size) / (SHARES * size), np.array(noise) / (SHARES * size) ** 2


def test_squares_fill_their_range():
    assert as_square(np.array([-HALF, 0, HALF]), HALF).tolist() == [HALF**2, -(HALF**2), HALF**2]
    assert as_square(np.array([1 << 20]), 1 << 20).tolist() == [1 << 40]


@pytest.mark.parametrize("kind", [LaplaceSampled, OneBit, Piecewise, Hybrid])
def test_two_groups_give_mean_and_variance(kind):
    """Errors of the two sums within 6 deviations each: a false alarm below 1e-8."""
    rng, size = np.random.default_rng(41), 200_000
    plain, square = kind(2, HALF, 2), kind(2, HALF**2, 2)
    labels, points = people(size, rng)
    others, second_points = people(size, rng)
    numbers = means_of(plain, plain.simulate(labels, points, rng), size)
    squares = means_of(square, square.simulate(others, as_square(second_points, HALF), rng), size)
    mean, variance = gaussian_parameters(HALF, *numbers, *squares)
    true_mean = np.array([points[labels == c].mean() for c in (0, 1)])
    true_second = np.array([(second_points[others == c].astype(float) ** 2).mean() for c in (0, 1)])
    doubt = 6 * np.sqrt(numbers[1])
    assert (doubt < np.abs(MEANS) / 4).all()  # or the next line would say little
    assert (np.abs(mean - true_mean) < doubt).all()
    allowed = 6 * np.sqrt(squares[1]) / 2 + 2 * np.abs(true_mean) * doubt + 2 * doubt**2
    assert (np.abs(variance - (true_second - true_mean**2)) < allowed).all()


def test_exact_means_give_exact_moments():
    points, quiet = np.array([-10, 0, 10, 20, 30]), np.zeros(1)
    exact = np.array([points.mean()]), quiet, np.array([as_square(points, 40).mean()]), quiet
    mean, variance = gaussian_parameters(40, *exact)
    assert mean == pytest.approx([points.mean()]) and variance == pytest.approx([points.var()])


def test_noise_stays_inside_the_bounds_and_above_the_noise_floor():
    wild = np.array([1e10, -1e10]), np.array([1e16, 1e16])
    mean, variance = gaussian_parameters(HALF, *wild, *wild)
    assert mean.tolist() == [HALF, -HALF]
    assert (variance >= HALF**2 / 3).all() and (variance <= 4 / 3 * HALF**2).all()
    noise = np.array([1e4, 1e5])
    floor = gaussian_parameters(HALF, np.zeros(2), np.zeros(2), np.full(2, -1e9), noise)[1]
    assert floor == pytest.approx(np.sqrt(noise) / 2)
    quiet = gaussian_parameters(HALF, np.zeros(1), np.zeros(1), np.full(1, -1.0 * HALF**2), np.zeros(1))
    assert quiet[1] == pytest.approx([1 / 12])


def test_all_numbers_at_once_give_sums_and_a_variance_each():
    mechanism = LaplaceAll(2, (5, HALF), 1)
    sums = mechanism.aggregate(mechanism.perturb([0, 1], [[1, 2], [3, 4]]))
    variances = mechanism.variance(2)
    assert sums.shape == (2, 2) and variances.shape == (2,) and variances[1] > variances[0]
