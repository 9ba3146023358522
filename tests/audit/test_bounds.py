"""Exact checks of the confidence bounds: every outcome is enumerated, nothing is sampled."""

import math

import numpy as np
import pytest
from scipy.stats import binom

from discreet.audit import AuditError, Hits, clopper_pearson_lower, clopper_pearson_upper
from discreet.audit.bounds import look_share


def test_closed_forms_at_the_ends():
    assert clopper_pearson_lower(0, 50, 0.01) == 0.0
    assert clopper_pearson_upper(50, 50, 0.01) == 1.0
    assert clopper_pearson_lower(50, 50, 0.01) == pytest.approx(0.01 ** (1 / 50), rel=1e-12)
    assert clopper_pearson_upper(0, 50, 0.01) == pytest.approx(1 - 0.01 ** (1 / 50), rel=1e-12)


@pytest.mark.parametrize("alpha", [0.05, 0.001])
@pytest.mark.parametrize("trials", [1, 7, 40])
def test_coverage_by_enumeration(trials, alpha):
    hits = np.arange(trials + 1)
    lower = np.array([clopper_pearson_lower(h, trials, alpha) for h in hits])
    upper = np.array([clopper_pearson_upper(h, trials, alpha) for h in hits])
    tightest = 0.0
    for p in [0.9 * alpha, 0.9 * alpha / trials, *np.linspace(0.001, 0.999, 333)]:
        mass = binom.pmf(hits, trials, p)
        missed = mass[lower > p].sum()
        assert missed <= alpha + 1e-12
        assert mass[upper < p].sum() <= alpha + 1e-12
        tightest = max(tightest, missed)
    # A bound that never misses would pass the above and be useless.
    assert tightest > alpha / 2


@pytest.mark.parametrize("delta", [0.0, 0.1])
@pytest.mark.parametrize("epsilon", [0.0, 0.5, 2.0])
def test_bound_on_epsilon_is_valid_by_enumeration(epsilon, delta):
    trials, alpha = 30, 0.2
    hits = np.arange(trials + 1)
    bound = np.array([[Hits(h, trials, k, trials).epsilon_lower(alpha, delta) for k in hits] for h in hits])
    worst = 0.0
    for q in np.linspace(0.01, 1, 60):
        p = math.exp(epsilon) * q + delta
        if p > 1:
            continue
        joint = np.outer(binom.pmf(hits, trials, p), binom.pmf(hits, trials, q))
        worst = max(worst, joint[bound > epsilon].sum())
    assert 0 < worst <= alpha


def test_delta_is_taken_off_before_the_ratio():
    hits = Hits(900, 1000, 300, 1000)
    assert hits.epsilon_lower(0.05, 0.2) < hits.epsilon_lower(0.05)
    assert hits.epsilon_lower(0.05, 0.95) == 0.0
    low, high = clopper_pearson_lower(900, 1000, 0.025), clopper_pearson_upper(300, 1000, 0.025)
    assert hits.epsilon_lower(0.05, 0.2) == pytest.approx(math.log((low - 0.2) / high))


def test_looks_share_one_level():
    assert sum(look_share(k) for k in range(1, 10_000)) == pytest.approx(1, abs=1e-3)
    assert sum(look_share(k) for k in range(1, 10_000)) < 1


@pytest.mark.parametrize("counts", [(-1, 10, 0.1), (11, 10, 0.1), (0, 0, 0.1), (1, 10, 0.0), (1, 10, 1.0)])
def test_nonsense_is_refused(counts):
    with pytest.raises(AuditError):
        clopper_pearson_lower(*counts)
