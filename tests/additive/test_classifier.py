"""The estimator: its twin without privacy, scikit-learn's conventions, counts, ledger and certificate."""

import math
import warnings
from fractions import Fraction

import numpy as np
import pytest
from scipy.optimize import minimize
from sklearn.utils.estimator_checks import parametrize_with_checks

from discreet import (
    Budget,
    BudgetError,
    Categorical,
    DataError,
    Ledger,
    Numeric,
    PrivateAdditiveClassifier,
    Schema,
    SchemaError,
)
from discreet.estimators.counts import SHARE, ClassCounts, CountPlan, bought_counts, count_charge
from discreet.mechanisms.noise import SimulationSampler
from discreet.privacy.budget import Adjacency


@pytest.mark.usefixtures("one_engine")
@parametrize_with_checks(
    [
        PrivateAdditiveClassifier(schema="infer", epsilon=50.0, random_state=0),
    ],
)
def test_estimator_checks(estimator, check):
    check(estimator)


@pytest.mark.slow  # the same checks of the same class once more
@pytest.mark.usefixtures("one_engine")
@parametrize_with_checks([PrivateAdditiveClassifier(schema="infer", epsilon=math.inf)])
def test_estimator_checks_without_noise(estimator, check):
    check(estimator)


@pytest.mark.parametrize("classes", [2, 3])
def test_twin_is_penalised_regression(classes):
    """Without noise and for categories alone: the minimum, by SciPy, of the log-loss and a unit ridge to the shares."""
    rng = np.random.default_rng(0)
    X = rng.integers(0, 3, (500, 2))
    y = (X[:, 0] + rng.integers(0, 2, 500)) % classes
    schema = Schema([Categorical("u", [0, 1, 2]), Categorical("v", [0, 1, 2])], "t", list(range(classes)))
    ours = PrivateAdditiveClassifier(math.inf, schema, pairs=0).fit(X, y)
    hot = np.concatenate([np.eye(3)[X[:, 0]], np.eye(3)[X[:, 1]], np.ones((500, 1))], axis=1)
    logs = np.log(np.bincount(y, minlength=classes) + 1)
    vectors = 1 if classes == 2 else classes
    centre = np.zeros((vectors, 7))
    centre[:, -1] = logs[1] - logs[0] if classes == 2 else logs - logs.mean()

    def scores(flat):
        z = hot @ flat.reshape(vectors, 7).T
        return np.concatenate([np.zeros_like(z), z], axis=1) if classes == 2 else z

    def value(flat):
        z = scores(flat)
        loss = np.logaddexp.reduce(z, axis=1) - z[np.arange(500), y]
        return loss.sum() + ((flat - centre.ravel()) ** 2).sum() / 2

    found = scores(minimize(value, centre.ravel(), method="BFGS", options={"gtol": 1e-4}).x)
    expected = np.exp(found - np.logaddexp.reduce(found, axis=1)[:, None])
    assert np.abs(ours.predict_proba(X) - expected).max() < 1e-4


@pytest.mark.parametrize("classes", [2, 3])
def test_order_of_classes(frame, classes):
    """The schema's order of classes changes nothing that scikit-learn sees."""
    features = [Categorical("size", [1, 2, 3], other="another"), Numeric("dose", 0, 1)]
    X, y = frame[["size", "dose"]], frame["ill"].where(frame["age"] < 80, "yes" if classes == 2 else "old")
    names = ["no", "yes", "old"][:classes]
    fits = [PrivateAdditiveClassifier(math.inf, Schema(features, "ill", order)).fit(X, y)
            for order in (names, names[::-1])]  # fmt: skip
    assert list(fits[0].classes_) == list(fits[1].classes_) == sorted(names)
    assert np.allclose(fits[0].predict_proba(X), fits[1].predict_proba(X), atol=1e-6)
    assert (fits[0].predict(X) == fits[0].classes_[fits[0].predict_proba(X).argmax(axis=1)]).all()


@pytest.mark.parametrize("adjacency", ["add-remove", "replace"])
@pytest.mark.parametrize("classes", [2, 3])
def test_learns(classes, adjacency):
    rng = np.random.default_rng(0)
    X = np.column_stack([rng.uniform(0, 1, 6000), rng.uniform(0, 1, 6000)])
    y = np.minimum((X[:, 0] * classes).astype(int), classes - 1)
    y = np.where(rng.random(6000) < 0.05, rng.integers(0, classes, 6000), y)
    schema = Schema([Numeric("x", 0, 1), Numeric("noise", 0, 1)], "t", list(range(classes)))
    fitted = PrivateAdditiveClassifier(2.0, schema, adjacency=adjacency, random_state=1).fit(X, y)
    assert fitted.score(X, y) > 0.85
    assert np.allclose(fitted.predict_proba(X[:9]).sum(axis=1), 1)


def test_probabilities_are_calibrated():
    """At a generous budget the predicted chance is the share of rows that belong to the class."""
    rng = np.random.default_rng(0)
    X = rng.integers(0, 4, (40_000, 1))
    chance = np.array([0.1, 0.35, 0.6, 0.9])
    y = (rng.random(len(X)) < chance[X[:, 0]]).astype(int)
    schema = Schema([Categorical("u", [0, 1, 2, 3])], "t", [0, 1])
    fitted = PrivateAdditiveClassifier(1.0, schema, random_state=0).fit(X, y)
    assert np.abs(fitted.predict_proba(np.arange(4)[:, None])[:, 1] - chance).max() < 0.03


def test_ledger_is_charged_before_rows_are_read(schema, tmp_path):
    ledger = Ledger(Budget(1))
    (tmp_path / "none.csv").write_text(",".join([*schema.names, schema.target]) + "\n")
    with pytest.raises(DataError, match="no rows"):
        PrivateAdditiveClassifier(0.75, schema).fit(tmp_path / "none.csv", ledger=ledger)
    assert ledger.spent == Budget(0.75).epsilon
    with pytest.raises(BudgetError, match="left"):
        PrivateAdditiveClassifier(0.75, schema).fit("no such file.csv", ledger=ledger)


@pytest.mark.parametrize("pairs", [0, 3])
def test_certificate_tells_the_truth(schema, frame, pairs):
    real = PrivateAdditiveClassifier(1.0, schema, pairs=pairs).fit(frame).certificate_
    assert real.private and not real.simulation and real.epsilon == "1"
    assert "operating system" in real.sampler and "opendp" in real.sampler
    assert sum(Fraction(c.cost) for c in real.charges()) == 1
    assert [c.mechanism for c in real.charges()].count("permute-and-flip") == bool(pairs)
    assert any("refusal" in line for line in real.assumptions)
    seeded = [PrivateAdditiveClassifier(1.0, schema, pairs=pairs, random_state=3).fit(frame) for _ in range(2)]
    assert seeded[0].certificate_.simulation and "nothing" in seeded[0].certificate_.covers
    assert (seeded[0].model_.weights == seeded[1].model_.weights).all()
    free = [PrivateAdditiveClassifier(1.0, schema, pairs=0).fit(frame).model_.weights for _ in range(2)]
    assert (free[0] != free[1]).any()
    assert not PrivateAdditiveClassifier(math.inf, schema, pairs=pairs).fit(frame).certificate_.private


def test_given_counts_leave_the_whole_budget_to_the_model(schema, frame):
    charge = count_charge(Fraction(1, 10))
    exact = np.array([(frame["ill"] == name).sum() for name in ("no", "yes")], np.int64)
    plan = CountPlan(schema, Budget(charge.cost), Adjacency.ADD_REMOVE, 1, charge)
    counts = bought_counts(exact, plan, SimulationSampler(np.random.default_rng(0)))
    fitted = PrivateAdditiveClassifier(0.9, schema, random_state=0).fit(frame, counts=counts)
    assert sum(Fraction(c.cost) for c in fitted.certificate_.charges()) == Fraction(9, 10)
    assert "rows by class" not in [c.what for c in fitted.certificate_.charges()]
    assert any("paid for elsewhere, at epsilon 1/10" in text for text in fitted.certificate_.assumptions)
    whole = counts.certificate.then(fitted.certificate_)
    assert whole.epsilon == "1" and len(whole.charges()) == 3 and not whole.elsewhere
    bought = PrivateAdditiveClassifier(1.0, schema).plan()
    assert [float(part.cost) for part in bought.node.parts] == [float(SHARE), float(1 - SHARE)]
    with pytest.raises(BudgetError, match="one count per class"):
        PrivateAdditiveClassifier(1.0, schema).fit(frame, counts=ClassCounts(np.ones(3), 1.0, None))


def test_contributions_divide_the_budget(schema):
    one, three = (PrivateAdditiveClassifier(1.0, schema, contributions=k).plan() for k in (1, 3))
    assert three.rest * 3 == one.rest
    assert sum(part.cost for part in three.node.parts) == 1
    assert three.count_charge.spread == 3 * one.count_charge.spread


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"contributions": 0}, "contributions"),
        ({"numeric": "dense"}, "smooth"),
        ({"numeric": None}, "smooth"),
        ({"adjacency": "none"}, "adjacency"),
        ({"epsilon": 0}, "above zero"),
        ({"epsilon": "much"}, "number"),
        ({"random_state": -1}, "random_state"),
        ({"pairs": -1}, "pairs"),
        ({"pairs": "all"}, "pairs"),
        ({"pairs": 1.5}, "pairs"),
        ({"pairs": True}, "pairs"),
    ],
)
def test_bad_settings_are_one_sentence(schema, frame, settings, message):
    with pytest.raises(BudgetError, match=message) as caught:
        PrivateAdditiveClassifier(**{"schema": schema, **settings}).fit(frame)
    assert "\n" not in str(caught.value)


def test_schema_and_rows_are_checked(schema, frame):
    with pytest.raises(SchemaError):
        PrivateAdditiveClassifier(1.0).fit(frame)
    with pytest.raises(DataError, match="no rows"):
        PrivateAdditiveClassifier(1.0, schema).fit(frame.head(0))


@pytest.mark.parametrize("epsilon", [1e-6, 1e-3, 0.1, 30.0, 1e4, 1e9])
@pytest.mark.parametrize("pairs", [0, 2])
def test_any_budget_fits_without_a_warning(schema, frame, epsilon, pairs):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for numeric in ("smooth", "binned"):
            fitted = PrivateAdditiveClassifier(epsilon, schema, pairs=pairs, numeric=numeric, random_state=0).fit(frame)
            assert np.isfinite(fitted.model_.weights).all()
            assert len(fitted.predict(frame.drop(columns="ill"))) == len(frame)


def test_files_and_frames_give_the_same(schema, frame, tmp_path):
    frame.to_parquet(tmp_path / "rows.parquet")
    one = PrivateAdditiveClassifier(1.0, schema, random_state=4).fit(frame)
    two = PrivateAdditiveClassifier(1.0, schema, random_state=4).fit(tmp_path / "rows.parquet")
    assert (one.model_.weights == two.model_.weights).all()


def test_one_cell_and_many_categories():
    rng = np.random.default_rng(0)
    lonely = Schema([Categorical("c", ["a"])], "t", [0, 1])
    y = rng.integers(0, 2, 200)
    assert len(PrivateAdditiveClassifier(1.0, lonely, random_state=0).fit([["a"]] * 200, y).predict([["a"]])) == 1
    wide = Schema([Categorical("c", list(range(3000))), Categorical("d", [0, 1])], "t", [0, 1])
    X = np.column_stack([rng.integers(0, 3000, 2000), rng.integers(0, 2, 2000)])
    fitted = PrivateAdditiveClassifier(3.0, wide, random_state=0).fit(X, X[:, 1])
    assert fitted.score(X, X[:, 1]) > 0.9


class Unread:
    """Rows that must not be looked at."""

    def __getattribute__(self, name):
        raise AssertionError("a row was read")


@pytest.mark.parametrize("budget", [Budget("0.5"), Budget("0.5", "1e-6"), Budget(rho="0.01")], ids=str)
def test_no_schema_is_inferred_that_a_ledger_cannot_pay_for(budget):
    ledger = Ledger(budget)
    with pytest.raises(BudgetError, match="left"):
        PrivateAdditiveClassifier(1, "infer").fit(Unread(), Unread(), ledger=ledger)
    assert not ledger.nodes


def test_whole_numbers_of_numpy_are_whole_numbers(schema):
    given = PrivateAdditiveClassifier(1, schema, contributions=np.int64(2), pairs=np.int32(3)).plan()
    assert given == PrivateAdditiveClassifier(1, schema, contributions=2, pairs=3).plan()
    assert type(given.contributions) is int and type(given.pairs) is int
    with pytest.raises(BudgetError, match="contributions"):
        PrivateAdditiveClassifier(1, schema, contributions=True).plan()
