"""Lying nodes: what they do to push-sum, and what the robust rules hold against them."""

import numpy as np
import pytest

from discreet.errors import BudgetError
from discreet_studies.giaretta2022.gossip.liars import RULES, lying_gossip, step


def error_of(rule, liars, seed=0):
    rng = np.random.default_rng(seed)
    rows = rng.normal(50, 10, (300, 6))
    mask = np.arange(300) < liars
    found = lying_gossip(rows, mask, np.full(6, 5000.0), rule, 40, scale=np.full(6, 10.0), rng=rng)
    return np.abs(np.median(found[~mask], axis=0) - rows[~mask].mean(axis=0)).max()


@pytest.mark.parametrize("rule", RULES)
def test_without_liars_every_rule_is_near_the_average(rule):
    assert error_of(rule, 0) < 5.0


def test_one_liar_moves_a_sum_without_bound_and_a_middle_hardly():
    assert error_of("push-sum", 1) > 100 and error_of("mean", 1) > 100
    for rule in ("clipped", "trimmed", "median"):
        assert error_of(rule, 1) < 5.0
    assert error_of("median", 15) < 8.0


def test_push_sum_in_floats_is_push_sum():
    rng = np.random.default_rng(1)
    rows = rng.normal(0, 1, (50, 3))
    found = lying_gossip(rows, np.zeros(50, bool), np.zeros(3), "push-sum", 120, scale=np.ones(3), rng=rng)
    np.testing.assert_allclose(found, np.tile(rows.mean(axis=0), (50, 1)), atol=1e-9)


def test_steps_by_hand():
    own, pulled = np.array([[0.0]]), np.array([[[1.0], [2.0], [100.0]]])
    clip = np.array([4.0])
    assert step(own, pulled, "mean", clip)[0, 0] == pytest.approx(103 / 4)
    assert step(own, pulled, "median", clip)[0, 0] == pytest.approx(1.5)
    assert step(own, pulled, "trimmed", clip)[0, 0] == pytest.approx(1.5)
    assert step(own, pulled, "clipped", clip)[0, 0] == pytest.approx((1 + 2 + 4) / 4)


def test_an_unknown_rule_is_refused():
    with pytest.raises(BudgetError, match="rule"):
        lying_gossip(np.ones((3, 1)), np.zeros(3, bool), np.zeros(1), "shout", 1, scale=np.ones(1),
                     rng=np.random.default_rng(0))  # fmt: skip
