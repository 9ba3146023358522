"""Discrete Gaussians on a fine lattice against normal noise: distances and profiles, enumerated."""

import math
from fractions import Fraction

import numpy as np
import pytest
from scipy.stats import norm

from discreet.mechanisms.normal import (
    FINER,
    LARGEST,
    FineSampler,
    fineness,
    finer,
    held_delta,
    rounding_distance,
)
from discreet.mechanisms.residual import Residual
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
    assert variance == finer(Fraction(7, 2), 3) == Fraction(7, 2) * 4**FINER
    assert seen[:2].tolist() == [5 << FINER, -3 << FINER] and 0 < seen[2] <= 2**61
    assert found[:2].tolist() == [5 + step, -3 + step]


class Silent:
    """A sampler that adds nothing."""

    name, simulation = "silent", True

    def gaussian(self, values, variance):
        return values


@pytest.mark.parametrize("cells", [2, 1023, 1024, 3000, 200_000])
def test_large_cells_of_large_tables_are_held_whole(cells):
    """The sampler is handed as many bits more than rows as 10^8 rows in one cell leave; nothing of them is cut off."""
    rows = 80_000_000
    table = np.zeros((1, cells), np.int64)
    table[0, cells // 2] = rows
    found = Residual((cells,)).released([table], Fraction(10**6), FineSampler(Silent()))[0][0]
    assert found[cells // 2] == pytest.approx(rows, rel=1e-12)
    assert np.abs(np.delete(found, cells // 2)).max() < 1e-3
    assert LARGEST * cells << fineness(cells) <= 2**61
    assert fineness(cells) == FINER or LARGEST * cells << fineness(cells) + 1 > 2**60
    assert LARGEST > 10**8


def test_tables_of_many_cells_are_no_farther_from_normal_noise_than_small_ones():
    """Their lattice is coarser by as much as their noise is wider; the coarsest is that of whole rows."""
    spread = Fraction(10)
    small, *rest = (rounding_distance([(finer(s * s * spread, s), 1)]) for s in (1000, 3000, 10**5, 10**7, 10**12))
    assert max(rest) <= 4 * small < 1e-19
    assert fineness(1 << 40) == 0
