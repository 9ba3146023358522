"""Private bounds with a δ: Gaussian noise where it finds more, its ρ for small neighbours, and what a call spends."""

import itertools
import math
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest

from discreet import Budget, Ledger, Numeric, Schema, private_bounds
from discreet.bounds.grid import Octaves
from discreet.bounds.plan import _by_rho, make_settle_plan
from discreet.bounds.release import settled
from discreet.mechanisms.noise import ExactSampler
from discreet.privacy.budget import Adjacency
from discreet.privacy.calibrate import sqrt_up, zcdp_rho
from discreet.privacy.ledger import concentrated, cost
from tests.bounds.test_law import ONE, TWO, Scripted, exact, pairs, scripts
from tests.recorder import replayed

BUDGET = Budget(1, Fraction(1, 10**6))
WIDE = Schema([Numeric(f"f{j}", -100, 900, bins=4, bounds="private") for j in range(12)], "y", ["n", "p"])


class Gaussian(Scripted):
    """The scripted sampler, handed Gaussian draws alone."""

    def gaussian(self, values, variance):
        assert sqrt_up(variance) ** 2 >= variance
        return self.laplace(values, variance)


def worst(schema, adjacency, contributions=1, factor=1, **settings):
    """The largest ρ over neighbours and outcomes of the first look, beside the plan's own."""
    people = {"adjacency": Adjacency.of(adjacency), "contributions": contributions}
    pure = make_settle_plan(schema, Budget(1), **people, **settings)
    plan = _by_rho(pure, BUDGET)
    assert cost(plan.node, "rho") == plan.rho >= zcdp_rho(BUDGET.epsilon, BUDGET.delta)
    cut = {
        key: replace(charge, spread=charge.spread * factor)
        for key in ("octaves", "parts")
        if (charge := getattr(plan, key)) is not None
    }
    ways = {}
    for left, right in pairs(schema, adjacency, contributions):
        a, b = exact(schema, plan, left), exact(schema, plan, right)
        ways[tuple(tuple((a[name] - b[name]).tolist()) for name in a)] = (a, b)
    found, cheaper = 0.0, replace(plan, **cut)
    for script in scripts(plan):
        for a, b in ways.values():
            one, two = Gaussian(script), Gaussian(script)
            settled(a, cheaper, one), settled(b, cheaper, two)
            loss = 0.0
            for (x, spread), (y, other) in zip(one.handed, two.handed, strict=True):
                assert spread == other and x.shape == y.shape
                loss += float(np.square(x - y).sum()) / (2 * spread)
            found = max(found, loss)
    return found / float(plan.rho)


@pytest.mark.parametrize("adjacency", ["add-remove", "replace"])
@pytest.mark.parametrize(("schema", "settings"), [(ONE, {"edges": "private"}), (TWO, {"bounds": "private"})])
def test_no_neighbour_costs_more_than_its_rho(adjacency, schema, settings):
    if schema is TWO and adjacency == "replace":
        settings = {"bounds": "private", "edges": "declared"}
    assert worst(schema, adjacency, **settings) == pytest.approx(1)
    assert worst(schema, adjacency, factor=Fraction(4, 5), **settings) > 1.2


def test_two_rows_of_one_person():
    assert worst(ONE, "add-remove", contributions=2) == pytest.approx(1)


@pytest.mark.parametrize("edges", ["private", "declared"])
@pytest.mark.parametrize("adjacency", list(Adjacency))
def test_the_noise_that_finds_bounds_among_fewer_rows_is_taken(edges, adjacency):
    for numbers, epsilon in itertools.product((1, 3, 6, 20), (0.1, 1.0, 8.0)):
        schema = WIDE.having([Numeric(f"f{j}", -100, 900, bins=4, bounds="private") for j in range(numbers)])
        settings = {"edges": edges, "adjacency": adjacency}
        both, pure = (make_settle_plan(schema, Budget(epsilon, delta), **settings) for delta in (1e-6, 0))
        assert both.no_worse(pure) and (both.rho is not None) == (both.budget.delta > 0)
        gaussian = _by_rho(pure, Budget(epsilon, 1e-6))
        assert (both.rho is not None) == gaussian.no_worse(pure)
        if numbers == 20 and epsilon == 1:
            assert both.threshold(schema.numeric[0]) / pure.threshold(schema.numeric[0]) < 0.45
        if numbers == 1:
            assert both.rho is None


def test_noise_alone_exceeds_the_threshold_no_more_often_than_promised():
    """By the exact law: the sum over all t beyond."""
    plan = make_settle_plan(WIDE, BUDGET)
    feature = plan.features[0]
    for charge, limit, chance in (
        (plan.octaves, plan.threshold(feature), (1 / 5) / Octaves.of(feature).size),
        (plan.parts, plan.second_threshold, 1 / 20),
    ):
        variance = float(charge.spread)
        law = np.exp(-np.square(np.arange(-4000, 4001)) / (2 * variance))
        beyond = law[4000 + limit + 1 :].sum() / law.sum()
        assert chance / 1.5 < beyond <= chance


@pytest.mark.parametrize("adjacency", ["add-remove", "replace"])
@pytest.mark.parametrize("moved", [1, 2])
def test_a_neighbour_costs_the_rho_and_changes_nothing_else(monkeypatch, adjacency, moved):
    rng = np.random.default_rng(4)
    rows, new = rng.normal(60, 25, (240, 12)), np.full((moved, 12), 812.0)
    other = np.concatenate([new, rows[moved:]] if adjacency == "replace" else [new, rows])
    inserted = () if adjacency == "replace" else tuple(range(moved))

    def call(data):
        ledger = Ledger(BUDGET, "zcdp" if moved > 1 else "basic")
        found = private_bounds(
            WIDE, data, 1.0, delta=1e-6, adjacency=adjacency, contributions=moved, ledger=ledger
        )  # fmt: skip
        certificate = found.certificate
        assert (certificate.epsilon, certificate.delta) == ("1", "1/1000000")
        assert concentrated(ledger.nodes[0]) == Fraction(certificate.rho) == found.plan.rho
        return found.schema, certificate

    for seed in range(2):
        tape = replayed(monkeypatch, call, rows, other, inserted=inserted, seed=seed)
        plan = make_settle_plan(WIDE, BUDGET, adjacency=Adjacency.of(adjacency), contributions=moved)
        assert len(tape.of("gaussian")) == len(tape.events) == 24
        # Rows that are replaced may lie in cells that no look counts, and two of them in several.
        assert tape.loss() <= float(plan.rho) * (1 + 1e-9)
        assert not inserted or math.isclose(tape.loss(), float(plan.rho))
        assert moved > 1 or tape.loss() > 0.8 * float(plan.rho)


def test_bounds_are_found_with_real_noise():
    rows = np.random.default_rng(5).normal(60, 25, (4000, 12))
    found = private_bounds(WIDE, rows, 1.0, delta=1e-6)
    assert all(-100 <= feature.lower < 30 and 100 < feature.upper <= 300 for feature in found.schema.numeric)
    assert ExactSampler.name in found.certificate.sampler and found.plan.to_dict()["delta"] == 1e-6


@pytest.mark.parametrize(("numbers", "part"), [(20, 0.36), (57, 0.21)])
def test_how_many_fewer_rows_an_octave_needs(numbers, part):
    """The figures of docs/private-bounds.md, from plans."""
    schema = Schema([Numeric(f"f{j}", -1000, 1000, bins=4, bounds="private") for j in range(numbers)], "y", [0, 1])
    both, pure = (make_settle_plan(schema, Budget(1, delta)) for delta in (1e-6, 0))
    feature = both.features[0]
    assert both.threshold(feature) / pure.threshold(feature) == pytest.approx(part, abs=0.006)
