"""yilmaz2020: the published estimates, the sound methods, and verdicts on made-up results."""

import json
import math
from itertools import product

import numpy as np
import pytest

from discreet import Categorical, Numeric, Schema
from discreet.local.oracles import GRR
from discreet_studies import engine, find_study
from discreet_studies.claims import Verdict, judge
from discreet_studies.methods import Setting
from discreet_studies.published import yilmaz2020 as published
from discreet_studies.results import Results
from discreet_studies.study import reproduce
from discreet_studies.yilmaz2020.claims import CLAIMS
from discreet_studies.yilmaz2020.experiments import (
    CONTINUOUS_DATA,
    DISCRETE_DATA,
    FEATURES,
    PAPER_DIMS,
    ROWS_METHODS,
    SHARES,
    THETA_METHODS,
    THETAS,
    tasks,
)
from discreet_studies.yilmaz2020.methods import (
    METHODS,
    OURS_BUCKETS,
    OURS_DISCRETE,
    OURS_GAUSSIAN,
    PAPER_ALL,
    PAPER_BUCKETS,
    PAPER_DISCRETE,
    PAPER_GAUSSIAN,
)

DISCRETE = Schema([Categorical("a", [0, 1, 2]), Categorical("b", [0, 1])], "y", [0, 1])
NUMBERS = Schema([Numeric("u", 0, 10), Numeric("v", -5, 5)], "y", [0, 1])


@pytest.fixture(scope="module")
def rows():
    rng = np.random.default_rng(3)
    y = rng.integers(0, 2, 4000)
    return np.column_stack([y + rng.integers(0, 2, 4000), (y + (rng.random(4000) < 0.2)) % 2]).astype(float), y


@pytest.fixture(scope="module")
def numbers():
    rng = np.random.default_rng(4)
    y = rng.integers(0, 2, 4000)
    return np.column_stack([np.clip(rng.normal(3 + 4 * y, 1), 0, 10), np.clip(rng.normal(2 * y - 1, 1), -5, 5)]), y


def setting(schema, epsilon, **options):
    return Setting(schema, epsilon, 0.0, 4000, 5, options)


# ---- as published


def test_negative_estimates_become_one():
    assert published.positive(np.array([-3.0, 0.0, 0.25, 7.0])).tolist() == [1, 1, 0.25, 7]


def test_frequencies_follow_the_formula_of_the_paper(rows, monkeypatch):
    X, y = rows
    seen = []
    estimate = GRR.estimate

    def spy(self, support, m):
        seen.append((estimate(self, support, m), self.d))
        return seen[-1][0]

    monkeypatch.setattr(GRR, "estimate", spy)
    model = published.frequencies(setting(DISCRETE, 0.05), DISCRETE, X, y, oracle="de")
    assert [d for _, d in seen] == [2, 6, 4]
    assert any((counts < 0).any() for counts, _ in seen)  # or there is nothing to see
    for column, (counts, _) in enumerate(seen[1:]):
        kept = np.where(counts > 0, counts, 1).reshape(2, -1)
        assert np.exp(model.log_tables[column]) == pytest.approx(kept / kept.sum(axis=1, keepdims=True))
    prior = np.where(seen[0][0] > 0, seen[0][0], 1)
    assert np.exp(model.log_prior) == pytest.approx(prior / prior.sum())


@pytest.mark.parametrize("name", [*PAPER_DISCRETE, *PAPER_ALL, *OURS_DISCRETE])
def test_discrete_methods_learn(name, rows):
    X, y = rows
    scores = METHODS[name].fit(setting(DISCRETE, 8.0), X, y)(X)
    assert (scores.argmax(axis=1) == y).mean() > 0.8


@pytest.mark.parametrize("projection", ["none", "pca", "dca"])
@pytest.mark.parametrize("name", [*PAPER_BUCKETS, *OURS_BUCKETS, *PAPER_GAUSSIAN, *OURS_GAUSSIAN])
def test_continuous_methods_learn(name, projection, numbers):
    X, y = numbers
    if name in PAPER_GAUSSIAN:  # which need many people
        X, y = np.tile(X, (25, 1)), np.tile(y, 25)
    told = setting(NUMBERS, 10.0, projection=projection, dims=1, buckets=4)
    scores = METHODS[name].fit(told, X, y)(X)
    assert (scores.argmax(axis=1) == y).mean() > 0.8
    assert METHODS[name].private is not name.startswith("paper")
    assert METHODS[name].private or "private rows" in METHODS[name].reason


def test_published_numbers_say_that_they_are_not_private(numbers):
    told = setting(NUMBERS, 1.0, projection="dca", dims=1, buckets=4)
    for model in (published.buckets(told, *numbers, oracle="de"), published.gaussian(told, *numbers, approach=1)):
        assert model.record.to_dict()["private"] is False


def test_reports_of_everybody_about_everything_are_as_many():
    y = np.array([0, 1] * 50)
    X = np.column_stack([y, y]).astype(float)
    campaign = published.Campaign(DISCRETE, 1)
    found = published.every_input(campaign, X, y, np.random.default_rng(0))
    assert [one.reports for one in found] == [100, 100, 100]


@pytest.mark.parametrize("classes", [2, 3])
@pytest.mark.parametrize("epsilon", [0.2, 1.0, 3.0])
def test_one_bit_per_class_costs_epsilon(classes, epsilon):
    """All reports, all pairs of (class, value): the published way to hide the class in approach 2 is sound."""

    def chance(label, value, signs):
        size = (math.exp(epsilon) + 1) / (math.exp(epsilon) - 1)
        ups = [((value if c == label else 0.0) / size + 1) / 2 for c in range(classes)]
        return math.prod(up if sign else 1 - up for up, sign in zip(ups, signs, strict=True))

    pairs = list(product(range(classes), (-1.0, -0.4, 0.0, 1.0)))
    worst = max(
        chance(*a, signs) / chance(*b, signs) for a in pairs for b in pairs for signs in product((0, 1), repeat=classes)
    )
    assert worst == pytest.approx(math.exp(epsilon))


def test_the_sound_methods_see_bounds_of_the_public_sample_only(numbers, monkeypatch):
    """An outlier among the private rows changes no schema; the same rows as public ones do."""
    from discreet_studies.yilmaz2020 import methods

    X, y = numbers
    seen = []
    original = methods.prepared

    def spy(told, rows, labels):
        seen.append(rows)
        return original(told, rows, labels)

    monkeypatch.setattr(methods, "prepared", spy)
    METHODS["buckets-auto"].fit(setting(NUMBERS, 1.0, projection="none", buckets=4), X, y)
    assert len(seen) == 1
    assert len(seen[0]) == 800


# ---- the study


def made_up(accuracy=lambda **spot: 0.8, without=()):
    """Results of a whole run with a little scatter over the repeats."""
    rows = []

    def add(method, **spot):
        error = "DataError: gone" if method in without else None
        for repeat in range(10):
            value = {} if error else {"accuracy": accuracy(method=method, **spot) + 0.002 * (repeat % 2)}
            rows.append({"method": method, "repeat": repeat, "fold": 0, "error": error, **spot, **value})

    for data in DISCRETE_DATA:
        for method in ("plain", "majority"):
            add(method, experiment="discrete", data=data, epsilon=math.inf)
        for method in (*PAPER_DISCRETE, *PAPER_ALL, *OURS_DISCRETE):
            for epsilon in (0.5, 1.0, 3.0):
                add(method, experiment="discrete", data=data, epsilon=epsilon)
    for data, epsilon in product(DISCRETE_DATA, (0.5, 1.0)):
        for method, theta in product(THETA_METHODS, THETAS):
            add(method, experiment="theta", data=data, epsilon=epsilon, theta=theta)
        for method, share in product(ROWS_METHODS, SHARES):
            add(method, experiment="rows", data=data, epsilon=epsilon, share=share)
    for data in CONTINUOUS_DATA:
        for projection in ("none", "pca", "dca"):
            for epsilon in (0.5, 2.0, 4.0):
                for method in (*PAPER_BUCKETS, *OURS_BUCKETS):
                    dims = PAPER_DIMS.get((data, projection), FEATURES[data])
                    spot = {"experiment": "buckets", "data": data, "projection": projection, "dims": dims}
                    add(method, epsilon=epsilon, **spot)
                for method in (*PAPER_GAUSSIAN, *OURS_GAUSSIAN):
                    spot = {"experiment": "gaussian", "data": data, "projection": projection, "dims": 1}
                    add(method, epsilon=epsilon, **spot)
        for method in ("paper-buckets-de", "buckets-auto"):
            for projection in ("pca", "dca"):
                for dims in range(1, FEATURES[data] + 1):
                    spot = {"experiment": "dimensions", "data": data, "projection": projection, "dims": dims}
                    add(method, epsilon=2.0, **spot)
    return Results(rows)


def find(text):
    (claim,) = [claim for claim in CLAIMS if text in claim.text]
    return claim


def lifted(*methods, by=0.05, when=lambda **spot: True):
    return lambda method, **spot: 0.8 + by * (method in methods and when(**spot))


def test_every_claim_gets_a_verdict_and_strict_json():
    judged = judge(CLAIMS, made_up())
    assert len(judged) == len(CLAIMS)
    assert all(one["reason"] for one in judged)
    json.dumps(judged, allow_nan=False)
    assert {one["verdict"] for one in judge(CLAIMS, Results([]))} == {Verdict.UNTESTED, Verdict.FAILS}


@pytest.mark.parametrize(
    "text, accuracy, verdict",
    [
        ("very close", lifted(), Verdict.HOLDS),
        ("very close", lifted("plain", *PAPER_ALL), Verdict.UNSOUND),
        ("very close", lifted("plain"), Verdict.FAILS),
        ("65 %", lifted(), Verdict.HOLDS),
        ("65 %", lifted(*OURS_DISCRETE, *PAPER_DISCRETE, by=-0.3), Verdict.UNSOUND),
        ("65 %", lifted(*OURS_DISCRETE, *PAPER_DISCRETE, *PAPER_ALL, by=-0.3), Verdict.FAILS),
        ("nearly 90 %", lifted("grr", "sue", "oue", "the", by=0.1), Verdict.HOLDS),
        ("nearly 90 %", lifted(*PAPER_ALL, by=0.1), Verdict.UNSOUND),
        ("nearly 90 %", lifted("grr", by=0.1), Verdict.FAILS),
        ("SHE is the least", lifted("she", by=-0.05), Verdict.HOLDS),
        ("SHE is the least", lifted("paper-she", by=-0.05), Verdict.HOLDS),
        ("SHE is the least", lifted("paper-all-she", by=-0.05), Verdict.UNSOUND),
        ("SHE is the least", lifted("the", "paper-the", by=-0.05), Verdict.FAILS),
        ("DE is the most", lifted("grr"), Verdict.HOLDS),
        ("DE is the most", lifted("oue", "paper-oue"), Verdict.FAILS),
        ("about equally", lifted(), Verdict.HOLDS),
        ("about equally", lifted("oue", "paper-sue"), Verdict.UNSOUND),
        ("about equally", lifted("oue", "paper-sue", "paper-all-sue"), Verdict.FAILS),
        ("domain is large", lifted("oue", "sue"), Verdict.HOLDS),
        ("domain is large", lifted("grr", "paper-de"), Verdict.FAILS),
        ("Discretisation", lifted(*OURS_BUCKETS), Verdict.HOLDS),
        ("Discretisation", lifted(*PAPER_BUCKETS), Verdict.UNSOUND),
        ("Discretisation", lifted(*OURS_GAUSSIAN, *PAPER_GAUSSIAN), Verdict.FAILS),
        ("DCA to one", lifted("buckets-auto", when=lambda **s: s["projection"] == "dca" and s["dims"] == 1),
         Verdict.HOLDS),
        ("DCA to one", lifted("buckets-auto", when=lambda **s: s["projection"] == "pca"), Verdict.FAILS),
        ("first is the worst", lifted("gaussian-laplace-all", by=-0.05), Verdict.HOLDS),
        ("first is the worst", lifted("paper-approach-1", by=-0.05), Verdict.HOLDS),
        ("first is the worst", lifted("paper-approach-1", "gaussian-laplace-all"), Verdict.FAILS),
        ("PCA or DCA", lambda **s: 0.8 + 0.05 * (s.get("projection") == "dca"), Verdict.HOLDS),
        ("PCA or DCA", lifted(*PAPER_GAUSSIAN, when=lambda **s: s["projection"] == "pca"), Verdict.UNSOUND),
        ("PCA or DCA", lifted(), Verdict.FAILS),
        ("0.25 is the best", lifted("the", when=lambda **s: s.get("theta") == 0.25), Verdict.HOLDS),
        ("0.25 is the best", lifted("paper-all-the", "the", "paper-the", when=lambda **s: s.get("theta") == 0.5),
         Verdict.FAILS),
        ("0.25 is the best", lambda method, **s: 0.8 + 0.05 * (s.get("theta") == (0.25 if "all" in method else 0.5)),
         Verdict.UNSOUND),
        ("more training rows", lambda **s: 0.8 + 0.05 * (s.get("share") == 1.0), Verdict.HOLDS),
        ("more training rows", lifted("paper-all-de", "paper-all-oue", when=lambda **s: s.get("share") == 1.0),
         Verdict.UNSOUND),
        ("more training rows", lambda **s: 0.8 - 0.05 * (s.get("share") == 1.0), Verdict.FAILS),
        ("lead of discretisation", lifted(*OURS_BUCKETS, when=lambda **s: s["epsilon"] < 1), Verdict.HOLDS),
        ("lead of discretisation", lifted(*PAPER_BUCKETS, when=lambda **s: s["epsilon"] < 1), Verdict.UNSOUND),
        ("lead of discretisation", lifted(*OURS_BUCKETS, *PAPER_BUCKETS), Verdict.FAILS),
        ("PCA is best at 1",
         lambda **s: 0.8 + 0.05 * (PAPER_DIMS.get((s["data"], s.get("projection"))) == s.get("dims")),
         Verdict.HOLDS),
        ("PCA is best at 1", lambda **s: 0.8 + 0.05 * (s.get("dims") == 3), Verdict.FAILS),
        ("At equal ε", lifted("subset"), Verdict.HOLDS),
        ("At equal ε", lifted("paper-oue"), Verdict.FAILS),
        ("as printed", lifted(), Verdict.FAILS),
        ("Projected numbers", lifted(), Verdict.FAILS),
    ],
)  # fmt: skip
def test_verdicts(text, accuracy, verdict):
    assert find(text).check(made_up(accuracy)).verdict is verdict


def test_what_is_missing_is_named():
    (one,) = judge([find("nearly 90 %")], made_up(without=("grr", "paper-de")))
    assert one["verdict"] == Verdict.UNTESTED
    assert "DataError: gone" in one["reason"]


def test_methods_are_data_and_tasks_have_names():
    assert all(name == method.name for name, method in METHODS.items())
    assert all(method.reason for method in METHODS.values() if not method.private)
    planned = tasks(True)
    assert len({task.key for task in planned}) == len(planned)
    assert {task.method for task in planned} == set(METHODS)
    assert {task.repeat for task in tasks(False)} == set(range(100))


def small(task):
    quick = {"plain", "majority", "paper-de", "paper-all-de", "auto", "paper-buckets-de", "buckets-auto",
             "paper-approach-1", "gaussian-hybrid"}  # fmt: skip
    wanted = task.data in ("car", "pima") and task.repeat < 2 and task.experiment != "dimensions"
    wanted = wanted and task.option("projection") in (None, "dca")
    return wanted and task.method in quick and task.epsilon in (2.0, 5.0, math.inf)


@pytest.mark.data
def test_a_tiny_study_from_end_to_end(data_dir, tmp_path):
    study = find_study("yilmaz2020")
    outcome = reproduce(study, data_dir, tmp_path, fast=True, workers=0, only=small)
    assert not outcome.results.failures
    assert all(file.stat().st_size for file in outcome.files)
    names = {file.name for file in outcome.files}
    assert {"figure2-car.png", "oracles-car.svg", "figure3-pima-dca.png", "figure4-pima-dca.png"} <= names
    text = (tmp_path / "summary.md").read_text()
    assert "(not private)" in text
    assert "## Buckets on pima, DCA" in text
    rows = Results.load(tmp_path / engine.RESULTS)
    assert rows.estimate(method="plain", data="car").mean > 0.8
    assert rows.estimate(method="majority", data="car").mean > 0.6
    for row in rows.rows:
        assert row["private"] is (row["method"] in ("paper-de", "auto", "buckets-auto", "gaussian-hybrid"))
        assert row["private"] or row["not_private_because"]
        assert row["simulation"] is (row["method"] not in ("plain", "majority"))
