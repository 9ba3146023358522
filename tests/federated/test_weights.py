"""Weights by known noise: their limits, their gain, and what robust aggregation costs and buys."""

import math

import numpy as np
import pytest

from discreet import Budget, Categorical, Numeric, Schema, sources
from discreet.federated import Aggregate
from discreet.federated.robust import groups, liars, robust_estimate
from discreet.federated.stack import Stack
from discreet.federated.weights import factor, sizes, weighted_estimate
from discreet.nodes.members import noise_level
from discreet.nodes.partition import assign
from discreet.nodes.settings import Settings, node_plan
from discreet_studies.giaretta2022.simulate import noised_stack
from tests.federated.common import SCHEMA, update

WIDE = Schema(
    features=[*(Categorical(f"c{i}", range(4)) for i in range(4)), Numeric("x", 0, 10, bins=8)],
    target="y",
    classes=[0, 1],
)


def made_up(size, seed):
    rng = np.random.default_rng(seed)
    y = rng.integers(0, 2, size)
    codes = np.minimum((rng.random((size, 4)) * (3 + y[:, None])).astype(int), 3)
    return np.column_stack([codes, np.clip(rng.normal(4 + 1.5 * y, 1.5), 0, 10)]), y


def accuracy(prior, likelihoods, X, y):
    total = np.tile(prior, (len(y), 1))
    coded = sources.open(X, WIDE, y).held()
    for i, one in enumerate(likelihoods):
        if hasattr(one, "log_prob"):
            total += one.log_prob.T[coded.cells[:, i]]
        else:
            constant, weight, _ = one.constants(WIDE.features[i])
            total += constant - weight * (X[:, [i]] - one.mean) ** 2
    return (total.argmax(axis=1) == y).mean()


def federation(epsilons, seed, numeric="histogram", rows=4000):
    X, y = made_up(rows, seed)
    rng = np.random.default_rng(seed + 1000)
    where = assign(y, len(epsilons), "uniform", rng=rng)
    plans = [node_plan(WIDE, Settings(numeric=numeric), Budget(e), "auto") for e in epsilons]
    return noised_stack(sources.open(X, WIDE, y).held().parts(where, len(plans), plans[0].detail), plans, rng=rng)


def test_the_factor_is_inverse_variance_of_rates():
    rows, sampling, noise = np.array([10.0, 200.0]), 0.25, np.array([8.0, 50.0])
    weight = factor(rows, np.asarray(sampling), noise) * rows
    wanted = 1 / (sampling / rows + noise / rows**2)
    assert weight / weight[0] == pytest.approx(wanted / wanted[0])
    assert factor(rows, np.asarray(sampling), np.zeros(2)).tolist() == [1.0, 1.0]


def test_sizes_are_those_counted_where_noise_is_small():
    stack = federation([100.0] * 5, 0)
    assert sizes(stack)[0] == pytest.approx(stack.counted[0], rel=0.02)


def test_noise_alone_does_not_make_nodes_look_uneven():
    """Equal nodes under noise are drawn together: their sizes spread far less than their noisy counts."""
    stack = federation([0.05] * 40, 0)
    assert sizes(stack)[0].std(axis=0).max() < 0.5 * stack.counted[0].std(axis=0).min()


@pytest.mark.parametrize("numeric", ["histogram", "gaussian"])
def test_equal_nodes_lose_nothing_by_weights(numeric):
    X, y = made_up(4000, 99)
    from discreet.bayes.estimate import estimate

    lost = []
    for seed in range(8):
        stack = federation([0.3] * 100, seed, numeric)
        lost.append(accuracy(*estimate(stack.sum()), X, y) - accuracy(*weighted_estimate(stack)[:2], X, y))
    assert np.mean(lost) < 0.02


@pytest.mark.parametrize("numeric", ["histogram", "gaussian"])
def test_weights_beat_the_sum_where_some_nodes_are_loud(numeric):
    X, y = made_up(4000, 99)
    gains = []
    for seed in range(6):
        stack = federation([10.0] * 5 + [0.01] * 5, seed, numeric)
        from discreet.bayes.estimate import estimate

        plain = accuracy(*estimate(stack.sum()), X, y)
        weighed = accuracy(*weighted_estimate(stack)[:2], X, y)
        gains.append(weighed - plain)
    assert min(gains) > 0
    weights = weighted_estimate(stack)[2]
    assert weights[:5].min() > 20 * weights[5:].max()


def test_equal_nodes_get_equal_weights():
    stack = federation([1.0] * 8, 3)
    weights = weighted_estimate(stack)[2]
    assert weights.max() / weights.min() < 1.6


def test_the_noise_level_follows_noise_and_size():
    quiet, loud = (node_plan(SCHEMA, Settings(), Budget(e), "auto") for e in (10, 0.1))
    assert noise_level(loud, 100) > 50 * noise_level(quiet, 100)
    assert noise_level(loud, 100) == pytest.approx(10 * noise_level(loud, 1000))
    assert noise_level(node_plan(SCHEMA, Settings(), Budget(math.inf), "auto"), 0) == 0


def test_one_stack_whatever_the_way():
    updates = [update(f"n{i}", 1.0, 100, i, noise=i) for i in range(4)]
    aggregate = Aggregate(SCHEMA)
    for one in updates:
        aggregate.add(one)
    stack = Stack.of(aggregate.kept())
    whole = aggregate.release()
    summed = stack.sum()
    for item in whole.plan.items:
        assert np.array_equal(summed.values[item.key], whole.values[item.key])
        assert summed.variance(item) == pytest.approx(whole.variance(item))


def test_groups_hold_everybody_once_and_stand_the_liars():
    stack = federation([1.0] * 23, 0)
    for method in ("trimmed", "median-of-means"):
        dealt = groups(stack, method, 0.2)
        assert sorted(np.concatenate(dealt).tolist()) == list(range(23))
        assert len(dealt) > 2 * liars(23, 0.2)
    assert [liars(n, 0.4) for n in (1, 2, 3, 10)] == [0, 0, 1, 4]


def flipped(stack, nodes):
    """The same stack with some nodes telling every class's statistics as the other's, ten times as loud."""
    values = {key: table.copy() for key, table in stack.values.items()}
    for table in values.values():
        table[nodes] = 10 * table[nodes][:, ::-1]
    return Stack(stack.plan, values, stack.variances)


@pytest.mark.parametrize("method", ["trimmed", "median-of-means"])
@pytest.mark.parametrize("numeric", ["histogram", "gaussian"])
def test_robust_aggregation_stands_liars_that_turn_the_sum_around(method, numeric):
    X, y = made_up(4000, 99)
    from discreet.bayes.estimate import estimate

    stack = federation([5.0] * 20, 1, numeric)
    honest = accuracy(*estimate(stack.sum()), X, y)
    lied = flipped(stack, [0, 1, 2, 3])
    assert accuracy(*estimate(lied.sum()), X, y) < 0.5
    assert accuracy(*robust_estimate(lied, method, 0.2), X, y) > honest - 0.05
    assert accuracy(*robust_estimate(stack, method, 0.2), X, y) > honest - 0.03
