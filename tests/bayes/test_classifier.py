"""PrivateNB: the non-private twin, the budget, batches, and scikit-learn's habits."""

import copy
import math
import pickle

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.naive_bayes import BernoulliNB, CategoricalNB, GaussianNB
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer

from discreet import Budget, BudgetError, Categorical, DataError, Ledger, Numeric, PrivateNB, Schema, SchemaError

SIZES = (3, 5, 2)


@pytest.fixture(scope="module")
def codes():
    rng = np.random.default_rng(0)
    y = rng.integers(0, 3, 900)
    return np.column_stack([(rng.integers(0, s, 900) + y * rng.integers(0, 2, 900)) % s for s in SIZES]), y


@pytest.fixture(scope="module")
def code_schema():
    return Schema(features=[Categorical(f"c{j}", range(s)) for j, s in enumerate(SIZES)], target="y", classes=[0, 1, 2])


@pytest.fixture(scope="module")
def numbers():
    rng = np.random.default_rng(1)
    y = rng.integers(0, 2, 800)
    return rng.normal(size=(800, 4)) * [1, 2, 0.5, 3] + y[:, None] * [1, -1, 0.3, 0], y


@pytest.fixture(scope="module")
def number_schema():
    return Schema(features=[Numeric(f"x{j}", -16, 16, step=2**-14) for j in range(4)], target="y", classes=[0, 1])


@pytest.fixture(scope="module")
def mixed(codes):
    X, y = codes
    rng = np.random.default_rng(2)
    frame = pd.DataFrame({"c": np.array(["r", "g", "b"])[X[:, 0]], "x": rng.normal(size=len(y)) + y})
    schema = Schema(features=[Categorical("c", ["r", "g", "b"]), Numeric("x", -6, 8)], target="y", classes=[0, 1, 2])
    return frame, y, schema


def test_infinite_epsilon_is_categorical_nb(codes, code_schema):
    X, y = codes
    ours, theirs = PrivateNB(math.inf, schema=code_schema, smoothing=0.7).fit(X, y), CategoricalNB(alpha=0.7).fit(X, y)
    np.testing.assert_allclose(ours.predict_joint_log_proba(X), theirs.predict_joint_log_proba(X), rtol=1e-12)
    np.testing.assert_array_equal(ours.predict(X), theirs.predict(X))


def test_infinite_epsilon_is_bernoulli_nb():
    rng = np.random.default_rng(3)
    X, y = rng.integers(0, 2, (400, 6)), rng.integers(0, 2, 400)
    schema = Schema(features=[Categorical(f"w{j}", [0, 1]) for j in range(6)], target="y", classes=[0, 1])
    np.testing.assert_allclose(
        PrivateNB(math.inf, schema=schema).fit(X, y).predict_proba(X), BernoulliNB().fit(X, y).predict_proba(X)
    )


def test_infinite_epsilon_is_gaussian_nb(numbers, number_schema):
    X, y = numbers
    ours, theirs = PrivateNB(math.inf, schema=number_schema, numeric="gaussian").fit(X, y), GaussianNB().fit(X, y)
    for j, likelihood in enumerate(ours.model_.likelihoods):
        np.testing.assert_allclose(likelihood.mean, theirs.theta_[:, j], atol=1e-5)
        np.testing.assert_allclose(likelihood.variance, theirs.var_[:, j], rtol=1e-4)
    np.testing.assert_allclose(ours.predict_proba(X), theirs.predict_proba(X), atol=1e-4)


def test_truncated_gaussian_integrates_to_one_within_the_bounds():
    from scipy.integrate import quad

    from discreet.bayes.likelihoods import GaussianLikelihood

    for mean, variance in ((0.2, 0.5), (1.9, 4.0), (-3.0, 0.25), (40.0, 9.0)):
        one = GaussianLikelihood("x", np.array([mean]), np.array([variance]), truncated=True)
        constant, weight, _ = one.constants(Numeric("x", -1, 2))
        mass, _ = quad(lambda x, c=constant[0], w=weight[0], m=mean: math.exp(c - w * (x - m) ** 2), -1, 2)
        assert mass == pytest.approx(1, abs=1e-7)


def test_no_schema_no_fit(codes):
    with pytest.raises(SchemaError, match="discreet schema"):
        PrivateNB().fit(*codes)
    with pytest.raises(SchemaError, match="schema"):
        PrivateNB().plan()


class Untouchable:
    """Data that must not be read."""

    def __getattr__(self, name):
        raise AssertionError(f"the data were touched: {name}")


@pytest.mark.parametrize(
    "settings",
    [
        {"epsilon": 0},
        {"epsilon": -1},
        {"epsilon": 1, "delta": 2},
        {"epsilon": 1, "mechanism": "gaussian"},
        {"split": {"c": 0.7, "x": 0.7}},
        {"split": {"c": 0.5}},
        {"split": {"c": 0.5, "x": 0.3, "zebra": 0.1}},
        {"split": {"c": 0.5, "x": 0}},
        {"split": "fair"},
        {"adjacency": "neighbourly"},
        {"mechanism": "uniform"},
        {"numeric": "spline"},
        {"contributions": 0},
        {"contributions": 1.5},
        {"smoothing": -1},
        {"smoothing": "much"},
    ],
)
def test_a_plan_that_cannot_be_paid_raises_before_data_are_read(mixed, settings, monkeypatch):

    monkeypatch.setattr("discreet.sources.open", lambda *a, **k: pytest.fail("the data were read"))
    frame, y, schema = mixed
    with pytest.raises(BudgetError):
        PrivateNB(schema=schema, **settings).fit(frame, y)


def test_overspent_ledger_raises_before_data_are_read(mixed, monkeypatch):
    frame, y, schema = mixed
    ledger = Ledger(Budget(1.5))
    PrivateNB(1.0, schema=schema).fit(frame, y, ledger=ledger)

    monkeypatch.setattr("discreet.sources.open", lambda *a, **k: pytest.fail("the data were read"))
    with pytest.raises(BudgetError, match="left"):
        PrivateNB(1.0, schema=schema).fit(frame, y, ledger=ledger)
    assert ledger.spent == 1


def test_each_fold_is_charged(mixed):
    frame, y, schema = mixed
    ledger = Ledger(Budget(10))
    cross_val_score(PrivateNB(1.0, schema=schema), frame, y, cv=5, params={"ledger": ledger})
    assert ledger.spent == 5


def test_certificate_states_what_was_done(mixed):
    frame, y, schema = mixed
    certificate = PrivateNB(0.5, schema=schema, adjacency="replace", contributions=3).fit(frame, y).certificate_
    assert certificate.epsilon == "1/2" and certificate.private and not certificate.simulation
    assert certificate.contributions == 3 and "3 rows" in certificate.protects
    assert certificate.schema_hash == schema.hash
    assert sum(float(eval(c.cost)) for c in certificate.charges()) == pytest.approx(0.5)
    assert all(float(eval(c.sensitivity)) == 6 for c in certificate.charges())
    simulated = PrivateNB(0.5, schema=schema, random_state=1).fit(frame, y).certificate_
    assert simulated.simulation and "study" in simulated.covers
    inferred = PrivateNB(0.5, schema="infer").fit(frame, y).certificate_
    assert any("assumed public" in words for words in inferred.assumptions)
    plain = PrivateNB(math.inf, schema=schema).fit(frame, y).certificate_
    assert not plain.private and plain.epsilon is None and not plain.charges()


def test_certificate_and_model_carry_no_exact_count(mixed):
    frame, y, schema = mixed
    saved = PrivateNB(0.5, schema=schema, random_state=0).fit(frame, y).model_.to_dict()
    exact = {len(y), *np.bincount(y).tolist(), *frame["c"].value_counts().tolist()}

    def numbers(value):
        if isinstance(value, dict):
            return [number for item in value.values() for number in numbers(item)]
        if isinstance(value, list | tuple):
            return [number for item in value for number in numbers(item)]
        return [value] if isinstance(value, int | float) else []

    assert not exact & set(numbers(saved))
    rows = len(y) * np.exp(saved["log_prior"])
    assert (np.abs(rows[:, None] - np.bincount(y)) > 1e-6).all()


def test_gaussian_mechanism_with_delta(mixed):
    frame, y, schema = mixed
    fitted = PrivateNB(1.0, 1e-6, schema=schema, mechanism="gaussian", random_state=0).fit(frame, y)
    assert fitted.certificate_.rho is not None and "privacy loss" in fitted.certificate_.accounting
    given = {"schema": schema, "numeric": "gaussian", "mechanism": "gaussian"}
    moments = PrivateNB(1.0, 1e-6, **given, random_state=0).fit(frame, y)
    assert "tight conversion" in moments.certificate_.accounting
    assert {c.mechanism for c in moments.certificate_.charges()} == {"discrete Gaussian"}


def test_laplace_noise_leaves_delta_unspent(mixed):
    frame, y, schema = mixed
    ledger = Ledger(Budget(1))
    fitted = PrivateNB(1.0, 1e-6, schema=schema, mechanism="laplace", random_state=0).fit(frame, y, ledger=ledger)
    assert fitted.certificate_.delta == "0" and ledger.spent == 1


def test_explicit_split_and_class_counts(mixed):
    frame, y, schema = mixed
    fitted = PrivateNB(2.0, schema=schema, split={"c": 0.25, "x": 0.5, "y": 0.25}, random_state=0).fit(frame, y)
    assert [c.cost for c in fitted.certificate_.charges()] == ["1/2", "1/2", "1"]


def test_equal_split_pays_for_class_counts_as_the_papers_do(mixed):
    *_, schema = mixed
    plan = PrivateNB(1.0, schema=schema, numeric="gaussian", split="equal").plan()
    assert [item.share.denominator for item in plan.items] == [4] * 4  # 2·numeric + categorical + 1
    assert "rows by class" in str(plan) and plan.to_dict()["statistics"]


def test_totals_of_all_tables_are_combined_by_inverse_variance(mixed):
    from discreet.bayes.estimate import class_totals

    frame, y, schema = mixed
    truth = np.bincount(y)
    errors, single = [], []
    for seed in range(300):
        fitted = PrivateNB(0.5, schema=schema, random_state=seed).fit(frame, y)
        totals, variance = class_totals(fitted.release_)
        errors.append(totals - truth)
        single.append(fitted.release_.values["table", "c"].sum(axis=1) - truth)
    # 900 draws: the relative error of a variance is about 10 %, six of which are far beyond 1e-6.
    assert np.var(errors) == pytest.approx(variance, rel=0.6)
    assert np.var(errors) < np.var(single)


def test_more_budget_comes_closer_to_the_twin(mixed):
    frame, y, schema = mixed
    twin = PrivateNB(math.inf, schema=schema).fit(frame, y).predict_proba(frame)

    def distance(epsilon):
        return np.mean(
            [
                np.abs(
                    PrivateNB(epsilon, schema=schema, random_state=s).fit(frame, y).predict_proba(frame) - twin
                ).mean()
                for s in range(5)
            ]
        )

    near, far = distance(1000.0), distance(0.05)
    assert near < 0.005 < far


@pytest.mark.parametrize("numeric", ["histogram", "gaussian", "truncated-gaussian"])
def test_batches_without_noise_equal_one_fit(mixed, numeric):
    frame, y, schema = mixed
    batches = PrivateNB(math.inf, schema=schema, numeric=numeric)
    for part in np.array_split(np.arange(len(y)), 3):
        batches.partial_fit(frame.iloc[part], y[part], classes=[0, 1, 2])
    whole = PrivateNB(math.inf, schema=schema, numeric=numeric).fit(frame, y)
    np.testing.assert_array_equal(batches.predict_joint_log_proba(frame), whole.predict_joint_log_proba(frame))


def test_batches_compose_in_parallel_and_draw_fresh_noise(mixed):
    frame, y, schema = mixed
    fitted = PrivateNB(1.0, schema=schema, random_state=4)
    fitted.partial_fit(frame[:300], y[:300])
    first = dict(fitted.release_.values)
    fitted.partial_fit(frame[:300], y[:300])
    second = {key: value - first[key] for key, value in fitted.release_.values.items()}
    assert any(not np.array_equal(first[key], second[key]) for key in first)
    certificate = fitted.certificate_
    assert certificate.epsilon == "1" and certificate.ledger.node == "parallel" and len(certificate.ledger.parts) == 2
    assert any("disjoint" in words for words in certificate.assumptions)
    with pytest.raises(BudgetError, match="first batch"):
        fitted.set_params(epsilon=2.0).partial_fit(frame, y)
    with pytest.raises(DataError, match="classes"):
        PrivateNB(schema=schema).partial_fit(frame, y, classes=[0, 1])


def test_scikit_learn_tools(mixed):
    frame, y, schema = mixed
    base = PrivateNB(5.0, schema=schema, random_state=0)
    assert clone(base).get_params() == base.get_params() or clone(base).schema == schema
    search = GridSearchCV(base, {"epsilon": [1.0, 8.0], "numeric": ["histogram", "gaussian"]}, cv=3).fit(frame, y)
    assert set(search.best_params_) == {"epsilon", "numeric"}
    pipeline = make_pipeline(FunctionTransformer(lambda f: f.assign(x=f.x.clip(-3, 3))), base).fit(frame, y)
    assert pipeline.score(frame, y) > 0.4
    fitted = base.fit(frame, y)
    again = pickle.loads(pickle.dumps(fitted))
    np.testing.assert_array_equal(again.predict_proba(frame), fitted.predict_proba(frame))
    np.testing.assert_array_equal(copy.deepcopy(fitted).predict(frame), fitted.predict(frame))


def test_pickles_hold_no_exact_statistics(mixed):
    frame, y, schema = mixed
    fitted = PrivateNB(1.0, schema=schema, random_state=0).fit(frame, y)
    held = vars(fitted)
    assert not any(type(value).__name__ == "Statistics" for value in held.values())


def test_class_order_of_scores_is_sorted_whatever_the_schema_says():
    rng = np.random.default_rng(5)
    x = rng.normal(size=500)
    y = np.where(x + rng.normal(size=500) > 0, "yes", "no")
    schema = Schema(features=[Numeric("x", -4, 4)], target="y", classes=["yes", "no"])
    fitted = PrivateNB(10.0, schema=schema, random_state=0).fit(x[:, None], y)
    assert list(fitted.classes_) == ["no", "yes"]
    np.testing.assert_array_equal(
        fitted.classes_[fitted.predict_proba(x[:, None]).argmax(axis=1)], fitted.predict(x[:, None])
    )
    from sklearn.metrics import get_scorer

    assert get_scorer("roc_auc")(fitted, x[:, None], y) > 0.7
    assert list(fitted.model_.classes) == ["yes", "no"]


def test_frames_are_matched_by_name_and_may_hold_the_target(mixed):
    frame, y, schema = mixed
    first = PrivateNB(3.0, schema=schema, random_state=1).fit(frame, y)
    second = PrivateNB(3.0, schema=schema, random_state=1).fit(frame.assign(y=y, more=1)[["more", "x", "y", "c"]])
    np.testing.assert_array_equal(first.predict_proba(frame), second.predict_proba(frame[["x", "c"]]))


def test_declared_but_absent_classes_get_a_small_prior(mixed):
    frame, y, _ = mixed
    schema = Schema(features=[Numeric("x", -6, 8)], target="y", classes=[0, 1, 2, 99])
    proba = PrivateNB(math.inf, schema=schema).fit(frame[["x"]], y).predict_proba(frame[["x"]])
    assert np.isfinite(proba).all() and proba[:, 3].max() < 0.05


def test_tiny_budgets_give_finite_models(mixed):
    frame, y, schema = mixed
    for numeric in ("histogram", "gaussian", "truncated-gaussian"):
        for settings in ({"epsilon": 1e-9}, {"epsilon": 1e-4, "delta": 1e-9}):
            fitted = PrivateNB(schema=schema, numeric=numeric, **settings).fit(frame, y)
            assert np.isfinite(fitted.predict_log_proba(frame)).all()


# ---- ledgers and batches


@pytest.fixture
def few():
    schema = Schema(features=[Categorical("a", ["p", "q"])], target="y", classes=[0, 1])
    return schema, np.array([["p"], ["q"], ["p"], ["q"]], dtype=object), np.array([0, 1, 1, 0])


def test_a_batch_is_free_only_on_the_ledger_that_paid_for_the_first(few):
    schema, X, y = few
    small = Ledger(Budget(0.1))
    for first in (PrivateNB(1.0, schema=schema).fit(X, y), PrivateNB(1.0, schema=schema).partial_fit(X, y)):
        with pytest.raises(BudgetError, match="left"):
            first.partial_fit(X, y, ledger=small)
    paid = Ledger(Budget(2))
    stream = PrivateNB(1.0, schema=schema).partial_fit(X, y, ledger=paid)
    for _ in range(3):
        stream.partial_fit(X, y, ledger=paid)
    assert paid.spent == 1 and stream.release_.batches == 4
    continued = PrivateNB(1.0, schema=schema).fit(X, y, ledger=Ledger(Budget(1)))
    continued.partial_fit(X, y, ledger=paid)
    assert paid.spent == 2


@pytest.mark.parametrize("copying", [copy.deepcopy, lambda c: pickle.loads(pickle.dumps(c)), copy.copy])
def test_copies_of_an_estimator_pay_for_their_own_batches(few, copying):
    schema, X, y = few
    ledger = Ledger(Budget(2))
    first = PrivateNB(1.0, schema=schema).partial_fit(X, y, ledger=ledger)
    twin = copying(first)
    twin.partial_fit(X, y, ledger=ledger)
    assert ledger.spent == 2
    with pytest.raises(BudgetError):
        copying(first).partial_fit(X, y, ledger=ledger)


@pytest.mark.parametrize("other", [{"adjacency": "replace"}, {"contributions": 10}])
def test_a_ledger_counts_for_one_kind_of_neighbour_only(few, other):
    schema, X, y = few
    ledger = Ledger(Budget(1))
    PrivateNB(0.5, schema=schema, **other).fit(X, y, ledger=ledger)
    with pytest.raises(BudgetError, match="counts costs for"):
        PrivateNB(0.5, schema=schema).fit(X, y, ledger=ledger)
    assert ledger.spent == 0.5


def test_one_seeded_batch_makes_the_whole_a_simulation(few):
    schema, X, y = few
    mixed = PrivateNB(1.0, schema=schema, random_state=0).partial_fit(X, y)
    mixed.set_params(random_state=None).partial_fit(X, y)
    assert mixed.certificate_.simulation and "study" in mixed.certificate_.covers
    assert "opendp" in mixed.certificate_.sampler and "numpy" in mixed.certificate_.sampler


def test_an_overspent_ledger_is_noticed_before_a_schema_is_read_off_the_data(few, monkeypatch):
    _, X, y = few
    ledger = Ledger(Budget(0.5))
    monkeypatch.setattr(Schema, "infer", lambda *a, **k: pytest.fail("the data were read"))
    with pytest.raises(BudgetError, match="left"):
        PrivateNB(1.0, schema="infer").fit(X, y, ledger=ledger)


# ---- the twin of GaussianNB where features differ in scale


def test_gaussian_twin_on_features_of_very_different_scale():
    from sklearn.datasets import load_breast_cancer

    X, y = load_breast_cancer(return_X_y=True)
    bounds = list(zip(X.min(axis=0), X.max(axis=0), strict=True))
    schema = Schema(features=[Numeric(f"x{j}", a, b) for j, (a, b) in enumerate(bounds)], target="y", classes=[0, 1])
    ours, theirs = PrivateNB(math.inf, schema=schema, numeric="gaussian").fit(X, y), GaussianNB().fit(X, y)
    for j, likelihood in enumerate(ours.model_.likelihoods):
        np.testing.assert_allclose(likelihood.variance, theirs.var_[:, j], rtol=1e-4)
    np.testing.assert_allclose(ours.predict_proba(X), theirs.predict_proba(X), atol=1e-3)
    np.testing.assert_array_equal(ours.predict(X), theirs.predict(X))


def test_gaussian_twin_on_a_rare_flag():
    rng = np.random.default_rng(0)
    X = np.column_stack([rng.random(20_000) < 0.003, rng.normal(size=20_000)]).astype(float)
    y = (X[:, 1] + rng.normal(size=20_000) > 0).astype(int)
    schema = Schema(features=[Numeric("b", 0, 1, True), Numeric("x", -8, 8)], target="y", classes=[0, 1])
    ours, theirs = PrivateNB(math.inf, schema=schema, numeric="gaussian").fit(X, y), GaussianNB().fit(X, y)
    np.testing.assert_allclose(ours.predict_proba(X), theirs.predict_proba(X), atol=2e-3)
