"""thesis2015, part logistic: the as-published laws, the toys, and a small run from end to end."""

import json
import math

import numpy as np
import pytest
from scipy import stats

from discreet import Categorical, Schema
from discreet.linear.encode import Encoding
from discreet_studies import find_study
from discreet_studies.published import thesis2015_logistic as published
from discreet_studies.results import Results
from discreet_studies.study import reproduce
from discreet_studies.tasks import Task
from discreet_studies.thesis2015.logistic.claims import CLAIMS, NEEDED, needed
from discreet_studies.thesis2015.logistic.experiments import execute, gaussians, plus_minus, tasks
from tests.linear.designs import read_design

SCHEMA = Schema([Categorical("a", [0, 1]), Categorical("b", [0, 1])], "y", [0, 1])


@pytest.fixture
def design():
    rng = np.random.default_rng(0)
    X = rng.integers(0, 2, (300, 2))
    y = (rng.random(300) < 0.2 + 0.6 * X[:, 0]).astype(int)
    return read_design(X, y, Encoding(SCHEMA))


def test_output_noise_is_as_printed(design):
    rng = np.random.default_rng(1)
    best = published._minimum(design, 2.0, np.zeros(design.columns))
    lengths = [np.linalg.norm(published.output(design, 0.5, 2.0, rng) - best) for _ in range(800)]
    for factor, fits in ((1.0, True), (0.7, False), (1.3, False)):
        law = stats.gamma(design.columns, scale=factor * 2 / (2.0 * 0.5))
        assert bool(stats.kstest(lengths, law.cdf).pvalue > 1e-7) is fits


def test_objective_noise_is_as_printed(design, monkeypatch):
    seen = []

    def spy(chosen, ridge, tilt):
        seen.append((ridge, np.linalg.norm(tilt)))
        return tilt

    monkeypatch.setattr(published, "_minimum", spy)
    rng = np.random.default_rng(2)
    for _ in range(800):
        published.objective(design, 0.1, 100.0, rng)
    scale = 2 / (0.1 - math.log(1 + 2 * 0.25 / 100 + 0.25**2 / 100**2))
    assert {ridge for ridge, _ in seen} == {100.0}
    assert stats.kstest([n for _, n in seen], stats.gamma(design.columns, scale=scale).cdf).pvalue > 1e-7
    seen.clear()
    published.objective(design, 0.1, 0.5, rng)
    assert seen[0][0] == pytest.approx(0.25 / math.expm1(0.025))


def test_tuning_picks_the_best_lambda(design):
    chosen = published.tuned(published.output, design, 50.0, np.random.default_rng(0), lambdas=(1.0, 1e5), tried=2)
    assert chosen[1] == 1.0


@pytest.mark.parametrize("dims", [1, 5, 50])
def test_toys_can_be_told_apart_nine_times_in_ten(dims):
    toy = gaussians(dims, 20_000, 0)
    apart = math.sqrt(4 / dims) * stats.norm.ppf(0.9)
    right = np.mean((toy.X.mean(axis=1) > apart / 2) == (toy.y == 1))
    assert right == pytest.approx(0.9, abs=0.012)


def test_two_valued_features_become_plus_and_minus_one():
    schema = plus_minus(SCHEMA)
    dense = Encoding(schema, "scaled").matrix(np.array([[0, 1], [1, 0]]))
    assert np.allclose(dense * math.sqrt(3), [[-1, 1, 1], [1, -1, 1]])


def test_tasks_are_distinct():
    for fast in (True, False):
        keys = [task.key for task in tasks(fast)]
        assert len(set(keys)) == len(keys)


def test_samples_needed_are_those_from_which_accuracy_stays():
    spot = {"experiment": "toy", "method": "objective", "dims": 1, "epsilon": 0.1, "repeat": 0, "fold": 0}
    measured = ((16, 0.9), (32, 0.7), (64, 0.89), (128, 0.88))
    rows = [{**spot, "rows": n, "accuracy": accuracy} for n, accuracy in measured]
    assert needed(Results(rows), "objective", 1) == 64
    assert needed(Results([{**row, "accuracy": 0.6} for row in rows]), "objective", 1) is None


def test_bounds_are_those_printed():
    d = 7
    assert published.BOUNDS["fm-sens1"](d) == d * d / 4 + 3 * d
    assert published.BOUNDS["fm-sens2"](d) == d / 4 + 3 * math.sqrt(d)
    assert all(published.BOUNDS["fm-merged"](k) < published.BOUNDS["fm-sens2"](k) for k in range(1, 100))
    assert NEEDED["fm-sens1", 0.1][5] == 4096


def test_as_published_runs_are_not_private(data_dir):
    for method, private in (("paper-objective", False), ("objective", True), ("plain", False)):
        epsilon = math.inf if method == "plain" else 0.1
        task = Task("toy", "toy", method, epsilon, options=(("fast", 1), ("dims", 2), ("rows", 64)))
        found = execute(task, 0, data_dir)
        assert found["private"] is private
        assert bool(found["not_private_because"]) is not private


def test_small_run_end_to_end(data_dir, tmp_path):
    study = find_study("thesis2015", "logistic")
    assert study.part == "logistic"

    def few(task):
        toy = task.experiment == "toy" and task.option("dims") <= 2 and task.option("rows") in (64, 1024)
        return task.repeat < 1 and (toy or task.data == "newsgroup")

    outcome = reproduce(study, data_dir, tmp_path, fast=True, workers=0, only=few)
    assert not outcome.results.failures
    claims = json.loads((tmp_path / "claims.json").read_text())
    assert len(claims["claims"] if isinstance(claims, dict) else claims) == len(CLAIMS)
    assert "Table 4.2" in (tmp_path / "summary.md").read_text()
