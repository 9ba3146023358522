"""Class counts: their noise, their cost, and certificates that add them to a model's own."""

from fractions import Fraction

import numpy as np
import pytest

from discreet import PrivateNB, Schema
from discreet.estimators.counts import ClassCounts, CountPlan, bought_counts, count_charge, noisy_counts
from discreet.features import Categorical
from discreet.mechanisms.noise import sampler_for
from discreet.privacy.budget import Adjacency, Budget

SCHEMA = Schema([Categorical("a", ["x", "y"])], "label", [0, 1])
X, Y = np.array([["x"], ["y"], ["x"]] * 40, dtype=object), np.array([0, 1, 1] * 40)


def test_the_noise_follows_neighbours_and_rows_per_person():
    assert count_charge(Fraction(1, 10)).spread == 10
    assert count_charge(Fraction(1, 10), Adjacency.REPLACE, 3).spread == 60


def test_exact_counts_cost_nothing():
    counts = noisy_counts(np.array([3, 4]), None, sampler_for(0))
    assert counts.values.tolist() == [3, 4] and counts.variance == 0 and counts.charge is None


def test_counts_never_make_a_class_impossible():
    counts = ClassCounts(np.array([-50.0, 900.0]), 100.0, count_charge(Fraction(1)))
    assert counts.shares.min() > 0 and counts.rows == 850
    assert ClassCounts(np.array([-50.0, 9.0]), 1.0, None).rows == 30


def test_unequal_classes_are_as_many_as_so_many_equal_ones():
    def apart(*values):
        return ClassCounts(np.array(values, float), 1.0, None).apart

    assert apart(500, 500, 500) == pytest.approx(3)
    assert 2 < apart(700, 250, 50) < apart(600, 300, 100) < 3
    assert apart(990, 9, 1) == apart(1e6, -50, -50) == 2  # no class is told from itself
    assert apart(900, 100) == 2
    assert apart(90, 9, 1) == apart(-50, -9, -1) == 3  # of few rows noise alone would make some class rare


def bought(epsilon=Fraction(1, 10)):
    charge = count_charge(epsilon)
    plan = CountPlan(SCHEMA, Budget(epsilon), Adjacency.ADD_REMOVE, 1, charge)
    return bought_counts(np.array([40, 80]), plan, sampler_for(0))


def test_the_certificate_of_the_whole_adds_up():
    model = PrivateNB(Fraction(9, 10), schema=SCHEMA, random_state=0).fit(X, Y).model_
    whole = bought().certificate.then(model.certificate)
    assert whole.epsilon_value == 1
    assert sum(Fraction(charge.cost) for charge in whole.charges()) == 1


def test_a_stated_rho_grows_with_the_counts():
    model = PrivateNB(Fraction(9, 10), delta=1e-6, schema=SCHEMA, mechanism="gaussian", random_state=0).fit(X, Y).model_
    whole = bought().certificate.then(model.certificate)
    assert Fraction(whole.rho) == Fraction(model.certificate.rho) + Fraction(1, 200)
    assert whole.delta == model.certificate.delta
