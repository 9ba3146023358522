"""As-published methods: the constants the paper prints, and the plain word that they are not private."""

import math
from fractions import Fraction

import numpy as np
import pytest

from discreet import Categorical, Numeric, Schema
from discreet_studies.methods import Setting
from discreet_studies.published import Record
from discreet_studies.published.trimmed_replace import literal_bound, square_bound, trimmed, width_bound
from discreet_studies.published.zafarani2021 import (
    METHODS,
    Access,
    algorithm1_curve,
    fit_algorithm1,
    fit_vaidya,
    vaidya_curve,
)

SCHEMA = Schema([Numeric("x", 0, 10), Categorical("c", [0, 1, 2])], "y", [0, 1])


@pytest.fixture(scope="module")
def rows():
    rng = np.random.default_rng(3)
    y = rng.integers(0, 2, 2000)
    X = np.column_stack([np.clip(rng.normal(3 + 4 * y, 1), 0, 10), (y + rng.integers(0, 2, 2000)) % 3])
    return X, y


class Noise:
    """A generator whose every draw is one, so that results show the scale."""

    def standard_cauchy(self):
        return 1.0

    standard_normal = standard_cauchy

    def laplace(self, location, scale, size):
        return np.full(size, scale)


@pytest.mark.parametrize("cut", [0, 1, 3])
@pytest.mark.parametrize("power", [1, 2])
def test_the_quick_bound_is_the_literal_one(cut, power):
    rng = np.random.default_rng(cut)
    for size in (7, 20, 60):
        for beta in (0.01, 0.3, 2.0):
            for x in (np.sort(rng.random(size)), np.sort(rng.integers(0, 4, size) / 8), np.full(size, 0.25)):
                assert width_bound(x, cut, beta, power) == pytest.approx(literal_bound(x, cut, beta, power))


def test_the_bounds_hold_for_every_neighbour():
    """Replace one value of every small sample: the statistic moves by no more than the bound, the bound by e^β."""
    from itertools import combinations_with_replacement

    grid, beta, cut = np.array([0.0, 0.25, 1.0]), 0.4, 1
    samples = {key: np.array(key) for key in combinations_with_replacement(grid, 5)}

    def bounds(x):
        return width_bound(x, cut, beta, 1) / (len(x) - 2 * cut), square_bound(x, cut, beta)

    for x in samples.values():
        for spot in range(5):
            for value in grid:
                other = np.sort(np.concatenate([np.delete(x, spot), [value]]))
                (mean, square), (mean2, square2) = bounds(x), bounds(other)
                a, b = trimmed(x, cut), trimmed(other, cut)
                assert abs(a.mean() - b.mean()) <= mean + 1e-12
                assert abs(a.var() - b.var()) <= square + 1e-12
                assert mean <= math.exp(beta) * mean2 + 1e-12
                assert square <= math.exp(beta) * square2 + 1e-12


def test_the_plain_mean_gains_nothing():
    x = np.full(100, 0.5)
    assert width_bound(x, 0, 0.01, 1) == pytest.approx(math.exp(-0.01))  # next to the whole range
    assert width_bound(x, 20, 0.5, 1) < 0.01  # trimming is what helps


def test_algorithm_1_scales_by_root_two_over_epsilon():
    x, access = np.sort(np.random.default_rng(0).random(40)), Access(0.5, 0.0)
    mean, deviation = algorithm1_curve(x, access, Noise(), noise="cauchy", trim=Fraction(1, 10))
    window = x[4:36]
    scale = math.sqrt(2) / 0.5
    assert mean == pytest.approx(window.mean() + scale * width_bound(x, 4, 0.5, 1) / 32)
    # The deviation carries the variance's bound, as line 15 has it.
    assert deviation == pytest.approx(window.std() + scale * square_bound(x, 4, 0.5))


def test_vaidya_scales_by_the_printed_sensitivities():
    x = np.linspace(0, 1, 99)
    mean, deviation = vaidya_curve(x, Access(0.2, 0.0), Noise())
    assert mean == pytest.approx(x.mean() + 5 / 100)
    assert deviation == pytest.approx(x.std() + 5 * math.sqrt(99) / 100)


@pytest.mark.parametrize("method", METHODS, ids=lambda method: method.name)
def test_with_a_large_budget_all_of_them_learn(method, rows):
    X, y = rows
    setting = Setting(SCHEMA, 1e6, 1e-4, len(y), seed=1)
    scores = method.fit(setting, X, y)(X)
    assert (scores.argmax(axis=1) == y).mean() > 0.95
    assert not method.private
    assert "two classes" in method.reason


def test_a_model_says_that_it_is_not_private(rows):
    X, y = rows
    setting = Setting(SCHEMA, 1.0, 0.0, len(y), seed=1)
    for model in (fit_algorithm1(setting, X, y), fit_vaidya(setting, X, y)):
        record = model.record.to_dict()
        assert record["private"] is False
        assert record["simulation"] is True
        assert "known" in record["reason"]
    again = fit_algorithm1(setting, X, y)
    assert (again.scores(X) == fit_algorithm1(setting, X, y).scores(X)).all()
    with pytest.raises(ValueError, match="not private"):
        Record("p", 1.0, 0.0, "some reason", private=True)
    with pytest.raises(ValueError, match="not private"):
        Record("p", 1.0, 0.0, "")


def test_an_empty_class_is_no_obstacle(rows):
    X, y = rows
    setting = Setting(SCHEMA, 1.0, 1e-5, len(y), seed=1)
    for method in METHODS:
        assert np.isfinite(method.fit(setting, X[y == 0], y[y == 0])(X)).all()
