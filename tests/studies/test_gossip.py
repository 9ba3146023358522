"""The gossip part of giaretta2022 on few tasks: it runs from end to end, and what it measures is right."""

import json

import numpy as np
import pytest

from discreet.bayes.estimate import estimate
from discreet.bayes.release import Release
from discreet_studies import StudyError, find_study
from discreet_studies.claims import Verdict
from discreet_studies.giaretta2022.gossip import trials
from discreet_studies.giaretta2022.gossip.bench import AsPublished, Linear, Sound
from discreet_studies.giaretta2022.gossip.claims import CLAIMS, liars, thirty_push_sum
from discreet_studies.results import MissingResultsError, Results
from discreet_studies.study import reproduce


def test_parts_are_named():
    assert find_study("giaretta2022", "gossip").part == "gossip"
    with pytest.raises(StudyError, match=r"federated\|gossip"):
        find_study("giaretta2022")


def test_claims_without_measurements_are_not_judged():
    for claim in CLAIMS:
        with pytest.raises(MissingResultsError):
            claim.check(Results([]))


def test_claims_can_fail():
    def row(reached):
        return {"experiment": "curve", "method": "push-sum", "model": "gaussian", "reached": reached, "near_30": 0.5,
                "at_30": 0.7, "federated": 0.8}  # fmt: skip

    assert thirty_push_sum(Results([row(12)])).verdict is Verdict.HOLDS
    assert thirty_push_sum(Results([row(12), row(None)])).verdict is Verdict.FAILS
    rows = [
        {"experiment": "liars", "method": rule, "liars": n, "accuracy": 0.8}
        for rule in ("push-sum", "mean", "clipped", "trimmed", "median")
        for n in (0, 1, 10, 50, 100, 200)
    ]
    assert liars(Results(rows)).verdict is Verdict.FAILS


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
    from discreet_studies.published.giaretta2022 import local_updates, scores

    paper = AsPublished(held, 3.0, 20)
    average = paper.rows(where, np.random.default_rng(5)).mean(axis=0)
    kept = local_updates(held.rows, where, np.full(20, 3.0), rng=np.random.default_rng(5)).kept()
    slow = (scores(held.schema, kept, held.test.X).argmax(axis=1) == held.test.y).mean()
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
    assert verdicts["Around 30 iterations bring 1000 nodes to the federated accuracy: push-sum."] == "holds"
    assert verdicts["The number of iterations grows with log N."] == "holds"
    (row,) = outcome.results.where(experiment="curve", method="push-sum")
    assert abs(row["accuracy"] - row["federated"]) < 1e-9
    assert len(json.loads(row["quartiles"])) == len(json.loads(row["steps"]))
    assert (tmp_path / "figures" / "figure6-push-sum-default.png").is_file()
    assert all(one["conserved"] for one in outcome.results.where(experiment="crashes"))
