"""The law of the exact minimiser on tiny data sets: every neighbour pair, on many points, against e^ε."""

import itertools

import numpy as np
import pytest
from scipy.linalg import null_space

from discreet import Categorical, Numeric, Schema
from discreet.additive.blocks import UNIT, Blocks, place_knots
from discreet.additive.bound import _curve, objective_cost, widest, worst
from discreet.additive.fit import start_at
from discreet.additive.plan import Bundle, plan_fit
from discreet.additive.release import Tilt, approximate
from discreet.domain import exact
from discreet.estimators.counts import ClassCounts
from discreet.sources import HeldRows

EPSILON = 1.0


class Law:
    """log p(c) of θ = centre + Γ⁻¹c on the subspace that rows and noise live in, up to a constant of the plan."""

    def __init__(self, plan, rate_factor=1.0):
        self.plan, self.factor = plan, rate_factor
        blocks = plan.blocks
        # In a bundle all block sums are equal, and the constant is the common sum of one bundle.
        lines = []
        for bundle in plan.bundles:
            first = bundle.places[0]
            lines += [self.sum_of(j) - self.sum_of(first) for j in bundle.places[1:]]
        constant = np.zeros(blocks.columns)
        constant[-1] = 1
        lines.append(self.sum_of(plan.bundles[plan.anchor].places[0]) - constant)
        self.basis = null_space(np.array(lines))
        self.inverse = np.linalg.inv(plan.chain.matrix())
        self.centre = start_at(blocks, ClassCounts(np.full(plan.classes, 4.0), 1.0, None))

    def sum_of(self, j):
        line = np.zeros(self.plan.blocks.columns)
        line[self.plan.blocks.starts[j] : self.plan.blocks.starts[j + 1]] = 1
        return line

    def norm(self, b):
        """Σ over bundles of rate·max of the blocks' L1 norms, for rows of b."""
        starts, total = self.plan.blocks.starts, 0.0
        for bundle in self.plan.bundles:
            sizes = [np.abs(b[..., starts[j] : starts[j + 1]]).sum(axis=-1) for j in bundle.places]
            total = total + float(bundle.rate) * self.factor * np.max(sizes, axis=0)
        return total

    def points(self, count, rng):
        """Coordinates of c: near and far, one set per class."""
        shape = (count, self.plan.vectors, self.basis.shape[1])
        return rng.normal(size=shape) * np.exp(rng.uniform(-3, 6, (count, 1, 1)))

    def log_density(self, rows, u):
        vectors, size = self.plan.vectors, self.basis.shape[1]
        c = u @ self.basis.T
        theta = self.centre + c @ self.inverse
        b = c.copy()
        inner = self.basis.T @ self.inverse @ self.basis
        jacobian = np.broadcast_to(np.eye(vectors * size), (len(u), vectors * size, vectors * size)).copy()
        for x, y in rows:
            z = theta @ x
            if vectors == 1:
                p = 1 / (1 + np.exp(-z))
                residual, bend = p - y, (p * (1 - p))[:, :, None]
            else:
                p = np.exp(z - z.max(axis=1, keepdims=True))
                p /= p.sum(axis=1, keepdims=True)
                residual = p - np.eye(vectors)[y]
                bend = p[:, :, None] * np.eye(vectors) - p[:, :, None] * p[:, None, :]
            b += residual[:, :, None] * x
            own = self.basis.T @ x
            part = np.outer(own, own @ inner)
            jacobian += np.einsum("nij,ab->niajb", bend, part).reshape(jacobian.shape)
        return -self.norm(b).sum(axis=1) + np.linalg.slogdet(jacobian)[1]


def universe(blocks, labels):
    """Every row that the blocks can hold, with every label."""
    choices = []
    for j, feature in enumerate(blocks.schema.features):
        half = None if blocks.knots[j] is None else feature.lattice.half
        choices.append([0, 1, 2][: feature.cells] if half is None else [-half, half // 2, half])
    grid = np.array(list(itertools.product(*choices)))
    held = [grid[:, j].astype(np.int32) for j in range(grid.shape[1])]
    design = blocks.design(HeldRows(blocks.schema, held, np.zeros(len(grid), np.int64)))
    dense = np.zeros((len(grid), blocks.columns))
    for i in range(len(grid)):
        np.add.at(dense[i], design.codes[i].astype(int), design.values[i, :-1] / UNIT)
        dense[i, -1] = 1
    return [(x, y) for x in dense for y in range(labels)]


def worst_ratio(law, rows, adjacency, sizes=(0, 1, 2), count=250):
    rng = np.random.default_rng(3)
    u = law.points(count, rng)
    most = 0.0
    known = {}

    def at(indices):
        key = tuple(sorted(indices))
        if key not in known:
            known[key] = law.log_density([rows[i] for i in key], u)
        return known[key]

    for size in sizes:
        for some in itertools.combinations_with_replacement(range(len(rows)), size):
            for z in range(len(rows)):
                if adjacency == "add-remove":
                    others = [(*some, z)]
                else:
                    others = [(*some[:k], z, *some[k + 1 :]) for k in range(size)]
                for other in others:
                    most = max(most, float(np.abs(at(some) - at(other)).max()))
    return most


SETS = {
    "one block": [Categorical("a", [0, 1])],
    "two blocks": [Categorical("a", [0, 1]), Categorical("b", [0, 1])],
    "a line": [Numeric("x", 0, 1, bins=2)],
}


def plan_of(features, classes, moved, epsilon=EPSILON):
    schema = Schema(SETS[features] if isinstance(features, str) else features, "y", list(range(classes)))
    counts = ClassCounts(np.full(classes, 4.0), 1.0, None)
    return plan_fit(place_knots(schema, 2), exact(epsilon), counts, moved=moved)


@pytest.mark.parametrize("adjacency", ["add-remove", "replace"])
@pytest.mark.parametrize(("features", "classes"), [(name, 2) for name in SETS] + [("one block", 3), ("a line", 3)])
def test_every_neighbour_pair(features, classes, adjacency):
    plan = plan_of(features, classes, 1 if adjacency == "add-remove" else 2)
    rows = universe(plan.blocks, classes)
    sizes = (0, 1, 2) if len(rows) <= 6 else (0, 1) if adjacency == "add-remove" else (1,)
    found = worst_ratio(Law(plan), rows, adjacency, sizes)
    assert found <= float(plan.epsilons[0]) + 1e-9
    assert worst_ratio(Law(plan, 1.6), rows, adjacency, sizes) > EPSILON + 0.02


def test_two_bundles_add_up():
    """Blocks of different sizes in bundles of their own: the rates together are what a row costs."""
    plan = plan_of([Categorical("a", [0, 1]), Categorical("b", [0, 1, 2])], 2, 1)
    half = plan.rate / 2
    split = type(plan)(**{**plan.__dict__, "bundles": (Bundle((0,), half), Bundle((1,), half)), "anchor": 0})
    rows = universe(plan.blocks, 2)
    found = worst_ratio(Law(split), rows, "add-remove", (0, 1))
    assert found <= float(plan.epsilons[0]) + 1e-9
    assert found >= 0.8 * EPSILON
    assert worst_ratio(Law(split, 1.5), rows, "add-remove", (0, 1)) > EPSILON


def test_jacobian_is_that_of_the_map():
    """The determinant that the density has, against finite differences of b(c)."""
    plan = plan_of("two blocks", 3, 1)
    law, rows = Law(plan), universe(plan.blocks, 3)[:5]
    rng = np.random.default_rng(0)
    u = law.points(1, rng) / 10
    silent = Law(plan, 0.0)

    def tilt(at):
        c = at @ law.basis.T
        theta = law.centre + c @ law.inverse
        b = c.copy()
        for x, y in rows:
            p = np.exp(theta @ x)
            b += (p / p.sum(axis=1, keepdims=True) - np.eye(3)[y])[:, :, None] * x
        return (b @ law.basis).ravel()

    size, step = u.size, 1e-5
    numeric = np.empty((size, size))
    for k in range(size):
        up, down = u.ravel().copy(), u.ravel().copy()
        up[k] += step
        down[k] -= step
        numeric[:, k] = (tilt(up.reshape(u.shape)) - tilt(down.reshape(u.shape))) / (2 * step)
    assert np.linalg.slogdet(numeric)[1] == pytest.approx(float(silent.log_density(rows, u)[0]), abs=1e-6)


@pytest.mark.parametrize("classes", [2, 3])
def test_solver_inverts_the_map(classes):
    """The released road's answer has exactly the tilt that the density assumes."""
    plan = plan_of("two blocks", classes, 1)
    rows = universe(plan.blocks, classes)
    held = [np.array([int(x[plan.blocks.starts[j]] == 0) for x, _ in rows], np.int32) for j in range(2)]
    design = plan.blocks.design(HeldRows(plan.blocks.schema, held, np.array([y for _, y in rows])))
    law, rng = Law(plan), np.random.default_rng(1)
    for _ in range(5):
        tilt = rng.normal(size=law.centre.shape) * 5
        theta = approximate(design, plan, law.centre, Tilt(tilt, 0.0))
        back = (theta - law.centre) @ plan.chain.matrix()
        for x, y in rows:
            if classes == 2:
                back += ((1 / (1 + np.exp(-theta @ x))) - y)[:, None] * x
            else:
                p = np.exp(theta @ x)
                back += (p / p.sum() - np.eye(3)[y])[:, None] * x
        assert np.abs(back + tilt).max() <= 2 * plan.tolerance


# ---- the bound itself


@pytest.mark.parametrize("classes", [2, 3, 5, 12])
def test_worst_is_the_maximum_of_the_curve(classes):
    s = np.linspace(0, 1, 20_001)
    for rate, spread in itertools.product((1e-9, 0.01, 0.3, 1.0, 7.0), (0.0, 1e-9, 0.05, 0.5, 3.0, 400.0)):
        curve = max(_curve(float(v), rate, spread, classes) for v in s)
        found = worst(rate, spread, classes)
        assert curve <= found <= curve * (1 + 1e-6) + 1e-9


def test_growth_of_the_jacobian_is_bounded_by_even_shares():
    """det(I + q(diag p − ppᵀ)) with p_y = 1 − s is largest if the others share s evenly."""
    rng = np.random.default_rng(2)
    for _ in range(3000):
        classes, q = int(rng.integers(3, 7)), float(np.exp(rng.uniform(-3, 4)))
        p = rng.dirichlet(np.full(classes, np.exp(rng.uniform(-2, 2))))
        growth = np.linalg.slogdet(np.eye(classes) + q * (np.diag(p) - np.outer(p, p)))[1]
        assert growth <= _curve(1 - p[0], 0.0, q, classes) + 1e-9
        even = np.full(classes, (1 - p[0]) / (classes - 1))
        even[0] = p[0]
        met = np.linalg.slogdet(np.eye(classes) + q * (np.diag(even) - np.outer(even, even)))[1]
        assert met == pytest.approx(_curve(1 - p[0], 0.0, q, classes), abs=1e-9)


def test_curvature_is_free_for_two_classes():
    """Scores may spread as far as the rate before the Jacobian costs anything; replacing pays for residuals twice."""
    assert objective_cost(1.0, 1.0, 2, 1) == pytest.approx(1.0, abs=1e-9)
    assert objective_cost(1.0, 1.2, 2, 1) > 1.0
    assert objective_cost(0.5, 0.5, 2, 2) == pytest.approx(1.0, abs=1e-9)
    for classes, moved in itertools.product((2, 3, 9), (1, 2)):
        rate = 0.8 * EPSILON / (moved * (1 if classes == 2 else 2))
        q = widest(rate, EPSILON, classes, moved)
        assert objective_cost(rate, q, classes, moved) <= EPSILON < objective_cost(rate, q * 1.001, classes, moved)


@pytest.mark.parametrize("features", list(SETS))
def test_penalty_keeps_its_promise(features):
    """The spread of every row's score under Γ⁻¹ is at most q, and Γ⁻¹ has the sums that the rounding counts on."""
    plan = plan_of(features, 2, 1)
    inverse = np.linalg.inv(plan.chain.matrix())
    spreads = [x @ inverse @ x for x, _ in universe(plan.blocks, 2)]
    assert max(spreads) <= plan.spread * (1 + 1e-9)
    assert max(spreads) >= 0.99 * plan.spread
    total, row = plan.chain.reach()
    assert total == pytest.approx(inverse.sum(), rel=1e-8) and row == pytest.approx(inverse.sum(axis=1).max(), rel=1e-8)
    assert (inverse >= -1e-12).all()
    assert isinstance(plan.blocks, Blocks)
