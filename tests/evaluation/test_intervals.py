"""Intervals: they hold what they say, at few rows and many, and no count whatever breaks them."""

import functools
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy.stats import binom
from sklearn.metrics import roc_auc_score

from discreet import Categorical, Numeric, PrivateNB, PrivateTreeClassifier, Schema
from discreet.evaluation import evaluate_privately
from discreet.evaluation.exact import evaluate
from discreet.evaluation.figures import figures
from discreet.evaluation.intervals import Level, count, mean, ordering, share
from discreet.evaluation.plan import make_evaluation_plan
from discreet.evaluation.release import NoisyTable, add_noise, count_rows
from discreet.mechanisms.noise import SimulationSampler, discrete_laplace, laplace_variance
from discreet.privacy.budget import Adjacency, Budget

SURE = Level(0.95)
SCHEMA = Schema([Categorical("a", range(8)), Numeric("x", -5, 5)], "y", [0, 1])


def at_least(hits, trials, chance):
    """Whether hits of so many trials are consistent with a chance; wrong with odds below 1e-8."""
    return binom.cdf(hits, trials, chance) > 1e-8


@pytest.mark.parametrize(("rows", "right"), [(0, 0), (5, 4), (40, 30), (400, 396), (5000, 3500)])
@pytest.mark.parametrize("scale", [1.0, 5.0])
def test_shares_are_held(rows, right, scale):
    rng, trials, variance = np.random.default_rng(3), 1500, laplace_variance(scale)
    own = right + discrete_laplace(trials * 4, scale, rng=rng).reshape(-1, 4).sum(1)
    other = rows - right + discrete_laplace(trials * 4, scale, rng=rng).reshape(-1, 4).sum(1)
    found = [share(float(a), float(a + b), (4, 4), variance, SURE) for a, b in zip(own, other, strict=True)]
    truth = right / rows if rows else 0.5
    assert at_least(sum(one.noise_low <= truth <= one.noise_high for one in found), trials, 0.95)
    # and not by saying nothing: many rows give a narrow interval
    if rows == 5000:
        assert np.mean([one.noise_high - one.noise_low for one in found]) < 2.2 * 1.96 * math.sqrt(8 * variance) / rows


@pytest.mark.parametrize(("rows", "scale"), [(60, 1.0), (600, 5.0), (6000, 5.0)])
def test_auc_is_held_on_these_rows_and_for_the_population(rows, scale):
    rng, trials, variance = np.random.default_rng(5), 600, laplace_variance(scale)
    bins, half = 14, np.full(14, 0.5)
    first, second = (np.exp(-((np.arange(bins) - m) ** 2) / 12) for m in (5.0, 8.0))
    first, second = first / first.sum(), second / second.sum()
    order = np.tri(bins, k=-1) + 0.5 * np.eye(bins)
    true = second @ order @ first
    here = drawn = 0
    for _ in range(trials):
        n, p = rng.multinomial(rows, first), rng.multinomial(rows // 3, second)
        exact = p @ order @ n / (n.sum() * p.sum())
        noisy = [c + discrete_laplace(bins, scale, rng=rng) for c in (p, n)]
        found = ordering(*(one.astype(float) for one in noisy), half, variance, SURE)
        here += found.noise_low <= exact <= found.noise_high
        drawn += found.low <= true <= found.high
    assert at_least(here, trials, 0.95) and at_least(drawn, trials, 0.95)


@pytest.mark.parametrize(("rows", "epsilon"), [(10, 10), (40, 10), (200, 10), (200, 5)])
def test_auc_of_few_rows_with_little_noise_is_held(rows, epsilon):
    """The order of these rows within a bin is hidden, and with little noise that is nearly all there is to err by."""
    rng, trials, here, right = np.random.default_rng(rows), 120, 0, 0
    model, (plan, sampler) = continuous(), (plan_of(epsilon), SimulationSampler(rows))
    for _ in range(trials):
        truth = np.concatenate([[0, 1], rng.integers(0, 2, rows - 2)])
        X = np.column_stack([np.zeros(rows), np.clip(rng.normal(truth, 1.2), -5, 5)])
        exact = evaluate(model, X, truth)
        tables = add_noise(count_rows(model, plan, X, truth), plan, sampler)
        found = figures(tables, plan, model.schema, probabilistic=True, confidence=0.95)
        here += found.auc.noise_low <= exact["auc"] <= found.auc.noise_high
        right += found.auc.noise_high - found.auc.noise_low < 0.15
    assert at_least(here, trials, 0.95) and right > 0.9 * trials


@functools.cache
def continuous():
    fine = Schema([Categorical("a", range(8)), Numeric("x", -5, 5, bins=200)], "y", [0, 1])
    rng = np.random.default_rng(1)
    truth = rng.integers(0, 2, 20_000)
    X = np.column_stack([np.zeros(20_000), np.clip(rng.normal(truth, 1.2), -5, 5)])
    return PrivateNB(math.inf, schema=fine, numeric="gaussian").fit(X, truth).model_


def plan_of(epsilon):
    return make_evaluation_plan(continuous(), Budget(epsilon), adjacency=Adjacency.ADD_REMOVE)


def test_only_bins_with_several_scores_hide_an_order():
    assert not small_plan().scales[0].mixed().any()
    assert plan_of(1).scales[0].mixed().sum() > 10
    own, other, half = np.full(4, 5.0), np.full(4, 5.0), np.full(4, 0.5)
    tied = ordering(own, other, half, 0.0, SURE, np.zeros(4, bool))
    open_ = ordering(own, other, half, 0.0, SURE, np.ones(4, bool))
    assert tied.noise_high - tied.noise_low < 1e-6
    assert open_.noise_high - 0.5 == pytest.approx(1.96 * math.sqrt(4 * 25 * 11 / 12) / 400, rel=0.05)


@pytest.mark.parametrize("rows", [5, 10, 30])
def test_shares_of_few_rows_hold_the_population(rows):
    """Exactly, for every chance: at least 0.95 everywhere; without the half row it is 0.86 at worst."""
    held = [share(float(k), float(rows), (1, 1), 0.0, SURE) for k in range(rows + 1)]
    chances = np.linspace(0.02, 0.98, 97)
    cover = [sum(binom.pmf(k, rows, p) for k, one in enumerate(held) if one.low <= p <= one.high) for p in chances]
    assert min(cover) > 0.95


def test_half_the_noise_variance_would_be_seen():
    """The check above can fail: intervals for half the noise do not hold."""
    rng, trials = np.random.default_rng(3), 1500
    own = 3500 + discrete_laplace(trials * 4, 5.0, rng=rng).reshape(-1, 4).sum(1)
    other = 1500 + discrete_laplace(trials * 4, 5.0, rng=rng).reshape(-1, 4).sum(1)
    short = laplace_variance(2.5)
    hits = sum(
        one.noise_low <= 0.7 <= one.noise_high
        for one in (share(float(a), float(a + b), (4, 4), short, SURE) for a, b in zip(own, other, strict=True))
    )
    assert not at_least(hits, trials, 0.95)


@functools.cache
def small_plan():
    model = PrivateNB(math.inf, schema=SCHEMA).fit(np.array([[0, -1.0], [1, 1.0]]), [0, 1]).model_
    return make_evaluation_plan(model, Budget(1), adjacency=Adjacency.ADD_REMOVE)


@given(arrays(np.float64, (2, 9), elements=st.integers(-(10**6), 10**6)), st.sampled_from([0.0, 0.5, 50.0, 1e9]))
@settings(max_examples=150, deadline=None)
def test_no_count_breaks_a_figure(counts, variance):
    plan = small_plan()
    bins = plan.scales[0].bins
    table = np.resize(counts, (2, bins))
    found = figures([NoisyTable(table, variance)], plan, SCHEMA, probabilistic=True, confidence=0.95)
    for one in (found.accuracy, found.balanced_accuracy, found.auc, *found.recall):
        assert 0 <= one.low <= one.noise_low <= one.value <= one.noise_high <= one.high <= 1


def test_without_noise_the_figures_are_the_exact_ones():
    rng = np.random.default_rng(0)
    truth = rng.integers(0, 2, 3000)
    X = np.column_stack([np.clip(rng.integers(0, 6, 3000) + 2 * truth, 0, 7), rng.normal(truth, 1.0)])
    for kind, reach in ((PrivateTreeClassifier, 1e-9), (PrivateNB, 0.004)):
        model = kind(math.inf, schema=SCHEMA).fit(X, truth).model_
        exact = evaluate(model, X, truth)
        found = evaluate_privately(model, X, truth, epsilon=math.inf)
        assert found.accuracy.value == pytest.approx(exact["accuracy"], abs=1e-12)
        assert found.balanced_accuracy.value == pytest.approx(exact["balanced_accuracy"], abs=1e-12)
        assert found.auc.value == pytest.approx(exact["auc"], abs=reach)
        assert found.accuracy.noise_low == pytest.approx(found.accuracy.noise_high, abs=1e-6)
        assert found.accuracy.low < exact["accuracy"] < found.accuracy.high
        assert [[round(c.value) for c in row] for row in found.confusion] == exact["confusion"]
        assert not found.certificate.private


def test_three_classes_are_held():
    schema = Schema(SCHEMA.features, "y", [0, 1, 2])
    rng = np.random.default_rng(0)
    truth = rng.integers(0, 3, 6000)
    X = np.column_stack([np.clip(rng.integers(0, 5, 6000) + truth, 0, 7), rng.normal(truth, 1.0)])
    model = PrivateNB(math.inf, schema=schema).fit(X, truth).model_
    exact = evaluate(model, X, truth)
    plan = make_evaluation_plan(model, Budget(0.5), adjacency=Adjacency.ADD_REMOVE)
    tables, sampler, trials = count_rows(model, plan, X, truth), SimulationSampler(2), 150
    found = [
        figures(add_noise(tables, plan, sampler), plan, schema, probabilistic=True, confidence=0.95)
        for _ in range(trials)
    ]
    for name in ("accuracy", "balanced_accuracy", "auc"):
        hits = sum(getattr(f, name).noise_low <= exact[name] <= getattr(f, name).noise_high for f in found)
        assert at_least(hits, trials, 0.95), name
    assert np.mean([f.auc.high - f.auc.low for f in found]) < 0.08


def test_ties_stay_ties_and_order_within_bins_is_guessed():
    """A model with few scores has exact areas; with many, the slope in the counts fills in what bins hide."""
    rng = np.random.default_rng(0)
    truth = rng.integers(0, 2, 20_000)
    X = np.column_stack([np.zeros(20_000), np.clip(rng.normal(1.5 * truth, 1.0), -5, 5)])
    fine = Schema([Categorical("a", range(8)), Numeric("x", -5, 5, bins=60)], "y", [0, 1])
    model = PrivateNB(math.inf, schema=fine).fit(X, truth).model_
    scores = model.predict_joint_log_proba(X)
    exact = roc_auc_score(truth, scores[:, 1] - scores[:, 0])
    plan = make_evaluation_plan(model, Budget(1), adjacency=Adjacency.ADD_REMOVE)
    (table,) = count_rows(model, plan, X, truth)
    chord = ordering(*table[::-1].astype(float), np.full(plan.scales[0].bins, 0.5), 0.0, SURE).value
    filled = evaluate_privately(model, X, truth, epsilon=math.inf).auc.value
    assert abs(filled - exact) < 0.25 * abs(chord - exact)


def test_means_of_what_is_not_known_are_not_known():
    nothing = share(-3.0, -2.0, (2, 2), 1.0, SURE)
    assert (nothing.low, nothing.value, nothing.high) == (0.0, 0.5, 1.0)
    both = mean([nothing, nothing], apart=True)
    assert (both.low, both.high) == (0.0, 1.0)
    known = share(900.0, 1000.0, (2, 2), 1.0, SURE)
    half = mean([known, nothing], apart=True)
    assert half.low <= 0.45 and half.high >= 0.95
    assert count(-4.0, 3, 2.0, SURE).value == 0
