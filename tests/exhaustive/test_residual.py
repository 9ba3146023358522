"""Tables in a residual basis: no small neighbours cost more than ρ and δ, a cut is noticed, and what is said is so."""

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest

from discreet import Adjacency, Budget, BudgetError, Categorical, PrivateNB, Schema
from discreet.bayes import bundling
from discreet.bayes.plan import make_plan
from discreet.bayes.release import noised
from discreet.mechanisms.noise import SimulationSampler
from discreet.mechanisms.residual import Residual
from discreet.privacy.calibrate import counting_delta, moving_delta, sqrt_up
from tests.exhaustive.neighbours import SCHEMAS, hockey_stick, integers, neighbours

EPSILON, DELTA = 1.3, 0.01
CASES = list(itertools.product(["two tables", "other and missing", "table and number"], Adjacency))


class Handed:
    """A sampler that adds nothing and keeps the integers it is handed and the variance for them."""

    def __init__(self):
        self.calls = []

    def gaussian(self, values, variance):
        self.calls.append((values.copy(), variance))
        return values


def handed(schema, plan, rows):
    """All integers that get noise, over all classes, in order, by the code of a release."""
    flat, sampler = integers(schema, plan, rows), Handed()
    for group in range(len(schema.classes)):
        noised({key: np.split(value, len(schema.classes))[group] for key, value in flat.items()}, plan, sampler)
    return sampler.calls


def patterns(name, adjacency, plan, rows_moved=1):
    """The distinct ways in which what neighbours hand over differs: (σ, distance) for every integer that moves."""
    schema = SCHEMAS[name]
    pairs = list(neighbours(schema, adjacency, 1 if name == "other and missing" and rows_moved == 1 else 0, rows_moved))
    calls = {rows: handed(schema, plan, rows) for rows in {one for pair in pairs for one in pair}}
    sigmas = {tuple(sqrt_up(variance) for values, variance in call for _ in values) for call in calls.values()}
    assert len(sigmas) == 1  # noise is the same whatever the rows are
    flat = {rows: np.concatenate([values for values, _ in call]) for rows, call in calls.items()}
    gaps = np.unique(np.abs([flat[left] - flat[right] for left, right in pairs]), axis=0)
    (widths,) = sigmas
    return {tuple(sorted((s, int(d)) for s, d in zip(widths, gap, strict=True) if d)) for gap in gaps}


def rho_of(pattern):
    return sum(distance**2 / (2 * sigma**2) for sigma, distance in pattern)


def plan_of(name, adjacency, budget=None, **settings):
    budget = Budget(EPSILON, DELTA) if budget is None else budget
    return make_plan(SCHEMAS[name], budget, adjacency=adjacency, mechanism="residual", **settings)


@pytest.mark.parametrize(("name", "adjacency"), CASES)
@pytest.mark.parametrize("rows", [1, 2])
def test_neighbours_cost_rho_and_never_more(name, adjacency, rows):
    """Rows that come, go, change their cells or their label; all rows of a person."""
    plan = plan_of(name, adjacency, Budget(rho="0.3"), contributions=rows)
    worst = max(map(rho_of, patterns(name, adjacency, plan, rows)))
    assert 0.3 * (1 - 1e-6) <= worst <= 0.3 * (1 + 1e-9)


@pytest.mark.parametrize(("name", "adjacency"), CASES)
def test_the_hockey_stick_never_exceeds_delta(name, adjacency):
    plan = plan_of(name, adjacency)
    found = patterns(name, adjacency, plan)
    sticks = {pattern: hockey_stick(pattern, EPSILON) for pattern in found if pattern}
    assert max(sticks.values()) <= DELTA
    worst = max(sticks, key=sticks.__getitem__)
    closer = tuple((0.8 * sigma, distance) for sigma, distance in worst)
    assert hockey_stick(closer, EPSILON, up=False) > DELTA


def test_exact_losses_are_those_of_the_laws():
    """What is composed by a library, against the laws written out: from above, and by hardly anything."""
    rho = 0.08
    for adjacency in Adjacency:
        worst = 0.0
        for case in Residual((2, 3)).moves(adjacency):
            pattern = [(math.sqrt(float(v) / rho), by) for v, by, times in case for _ in range(times)]
            worst = max(worst, rho_of(pattern))
            below, above = (hockey_stick(tuple(pattern), 0.5, up=up) for up in (False, True))
            assert below < moving_delta(rho, 0.5, case) < above * 1.01
        assert worst == pytest.approx(rho)
    parts = ((Fraction(1, 3), 2), (Fraction(2, 3), 2))  # two tables, of which a changed row moves two cells each
    pattern = tuple((math.sqrt(cells / (2 * float(share) * rho)), 1) for share, cells in parts for _ in range(cells))
    assert hockey_stick(pattern, 0.5, up=False) < counting_delta(rho, 0.5, parts) < 1.01 * hockey_stick(pattern, 0.5)


@pytest.mark.parametrize(("name", "adjacency"), CASES)
def test_a_reach_cut_by_a_fifth_is_noticed(monkeypatch, name, adjacency):
    whole = Residual.reach
    monkeypatch.setattr(Residual, "reach", lambda *given: whole(*given) * Fraction(16, 25))
    plan = plan_of(name, adjacency, Budget(rho="0.3"))
    assert max(map(rho_of, patterns(name, adjacency, plan))) > 1.2 * 0.3


def test_projecting_independent_discrete_noise_is_not_what_it_seems():
    """Negative control: two cells whose noise has its mean taken away cost more than ρ says; integers do not."""
    variance, order = 0.25, 1.01
    points = np.arange(-12, 13)
    law = np.exp(-(points**2) / (2 * variance))
    law /= law.sum()
    gap = np.convolve(law, law[::-1])  # of z₁ − z₂, all that is left of two cells beside their sum
    logs = np.log(gap)
    divergence = math.log(np.exp(order * logs[:-1] - (order - 1) * logs[1:]).sum()) / (order - 1)
    assert divergence > 1.1 * order * 0.5 / (2 * variance)  # a row moves them by ½ and −½


def test_tables_agree_on_a_total_and_err_as_promised():
    """False alarms: 30 cells and totals, each within 6 standard errors of its variance: below 1e-6."""
    basis, spread, draws = Residual((2, 3, 1, 5)), Fraction(40), 20_000
    sampler, rng = SimulationSampler(1), np.random.default_rng(0)
    exact = [rng.multinomial(100, [1 / size] * size) for size in basis.sizes]
    copies = [np.tile(table, (draws, 1)) for table in exact]
    found = basis.released(copies, spread, sampler)
    cells, total = basis.variances(spread)
    for table, noisy, variance in zip(exact, found, cells, strict=True):
        np.testing.assert_allclose(noisy.sum(axis=1), found[0].sum(axis=1))
        error = noisy - table
        assert np.abs(error.mean(axis=0)).max() < 6 * math.sqrt(variance / draws)
        np.testing.assert_allclose(error.var(axis=0), variance, rtol=6 * math.sqrt(2 / draws))
    assert found[0].sum(axis=1).var() == pytest.approx(total, rel=6 * math.sqrt(2 / draws))


@pytest.mark.parametrize("sizes", [(2,) * 30, (2, 9, 16), (7,) * 5])
def test_no_other_weights_err_less(sizes):
    """The sum of all cells' variances at one ρ, against weights moved a little."""

    def error(weights, common):
        cost = common + sum(w * (1 - 1 / s) for s, w in zip(sizes, weights, strict=True))
        return cost * sum((s - 1) / w + 1 / (s * common) for s, w in zip(sizes, weights, strict=True))

    basis = Residual(sizes)
    weights, common = [float(w) for w in basis.weights], float(basis.common)
    best = error(weights, common)
    for factor in (0.8, 1.25):
        assert error(weights, common * factor) > best
        assert error([weights[0] * factor, *weights[1:]], common) > best


def test_it_is_taken_where_it_errs_least():
    from discreet import Categorical, Schema

    def plan(count, epsilon=1, **settings):
        schema = Schema([Categorical(f"f{i}", [0, 1]) for i in range(count)], "y", [0, 1])
        return make_plan(schema, Budget(epsilon, 1e-6), together=True, **settings)

    assert plan(120).mechanism == "residual"
    assert plan(120).accounting.startswith("privacy loss distributions")
    assert plan(20).mechanism == "knorm"
    assert plan(120, contributions=2).rho < plan(120).rho


def test_what_it_cannot_do_is_refused():
    with pytest.raises(BudgetError, match="delta"):
        PrivateNB(1, schema=SCHEMAS["two tables"], mechanism="residual").plan()
    with pytest.raises(BudgetError, match="this model has none"):
        make_plan(SCHEMAS["number"], Budget(1, 1e-6), mechanism="residual", numeric="gaussian")
    assert bundling.RESIDUAL in str(plan_of("two tables", Adjacency.ADD_REMOVE).node)


def test_exact_tables_without_privacy():
    plan = make_plan(SCHEMAS["two tables"], Budget(math.inf), mechanism="residual")
    flat = integers(SCHEMAS["two tables"], plan, (0, 3, 3))
    assert flat["table", "a"].sum() == 3


@pytest.mark.parametrize("mechanism", ["residual", "gaussian"])
def test_replaced_rows_are_accounted_as_replaced_where_epsilon_is_large(monkeypatch, mechanism):
    """At a large ε the losses of one row more or less would let less noise pass than a replaced row needs."""
    monkeypatch.setitem(SCHEMAS, "one table", Schema([Categorical("a", [0, 1])], "t", [0, 1]))
    plan = make_plan(SCHEMAS["one table"], Budget(12, 1e-4), adjacency=Adjacency.REPLACE, mechanism=mechanism)
    found = {pattern for pattern in patterns("one table", Adjacency.REPLACE, plan) if pattern}
    assert 0.5e-4 < max(hockey_stick(pattern, 12) for pattern in found) <= 1e-4


def test_integers_beyond_64_bits_stay_at_their_end():
    """One row more never moves what is handed over by more than it moves the integer itself."""
    for count in (2**63 // 15, 2**62, 2**63 - 2):
        tables = [np.array([extra + count, *[0] * 15]) for extra in (0, 1)]
        handed_over = []
        for table in tables:
            sampler = Handed()
            Residual((16,)).released([table], Fraction(40), sampler)
            handed_over.append([int(value) for values, _ in sampler.calls for value in values])
        moved = [abs(a - b) for a, b in zip(*handed_over, strict=True)]
        assert moved[0] <= 1 and max(moved[1:]) <= 15
