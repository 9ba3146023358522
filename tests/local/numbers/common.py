"""What the tests of all number mechanisms share: small instances, exact moments and a test against a law."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
from scipy import stats

from discreet.local.numbers import Hybrid, LaplaceSampled, OneBit, OneBitSampled, Piecewise

EPSILONS = ("0.1", "1", "4")
ALARM = 5e-9  # of each sampled check: below 1e-6 for all of them together

SMALL = {
    "laplace": lambda classes, epsilon: LaplaceSampled(classes, 1, epsilon),
    "one-bit": lambda classes, epsilon: OneBit(classes, 3, epsilon),
    "one-bit-sampled": lambda classes, epsilon: OneBitSampled(classes, 3, epsilon),
    "piecewise": lambda classes, epsilon: Piecewise(classes, 3, epsilon, grid=7),
    "piecewise-rounded": lambda classes, epsilon: Piecewise(classes, 5, epsilon, grid=3),
    "hybrid": lambda classes, epsilon: Hybrid(classes, 4, epsilon, grid=4),
}


def as_rows(reports):
    """Reports as tuples, the way `law` names them."""
    array = np.asarray(reports)
    return [tuple(row) for row in (array[:, None] if array.ndim == 1 else array).tolist()]


def single(mechanism, report):
    """The estimate that one report alone gives, per class."""
    rows = np.array([report])
    if mechanism.name == "one-bit":
        rows = rows[:, 0]
    return mechanism.estimate(mechanism.support(rows), 1)


def fits(counted, law):
    """The p-value of χ²; outcomes expected fewer than 20 times are pooled, likeliest first kept."""
    total = sum(counted.values())
    assert set(counted) <= set(law)
    kept = [one for one, chance in law.items() if chance * total >= 20]
    found = [counted.get(one, 0) for one in kept]
    expected = [float(law[one] * total) for one in kept]
    rest = total - sum(expected)
    if rest >= 5:
        found.append(total - sum(found))
        expected.append(rest)
    else:
        expected = [one * sum(found) / sum(expected) for one in expected]
    return float(stats.chisquare(found, np.array(expected) * (sum(found) / sum(expected))).pvalue)


def exact_moments(mechanism, label, point, about):
    """The exact mean and variance of what one report says for the class `about`."""
    law = mechanism.law(label, point)
    values = {one: Fraction(float(single(mechanism, one)[about])) for one in law}
    mean = sum(law[one] * value for one, value in values.items())
    return float(mean), float(sum(law[one] * value**2 for one, value in values.items()) - mean**2)


def deviations(alarm):
    """How many standard deviations a normal number exceeds with that chance, on either side."""
    return float(stats.norm.isf(alarm / 2))
