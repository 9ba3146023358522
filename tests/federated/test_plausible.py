"""Plausibility: tail bounds against exact laws, honest updates pass, lies are refused."""

import math
from dataclasses import replace

import numpy as np
import pytest

from discreet import Budget, UpdateError
from discreet.federated import Aggregate, Refusal
from discreet.federated.plausible import limits, tail
from discreet.nodes.settings import Settings, node_plan
from tests.federated.common import SCHEMA, SETTINGS, update
from tests.laws import gaussian_log_pmf, laplace_log_pmf


def exact_tail(item, count, threshold):
    """P(sum of `count` noises > threshold) by convolution."""
    reach = 400
    points = np.arange(-reach, reach + 1)
    law = laplace_log_pmf if item.charge.measure == "epsilon" else gaussian_log_pmf
    one = np.exp(law(points, float(item.charge.spread)))
    total = one
    for _ in range(count - 1):
        total = np.convolve(total, one)
    spots = np.arange(len(total)) - reach * count
    return total[spots > threshold].sum()


@pytest.mark.parametrize("delta", [0, 1e-3])
@pytest.mark.parametrize("count", [1, 2, 5])
@pytest.mark.parametrize("rate", [1e-2, 1e-4, 1e-6])
def test_tails_hold_and_are_not_idle(delta, count, rate):
    plan = node_plan(SCHEMA, Settings(), Budget(4, delta), "auto")
    item = plan.items[0]
    bound = tail([(item, count, 1)], rate)
    assert exact_tail(item, count, bound) <= rate
    # Half the threshold must not do: a bound that nothing reaches would refuse no lie either.
    assert exact_tail(item, count, bound / 2) > rate


def test_without_noise_there_is_no_slack():
    plan = node_plan(SCHEMA, Settings(), Budget(math.inf), "auto")
    assert limits(plan).declared == 1
    assert set(limits(plan).below.values()) == {0.0}


@pytest.mark.parametrize("settings", SETTINGS)
@pytest.mark.parametrize(("epsilon", "delta"), [(0.05, 0), (1.0, 0), (1.0, 1e-6), (math.inf, 0)])
def test_honest_updates_are_never_refused(settings, epsilon, delta):
    """Each is refused with probability 1e-9 at most, so that all of them pass but once in a million runs."""
    aggregate = Aggregate(SCHEMA, most_rows=200)
    for seed in range(15):
        for size in (0, 3, 200):
            aggregate.add(update(f"{seed}-{size}", epsilon, size, seed, noise=seed, delta=delta, **settings))


def lying(honest, key, change):
    values = dict(honest.values)
    values[key] = np.asarray(change(values[key].copy()))
    return replace(honest, values=values)


def reason(one, **options):
    with pytest.raises(UpdateError) as caught:
        Aggregate(SCHEMA, **options).add(one)
    return caught.value.reason


def test_lies_are_implausible():
    tables, moments = update(noise=1), update(noise=1, numeric="gaussian", split="equal")
    assert reason(lying(tables, ("table", "c"), lambda t: t - 500)) == Refusal.IMPLAUSIBLE
    assert reason(lying(tables, ("table", "c"), lambda t: t + 5000)) == Refusal.IMPLAUSIBLE
    assert reason(lying(moments, ("sum", "x"), lambda t: t * 100 + 10**9)) == Refusal.IMPLAUSIBLE
    assert reason(lying(moments, ("square", "x"), lambda t: t + 10**13)) == Refusal.IMPLAUSIBLE
    assert reason(replace(tables, rows=100_000)) == Refusal.IMPLAUSIBLE
    assert reason(update(noise=1, epsilon=20.0), most_rows=10) == Refusal.IMPLAUSIBLE
    largest = lying(tables, ("table", "c"), lambda t: t * 0 + 2**62)
    assert reason(largest) == Refusal.IMPLAUSIBLE


def test_a_lie_just_beyond_the_noise_is_found_and_one_within_it_is_not():
    honest = update(noise=1)
    item = next(item for item in honest.plan(SCHEMA).items if item.key == ("table", "c"))
    edge = limits(honest.plan(SCHEMA)).below[item.key]

    def bent(amount):
        return lying(honest, item.key, lambda t: np.where(np.arange(t.size).reshape(t.shape) == 0, amount, t))

    assert reason(bent(-math.ceil(edge) - 1)) == Refusal.IMPLAUSIBLE
    Aggregate(SCHEMA).add(bent(-math.floor(edge / 2)))
