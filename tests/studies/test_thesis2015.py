"""thesis2015, part logistic: the as-published laws, the toys, and a small run from end to end."""

import json
import math

import numpy as np
import pytest
from scipy import stats

from discreet import Categorical, Schema
from discreet.linear.encode import Encoding
from discreet_studies import find_study
from discreet_studies.claims import Verdict, judge
from discreet_studies.published import thesis2015_logistic as published
from discreet_studies.results import Results
from discreet_studies.study import reproduce
from discreet_studies.tasks import Task
from discreet_studies.thesis2015.logistic import claims, experiments
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


def toys(table, repeats=3):
    """Results of toys: {(method, D, ε): {rows: accuracy}}."""
    return Results([
        {"experiment": "toy", "method": method, "dims": d, "epsilon": e, "rows": n, "accuracy": a + 0.0001 * r,
         "repeat": r, "fold": 0}
        for (method, d, e), curve in table.items() for n, a in curve.items() for r in range(repeats)
    ])  # fmt: skip


def reached(rows, most=65536):
    """A curve that gets there with so many rows."""
    return {n: 0.89 if n >= rows else 0.6 for n in (2**k for k in range(4, most.bit_length()))}


@pytest.mark.parametrize(("growth", "holds"), [(0, True), (1, True), (2, False)])
def test_multipliers_grow_no_faster_than_linearly(growth, holds):
    table = {}
    for k, d in enumerate((1, 2, 4, 8)):
        table |= {("plain", d, math.inf): reached(16), ("paper-objective", d, 0.1): reached(256 * 2 ** (growth * k)),
                  ("fm-sens1", d, 0.1): reached(4096)}  # fmt: skip
    found = claims.multipliers(toys(table))
    assert (found.verdict is Verdict.HOLDS) == holds and "table B.3 to the power" in found.reason


@pytest.mark.parametrize(
    ("ratios", "verdict"),
    [
        ((16, 16), Verdict.HOLDS),
        ((2, 2), Verdict.FAILS),
        ((16, 8), Verdict.UNDECIDED),
        ((1, 8), Verdict.UNDECIDED),
        ((16,), Verdict.UNDECIDED),
    ],
)
def test_sixteen_times_the_samples(ratios, verdict):
    table = {("fm-sens1", 1, 0.1): reached(4096)}
    for d, ratio in zip((1, 2), ratios, strict=False):
        table |= {("paper-objective", d, 0.1): reached(512), ("paper-objective", d, 0.01): reached(512 * ratio)}
    (judged,) = judge([claim for claim in CLAIMS if claim.check is claims.sixteen_times], toys(table))
    assert judged["verdict"] == verdict


@pytest.mark.parametrize(
    ("one", "two", "verdict"),
    [
        (reached(4096), reached(1024), Verdict.HOLDS),
        (reached(1024), reached(4096), Verdict.FAILS),
        ({1024: 0.55, 2048: 0.6}, {1024: 0.65, 2048: 0.7}, Verdict.HOLDS),  # reached by neither: accuracy decides
        ({1024: 0.6, 2048: 0.6}, {1024: 0.6, 2048: 0.6}, Verdict.FAILS),
    ],
)
def test_the_better_bound_is_judged_by_samples_where_they_suffice(one, two, verdict):
    found = claims.better_bound_helps(toys({("fm-sens1", 1, 0.1): one, ("fm-sens2", 1, 0.1): two}))
    assert found.verdict is verdict


def test_other_readings_stand_beside_the_one_that_counts():
    table = {("fm-sens1", 1, 0.1): reached(4096)}
    for d in (1, 2):
        table |= {("paper-objective", d, 0.1): reached(512), ("paper-objective", d, 0.01): reached(512 * 16)}
    found = claims.sixteen_times(toys(table))
    assert "10 times, as the thesis expects, to a factor of two: shown; table B.6 alone: shown" in found.reason
    flat = {("fm-sens1", d, 0.1): {512: 0.5, 1024: 0.6} for d in (1, 20, 50)}
    flat |= {("fm-sens2", d, 0.1): {512: 0.5, 1024: 0.7 if d < 50 else 0.4} for d in (1, 20, 50)}
    found = claims.better_bound_helps(toys(flat))
    assert found.verdict is Verdict.HOLDS and "all dimensions: not shown" in found.reason


@pytest.mark.parametrize(("rows", "verdict"), [(512, Verdict.HOLDS), (2048, Verdict.FAILS)])
def test_the_functional_mechanism_in_few_dimensions(rows, verdict):
    table = {("fm-sens1", 1, 0.1): reached(4096)}
    for d in (1, 2):
        table |= {("paper-objective", d, 0.1): reached(256), ("fm-sens2", d, 0.1): reached(rows)}
    assert claims.functional_in_few_dimensions(toys(table)).verdict is verdict


def test_the_full_run_has_the_ten_runs_of_the_thesis():
    planned = [task for task in tasks(False) if task.option("dims") != experiments.WIDE]
    counts = {}
    for task in planned:
        spot = (task.experiment, task.data, task.method, task.epsilon, task.options)
        counts[spot] = counts.get(spot, 0) + 1
    noiseless = {spot for spot in counts if spot[2] == "plain-tuned"}  # logistic regression without privacy
    assert {counts.pop(spot) for spot in noiseless} == {experiments.FEW}
    assert set(counts.values()) == {10}


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
    assert len(claims["claims"] if isinstance(claims, dict) else claims) == len(study.claims)
    assert "Table 4.2" in (tmp_path / "summary.md").read_text()
