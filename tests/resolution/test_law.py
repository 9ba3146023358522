"""The law of a look at numbers: every neighbour of small data sets, and the cells that a row is counted in."""

import functools
import itertools
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest

from discreet import Categorical, Numeric, Schema, sources
from discreet.privacy.budget import Adjacency, Budget
from discreet.privacy.calibrate import float_up
from discreet.privacy.ledger import cost
from discreet.resolution.fine import fine_plan, fine_statistics, finely
from discreet.resolution.grids import COARSE
from discreet.resolution.pooled import pooled_counts, pooled_plan, relatively
from tests.exhaustive.neighbours import laplace_loss

SCHEMA = Schema(
    [
        Numeric("a", 0, 4, integer=True),
        Categorical("c", ["u", "v"]),
        Numeric("b", 0.0, 1.0, missing="bin"),
        Numeric("declared", 0, 1, bins=3),
    ],
    "y",
    [0, 1],
)
ROWS = [
    (a, c, b, 0.5, y) for a, c, b, y in itertools.product([0, 4], ["u", "v"], [0.0, 0.02, 1.0, float("nan")], [0, 1])
]


def opened(schema, rows):
    X = np.array([row[:-1] for row in rows], object).reshape(len(rows), 4)
    return sources.open(X, schema, np.array([row[-1] for row in rows], np.int64), unexpected="absorb")


def pooled(rows):
    return [pooled_counts(opened(relatively(SCHEMA), rows), SCHEMA)]


def coarse(rows):
    return [pooled_counts(opened(relatively(SCHEMA, COARSE), rows), SCHEMA, COARSE)]


coarse_plan = functools.partial(pooled_plan, parts=COARSE)
LOOKS = ((pooled, pooled_plan), (coarse, coarse_plan))


def fine(rows):
    found = fine_statistics(opened(finely(SCHEMA), rows), fine_plan(SCHEMA, Budget(1))).tables
    assert set(found) == {"a", "b"}
    return [found["a"], found["b"]]


def neighbours(adjacency, moved):
    for base in ((), (ROWS[0], ROWS[5])):
        for added in itertools.combinations_with_replacement(ROWS[:: 1 if moved == 1 else 3], moved):
            if adjacency == "add-remove":
                yield base, (*base, *added)
            else:
                for other in ROWS[::5]:
                    yield (*base, *added), (*base, *[other] * moved)


def worst(look, make, adjacency, moved, factor=Fraction(1)):
    plan = make(SCHEMA, Budget(1), adjacency=Adjacency.of(adjacency), contributions=moved)
    assert cost(plan.node, "epsilon") == 1
    scales = [float_up(charge.spread * factor) for charge in plan.node.parts]
    seen, found = functools.cache(look), 0.0
    for left, right in neighbours(adjacency, moved):
        tables = [seen(left), seen(right)]
        loss = 0.0
        for one, two, scale in zip(*tables, scales, strict=True):
            loss += sum(laplace_loss(abs(int(d)), scale) for d in np.ravel(one - two) if d)
        found = max(found, loss)
    return found


@pytest.mark.parametrize(("look", "make"), [*LOOKS, (fine, fine_plan)])
@pytest.mark.parametrize(("adjacency", "moved"), [("add-remove", 1), ("add-remove", 2), ("replace", 1)])
def test_no_neighbour_changes_the_law_by_more_than_epsilon(look, make, adjacency, moved):
    assert 0.999 < worst(look, make, adjacency, moved) <= 1 + 1e-9


@pytest.mark.parametrize(("look", "make"), [*LOOKS, (fine, fine_plan)])
def test_noise_cut_by_a_fifth_is_found_out(look, make):
    assert worst(look, make, "add-remove", 1, Fraction(4, 5)) > 1.2


def test_a_row_is_counted_by_itself():
    for look in (pooled, coarse, fine):
        for one, two in itertools.combinations(ROWS[::6], 2):
            parts = zip(look((one,)), look((two,)), look((one, two)), strict=True)
            assert all(np.array_equal(c, a + b) for a, b, c in parts)


def test_a_plan_without_privacy_costs_nothing():
    assert pooled_plan(SCHEMA, Budget(float("inf"))).charge is None
    assert replace(pooled_plan(SCHEMA, Budget(2))).charge.spread == 1
