"""What the tree-augmented model and the joint table hand to samplers and choices in a real fit."""

import itertools
from fractions import Fraction

import numpy as np
import pytest

from discreet import Budget, BudgetError, Categorical, Ledger, Numeric, Schema
from discreet.dependence import PrivateJointHistogram, PrivateTAN, joint_cells
from discreet.dependence.loudness import Pure, Sizes
from discreet.dependence.pairs import candidates
from discreet.dependence.tan import tan_schema, tree_rounds
from discreet.estimators.counts import ClassCounts
from tests.recorder import recorded, replayed, with_rows

BITS = Schema([Categorical(f"f{j}", [0, 1]) for j in range(4)], "y", ["n", "p"])
FREE = Schema([Numeric("a", 0, 8), Numeric("b", -1, 1)], "y", ["n", "p"])
EPSILON = 5
NEIGHBOURS = [("add-remove", 1), ("add-remove", 2), ("replace", 1), ("replace", 2)]


def bits(size, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.integers(0, 2, (size, 4))
    X[:, 1] = X[:, 0] ^ (rng.random(size) < 0.1)
    X[:, 3] = X[:, 2] ^ (rng.random(size) < 0.1)
    return first_alike(X, rng.choice(["n", "p"], size), [0, 1, 0, 1])


def points(size, seed=0):
    rng = np.random.default_rng(seed)
    X = np.column_stack([rng.uniform(0, 8, size), rng.uniform(-1, 1, size)])
    return first_alike(X, rng.choice(["n", "p"], size), [0.1, -0.9])


def first_alike(X, y, row):
    X[:2], y[:2] = row, "n"  # both are changed in the same way, so that nothing cancels out
    return X, y


def neighbour(data, row, adjacency, moved):
    if adjacency == "add-remove":
        return with_rows(data, [row] * moved, ["p"] * moved), tuple(range(moved))
    X, y = data[0].copy(), data[1].copy()
    X[:moved], y[:moved] = row, "p"
    return (X, y), ()


def call(kind, schema, epsilon=EPSILON, **settings):
    def fitted(data):
        ledger = Ledger(Budget(epsilon))
        estimator = kind(epsilon, schema=schema, **settings).fit(*data, ledger=ledger)
        assert ledger.spent == epsilon == Fraction(estimator.certificate_.epsilon)
        return estimator.model_.to_dict()

    return fitted


@pytest.mark.parametrize("choice", ["permute-and-flip", "exponential"])
@pytest.mark.parametrize(("adjacency", "moved"), NEIGHBOURS)
def test_counts_choices_and_tables_of_a_tree(monkeypatch, adjacency, moved, choice):
    data = bits(600)
    other, inserted = neighbour(data, [1, 0, 1, 0], adjacency, moved)
    fit = call(PrivateTAN, BITS, adjacency=adjacency, contributions=moved, choice=choice)
    tape = replayed(monkeypatch, fit, data, other, inserted=inserted)
    counts, chosen = tape.events[0], tape.of(choice)
    tables = tape.events[1 + len(chosen) :]
    steps = moved * (2 if adjacency == "replace" else 1)
    assert counts.public == (Fraction(5 * steps), (2,)) and counts.loss == pytest.approx(1 / 5)
    # Three tenths of what is left are shared by all choices; a row moves a score by four rows, in 256ths, either way.
    assert len(chosen) > 1 and sum(one.public[0] for one in chosen) * 2 * 4 * 256 * steps == Fraction(24, 5) * 3 / 10
    assert all(one.loss <= float(one.public[0]) * 2 * 4 * 256 * steps for one in chosen)
    assert tables and sum(one.loss for one in tables) == pytest.approx(float(Fraction(24, 5) * 7 / 10))


@pytest.mark.parametrize(("adjacency", "moved"), NEIGHBOURS)
def test_counts_marginals_and_cells_of_a_joint_table(monkeypatch, adjacency, moved):
    data = points(300)
    other, inserted = neighbour(data, [7.9, 0.9], adjacency, moved)
    fit = call(PrivateJointHistogram, FREE, adjacency=adjacency, contributions=moved)
    tape = replayed(monkeypatch, fit, data, other, inserted=inserted)
    counts, *marginals, cells = tape.events
    assert counts.loss == pytest.approx(1 / 5)
    assert sum(one.loss for one in marginals) == pytest.approx(24 / 25)
    assert cells.loss == pytest.approx(96 / 25)


def test_bins_follow_the_noisy_number_of_rows(monkeypatch):
    """Around every number of rows at which bins or rounds would change, and whatever the noise says."""
    for size in [n for n in range(30, 400) if joint_cells(FREE, n, 1.0) != joint_cells(FREE, n + 1, 1.0)][:4]:
        data = points(size)
        fit = call(PrivateJointHistogram, FREE, 1)
        tape = replayed(monkeypatch, fit, data, with_rows(data, [[4.0, 0.0]], ["n"]), inserted=(0,), loudness=0)
        assert tape.loss() == pytest.approx(1)
    data = points(40)  # 20 rows times ε for each of two features
    assert tan_schema(FREE, 40, 1.0) != tan_schema(FREE, 41, 1.0)
    replayed(
        monkeypatch, call(PrivateTAN, FREE, 1), data, with_rows(data, [[4.0, 0.0]], ["n"]), inserted=(0,), loudness=0
    )


def test_rounds_follow_the_noisy_number_of_rows(monkeypatch):
    pairs, scale = candidates(BITS), 1 / (EPSILON * 0.96 * 0.7)
    noise = Pure(Sizes.of(BITS, pairs), scale, scale, Fraction(1))
    rounds = [tree_rounds(BITS, pairs, size, noise) for size in range(30, 600)]
    turns = [30 + i for i, (a, b) in enumerate(itertools.pairwise(rounds)) if a != b]
    assert turns
    for size in turns:
        data = bits(size)
        other = with_rows(data, [[1, 0, 1, 0]], ["p"])
        replayed(monkeypatch, call(PrivateTAN, BITS), data, other, inserted=(0,), loudness=0)


def test_scores_are_set_against_the_noisy_counts(monkeypatch):
    """With the same rows and other noise on the counts, the scores that pairs are chosen by are others."""
    handed = [recorded(monkeypatch, lambda: call(PrivateTAN, BITS)(bits(600)), seed=seed)[0] for seed in (1, 2)]
    one, two = (tape.of("permute-and-flip")[0].given for tape in handed)
    assert not np.array_equal(handed[0].events[0].outcome, handed[1].events[0].outcome)
    assert one != two


def test_the_certificate_lists_every_draw(monkeypatch):
    for kind, schema, data in ((PrivateTAN, BITS, bits(600)), (PrivateJointHistogram, FREE, points(300))):
        estimator = kind(EPSILON, schema=schema)
        tape, _ = recorded(monkeypatch, lambda estimator=estimator, data=data: estimator.fit(*data))
        stated = estimator.certificate_.charges()
        assert sum(Fraction(charge.cost) for charge in stated) == EPSILON
        noise = [Fraction(charge.spread) for charge in stated if charge.mechanism != "permute-and-flip"]
        assert set(noise) == set(tape.spreads)


@pytest.mark.parametrize("adjacency", ["add-remove", "replace"])
def test_several_bundles_share_what_tables_have(monkeypatch, adjacency):
    """Tables of different sizes are drawn together, or alone where they are large; all of them cost seven tenths."""
    schema = Schema([Categorical(f"f{j}", list(range(size))) for j, size in enumerate((2, 2, 6, 6))], "y", ["n", "p"])
    X, y = bits(1500)
    data = first_alike(X * [1, 1, 5, 5], y, [0, 1, 0, 5])
    other, inserted = neighbour(data, [1, 0, 5, 0], adjacency, 1)
    tape = replayed(monkeypatch, call(PrivateTAN, schema, adjacency=adjacency), data, other, inserted=inserted)
    tables = tape.events[1 + len(tape.of("permute-and-flip")) :]
    assert {event.kind for event in tables} == {"laplace", "tables"}
    assert sum(event.loss for event in tables) == pytest.approx(float(Fraction(24, 5) * 7 / 10))


@pytest.mark.parametrize("kind", [PrivateTAN, PrivateJointHistogram])
def test_a_private_fit_refuses_exact_counts(kind):
    exact = ClassCounts(np.array([300.0, 300.0]), 0.0, None)
    with pytest.raises(BudgetError, match="not bought"):
        kind(1.0, schema=BITS).fit(*bits(600), counts=exact)
