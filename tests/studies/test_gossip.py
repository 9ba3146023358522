"""The gossip part of giaretta2022 on few tasks: it runs from end to end, and what it measures is right."""

import json

import numpy as np
import pytest

from discreet.bayes.estimate import estimate
from discreet.bayes.release import Release
from discreet_studies import StudyError, find_study
from discreet_studies.claims import Verdict, judge
from discreet_studies.giaretta2022.federated.experiments import DATA
from discreet_studies.giaretta2022.gossip import trials
from discreet_studies.giaretta2022.gossip.bench import AsPublished, Fitted, Sound
from discreet_studies.giaretta2022.gossip.claims import CLAIMS, liars, logarithmic
from discreet_studies.giaretta2022.gossip.curve_claims import (
    deviations_harmless,
    deviations_stay_off,
    low_at_first,
    priors_first,
    same_everywhere,
    thirty_published,
    thirty_push_sum,
)
from discreet_studies.giaretta2022.linear import Linear
from discreet_studies.results import Results
from discreet_studies.study import reproduce


def test_parts_are_named():
    assert find_study("giaretta2022", "gossip").part == "gossip"
    with pytest.raises(StudyError, match=r"federated\|gossip"):
        find_study("giaretta2022")


def test_claims_without_measurements_are_not_judged():
    assert {one["verdict"] for one in judge(CLAIMS, Results([]))} == {Verdict.UNTESTED}


def test_claims_can_fail():
    def row(reached):
        share = 0.9 if reached else 0.1
        return {"experiment": "curve", "method": "push-sum", "model": "gaussian", "reached": reached, "steps": "[35]",
                "near": f"[{share}]", "at_30": 0.7, "federated": 0.8, "majority": majority}  # fmt: skip

    majority = 0.75
    found = thirty_push_sum(Results([row(12)] * 2))
    assert found.verdict is Verdict.HOLDS and "useless" not in found.reason
    assert thirty_push_sum(Results([row(None)] * 2)).verdict is Verdict.FAILS
    rows = [
        {"experiment": "liars", "method": rule, "liars": n, "accuracy": 0.8}
        for rule in ("push-sum", "mean", "clipped", "trimmed", "median")
        for n in (0, 1, 10, 50, 100, 200)
    ]
    assert liars(Results(rows)).verdict is Verdict.FAILS
    majority = 0.85
    assert (
        "the goal itself is useless: 0.800 where the majority has 0.850"
        in thirty_push_sum(Results([row(12)] * 2)).reason
    )


def test_agreement_on_a_useless_model_is_flagged():
    def rows(federated):
        return Results([
            {"experiment": "data", "data": data, "method": version, "at_30": federated, "federated": federated,
             "majority": 0.7, "accuracy": federated, "repeat": r, "steps": "[30, 35, 100]", "near": "[0.9, 0.9, 1]"}
            for data in DATA for version in ("push-sum", "published", "paper") for r in range(3)
        ])  # fmt: skip

    good, bad = same_everywhere(rows(0.8)), same_everywhere(rows(0.6))
    assert good.verdict is bad.verdict is Verdict.HOLDS  # the claim is about agreement with the federated model
    assert "useless" not in good.reason and "the goal itself is useless: 0.600 where the majority" in bad.reason


@pytest.mark.parametrize(
    ("shares", "verdict"),
    [
        ((0.8, 0.82, 0.81), Verdict.HOLDS),
        ((0.6, 0.62, 0.61), Verdict.FAILS),
        ((1.0, 0.6, 0.7), Verdict.UNDECIDED),
    ],
)
def test_data_sets_are_alike_where_most_nodes_are_near(shares, verdict):
    rows = [
        {"experiment": "data", "data": data, "method": version, "at_30": 0.8, "repeat": r, "federated": 0.8,
         "majority": 0.7, "steps": "[30, 35, 100]", "near": f"[0, {share if data == 'votes' else 1}, 1]"}
        for data in DATA for version in ("push-sum", "published", "paper") for r, share in enumerate(shares)
    ]  # fmt: skip
    assert same_everywhere(Results(rows)).verdict is verdict


@pytest.mark.parametrize(
    ("first", "last", "low", "harmless"),
    [
        ([0.5, 0.6, 0.7], [0.79, 0.8, 0.81], Verdict.HOLDS, Verdict.HOLDS),
        ([0.79, 0.8, 0.81], [0.5, 0.6, 0.7], Verdict.FAILS, Verdict.FAILS),
        ([0.79, 0.8, 0.81], [0.79, 0.8, 0.81], Verdict.FAILS, Verdict.HOLDS),
    ],
)
def test_figure_6_from_its_first_iterations_to_its_last(first, last, low, harmless):
    rows = [
        {"experiment": "curve", "method": version, "model": "gaussian", "repeat": r, "federated": 0.8 + r / 1e4,
         "steps": "[1, 100]", "quartiles": json.dumps([[q + r / 1e4 for q in first], [q + r / 1e4 for q in last]])}
        for version in ("published", "paper") for r in range(3)
    ]  # fmt: skip
    assert low_at_first(Results(rows)).verdict is low
    assert deviations_harmless(Results(rows)).verdict is harmless


@pytest.mark.parametrize(
    ("sound", "paper", "verdict"),
    [
        ((0.9, 0.92, 0.91), (0.1, 0.1, 0.1), Verdict.HOLDS),
        ((0.1, 0.12, 0.1), (0.9, 0.92, 0.91), Verdict.UNSOUND),
        ((0.1, 0.12, 0.1), (0.1, 0.1, 0.1), Verdict.FAILS),
        ((0.1, 0.12, 0.1), (1.0, 0.6, 0.7), Verdict.UNDECIDED),
    ],
)
def test_thirty_iterations_by_sound_updates_and_by_those_of_the_paper(sound, paper, verdict):
    rows = [
        {"experiment": "curve", "method": version, "model": "gaussian", "repeat": r, "steps": "[35]", "at_30": 0.8,
         "near": f"[{share}]", "federated": 0.8, "majority": 0.7}
        for version, shares in (("published", sound), ("paper", paper)) for r, share in enumerate(shares)
    ]  # fmt: skip
    found = thirty_published(Results(rows))
    assert found.verdict is verdict and "default model by that rule: not measured" in found.reason


@pytest.mark.parametrize(
    ("sound", "paper", "verdict"),
    [
        ((0.02, 0.021), (0.001, 0.001), Verdict.HOLDS),
        ((0.001, 0.001), (0.02, 0.021), Verdict.UNSOUND),
        ((0.001, 0.001), (0.001, 0.002), Verdict.FAILS),
        ((0.001, 0.02), (0.001, 0.002), Verdict.UNDECIDED),
    ],
)
def test_deviations_that_stay_off_are_told_from_none_by_their_errors(sound, paper, verdict):
    rows = [
        {"experiment": "long", "method": version, "repeat": r,
         "kinds": json.dumps([{"deviation": {"gap": bias, "bias": bias}}] * 4)}
        for version, found in (("push-sum", (0.0, 0.0)), ("published", sound), ("paper", paper))
        for r, bias in enumerate(found)
    ]  # fmt: skip
    assert deviations_stay_off(Results(rows)).verdict is verdict


@pytest.mark.parametrize(("late", "verdict"), [(25, Verdict.HOLDS), (140, Verdict.FAILS), (None, Verdict.FAILS)])
def test_growth_is_judged_on_the_published_rule(late, verdict):
    turns = {10: 5, 100: 10, 1000: 18, 10_000: late}
    rows = [{"experiment": "growth", "method": "published", "nodes": n, "most_0.2": turn, "repeat": r}
            for n, turn in turns.items() for r in range(2)]  # fmt: skip
    assert logarithmic(Results(rows)).verdict is verdict


@pytest.mark.parametrize(
    ("gaps", "verdict"),
    [
        ({"prior": 0.001, "conditional": 0.01, "mean": 0.01, "deviation": 0.05}, Verdict.HOLDS),
        ({"prior": 0.02, "conditional": 0.01, "mean": 0.01, "deviation": 0.05}, Verdict.FAILS),
        ({"prior": 0.001, "conditional": 0.06, "mean": 0.01, "deviation": 0.05}, Verdict.FAILS),
    ],
)
def test_the_order_of_figure_7_is_judged_as_drawn(gaps, verdict):
    def row(version, repeat):
        shown = {kind: {"quartiles": [[0.5 - gap], [0.5], [0.5 + gap * (1 + 0.01 * repeat)]], "goal": [0.5]}
                 for kind, gap in gaps.items()}  # fmt: skip
        kinds = {kind: {"gap": gap * (1 + 0.01 * repeat), "bias": 0.0} for kind, gap in gaps.items()}
        return {"experiment": "curve", "method": version, "model": "gaussian", "repeat": repeat,
                "steps": "[20, 100]", "shown": json.dumps([shown] * 2), "kinds": json.dumps([kinds] * 2)}  # fmt: skip

    rows = [row(version, repeat) for version in ("published", "paper") for repeat in range(3)]
    assert priors_first(Results(rows)).verdict is verdict


def test_figure_7_is_read_by_its_panels_and_other_scales_are_told_beside_it():
    """Deviations of 0.05 that are off by 0.01 are off by a fifth of their panel, means of 0.5 by less than that."""
    gaps = {"prior": 0.001, "conditional": 0.01, "mean": 0.02, "deviation": 0.01}

    def row(version, repeat):
        goal = {kind: 0.05 if kind == "deviation" else 0.5 for kind in gaps}
        shown = {kind: {"quartiles": [[goal[kind] + gap * (1 + 0.01 * repeat)]], "goal": [goal[kind]]}
                 for kind, gap in gaps.items()}  # fmt: skip
        kinds = {kind: {"gap": gap * (1 + 0.01 * repeat), "bias": 0.0} for kind, gap in gaps.items()}
        return {"experiment": "curve", "method": version, "model": "gaussian", "repeat": repeat,
                "steps": "[20, 100]", "shown": json.dumps([shown] * 2), "kinds": json.dumps([kinds] * 2)}  # fmt: skip

    found = priors_first(Results([row(version, repeat) for version in ("published", "paper") for repeat in range(3)]))
    assert found.verdict is Verdict.HOLDS and "in plain units, published rule: not shown" in found.reason


def test_priors_and_deviations_are_compared_as_shares_of_their_own_kind():
    """The same gap in the same units: a prior of 0.5 that is off by 0.05 and a deviation of 0.05 off by 0.005."""

    def fit(prior, deviation):
        parameters = {"prior": np.array([prior, prior]), "conditional": np.empty(0), "mean": np.empty(0),
                      "deviation": np.array([deviation, deviation])}  # fmt: skip
        return Fitted(np.zeros(1), parameters)

    found = trials._deviations([fit(0.55, 0.055), fit(0.55, 0.055)], fit(0.5, 0.05))
    assert found["prior"]["gap"] == pytest.approx(0.1) == found["deviation"]["gap"]


def test_many_models_are_scored_at_once_as_one_by_one(data_dir):
    from discreet_studies.giaretta2022.federated.trials import bench, judge_of

    held = bench(data_dir, "adult")
    rng = np.random.default_rng(0)
    where = rng.integers(0, 20, len(held.train))
    judge = Linear(held.schema, held.test.X, held.test.y, 1 << 30)
    for model in ("gaussian", "default"):
        version = Sound(held, model, 3.0, 20)
        average = version.rows(where, rng).mean(axis=0)
        quick = judge.accuracies(version.fit(average).coefficients[None], judge.design(version.gaussian))[0]
        noise = {item.key: item.variance * 20 for item in version.plan.items}
        slow = estimate(Release(version.plan, version.layout.tables(average * 20), noise=noise))
        assert quick == pytest.approx(judge_of(data_dir, "adult").accuracy(*slow), abs=2e-4)
    from discreet_studies.published.giaretta2022 import SMALLEST, local_updates

    paper = AsPublished(held, 3.0, 20)
    average = paper.rows(where, np.random.default_rng(5)).mean(axis=0)
    kept = local_updates(held.rows, where, np.full(20, 3.0), rng=np.random.default_rng(5)).kept()
    n = np.maximum(kept["n"], SMALLEST)
    score = np.tile(np.log(n), (len(held.test), 1))
    for feature, values in zip(held.schema.features, held.test.X.T, strict=True):
        if f"S {feature.name}" in kept:
            mean = kept[f"S {feature.name}"] / n
            variance = np.maximum(kept[f"Q {feature.name}"] / n - mean**2, SMALLEST)
            score += -0.5 * np.log(variance) - (values[:, None] - mean) ** 2 / (2 * variance)
        else:
            score += (np.log(np.maximum(kept[f"m {feature.name}"], SMALLEST)) - np.log(n)[:, None]).T[
                values.astype(int)
            ]
    slow = (score.argmax(axis=1) == held.test.y).mean()
    quick = judge.accuracies(paper.fit(average).coefficients[None], judge.design(True))[0]
    assert quick == pytest.approx(slow, abs=2e-3)


@pytest.mark.slow  # its parts are above, and a run from end to end is in test_giaretta2022.py
def test_a_few_tasks_from_end_to_end(data_dir, tmp_path, monkeypatch):
    pytest.importorskip("matplotlib")
    monkeypatch.setattr(trials, "STEPS", (1, 10, 25, 30, 100))  # where the nodes' models are looked at
    study = find_study("giaretta2022", "gossip")

    def few(task):
        if task.repeat:
            return False
        small = task.experiment == "growth" and task.option("nodes") <= 1000
        return small or (task.experiment, task.option("model")) == ("curve", "default") or task.experiment == "crashes"

    outcome = reproduce(study, data_dir, tmp_path, fast=True, workers=0, only=few)
    assert not outcome.results.failures
    verdicts = {one["claim"]: one["verdict"] for one in outcome.claims}
    assert verdicts["Around 30 iterations bring 1000 nodes to the federated accuracy by push-sum."] == "holds"
    assert verdicts["By push-sum the number of iterations grows with log N."] == "holds"
    (row,) = outcome.results.where(experiment="curve", method="push-sum")
    assert abs(row["accuracy"] - row["federated"]) < 1e-9
    assert len(json.loads(row["quartiles"])) == len(json.loads(row["steps"]))
    assert (tmp_path / "figures" / "figure6-push-sum-default.png").is_file()
    assert all(one["conserved"] for one in outcome.results.where(experiment="crashes"))
