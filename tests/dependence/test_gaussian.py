"""The tree-augmented model with a δ: what it spends in ρ, for small neighbours exactly and in real fits."""

import functools
import math
from fractions import Fraction

import numpy as np
import pytest

from discreet import Budget, BudgetError, Categorical, Ledger, PrivateTAN, Schema
from discreet.dependence.loudness import Sizes
from discreet.dependence.pairs import REACH, STEPS, candidates
from discreet.dependence.tan import PAIRS, TABLES, _loudness, gaussian_tables, plan_tan, tree_rounds
from discreet.estimators.counts import SHARE
from discreet.mechanisms.choose import choice_rate
from discreet.mechanisms.residual import Residual
from discreet.privacy import Adjacency
from discreet.privacy.calibrate import zcdp_rho
from discreet.privacy.certificate import WHICHEVER
from discreet.privacy.ledger import cost
from discreet.privacy.plan import Protected
from tests.dependence.test_tan import BITS, neighbours, scores, tables, tree_law
from tests.laws import exponential_law
from tests.recorder import replayed, with_rows

DELTA = Fraction(1, 10**6)
WIDE = Schema([Categorical(f"f{j}", [0, 1]) for j in range(30)], "y", ["n", "p"])
PEOPLE = [("add-remove", 1), ("add-remove", 2), ("replace", 1), ("replace", 2)]
ORDERS = 1 + np.exp(np.linspace(math.log(1e-3), math.log(1e3), 60))


def wide(size, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.integers(0, 2, (size, 30))
    X[:, 1::2] = X[:, ::2] ^ (rng.random((size, 15)) < 0.1)
    X[:2], y = np.tile([0, 1], 15), rng.choice(["n", "p"], size)
    y[:2] = "n"
    return X, y


class Handed:
    """A sampler that keeps what Gaussian noise was asked for."""

    name, simulation = "handed", True

    def __init__(self):
        self.seen = []

    def gaussian(self, values, variance):
        self.seen.append((values, variance))
        return values


def zcdp(one, two):
    """The largest Rényi divergence over its order, either way."""
    found = 0.0
    for a, b in ((one, two), (two, one)):
        logs = ORDERS[:, None] * np.log(a) + (1 - ORDERS[:, None]) * np.log(b)
        top = logs.max(axis=1)
        found = max(
            found, float(((top + np.log(np.exp(logs - top[:, None]).sum(axis=1))) / (ORDERS - 1) / ORDERS).max())
        )
    return found


@pytest.mark.parametrize("adjacency", list(Adjacency))
def test_no_neighbour_costs_more_than_its_rho(adjacency):
    """Choices by the exact law of trees, tables by the squares of what moves; noise cut by a fifth is found out."""
    people = Protected(BITS, Budget(1, DELTA), adjacency, 1)
    rho = Fraction(1, 4)
    rate = choice_rate(Fraction(math.isqrt(8 * 10**12 // 4), 10**6) / 2 / people.moves, REACH * STEPS)

    @functools.cache
    def chances(rows):
        return np.array(list(tree_law(scores(rows), float(rate), exponential_law).values()))

    @functools.cache
    def handed(rows, tree):
        sampler = Handed()
        gaussian_tables([tables(rows)[place] for place in tree], rho, people, sampler)
        return sampler.seen

    chosen = farthest = 0.0
    for one, two in neighbours(adjacency):
        chosen = max(chosen, zcdp(chances(one), chances(two)))
        for tree in ((0, 1), (1, 2)):
            moved = sum(
                float(np.square(x - y).sum()) / (2 * float(variance))
                for (x, variance), (y, _) in zip(handed(one, tree), handed(two, tree), strict=True)
            )
            farthest = max(farthest, moved)
    assert farthest == pytest.approx(float(rho)) and farthest / 0.8 > 1.2 * float(rho)
    assert 0 < chosen <= 2 * (float(rate) * 2 * REACH * STEPS * people.moves) ** 2 / 8 * (1 + 1e-9)


@pytest.mark.parametrize(("adjacency", "moved"), PEOPLE)
def test_counts_choices_and_tables_of_a_tree_in_rho(monkeypatch, adjacency, moved):
    data = wide(1500)
    new = [np.tile([1, 0], 15)] * moved
    if adjacency == "add-remove":
        other, inserted = with_rows(data, new, ["p"] * moved), tuple(range(moved))
    else:
        other, inserted = (data[0].copy(), data[1].copy()), ()
        other[0][:moved] = new  # within their class: two cells of each table, which is farther than a new label
    rho = zcdp_rho(2 * (1 - SHARE), DELTA)

    def call(rows):
        ledger = Ledger(Budget(2, DELTA), "basic")
        estimator = PrivateTAN(2, WIDE, adjacency, moved, delta=DELTA).fit(*rows, ledger=ledger)
        assert (ledger.totals.epsilon, ledger.totals.delta) == (2, DELTA)
        found = estimator.certificate_
        assert (found.epsilon, found.delta) == ("2", str(DELTA)) and WHICHEVER in found.assumptions
        assert Fraction(found.rho) <= rho + (2 * SHARE) ** 2 / 2 and "rho of zCDP" in found.accounting
        return estimator.model_.to_dict()

    tape = replayed(monkeypatch, call, data, other, inserted=inserted)
    counts, chosen, noisy = tape.events[0], tape.of("exponential"), tape.of("gaussian")
    assert counts.kind == "laplace" and counts.loss == pytest.approx(float(2 * SHARE) if inserted else 0)
    assert len(chosen) > 5 and len(tape.events) == 1 + len(chosen) + len(noisy)
    steps = moved * (2 if adjacency == "replace" else 1)
    spent = sum((float(one.public[0]) * 2 * REACH * STEPS * steps) ** 2 / 8 for one in chosen)
    assert spent <= float(rho) * 0.3 * (1 + 1e-9) and spent > 0.29 * float(rho)
    for one in chosen:
        gaps = [abs(a - b) for a, b in zip(one.given, one.other, strict=True)]
        assert max(gaps) <= REACH * STEPS * steps
    loss = sum(event.loss for event in noisy)
    assert loss == pytest.approx(float(rho) * 0.7)


def test_the_way_follows_the_noisy_number_of_rows(monkeypatch):
    """At every number of rows at which the promise turns, and whatever the noise says."""
    few = Schema(WIDE.features[:16], "y", ["n", "p"])
    plan = plan_tan(few, Budget(1, DELTA), adjacency=Adjacency.ADD_REMOVE)
    pairs = candidates(few)
    pure, gaussian = _loudness(plan, Sizes.of(few, pairs))

    def way(size):
        return gaussian.better(pure, tree_rounds(few, pairs, size, pure))

    turns = [size for size in range(20, 6000) if way(size) != way(size + 1)]
    assert turns
    for size in turns[:3]:
        X, y = wide(size)
        data = X[:, :16], y

        def call(rows):
            return PrivateTAN(1, few, delta=DELTA).fit(*rows).model_.to_dict()

        replayed(monkeypatch, call, data, with_rows(data, [[1] * 16], ["p"]), inserted=(0,), loudness=0)


def test_narrow_schemas_stay_pure_by_what_is_public():
    for features in (1, 3, 8):
        narrow = Schema(WIDE.features[:features], "y", ["n", "p"])
        plan = plan_tan(narrow, Budget(1, DELTA), adjacency=Adjacency.ADD_REMOVE)
        assert not plan.budget.delta and not cost(plan.node, "delta") and plan.budget.unspent == DELTA
    assert cost(plan_tan(WIDE, Budget(1, DELTA), adjacency=Adjacency.ADD_REMOVE).node, "delta") == DELTA


def test_the_delta_is_charged_before_a_row_is_read():
    ledger = Ledger(Budget(2), "basic")
    with pytest.raises(BudgetError):
        PrivateTAN(2, WIDE, delta=DELTA).fit(*wide(300), ledger=ledger)
    assert not ledger.totals.epsilon


@pytest.mark.parametrize(
    ("features", "noise", "choice"), [(16, 0.81, 3.1), (36, 0.53, 4.8), (80, 0.35, 7.2)],
)  # fmt: skip
def test_how_much_quieter_a_full_tree_is(features, noise, choice):
    """The table of docs/dependence.md, from plans: deviation of a cell and ε of a choice beside pure ε."""
    schema = Schema([Categorical(f"f{j}", [0, 1]) for j in range(features)], "y", ["n", "p"])
    plan = plan_tan(schema, Budget(1, DELTA), adjacency=Adjacency.ADD_REMOVE)
    pure, gaussian = _loudness(plan, Sizes.of(schema, candidates(schema)))
    pairs = features - 1
    assert gaussian.cell(4, pairs) / pure.cell(4, pairs) == pytest.approx(noise, abs=0.006)
    assert float(gaussian.each(pairs) / pure.each(pairs)) == pytest.approx(choice, abs=0.06)


def test_the_promised_noise_is_that_of_the_basis():
    plan = plan_tan(WIDE, Budget(1, DELTA), adjacency=Adjacency.REPLACE, contributions=2)
    gaussian = _loudness(plan, Sizes.of(WIDE, candidates(WIDE)))[1]
    basis, rho = Residual((4,) * 29), plan.rhos[TABLES]
    spread = basis.reach(Adjacency.REPLACE, 2) / (2 * rho)
    cells, total = basis.variances(spread)
    assert gaussian.cell(4, 29) ** 2 == pytest.approx(cells[0] - total / 16, rel=1e-3)
    assert plan.rhos[PAIRS] + rho == zcdp_rho(1 - SHARE, DELTA)


def test_a_fit_with_real_noise_predicts():
    X, _ = wide(6000)
    y = np.where(X[:, 0] ^ X[:, 2], "p", "n")
    X[:, 5] = np.where(y == "p", X[:, 4], 1 - X[:, 4])  # seen by the pair alone
    made = PrivateTAN(2, WIDE, delta=DELTA).fit(X, y)
    assert made.score(X, y) > 0.95 and made.certificate_.rho is not None
