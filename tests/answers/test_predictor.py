"""PrivatePredictor: bounded answers, memory, refusals that lose nothing, and what its ledger and certificate say."""

import copy
import math
import multiprocessing
import pickle
import random
from fractions import Fraction

import numpy as np
import pandas as pd
import pytest
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.dummy import DummyClassifier
from sklearn.linear_model import SGDClassifier
from sklearn.model_selection import GridSearchCV, KFold
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.tree import DecisionTreeClassifier
from sklearn.utils.estimator_checks import parametrize_with_checks

from discreet import (
    Budget,
    BudgetError,
    Categorical,
    DataError,
    Ledger,
    Numeric,
    PrivatePredictor,
    QueryError,
    Schema,
    SchemaError,
)
from discreet.answers.plan import make_answer_plan
from discreet.privacy.calibrate import root_down, zcdp_rho
from discreet.privacy.ledger import concentrated, cost
from discreet.privacy.ranged import ranged_epsilon

SCHEMA = Schema([Categorical("c", ["p", "q"]), Numeric("x", 0, 8, integer=True, bins=4)], "y", ["no", "yes"])


def table(size=4000, seed=1):
    rng = np.random.default_rng(seed)
    y = rng.integers(0, 2, size)
    frame = pd.DataFrame(
        {
            "c": np.where(rng.random(size) < 0.2 + 0.6 * y, "p", "q"),
            "x": np.clip(rng.integers(0, 5, size) + 4 * y, 0, 8),
        }
    )
    return frame, np.array(["no", "yes"])[y]


def test_answers_are_right_and_free_the_second_time():
    X, y = table()
    # ε = 50 for 8 answers: a class that three of four parts prefer loses with chance below e^−300.
    asked = PrivatePredictor(50.0, schema=SCHEMA, queries=8, parts=100).fit(X, y)
    new = pd.DataFrame({"c": ["p", "q", "p"], "x": [8, 0, 8]})
    assert asked.predict(new).tolist() == ["yes", "no", "yes"]
    assert asked.remaining_ == 6  # the same row twice is one answer
    assert asked.predict(new).tolist() == ["yes", "no", "yes"]
    assert asked.predict(pd.DataFrame({"c": ["p"], "x": [7]})).tolist() == ["yes"]  # the same bin
    assert asked.remaining_ == 6
    assert cost(asked.ledger_, "epsilon") == 50 * Fraction(2, 8)
    assert not hasattr(asked, "predict_proba")


def test_too_many_rows_are_refused_as_a_whole():
    X, y = table(400)
    asked = PrivatePredictor(1.0, schema=SCHEMA, queries=3, random_state=0).fit(X, y)
    wide = pd.DataFrame({"c": ["p", "p", "q", "q"], "x": [0, 8, 0, 8]})
    with pytest.raises(QueryError, match=r"4 new answers are asked for and 3 of 3 remain"):
        asked.predict(wide)
    assert asked.remaining_ == 3 and cost(asked.ledger_, "epsilon") == Fraction(1, 50)
    first = asked.predict(wide[:3])
    assert asked.remaining_ == 0
    assert cost(asked.ledger_, "epsilon") == 1
    assert asked.predict(wide[:3]).tolist() == first.tolist()
    with pytest.raises(QueryError):
        asked.predict(wide)
    assert issubclass(QueryError, BudgetError)


def test_the_whole_bound_is_charged_before_a_row_is_read():
    X, y = table(400)
    ledger = Ledger(Budget(1))
    asked = PrivatePredictor(1.0, schema=SCHEMA, queries=5).fit(X, y, ledger=ledger)
    assert ledger.spent == 1 and asked.certificate_.epsilon == "1" and not asked.certificate_.simulation
    with pytest.raises(BudgetError, match="left"):
        PrivatePredictor(0.1, schema=SCHEMA).fit("no-such-file.csv", ledger=ledger)


def test_the_plan_adds_up():
    pure = PrivatePredictor(1.0, schema=SCHEMA, queries=10).plan()
    assert cost(pure.node, "epsilon") == 1 and pure.law == "permute-and-flip" and pure.each == Fraction(98, 1000)
    known = PrivatePredictor(1.0, schema=SCHEMA, queries=10, adjacency="replace").plan()
    assert known.count is None and known.each == Fraction(1, 10)
    many = PrivatePredictor(1.0, 1e-6, schema=SCHEMA, queries=1000).plan()
    assert many.law == "exponential" and many.each > 5 * Fraction(1, 1000)
    assert cost(many.node, "rho") <= many.rho and cost(many.node, "epsilon") == Fraction(1, 50)
    assert concentrated(many.node) <= many.rho  # the bought number of rows counts as well
    few = PrivatePredictor(1.0, 1e-6, schema=SCHEMA, queries=2).plan()
    assert few.law == "permute-and-flip" and few.rho is None


def test_parts_follow_from_public_and_released_numbers_only():
    plan = PrivatePredictor(1.0, schema=SCHEMA, queries=10).plan()
    assert plan.parts_for(10**6) == math.ceil(8 * 2 / Fraction(98, 1000))
    assert plan.parts_for(400) == 50 and plan.parts_for(-7) == 1


def test_parts_are_as_many_as_memory_has_room_for():
    """A hundred features of twenty categories for eight classes, at most 256 MiB of four-byte entries."""
    wide = Schema([Categorical(f"c{i}", list(range(20))) for i in range(100)], "y", list(range(8)))
    plan = PrivatePredictor(0.001, schema=wide).plan()
    assert plan.parts_for(10**9) == (1 << 26) // (8 * 2001)
    assert PrivatePredictor(math.inf, schema=wide).plan().parts_for(10**9) == (1 << 26) // (8 * 2001)
    with pytest.raises(BudgetError, match="from 1 to 4192"):
        PrivatePredictor(1.0, schema=wide, parts=4193).fit("no-such-file.csv")
    trees = PrivatePredictor(1.0, schema=wide, parts=20_000, voter=DecisionTreeClassifier()).plan()
    assert trees.parts_for(1) == 20_000
    huge = Schema([Categorical(f"c{i}", list(range(30_000))) for i in range(3)], "y", list(range(1000)))
    with pytest.raises(BudgetError, match="one part alone"):
        PrivatePredictor(1.0, schema=huge).plan()
    assert PrivatePredictor(0.001, schema=SCHEMA).plan().parts_for(10**9) == 20_000


def test_a_fitted_predictor_stays_where_it_is():
    X, y = table(400)
    asked = PrivatePredictor(1.0, schema=SCHEMA)
    assert pickle.loads(pickle.dumps(asked)).queries == 100
    asked.fit(X, y)
    for attempt in (copy.copy, copy.deepcopy, pickle.dumps):
        with pytest.raises(BudgetError, match="exact statistics"):
            attempt(asked)
    fresh = clone(asked)
    assert fresh.get_params() == asked.get_params() and not hasattr(fresh, "certificate_")


@pytest.mark.skipif("fork" not in multiprocessing.get_all_start_methods(), reason="this system does not fork")
@pytest.mark.filterwarnings("ignore::DeprecationWarning")  # forking beside threads: the child does next to nothing
def test_a_forked_process_gets_no_answers():
    X, y = table(400)
    asked = PrivatePredictor(1.0, schema=SCHEMA, queries=3).fit(X, y)
    asked.predict(X[:1])
    fork = multiprocessing.get_context("fork")
    here, there = fork.Pipe()

    def child():
        for rows in (X[:1], pd.DataFrame({"c": ["p", "q"], "x": [0, 8]})):  # one that is known, and new ones
            try:
                there.send(asked.predict(rows).tolist())
            except QueryError as error:
                there.send(str(error))

    process = fork.Process(target=child)
    process.start()
    heard = [here.recv() if here.poll(60) else None for _ in range(2)]
    process.join(60)
    assert [isinstance(one, str) and "the process that fitted" in one for one in heard] == [True, True]
    assert asked.predict(X[:1]).size == 1 and asked.remaining_ == 2


def test_any_classifier_can_vote():
    X, y = table()
    # ε = 50 for 2 answers over some 90 parts of which nearly all agree: the other class has chances below e^−500.
    asked = PrivatePredictor(50.0, schema=SCHEMA, queries=2, parts=90, voter=DecisionTreeClassifier(random_state=0))
    asked.fit(X, y)
    assert asked.predict(pd.DataFrame({"c": ["p", "q"], "x": [8, 0]})).tolist() == ["yes", "no"]
    with pytest.raises(BudgetError, match="voter"):
        PrivatePredictor(1.0, schema=SCHEMA, voter="tree").fit(X, y)


class Global(ClassifierMixin, BaseEstimator):
    """Draws from the global generators, once for each row, and votes by what comes next."""

    def __init__(self, source="numpy"):
        self.source = source

    def draw(self, size):
        return np.random.random(size) if self.source == "numpy" else np.array([random.random() for _ in range(size)])

    def fit(self, X, y):
        self.draw(len(y))
        self.first_ = self.draw(1)[0]
        return self

    def predict(self, X):
        return (self.draw(len(X)) < self.first_).astype(int)


@pytest.mark.parametrize(
    "voter",
    [
        DecisionTreeClassifier(max_features=1),
        SGDClassifier(max_iter=3, tol=None),
        make_pipeline(StandardScaler(), DecisionTreeClassifier(max_features=1)),
        GridSearchCV(DecisionTreeClassifier(max_features=1), {"max_depth": [1, 3]}, cv=KFold(2, shuffle=True)),
        Global("numpy"),
        Global("python"),
    ],
    ids=["tree", "descent", "pipeline", "search", "global numpy", "global python"],
)
def test_a_row_moves_one_vote_even_if_global_generators_are_known(voter):
    """One row is added, at the end; the deal and all seeds are the same.

    Parts are so small that a row often turns one with a single class, which fits nothing, into one that fits: where
    generators are shared, all parts after it then draw other numbers.
    """
    names = [f"c{i}" for i in range(6)]
    schema = Schema([Categorical(name, [0, 1]) for name in names], "y", [0, 1])
    rng = np.random.default_rng(0)
    X, y = pd.DataFrame(rng.integers(0, 2, (120, 6)), columns=names), rng.integers(0, 2, 120)
    asked = rng.integers(0, 2, (8, 6))

    def votes(rows, labels, seed):
        np.random.seed(0)
        random.seed(0)
        held = PrivatePredictor(1.0, schema=schema, parts=40, voter=voter, random_state=seed).fit(rows, labels)
        return held._voters.votes(asked)

    more = pd.concat([X, X[:1]], ignore_index=True)
    for seed, label in ((0, 0), (1, 0), (3, 0), (3, 1)):
        moved = votes(more, np.append(y, label), seed) - votes(X, y, seed)
        assert np.abs(moved).max() <= 1 and np.abs(moved).sum(axis=1).max() <= 2


def test_voters_leave_the_global_generators_alone_and_differ_in_their_seeds():
    X, y = table(200)
    np.random.seed(0)
    random.seed(0)
    expected = np.random.random(), random.random()
    np.random.seed(0)
    random.seed(0)
    held = PrivatePredictor(50.0, schema=SCHEMA, parts=20, voter=SGDClassifier(max_iter=3, tol=None)).fit(X, y)
    held.predict(X[:1])
    assert (np.random.random(), random.random()) == expected
    seeds = {model.random_state for _, model in held._voters.models}
    assert len(seeds) >= 15  # 31 bits each: two of 20 agree with chance below 1e-7
    again = PrivatePredictor(50.0, schema=SCHEMA, parts=20, voter=SGDClassifier()).fit(X, y)
    assert not seeds & {model.random_state for _, model in again._voters.models}
    assert any("voter draws" in stated for stated in held.certificate_.assumptions)
    plain = PrivatePredictor(50.0, schema=SCHEMA, parts=20).fit(X, y)
    assert not any("voter" in stated for stated in plain.certificate_.assumptions)


def test_a_part_that_fails_abstains():
    from discreet.answers.votes import FittedVoters

    class Brittle(DummyClassifier):
        def fit(self, X, y):
            if len(y) > 2:
                raise RuntimeError("too many rows")
            return super().fit(X, y)

    cells, labels = np.zeros((6, 2), np.int64), np.array([0, 1, 0, 1, 1, 1])
    voters = FittedVoters(
        SCHEMA, cells, labels, np.array([0, 0, 1, 1, 1, 2]), 4, Brittle(strategy="constant", constant=0), np.arange(4)
    )
    # Part 0 fits and votes 0, part 1 fails, part 2 knows class 1 only, part 3 is empty.
    assert voters.votes(cells[:1]).tolist() == [[1, 1]]


def test_files_and_ids(tmp_path):
    X, y = table(300)
    path = tmp_path / "rows.parquet"
    X.assign(y=y, person=np.arange(300)).to_parquet(path)
    asked = PrivatePredictor(5.0, schema=SCHEMA, queries=4).fit(path)
    assert set(asked.predict(X[:1]).tolist()) <= {"no", "yes"}
    named = Schema(SCHEMA.features, "y", ["no", "yes"], id="person")
    X.assign(y=y, person=7).to_parquet(path)
    with pytest.raises(DataError, match="person"):
        PrivatePredictor(5.0, schema=named).fit(path)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"queries": 0}, "queries"),
        ({"queries": 2.5}, "queries"),
        ({"queries": True}, "queries"),
        ({"parts": "many"}, "parts"),
        ({"parts": 0}, "parts"),
        ({"contributions": 0}, "contributions"),
        ({"epsilon": 0}, "epsilon"),
        ({"adjacency": "near"}, "adjacency"),
    ],
)
def test_nonsense_is_refused_before_rows_are_read(settings, message):
    with pytest.raises(BudgetError, match=message):
        PrivatePredictor(**{"schema": SCHEMA, **settings}).fit("no-such-file.csv")


def test_a_schema_is_needed():
    X, y = table(20)
    with pytest.raises(SchemaError):
        PrivatePredictor(1.0).fit(X, y)
    with pytest.raises(DataError):
        PrivatePredictor(1.0, schema=SCHEMA).fit(X[:0], y[:0])


@pytest.mark.usefixtures("one_engine")
@parametrize_with_checks([PrivatePredictor(schema="infer", epsilon=math.inf, parts=1)])
def test_estimator_checks(estimator, check):
    if check.func.__name__ == "check_estimators_pickle":
        pytest.skip("a fitted predictor holds exact statistics, so it refuses to be pickled")
    check(estimator)


def test_the_table_of_what_each_answer_has():
    """That of docs/private-answers.md."""
    delta = Fraction(1, 10**6)
    rows = {
        lambda q: Fraction(1, q): (0.2, 0.1, 0.033, 0.01, 0.003),
        lambda q: root_down(8 * zcdp_rho(Fraction(1), delta) / q): (0.197, 0.14, 0.081, 0.044, 0.025),
        lambda q: ranged_epsilon(Fraction(1), delta, q): (0.233, 0.153, 0.087, 0.047, 0.027),
    }
    for each, said in rows.items():
        assert [round(float(each(q)), 3) for q in (5, 10, 30, 100, 300)] == list(said)


@pytest.mark.parametrize(("queries", "law"), [(1, "permute-and-flip"), (3, "permute-and-flip"), (10, "exponential")])
def test_the_law_that_errs_less_is_taken(queries, law):
    """With a δ: by the chance of the wrong one of two classes, at half of the votes that parts aim at."""
    plan = make_answer_plan(SCHEMA, Budget(1, 1e-6), queries=queries, parts=10)
    assert plan.law == law and (plan.rho is None) == (law == "permute-and-flip")
    equal, ranged = Fraction(1, queries), ranged_epsilon(Fraction(1), Fraction(1, 10**6), queries)
    errors = {"permute-and-flip": math.exp(-4) / 2, "exponential": 1 / (1 + math.exp(4 * float(ranged / equal)))}
    assert law == min(errors, key=errors.get)


def test_many_answers_are_accounted_by_rho():
    plan = make_answer_plan(SCHEMA, Budget(1, 1e-6), queries=501, parts=10)
    assert "tight conversion" in plan.accounting
    assert float(plan.rho) == pytest.approx(float(zcdp_rho(Fraction(1), Fraction(1, 10**6))), rel=1e-6)
