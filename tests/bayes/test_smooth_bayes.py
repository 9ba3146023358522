"""PrivateNB with smooth sensitivity: settings, budgets, missing values, the twin, and what ends up in the ledger."""

import math
import pickle
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.naive_bayes import GaussianNB

from discreet import (
    Budget,
    BudgetError,
    Categorical,
    Ledger,
    NaiveBayesModel,
    Numeric,
    PrivateNB,
    Schema,
    SettingError,
    SmoothSettings,
)
from discreet.bayes.choice import bought_spread
from discreet.bayes.release import lattice_moments
from discreet.bayes.smooth_estimate import trimmed_moments
from discreet.mechanisms.trimming import kept_variance
from discreet.privacy.ledger import SmoothCharge, concentrated, cost

ROWS = 3000
SCHEMA = Schema(
    features=[
        Categorical("c", ["r", "g", "b"]),
        Numeric("x", -60, 60),
        Numeric("age", 0, 100, integer=True, missing="bin"),
    ],
    target="y",
    classes=["no", "yes"],
)
NUMBERS = Schema(features=[Numeric(f"x{j}", -50, 50) for j in range(3)], target="y", classes=[0, 1])


@pytest.fixture(scope="module")
def frame():
    rng = np.random.default_rng(0)
    yes = rng.random(ROWS) < 0.4
    age = np.clip(rng.normal(40 + 10 * yes, 8), 0, 100).round()
    age[rng.random(ROWS) < 0.2] = np.nan
    return pd.DataFrame(
        {
            "c": rng.choice(["r", "g", "b"], ROWS),
            "x": rng.normal(2.0 * yes, 1.5),
            "age": age,
            "y": np.where(yes, "yes", "no"),
        }
    )


@pytest.fixture(scope="module")
def numbers():
    rng = np.random.default_rng(1)
    y = rng.integers(0, 2, ROWS)
    return 0.2 * (rng.normal(size=(ROWS, 3)) + y[:, None] * [1.0, -1.0, 0.0]), y


def smoothed(epsilon=1.0, **settings):
    """An estimator of settings in one row: those of the smooth bound are put into their object."""
    names = SmoothSettings().get_params().keys() & settings.keys()
    smooth = SmoothSettings(**{name: settings.pop(name) for name in names})
    return PrivateNB(epsilon, numeric=settings.pop("numeric", "gaussian"), smooth=smooth, **settings)


def fitted(frame, epsilon=1.0, **settings):
    return smoothed(epsilon, **{"schema": SCHEMA, "random_state": 0, **settings}).fit(frame)


@pytest.mark.parametrize(
    "settings",
    [
        {},
        {"estimator": "bun-steinke"},
        {"estimator": "bun-steinke", "sensitivity": "global"},
        {"sensitivity": "auto"},
        {"noise": "cauchy"},
        {"trim": 10},
        {"trim": 0.05},
        {"spread": {"x": 1.5}},
        {"spread": "buy"},
        {"numeric": "truncated-gaussian"},
        {"adjacency": "replace", "contributions": 3},
        {"delta": 1e-6},
        {"delta": 1e-6, "noise": "laplace-log-normal"},
        {"delta": 1e-6, "noise": "uniform-log-normal"},
        {"delta": 1e-6, "noise": "arsinh-normal"},
        {"delta": 1e-6, "noise": "laplace"},
        {"delta": 1e-6, "noise": "gaussian", "adjacency": "replace"},
        {"delta": 1e-6, "mechanism": "gaussian"},
        {"split": "equal", "numeric_weight": "3:1"},
        {"split": {"c": 0.2, "x": 0.4, "age": 0.4}, "sensitivity": "auto"},
        {"random_state": None},
    ],
)
def test_the_certificate_spends_the_budget_exactly_and_the_model_is_finite(frame, settings, tmp_path):
    model = fitted(frame, **settings)
    node, plan = model.release_.node, model.plan()
    unit = plan.rho if plan.rho is not None else Fraction(1)
    measure = "epsilon" if plan.rho is None else "rho"
    assert cost(plan.node, measure) == unit and cost(node, measure) == unit
    delta = settings.get("delta") if settings.get("noise") in {"laplace", "gaussian"} else 0
    assert float(cost(node, "delta")) == pytest.approx(delta)
    assert np.isfinite(model.predict_log_proba(frame)).all()
    assert model.score(frame, frame["y"]) > 0.55
    path = tmp_path / "model.json"
    model.model_.save(path)
    again = NaiveBayesModel.load(path)
    assert again.certificate == model.certificate_
    np.testing.assert_array_equal(again.predict_proba(frame), model.model_.predict_proba(frame))
    pickle.loads(pickle.dumps(model))
    assert clone(model).get_params().keys() == model.get_params().keys()


def test_presence_of_numbers_with_gaps_is_charged_and_absence_has_a_probability(frame):
    model = fitted(frame, 8.0)
    assert any("age is present" in charge.what for charge in model.certificate_.charges())
    likelihood = model.model_.likelihoods[2]
    np.testing.assert_allclose(np.exp(likelihood.present[:, 1]), 0.2, atol=0.05)
    np.testing.assert_allclose(likelihood.mean, [40, 50], atol=2)
    np.testing.assert_allclose(likelihood.variance, 64, rtol=0.4)


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"numeric": "histogram"}, "numeric='gaussian'"),
        ({"sensitivity": "rough"}, "sensitivity must be"),
        ({"estimator": "median"}, "estimator must be"),
        ({"estimator": "moments"}, "plain moments"),
        ({"noise": "uniform"}, "noise must be"),
        ({"noise": "gaussian"}, "needs a delta"),
        ({"noise": "laplace-log-normal"}, "needs a delta"),
        ({"noise": "arsinh-normal"}, "arsinh-normal noise is concentrated: it needs a delta"),
        ({"noise": "laplace", "delta": 1e-6, "mechanism": "gaussian"}, "laplace counts"),
        ({"trim": -1}, "trim must be"),
        ({"trim": 0.5}, "trim must be"),
        ({"trim": "much"}, "trim must be"),
        ({"spread": 3}, "spread must be"),
        ({"spread": {"c": 3}}, "no numeric feature"),
        ({"spread": {"x": 0}}, "above zero"),
        ({"numeric_weight": 0}, "numeric_weight"),
        ({"numeric_weight": "1:2:3"}, "numeric_weight"),
        ({"epsilon": 1e-9}, "too small for smooth"),
    ],
)
def test_settings_that_make_no_sense_are_refused_before_data_are_read(frame, settings, words, monkeypatch):
    monkeypatch.setattr("discreet.sources.open", lambda *a, **k: pytest.fail("the data were read"))
    with pytest.raises(BudgetError, match=words):
        fitted(frame, **settings)


def test_the_twin_without_privacy_is_gaussian_nb(numbers):
    X, y = numbers
    theirs = GaussianNB().fit(X, y)
    for settings in ({}, {"estimator": "bun-steinke"}, {"sensitivity": "auto"}):
        ours = smoothed(math.inf, schema=NUMBERS, **settings).fit(X, y)
        np.testing.assert_allclose(ours.predict_proba(X), theirs.predict_proba(X), atol=2e-3)
    trimmed = smoothed(math.inf, schema=NUMBERS, trim=100).fit(X, y)
    assert not trimmed.certificate_.private
    for j, likelihood in enumerate(trimmed.model_.likelihoods):
        np.testing.assert_allclose(likelihood.mean, theirs.theta_[:, j], atol=0.02)
        np.testing.assert_allclose(likelihood.variance, theirs.var_[:, j], rtol=0.15)


def test_loose_bounds_hurt_global_noise_and_hardly_smooth_noise(numbers):
    X, y = numbers
    errors = {}
    for sensitivity, extra in (("global", {}), ("smooth", {}), ("auto", {"spread": dict.fromkeys(NUMBERS.names, 0.2)})):
        variances = [
            smoothed(4.0, schema=NUMBERS, sensitivity=sensitivity, random_state=seed, **extra)
            .fit(X, y)
            .model_.likelihoods[0]
            .variance
            for seed in range(8)
        ]
        errors[sensitivity] = np.median([abs(variance / 0.04 - 1).max() for variance in variances])
    assert errors["smooth"] < 0.2 * errors["global"] and errors["auto"] < 0.2 * errors["global"]


def test_batches_of_trimmed_statistics_are_refused(numbers):
    with pytest.raises(BudgetError, match="do not add up"):
        smoothed(schema=NUMBERS).partial_fit(*numbers)


def test_a_schema_without_numbers_is_released_as_ever(frame):
    schema = Schema(features=[Categorical("c", ["r", "g", "b"])], target="y", classes=["no", "yes"])
    smooth = smoothed(schema=schema, random_state=3).fit(frame)
    plain = PrivateNB(schema=schema, numeric="gaussian", random_state=3).fit(frame)
    assert smooth.model_.to_dict() == plain.model_.to_dict()


@pytest.mark.parametrize("ratio", ["1:2", "1:1", "2:1", "3:1"])
@pytest.mark.parametrize("sensitivity", ["global", "smooth"])
def test_numeric_features_weigh_what_was_asked(ratio, sensitivity):
    schema = Schema(features=[Categorical("c", ["r", "g", "b"]), Numeric("x", 0, 1)], target="y", classes=["no", "yes"])
    plan = smoothed(schema=schema, split="equal", sensitivity=sensitivity, numeric_weight=ratio).plan()
    shares = {item.key: item.share for item in plan.items}
    numeric = sum(share for (_, name), share in shares.items() if name == "x")
    top, bottom = ratio.split(":")
    assert numeric / shares["table", "c"] == Fraction(int(top), int(bottom)) and sum(shares.values()) == 1


def test_the_default_ratio_is_the_equal_split_of_old():
    for split in ("equal", "weighted"):
        for numeric in ("histogram", "gaussian"):
            old = PrivateNB(schema=SCHEMA, numeric=numeric, split=split).plan()
            new = PrivateNB(schema=SCHEMA, numeric=numeric, split=split, numeric_weight="2:1").plan()
            assert old.items == new.items


def test_steps_between_neighbours_divide_the_epsilon(frame):
    model = fitted(frame, adjacency="replace", contributions=3)
    charges = [charge for charge in model.certificate_.charges() if charge.node == "smooth"]
    assert charges and {charge.parameters["add-remove steps"] for charge in charges} == {"6"}
    assert all(Fraction(c.parameters["epsilon per step"]) * 6 == Fraction(c.cost) for c in charges)
    rho = fitted(frame, delta=1e-6, noise="laplace-log-normal", adjacency="replace")
    for charge in (c for c in rho.certificate_.charges() if c.node == "smooth"):
        step, whole = Fraction(charge.parameters["epsilon per step"]), Fraction(charge.cost)
        assert whole * (1 - Fraction(1, 10**12)) < (2 * step) ** 2 / 2 <= whole


def test_a_ledger_adds_deltas_and_refuses_what_has_no_rho(frame):
    ledger = Ledger(Budget(2, delta=2e-6), composition="basic")
    settings = {"schema": SCHEMA, "random_state": 0}
    for _ in range(2):
        smoothed(0.5, delta=1e-6, noise="laplace", **settings).fit(frame, ledger=ledger)
    assert ledger.spent == 1
    with pytest.raises(BudgetError, match="deltas"):
        smoothed(0.5, delta=1e-6, noise="laplace", **settings).fit(frame, ledger=ledger)
    with pytest.raises(BudgetError, match="no rho"):
        concentrated(SmoothCharge("m", "w", "epsilon", Fraction(1), Fraction(1, 10)))
    with pytest.raises(BudgetError, match="no rho"):
        smoothed(0.5, delta=1e-6, noise="laplace", **settings).fit(frame, ledger=Ledger(Budget(rho=5)))
    pure = Ledger(Budget(1))
    smoothed(1.0, **settings).fit(frame, ledger=pure)
    assert pure.remaining == 0


def test_auto_buys_the_spread_unless_it_is_declared(frame):
    bought = fitted(frame, sensitivity="auto").certificate_.charges()
    assert sum("coarse cell" in charge.what for charge in bought) == 2
    declared = fitted(frame, sensitivity="auto", spread={"x": 1.5, "age": 9}).certificate_.charges()
    assert not any("coarse cell" in charge.what for charge in declared)


@pytest.mark.parametrize("ratio", [0.3, 0.1, 0.02])
def test_a_bought_spread_knows_bells_from_spikes(ratio):
    rng = np.random.default_rng(0)
    edges = np.linspace(-1, 1, 257)

    def counts(values):
        return np.histogram(values, edges)[0][None, :] + rng.integers(-20, 21, 256)

    bell = bought_spread(counts(rng.normal(0.1, ratio, 40_000)), 140.0)
    assert bell.ratio == pytest.approx(ratio, rel=0.2) and bell.bell
    tail = np.minimum(-1 + np.where(rng.random(40_000) < 0.9, 0.0, rng.gamma(4.0, ratio, 40_000)), 1)
    assert not bought_spread(counts(tail), 140.0).bell
    assert not bought_spread(rng.integers(-20, 21, (2, 256)), 140.0).bell


@pytest.mark.parametrize("count", [3, 2**40])
def test_moments_of_a_lattice_histogram_are_exact(count):
    half = 2**10
    histogram = np.zeros(2 * half + 1, np.int64)
    histogram[[0, 5, half, -1]] = [count, 2, 7, 1]
    pairs = list(zip(histogram.tolist(), range(-half, half + 1), strict=True))
    assert lattice_moments(histogram, half) == (sum(n * k for n, k in pairs), sum(n * k * k for n, k in pairs))


def test_a_trimmed_variance_is_corrected_for_a_normal_sample():
    draws = np.sort(np.random.default_rng(0).normal(size=400_000))
    for share in (0.0, 0.02, 0.2, 0.4):
        kept = draws[int(share * len(draws)) : len(draws) - int(share * len(draws))]
        assert kept.var() == pytest.approx(float(kept_variance(np.array([share]))[0]), rel=0.02)


def test_a_person_can_read_a_smooth_certificate(frame, tmp_path, discreet):
    path = tmp_path / "m.json"
    fitted(frame).model_.save(path)
    shown = discreet("inspect", path)
    assert shown.returncode == 0 and "smooth sensitivity" in shown.stdout and "private" in shown.stdout
    assert "follows the data" in str(fitted(frame).plan())


def test_settings_of_the_bound_are_reached_as_scikit_learn_does():
    model = PrivateNB(numeric="gaussian", smooth=SmoothSettings("auto", trim=3))
    assert model.get_params()["smooth__trim"] == 3 and model.get_params()["smooth__sensitivity"] == "auto"
    copied = clone(model).set_params(smooth__trim=0.1)
    assert (copied.smooth.trim, model.smooth.trim) == (0.1, 3) and copied.smooth.sensitivity == "auto"
    for smooth in ({}, {"smooth": None}):  # a search may reach for a bound that nobody has asked for yet
        started = PrivateNB(schema=NUMBERS, numeric="gaussian").set_params(smooth__trim=2, **smooth)
        assert started.smooth.trim == 2 and started.plan().smooth.trim == 2
    assert PrivateNB(smooth=SmoothSettings()).set_params(smooth=None).smooth is None
    with pytest.raises(ValueError, match="Invalid parameter 'trimming'"):
        PrivateNB().set_params(smooth__trimming=2)


@pytest.mark.parametrize("name", ["sensitivity", "estimator", "noise", "trim", "spread"])
def test_the_old_place_of_a_setting_is_refused_with_the_new_one(name):
    words = rf"write PrivateNB\(smooth=SmoothSettings\({name}='auto'\)\)"
    with pytest.raises(SettingError, match=words):
        PrivateNB(**{name: "auto"})
    with pytest.raises(SettingError, match=words):
        PrivateNB().set_params(**{name: "auto"})


def test_what_is_no_setting_is_refused():
    with pytest.raises(TypeError, match="epsilom"):
        PrivateNB(epsilom=1)
    with pytest.raises(BudgetError, match="smooth must be SmoothSettings"):
        PrivateNB(schema=NUMBERS, numeric="gaussian", smooth="auto").plan()


def test_a_spike_with_tails_is_not_taken_for_a_narrow_bell():
    """Trimming leaves a variance of zero and noise of the tails' size: such a feature must not outvote all others."""
    rng = np.random.default_rng(5)
    y = (rng.random(20_000) < 0.25).astype(int)
    spiked = np.where(rng.random(len(y)) < 0.035, rng.uniform(1500, 4000, len(y)), 0.0)
    X = np.column_stack([rng.normal(40 + 12 * y, 10).clip(0, 100), spiked])
    schema = Schema([Numeric("age", 0, 100), Numeric("loss", 0, 4356)], "y", [0, 1])
    smooth = SmoothSettings(sensitivity="smooth", noise="cauchy")
    for seed in range(6):
        private = PrivateNB(1.5, schema=schema, numeric="gaussian", split="equal", smooth=smooth, random_state=seed)
        assert private.fit(X, y).score(X, y) > 0.75, seed


def released(values, shares, rows=(30_000, 10_000)):
    """A release of one number in two classes, on which made-up means and variances stand in for the drawn ones."""
    schema = Schema([Numeric("x", -1, 1)], "y", [0, 1])
    rng = np.random.default_rng(3)
    y = np.repeat([0, 1], rows)
    model = smoothed(10.0, schema=schema, split="equal", noise="student-t", random_state=0)
    release = model.fit(rng.normal(0, 0.1, (len(y), 1)), y).release_
    drawn = dict(release.values)
    for key, parts in ((("mean", "x"), values), (("variance", "x"), shares)):
        units = [p.fineness * (p.half_range ** (2 if key[0] == "variance" else 1)) for p in release.smooth[key]]
        drawn[key] = np.array([[round(part * unit)] for part, unit in zip(parts, units, strict=True)])
    return trimmed_moments(replace(release, values=drawn), schema.features[0], np.array(rows, float))


def test_a_variance_that_noise_leaves_barely_above_zero_is_no_needle():
    """Between a needle and a bell that is 150 times wider, one class would take every row."""
    mean, variance = released((-0.994, -0.973), (3e-7, 0.0072))
    assert variance[0] == variance[1] and mean[0] == mean[1]
    below, _ = released((-0.994, -0.973), (-3e-7, 0.0072))
    assert np.array_equal(mean, below)  # just above zero says no more than just below


def test_needles_that_noise_cannot_explain_and_bells_of_any_usual_width_stay():
    for ratio in (1.0, 2.0, 5.0, 20.0):
        wide = 0.0072
        _, variance = released((0.1, 0.2), (wide / ratio**2, wide))
        assert math.sqrt(variance[1] / variance[0]) == pytest.approx(ratio, rel=0.1)
