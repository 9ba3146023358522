"""Simulation: the law of summed noise, secure shares, partitions, and statistics of parts."""

import itertools
import math

import numpy as np
import pytest
from scipy import stats

from discreet import Budget, BudgetError, DataError, collect, sources
from discreet.nodes.partition import assign
from discreet.nodes.settings import Settings, node_plan
from discreet_studies.giaretta2022.simulate import Secure, noised_stack, summed_releases
from discreet_studies.giaretta2022.sums import discrete_gaussian_sum, discrete_laplace_sum
from tests.federated.common import SCHEMA, rows
from tests.laws import laplace_log_pmf

ALARM = 1e-7  # the false-alarm rate of each sampled check


def convolved(scale, count, reach=600):
    one = np.exp(laplace_log_pmf(np.arange(-reach, reach + 1), scale))
    total = one
    for _ in range(count - 1):
        total = np.convolve(total, one)
    return np.arange(len(total)) - reach * count, total


def fits(draws, points, law):
    """The p-value of a chi-square test with cells of at least 50 expected draws."""
    expected = law * len(draws)
    edges, held = [], 0.0
    for point, share in zip(points, expected, strict=True):
        held += share
        if held >= 50:
            edges.append(point)
            held = 0.0
    cuts = [-np.inf, *(edge + 0.5 for edge in edges[:-1]), np.inf]
    seen = np.histogram(draws, cuts)[0]
    wanted = np.array([expected[(points > low) & (points <= high)].sum() for low, high in itertools.pairwise(cuts)])
    return stats.chisquare(seen, wanted * seen.sum() / wanted.sum()).pvalue


@pytest.mark.parametrize("count", [2, 5, 20])
def test_a_sum_of_laplace_noises_has_its_exact_law_and_no_other(count):
    rng = np.random.default_rng(count)
    draws = discrete_laplace_sum(200_000, 3.0, count, rng=rng)
    assert fits(draws, *convolved(3.0, count)) > ALARM
    for wrong in (3.0 * 1.3, 3.0 * 0.7):
        assert fits(draws, *convolved(wrong, count)) < ALARM


def test_shares_add_up_to_one_noise():
    rng = np.random.default_rng(0)
    shares = [discrete_laplace_sum(100_000, 3.0, 1 / 8, rng=rng) for _ in range(8)]
    assert fits(sum(shares), *convolved(3.0, 1)) > ALARM
    assert fits(sum(shares[:7]), *convolved(3.0, 1)) < ALARM


def test_large_scales_keep_their_variance():
    rng = np.random.default_rng(1)
    for scale in (1e6, 1e13, 1e15):
        draws = discrete_laplace_sum(40_000, scale, 100, rng=rng).astype(float)
        assert draws.std() == pytest.approx(scale * math.sqrt(200), rel=0.03)
    assert not discrete_laplace_sum(100, 1e-4, 5, rng=rng).any()


def test_gaussian_sums_are_drawn_noise_by_noise():
    draws = discrete_gaussian_sum(50_000, 9.0, 40, rng=np.random.default_rng(2)).astype(float)
    assert draws.std() == pytest.approx(math.sqrt(360), rel=0.02)
    assert abs(draws.mean()) < 6 * math.sqrt(360 / 50_000)


@pytest.mark.parametrize("numeric", ["histogram", "gaussian"])
def test_parts_count_what_sources_count(numeric):
    X, y = rows(500, 3)
    detail = ("bins",) if numeric == "histogram" else ("moments",)
    where = assign(np.zeros(500, np.int64), 6, "exponential", rng=np.random.default_rng(0))
    parts = sources.open(X, SCHEMA, y).held().parts(where, 6, detail)
    assert len(parts) == 6
    for node in range(6):
        wanted = collect(X[where == node], SCHEMA, y[where == node], detail=detail, empty=True)
        assert parts.statistics(node) == wanted


def test_bad_rows_are_named_as_everywhere():
    X, y = rows(20, 0)
    X[3, 2] = np.inf
    with pytest.raises(DataError, match="infinite"):
        sources.open(X, SCHEMA, y).held()
    X, y = rows(20, 0)
    X[3, 0] = "s"
    with pytest.raises(DataError, match="'s'"):
        sources.open(X, SCHEMA, y).held()
    X, y = rows(20, 0)
    X[3, 2] = np.nan
    with pytest.raises(DataError, match="missing"):
        sources.open(X, SCHEMA, y).held()


def variances(releases):
    values = np.array([np.concatenate([np.ravel(v) for v in one.values.values()]) for one in releases], dtype=float)
    return values.var(axis=0).mean()


@pytest.mark.parametrize("numeric", ["histogram"])
def test_noise_of_n_nodes_and_of_shares(numeric):
    X, y = rows(300, 1)
    plan = node_plan(SCHEMA, Settings(numeric=numeric), Budget(1), "auto")
    exact = collect(X, SCHEMA, y, detail=plan.detail)
    rng = np.random.default_rng(7)
    one, many, secure, feared = (
        variances(list(summed_releases(exact, [plan] * n, 800, rng=rng, secure=s)))
        for n, s in ((1, None), (50, None), (50, Secure(50, 50)), (50, Secure(50, 25)))
    )
    assert many == pytest.approx(50 * one, rel=0.15)
    assert secure == pytest.approx(one, rel=0.15)
    assert feared == pytest.approx(2 * one, rel=0.15)


def test_a_release_knows_its_noise():
    X, y = rows(300, 1)
    few, many = (node_plan(SCHEMA, Settings(), Budget(e), "auto") for e in (1, 3))
    exact = collect(X, SCHEMA, y, detail=few.detail)
    rng = np.random.default_rng(0)
    release = next(summed_releases(exact, [few, many, many], 1, rng=rng))
    item = release.plan.items[0]
    assert release.variance(item) == pytest.approx(few.items[0].variance + 2 * many.items[0].variance)
    assert release.simulation
    with pytest.raises(BudgetError, match="same budget"):
        next(summed_releases(exact, [few, many], 1, rng=rng, secure=Secure(2, 2)))
    gaussian = node_plan(SCHEMA, Settings(), Budget(1, 1e-6), "auto")
    with pytest.raises(BudgetError, match="Laplace"):
        next(summed_releases(exact, [gaussian] * 3, 1, rng=rng, secure=Secure(3, 2)))
    with pytest.raises(BudgetError, match="honest"):
        Secure(3, 4)


def test_a_stack_without_noise_adds_up_to_the_whole():
    X, y = rows(300, 1)
    plan = node_plan(SCHEMA, Settings(numeric="gaussian"), Budget(math.inf), "auto")
    rng = np.random.default_rng(0)
    parts = sources.open(X, SCHEMA, y).held().parts(assign(np.zeros(300, np.int64), 9, rng=rng), 9, plan.detail)
    stack = noised_stack(parts, [plan] * 9, rng=rng)
    whole = next(summed_releases(collect(X, SCHEMA, y, detail=plan.detail), [plan], 1, rng=rng))
    for key, values in stack.sum().values.items():
        assert np.array_equal(values, whole.values[key])
