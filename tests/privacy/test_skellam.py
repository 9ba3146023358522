"""Skellam accounting: sound against the exact divergence, monotone, and near the Gaussian where noise is large."""

import math
from fractions import Fraction

import numpy as np
import pytest
from scipy.stats import skellam

from discreet.errors import BudgetError
from discreet.privacy.calibrate import zcdp_rho
from discreet.privacy.skellam import SkellamPart, skellam_delta, skellam_factor

EPSILON, DELTA = Fraction(1), Fraction(1, 10**5)


def hockey_stick(variance, shift, epsilon):
    """δ of one integer with Skellam noise: the sum of (p − e^ε·q)₊."""
    reach = int(40 * math.sqrt(variance)) + 40
    points = np.arange(-reach, reach + 1)
    p = skellam.pmf(points, variance / 2, variance / 2)
    q = skellam.pmf(points - shift, variance / 2, variance / 2)
    return float(np.maximum(p - math.exp(epsilon) * q, 0).sum())


@pytest.mark.parametrize("shift", [1, 3])
@pytest.mark.parametrize("variance", [10, 60, 300])
def test_delta_is_never_below_the_truth(shift, variance):
    part = SkellamPart(Fraction(shift), Fraction(shift**2), Fraction(variance))
    for epsilon in (0.3, 1.0, 2.0):
        assert skellam_delta([part], epsilon) >= hockey_stick(variance, shift, epsilon)


@pytest.mark.parametrize("l1", [1, 4])
def test_the_factor_reaches_the_budget_and_no_more(l1):
    part = SkellamPart(Fraction(l1), Fraction(l1**2), Fraction(l1**2))
    factor = skellam_factor((part,), EPSILON, DELTA)
    assert skellam_delta([part], 1.0, float(factor)) <= 1e-5
    assert skellam_delta([part], 1.0, float(factor) * 0.999) > 1e-5
    assert hockey_stick(float(factor) * l1**2, l1, 1.0) < 1e-5
    gaussian = 1 / (2 * float(zcdp_rho(EPSILON, DELTA)))
    assert 1 < float(factor) / gaussian < 1.1  # what sharing costs over central Gaussian noise


def test_parts_compose():
    part = SkellamPart(Fraction(1), Fraction(1), Fraction(1))
    one, two = (float(skellam_factor((part,) * count, EPSILON, DELTA)) for count in (1, 2))
    assert one < two < 2.2 * one


def test_an_impossible_budget_is_refused():
    with pytest.raises(BudgetError, match="no Skellam noise"):
        skellam_factor((SkellamPart(Fraction(1), Fraction(1), Fraction(1)),), Fraction(1, 10**15), Fraction(1, 10**300))
