"""The tree estimators: what they charge, what they release, and that ε = ∞ is the greedy tree."""

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest
from sklearn.base import clone

from discreet import Budget, Categorical, DataError, Ledger, Numeric, Schema
from discreet.errors import BudgetError, SchemaError
from discreet.privacy.ledger import cost
from discreet.trees import PrivateForestClassifier, PrivateTreeClassifier
from discreet.trees.questions import Questions, words

KINDS = [PrivateTreeClassifier, PrivateForestClassifier]
BINARY = Schema([Categorical(f"f{j}", [0, 1]) for j in range(5)], "y", [0, 1])


@pytest.fixture(scope="module")
def bits():
    rng = np.random.default_rng(0)
    X = rng.integers(0, 2, (500, 5))
    y = (X[:, 0] & X[:, 1]) | (X[:, 2] & (rng.random(500) < 0.8))
    return X, y.astype(int)


def gini(y):
    return 1 - sum((y == c).mean() ** 2 for c in (0, 1)) if len(y) else 0.0


def greedy(X, y, rows, used, depth):
    """The plain greedy tree as nested tuples, written without a thought for speed."""
    if not depth or len(used) == X.shape[1]:
        return None
    best = min(
        (j for j in range(X.shape[1]) if j not in used),
        key=lambda j: sum((X[rows, j] == v).sum() * gini(y[rows][X[rows, j] == v]) for v in (0, 1)),
    )
    sides = [rows[X[rows, best] == v] for v in (0, 1)]
    return (best, *(greedy(X, y, side, {*used, best}, depth - 1) for side in sides))


def unrolled(nodes, at=0):
    if nodes.feature[at] < 0:
        return None
    return int(nodes.feature[at]), unrolled(nodes, nodes.no[at]), unrolled(nodes, nodes.yes[at])


def test_without_noise_it_is_the_greedy_tree(bits):
    X, y = bits
    fitted = PrivateTreeClassifier(math.inf, schema=BINARY, depth=3).fit(X, y)
    assert unrolled(fitted.model_.nodes) == greedy(X, y, np.arange(len(y)), set(), 3)
    leaves = {tuple(row): y[(row == X).all(axis=1)] for row in np.unique(X, axis=0)}
    deep = PrivateTreeClassifier(math.inf, schema=BINARY, depth=5, smoothing=1e-9).fit(X, y)
    for row, labels in leaves.items():
        assert deep.predict_proba([row])[0, 1] == pytest.approx(labels.mean(), abs=1e-6)


def test_a_large_budget_finds_the_same_tree_and_a_small_one_does_not(bits):
    X, y = bits
    plain = PrivateTreeClassifier(math.inf, schema=BINARY, depth=2).fit(X, y)
    rich = PrivateTreeClassifier(1000, schema=BINARY, depth=2).fit(X, y)
    assert unrolled(rich.model_.nodes) == unrolled(plain.model_.nodes)
    poor = {unrolled(PrivateTreeClassifier(1e-6, schema=BINARY, depth=2).fit(X, y).model_.nodes) for _ in range(20)}
    assert len(poor) > 5


@pytest.mark.parametrize("adjacency", ["add-remove", "replace"])
@pytest.mark.parametrize("contributions", [1, 3])
@pytest.mark.parametrize("split", ["permute-and-flip", "noisy-counts"])
def test_the_ledger_adds_up_to_the_budget_and_noise_grows_with_the_neighbours(adjacency, contributions, split):
    settings = {"adjacency": adjacency, "contributions": contributions}
    plan = PrivateTreeClassifier(0.7, schema=BINARY, split=split, **settings).plan()
    steps = contributions * (2 if adjacency == "replace" else 1)
    assert cost(plan.node, "epsilon") == Fraction(7, 10)
    assert steps * (plan.depth * plan.row_split + plan.row_leaf) == Fraction(7, 10)
    forest = PrivateForestClassifier(0.7, schema=BINARY, **settings).plan()
    assert cost(forest.node, "epsilon") == Fraction(7, 10)
    assert steps * (forest.row_leaf + (forest.row_count or 0)) == Fraction(7, 10)
    assert (forest.row_count is None) == (adjacency == "replace")


def test_the_published_split_of_the_budget():
    plan = PrivateTreeClassifier(1, schema=BINARY, split="noisy-counts", depth=3).plan()
    assert plan.row_split / plan.questions == Fraction(1, 5 * 4)


@pytest.mark.parametrize("kind", KINDS)
def test_a_fit_is_charged_before_rows_are_read_and_again_each_time(kind, bits):
    ledger = Ledger(Budget(1))
    estimator = kind(0.6, schema=BINARY)
    estimator.fit(*bits, ledger=ledger)
    assert ledger.spent == Fraction(6, 10)
    with pytest.raises(BudgetError, match="left"):
        clone(estimator).fit("no such file", ledger=ledger)


@pytest.mark.parametrize("kind", KINDS)
def test_the_certificate_says_what_was_done(kind, bits):
    certificate = kind(0.6, schema=BINARY).fit(*bits).certificate_
    assert certificate.private and not certificate.simulation
    assert certificate.epsilon == "3/5" and certificate.schema_hash == BINARY.hash
    assert kind(0.6, schema=BINARY, random_state=1).fit(*bits).certificate_.simulation
    assert not kind(math.inf, schema=BINARY).fit(*bits).certificate_.private


@pytest.mark.parametrize("kind", KINDS)
def test_seeds_repeat_and_the_system_does_not(kind, bits):
    twice = [kind(1, schema=BINARY, random_state=3).fit(*bits).model_.to_dict() for _ in range(2)]
    assert twice[0] == twice[1]
    free = [kind(1, schema=BINARY).fit(*bits).model_.to_dict()["values"] for _ in range(2)]
    assert free[0] != free[1]


def test_every_source_gives_the_same_tree(schema, frame, tmp_path):
    import polars as pl
    import pyarrow.parquet as parquet

    frame.to_csv(tmp_path / "rows.csv", index=False)
    import pyarrow as pa

    parquet.write_table(pa.Table.from_pandas(frame), tmp_path / "rows.parquet")
    sources = [frame, pl.from_pandas(frame), str(tmp_path / "rows.csv"), str(tmp_path / "rows.parquet")]
    made = [PrivateTreeClassifier(1, schema=schema, random_state=0).fit(one).model_.to_dict() for one in sources]
    assert all(one == made[0] for one in made)


def test_large_tables_take_the_compiled_road_to_the_same_codes(schema, frame):
    import pandas as pd

    from discreet import sources

    many = pd.concat([frame] * 200, ignore_index=True)
    few, more = sources.open(frame, schema).held(), sources.open(many, schema).held()
    assert np.array_equal(more.cells, np.tile(few.cells, (200, 1)))
    assert np.array_equal(more.labels, np.tile(few.labels, 200))


@pytest.mark.parametrize("leaves", ["counts", "labels"])
def test_forests_learn(bits, leaves):
    X, y = bits
    fitted = PrivateForestClassifier(5, schema=BINARY, n_estimators=10, leaves=leaves, random_state=0).fit(X, y)
    assert fitted.score(X, y) > max(y.mean(), 1 - y.mean()) + 0.05
    assert len(fitted.model_.nodes.roots) == 10


def test_three_classes_and_missing_values(schema):
    three = Schema([*schema.features], "ill", ["a", "b", "c"])
    rng = np.random.default_rng(1)
    import pandas as pd

    size = rng.integers(1, 4, 300)
    rows = pd.DataFrame(
        {
            "colour": rng.choice(np.array(["red", None], dtype=object), 300),
            "size": size,
            "age": rng.integers(0, 90, 300),
            "weight": np.where(rng.random(300) < 0.3, np.nan, 1.0),
            "dose": 0.5,
            "ill": np.array(["a", "b", "c"])[size - 1],
        }
    )
    for kind in KINDS:
        fitted = kind(50, schema=three, random_state=0).fit(rows)
        assert fitted.score(rows, rows["ill"]) > 0.6
        assert fitted.predict_proba(rows).sum(axis=1) == pytest.approx(1)


def test_questions_cover_the_schema_without_repeating(schema):
    questions = Questions.of(schema)
    said = [words(schema, *questions.interval(q)) for q in range(len(questions))]
    assert len(set(said)) == len(said)
    assert "colour = (missing)" in said and "size = another" in said and "age >= 18" in said
    assert "weight = (missing)" in said and "age >= 0" not in said
    codes = [range(feature.cells) for feature in schema.features]
    for q, row in itertools.product(range(len(questions)), itertools.islice(itertools.product(*codes), 0, 400, 7)):
        allowed = np.zeros(int(questions.starts[-1]), bool)
        allowed[[questions.starts[j] + code for j, code in enumerate(row)]] = True
        assert q not in questions.open(allowed)  # one value per feature leaves no question open


def test_a_schema_without_questions_is_one_leaf():
    lone = Schema([Categorical("a", ["x"]), Numeric("b", 0, 1, bins=1)], "y", [0, 1])
    fitted = PrivateTreeClassifier(1, schema=lone).fit([["x", 0.5]] * 9, [1] * 8 + [0])
    assert len(fitted.model_.nodes) == 1
    assert PrivateForestClassifier(1, schema=lone).fit([["x", 0.5]] * 9, [1] * 9).predict([["x", 1]]).shape == (1,)


@pytest.mark.parametrize(
    ("settings", "error", "words"),
    [
        ({"schema": None}, SchemaError, "needs a schema"),
        ({"depth": -1}, BudgetError, "depth"),
        ({"depth": 2.5}, BudgetError, "depth"),
        ({"split": "gain"}, BudgetError, "split must be"),
        ({"leaf_share": 1}, BudgetError, "leaf_share"),
        ({"contributions": 0}, BudgetError, "contributions"),
        ({"epsilon": 0}, BudgetError, "above zero"),
        ({"smoothing": -1}, BudgetError, "smoothing"),
        ({"adjacency": "near"}, BudgetError, "adjacency"),
    ],
)
def test_mistakes_are_one_sentence(bits, settings, error, words):
    with pytest.raises(error, match=words):
        PrivateTreeClassifier(**{"schema": BINARY, **settings}).fit(*bits)


@pytest.mark.parametrize(("name", "value"), [("n_estimators", 0), ("n_estimators", "many"), ("leaves", "all")])
def test_mistakes_of_forests(bits, name, value):
    with pytest.raises(BudgetError, match=name):
        PrivateForestClassifier(schema=BINARY, **{name: value}).fit(*bits)


@pytest.mark.parametrize("kind", KINDS)
def test_bad_rows_are_refused(kind, bits):
    X, y = bits
    with pytest.raises(DataError, match="f0"):
        kind(schema=BINARY).fit(np.where(X == 1, 7, X), y)
    with pytest.raises(DataError, match="no rows"):
        kind(schema=BINARY).fit(X[:0], y[:0])


@pytest.mark.data
def test_the_bars_on_votes_are_met(data_dir):
    from discreet_studies.data import cross_validation, load

    data, found = load(data_dir, "votes"), {kind: [] for kind in KINDS}
    for fold in range(10):
        split = cross_validation(data, 0, fold, 10)
        train, test = data.take(split.train), data.take(split.test)
        for kind, scores in found.items():
            scores.append(kind(1, schema=data.schema, random_state=fold).fit(train.X, train.y).score(test.X, test.y))
    assert np.mean(found[PrivateTreeClassifier]) > 0.9
    assert np.mean(found[PrivateForestClassifier]) > 0.87
