"""LocalNB: the twin without privacy, both ways to draw reports, certificates, and what is refused."""

import math

import numpy as np
import pandas as pd
import pytest
from sklearn.naive_bayes import CategoricalNB

from discreet import BudgetError, Categorical, DataError, LocalNB, Numeric, PrivateNB, Schema, SchemaError
from discreet.local.campaign import Campaign
from discreet.local.classifier import survey
from discreet_studies.data import load, monte_carlo

SCHEMA = Schema([Categorical("a", [0, 1, 2]), Numeric("x", 0, 8, bins=4)], "y", [0, 1])


@pytest.fixture(scope="module")
def rows():
    rng = np.random.default_rng(8)
    y = (rng.random(3000) < 0.4).astype(int)
    return np.column_stack([y + rng.integers(0, 2, 3000), np.clip(rng.normal(3 + 2 * y, 1), 0, 8)]), y


def test_without_privacy_it_is_categorical_naive_bayes(rows):
    X, y = rows
    twin = LocalNB(epsilon=math.inf, schema=SCHEMA).fit(X, y)
    binned = np.column_stack([X[:, 0], np.minimum(X[:, 1] // 2, 3)]).astype(int)
    plain = CategoricalNB(min_categories=[3, 4]).fit(binned, y)
    assert twin.predict_log_proba(X) == pytest.approx(plain.predict_log_proba(binned), abs=1e-9)
    assert not twin.certificate_.private
    assert twin.tallies_ == []
    curves = LocalNB(epsilon=math.inf, schema=SCHEMA, numeric="hybrid").fit(X, y)
    central = PrivateNB(epsilon=math.inf, schema=SCHEMA, numeric="gaussian").fit(X, y)
    assert curves.predict_proba(X) == pytest.approx(central.predict_proba(X))


@pytest.mark.parametrize("oracle", ["auto", "grr", "sue", "oue", "she", "the", "olh", "subset", "hadamard"])
def test_every_oracle_learns(oracle, rows):
    X, y = rows
    seeded = LocalNB(epsilon=6, schema=SCHEMA, oracle=oracle, random_state=1).fit(X, y)
    assert seeded.score(X, y) > 0.75
    assert seeded.certificate_.simulation
    alive = LocalNB(epsilon=6, schema=SCHEMA, oracle=oracle).fit(X, y)
    assert alive.score(X, y) > 0.75
    assert alive.certificate_.private
    assert not alive.certificate_.simulation
    assert alive.certificate_.epsilon == "6"
    assert sum(one.reports for one in alive.tallies_) == len(y)


@pytest.mark.parametrize("numeric", ["laplace", "one-bit", "piecewise", "hybrid", "laplace-all"])
def test_every_way_to_report_numbers_learns(numeric, rows):
    X, y = rows
    for seed in (0, None):
        fitted = LocalNB(epsilon=8, schema=SCHEMA, numeric=numeric, random_state=seed).fit(X, y)
        assert fitted.score(X, y) > 0.75
        assert fitted.model_.likelihoods[1].to_dict()["kind"] == "gaussian"


def test_seeds_repeat_and_people_do_not(rows):
    X, y = rows

    def scores(seed):
        return LocalNB(schema=SCHEMA, random_state=seed).fit(X, y).predict_joint_log_proba(X[:5])

    assert (scores(3) == scores(3)).all()
    assert (scores(3) != scores(4)).any()
    assert (scores(None) != scores(None)).any()
    assert (scores(np.random.default_rng(1)) == scores(np.random.default_rng(1))).all()


def test_both_ways_to_draw_have_the_same_mean(rows):
    """Sums drawn by their law and person by person: 12 + 12 surveys, 64 means within 6.5 known deviations (1e-8)."""
    X, y = rows
    for oracle in ("grr", "oue", "subset", "olh"):
        campaign = Campaign(SCHEMA, 2, oracle=oracle)
        seeded = [survey(campaign, X, y, rng=np.random.default_rng(i)) for i in range(12)]
        alive = [survey(campaign, X, y) for _ in range(12)]
        for place, question in enumerate(campaign.questions):
            gap, variance, mechanism = 0.0, 0.0, question.mechanism
            for sign, runs in ((1, seeded), (-1, alive)):
                for one in (run[place] for run in runs):
                    shares = mechanism.estimate(one.support, one.reports) / one.reports
                    gap = gap + sign * shares / 12
                    widest = max(mechanism.variance(1, 0.0), mechanism.variance(1, 1.0)) + 0.25
                    variance += widest / one.reports / 144
            assert np.abs(gap).max() < 6.5 * math.sqrt(variance)


def test_several_reports_split_the_budget(rows):
    X, y = rows
    fitted = LocalNB(epsilon=4, schema=SCHEMA, reports=2, random_state=0).fit(X, y)
    assert sum(one.reports for one in fitted.tallies_) == 2 * len(y)
    assert {float(one.mechanism.epsilon) for one in fitted.tallies_} == {2.0}
    assert fitted.certificate_.epsilon == "4"
    assert "reports per person" in fitted.certificate_.charges()[0].parameters


def test_frames_and_files(rows, tmp_path):
    import pandas as pd

    X, y = rows
    frame = pd.DataFrame(X, columns=["a", "x"])
    fitted = LocalNB(schema=SCHEMA, random_state=0).fit(frame, y)
    assert fitted.feature_names_in_.tolist() == ["a", "x"]
    frame.assign(y=y).to_parquet(tmp_path / "rows.parquet")
    other = LocalNB(schema=SCHEMA, random_state=0).fit(tmp_path / "rows.parquet")
    assert (other.predict(X) == fitted.predict(X)).all()
    assert (fitted.to_sklearn().predict(frame) == fitted.predict(frame)).all()


def test_what_is_wrong_is_said(rows):
    X, y = rows
    for parameters, error, words in (
        ({}, SchemaError, "LocalNB needs a schema"),
        ({"schema": SCHEMA, "epsilon": 0}, BudgetError, "above zero"),
        ({"schema": SCHEMA, "epsilon": 31}, BudgetError, "at most 30"),
        ({"schema": SCHEMA, "oracle": "magic"}, BudgetError, "no oracle 'magic'"),
        ({"schema": SCHEMA, "numeric": "magic"}, BudgetError, "no way 'magic'"),
        ({"schema": SCHEMA, "numeric": "magic", "epsilon": math.inf}, BudgetError, "no way 'magic'"),
        ({"schema": SCHEMA, "reports": 9}, BudgetError, "cannot report about 9"),
        ({"schema": SCHEMA, "smoothing": -1}, BudgetError, "smoothing"),
        ({"schema": SCHEMA, "random_state": -1}, BudgetError, "random_state"),
    ):
        with pytest.raises(error, match=words):
            LocalNB(**parameters).fit(X, y)
    with pytest.raises(DataError, match="0 sample"):
        LocalNB(schema=SCHEMA).fit(X[:0], y[:0])
    with pytest.raises(DataError, match="requires y"):
        LocalNB(schema=SCHEMA).fit(X)
    with pytest.raises(DataError, match="does not list"):
        LocalNB(schema=SCHEMA).fit(X + np.array([7, 0]), y)


@pytest.mark.data
def test_accuracy_on_reference_data(data_dir):
    """Fixed seeds: no false alarms. Close to what everybody's exact answers would give, and better than a guess."""
    for name, epsilon, least in (("mushroom", 1.0, 0.85), ("connect4", 4.0, 0.66), ("car", 5.0, 0.74)):
        data = load(data_dir, name)
        found = []
        for repeat in range(4):
            split = monte_carlo(data, repeat, 0.2)
            train, test = data.take(split.train), data.take(split.test)
            fitted = LocalNB(epsilon=epsilon, schema=data.schema, random_state=repeat).fit(train.X, train.y)
            found.append(fitted.score(test.X, test.y))
        assert np.mean(found) > least, name


def test_one_report_per_person_is_enforced_by_the_id_column(tmp_path):
    schema = Schema([Categorical("a", ["x", "y"])], target="t", classes=[0, 1], id="who")
    frame = pd.DataFrame({"who": [1, 1, 2], "a": ["x", "y", "x"], "t": [0, 1, 0]})
    frame.to_csv(tmp_path / "rows.csv", index=False)
    for data in (frame, tmp_path / "rows.csv"):
        with pytest.raises(DataError, match="who"):
            LocalNB(1.0, schema=schema).fit(data)
        LocalNB(1.0, schema=schema).fit(frame.drop_duplicates("who"))
