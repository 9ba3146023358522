"""The estimators: twins without privacy, scikit-learn's conventions, ledger and certificate."""

import math
import warnings
from fractions import Fraction

import numpy as np
import pytest
from scipy.optimize import minimize
from sklearn.linear_model import LogisticRegression
from sklearn.utils.estimator_checks import parametrize_with_checks

from discreet import (
    Budget,
    BudgetError,
    Categorical,
    DataError,
    Ledger,
    Numeric,
    PrivateLogisticRegression,
    PrivateSVC,
    Schema,
    SchemaError,
)
from discreet.linear.losses import Huber

BOTH = [PrivateSVC, PrivateLogisticRegression]


@pytest.mark.usefixtures("one_engine")
@parametrize_with_checks(
    [
        PrivateSVC(schema="infer", epsilon=math.inf),
        PrivateLogisticRegression(schema="infer", epsilon=50.0, random_state=0),
    ],
)
def test_estimator_checks(estimator, check):
    check(estimator)


@pytest.mark.slow  # the same checks of the same class once more
@pytest.mark.usefixtures("one_engine")
@parametrize_with_checks([PrivateLogisticRegression(schema="infer", epsilon=math.inf)])
def test_estimator_checks_without_noise(estimator, check):
    check(estimator)


@pytest.mark.parametrize("numeric", ["binned", "scaled"])
def test_logistic_twin_is_scikit_learns(schema, frame, numeric):
    X, y = frame.drop(columns="ill"), frame["ill"]
    ours = PrivateLogisticRegression(math.inf, schema, numeric=numeric, regularisation=0.8, tolerance=1e-9).fit(X, y)
    dense = ours.model_.encoding.matrix(X)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        theirs = LogisticRegression(fit_intercept=False, C=1 / 0.8, tol=1e-12, solver="newton-cholesky").fit(dense, y)
    assert np.abs(ours.model_.weights - theirs.coef_).max() < 1e-6
    assert np.allclose(ours.predict_proba(X), theirs.predict_proba(dense), atol=1e-7)
    assert np.allclose(ours.encode(X) @ ours.coef_[0] + ours.intercept_[0], ours.decision_function(X))


@pytest.mark.parametrize("h", [0.05, 0.5])
def test_svm_twin_is_scipys_minimum(schema, frame, h):
    X, y = frame.drop(columns="ill"), frame["ill"]
    ours = PrivateSVC(math.inf, schema, h=h, regularisation=0.8).fit(X, y)
    dense, signs, loss = ours.model_.encoding.matrix(X), np.where(y == "yes", 1.0, -1.0), Huber(h)

    def value(w):
        t = signs * (dense @ w)
        return loss.value(t).sum() + 0.4 * w @ w, dense.T @ (loss.slope(t) * signs) + 0.8 * w

    found = minimize(value, np.zeros(dense.shape[1]), jac=True, method="L-BFGS-B",
                     options={"maxiter": 20_000, "maxfun": 50_000, "ftol": 1e-16, "gtol": 1e-9})  # fmt: skip
    assert np.abs(ours.model_.weights[0] - found.x).max() < 1e-4
    assert value(ours.model_.weights[0])[0] <= found.fun + 1e-9


def test_huber_loss_is_the_papers():
    loss, t = Huber(0.05), np.linspace(0.5, 1.5, 2000)
    inside = np.abs(1 - t) <= 0.05
    expected = np.where(t > 1.05, 0, np.where(inside, (1 + 0.05 - t) ** 2 / 0.2, 1 - t))
    assert np.allclose(loss.value(t), expected)
    assert np.allclose(np.gradient(loss.value(t), t)[2:-2], loss.slope(t)[2:-2], atol=6e-3)


@pytest.mark.parametrize("kind", BOTH)
def test_order_of_classes(kind, frame):
    """The schema's order of classes changes nothing but the sign of what scikit-learn calls positive."""
    features = [Categorical("size", [1, 2, 3], other="another"), Numeric("dose", 0, 1)]
    X, y = frame[["size", "dose"]], frame["ill"]
    one, two = (kind(math.inf, Schema(features, "ill", names)).fit(X, y) for names in (["no", "yes"], ["yes", "no"]))
    assert list(one.classes_) == list(two.classes_) == ["no", "yes"]
    assert np.allclose(one.decision_function(X), two.decision_function(X), atol=1e-6)
    assert np.allclose(one.coef_, two.coef_, atol=1e-6)
    assert (one.predict(X) == two.predict(X)).all()
    assert ((one.decision_function(X) > 0) == (one.predict(X) == "yes")).all()


@pytest.mark.parametrize("kind", BOTH)
def test_three_classes_split_the_budget(kind):
    rng = np.random.default_rng(0)
    X = rng.choice(["a", "b", "c"], (900, 2))
    y = np.where(rng.random(900) < 0.9, X[:, 0], X[:, 1])
    schema = Schema([Categorical("u", ["a", "b", "c"]), Categorical("v", ["a", "b", "c"])], "t", ["c", "a", "b"])
    fitted = kind(3.0, schema, random_state=1).fit(X, y)
    assert fitted.coef_.shape == (3, 6)
    assert fitted.decision_function(X).shape == (900, 3)
    assert fitted.score(X, y) > 0.85
    parts = fitted.plan().node.parts
    assert len(parts) == 3
    assert [sum(c.cost for c in part.parts) for part in parts] == [1, 1, 1]
    if kind is PrivateLogisticRegression:
        assert np.allclose(fitted.predict_proba(X).sum(axis=1), 1)
        assert (fitted.classes_[fitted.predict_proba(X).argmax(axis=1)] == fitted.predict(X)).all()


def test_probabilities_are_calibrated():
    """At a generous budget the predicted chance is the share of rows that belong to the class."""
    rng = np.random.default_rng(0)
    X = rng.integers(0, 4, (40_000, 1))
    chance = np.array([0.1, 0.35, 0.6, 0.9])
    y = (rng.random(len(X)) < chance[X[:, 0]]).astype(int)
    schema = Schema([Categorical("u", [0, 1, 2, 3])], "t", [0, 1])
    fitted = PrivateLogisticRegression(1.0, schema).fit(X, y)
    assert np.abs(fitted.predict_proba(np.arange(4)[:, None])[:, 1] - chance).max() < 0.05


@pytest.mark.parametrize("kind", BOTH)
def test_ledger_is_charged_before_rows_are_read(kind, schema, tmp_path):
    ledger = Ledger(Budget(1))
    (tmp_path / "none.csv").write_text(",".join([*schema.names, schema.target]) + "\n")
    with pytest.raises(DataError, match="no rows"):
        kind(0.75, schema).fit(tmp_path / "none.csv", ledger=ledger)
    assert ledger.spent == Budget(0.75).epsilon
    with pytest.raises(BudgetError, match="left"):
        kind(0.75, schema).fit("no such file.csv", ledger=ledger)


def test_certificate_tells_the_truth(schema, frame):
    real = PrivateSVC(1.0, schema).fit(frame).certificate_
    assert real.private and not real.simulation and real.epsilon == "1"
    assert "operating system" in real.sampler and "opendp" in real.sampler
    assert sum(Fraction(c.cost) for c in real.charges()) == 1
    assert any("refusal" in line for line in real.assumptions)
    seeded = PrivateSVC(1.0, schema, random_state=3).fit(frame)
    assert seeded.certificate_.simulation and "nothing" in seeded.certificate_.covers
    again = PrivateSVC(1.0, schema, random_state=3).fit(frame)
    assert (seeded.model_.weights == again.model_.weights).all()
    assert (real_weights(schema, frame) != real_weights(schema, frame)).any()
    twin = PrivateSVC(math.inf, schema).fit(frame).certificate_
    assert not twin.private


def real_weights(schema, frame):
    return PrivateSVC(1.0, schema).fit(frame).model_.weights


def test_contributions_divide_the_budget(schema):
    one, three = (PrivateSVC(1.0, schema, contributions=k).plan() for k in (1, 3))
    assert three.epsilons[0] * 3 == one.epsilons[0]
    assert sum(c.cost for c in three.node.parts[0].parts) == 1


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"regularisation": 0.1}, "must be above"),
        ({"regularisation": -1}, "between"),
        ({"noise": "gaussian"}, "auto"),
        ({"tolerance": 0}, "tolerance"),
        ({"contributions": 0}, "contributions"),
        ({"numeric": "dense"}, "binned"),
        ({"adjacency": "none"}, "adjacency"),
        ({"h": 0}, "h must"),
        ({"epsilon": 0}, "above zero"),
        ({"random_state": -1}, "random_state"),
    ],
)
def test_bad_settings_are_one_sentence(schema, frame, settings, message):
    with pytest.raises(BudgetError, match=message) as caught:
        PrivateSVC(**{"schema": schema, **settings}).fit(frame)
    assert "\n" not in str(caught.value)


def test_methods_and_schema_are_checked(schema, frame):
    with pytest.raises(BudgetError, match="method"):
        PrivateLogisticRegression(1.0, schema, method="magic").fit(frame)
    with pytest.raises(BudgetError, match="spherical"):
        PrivateLogisticRegression(1.0, schema, method="output", noise="laplace").fit(frame)
    with pytest.raises(SchemaError):
        PrivateSVC(1.0).fit(frame)


@pytest.mark.parametrize("epsilon", [1e-6, 1e-3, 0.1, 1.0, 30.0, 1e4, 1e9])
@pytest.mark.parametrize("numeric", ["binned", "scaled"])
def test_any_budget_fits_without_a_warning(schema, frame, epsilon, numeric):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for estimator in (
            PrivateSVC(epsilon, schema, numeric=numeric, random_state=0),
            *(
                PrivateLogisticRegression(epsilon, schema, method=m, numeric=numeric, random_state=0)
                for m in ("objective", "output", "functional")
            ),
        ):
            fitted = estimator.fit(frame)
            assert np.isfinite(fitted.model_.weights).all()
            assert len(fitted.predict(frame.drop(columns="ill"))) == len(frame)
