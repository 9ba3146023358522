"""lopuhaa2021: the published algorithms, the signed-rank test, and a small run from end to end."""

import json
import math

import numpy as np
import pytest
from scipy import stats
from sklearn.svm import LinearSVC

from discreet import Categorical, Numeric, Schema
from discreet_studies import find_study
from discreet_studies.claims import Verdict
from discreet_studies.lopuhaa2021.claims import CLAIMS, TABLE2, no_single_best, printed_variance, svm_needs_rows
from discreet_studies.lopuhaa2021.experiments import DATA, LARGE, PRINTED, SMALL, tasks
from discreet_studies.lopuhaa2021.methods import METHODS, THREE
from discreet_studies.lopuhaa2021.methods import PAPER as PUBLISHED
from discreet_studies.lopuhaa2021.wilcoxon import signed_ranks
from discreet_studies.methods import Setting
from discreet_studies.published.lopuhaa2021 import fit_naive_bayes, fit_svm, fit_tree
from discreet_studies.results import Results
from discreet_studies.study import reproduce

SCHEMA = Schema([Numeric("x", 0, 10), Categorical("c", [0, 1, 2]), Categorical("b", [0, 1])], "y", [0, 1])


@pytest.fixture(scope="module")
def rows():
    rng = np.random.default_rng(0)
    y = rng.integers(0, 2, 600)
    x = np.clip(rng.normal(3 + 4 * y, 1), 0, 10)
    return np.column_stack([x, rng.integers(0, 3, 600), rng.integers(0, 2, 600)]), y


def setting(epsilon, seed=0):
    return Setting(SCHEMA, epsilon, 0.0, 600, seed)


@pytest.mark.parametrize(("fit", "least"), [(fit_naive_bayes, 0.9), (fit_svm, 0.75), (fit_tree, 0.9)])
def test_published_algorithms_learn_without_noise_and_say_that_they_are_not_private(fit, least, rows):
    X, y = rows
    fitted = fit(setting(math.inf), X, y)
    assert (fitted.scores(X).argmax(axis=1) == y).mean() > least  # the SVM has no intercept
    assert not fitted.record.private and fitted.record.reason
    noisy = fit(setting(1e-6), X, y).scores(X).argmax(axis=1)
    assert (noisy == y).mean() < (fitted.scores(X).argmax(axis=1) == y).mean() - 0.02


def test_the_published_svm_without_noise_is_a_linear_svm(rows):
    X, y = rows
    scaled = (X - X.min(axis=0)) / (X.max(axis=0) - X.min(axis=0))
    peer = LinearSVC(loss="hinge", fit_intercept=False, C=1 / (len(y) * 10**-2.5), max_iter=100_000).fit(scaled, y)
    ours = fit_svm(setting(math.inf), X, y).scores(X).argmax(axis=1)
    assert (ours == peer.predict(scaled)).mean() > 0.98


def test_signed_ranks_agree_with_the_normal_approximation_of_scipy():
    rng = np.random.default_rng(0)
    gaps = rng.normal(0.3, 1, 60)
    ours = signed_ranks(gaps)
    peer = stats.wilcoxon(gaps, method="asymptotic", correction=False)
    assert ours.p == pytest.approx(peer.pvalue)
    assert ours.printed_z == pytest.approx(ours.z / math.sqrt(6))
    tied = signed_ranks([1, 1, 1, -1, 2, 2, -2, 3])
    assert tied.p == pytest.approx(
        stats.wilcoxon([1, 1, 1, -1, 2, 2, -2, 3], method="asymptotic", correction=False).pvalue
    )
    assert signed_ranks([0.0, 0.0, 0.0]).p == 1


def test_the_printed_variance_cannot_give_the_printed_p():
    found = printed_variance(Results([]))
    assert found.verdict is Verdict.FAILS
    floors = found.measured["smallest p that the printed formula can give"]
    assert (round(floors["one-sided"], 4), round(floors["two-sided"], 4)) == (0.003, 0.006)


def made_up(accuracy, scatter=0.002):
    """Results of the sweep with a little scatter over the folds."""
    return Results(
        {
            "experiment": "sweep", "data": data, "method": method, "epsilon": epsilon, "repeat": 0, "fold": fold,
            "accuracy": accuracy(method, data, epsilon) + scatter * (fold % 3) * (1 + METHODS_USED.index(method)),
            "error": None,
        }
        for data in DATA
        for method in METHODS_USED
        for epsilon in (0.001, 0.25, 1.0, math.inf)
        for fold in range(9)
    )  # fmt: skip


METHODS_USED = (*THREE, *PUBLISHED)


@pytest.mark.parametrize(
    ("check", "accuracy", "verdict"),
    [
        # each is beaten somewhere; one is never beaten; only the published ones are each beaten
        (no_single_best, lambda m, d, e: 0.7 + 0.1 * (METHODS_USED.index(m) % 3 == DATA.index(d) % 3), Verdict.HOLDS),
        (no_single_best, lambda m, d, e: 0.7 + 0.1 * (METHODS_USED.index(m) % 3 == 0), Verdict.FAILS),
        (no_single_best, lambda m, d, e: 0.7 + 0.1 * (METHODS_USED.index(m) % 3 == (
            DATA.index(d) % 3 if m in PUBLISHED else 0)), Verdict.UNSOUND),
        (svm_needs_rows, lambda m, d, e: 0.9 - 0.2 * (d in SMALL and e < 9), Verdict.HOLDS),
        (svm_needs_rows, lambda m, d, e: 0.9 - 0.2 * (d in LARGE and e < 9), Verdict.FAILS),
    ],
)  # fmt: skip
def test_checks_that_can_fail(check, accuracy, verdict):
    assert check(made_up(accuracy)).verdict is verdict


def test_a_level_svm_is_undecided_while_errors_hide_a_gain():
    found = svm_needs_rows(made_up(lambda m, d, e: 0.8, scatter=0.2))
    assert found.verdict is Verdict.UNDECIDED
    assert "measurements would" in found.reason


def test_tasks_are_distinct_and_cover_the_paper():
    for fast in (True, False):
        planned = tasks(fast)
        assert len({task.key for task in planned}) == len(planned)
        assert {task.data for task in planned} == set(DATA)
        assert {task.epsilon for task in planned} >= set(PRINTED)
    assert all(len(part) == len(DATA) for rows in TABLE2.values() for part in rows)


@pytest.mark.data
def test_a_small_run_from_end_to_end(data_dir, tmp_path):
    study = find_study("lopuhaa2021")
    outcome = reproduce(
        study, data_dir, tmp_path, fast=True, workers=0,
        only=lambda task: task.data in {"votes", "spect"} and task.fold == 0 and task.epsilon in {1e-11, 1.0, math.inf},
    )  # fmt: skip
    assert not outcome.results.failures
    assert {row["method"] for row in outcome.results.rows} == set(METHODS)
    assert all(row["private"] == (not row["method"].startswith("paper") and math.isfinite(row["epsilon"]))
               for row in outcome.results.rows)  # fmt: skip
    judged = json.loads((tmp_path / "claims.json").read_text())
    assert len(judged) == len(CLAIMS)
    assert (tmp_path / "figures" / "figure2-votes.png").exists()
    assert "Table 2" in (tmp_path / "summary.md").read_text()
