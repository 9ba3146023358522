"""Normal noise in the objective: exact laws of neighbours by quadrature, the bound by brute force, what is drawn."""

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest
from scipy.special import ndtr

from discreet import Budget, Categorical, Ledger, Numeric, PrivateAdditiveClassifier, Schema
from discreet.additive import plan as planning
from discreet.additive import release
from discreet.additive.blocks import UNIT, place_knots
from discreet.additive.normal import _beyond, objective_delta, widest_slope, worst_loss
from discreet.additive.plan import plan_fit, plan_normal
from discreet.errors import BudgetError
from discreet.estimators.counts import ClassCounts
from discreet.mechanisms.vectors import Drawn, SeededBits
from discreet.privacy.calibrate import step_delta
from discreet.sources import HeldRows
from tests.recorder import recorded

DELTA = Fraction(1, 10**6)


def gaussian_delta(epsilon, slope):
    """The exact δ of a normal variable moved by `slope` deviations (Balle and Wang)."""
    return ndtr(slope / 2 - epsilon / slope) - math.exp(epsilon) * ndtr(-slope / 2 - epsilon / slope)


# ---- the bound


@pytest.mark.parametrize("classes", [2, 3, 5])
@pytest.mark.parametrize(("slope", "spread"), [(0.1, 0.01), (0.3, 4.0), (2.0, 12.0), (1.0, 0.0)])
def test_the_loss_is_bounded_at_every_residual(slope, spread, classes):
    """Against a hundred times as many s: never below, and not far above."""
    u, s = np.linspace(-8, 9, 60), np.linspace(0, 1, 20_001)
    if classes == 2:
        logs = np.log1p(spread * s * (1 - s))
    else:
        # The determinant of I + q(diag p − ppᵀ), the other classes sharing s evenly, by its eigenvalues.
        p = np.column_stack([1 - s] + [s / (classes - 1)] * (classes - 1))
        logs = np.log(np.prod(1 + spread * p, axis=1) * np.sum(p / (1 + spread * p), axis=1))
    square = (0.5 if classes == 2 else 1.0) * slope**2
    brute = np.max(np.outer(u, s * slope) + s * s * square + logs, axis=1)
    found = worst_loss(u, slope, spread, classes)
    assert np.all(found >= brute) and np.all(found <= brute + 2e-3 + 1e-6 * np.abs(brute))
    assert np.all(np.diff(found) >= 0)


@pytest.mark.parametrize("epsilon", [0.05, 1.0, 6.0])
def test_without_curvature_it_is_the_gaussian_mechanism(epsilon):
    """The bound is above the exact profile, by little, and a tenth more noise makes up for all of it."""
    for slope in (epsilon / 12, epsilon / 5, epsilon / 2):
        exact = gaussian_delta(epsilon, slope)
        assert exact <= objective_delta(epsilon, slope, 0.0, 2) <= 1.25 * exact + 1e-15
    found = widest_slope(epsilon, 1e-6, 0.0, 2)
    assert gaussian_delta(epsilon, found) <= 1e-6 < gaussian_delta(epsilon, 1.02 * found)


def test_curvature_up_to_half_the_square_of_the_slope_is_free():
    """q ≤ a²/2 leaves the profile of the Gaussian mechanism, within what the grid adds."""
    for slope in (0.2, 1.0):
        free, paid = (objective_delta(1.0, slope, q, 2) for q in (0.0, slope**2 / 2))
        assert paid <= free * 1.05
    assert objective_delta(1.0, 0.2, 4.0, 2) > 10 * objective_delta(1.0, 0.2, 0.0, 2)


@pytest.mark.parametrize("classes", [3, 5])
def test_the_normal_part_of_several_classes(classes):
    """P(largest of z_k − z_y > t) by quadrature over z_y: never above the sum over classes, and not far below it."""
    v = np.linspace(-12, 12, 4001)
    weight = np.exp(-v * v / 2) / np.exp(-v * v / 2).sum()
    for t in (0.0, 2.0, 5.0):
        exact = float(weight @ -np.expm1((classes - 1) * np.log(ndtr(t + v))))
        assert exact <= _beyond(np.array([t]), classes)[0] <= 1.6 * exact


# ---- exact laws


class Line:
    """θ in one dimension, one entry per row: densities of the exact minimiser on a grid, by their closed form."""

    def __init__(self, slope, spread, points=6001):
        self.deviation, self.strength = 1 / slope, 1 / spread
        self.grid = np.linspace(-14, 14, points) * self.deviation * spread

    def density(self, rows, noise=1.0):
        """p(θ) = φ(b(θ))·|∂b/∂θ| with b = −Σ residual·x − Γθ."""
        b, bend = -self.strength * self.grid, np.full(len(self.grid), self.strength)
        for x, y in rows:
            p = 1 / (1 + np.exp(-x * self.grid))
            b = b - (p - y) * x
            bend = bend + p * (1 - p) * x * x
        own = self.deviation * noise
        return np.exp(-0.5 * (b / own) ** 2) / (own * math.sqrt(2 * math.pi)) * bend

    def apart(self, one, two, epsilon, noise=1.0):
        """∫(p − e^ε p′)₊, both ways."""
        p, other, step = self.density(one, noise), self.density(two, noise), self.grid[1] - self.grid[0]
        return max(float(np.maximum(a - math.exp(epsilon) * b, 0).sum() * step) for a, b in ((p, other), (other, p)))


@pytest.mark.parametrize(("slope", "spread"), [(0.5, 0.05), (1.0, 2.0), (0.3, 6.0), (2.0, 1.0)])
def test_every_neighbour_on_a_line(slope, spread):
    """All tables of up to three rows of ±1 and ½ under both labels, one row more or less, at several ε."""
    line = Line(slope, spread)
    rows = [(x, y) for x in (1.0, -1.0, 0.5) for y in (0, 1)]
    mass = line.density([]).sum() * (line.grid[1] - line.grid[0])
    assert mass == pytest.approx(1, abs=1e-6)
    close = 0.0
    for epsilon in (0.1, 0.5, 1.0, 2.0):
        bound = objective_delta(epsilon, slope, spread, 2)
        for size in range(3):
            for some in itertools.combinations_with_replacement(rows, size):
                for more in rows:
                    found = line.apart(list(some), [*some, more], epsilon)
                    assert found <= bound + 1e-9
                    close = max(close, found / bound if bound > 1e-6 else 0.0)
    assert close > 0.1  # the bound is not idle


def test_a_fifth_less_noise_breaks_the_claim():
    """Where rows agree, one that does not pulls with all its weight: the claim is nearly met, and fails with less."""
    line, agreed = Line(1.0, 0.5), [(1.0, 1)] * 24
    bound = objective_delta(1.0, 1.0, 0.5, 2)
    assert line.apart(agreed, [*agreed, (1.0, 0)], 1.0) <= bound
    assert line.apart(agreed, [*agreed, (1.0, 0)], 1.0, noise=0.8) > bound


def test_three_classes_in_space():
    """θ has an entry per class: hockey sticks on a grid of three dimensions, for one row more or less."""
    slope, spread = 0.8, 1.5
    axis = np.linspace(-9, 9, 61) * spread / slope
    grid = np.stack(np.meshgrid(axis, axis, axis, indexing="ij"), axis=-1).reshape(-1, 3)
    cell = (axis[1] - axis[0]) ** 3

    def density(labels):
        p = np.exp(grid - grid.max(axis=1, keepdims=True))
        p /= p.sum(axis=1, keepdims=True)
        b = -grid / spread - sum((p - np.eye(3)[y] for y in labels), np.zeros_like(p))
        bend = len(labels) * (p[:, :, None] * np.eye(3) - p[:, :, None] * p[:, None, :]) + np.eye(3) / spread
        bell = np.exp(-0.5 * np.sum((b * slope) ** 2, axis=1)) * (slope / math.sqrt(2 * math.pi)) ** 3
        return bell * np.linalg.det(bend)

    laws = {labels: density(labels) for labels in [(), (0,), (0, 0), (0, 1), (0, 0, 0), (0, 0, 1)]}
    assert all(abs(law.sum() * cell - 1) < 2e-3 for law in laws.values())
    for epsilon in (0.2, 1.0, 2.0):
        bound = objective_delta(epsilon, slope, spread, 3)
        for few, many in [((), (0,)), ((0,), (0, 0)), ((0,), (0, 1)), ((0, 0), (0, 0, 0)), ((0, 0), (0, 0, 1))]:
            for one, two in ((few, many), (many, few)):
                assert np.maximum(laws[one] - math.exp(epsilon) * laws[two], 0).sum() * cell <= bound + 2e-3


# ---- what is drawn

SCHEMA = Schema(
    [Categorical("c", [0, 1, 2]), Categorical("d", [0, 1]), Numeric("x", -1, 1, step=0.5, bins=2, missing="bin")],
    "y", ["n", "p"],
)  # fmt: skip


def planned(classes=2, moved=1, contributions=1, delta=DELTA):
    schema = SCHEMA.having(classes=list(range(classes))) if classes > 2 else SCHEMA
    counts = ClassCounts(np.full(classes, 500.0), 1.0, None)
    return plan_normal(
        place_knots(schema, 2), Fraction(1), delta, counts, moved, contributions, np.ones(len(schema.features))
    )[1]


def every_row(blocks):
    choices = []
    for j, feature in enumerate(blocks.schema.features):
        half = None if blocks.knots[j] is None else feature.lattice.half
        choices.append(range(feature.cells) if half is None else [-half, -half // 2, 0, half // 2, half])
    grid = np.array(list(itertools.product(*choices)))
    design = blocks.design(HeldRows(blocks.schema, [grid[:, j].astype(np.int32) for j in range(grid.shape[1])],
                                    np.zeros(len(grid), np.int64)))  # fmt: skip
    dense = np.zeros((len(grid), blocks.columns))
    for i in range(len(grid)):
        np.add.at(dense[i], design.codes[i].astype(int), design.values[i, :-1] / UNIT)
        dense[i, -1] = 1
    return dense


def test_rows_lie_where_the_noise_is_and_no_row_reaches_beyond_the_slope(monkeypatch):
    """The linear map from independent variables to the noise, column by column, as production draws it."""
    plan = planned()
    sizes = [1, *plan.blocks.sizes]
    columns = []
    for place in range(sum(sizes)):
        unit, spot = np.eye(sum(sizes))[place], [0]

        def draw(size, deviation, bits, unit=unit, spot=spot):
            spot[0] += size
            return Drawn(unit[spot[0] - size : spot[0]] * deviation, 0.0)

        monkeypatch.setattr(release, "normal_vector", draw)
        columns.append(release.draw_tilt(plan, None).vectors[0])
    spread = np.stack(columns, axis=1) @ np.stack(columns)
    inverse = np.linalg.pinv(spread, rcond=1e-9)
    rows = every_row(plan.blocks)
    assert np.allclose(spread @ inverse @ rows.T, rows.T, atol=1e-9)  # rows lie in the noise's subspace
    squares = np.einsum("ia,ab,ib->i", rows, inverse, rows)
    assert squares.max() == pytest.approx(plan.slope**2, rel=1e-9) and squares.max() <= plan.slope**2 * (1 + 1e-12)
    priors = np.einsum("ia,ab,ib->i", rows, np.linalg.inv(plan.chain.matrix()), rows)
    assert priors.max() <= plan.spread


@pytest.mark.parametrize("classes", [2, 3])
def test_every_class_has_noise_of_its_own_and_blocks_share_their_sum(classes):
    plan = planned(classes)
    tilt = release.draw_tilt(plan, SeededBits(np.random.default_rng(0)))
    starts = plan.blocks.starts
    for row in tilt.vectors:
        for start, stop in itertools.pairwise(starts[: len(plan.blocks.sizes) + 1]):
            assert row[start:stop].sum() == pytest.approx(row[-1], abs=1e-9)
    assert len(set(tilt.vectors[:, -1])) == plan.vectors and 0 < tilt.error < 1e-9


@pytest.mark.parametrize(("moved", "contributions"), [(1, 1), (2, 1), (1, 3), (2, 2)])
def test_steps_between_neighbours_add_up(moved, contributions):
    """Every row that comes or goes costs its step; the charges are for all of them."""
    plan, steps = planned(2, moved, contributions), moved * contributions
    each = Fraction(1) / moved
    assert sum(plan.epsilons) == each
    part = step_delta(DELTA, each, steps)
    assert objective_delta(float(plan.epsilons[0]), plan.slope, plan.spread, 2) <= part
    assert sum(float(part) * math.exp(j * float(each)) for j in range(steps)) <= DELTA
    first, last = plan.charges(contributions, "weights")
    assert first.cost + last.cost == contributions and first.delta == DELTA
    assert last.spread == Fraction(plan.steps) / plan.epsilons[1]


def test_group_privacy_is_met_by_the_laws():
    """A replaced row on the line: two steps of (ε, δ) are (2ε, (1 + e^ε)δ)."""
    line, epsilon = Line(1.0, 1.0), 0.5
    each = objective_delta(epsilon, 1.0, 1.0, 2)
    whole = each * (1 + math.exp(epsilon))
    agreed = [(1.0, 1)] * 6
    for one, two in itertools.permutations([(1.0, 0), (1.0, 1), (-1.0, 1)], 2):
        assert line.apart([*agreed, one], [*agreed, two], 2 * epsilon) <= whole


def test_the_noise_that_promises_less_error_is_taken(monkeypatch):
    """Many blocks get normal noise and few get that of the K-norm; without δ nothing of it is looked at."""
    counts = ClassCounts(np.array([2_000.0, 2_000.0]), 1.0, None)
    for features, normal in ((2, False), (80, True)):
        schema = Schema([Categorical(str(j), [0, 1, 2]) for j in range(features)], "y", [0, 1])
        blocks = place_knots(schema, 2)
        assert bool(plan_fit(blocks, Fraction(1), counts, delta=DELTA).deviations) is normal
        assert not plan_fit(blocks, Fraction(1), counts).deviations
    monkeypatch.setattr(planning, "plan_normal", None)
    plan_fit(blocks, Fraction(1), counts)


def test_a_budget_that_is_not_kept_is_refused(monkeypatch):
    monkeypatch.setattr(planning, "widest_slope", lambda *_: 5.0)
    with pytest.raises(BudgetError, match="too small"):
        planned()


@pytest.mark.parametrize(("adjacency", "contributions"), [("add-remove", 1), ("replace", 1), ("add-remove", 2)])
def test_a_fit_draws_what_it_certifies(monkeypatch, adjacency, contributions):
    rng = np.random.default_rng(0)
    schema = Schema([Categorical(str(j), [0, 1]) for j in range(60)], "y", ["n", "p"])
    X, y = rng.integers(0, 2, (2000, 60)), rng.choice(["n", "p"], 2000)
    estimator = PrivateAdditiveClassifier(
        8.0, schema, adjacency=adjacency, contributions=contributions, pairs=0, delta=1e-6
    )
    plans, ledger, draw = [], Ledger(Budget(8, 1e-6), "basic"), release.draw_tilt
    # Where rows are replaced K-norm noise would promise less.
    offered = planning.plan_normal
    monkeypatch.setattr(planning, "plan_normal", lambda *given: (0.0, offered(*given)[1]))
    with monkeypatch.context() as patch:
        patch.setattr(release, "draw_tilt", lambda plan, bits: plans.append(plan) or draw(plan, bits))
        tape, _ = recorded(monkeypatch, lambda: estimator.fit(X, y, ledger=ledger))
    (plan,), found = plans, estimator.certificate_
    moved = 1 + (adjacency == "replace")
    each = Fraction(8) * Fraction(24, 25) / (moved * contributions)
    assert sum(plan.epsilons) == each and ledger.totals.epsilon == 8 and ledger.totals.delta == DELTA
    tail = step_delta(DELTA, each, moved * contributions)
    assert objective_delta(float(plan.epsilons[0]), plan.slope, plan.spread, 2) <= tail
    assert (found.epsilon, found.delta) == ("8", "1/1000000") and "epsilon and delta" in found.accounting
    assert sum(Fraction(charge.cost) for charge in found.charges()) == 8
    last = tape.of("laplace")[-1]
    assert last.public[0] == Fraction(plan.steps) / plan.epsilons[1]
