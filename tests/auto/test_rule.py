"""The rule: what decides, what cannot, and that it says why."""

import math

import numpy as np
import pytest

from discreet import Categorical, Numeric, Schema
from discreet.auto import choose
from discreet.estimators.counts import ClassCounts
from discreet.kinds import kinds
from discreet.privacy.budget import Adjacency


def wide(classes=2, features=10, categories=4):
    return Schema([Categorical(f"c{j}", list(range(categories))) for j in range(features)], "y", list(range(classes)))


def few(features=3, classes=2):
    return Schema([Numeric(f"x{j}", 0, 1) for j in range(features)], "y", list(range(classes)))


def counts(rows, classes=2):
    return ClassCounts(np.full(classes, rows / classes), 1.0, None)


def model(schema, rows, epsilon, **settings):
    return choose(schema, counts(rows, len(schema.classes)), epsilon, **settings).model


def test_little_support_means_counting():
    assert model(wide(features=6), 100, 0.1) == "naive-bayes"
    assert model(wide(classes=4, features=6), 100, 0.1) == "naive-bayes"


def test_much_support_means_fitting():
    assert model(wide(), 100_000, 1.0) == "additive"


def test_a_few_numbers_and_many_rows_fill_a_grid():
    assert model(few(), 200_000, 1.0) == "joint"
    assert model(few(), 300, 0.1) != "joint"


def test_several_classes_of_small_categories_lean_on_each_other():
    assert model(wide(classes=4, features=6), 20_000, 1.0) == "tan"
    assert model(wide(classes=4, features=6), 200_000, 1.0) == "additive-pairs"


@pytest.mark.parametrize("rows", [50, 5_000, 500_000])
@pytest.mark.parametrize("epsilon", [0.1, 1.0, math.inf])
@pytest.mark.parametrize("schema", [wide(), few(), wide(5), few(2, 4), few(30)])
def test_every_case_has_an_answer_with_a_reason(schema, rows, epsilon):
    choice = choose(schema, counts(rows, len(schema.classes)), epsilon)
    assert choice.model in {kind.name for kind in kinds() if kind.promise} and len(choice.reason) > 20
    assert str(choice).startswith(choice.model)
    assert all(math.isfinite(value) for value in choice.facts.values())


def test_dearer_neighbours_weigh_like_a_smaller_budget():
    for rows in (1_000, 10_000, 100_000):
        whole = choose(wide(), counts(rows), 0.5)
        twice = choose(wide(), counts(rows), 1.0, adjacency=Adjacency.REPLACE)
        thrice = choose(wide(), counts(rows), 1.5, contributions=3)
        assert whole == twice == thrice


def test_what_is_asked_for_is_taken():
    choice = choose(wide(), counts(10), 0.1, model="tan")
    assert choice.model == "tan" and choice.reason == "as asked for"


def test_many_features_that_share_too_little_mean_a_choice_first():
    many = wide(features=60, categories=2)
    assert model(many, 1000, 0.1) == "selective"
    assert choose(many, ClassCounts(np.array([4500.0, 500.0]), 1.0, None), 0.1).model == "naive-bayes"
    assert model(many, 6000, 0.1) == "naive-bayes" and model(wide(features=60, categories=4), 6000, 0.1) == "selective"
    assert model(wide(features=31, categories=2), 100, 0.1) == "naive-bayes"
    assert model(many, 100_000, 1.0) == "additive"
