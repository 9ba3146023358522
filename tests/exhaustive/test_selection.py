"""Every neighbour of every small data set: how far scores move, and what that does to each selector's law."""

import math
from fractions import Fraction
from functools import cache
from itertools import combinations_with_replacement, permutations, product

import numpy as np
import pytest

from discreet.errors import BudgetError
from discreet.privacy.budget import Adjacency, Budget
from discreet.privacy.calibrate import zcdp_rho
from discreet.privacy.ledger import Ledger, cost
from discreet.schema import Categorical, Schema
from discreet.selection import PrivateSelectKBest
from discreet.selection.plan import make_selection_plan
from discreet.selection.scores import BIT, information, information_bound, make_score
from discreet.selection.select import DRAWS
from tests.mechanisms.selection_laws import LAWS, sparse_law
from tests.privacy.test_ranged import alike

SCHEMA = Schema([Categorical("a", [0, 1]), Categorical("b", [0, 1]), Categorical("c", [0, 1, 2])], "y", [0, 1, 2])
ROWS = list(product((0, 1), (0, 1), (0, 1, 2), (0, 1, 2)))
NARROW = Schema([Categorical(name, [0, 1]) for name in "ab"], "y", [0, 1])
NARROW_ROWS = list(product((0, 1), repeat=3))


def tables(rows, schema):
    found = [np.zeros((len(schema.classes), f.cells), np.int64) for f in schema.features]
    for *values, label in rows:
        for table, value in zip(found, values, strict=True):
            table[label, value] += 1
    return found


def data_sets(rows, most):
    for size in range(most + 1):
        yield from combinations_with_replacement(rows, size)


def pairs(rows, most, adjacency):
    """Ordered neighbours, smaller or earlier first."""
    for data in data_sets(rows, most):
        if adjacency is Adjacency.ADD_REMOVE:
            yield from ((data, (*data, row)) for row in rows)
        else:  # one row changed, the others being `data`
            yield from (((*data, a), (*data, b)) for a, b in combinations_with_replacement(rows, 2))


@pytest.mark.parametrize("adjacency", list(Adjacency))
@pytest.mark.parametrize("name", ["count", "hits", "balanced"])
def test_scores_move_as_far_as_stated_and_no_farther(name, adjacency):
    schema, rows = (NARROW, NARROW_ROWS) if name == "count" else (SCHEMA, ROWS)
    score = make_score(name, schema, adjacency)
    weights = np.array([64, 7, 20]) if name == "balanced" else None
    cache = {}

    def value(data):
        key = tuple(sorted(data))
        if key not in cache:
            cache[key] = score.of_tables(tables(key, schema), weights)
        return cache[key]

    most = moved = 0
    size = 4 if name == "count" else 2 if adjacency is Adjacency.ADD_REMOVE else 1
    for left, right in pairs(rows, size, adjacency):
        change = value(right) - value(left)
        most = max(most, int(np.abs(change).max()))
        moved = max(moved, int(change.max() - change.min()))
    assert most == score.sensitivity
    assert moved == score.reach if name != "balanced" else moved <= score.reach


def test_spreads_of_three_values_fall_and_rise_at_once():
    schema = Schema([Categorical(name, [0, 1, 2]) for name in "ab"], "y", [0, 1])
    rows = [(0, 1, 1), (0, 2, 1), (0, 1, 1), (1, 0, 0), (2, 0, 0), (1, 0, 0)]
    score = make_score("count", schema, Adjacency.ADD_REMOVE)
    change = score.of_tables(tables([*rows, (0, 0, 0)], schema)) - score.of_tables(tables(rows, schema))
    assert change.tolist() == [-1, 1]
    assert score.reach == 2


def _cells(shape, total):
    """Every table of that shape with that many rows."""
    size = shape[0] * shape[1]
    for chosen in combinations_with_replacement(range(size), total):
        yield np.bincount(chosen, minlength=size).reshape(shape)


@pytest.mark.parametrize(("shape", "most"), [((2, 2), 10), ((2, 3), 6), ((3, 3), 5)])
@pytest.mark.parametrize("cap", [2, 4, 50])
def test_information_moves_within_its_bound(shape, most, cap):
    schema = Schema([Categorical("a", list(range(shape[1])))], "y", list(range(shape[0])))
    plus = information_bound(schema, Adjacency.ADD_REMOVE, cap) * BIT + 2
    swap = information_bound(schema, Adjacency.REPLACE, cap) * BIT + 2
    widest = 0.0
    for total in range(most):
        for table in _cells(shape, total):
            here = information(table, cap)
            after = []
            for spot in product(range(shape[0]), range(shape[1])):
                table[spot] += 1
                after.append(information(table, cap))
                table[spot] -= 1
            assert max(abs(value - here) for value in after) <= plus
            widest = max(widest, *(abs(value - here) for value in after))
            if total + 1 <= cap:
                assert max(after) - min(after) <= swap
    if cap == 50:
        assert widest > 0.8 * math.log2(most) * BIT  # the bound is of the right order


EPSILON = 2.0
LEVELS = (0, 3, 9)
ASCENDING = list(combinations_with_replacement(LEVELS, 4))


def loss(law, changes, vectors=ASCENDING):
    """The largest log-ratio of a law over score vectors of four items and everything a neighbour may do to them.

    Vectors in ascending order are enough for a law that is the same whatever the items are called.
    """

    @cache
    def of(scores):
        chances = np.array([chance for _, chance in sorted(law(scores).items())])
        assert (chances > 0).all()
        return np.log(chances)

    found = 0.0
    for scores in vectors:
        moved = [of(tuple(a + b for a, b in zip(scores, change, strict=True))) for change in product(changes, repeat=4)]
        found = max(found, float(np.abs(np.array(moved) - of(scores)).max()))
    return found


def changes(score, adjacency):
    """What one neighbour can do to a score, by the enumeration above."""
    rises = score == "hits" and adjacency is Adjacency.ADD_REMOVE
    most = 2 if score == "count" and adjacency is Adjacency.REPLACE else 1
    return (0, 1) if rises else (-most, 0, most)


FOUR = Schema([Categorical(name, [0, 1, 2]) for name in "abcd"], "y", [0, 1])
CASES = [("hits", Adjacency.ADD_REMOVE), ("count", Adjacency.ADD_REMOVE), ("hits", Adjacency.REPLACE)]


@pytest.mark.parametrize("selector", LAWS)
def test_the_laws_are_the_same_whatever_the_items_are_called(selector):
    law = LAWS[selector]((0, 3, 9, 10), 2, 0.3)
    for order in permutations(range(4)):
        renamed = LAWS[selector](tuple((0, 3, 9, 10)[i] for i in order), 2, 0.3)
        for key, chance in renamed.items():
            items = tuple(order[i] for i in key)
            assert chance == pytest.approx(law[tuple(sorted(items)) if selector == "mask" else items], rel=1e-12)


@pytest.mark.parametrize(("score", "adjacency"), [*CASES, ("count", Adjacency.REPLACE)])
@pytest.mark.parametrize("selector", LAWS)
def test_no_neighbour_changes_a_law_by_more_than_epsilon(selector, score, adjacency):
    plan = make_selection_plan(FOUR, Budget(EPSILON), 2, score=score, selector=selector, adjacency=adjacency)
    found = loss(lambda scores: LAWS[selector](scores, 2, float(plan.rate)), changes(score, adjacency))
    assert found <= EPSILON * (1 + 1e-9)
    assert found > 0.55 * EPSILON  # and a third less noise would be too little for the exponential mechanisms
    if selector in {"mask", "gumbel"}:
        short = loss(lambda scores: LAWS[selector](scores, 2, 1.3 * float(plan.rate)), changes(score, adjacency))
        assert short > EPSILON


@pytest.mark.parametrize(("score", "adjacency"), CASES[:2])
def test_the_sparse_vector_technique_keeps_its_promise(score, adjacency):
    plan = make_selection_plan(
        FOUR, Budget(EPSILON), 2, score=score, selector="sparse-vector", adjacency=adjacency, threshold=4
    )
    fence, query = (float(scale) for scale in plan.scales)
    every = product(LEVELS, repeat=4)  # items are met in their order
    found = loss(lambda scores: sparse_law(scores, 2, 4, fence, query), changes(score, adjacency), every)
    assert 0.4 * EPSILON < found <= EPSILON * (1 + 1e-9)


def test_leaving_out_the_number_of_features_breaks_the_promise():
    """Masks of T features need T times the reach of one: without it the loss is near Tε."""
    plan = make_selection_plan(FOUR, Budget(1), 2, score="hits", selector="mask")
    assert loss(lambda scores: LAWS["mask"](scores, 2, 2 * float(plan.rate)), (0, 1)) > 1.9


# ---- zCDP: draws of the exponential mechanism with a delta


def renyi(first, second, order):
    """D of a finite law from another."""
    return math.log(sum(first[key] * (first[key] / second[key]) ** (order - 1) for key in first)) / (order - 1)


def worst_rho(law, changes):
    """The largest D_α/α over score vectors of four items, neighbours and orders."""
    found = 0.0
    for scores in product(LEVELS[:2], repeat=4):
        for change in product(changes, repeat=4):
            moved = tuple(a + b for a, b in zip(scores, change, strict=True))
            first, second = law(scores), law(moved)
            found = max(found, *(renyi(first, second, order) / order for order in (1.01, 3, 20)))
    return found


@pytest.mark.parametrize("moves", [(0, 1), (-1, 0, 1)])
def test_peeling_costs_an_eighth_of_the_square_of_epsilon_for_each_draw(moves):
    """A rate of ε over the range of changes; permute-and-flip at the same rate costs more, and stays at pure ε."""
    epsilon = 1.5
    rate = epsilon / (max(moves) - min(moves))
    laws = {name: cache(lambda scores, law=LAWS[name]: law(scores, 2, rate)) for name in ("gumbel", "permute-and-flip")}
    bound = 2 * epsilon**2 / 8
    assert 0.6 * bound < worst_rho(laws["gumbel"], moves) <= bound * (1 + 1e-9)
    assert worst_rho(laws["permute-and-flip"], moves) > bound


MANY = Schema([Categorical(str(j), [0, 1, 2]) for j in range(40)], "y", [0, 1])


@pytest.mark.parametrize(("score", "adjacency"), [*CASES, ("balanced", Adjacency.REPLACE)])
@pytest.mark.parametrize("contributions", [1, 3])
def test_with_a_delta_the_rho_of_all_draws_is_that_of_the_budget(score, adjacency, contributions):
    given = {"score": score, "adjacency": adjacency, "contributions": contributions}
    pure, plan = (
        make_selection_plan(MANY, budget, 30, selector="gumbel", **given) for budget in (Budget(2), Budget(2, 1e-6))
    )
    spent, choice = cost(plan.node, "epsilon"), plan.node.parts[-1]
    assert spent == (Fraction(1, 5) if score == "balanced" else 0)
    ranged = plan.rate * plan.score.reach
    assert choice.measure == "rho" and choice.cost == 30 * ranged**2 / 8
    assert 1 < choice.cost / zcdp_rho(2 - spent, Fraction(1, 10**6)) < 1.25  # the worst losses, not the conversion
    assert 0.7e-6 < alike(float(ranged), 30, float(2 - spent)) <= 1e-6
    assert plan.rate > pure.rate and choice.spread == 1 / plan.rate
    assert plan.rho == choice.cost + spent**2 / 2 and plan.budget.delta == Fraction(1, 10**6)


def test_many_draws_come_from_the_exponential_mechanism_where_it_errs_less():
    plans = [make_selection_plan(MANY, Budget(2, 1e-6), 30, selector=one) for one in ("permute-and-flip", "gumbel")]
    assert plans[0] == plans[1] and plans[0].selector == "gumbel"
    equal = Fraction(2, 30)
    ranged = plans[0].each
    assert 1 / (1 + math.exp(4 * float(ranged / equal))) < math.exp(-4) / 2


def test_few_draws_and_other_selectors_stay_at_pure_epsilon():
    for k, selector in ((2, "gumbel"), (5, "permute-and-flip"), (30, "mask"), (30, "noisy-scores")):
        plan = make_selection_plan(MANY, Budget(2, 1e-6), k, selector=selector)
        assert plan.each is None and plan.rho is None and plan.budget == Budget(2)
        assert plan.rate == make_selection_plan(MANY, Budget(2), k, selector=selector).rate
    with pytest.raises(BudgetError, match="instead of rho"):
        make_selection_plan(MANY, Budget(rho=1), 2)


def test_a_choice_with_a_delta_draws_at_its_rate_and_says_so(monkeypatch):
    rates, draw = [], DRAWS["gumbel"]

    def watched(scores, k, rate, *, odds):
        rates.append(rate)
        return draw(scores, k, rate, odds=odds)

    monkeypatch.setitem(DRAWS, "gumbel", watched)
    X = np.random.default_rng(0).integers(0, 3, (60, 40))
    ledger = Ledger(Budget(2, 1e-6), "basic")
    chooser = PrivateSelectKBest(30, 2.0, MANY, selector="gumbel", delta=1e-6).fit(X, X[:, 0] % 2, ledger=ledger)
    found = chooser.certificate_
    assert rates == [chooser.plan().rate] and len(chooser.names_) == 30
    assert (found.epsilon, found.delta) == ("2", "1/1000000") and Fraction(found.rho) == chooser.plan().rho
    assert "worst privacy losses" in found.accounting and ledger.totals.delta == Fraction(1, 10**6)
