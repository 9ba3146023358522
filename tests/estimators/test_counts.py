"""Class counts: their noise, their cost, and certificates that add them to a model's own."""

from fractions import Fraction

import numpy as np
import pytest

from discreet import PrivateNB, Schema
from discreet.estimators.counts import ClassCounts, count_charge, noisy_counts, with_counts
from discreet.features import Categorical
from discreet.mechanisms.noise import sampler_for
from discreet.privacy.budget import Adjacency

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


def test_the_certificate_of_the_whole_adds_up():
    model = PrivateNB(Fraction(9, 10), schema=SCHEMA, random_state=0).fit(X, Y).model_
    counts = noisy_counts(np.array([40, 80]), count_charge(Fraction(1, 10)), sampler_for(0))
    whole = with_counts(model, counts, 1)
    assert whole.certificate.epsilon_value == 1
    assert sum(Fraction(charge.cost) for charge in whole.certificate.charges()) == 1
    assert whole.predict(X).tolist() == model.predict(X).tolist()
    with pytest.raises(Exception, match="more epsilon"):
        with_counts(model, counts, Fraction(95, 100))


def test_a_stated_rho_grows_with_the_counts():
    model = PrivateNB(Fraction(9, 10), delta=1e-6, schema=SCHEMA, random_state=0).fit(X, Y).model_
    counts = noisy_counts(np.array([40, 80]), count_charge(Fraction(1, 10)), sampler_for(0))
    whole = with_counts(model, counts, 1).certificate
    assert Fraction(whole.rho) == Fraction(model.certificate.rho) + Fraction(1, 200)
    assert "class counts (1/10)" in whole.accounting
