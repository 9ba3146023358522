"""The central bound of shuffled reports: against the published numerical one, and in its own terms."""

import itertools
import math

import numpy as np
import pytest
from scipy.stats import binom

from discreet.errors import BudgetError
from discreet.privacy.shuffling import Variation, central_delta, central_epsilon


def clones(local, n, epsilon):
    """The numerical bound of Feldman, McMillan and Talwar (2023), written out: the hockey-stick divergence of
    (A + Δ, C − A + 1 − Δ) and its mirror, C of Bin(n − 1, 2/(e^ε₀ + 1)), A of Bin(C, ½), Δ of e^ε₀/(e^ε₀ + 1).
    """
    p, t = math.exp(local), math.exp(epsilon)
    counts = np.arange(n)
    law = binom.pmf(counts, n - 1, 2 / (p + 1))
    total = float(law[law <= 1e-20].sum())
    for c in counts[law > 1e-20]:
        # (p·a + b)/(a + p·b) > t where a = A + Δ and b = C + 1 − a: above one threshold.
        least = math.floor((c + 1) * (p * t - 1) / ((p - 1) * (t + 1))) + 1
        one, two = binom.sf(least - 2, c, 0.5), binom.sf(least - 1, c, 0.5)
        total += law[c] * max((p * one + two - t * (one + p * two)) / (p + 1), 0.0)
    return total


@pytest.mark.parametrize(("local", "n"), list(itertools.product([0.5, 1, 3], [2, 10, 200, 2000])))
def test_any_mechanism_has_the_numerical_bound_of_clones(local, n):
    for epsilon in (0.01, 0.1, 0.3):
        told, reference = central_delta(Variation.of(local), n, epsilon), clones(local, n, epsilon)
        assert reference * (1 - 1e-9) <= told <= reference * (1 + 1e-5) + 1e-13


def test_the_bar():
    """n = 100,000, local ε = 1, δ = 1e-6: no more than the published bound; oracles are told less still."""
    told = central_epsilon(Variation.of(1), 100_000, 1e-6)
    assert clones(1, 100_000, told) <= 1e-6 * (1 + 1e-9)
    assert clones(1, 100_000, told * 0.999) > 1e-6  # it is that bound, but for a thousandth
    assert 0.0124 < told < 0.01245
    assert central_epsilon(Variation.of(1, 0.15), 100_000, 1e-6) < 0.6 * told


def exact(variation, n, epsilon):
    """The expectation over all (a, b, c), written out."""
    p, t, alpha = variation.ratio, math.exp(epsilon), variation.total / (variation.ratio - 1)
    r, s = alpha, (1 - (1 + p) * alpha) / p
    total = 0.0
    for a, b in itertools.product(range(n + 1), repeat=2):
        for c in range(n + 1 - a - b):
            ways = math.factorial(n) / math.prod(math.factorial(one) for one in (a, b, c, n - a - b - c))
            chance = ways * r ** (a + b) * s**c * (1 - 2 * r - s) ** (n - a - b - c)
            total += chance * max(a * (1 - t / p) - b * (t - 1 / p) - c * (t - 1), 0.0)
    return p / n * total


@pytest.mark.parametrize("total", [0.05, 0.2, 0.4])
def test_it_is_rounded_up_and_not_by_much(total):
    variation = Variation.of(1, total)
    for epsilon in (0.0, 0.1, 0.3):
        told, truth = central_delta(variation, 18, epsilon), exact(variation, 18, epsilon)
        assert truth * (1 - 1e-9) <= told <= 1.00001 * truth + 1e-12
    assert central_delta(variation, 1, 0.0) == pytest.approx(total, rel=1e-4)


def test_blocks_of_many_people_cost_little():
    """Of 201 people c is put into blocks, of 200 it is not: one person more hides as much as before, or nearly."""
    few, many = (central_epsilon(Variation.of(1, 0.15), n, 1e-3) for n in (200, 201))
    assert 0.99 * few < many < 1.03 * few


def test_more_people_less_variation_and_more_delta_hide_better():
    base = central_epsilon(Variation.of(1, 0.3), 1000, 1e-6)
    assert central_epsilon(Variation.of(1, 0.3), 2000, 1e-6) < base
    assert central_epsilon(Variation.of(1, 0.2), 1000, 1e-6) < base
    assert central_epsilon(Variation.of(1, 0.3), 1000, 1e-4) < base
    assert central_epsilon(Variation.of(0.5), 1000, 1e-6) < base
    assert central_epsilon(Variation.of(1), 1, 1e-9) == pytest.approx(1, rel=1e-3)
    assert central_delta(Variation.of(1), 1000, 1.01) == 0


@pytest.mark.parametrize(("n", "delta"), [(0, 1e-6), (2.5, 1e-6), (10, 0.0), (10, 1.0)])
def test_what_cannot_be_is_refused(n, delta):
    with pytest.raises(BudgetError):
        central_epsilon(Variation.of(1), n, delta)
