"""The tree-augmented model: sensitivity and laws by enumeration, post-processing, and the estimator."""

import functools
import itertools
import math
from fractions import Fraction

import numpy as np
import pandas as pd
import pytest

from discreet import Budget, BudgetError, Categorical, DataError, Ledger, Numeric, PrivateNB, Schema, sources
from discreet.bayes.bundling import DIMENSIONS
from discreet.dependence import PrivateJointHistogram, PrivateTAN, tan_noise
from discreet.dependence.loudness import Pure, Sizes
from discreet.dependence.pairs import REACH, STEPS, candidates, dependence, pair_tables
from discreet.dependence.tan import (
    LARGE,
    PAIRS,
    TABLES,
    bought_bundles,
    narrow_bundles,
    noised_tables,
    penalties,
    plan_tan,
    tan_schema,
    tree_rounds,
)
from discreet.dependence.tan_estimate import log_ratio
from discreet.dependence.tree import Forest, grow_tree, is_forest
from discreet.estimators.counts import ClassCounts, CountPlan, bought_counts, count_charge
from discreet.mechanisms.choose import choice_rate
from discreet.mechanisms.coins import Coins
from discreet.mechanisms.noise import sampler_for
from discreet.privacy import Adjacency
from discreet.sources import HeldRows
from tests.dependence.test_joint import Laws
from tests.laws import exponential_law, permute_and_flip_law

BITS = Schema([Categorical(name, [0, 1]) for name in "abc"], "y", [0, 1])
ROWS = list(itertools.product((0, 1), repeat=4))
TRIPLE = [(0, 1), (0, 2), (1, 2)]
FIXED = ClassCounts(np.array([20.0, 20.0]), 1.0, count_charge(Fraction(1)))


def held(rows):
    table = np.array(rows, np.int64).reshape(-1, 4)
    return HeldRows(BITS, tuple(table[:, j].astype(np.uint8) for j in range(3)), table[:, 3])


def loud(scale):
    """K-norm noise of that scale on the tables of pairs."""
    return Pure(Sizes.of(BITS, TRIPLE), scale, scale, Fraction(1))


@functools.cache
def tables(rows):
    return pair_tables(held(rows).codes(BITS), held(rows).labels, BITS, TRIPLE)


@functools.cache
def scores(rows):
    fixed = penalties(BITS, TRIPLE, FIXED, loud(2.0))
    return [dependence(table) - round(STEPS * less) for table, less in zip(tables(rows), fixed, strict=True)]


# ---- the score


@pytest.mark.parametrize(("shape", "most"), [((2, 2), 8), ((2, 3), 6), ((3, 3), 4)])
def test_a_row_moves_the_score_by_less_than_its_reach(shape, most):
    """Every table of up to `most` rows and every row more; the worst is 4n/(n + 1), one row apart from all others."""
    cells = shape[0] * shape[1]
    worst = 0
    for size in range(most):
        for spots in itertools.combinations_with_replacement(range(cells), size):
            counts = np.bincount(np.array(spots, np.int64), minlength=cells).reshape(1, *shape)
            before = dependence(counts)
            for spot in range(cells):
                more = counts.copy()
                more.flat[spot] += 1
                moved = abs(dependence(more) - before)
                assert moved <= REACH * STEPS
                worst = max(worst, moved)
    assert worst == 4 * STEPS * (most - 1) // most


def test_what_a_row_changes_is_an_outer_product():
    """t − rs/n moves by n/(n + 1)·(e_i − p)(e_j − q): the identity that the proof rests on."""
    rng = np.random.default_rng(0)
    for _ in range(50):
        counts = rng.integers(0, 9, (3, 4)).astype(float)
        i, j, rows = rng.integers(3), rng.integers(4), counts.sum()
        more = counts.copy()
        more[i, j] += 1

        def gap(t):
            return t - np.outer(t.sum(axis=1), t.sum(axis=0)) / t.sum()

        p, q = counts.sum(axis=1) / rows, counts.sum(axis=0) / rows
        expected = rows / (rows + 1) * np.outer(np.eye(3)[i] - p, np.eye(4)[j] - q)
        assert np.allclose(gap(more) - gap(counts), expected)


def test_scores_of_very_many_rows_are_exact():
    huge = np.array([[[2**40, 0], [0, 2**40]]])
    assert dependence(huge) == STEPS * 2**41
    assert dependence(np.zeros((2, 3, 3), np.int64)) == 0


# ---- the choice


def tree_law(values, rate, law):
    """The exact chance of every sequence of two pairs."""
    found = {}
    first = law(values, rate)
    for one in range(3):
        rest = open_pairs(TRIPLE, [TRIPLE[one]])
        second = law([values[place] for place in rest], rate)
        for place, chance in zip(rest, second, strict=True):
            found[one, place] = first[one] * chance
    return found


def open_pairs(pairs, taken):
    """The places of the pairs that join two parts of the forest that `taken`, some of them, makes."""
    forest = Forest(pairs)
    for pair in taken:
        forest.take(pair)
    return forest.open


def neighbours(adjacency):
    for size in range(3):
        for rows in itertools.combinations_with_replacement(ROWS[::3], size):
            for extra in ROWS:
                if adjacency is Adjacency.ADD_REMOVE:
                    yield rows, (*rows, extra)
                else:
                    yield from (((*rows, extra), (*rows, other)) for other in ROWS[::5])


@pytest.mark.parametrize("law", [permute_and_flip_law, exponential_law])
@pytest.mark.parametrize("adjacency", list(Adjacency))
def test_the_law_of_a_whole_release_stays_within_epsilon(adjacency, law):
    """The exact chance of every tree, and how far its tables move against their scale, over all neighbours."""
    epsilon = Fraction(2)
    plan = plan_tan(BITS, Budget(epsilon), adjacency=adjacency, counts=FIXED)
    rate = choice_rate(plan.epsilons[PAIRS] / (2 * plan.moves), REACH * STEPS)

    @functools.cache
    def chances(rows):
        return tree_law(scores(rows), float(rate), law)

    @functools.cache
    def released(rows, tree):
        sampler = Laws()
        noised_tables([tables(rows)[place] for place in tree], plan.epsilons[TABLES], plan, sampler)
        return sampler.seen

    worst = chosen = 0.0
    farthest = Fraction(0)
    for one, two in neighbours(adjacency):
        for tree, chance in chances(one).items():
            choice = abs(math.log(chance / chances(two)[tree]))
            moved = sum(
                max(int(np.abs(x - y).sum()) for x, y in zip(a, b, strict=True)) / scale
                for (a, scale), (b, _) in zip(released(one, tree), released(two, tree), strict=True)
            )
            worst, chosen = max(worst, choice + float(moved)), max(chosen, choice)
            farthest = max(farthest, moved)
    assert farthest == plan.epsilons[TABLES]
    assert 0 < chosen <= float(plan.epsilons[PAIRS]) * (1 + 1e-12)
    assert worst <= float(epsilon) * (1 + 1e-12)


def test_drawn_trees_follow_the_exact_law():
    """4,000 trees against their law: the sum of squares has 5 degrees; beyond 40 lies less than 1e-6."""
    values, rate = [300, 0, -200], Fraction(1, 200)
    law = tree_law(values, float(rate), permute_and_flip_law)
    rng = np.random.default_rng(8)
    coins, counts = Coins(rng.bytes), dict.fromkeys(law, 0)
    for _ in range(4_000):
        first, second = grow_tree(TRIPLE, values, 2, rate, coins=coins)
        counts[TRIPLE.index(first), TRIPLE.index(second)] += 1

    def gap(expected):
        return sum((counts[tree] - 4_000 * p) ** 2 / (4_000 * p) for tree, p in expected.items())

    assert gap(law) < 40
    assert gap(tree_law(values, 1.3 * float(rate), permute_and_flip_law)) > 40
    assert gap(tree_law(values, 0.7 * float(rate), permute_and_flip_law)) > 40


def test_a_tree_has_no_cycles_and_without_noise_the_best_pairs():
    pairs = [(a, b) for b in range(5) for a in range(b)]
    best = grow_tree(pairs, list(range(len(pairs))), 9, None, coins=Coins())
    assert best == [(3, 4), (2, 4), (1, 4), (0, 4)]
    assert grow_tree(pairs, [0] * len(pairs), 0, None, coins=Coins()) == []


# ---- sizes


def test_pairs_and_bins_follow_public_sizes():
    wide = Schema(
        [Categorical("a", list(range(40))), Categorical("b", [0, 1]), Categorical("c", [0, 1, 2])], "y", [0, 1]
    )
    assert candidates(wide) == [(1, 2)]
    assert math.isinf(tan_noise(Schema(wide.features[:2], "y", [0, 1]), 1000, 1.0))
    assert tan_noise(BITS, 10_000, 1.0) < tan_noise(BITS, 1_000, 1.0) < tan_noise(BITS, 1_000, 0.1)
    numbers = Schema([Numeric("a", 0, 1), Numeric("b", 0, 1, bins=3)], "y", [0, 1])
    assert [f.cells for f in tan_schema(numbers, 1e6, 1.0).features] == [8, 3]
    assert [f.cells for f in tan_schema(numbers, 30, 0.1).features] == [4, 3]
    rounds = [tree_rounds(BITS, TRIPLE, 500.0, loud(scale)) for scale in (0.0, 1.0, 20.0, 1e4)]
    assert rounds == sorted(rounds, reverse=True) and rounds[0] == 2 and rounds[-1] == 0


def test_tables_of_pairs_are_counted_in_one_pass(frame, schema):
    pairs = candidates(schema)
    rows = sources.open(frame, schema).held()
    codes = rows.codes(schema)
    for (a, b), table in zip(pairs, pair_tables(codes, rows.labels, schema, pairs), strict=True):
        slow = np.zeros_like(table)
        np.add.at(slow, (rows.labels, codes[:, a], codes[:, b]), 1)
        assert np.array_equal(table, slow)


# ---- post-processing


def test_noise_alone_shows_no_dependence_and_exact_counts_show_it():
    rng = np.random.default_rng(2)
    even = np.full((2, 4), 0.25)
    noisy = 25.0 + rng.laplace(0, 40.0, (2, 4, 4))
    ratio = log_ratio(noisy, 2 * 40.0**2, np.array([400.0, 400.0]), even, even)
    assert np.abs(ratio).mean() < 0.25
    tied = np.tile(np.eye(4) * 90 + 10.0, (2, 1, 1))
    ratio = log_ratio(tied, 0.0, tied.sum(axis=(1, 2)), even, even)
    joint = tied / tied.sum(axis=(1, 2), keepdims=True)
    assert np.allclose(ratio, np.log(joint / (0.25 * 0.25)), atol=0.1)


def dependent(size, seed):
    """b copies a in one class and contradicts it in the other; alone, neither says anything."""
    rng = np.random.default_rng(seed)
    y = rng.integers(0, 2, size)
    a, c = rng.integers(0, 2, size), rng.integers(0, 2, size)
    b = np.where(rng.random(size) < 0.9, a ^ y, 1 - (a ^ y))
    return np.column_stack([a, b, c]), y


def test_it_learns_what_naive_bayes_cannot():
    X, y = dependent(3_000, 0)
    T, t = dependent(3_000, 1)
    assert PrivateNB(math.inf, schema=BITS).fit(X, y).score(T, t) < 0.6
    for settings in (
        {"epsilon": math.inf},
        {},
        {"adjacency": "replace"},
        {"choice": "exponential", "contributions": 2},
    ):
        fitted = PrivateTAN(**{"epsilon": 2, "schema": BITS, "random_state": 0, **settings}).fit(X, y)
        assert fitted.score(T, t) > 0.85, settings
        assert (0, 1) in fitted.model_.pairs
    assert fitted.model_.kinds[0]["kind"].startswith("with b")
    assert not fitted.model_.twin(X, y).certificate.private


# ---- the estimator


def test_the_ledger_is_charged_before_rows_are_read_and_certified_after(frame, schema):
    ledger = Ledger(Budget(3))
    with pytest.raises(BudgetError):
        PrivateTAN(4, schema=schema).fit("no such file.csv", ledger=ledger)
    fitted = PrivateTAN(3, schema=schema).fit(frame, ledger=ledger)
    assert ledger.remaining == 0 and not fitted.certificate_.simulation
    assert sum(Fraction(charge.cost) for charge in fitted.certificate_.charges()) == 3
    quiet = PrivateTAN(0.01, schema=schema).fit(frame)
    assert not quiet.model_.pairs
    assert sum(Fraction(charge.cost) for charge in quiet.certificate_.charges()) == Fraction(1, 100)


def test_given_counts_are_not_bought_again(frame, schema):
    charge = count_charge(Fraction(1, 10))
    plan = CountPlan(schema, Budget(charge.cost), Adjacency.ADD_REMOVE, 1, charge)
    bought = bought_counts(np.array([420, 180]), plan, sampler_for(0))
    fitted = PrivateTAN(0.9, schema=schema, random_state=0).fit(frame, counts=bought)
    assert all(charge.what != "rows by class" for charge in fitted.certificate_.charges())
    assert any(
        "the class counts that settings follow from: paid for elsewhere" in text
        for text in fitted.certificate_.assumptions
    )
    assert bought.certificate.then(fitted.certificate_).epsilon == "1"
    for settings in ({"adjacency": "replace"}, {"contributions": 2}):
        with pytest.raises(BudgetError, match="another unit"):
            PrivateTAN(0.9, schema=schema, random_state=0, **settings).fit(frame, counts=bought)
    with pytest.raises(BudgetError, match="no certificate"):
        PrivateTAN(0.9, schema=schema).fit(frame, counts=ClassCounts(bought.values, 10.0, bought.charge))


def test_bundles_are_narrow():
    """No draw is wider than allowed, and there are as few as that allows: 19 tables of 9 cells have 153 dimensions."""
    sizes = [9] * 120 + [2] * 10 + [1000] + [40] * 3
    bundles = narrow_bundles(sizes)
    assert sorted(k for bundle in bundles for k in bundle) == list(range(len(sizes)))
    shared = [bundle for bundle in bundles if len(bundle) > 1]
    assert sorted(bundle[0] for bundle in bundles if len(bundle) == 1) == [130, 131, 132, 133]
    assert all(1 + sum(sizes[k] - 1 for k in bundle) <= DIMENSIONS for bundle in shared)
    assert len(shared) == math.ceil(120 / ((DIMENSIONS - 1) // 8)) + 1
    assert narrow_bundles([LARGE, LARGE]) == [[0, 1]]
    assert narrow_bundles([LARGE + 1, LARGE + 1]) == [[0], [1]]


@pytest.mark.parametrize("epsilon", [1e-6, 1e-4])
def test_draws_that_would_take_long_are_laplace_noise(epsilon):
    """Exact draws would take 40 s here at 1e-6; all of the budget is still charged."""
    ten = Schema([Categorical(str(name), [0, 1, 2, 3]) for name in range(10)], "y", [0, 1])
    rng = np.random.default_rng(0)
    X, y = rng.integers(0, 4, (200, 10)), rng.integers(0, 2, 200)
    for fitted in (
        PrivateTAN(epsilon, schema=ten).fit(X, y),
        PrivateJointHistogram(epsilon, schema=Schema(ten.features[:5], "y", [0, 1])).fit(X[:, :5], y),
    ):
        charges = fitted.certificate_.charges()
        assert {charge.mechanism for charge in charges} == {"discrete Laplace"}
        assert sum(Fraction(charge.cost) for charge in charges) == Budget(epsilon).epsilon
    shared = bought_bundles([4] * 10, Fraction(1), 1)
    assert [bundle for bundle, _ in shared] == [list(range(10))]


def test_wide_tables_get_laplace_noise():
    wide = Schema([Categorical(name, list(range(900))) for name in "ab"], "y", [0, 1])
    rng = np.random.default_rng(0)
    fitted = PrivateTAN(1, schema=wide).fit(rng.integers(0, 900, (50, 2)), rng.integers(0, 2, 50))
    first, second = fitted.certificate_.charges()[-2:]
    assert first == second and first.mechanism == "discrete Laplace" and first.sensitivity == "1"
    single = PrivateTAN(1, schema=Schema(wide.features[:1], "y", [0, 1])).fit(
        rng.integers(0, 900, (50, 1)), [0, 1] * 25
    )
    assert sum(Fraction(charge.cost) for charge in single.certificate_.charges()) == 1


def test_files_missing_values_and_bad_input(tmp_path, frame, schema):
    frame.to_parquet(tmp_path / "rows.parquet")
    one = PrivateTAN(3, schema=schema, random_state=2).fit(tmp_path / "rows.parquet")
    two = PrivateTAN(3, schema=schema, random_state=2).fit(frame)
    assert one.model_.to_dict() == two.model_.to_dict()
    with pytest.raises(DataError, match="infinite"):
        one.fit(frame.assign(age=np.inf))
    with pytest.raises(DataError, match="no rows"):
        one.fit(frame.head(0))
    for wrong in ({"choice_share": 0}, {"choice": "best"}, {"contributions": 1.5}, {"epsilon": 0}):
        with pytest.raises(BudgetError):
            PrivateTAN(**{"schema": schema, **wrong}).plan()


def test_ids_are_checked():
    named = Schema(BITS.features, "y", [0, 1], id="who")
    rows = pd.DataFrame({"a": [0, 1], "b": [0, 1], "c": [0, 1], "y": [0, 1], "who": [7, 7]})
    with pytest.raises(DataError):
        PrivateTAN(schema=named).fit(rows)
    PrivateTAN(schema=named, contributions=2).fit(rows)


def test_open_pairs_are_those_that_close_no_cycle():
    """Against a walk over the forest, for every order of every forest on four features."""
    pairs = list(itertools.combinations(range(4), 2))

    def joined(taken, a, b):
        reached = {a}
        for _ in taken:
            reached |= {x for pair in taken if reached & set(pair) for x in pair}
        return b in reached

    for size in range(4):
        for taken in itertools.permutations(pairs, size):
            assert is_forest(taken) == all(not joined(taken[:k], *pair) for k, pair in enumerate(taken))
            expected = [place for place, pair in enumerate(pairs) if not joined(taken, *pair)]
            assert open_pairs(pairs, taken) == expected
