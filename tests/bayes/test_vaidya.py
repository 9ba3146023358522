"""Means and deviations by released class counts: what a fit hands to its draws, and the law of the whole release."""

import numpy as np
import pytest

import discreet.bayes.smooth as staged
from discreet import Budget, BudgetError, Numeric, PrivateNB, Schema, SmoothSettings
from discreet.bayes.plan import make_plan
from discreet.mechanisms.counted import deviation_sensitivity, mean_sensitivity
from discreet.privacy.budget import Adjacency
from tests.exhaustive.smooth_laws import SCHEMA, Laws, one_class, settled

VAIDYA = SmoothSettings(estimator="vaidya")
SMALL = Schema([Numeric("x", 0, 100)], "y", [0, 1])


@pytest.fixture
def coarse(monkeypatch):
    monkeypatch.setattr(staged, "FINE", 8)
    staged._settled.cache_clear()
    yield
    staged._settled.cache_clear()


@pytest.mark.parametrize("adjacency", ["add-remove", "replace"])
def test_every_pair_of_neighbours_stays_within_epsilon(coarse, adjacency):
    plan = make_plan(SCHEMA, Budget(2.0), numeric="gaussian", estimator="vaidya", adjacency=Adjacency(adjacency))
    laws = Laws(plan, 3)
    pairs = one_class(3)
    leaving, entering = (max(laws.loss(*pair[::way]) for pair in pairs) for way in (-1, 1))
    worst = leaving + entering if adjacency == "replace" else max(leaving, entering)
    assert 0.4 * 2 < worst <= 2 + 1e-6
    for item in plan.items[1:]:  # the worst pairs of mean, deviation and count differ: each is held to its own cost
        share = float(item.charge.cost) / (2 if adjacency == "replace" else 1)
        assert 0.6 * share < laws.worst_alone(item.kind, pairs) <= share + 1e-6


def test_noise_follows_the_released_count_and_nothing_else():
    plan = make_plan(SCHEMA, Budget(1.0), numeric="gaussian", estimator="vaidya")
    for outcome, rows in ((-5, 1), (1, 1), (7, 7)):
        found = settled(plan, outcome, (2, 2, 0))
        assert {one.rows for one in found.values()} == {rows}
        assert found == settled(plan, outcome, ())
    half = SCHEMA.numeric[0].lattice.half
    assert mean_sensitivity(half, 7) == 2 * half / 8 and deviation_sensitivity(half, 7) < half


def test_a_fit_learns_and_its_ledger_says_how():
    rng = np.random.default_rng(3)
    y = np.repeat([0, 1], 4000)
    X = np.clip(rng.normal(np.where(y, 65, 35), 10), 0, 100)[:, None]
    fitted = PrivateNB(1.0, schema=SMALL, numeric="gaussian", smooth=VAIDYA, random_state=1).fit(X, y)
    assert (fitted.predict(X) == y).mean() > 0.9
    said = fitted.certificate_.model_dump_json()
    assert "standard deviation of x by class" in said and "rows" in said and "4000" not in said
    assert "Laplace noise by the public bounds and class counts" in said


@pytest.mark.parametrize("more", [{"noise": "cauchy"}, {"trim": 3}, {"spread": "buy"}, {"sensitivity": "auto"}])
def test_nothing_about_it_can_be_chosen(more):
    with pytest.raises(BudgetError, match="leave sensitivity, noise, trim and spread out"):
        PrivateNB(1.0, schema=SMALL, numeric="gaussian", smooth=SmoothSettings(estimator="vaidya", **more)).plan()
