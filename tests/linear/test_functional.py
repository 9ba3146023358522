"""The functional mechanism: integer coefficients, their sensitivity by enumeration, and the thesis's bounds."""

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest

from discreet import Categorical, Numeric, PrivateLogisticRegression, Schema
from discreet.linear.release import coefficients, minimum_of_polynomial, possible_pairs
from discreet.privacy.budget import Adjacency
from tests.linear.designs import read_design

SCHEMA = Schema([Categorical("a", [0, 1]), Numeric("x", -1, 1, step=1, bins=2)], "y", [0, 1])
UNIVERSE = [(a, x, y) for a in (0, 1) for x in (-1.0, 0.0, 1.0) for y in (0, 1)]


def numbers(rows, plan):
    design = read_design(np.array([r[:2] for r in rows]), np.array([r[2] for r in rows]), plan.encoding)
    linear, square = coefficients(design, np.where(design.labels == 1, 1, -1))
    pairs = possible_pairs(plan)
    assert not square[~pairs & (np.triu(np.ones_like(square)) > 0)].any()  # left out because it is always zero
    return linear, square[pairs]


@pytest.mark.parametrize("numeric", ["binned", "scaled"])
@pytest.mark.parametrize("adjacency", list(Adjacency))
def test_sensitivity_by_enumeration(numeric, adjacency):
    plan = PrivateLogisticRegression(1.0, SCHEMA, "functional", adjacency, numeric).plan()
    worst = [0, 0]
    base = [(0, 0.0, 0)]
    start = numbers(base, plan)
    each = [tuple(n - s for n, s in zip(numbers([*base, row], plan), start, strict=True)) for row in UNIVERSE]
    moves = each if adjacency is Adjacency.ADD_REMOVE else [
        tuple(p - q for p, q in zip(one, two, strict=True)) for one, two in itertools.permutations(each, 2)
    ]  # fmt: skip
    for move in moves:
        worst = [max(w, int(np.abs(part).sum())) for w, part in zip(worst, move, strict=True)]
    assert worst[0] <= plan.linear_reach
    assert worst[1] <= plan.square_reach
    if adjacency is Adjacency.ADD_REMOVE:
        assert worst == [plan.linear_reach, plan.square_reach]  # and no less: the bound is met


@pytest.mark.parametrize("features", [1, 4, 20])
def test_never_more_noise_than_the_thesis_bound(features):
    """√D/2 + D/8 (add-remove) and √D + D/4 (replace) for rows of norm one: ours is the same law or less noise."""
    schema = Schema([Numeric(f"x{k}", -1, 1) for k in range(features)], "y", [0, 1])
    for adjacency, bound in ((Adjacency.ADD_REMOVE, lambda d: math.sqrt(d) / 2 + d / 8),
                             (Adjacency.REPLACE, lambda d: math.sqrt(d) + d / 4)):  # fmt: skip
        plan = PrivateLogisticRegression(1.0, schema, "functional", adjacency, "scaled").plan()
        d, unit = plan.encoding.columns, plan.encoding.scale / 4096
        assert d == plan.encoding.slots
        linear = float(plan.linear_reach / plan.epsilons[0]) * unit / 2  # the scale on coefficients of w
        square = float(plan.square_reach / plan.epsilons[1]) * unit**2 / 4  # on those of w_j·w_k: ⅛ twice
        assert linear == pytest.approx(bound(d), rel=1e-5)
        assert square <= bound(d) * (1 + 1 / d) * 1.00001
        assert sum(plan.epsilons) == Fraction(1)


def test_without_noise_it_is_the_taylor_minimum():
    rng = np.random.default_rng(0)
    X = np.column_stack([rng.integers(0, 2, 500), rng.integers(-1, 2, 500).astype(float)])
    y = (rng.random(500) < 0.3 + 0.2 * X[:, 0]).astype(int)
    fitted = PrivateLogisticRegression(math.inf, SCHEMA, "functional", numeric="scaled", regularisation=1.0).fit(X, y)
    dense = fitted.model_.encoding.matrix(X)
    expected = -np.linalg.solve(dense.T @ dense / 4 + np.eye(dense.shape[1]), ((1 - 2 * y) / 2) @ dense)
    assert np.allclose(fitted.model_.weights[0], expected, atol=1e-9)


def test_indefinite_forms_are_made_definite():
    rng = np.random.default_rng(0)
    upper = np.triu(rng.integers(-1000, 1000, (6, 6)))
    found = minimum_of_polynomial(rng.integers(-1000, 1000, 6), upper, 500.0, 0.5, 0.1)
    assert np.isfinite(found).all()
    assert np.linalg.norm(found) < 10
