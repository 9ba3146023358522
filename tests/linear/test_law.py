"""The law of the exact minimiser on tiny data sets: every neighbour pair, on a grid, against e^ε."""

import itertools
import math

import numpy as np
import pytest

from discreet.linear.encode import Design, Encoding
from discreet.linear.losses import Huber, Logistic
from discreet.linear.plan import make_plan, objective_cost, objective_rate
from discreet.linear.solve import Objective, minimise
from discreet.privacy.budget import Adjacency, Budget
from discreet.schema import Numeric, Schema

EPSILON = 1.0


def log_density(rows, grid, loss, ridge, rate, law):
    """log p(w) up to a constant that is the same for all data: b → w is a bijection with Jacobian 1/det ∇²J."""
    gradient = ridge * grid
    dim = grid.shape[1]
    hessian = np.broadcast_to(ridge * np.eye(dim), (len(grid), dim, dim)).copy()
    for z in rows:
        z = np.asarray(z, float)
        t = grid @ z
        gradient = gradient + loss.slope(t)[:, None] * z
        hessian += loss.curvature(t)[:, None, None] * np.outer(z, z)
    norm = np.abs(gradient).sum(axis=1) if law == "laplace" else np.linalg.norm(gradient, axis=1)
    return -rate * norm + np.linalg.slogdet(hessian)[1]


def worst_ratio(universe, grid, loss, ridge, rate, law, adjacency, base=()):
    """The largest |log p_D(w) − log p_D'(w)| over all D of up to three rows, their neighbours and the grid."""
    worst = 0.0
    for size in range(4):
        for rows in itertools.combinations_with_replacement(universe, size):
            here = log_density((*base, *rows), grid, loss, ridge, rate, law)
            for z in universe:
                if adjacency == "add-remove":
                    others = [(*rows, z)]
                else:
                    others = [(*rows[:k], z, *rows[k + 1 :]) for k in range(size)]
                for other in others:
                    there = log_density((*base, *other), grid, loss, ridge, rate, law)
                    worst = max(worst, float(np.abs(here - there).max()))
    return worst


def line(loss):
    """Points of one weight, the corners of the loss among them."""
    special = [] if isinstance(loss, Logistic) else [s * (1 + k * loss.h) for s in (-1, 1) for k in (-1, 1)]
    points = np.concatenate([np.linspace(-12, 12, 481), [-300.0, 300.0]])
    sides = [p * (1 + d) for p in special for d in (-1e-9, 0, 1e-9)]
    return np.concatenate([points, sides])[:, None]


@pytest.mark.parametrize("adjacency", ["add-remove", "replace"])
@pytest.mark.parametrize(
    ("loss", "ridge"), [(Huber(0.05), 20.0), (Huber(0.5), 3.0), (Logistic(), 4.0), (Logistic(), 0.3)]
)
def test_one_dimension(loss, ridge, adjacency):
    moved = 1 if adjacency == "add-remove" else 2
    rate = float(objective_rate(loss, 1.0, ridge, EPSILON, moved))
    universe = [(v,) for v in (-1.0, -0.5, 0.0, 0.5, 1.0)]
    found = worst_ratio(universe, line(loss), loss, ridge, rate, "laplace", adjacency)
    assert found <= EPSILON + 1e-9
    if isinstance(loss, Huber):  # slope and curvature are at their worst together: the bound is met
        assert found >= 0.999 * EPSILON
        assert worst_ratio(universe, line(loss), loss, ridge, 1.2 * rate, "laplace", adjacency) > EPSILON + 0.01
    elif adjacency == "add-remove" and ridge == 4.0:
        assert found >= 0.99 * EPSILON
        assert worst_ratio(universe, line(loss), loss, ridge, 1.2 * rate, "laplace", adjacency) > EPSILON + 0.1


@pytest.mark.parametrize("adjacency", ["add-remove", "replace"])
@pytest.mark.parametrize("law", ["laplace", "spherical"])
@pytest.mark.parametrize(("loss", "ridge"), [(Huber(0.25), 6.0), (Logistic(), 0.6)])
def test_two_dimensions(loss, ridge, law, adjacency):
    moved, reach = (1 if adjacency == "add-remove" else 2), (math.sqrt(2) if law == "laplace" else 1.0)
    rate = float(objective_rate(loss, reach, ridge, EPSILON, moved))
    root = 1 / math.sqrt(2)
    universe = [(s * v * root, s * root) for v in (-1.0, 1.0) for s in (-1.0, 1.0)]
    side = np.concatenate([np.linspace(-6, 6, 33), [-80.0, 80.0]])
    corner = (1 - getattr(loss, "h", 0.0)) * root
    grid = np.array(list(itertools.product(np.concatenate([side, [corner, -corner]]), repeat=2)))
    found = worst_ratio(universe, grid, loss, ridge, rate, law, adjacency)
    assert found <= EPSILON + 1e-9
    if adjacency == "add-remove" or isinstance(loss, Huber):
        assert found >= 0.9 * EPSILON
        assert worst_ratio(universe, grid, loss, ridge, 1.2 * rate, law, adjacency) > EPSILON


def test_logistic_pays_for_slope_and_curvature_together():
    """sup of the sum, which is less than the sum of the sups and no less than any point of it."""
    loss = Logistic()
    s = np.linspace(0, 1, 100_001)
    for reach, ridge in itertools.product(
        (0.0, 1e-300, 1e-17, 1e-9, 0.01, 0.3, 1.0, 5.0, 1e9), (1e-6, 0.05, 0.5, 5.0, 500.0, 1e12)
    ):
        curve = reach * s + np.log1p(s * (1 - s) / ridge)
        assert loss.worst(reach, ridge) >= curve.max()
        assert loss.worst(reach, ridge) <= curve.max() * (1 + 1e-11) + 1e-6
        assert loss.worst(reach, ridge) <= (reach + math.log1p(0.25 / ridge)) * (1 + 1e-11)


def test_replacing_a_row_pays_for_curvature_once():
    """det(B + βz′z′ᵀ)/det(B + αzzᵀ) ≤ 1 + c/Λ: random matrices, rows and curvatures come near and never above."""
    rng = np.random.default_rng(1)
    bend, ridge, most = 0.25, 0.5, 0.0
    for _ in range(2000):
        rest = rng.normal(size=(3, rng.integers(0, 3))) * 0.2
        base = ridge * np.eye(3) + rest @ rest.T
        z, other = (v / np.linalg.norm(v) for v in rng.normal(size=(2, 3)))
        above = np.linalg.det(base + bend * rng.random() * np.outer(z, z))
        below = np.linalg.det(base + bend * rng.random() * np.outer(other, other))
        most = max(most, above / below)
    assert most <= 1 + bend / ridge + 1e-12
    assert most >= 1 + 0.8 * bend / ridge


def test_the_plan_uses_this_rate():
    schema = Schema([Numeric("x", -1, 1)], "y", [0, 1])
    for adjacency in Adjacency:
        for law in ("laplace", "spherical"):
            plan = make_plan(Encoding(schema, "scaled"), Budget(EPSILON), loss=Huber(), adjacency=adjacency, noise=law)
            reach = math.sqrt(2) if law == "laplace" else 1.0
            cost = objective_cost(plan.loss, float(plan.rate), reach, float(plan.ridge), plan.moved)
            assert cost <= float(plan.epsilons[0])
            assert cost >= 0.999 * float(plan.epsilons[0])
            assert sum(plan.epsilons) == 1


def test_minimiser_is_the_inverse_map():
    """The solver's w has exactly the tilt b = −∇J₀(w) that the density above assumes."""
    rng = np.random.default_rng(2)
    scale = Encoding(Schema([Numeric("x", -1, 1)], "y", [0, 1]), "scaled").scale
    values = np.array([[v, 4096] for v in (4096, -4096, 0, 2048, 1, 7)], np.int32)
    design = Design(np.zeros((6, 1), np.uint16), values, np.zeros(6, np.int64), 2, 2, scale)
    signs = np.array([1.0, -1, 1, -1, 1, -1])
    rows = np.column_stack([design.values[:, 0], design.values[:, 1]]) * design.unit * signs[:, None]
    for loss in (Logistic(), Huber(0.05)):
        for _ in range(20):
            tilt = rng.laplace(size=2) * 5
            w = minimise(Objective(design, signs, loss, 0.7, tilt), 1e-9).weights
            back = -(loss.slope(rows @ w) @ rows) - 0.7 * w
            assert np.abs(back - tilt).max() < 1e-8
