"""Private tuning: what it refuses, what it charges, what it chooses, and its privacy by enumeration."""

import itertools
import math
from fractions import Fraction

import numpy as np
import pyarrow as pa
import pyarrow.parquet as parquet
import pytest
from sklearn.base import clone
from sklearn.naive_bayes import GaussianNB
from sklearn.pipeline import make_pipeline

from discreet import (
    Budget,
    Categorical,
    DataError,
    LocalNB,
    Numeric,
    PrivateForestClassifier,
    PrivateGridSearch,
    PrivateLogisticRegression,
    PrivateNB,
    PrivateSVC,
    PrivateTreeClassifier,
    Schema,
)
from discreet.errors import BudgetError, SchemaError
from discreet.kinds import find
from discreet.mechanisms.choose import choice_rate
from discreet.models import load_model
from discreet.privacy.budget import Adjacency
from discreet.privacy.ledger import Ledger, cost
from discreet.sources import RowTable, collect
from tests.laws import permute_and_flip_law

SCHEMA = Schema([Categorical(f"f{j}", [0, 1]) for j in range(4)], "y", ["n", "p"])
METHODS = ["holdout", "random-stopping"]
DEPTHS = {"depth": [0, 2]}


@pytest.fixture(scope="module")
def parity():
    """The class is whether the first two bits differ: depth two sees it, depth nought and Naive Bayes do not."""
    rng = np.random.default_rng(0)
    X = rng.integers(0, 2, (1200, 4))
    return X, np.where(X[:, 0] ^ (X[:, 1] & 1), "p", "n")


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("epsilon", [20.0, math.inf])
def test_the_better_candidate_is_found_and_released(parity, method, epsilon):
    X, y = np.column_stack([parity[0][:, 0] & parity[0][:, 1], parity[0][:, 1:]]), None
    y = np.where(X[:, 0] == 1, "p", "n")
    often = {"eta": 1, "gamma": 0.02} if method == "random-stopping" else {}  # fifty runs on average
    search = PrivateGridSearch(
        PrivateTreeClassifier(schema=SCHEMA), DEPTHS, epsilon=epsilon, method=method, random_state=0, **often
    ).fit(X, y)
    assert search.best_index_ == 1 and "depth=2" in search.best_name_
    assert search.score(X, y) > 0.98
    assert search.predict_proba(X).shape == (len(X), 2)


@pytest.mark.parametrize("method", METHODS)
def test_every_kind_of_model_may_stand_for_election(parity, method):
    X, _ = parity
    y = np.where(X[:, 2] == 1, "p", "n")
    kinds = [PrivateNB, PrivateSVC, PrivateLogisticRegression, PrivateTreeClassifier, PrivateForestClassifier]
    search = PrivateGridSearch([kind(schema=SCHEMA) for kind in kinds], epsilon=20, method=method, random_state=1)
    assert clone(search).fit(X, y).score(X, y) > 0.9


@pytest.mark.parametrize("delta", [0.0, 1e-6])
@pytest.mark.parametrize("kind", ["additive", "additive-pairs", "tan", "joint", "selective", "auto"])
def test_kinds_of_the_automatic_choice_stand_too(parity, kind, delta):
    """Each is chosen over a tree without questions, is released with the cost of the search, and predicts."""
    X, _ = parity
    y = np.where(X[:, 2] == 1, "p", "n")
    bare = PrivateTreeClassifier(depth=0)
    settings = {"epsilon": 20, "schema": SCHEMA, "delta": delta, "random_state": 0}
    search = PrivateGridSearch({"bare": bare, kind: find(kind).make()}, **settings).fit(X, y)
    assert search.best_name_ == kind and search.score(X, y) > 0.9
    assert Fraction(search.certificate_.epsilon) == 20 and Fraction(search.certificate_.delta) <= Fraction(1, 10**6)
    often = {"method": "random-stopping", "eta": 1, "gamma": 0.2}
    drawn = PrivateGridSearch([kind], **settings, **often).fit(X[:300], y[:300])
    assert drawn.best_name_ == kind and set(drawn.predict(X)) <= {"n", "p"}


def test_numbers_are_cut_anew_in_a_search():
    """Looks at skewed numbers, and bins by bought counts, keep to the budget that the search gives a candidate."""
    rng = np.random.default_rng(5)
    schema = Schema([Numeric(f"x{j}", 0, 100) for j in range(8)], "y", ["n", "p"])
    X = np.minimum(rng.lognormal(0, 1, (900, 8)), 100)
    y = np.where(X[:, 0] > 1, "p", "n")
    ledger = Ledger(Budget(12))
    search = PrivateGridSearch(["auto", "additive", "selective"], epsilon=12, schema=schema).fit(X, y, ledger=ledger)
    assert ledger.spent == 12 == Fraction(search.certificate_.epsilon) and search.score(X, y) > 0.6


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("adjacency", ["add-remove", "replace"])
@pytest.mark.parametrize("refit", [0, 0.25])
def test_the_ledger_adds_up_and_is_charged_before_rows_are_read(parity, method, adjacency, refit):
    search = PrivateGridSearch(
        PrivateTreeClassifier(schema=SCHEMA), DEPTHS, epsilon=0.8, method=method, adjacency=adjacency, refit=refit
    )
    assert cost(search.plan().node, "epsilon") == Fraction(4, 5)
    ledger = Ledger(Budget(1))
    search.fit(*parity, ledger=ledger)
    assert ledger.spent == Fraction(4, 5)
    with pytest.raises(BudgetError, match="left"):
        search.fit("no such file", ledger=ledger)


def test_what_each_fit_gets():
    trees = PrivateTreeClassifier(schema=SCHEMA)
    held = PrivateGridSearch(trees, {"depth": [0, 1, 2, 3]}, epsilon=1, refit=0.5).plan()
    assert (held.fit, held.choice, held.refit) == (Fraction(1, 8), Fraction(1, 2), Fraction(1, 2))
    for eta, each in ((0, Fraction(1, 2)), (1, Fraction(1, 3)), (-0.5, Fraction(2, 3))):
        plan = PrivateGridSearch(trees, DEPTHS, epsilon=1, method="random-stopping", eta=eta).plan()
        assert plan.fit == plan.choice == each and plan.refit is None


@pytest.mark.parametrize("method", METHODS)
def test_the_released_file_carries_the_cost_of_the_whole_search(parity, method, tmp_path):
    search = PrivateGridSearch(PrivateTreeClassifier(schema=SCHEMA), DEPTHS, epsilon=0.5, method=method).fit(*parity)
    search.model_.save(tmp_path / "model.json")
    certificate = load_model(tmp_path / "model.json").certificate
    assert certificate.epsilon == "1/2" and certificate.private and not certificate.simulation
    assert certificate == search.certificate_ == search.best_estimator_.certificate_
    assert any("dealt to training" in one for one in certificate.assumptions)


@pytest.mark.parametrize("adjacency", list(Adjacency))
def test_the_choice_among_held_out_counts_costs_at_most_epsilon(adjacency):
    """All small sets of validation rows as 0/1 answers of three candidates, and every neighbour of each."""
    epsilon = 1.0
    monotone = adjacency is Adjacency.ADD_REMOVE
    rate = float(choice_rate(Fraction(1), monotone=monotone))
    answers = [np.array(a) for a in itertools.product((0, 1), repeat=3)]
    worst = 0.0
    for size in range(4):
        for rows in itertools.combinations_with_replacement(answers, size):
            base = sum(rows, np.zeros(3, int))
            pairs = (
                [(base, base + a) for a in answers]
                if monotone
                else itertools.product((base + a for a in answers), repeat=2)
            )
            for left, right in pairs:
                laws = [np.log(permute_and_flip_law(list(one), rate)) for one in (left, right)]
                worst = max(worst, np.abs(laws[0] - laws[1]).max())
    assert 0.85 * epsilon < worst <= epsilon + 1e-12


def test_every_source_can_be_searched(schema, frame, tmp_path):
    import polars as pl

    frame.to_csv(tmp_path / "rows.csv", index=False)
    found = []
    for data in (frame, pl.from_pandas(frame), str(tmp_path / "rows.csv")):
        search = PrivateGridSearch(PrivateNB(schema=schema), {"smoothing": [0.5, 2.0]}, random_state=3).fit(data)
        found.append((search.best_index_, search.model_.log_prior.tolist()))
    assert found[0] == found[1] == found[2]
    split = PrivateGridSearch(PrivateNB(schema=schema), {"smoothing": [0.5, 2.0]}, random_state=3)
    assert split.fit(frame.drop(columns="ill"), frame["ill"]).model_.log_prior.tolist() == found[0][1]


@pytest.mark.parametrize(
    "stranger", [GaussianNB(), make_pipeline(PrivateNB(schema=SCHEMA)), LocalNB(schema=SCHEMA), object(), PrivateNB]
)
def test_estimators_that_are_not_private_are_refused(parity, stranger):
    with pytest.raises(BudgetError, match="not a private estimator"):
        PrivateGridSearch([PrivateNB(schema=SCHEMA), stranger]).fit(*parity)


def test_a_candidate_that_overspends_is_found_out(parity, monkeypatch):
    class Greedy(PrivateTreeClassifier):
        def fit(self, X, y=None, *, ledger=None, progress=None):
            self.epsilon = 9.0
            return super().fit(X, y)

    Greedy.__module__ = "discreet.trees.greedy"
    with pytest.raises(BudgetError, match="did not keep to the budget"):
        PrivateGridSearch([Greedy(schema=SCHEMA)]).fit(*parity)


@pytest.mark.parametrize(
    ("settings", "error", "words"),
    [
        ({"param_grid": {"epsilon": [1, 2]}}, BudgetError, "belongs to the search"),
        ({"param_grid": {"depth": []}}, BudgetError, "no candidates: .*non-empty"),
        ({"param_grid": {"depth": 3}}, BudgetError, "no candidates"),
        ({"method": "best"}, BudgetError, "method"),
        ({"validation": 0.51}, BudgetError, "validation"),
        ({"validation": 0}, BudgetError, "validation"),
        ({"refit": 1}, BudgetError, "refit"),
        ({"eta": 3}, BudgetError, "eta"),
        ({"gamma": 0}, BudgetError, "gamma"),
        ({"estimator": []}, BudgetError, "no candidates"),
        ({"estimator": PrivateNB(schema=SCHEMA, delta=1e-6)}, BudgetError, "delta of its own"),
        ({"estimator": PrivateNB(schema=SCHEMA, contributions=2)}, BudgetError, "contributions"),
        ({"estimator": [PrivateNB(schema=SCHEMA), PrivateNB()]}, SchemaError, "one schema"),
        ({"estimator": PrivateNB()}, SchemaError, "one schema"),
    ],
)
def test_mistakes_are_one_sentence(parity, settings, error, words):
    with pytest.raises(error, match=words):
        PrivateGridSearch(**{"estimator": PrivateTreeClassifier(schema=SCHEMA), **settings}).fit(*parity)


def test_labels_are_needed_and_must_fit(parity):
    search = PrivateGridSearch(PrivateTreeClassifier(schema=SCHEMA), DEPTHS)
    with pytest.raises(DataError, match="requires y"):
        search.fit(parity[0])
    with pytest.raises(DataError, match="inconsistent"):
        search.fit(parity[0], parity[1][:-1])


@pytest.mark.parametrize("method", METHODS)
def test_the_certificate_names_empty_deals_as_uncovered(parity, method):
    search = PrivateGridSearch(
        PrivateTreeClassifier(schema=SCHEMA), DEPTHS, method=method, validation=0.5, random_state=0
    ).fit(*parity)
    assert any("no row was dealt to training" in one for one in search.certificate_.assumptions)


def test_files_of_one_pattern_may_store_a_column_in_several_types(tmp_path):
    schema = Schema([Categorical("a", ["1", "1.5", "x"]), Numeric("b", 0, 9, bins=3)], "t", [0, 1])
    for name, a, b in (("p1", [1, 1], [1, 2]), ("p2", [1.5, 1.5], [3.5, 8.0]), ("p3", ["x", "1"], ["5", "6"])):
        parquet.write_table(pa.table({"a": a, "b": b, "t": [0, 1]}), tmp_path / f"{name}.parquet")
    held = RowTable.of(str(tmp_path / "p*.parquet"), schema)
    X, _ = held.take(np.arange(6))
    assert collect(X, schema) == collect(str(tmp_path / "p*.parquet"), schema)
    assert collect(X, schema).tables["a"].sum(axis=0).tolist() == [3, 2, 1]
