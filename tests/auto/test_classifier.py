"""PrivateClassifier: one budget for counts and model, files and ledgers, and what it says of itself."""

import json
import math
from fractions import Fraction

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.utils.estimator_checks import parametrize_with_checks

from discreet import Budget, BudgetError, Categorical, DataError, Ledger, Numeric, PrivateClassifier, PrivateNB, Schema
from discreet.estimators.counts import bought_counts, noisy_counts
from discreet.kinds import kinds
from discreet.mechanisms.noise import sampler_for
from discreet.models import load_model
from discreet.privacy.nodes import concentrated
from discreet.sources.files import open_files

KINDS = [kind.name for kind in kinds() if kind.promise]


@pytest.mark.usefixtures("one_engine")
@parametrize_with_checks(
    [
        PrivateClassifier(schema="infer", epsilon=50.0, random_state=0, model="naive-bayes"),
    ]
)
def test_estimator_checks(estimator, check):
    check(estimator)


@pytest.mark.slow  # the same checks of the same class once more
@pytest.mark.usefixtures("one_engine")
@parametrize_with_checks([PrivateClassifier(schema="infer", epsilon=math.inf)])
def test_estimator_checks_without_privacy(estimator, check):
    check(estimator)


def people(rows=3000, classes=("no", "yes"), seed=0):
    rng = np.random.default_rng(seed)
    y = rng.integers(0, len(classes), rows)
    frame = pd.DataFrame(
        {
            "size": np.where(rng.random(rows) < 0.8, y % 3, rng.integers(0, 3, rows)),
            "colour": rng.choice(["red", "blue"], rows),
            "dose": np.clip(rng.normal(0.3 + 0.3 * (y % 2), 0.15, rows), 0, 1),
        }
    )
    schema = Schema(
        [Categorical("size", [0, 1, 2]), Categorical("colour", ["red", "blue"]), Numeric("dose", 0, 1)],
        "ill",
        list(classes),
    )
    return frame, np.array(classes)[y], schema


@pytest.mark.parametrize("kind", ["auto", *KINDS])
@pytest.mark.parametrize("classes", [("no", "yes"), ("a", "b", "c")])
@pytest.mark.parametrize("adjacency", ["add-remove", "replace"])
def test_every_kind_spends_its_budget_exactly(kind, classes, adjacency, tmp_path):
    X, y, schema = people(classes=classes)
    ledger = Ledger(Budget(2))
    fitted = PrivateClassifier(2, schema, kind, adjacency, random_state=1).fit(X, y, ledger=ledger)
    spent = sum(Fraction(charge.cost) for charge in fitted.certificate_.charges())
    assert fitted.certificate_.epsilon_value == 2 and Fraction(199, 100) < spent <= 2
    assert ledger.spent == 2 or Fraction(199, 100) < ledger.spent <= 2
    assert fitted.score(X, y) > 1.15 / len(classes)
    assert all("elsewhere" not in stated for stated in fitted.certificate_.assumptions)
    assert np.allclose(fitted.predict_proba(X).sum(axis=1), 1)
    fitted.model_.save(tmp_path / "m.json")
    again = load_model(tmp_path / "m.json")
    assert again.predict(X).tolist() == fitted.predict(X).tolist()
    assert json.loads((tmp_path / "m.json").read_text())["certificate"]["epsilon"] == "2"


def test_it_says_what_it_chose():
    X, y, schema = people()
    fitted = PrivateClassifier(1, schema, random_state=0).fit(X, y)
    assert fitted.choice_.model in KINDS and fitted.choice_.reason
    assert abs(fitted.counts_.rows - len(X)) < 400
    assert PrivateClassifier(1, schema, random_state=0).fit(X, y).predict(X).tolist() == fitted.predict(X).tolist()


def test_exact_noise_is_for_release():
    X, y, schema = people()
    fitted = PrivateClassifier(1, schema).fit(X, y)
    assert not fitted.certificate_.simulation and "nothing" not in fitted.certificate_.covers
    assert fitted.score(X, y) > 0.6


def test_a_file_gives_what_a_frame_gives(tmp_path):
    X, y, schema = people()
    X.assign(ill=y).to_parquet(tmp_path / "p.parquet")
    one = PrivateClassifier(1, schema, random_state=3).fit(str(tmp_path / "p.parquet"))
    two = PrivateClassifier(1, schema, random_state=3).fit(X, y)
    assert one.predict(X).tolist() == two.predict(X).tolist()


def test_a_ledger_without_enough_refuses_before_anything_is_spent():
    X, y, schema = people()
    ledger = Ledger(Budget("0.5"))
    with pytest.raises(BudgetError):
        PrivateClassifier(1, schema).fit(X, y, ledger=ledger)
    assert ledger.spent == 0


@pytest.mark.parametrize("kind", KINDS)
def test_rows_per_person_may_be_a_number_of_numpys(kind):
    X, y, schema = people(classes=("a", "b", "c"))
    ledger = Ledger(Budget(4))
    settings = {"model": kind, "random_state": 1, "contributions": np.int64(2)}
    fitted = PrivateClassifier(4, schema, **settings).fit(X, y, ledger=ledger)
    assert fitted.certificate_.contributions == 2 and fitted.certificate_.epsilon == "4"


@pytest.mark.parametrize("bounds", ["declared", "private"])
def test_a_stream_that_can_be_read_once_is_refused_before_it_costs(bounds, tmp_path):
    X, y, schema = people(200)
    X.assign(ill=y).to_parquet(tmp_path / "p.parquet")
    ledger = Ledger(Budget(1))
    stream = open_files(tmp_path / "p.parquet")
    with pytest.raises(DataError, match="pass the path"):
        PrivateClassifier(1, schema, bounds=bounds).fit(stream, ledger=ledger)
    assert not ledger.nodes
    assert PrivateNB(1, schema=schema).fit(stream).predict(X).shape == (200,)  # still open, and enough for one reading


@pytest.mark.parametrize(("adjacency", "times", "steps"), [("add-remove", 1, 1), ("replace", 1, 2), ("replace", 2, 4)])
def test_bins_and_calibration_follow_the_epsilon_of_one_row(adjacency, times, steps, monkeypatch):
    from discreet import calibration
    from discreet.bayes import bins

    X, y, schema = people(classes=("a", "b", "c"))
    told = {}
    share, binned = calibration.calibration_share, bins.binned
    monkeypatch.setattr(
        calibration, "calibration_share", lambda n, e, k: told.setdefault("share", e) and share(n, e, k)
    )
    monkeypatch.setattr(bins, "binned", lambda s, n, e, **k: told.update(bins=float(e), **k) or binned(s, n, e, **k))
    settings = {"adjacency": adjacency, "contributions": times, "random_state": 1}
    fitted = PrivateClassifier(2, schema, "naive-bayes", **settings).fit(X, y)
    rest = 2 - float(fitted.counts_.cost)
    assert told["share"] == pytest.approx(rest / steps)
    fixed = float(share(fitted.counts_.rows, rest / steps, 3))
    assert told["bins"] == pytest.approx(rest * (1 - fixed) / steps)
    assert told["classes"] == fitted.counts_.apart  # of noisy counts


@pytest.mark.parametrize(("model", "looks"), [("selective", False), ("selective", True), ("naive-bayes", True)])
def test_classes_count_by_their_size_wherever_bins_are_sized(model, looks, monkeypatch):
    """Chosen features, and bins of a common shape, by the same number of classes as all other bins."""
    from discreet.auto import shapes
    from discreet.bayes import bins

    rng, told = np.random.default_rng(0), []
    y = rng.choice(3, 4000, p=[0.9, 0.08, 0.02])
    X = np.column_stack([np.minimum(rng.gamma(0.3 + y), 40) for _ in range(6)])
    schema = Schema([Numeric(f"x{j}", 0, 40) for j in range(6)], "y", [0, 1, 2])
    counted, binned = shapes.bin_count, bins.binned
    monkeypatch.setattr(shapes, "bin_count", lambda n, e, d, k: told.append(k) or counted(n, e, d, k))
    monkeypatch.setattr(
        bins, "binned", lambda s, n, e, d=None, classes=None: told.append(classes) or binned(s, n, e, d, classes)
    )
    if not looks:
        monkeypatch.setattr(shapes.pooled, "NUMBERS", 99)
    fitted = PrivateClassifier(1, schema, model, random_state=1).fit(X, y)
    assert len(told) == 1 + looks and set(told) == {fitted.counts_.apart} and fitted.counts_.apart < 2.5


@pytest.mark.parametrize(("rows", "share"), [(150, 5), (3000, 5), (6000, 1)])
def test_few_rows_are_counted_again_and_many_are_not(rows, share):
    """At ε = 1 the noise of a first count is 200 rows of two classes: more than a twentieth of 3000, less of 6000."""
    X, y, schema = people(rows)
    fitted = PrivateClassifier(1, schema, "naive-bayes", random_state=3).fit(X, y)
    costs = [Fraction(charge.cost) for charge in fitted.certificate_.charges() if charge.what == "rows by class"]
    assert costs == [Fraction(1, 100), Fraction(4, 100)][: 1 + (share > 1)]
    assert fitted.counts_.cost == Fraction(share, 100) == sum(costs)
    assert fitted.counts_.certificate.epsilon == str(Fraction(share, 100))
    assert sum(Fraction(charge.cost) for charge in fitted.certificate_.charges()) == 1


def test_a_second_count_takes_the_place_of_the_first():
    """What is left of a rough count, given that it is rough, is not centred at the rows."""
    plan = PrivateClassifier(1, people(150)[2]).plan()
    exact, second = np.array([100, 50]), noisy_counts(np.array([100, 50]), plan.counts.further, sampler_for(1))
    found = bought_counts(exact, plan.counts, Second(sampler_for(1)))
    assert found.values.tolist() == second.values.tolist() and found.variance == second.variance
    assert [charge.cost for charge in found.charges] == [Fraction(1, 100), Fraction(4, 100)]


class Second:
    """A sampler whose first answer is without noise."""

    def __init__(self, sampler):
        self.sampler, self.asked = sampler, 0

    def __getattr__(self, name):
        return getattr(self.sampler, name)

    def laplace(self, values, *settings):
        self.asked += 1
        return np.asarray(values) if self.asked == 1 else self.sampler.laplace(values, *settings)


@pytest.mark.parametrize("rows", [150, 20_000])
@pytest.mark.parametrize("model", ["naive-bayes", "selective", "additive"])
def test_the_entry_costs_what_any_fit_may_in_rho(rows, model):
    """Whether or not counts are bought again: squares of parts add up to less than the square of their sum."""
    rng = np.random.default_rng(0)
    X = rng.integers(0, 3, (rows, 3))
    y, schema = (
        (X[:, 0] + rng.integers(0, 3, rows) > 2) * 1,
        Schema([Categorical(c, range(3)) for c in "abc"], "y", [0, 1]),
    )
    fitted = PrivateClassifier(1, schema, model, random_state=3).fit(X, y)
    spent = sum(Fraction(charge.cost) ** 2 / 2 for charge in fitted.certificate_.charges())
    assert spent <= concentrated(PrivateClassifier(1, schema, model).plan().node) <= Fraction(1, 2)


def test_a_plan_leaves_to_the_model_what_that_many_rows_leave():
    schema = people(60)[2]
    small, large = (choice.facts["epsilon"] for _, choice in PrivateClassifier(1, schema).plan().choices([100, 5000]))
    assert (small, large) == pytest.approx((0.95, 0.99))
    assert [row["share"] for row in PrivateClassifier(1, schema).plan().rows()] == pytest.approx([0.01, 0.04, 0.95])


def test_a_calibration_is_not_bought_where_neighbours_leave_too_little():
    """3000 rows at ε = 0.495 are above 300 per class for one row more or less, and far below for four of them."""
    X, y, schema = people(classes=("a", "b", "c"))
    for times, bought in ((1, True), (4, False)):
        settings = {"contributions": times, "random_state": 1}
        fitted = PrivateClassifier(0.5, schema, "naive-bayes", **settings).fit(X, y)
        assert any("biases" in charge.what for charge in fitted.certificate_.charges()) == bought


class Unread:
    """Rows that must not be looked at, but for what kind of thing they are."""

    def __getattribute__(self, name):
        if name == "__class__":
            return Unread
        raise AssertionError("a row was read")


@pytest.mark.parametrize("budget", [Budget("0.5"), Budget("0.5", "1e-6"), Budget(rho="0.01")], ids=str)
@pytest.mark.parametrize("inferred", [True, False])
def test_no_row_is_read_that_a_ledger_cannot_pay_for(budget, inferred):
    schema = "infer" if inferred else people(60)[2]
    ledger = Ledger(budget)
    with pytest.raises(BudgetError, match="left"):
        PrivateClassifier(1, schema).fit(Unread(), Unread(), ledger=ledger)
    assert not ledger.nodes


def test_a_refused_calibration_leaves_counts_and_model(monkeypatch):
    X, y, schema = people(classes=("a", "b", "c"))
    monkeypatch.setattr("discreet.calibration.solve._U", 1.0)
    ledger = Ledger(Budget(2))
    fitted = PrivateClassifier(2, schema, "naive-bayes", random_state=1).fit(X, y, ledger=ledger)
    assert ledger.spent == 2 == sum(Fraction(charge.cost) for charge in fitted.certificate_.charges())
    assert any("refused by its solver" in line for line in fitted.certificate_.assumptions)
    assert fitted.score(X, y) > 0.4


def test_the_calibration_knows_the_bought_rows(monkeypatch):
    from discreet.calibration import calibrate

    X, y, schema = people(classes=("a", "b", "c"))
    told, usual = [], calibrate.make_plan
    monkeypatch.setattr(calibrate, "make_plan", lambda *a, **k: told.append(k["rows"]) or usual(*a, **k))
    fitted = PrivateClassifier(2, schema, "naive-bayes", random_state=1).fit(X, y)
    assert told == [fitted.counts_.rows]


def test_without_privacy_it_is_a_plain_fit():
    X, y, schema = people()
    fitted = PrivateClassifier(math.inf, schema).fit(X, y)
    assert not fitted.certificate_.private and fitted.counts_.rows == len(X)
    assert fitted.score(X, y) > 0.8


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"model": "magic"}, "there is no model"),
        ({"bins": 7}, "bins must be"),
        ({"contributions": 0}, "contributions"),
        ({"epsilon": 0}, "above zero"),
        ({"adjacency": "near"}, "adjacency"),
        ({"random_state": -1}, "random_state"),
    ],
)
def test_bad_settings_get_a_sentence(settings, words):
    X, y, schema = people(60)
    with pytest.raises(BudgetError, match=words):
        clone(PrivateClassifier(schema=schema)).set_params(**settings).fit(X, y)


def test_no_rows_get_a_sentence():
    X, y, schema = people(60)
    with pytest.raises(DataError):
        PrivateClassifier(1, schema).fit(X.iloc[:0], y[:0])
    with pytest.raises(DataError, match="requires y"):
        PrivateClassifier(1, schema).fit(X.to_numpy(object))


def test_one_class_only_and_few_rows_are_fitted():
    X, y, schema = people(40)
    same = np.full(len(y), "yes")
    assert PrivateClassifier(1, schema, random_state=0).fit(X, same).predict(X).shape == (40,)
    assert PrivateClassifier(0.01, schema, random_state=0).fit(X.iloc[:2], y[:2]).predict(X).shape == (40,)


def test_bounds_can_be_bought_first():
    X, y, schema = people()
    loose = Schema([*schema.features[:2], Numeric("dose", -1e6, 1e6)], schema.target, schema.classes)
    fitted = PrivateClassifier(4, loose, edges="private", bounds="private", random_state=0).fit(X, y)
    assert fitted.certificate_.epsilon_value == 4
    assert sum(Fraction(charge.cost) for charge in fitted.certificate_.charges()) <= 4
    assert fitted.score(X, y) > PrivateClassifier(4, loose, bins="schema", random_state=0).fit(X, y).score(X, y) - 0.02
    assert fitted.choice_.model in KINDS


def test_a_model_of_chosen_features_takes_rows_as_they_were_in_fit():
    rng = np.random.default_rng(0)
    y = rng.integers(0, 2, 4000)
    X = rng.integers(0, 2, (4000, 40))
    X[:, 7] = y
    names = [f"w{j}" for j in range(40)]
    schema = Schema([Categorical(name, [0, 1]) for name in names], "y", [0, 1])
    fitted = PrivateClassifier(0.05, schema, random_state=0).fit(X, y)
    assert fitted.choice_.model == "selective" and "w7" in fitted.model_.schema.names
    assert fitted.score(X, y) > 0.8 and fitted.certificate_.epsilon_value == 0.05
    frame = pd.DataFrame(X, columns=names)
    assert fitted.predict(frame[names[::-1]]).tolist() == fitted.predict(X).tolist()
    with pytest.raises(DataError, match="expecting 40 features"):
        fitted.predict(X[:, :1])


def test_a_budget_of_which_no_part_buys_counts_is_refused_before_it_is_charged():
    ledger = Ledger(Budget(1))
    X, y, schema = people(60)
    with pytest.raises(BudgetError, match="too little: a hundredth of it would have to buy counts"):
        PrivateClassifier(Fraction(1, 10**14), schema).fit(X, y, ledger=ledger)
    assert ledger.spent == 0
