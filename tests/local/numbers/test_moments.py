"""Bell curves from two groups of reports."""

import numpy as np
import pytest

from discreet.errors import DataError
from discreet.local.curves import Group, gaussian_parameters
from discreet.local.inputs import as_square
from discreet.local.numbers import Hybrid, LaplaceAll, LaplaceSampled, OneBit, Piecewise

HALF = 1 << 10
SHARES = np.array([0.7, 0.3])
MEANS, DEVIATIONS = np.array([-300.0, 400.0]), np.array([150.0, 250.0])


def people(size, rng):
    labels = np.repeat([0, 1], (SHARES * size).astype(int))
    points = np.rint(np.clip(rng.normal(MEANS[labels], DEVIATIONS[labels]), -HALF, HALF)).astype(np.int64)
    return labels, points


def group_of(mechanism, support, size):
    """The group of so many reports about one number, as if points were spread evenly."""
    spread = [mechanism.variance(size, float(share), mechanism.half**2 / 3) for share in SHARES]
    return Group(mechanism.estimate(support, size), size, np.array(spread))


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
    groups = (
        group_of(plain, plain.simulate(labels, points, rng), size),
        group_of(square, square.simulate(others, as_square(second_points, HALF), rng), size),
    )
    mean, variance = gaussian_parameters(HALF, SHARES, *groups)
    true_mean = np.array([points[labels == c].mean() for c in (0, 1)])
    true_second = np.array([(second_points[others == c].astype(float) ** 2).mean() for c in (0, 1)])
    doubt = 6 * np.sqrt(groups[0].variance) / (SHARES * size)
    assert (doubt < np.abs(MEANS) / 4).all()  # or the next line would say little
    assert (np.abs(mean - true_mean) < doubt).all()
    allowed = 6 * np.sqrt(groups[1].variance) / (2 * SHARES * size) + 2 * np.abs(true_mean) * doubt + 2 * doubt**2
    assert (np.abs(variance - (true_second - true_mean**2)) < allowed).all()


def test_exact_sums_give_exact_moments():
    points = np.array([-10, 0, 10, 20, 30])
    quiet = np.zeros(1)
    groups = Group(np.array([points.sum()]), 5, quiet), Group(np.array([as_square(points, 40).sum()]), 5, quiet)
    mean, variance = gaussian_parameters(40, [1.0], *groups)
    assert mean == pytest.approx([points.mean()]) and variance == pytest.approx([points.var()])


def test_noise_stays_inside_the_bounds_and_above_the_noise_floor():
    wild = Group(np.array([1e12, -1e12]), 100, np.array([1e20, 1e20]))
    mean, variance = gaussian_parameters(HALF, SHARES, wild, wild)
    assert mean.tolist() == [HALF, -HALF]
    assert (variance >= HALF**2 / 3).all() and (variance <= 4 / 3 * HALF**2).all()
    loud = Group(np.zeros(2), 1000, np.array([0.0, 0.0])), Group(np.full(2, -1e12), 1000, np.array([1e10, 1e10]))
    floor = gaussian_parameters(HALF, SHARES, *loud)[1]
    assert floor == pytest.approx(1e5 / (2 * SHARES * 1000))
    empty = gaussian_parameters(HALF, [1.0, 0.0], *loud)
    assert np.isfinite(empty[0]).all() and (empty[1] > 0).all()
    quiet = Group(np.zeros(1), 10, np.zeros(1)), Group(np.full(1, -10.0 * HALF**2), 10, np.zeros(1))
    assert gaussian_parameters(HALF, [1.0], *quiet)[1] == pytest.approx([1 / 12])


def test_all_numbers_at_once_give_sums_and_a_variance_each():
    mechanism = LaplaceAll(2, (5, HALF), 1)
    sums = mechanism.aggregate(mechanism.perturb([0, 1], [[1, 2], [3, 4]]))
    variances = mechanism.variance(2)
    assert sums.shape == (2, 2) and variances.shape == (2,) and variances[1] > variances[0]


def test_bad_shares_are_refused():
    group = Group(np.zeros(2), 10, np.zeros(2))
    for shares in ([-0.1, 1.1], [np.nan, 1], [[0.5, 0.5]], [1.0]):
        with pytest.raises(DataError):
            gaussian_parameters(HALF, shares, group, group)
