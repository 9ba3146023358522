"""giaretta2022: parts of a study, the as-published updates, and a small run from end to end."""

import json

import numpy as np
import pytest
from scipy import stats

from discreet import Categorical, Numeric, Schema
from discreet_studies import PARTS, StudyError, find_study
from discreet_studies.claims import Verdict
from discreet_studies.controls import audit_cases
from discreet_studies.giaretta2022.federated.claims import (
    CLAIMS,
    noise_by_epsilon_and_size,
    size_matters_by_kind,
    worst_with_fewest,
)
from discreet_studies.giaretta2022.federated.experiments import CUT, KEPT, tasks
from discreet_studies.giaretta2022.federated.measures import alike, by_trials
from discreet_studies.giaretta2022.linear import Linear, as_published
from discreet_studies.published.giaretta2022 import LocalRows, local_maxima, local_updates, summed
from discreet_studies.results import Estimate, MissingResultsError, Results
from discreet_studies.study import reproduce

SCHEMA = Schema([Numeric("x", 0, 10), Categorical("c", [0, 1, 2])], "y", [0, 1])


@pytest.fixture
def rows():
    rng = np.random.default_rng(0)
    y = rng.integers(0, 2, 300)
    return LocalRows(SCHEMA, np.column_stack([rng.random(300) * (5 + 4 * y), rng.integers(0, 3, 300)]), y)


def test_parts_are_found_by_name(monkeypatch):
    assert find_study("giaretta2022", "federated").part == "federated"
    with pytest.raises(StudyError, match="no part 'rumour'"):
        find_study("giaretta2022", "rumour")
    with pytest.raises(StudyError, match="no parts"):
        find_study("zafarani2021", "federated")
    monkeypatch.setitem(PARTS, "giaretta2022", ("federated", "gossip"))
    with pytest.raises(StudyError, match=r"--part federated\|gossip"):
        find_study("giaretta2022")


def test_tasks_are_distinct():
    for fast in (True, False):
        keys = [task.key for task in tasks(fast)]
        assert len(set(keys)) == len(keys)


def test_published_noise_follows_the_largest_local_value(rows):
    where = np.arange(300) % 3
    most = local_maxima(rows, 0, where, 4)
    assert most[1, 1] == np.abs(rows.X[(where == 1) & (rows.y == 1), 0]).max()
    assert not most[3].any()
    rng = np.random.default_rng(1)
    drawn = [local_updates(rows, where, np.array([1.0] * 4), rng=rng) for _ in range(600)]
    noise = np.array([one.noisy["S x"] - one.exact["S x"] for one in drawn])
    assert not noise[:, 3].any()  # a node without rows of a class adds no noise at all
    units = (noise[:, :3] / (most[:3] * rows.queries)).ravel()
    assert stats.kstest(units, "laplace").pvalue > 1e-7
    for wrong in (0.7, 1.3):
        assert stats.kstest(units, "laplace", args=(0, wrong)).pvalue < 1e-7


def test_sums_drawn_at_once_have_the_law_of_single_updates(rows):
    where = np.arange(300) % 3
    rng = np.random.default_rng(2)
    one = [local_updates(rows, where, np.array([1.0] * 3), rng=rng).kept() for _ in range(1500)]
    other = summed(rows, {"x": local_maxima(rows, 0, where, 3)}, 3, 1.0, 1500, rng=rng)
    for name in ("n", "m c", "S x", "Q x"):
        left = np.array([np.ravel(update[name])[0] for update in one])
        right = other[name].reshape(1500, -1)[:, 0]
        assert stats.ks_2samp(left, right).pvalue > 1e-7
    assert one[0].keys() == other.keys()


def test_without_noise_the_published_model_is_naive_bayes(rows):
    summary = local_updates(rows, np.zeros(300, int), np.array([1e9]), rng=np.random.default_rng(0)).kept()
    x, y = rows.X[:, 0], rows.y
    line = Linear(SCHEMA, rows.X, y, 300)
    coefficients = as_published(SCHEMA, summary)[0]
    score = line.design(True) @ coefficients.T
    accuracy = float((score.argmax(axis=1) == y).mean())
    assert line.accuracies(np.stack([coefficients, coefficients]), line.design(True)) == pytest.approx(accuracy)
    for group in (0, 1):
        own = x[y == group]
        table = np.log([(rows.X[y == group, 1] == v).mean() for v in range(3)])
        wanted = np.log(len(own)) + stats.norm.logpdf(x, own.mean(), own.std()) + table[rows.X[:, 1].astype(int)]
        assert score[:, group] - wanted == pytest.approx(0.5 * np.log(2 * np.pi), abs=1e-4)


def test_the_error_of_a_node_uses_true_statistics(rows):
    quiet, loud = (
        local_updates(rows, np.zeros(300, int), np.array([e]), rng=np.random.default_rng(0)).errors()[0]
        for e in (100.0, 1.0)
    )
    assert loud == pytest.approx(100 * quiet)


def test_terms_of_equation_28_that_divide_by_zero(rows):
    """Two nodes, of which the second has no row of the second class: left out, its terms cost nothing."""
    where = (rows.y == 1).astype(int)  # the nodes part the classes, so that each lacks one
    updates = local_updates(rows, where, np.array([1.0, 1.0]), rng=np.random.default_rng(0))
    whole, less = updates.errors(), updates.errors(empty="out")
    gap = np.zeros(2)
    for name, exact in updates.exact.items():
        empty = exact == 0
        gap += (np.abs(updates.noisy[name] - exact) * empty).reshape(2, -1).sum(axis=1)
    assert whole - less == pytest.approx(gap) and (gap > 0).all()


@pytest.mark.parametrize(
    ("adult", "skin", "mostly", "by_kind"),
    [(-0.5, -0.2, True, True), (-0.2, -0.5, True, False), (-0.2, -1.5, False, False), (0.1, -0.5, False, False)],
)
def test_powers_of_epsilon_and_size(adult, skin, mostly, by_kind):
    rng = np.random.default_rng(0)
    sizes, budgets = np.exp(rng.uniform(1, 9, 60)), np.exp(rng.uniform(-4, 2, 60))
    rows = []
    for data, power in (("adult", adult), ("skin", skin)):
        errors = (sizes**power / budgets * np.exp(rng.normal(0, 0.05, 60))).tolist()
        listed = {"sizes": sizes.tolist(), "epsilons": budgets.tolist(), "errors": errors, "errors_left_out": errors}
        rows.append({"experiment": "nodes", "data": data, "undefined": 3,
                     **{name: json.dumps(values) for name, values in listed.items()}})  # fmt: skip
    first, second = noise_by_epsilon_and_size(Results(rows)), size_matters_by_kind(Results(rows))
    assert (first.verdict is Verdict.UNSOUND) == mostly and (second.verdict is Verdict.UNSOUND) == by_kind
    assert "3 of 60 on skin" in first.reason and "left out" in first.reason


@pytest.mark.parametrize(("lowest", "holds"), [(0.3, True), (0.6, False)])
def test_the_worst_runs_have_the_fewest_nodes(lowest, holds):
    rows = [
        {"experiment": "cut-off", "data": data, "method": method, "kept": kept, "repeat": r,
         "lowest": (lowest if kept == KEPT[0] else 0.5) + 0.001 * r}
        for data in CUT for method in ("cut-off", "paper") for kept in KEPT for r in range(4)
    ]  # fmt: skip
    assert (worst_with_fewest(Results(rows)).verdict is Verdict.HOLDS) == holds


def test_the_record_says_that_it_is_not_private(rows):
    assert not rows.record(1.0).private
    assert "largest value" in rows.record(1.0).reason


def test_the_as_published_sum_is_a_control_that_the_audit_flags():
    case = next(case for case in audit_cases() if "giaretta2022" in case.name)
    assert case.run(samples=8000, seed=1, confidence=1 - 1e-8).violated


def test_verdicts_ask_for_enough_trials():
    assert alike([Estimate(0.001, 0.0005, 10)], 0.01)
    assert not alike([Estimate(0.05, 0.001, 10)], 0.01)
    with pytest.raises(MissingResultsError, match="too few"):
        alike([Estimate(0.015, 0.02, 10)], 0.01)
    table = Results([{"method": "m", "accuracy": a, "spread": 0.02, "count": 50} for a in (0.8, 0.9)])
    found = by_trials(table, method="m")
    assert (found.mean, found.error) == (pytest.approx(0.85), pytest.approx(0.002))


def test_claims_without_results_cannot_be_tested():
    empty = Results([])
    for claim in CLAIMS:
        try:
            finding = claim.check(empty)
        except (MissingResultsError, ValueError):
            continue
        assert finding.verdict == "cannot be tested here"


def test_a_small_run_from_end_to_end(data_dir, tmp_path):
    pytest.importorskip("matplotlib")
    study = find_study("giaretta2022", "federated")

    def small(task):
        return task.data == "votes" and task.repeat < 2 and task.option("nodes", 1) <= 100 and task.epsilon in {
            1.0, 10.0, float("inf"),
        }  # fmt: skip

    outcome = reproduce(study, data_dir, tmp_path, fast=True, workers=0, only=small)
    assert not outcome.results.failures
    assert len(outcome.claims) == len(CLAIMS)
    assert "part federated" in (tmp_path / "summary.md").read_text()
    assert json.loads((tmp_path / "run.json").read_text())["part"] == "federated"
    many, one = (
        outcome.results.estimate(data="votes", method=m, nodes=100, epsilon=1.0).mean for m in ("federated", "secure")
    )
    assert one > many
