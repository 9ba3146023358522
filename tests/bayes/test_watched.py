"""What Naive Bayes hands to the sampler in a real fit: neighbours, answered alike, are released alike and cost ε."""

import math
from fractions import Fraction

import numpy as np
import pytest
from scipy import stats

from discreet import Budget, Categorical, Ledger, Numeric, PrivateNB, Schema, SmoothSettings
from discreet.bayes import smooth
from discreet.mechanisms import smooth_plan
from tests.recorder import recorded, replayed, with_rows

SCHEMA = Schema(
    [
        Categorical("c", ["u", "v", "w"]),
        Numeric("a", 0, 8, step=0.5, bins=4),
        Numeric("b", -1, 1, step=0.25, bins=4, missing="bin"),
    ],
    "y",
    ["n", "p"],
)
NEIGHBOURS = [("add-remove", 1), ("add-remove", 2), ("replace", 1), ("replace", 2)]
FAR, NEAR = ("w", 8.0, 1.0), ("u", 0.0, -1.0)


def rows_of(size=60):
    rng = np.random.default_rng(0)
    X = np.empty((size, 3), object)
    X[:, 0] = rng.choice(["u", "v", "w"], size)
    X[:, 1] = rng.integers(0, 17, size) / 2
    X[:, 2] = [None if gone else value for gone, value in zip(rng.random(size) < 0.2, rng.random(size), strict=True)]
    y = rng.choice(["n", "p"], size)
    for i in range(2):
        X[i], y[i] = NEAR, "n"
    return X, y


def neighbour(data, adjacency, moved, *, swap=True):
    X, y = data
    if adjacency == "replace":
        X, y = X.copy(), y.copy()
        for i in range(moved):
            X[i], y[i] = FAR, "p" if swap else "n"
        return (X, y), ()
    new = np.empty((moved, 3), object)
    for i in range(moved):
        new[i] = FAR
    return (np.concatenate([new, X]), np.concatenate([["p"] * moved, y])), tuple(range(moved))


def call(epsilon=1, delta=0, **settings):
    def fitted(data):
        ledger = Ledger(Budget(epsilon, delta), composition="basic" if delta else None)
        estimator = PrivateNB(epsilon, delta, SCHEMA, **settings).fit(*data, ledger=ledger)
        assert ledger.spent == Fraction(epsilon) or delta
        return estimator.model_.to_dict()

    return fitted


@pytest.mark.parametrize("mechanism", ["laplace", "knorm"])
@pytest.mark.parametrize(("adjacency", "moved"), NEIGHBOURS)
def test_tables_cost_epsilon(monkeypatch, adjacency, moved, mechanism):
    data = rows_of()
    other, inserted = neighbour(data, adjacency, moved)
    fit = call(adjacency=adjacency, contributions=moved, mechanism=mechanism)
    tape = replayed(monkeypatch, fit, data, other, inserted=inserted)
    assert tape.loss() == pytest.approx(1)
    assert ("tables" in {event.kind for event in tape.events}) == (mechanism == "knorm")


@pytest.mark.parametrize("split", ["weighted", "equal"])
@pytest.mark.parametrize(("adjacency", "moved"), NEIGHBOURS)
def test_sums_and_squares_cost_epsilon(monkeypatch, adjacency, moved, split):
    """A row at the bound, of which sum and square move by as much as they can; the changed row keeps its class."""
    data, worst = rows_of(), 0.0
    for swap in (True, False):
        other, inserted = neighbour(data, adjacency, moved, swap=swap)
        fit = call(numeric="gaussian", adjacency=adjacency, contributions=moved, split=split, mechanism="laplace")
        tape = replayed(monkeypatch, fit, data, other, inserted=inserted)
        worst = max(worst, tape.loss())
        assert tape.loss() <= 1 + 1e-9
    assert worst > (0.99 if adjacency == "add-remove" else 0.6)


@pytest.mark.parametrize(("adjacency", "moved"), NEIGHBOURS)
def test_gaussian_noise_costs_rho(monkeypatch, adjacency, moved):
    """ρ of what was drawn; the tight conversion, over orders written out here, gives no more than δ."""
    data = rows_of()
    _other, inserted = neighbour(data, adjacency, moved)
    fit = call(1, 1e-5, numeric="gaussian", mechanism="gaussian", adjacency=adjacency, contributions=moved)
    rho = max(
        replayed(monkeypatch, fit, data, neighbour(data, adjacency, moved, swap=swap)[0], inserted=inserted).loss()
        for swap in (True, False)
    )
    orders = 1 + np.geomspace(1e-2, 1e4, 20_000)
    logs = (orders - 1) * (orders * rho - 1) + orders * np.log1p(-1 / orders) - np.log(orders - 1)
    assert math.exp(logs.min()) <= 1e-5 * (1 + 1e-6)
    if adjacency == "add-remove":
        assert math.exp(logs.min()) > 0.95e-5


@pytest.mark.parametrize(("adjacency", "moved"), NEIGHBOURS)
def test_tables_in_a_residual_basis_cost_rho(monkeypatch, adjacency, moved):
    """A row with another label, and one whose cells all change and whose label does not."""
    data = rows_of()
    inserted = neighbour(data, adjacency, moved)[1]
    fit = call(1, 1e-5, mechanism="residual", adjacency=adjacency, contributions=moved)
    plan = PrivateNB(1, 1e-5, SCHEMA, mechanism="residual", adjacency=adjacency, contributions=moved).plan()
    others = [neighbour(data, adjacency, moved, swap=swap)[0] for swap in (True, False)]
    rho = max(replayed(monkeypatch, fit, data, other, inserted=inserted).loss() for other in others)
    assert 0.999 * float(plan.rho) < rho < (1 + 1e-9) * float(plan.rho)
    # Exact losses are worth more than the conversion, and a Gaussian of that ρ no more than δ.
    ratio = math.sqrt(2 * float(plan.rho))
    normal = stats.norm.cdf(ratio / 2 - 1 / ratio) - math.e * stats.norm.cdf(-ratio / 2 - 1 / ratio)
    assert normal <= 1e-5


@pytest.mark.parametrize("mechanism", ["laplace", "knorm"])
def test_each_batch_has_noise_of_its_own(monkeypatch, mechanism):
    X, y = rows_of()

    def batches():
        estimator = PrivateNB(1, schema=SCHEMA, mechanism=mechanism)
        estimator.partial_fit(X[:30], y[:30]).partial_fit(X[30:], y[30:])
        return estimator.certificate_

    tape, certificate = recorded(monkeypatch, batches)
    half = len(tape.events) // 2
    assert [event.public for event in tape.events[:half]] == [event.public for event in tape.events[half:]]
    single, _ = recorded(monkeypatch, lambda: call(mechanism=mechanism)((X, y)))
    assert [event.public for event in single.events] == [event.public for event in tape.events[:half]]
    assert Fraction(certificate.epsilon) == 1


def test_every_charge_of_the_certificate_was_drawn(monkeypatch):
    for settings in ({"mechanism": "laplace"}, {"mechanism": "knorm"}, {"numeric": "gaussian"}):
        estimator = PrivateNB(1, schema=SCHEMA, **settings)
        tape, _ = recorded(monkeypatch, lambda estimator=estimator: estimator.fit(*rows_of()))
        charges = estimator.certificate_.charges()
        assert sum(Fraction(charge.cost) for charge in charges) == 1
        assert {Fraction(charge.spread) for charge in charges} == set(tape.spreads)


@pytest.mark.parametrize("adjacency", ["add-remove", "replace"])
def test_what_comes_before_trimmed_statistics_is_noisy(monkeypatch, adjacency):
    """Trims, laws and β follow from the noisy counts: with the same answers a row more changes none of them.

    One row in ten is trimmed, so that an exact count would show wherever a class has one short of a multiple of ten.
    """
    for size in range(60, 72):
        seen = []
        monkeypatch.setattr(smooth, "release_smooth", lambda sample, plan, seen=seen: seen.append(plan) or 0)
        data = rows_of(size)
        other, inserted = neighbour(data, adjacency, 1)
        fit = call(4, numeric="gaussian", smooth=SmoothSettings(trim=0.1), adjacency=adjacency)
        tape = replayed(monkeypatch, fit, data, other, inserted=inserted, loudness=0)
        half = len(seen) // 2
        assert half and seen[:half] == seen[half:]
        steps = 2 if adjacency == "replace" else 1
        by_class = sum(plan.epsilon for plan in seen[:half]) / 2
        assert float(tape.loss()) + float(by_class) * steps == pytest.approx(4)


@pytest.mark.parametrize("adjacency", ["add-remove", "replace"])
def test_several_bundles_share_the_budget(monkeypatch, adjacency):
    sizes = (2, 2, 2, 30, 30)
    schema = Schema([Categorical(f"c{j}", list(range(size))) for j, size in enumerate(sizes)], "y", [0, 1])
    rng = np.random.default_rng(3)
    X, y = np.column_stack([rng.integers(0, size, 80) for size in sizes]), rng.integers(0, 2, 80)
    X[0], y[0] = 0, 0
    other, inserted = with_rows((X, y), [[1] * 5], [1]), (0,)
    if adjacency == "replace":
        other, inserted = (np.vstack([[1] * 5, X[1:]]), np.append([1], y[1:])), ()

    def fitted(data):
        return PrivateNB(1, schema=schema, mechanism="knorm", adjacency=adjacency).fit(*data).model_.to_dict()

    tape = replayed(monkeypatch, fitted, (X, y), other, inserted=inserted)
    assert len({event.public for event in tape.of("tables")}) > 1
    assert tape.loss() == pytest.approx(1)


@pytest.mark.parametrize("estimator", ["trimmed", "bun-steinke"])
def test_the_noise_of_trimmed_statistics_hides_a_row(monkeypatch, estimator):
    """Centre and scale as they reach the draw, for rows at one bound and a new one at the other.

    The log-ratio of the two Student laws, on a wide grid, stays within what each release costs, and comes near it.
    """
    schema = Schema([Numeric("a", -4, 4, step=0.5)], "y", ["n", "p"])
    drawn = []

    def draw(center, scale, law, **limits):
        drawn.append((float(center), float(scale), law.degrees))
        return 0

    monkeypatch.setattr(smooth_plan, "draw_rounded", draw)
    X, y = np.full((24, 1), -4.0), np.array(["n"] * 12 + ["p"] * 12)

    def fitted(data):
        bound = SmoothSettings(estimator=estimator, trim=0, noise="cauchy")
        estimator_ = PrivateNB(3, schema=schema, numeric="gaussian", smooth=bound).fit(*data)
        charges = [charge for charge in estimator_.certificate_.charges() if "smooth" in charge.mechanism]
        return [float(Fraction(charge.cost)) for charge in charges]

    costs = []
    other = with_rows((X, y), [[4.0]], ["n"])
    replayed(monkeypatch, lambda data: costs.append(fitted(data)), (X, y), other, inserted=(0,))
    half = len(drawn) // 2
    assert half == 4 and costs[0] == costs[1]
    z, losses = np.sinh(np.linspace(-14, 14, 40_001)), []
    for (one, wide, d), (two, other, _) in zip(drawn[:half], drawn[half:], strict=True):
        x = one + wide * z
        first = stats.t.logpdf((x - one) / wide, d) - math.log(wide)
        second = stats.t.logpdf((x - two) / other, d) - math.log(other)
        losses.append(float(np.abs(first - second).max()))
    assert sum(loss > 0 for loss in losses) == 2  # mean and variance of the class that the row is in
    assert all(loss <= cost * (1 + 1e-6) for loss, cost in zip(sorted(losses)[2:], sorted(costs[0])[2:], strict=True))
    assert max(losses) > 0.75 * max(costs[0])
