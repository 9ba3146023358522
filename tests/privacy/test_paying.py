"""Who pays: every way to fit is charged before a row is read, by ledger, account, path, block or pickle; once."""

import copy
import itertools
import os
import pickle
import threading
import time
import warnings
import weakref
from concurrent.futures import ThreadPoolExecutor
from contextvars import copy_context
from fractions import Fraction

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.calibration import CalibratedClassifierCV
from sklearn.ensemble import BaggingClassifier
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import make_pipeline

import discreet
from discreet import (
    Account,
    Budget,
    BudgetError,
    Categorical,
    FederatedNB,
    GossipNB,
    Ledger,
    LocalNB,
    Numeric,
    PrivateAdditiveClassifier,
    PrivateClassifier,
    PrivateForestClassifier,
    PrivateGridSearch,
    PrivateJointHistogram,
    PrivateLogisticRegression,
    PrivateNB,
    PrivatePredictor,
    PrivateSelectKBest,
    PrivateSVC,
    PrivateTAN,
    PrivateTreeClassifier,
    RepeatedFitWarning,
    Schema,
    SelectiveNB,
    SmoothSettings,
    collect,
    settle_schema,
)
from discreet.calibration import calibrated
from discreet.nodes.site import node_update
from discreet.privacy import repeats
from discreet.privacy.payer import active

SCHEMA = Schema([Categorical("a", [0, 1]), Categorical("b", [0, 1, 2])], "y", [0, 1])
OPEN = Schema([Numeric("a", bounds="private"), Categorical("b", [0, 1, 2])], "y", [0, 1])
SIZE = 240


@pytest.fixture(scope="module")
def rows():
    rng = np.random.default_rng(3)
    y = rng.integers(0, 2, SIZE)
    return np.column_stack([(y + (rng.random(SIZE) < 0.2)) % 2, rng.integers(0, 3, SIZE)]), y


@pytest.fixture
def account(tmp_path):
    return Account.create(tmp_path / "a.account", Budget(1))


@pytest.fixture(autouse=True)
def forget():
    repeats._seen.clear()
    repeats._warned.clear()
    yield
    assert active() is None


FITS = {
    "PrivateNB": lambda X, y, **pay: PrivateNB(0.5, schema=SCHEMA).fit(X, y, **pay),
    "partial_fit": lambda X, y, **pay: PrivateNB(0.5, schema=SCHEMA).partial_fit(X, y, **pay),
    "smooth": lambda X, y, **pay: PrivateNB(0.5, schema=OPEN_AGE, numeric="gaussian", smooth=SmoothSettings()).fit(
        X, y, **pay
    ),
    "private bounds": lambda X, y, **pay: PrivateNB(0.5, schema=OPEN).fit(X, y, **pay),
    "PrivateClassifier": lambda X, y, **pay: PrivateClassifier(0.5, SCHEMA).fit(X, y, **pay),
    "automatic with bounds": lambda X, y, **pay: PrivateClassifier(0.5, OPEN).fit(X, y, **pay),
    "automatic naive Bayes": lambda X, y, **pay: PrivateClassifier(0.5, SCHEMA, "naive-bayes").fit(X, y, **pay),
    "PrivateAdditiveClassifier": lambda X, y, **pay: PrivateAdditiveClassifier(0.5, SCHEMA).fit(X, y, **pay),
    "PrivateTAN": lambda X, y, **pay: PrivateTAN(0.5, SCHEMA).fit(X, y, **pay),
    "PrivateJointHistogram": lambda X, y, **pay: PrivateJointHistogram(0.5, SCHEMA).fit(X, y, **pay),
    "PrivateSVC": lambda X, y, **pay: PrivateSVC(0.5, SCHEMA).fit(X, y, **pay),
    "PrivateLogisticRegression": lambda X, y, **pay: PrivateLogisticRegression(0.5, SCHEMA).fit(X, y, **pay),
    "PrivateTreeClassifier": lambda X, y, **pay: PrivateTreeClassifier(0.5, SCHEMA).fit(X, y, **pay),
    "PrivateForestClassifier": lambda X, y, **pay: PrivateForestClassifier(0.5, SCHEMA).fit(X, y, **pay),
    "SelectiveNB": lambda X, y, **pay: SelectiveNB(0.5, SCHEMA, k=1).fit(X, y, **pay),
    "SelectiveNB auto": lambda X, y, **pay: SelectiveNB(0.5, SCHEMA).fit(X, y, **pay),
    "PrivateSelectKBest": lambda X, y, **pay: PrivateSelectKBest(1, 0.5, SCHEMA).fit(X, y, **pay),
    "PrivatePredictor": lambda X, y, **pay: PrivatePredictor(0.5, schema=SCHEMA, queries=2).fit(X, y, **pay),
    "PrivateGridSearch": lambda X, y, **pay: PrivateGridSearch(
        PrivateNB(schema=SCHEMA), {"smoothing": [1.0, 2.0]}, 0.5
    ).fit(X, y, **pay),
    "FederatedNB": lambda X, y, **pay: FederatedNB(0.5, schema=SCHEMA, n_nodes=3).fit(X, y, **pay),
    "GossipNB": lambda X, y, **pay: GossipNB(0.5, schema=SCHEMA, n_nodes=3, rounds=5).fit(X, y, **pay),
    "LocalNB": lambda X, y, **pay: LocalNB(0.5, schema=SCHEMA).fit(X, y, **pay),
    "settle_schema": lambda X, y, **pay: settle_schema(OPEN, X, 0.5, **pay),
    "node_update": lambda X, y, **pay: node_update(X, SCHEMA, Budget(0.5), node="n", y=y, **pay),
    "calibrated": lambda X, y, **pay: calibrated(released(), X, y, 0.5, **pay),
}
OPEN_AGE = Schema([Numeric("a", 0, 1), Categorical("b", [0, 1, 2])], "y", [0, 1])
KEPT = {}


def released():
    """A private model to calibrate, made once."""
    if "model" not in KEPT:
        rng = np.random.default_rng(0)
        rows = rng.integers(0, 2, (50, 2)), rng.integers(0, 2, 50)
        made = PrivateNB(0.5, schema=SCHEMA).fit(*rows, ledger=Ledger(Budget(1)))
        KEPT["model"] = made.model_
    return KEPT["model"]


class Unread:
    """Rows that must not be looked at, but for what kind of thing they are."""

    def __getattribute__(self, name):
        if name == "__class__":
            return Unread
        raise AssertionError("a row was read")


@pytest.mark.parametrize("name", FITS)
def test_every_way_to_fit_is_charged_all_of_its_budget(name, rows, tmp_path):
    """By account=, by a path, by ledger= and in a block: the same half of epsilon each, no more and no less."""
    released()
    account, ledger = Account.create(tmp_path / "a.account", Budget(2)), Ledger(Budget(1))
    FITS[name](*rows, account=account)
    FITS[name](*rows, account=account.path)
    with account:
        FITS[name](*rows)
    FITS[name](*rows, ledger=ledger)
    assert account.spent == Fraction(3, 2) and ledger.spent == Fraction(1, 2)
    assert len(account.entries()) == 3 * len(ledger.nodes)
    with pytest.raises(BudgetError, match="not both"):
        FITS[name](*rows, ledger=ledger, account=account)


@pytest.mark.parametrize("name", FITS)
@pytest.mark.parametrize("block", [True, False])
def test_no_row_is_read_that_is_not_paid_for(name, block, tmp_path):
    released()
    account = Account.create(tmp_path / "a.account", Budget("0.4"))
    with pytest.raises(BudgetError, match=r"would still fit is epsilon = 0\.4"):
        if block:
            with account:
                FITS[name](Unread(), Unread())
        else:
            FITS[name](Unread(), Unread(), account=account)
    assert not account.entries()


def test_every_charge_is_on_disk_before_the_first_row_is_read(tmp_path, monkeypatch):
    """The rows are asked for last: by then the whole cost is entered in the file."""
    released()
    for name, fit in FITS.items():
        account = Account.create(tmp_path / f"{name}.account", Budget("0.5"))

        class Watching:
            def __getattribute__(self, attribute, account=account):
                if attribute == "__class__":
                    return Watching
                raise LookupError(account.spent)

        with pytest.raises(Exception) as caught:
            fit(Watching(), Watching(), account=account)
        cause = caught.value
        while cause is not None and not isinstance(cause, LookupError):
            cause = cause.__cause__ or cause.__context__
        assert cause is not None, name
        assert cause.args[0] == Fraction(1, 2), name


def test_statistics_are_paid_for_too(rows, account):
    statistics = collect(rows[0], SCHEMA, rows[1], detail=("bins",))
    PrivateSelectKBest(1, 0.25, SCHEMA).fit_statistics(statistics, account=account)
    SelectiveNB(0.25, SCHEMA, k=1).fit_statistics(statistics, account=account)
    assert account.spent == Fraction(1, 2)


def test_no_account_pays_for_a_schema_that_is_read_off_the_rows(account):
    for kind in (PrivateNB, PrivateTAN, PrivateTreeClassifier, PrivateSVC, PrivatePredictor, FederatedNB, LocalNB,
                 PrivateClassifier, PrivateAdditiveClassifier):  # fmt: skip
        with pytest.raises(BudgetError, match="needs a declared schema"):
            kind(0.1, schema="infer").fit(Unread() if kind is not FederatedNB else np.zeros((3, 1)), [0, 1, 0],
                                          account=account)  # fmt: skip
    assert not account.entries()


def test_what_cannot_pay_is_refused():
    with pytest.raises(BudgetError, match="Account, a Ledger or the path"):
        PrivateNB(0.1, schema=SCHEMA).fit(Unread(), Unread(), account=3)
    with pytest.raises(BudgetError, match="there is no account"):
        PrivateNB(0.1, schema=SCHEMA).fit(Unread(), Unread(), account="nowhere.account")


def test_batches_share_one_entry_as_long_as_it_is_there(rows, account):
    X, y = rows
    model = PrivateNB(0.5, schema=SCHEMA)
    for part in (slice(0, 80), slice(80, 160), slice(160, None)):
        model.partial_fit(X[part], y[part], account=account.path)
    assert account.spent == Fraction(1, 2)
    os.unlink(account.path)
    fresh = Account.create(account.path, Budget(1))
    model.partial_fit(X, y, account=fresh)  # another file: the tab is not entered there
    assert fresh.spent == Fraction(1, 2)


# What is read off rows for these is not the features and labels of one schema.
UNSHAPED = {"settle_schema", "node_update", "calibrated"}


@pytest.mark.parametrize("name", sorted(set(FITS) - UNSHAPED))
def test_slips_that_show_without_a_row_cost_nothing(name, rows, account):
    X, y = rows
    frame = pd.DataFrame({"a": X[:, 0], "b": X[:, 1]})
    other = frame.rename(columns={"b": "c"})
    slips = [
        (X[:, :1], y),
        (X, y[:-1]),
        (X, list(y[:-1])),
        (X, None),
        (frame, None),
        (frame, pd.Series(y[1:])),
        (other, y),
    ]
    for wrong in slips:
        with pytest.raises(discreet.DataError):
            FITS[name](*wrong, account=account)
    assert not account.entries()


# ---- blocks


def test_blocks_nest_and_reach_every_thread(rows, tmp_path):
    outer, inner = (Account.create(tmp_path / f"{name}.account", Budget(1)) for name in ("outer", "inner"))
    ledger = Ledger(Budget(1))
    with outer:
        with inner:
            PrivateNB(0.25, schema=SCHEMA).fit(*rows)
            PrivateNB(0.5, schema=SCHEMA).fit(*rows, ledger=ledger)
        thread = threading.Thread(target=lambda: PrivateNB(0.5, schema=SCHEMA).fit(*rows))
        thread.start()
        thread.join()
        with pytest.raises(RuntimeError), inner:
            raise RuntimeError
        assert active() is outer
        with ledger:
            PrivateNB(0.25, schema=SCHEMA).fit(*rows)
    assert (outer.spent, inner.spent, ledger.spent) == (Fraction(1, 2), Fraction(1, 4), Fraction(3, 4))
    PrivateNB(5.0, schema=SCHEMA).fit(*rows)
    assert outer.spent == Fraction(1, 2)


def test_threads_with_accounts_of_their_own_pay_their_own(rows, tmp_path):
    accounts = [Account.create(tmp_path / f"{i}.account", Budget(9)) for i in range(3)]
    meet, failed = threading.Barrier(3), []

    def work(index):
        try:
            with accounts[index]:
                meet.wait(60)
                for _ in range(index + 1):
                    PrivateNB(0.5, schema=SCHEMA).fit(*rows)
                meet.wait(60)
        except BaseException as error:  # a thread's failure is the test's
            failed.append(error)
            meet.abort()

    threads = [threading.Thread(target=work, args=(i,)) for i in range(3)]
    for one in threads:
        one.start()
    for one in threads:
        one.join()
    assert not failed and active() is None
    assert [one.spent for one in accounts] == [Fraction(1, 2), 1, Fraction(3, 2)]


def in_thread(task):
    with ThreadPoolExecutor(1) as pool:
        return pool.submit(task).result()


def test_a_thread_without_a_block_works_for_the_only_one_and_is_refused_for_several(rows, tmp_path):
    outer, inner, other = (Account.create(tmp_path / f"{name}.account", Budget(9)) for name in "abc")

    def fit():
        PrivateNB(0.5, schema=SCHEMA).fit(*rows)

    with outer, inner:
        in_thread(fit)
        assert (outer.spent, inner.spent) == (0, Fraction(1, 2))
        with Account(inner.path):
            in_thread(fit)
        opened, done = threading.Event(), threading.Event()

        def elsewhere():
            with other:
                opened.set()
                done.wait(60)

        thread = threading.Thread(target=elsewhere)
        thread.start()
        assert opened.wait(60)
        try:
            fit()
            with pytest.raises(BudgetError, match="pass account="):
                in_thread(fit)
            sent = in_thread(lambda: pickle.dumps(PrivateNB(0.5, schema=SCHEMA)))
            in_thread(lambda: PrivateNB(0.5, schema=SCHEMA).fit(*rows, account=outer))
            in_thread(lambda: copy.deepcopy(PrivateNB(0.5, schema=SCHEMA)))  # a copy is no fit
        finally:
            done.set()
            thread.join()
    with pytest.raises(BudgetError, match="pass account="):
        pickle.loads(sent).fit(*rows)
    assert [one.spent for one in (outer, inner, other)] == [Fraction(1, 2), Fraction(3, 2), 0]


def test_a_task_that_outlives_the_block_it_was_started_in_is_not_charged_to_it(account):
    with account:
        context = copy_context()
        assert context.run(active) is account
    assert context.run(active) is None


@pytest.mark.parametrize("jobs", [1, 2])
def test_cross_validation_is_charged_for_every_fold_and_refused(jobs, rows, tmp_path):
    account = Account.create(tmp_path / "a.account", Budget(2))
    with account, warnings.catch_warnings():
        warnings.simplefilter("error", RepeatedFitWarning)
        cross_val_score(PrivateNB(0.1, schema=SCHEMA), *rows, cv=4, n_jobs=jobs, error_score="raise")
        assert account.spent == Fraction(2, 5)
        chosen = make_pipeline("passthrough", PrivateNB(0.1, schema=SCHEMA))
        search = GridSearchCV(chosen, {"privatenb__smoothing": [1.0, 2.0]}, cv=2, n_jobs=jobs, error_score="raise")
        search.fit(*rows)
        assert account.spent == Fraction(9, 10)  # two settings, two folds, and the refit
        with pytest.raises(BudgetError, match="left"):
            cross_val_score(PrivateNB(0.5, schema=SCHEMA), *rows, cv=4, n_jobs=jobs, error_score="raise")
    assert Fraction(9, 10) < account.spent <= 2
    assert account.verify().entries[0].label == "PrivateNB"


def test_pickles_and_clones_of_a_block_bring_the_account_along(rows, account):
    with account:
        sent = [pickle.dumps(one) for one in (PrivateNB(0.1, schema=SCHEMA), PrivateSelectKBest(1, 0.1, SCHEMA))]
    for data in sent:
        arrived = pickle.loads(data)
        arrived.fit(*rows)
        clone(arrived).fit(*rows)
    assert account.spent == Fraction(2, 5)
    other = pickle.loads(pickle.dumps(PrivateNB(0.1, schema=SCHEMA)))
    other.fit(*rows)
    assert account.spent == Fraction(2, 5) and "_carried_payer" not in vars(other)


def test_a_ledger_does_not_travel(rows):
    ledger = Ledger(Budget(1))
    with ledger:
        sent = pickle.dumps(PrivateNB(0.1, schema=SCHEMA))
        copy.deepcopy(PrivateNB(0.1, schema=SCHEMA)).fit(*rows)  # in the same process it pays
    assert ledger.spent == Fraction(1, 10)
    with pytest.raises(BudgetError, match="use an Account"):
        pickle.loads(sent).fit(*rows)


# ---- repeated fits


def fits_with_warnings(task):
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        task()
    return [str(one.message) for one in caught if issubclass(one.category, RepeatedFitWarning)]


def twice(make):
    def task():
        for _ in range(3):
            PrivateNB(0.5, schema=SCHEMA, random_state=0).fit(*make())

    return task


def test_the_second_fit_to_the_same_data_warns_once(rows, tmp_path):
    X, y = rows
    frame = pd.DataFrame({"a": X[:, 0], "b": X[:, 1], "y": y})
    path, link = tmp_path / "rows.csv", tmp_path / "link.csv"
    frame.to_csv(path, index=False)
    link.symlink_to(path)
    columns = np.asfortranarray(X)
    names = itertools.cycle((str(path), path, link))
    same = {
        "array": twice(lambda: (X, y)),
        "view": twice(lambda: (X[:200], y[:200])),
        "frame": twice(lambda: (frame,)),
        "path": twice(lambda: (next(names),)),
        "folds": lambda: cross_val_score(PrivateNB(0.5, schema=SCHEMA), X, y, cv=3),
        "grid": lambda: GridSearchCV(PrivateNB(schema=SCHEMA), {"epsilon": [0.5, 1.0]}, cv=2).fit(X, y),
        "calibration": lambda: CalibratedClassifierCV(PrivateNB(0.5, schema=SCHEMA), cv=3).fit(X, y),
        "bagging": lambda: BaggingClassifier(PrivateNB(0.5, schema=SCHEMA), 3).fit(X, y),
        "overlapping rows of columns": lambda: [
            PrivateNB(0.5, schema=SCHEMA).fit(columns[part], y[part]) for part in (slice(0, 121), slice(120, 240))
        ],
        "automatic": lambda: [PrivateClassifier(0.5, SCHEMA).fit(X, y) for _ in range(3)],
        "search": lambda: [
            PrivateGridSearch(PrivateNB(schema=SCHEMA), {"smoothing": [1.0]}, 0.5).fit(X, y) for _ in range(3)
        ],
    }
    for name, task in same.items():
        repeats._seen.clear()
        repeats._warned.clear()
        said = fits_with_warnings(task)
        assert len(said) == 1 and said[0].count("\n") == 0 and "fitted to the same data again" in said[0], (name, said)
        assert fits_with_warnings(task) == []


def test_other_data_other_classes_no_privacy_and_paid_fits_do_not_warn(rows, account):
    X, y = rows

    def task():
        PrivateNB(0.5, schema=SCHEMA).fit(X, y)
        PrivateTreeClassifier(0.5, SCHEMA).fit(X, y)
        PrivateNB(0.5, schema=SCHEMA).fit(X.copy(), y)
        PrivateNB(float("inf"), schema=SCHEMA).fit(X, y)
        PrivateNB(0.5, schema=SCHEMA).fit(X, y, account=account)
        PrivateNB(0.5, schema=SCHEMA).fit(X, y, ledger=Ledger(Budget(1)))
        PrivateGridSearch(PrivateForestClassifier(schema=SCHEMA), {"depth": [1, 2]}, 0.5).fit(X, y)
        model = PrivateTAN(0.5, SCHEMA)
        model.fit(X[:100], y[:100])
        model.fit(X[100:], y[100:])  # other rows of the same array
        columns, halves = np.asfortranarray(X), PrivateJointHistogram(0.5, SCHEMA)
        halves.fit(columns[:100], y[:100])
        halves.fit(columns[100:], y[100:])
        piped = make_pipeline("passthrough", PrivateLogisticRegression(0.5, SCHEMA))
        piped.fit(X, y)
        batches = SelectiveNB(0.5, SCHEMA)
        for _ in range(3):
            batches.fit(np.array(X), y)

    assert fits_with_warnings(task) == []


def test_the_memory_of_fits_keeps_no_data_and_costs_no_time(rows):
    for epsilon in (0.5, float("inf")):
        X = np.zeros((1000, 2), int)
        gone, model = weakref.ref(X), PrivateNB(epsilon, schema=SCHEMA)
        model.fit(X, X[:, 0])
        used = weakref.ref(model)
        del X
        assert gone() is None and not any(repeats._seen.values())
        del model
        assert used() is None  # no cycle holds it, either
    arrays, times = [np.zeros((10, 2)) for _ in range(1000)], []
    for _ in range(5):
        repeats._seen.clear()
        start = time.process_time()
        for array in arrays:
            repeats.note_fit(PrivateNB, array)
        times.append((time.process_time() - start) / len(arrays))
    assert min(times) < 1e-4
    del arrays, array
    assert not any(repeats._seen.values())


def test_the_names_are_public():
    assert discreet.RepeatedFitWarning is RepeatedFitWarning and issubclass(RepeatedFitWarning, UserWarning)
    assert issubclass(discreet.AccountError, BudgetError)
