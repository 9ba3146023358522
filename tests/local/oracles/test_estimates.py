"""Estimates: unbiased, with the variance of the closed form, from reports and from the law of their sum.

Sums over thousands of reports are taken as normal. Each mean stays within 6.5 deviations (8e-11 each, 1,500 of them).
The mean of R·d squared scores is held against the bounds of Laurent and Massart at e^−18 for R·d/2 degrees of freedom,
half of what there are, since scores of one run depend on each other. Together below 1e-6; a variance that is off by
30 % is outside the bounds.
"""

from __future__ import annotations

import math

import numpy as np
import pytest

from discreet.local.oracles import HadamardResponse
from tests.local.oracles.common import KINDS

CASES = [(2, 0.5), (7, 1.0), (33, 3.0)]
RUNS = {2: 1600, 7: 500, 33: 120}
PEOPLE = 3_000


def _counts(d: int) -> np.ndarray:
    weights = np.arange(d, 0, -1.0) ** 2
    counts = np.floor(PEOPLE * weights / weights.sum()).astype(int)
    counts[0] += PEOPLE - counts.sum()
    return counts


def variances(oracle, counts: np.ndarray) -> np.ndarray:
    """The closed form for each value."""
    people = int(counts.sum())
    if not isinstance(oracle, HadamardResponse):
        return np.array([oracle.variance(people, n / people) for n in counts])
    blocks = np.bincount(np.arange(oracle.d) % oracle.blocks, weights=counts, minlength=oracle.blocks)
    mates = blocks[np.arange(oracle.d) % oracle.blocks] - counts
    return np.array([oracle.variance(people, n / people, block=k / people) for n, k in zip(counts, mates, strict=True)])


@pytest.mark.parametrize("simulated", [False, True])
@pytest.mark.parametrize(("d", "epsilon"), CASES)
@pytest.mark.parametrize("kind", KINDS)
def test_estimates_are_unbiased_with_the_variance_of_the_closed_form(kind, d, epsilon, simulated) -> None:
    oracle, counts = kind(d, epsilon), _counts(d)
    runs, rng = RUNS[d], np.random.default_rng()
    people = int(counts.sum())
    values = np.repeat(np.arange(d), counts)
    if simulated:
        supports = [oracle.simulate(counts, rng) for _ in range(runs)]
    else:
        reports = oracle.perturb(np.tile(values, runs))
        supports = [oracle.support(part) for part in np.split(reports, runs)]
    estimates = np.array([oracle.estimate(support, people) for support in supports])
    scores = (estimates - counts) / np.sqrt(variances(oracle, counts))
    assert np.abs(scores.mean(axis=0)).max() * math.sqrt(runs) < 6.5
    free = runs * d / 2
    step = math.sqrt(18 / free)
    assert 2 * step + 2 * step**2 < 0.3
    assert 1 - 2 * step < (scores**2).mean() < 1 + 2 * step + 2 * step**2


@pytest.mark.parametrize("kind", KINDS)
def test_an_empty_population_estimates_zero(kind) -> None:
    oracle = kind(5, 1)
    support = oracle.simulate(np.zeros(5, int), np.random.default_rng(0))
    assert oracle.estimate(support, 0).tolist() == [0] * 5
    assert oracle.variance(0) == 0
