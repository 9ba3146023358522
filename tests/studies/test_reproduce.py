"""From methods to files: the adapter, figures, a tiny study from end to end, and the command."""

import importlib.util
import json
import math

import numpy as np
import pytest

from discreet import Categorical, Numeric, Schema, SmoothSettings
from discreet_studies import StudyError, engine, figures, find_study
from discreet_studies.data import load
from discreet_studies.methods import MAJORITY, PLAIN, NotAvailableError, Setting, library, private_nb, shares
from discreet_studies.results import Estimate, Results
from discreet_studies.study import measure, reproduce
from discreet_studies.zafarani2021.experiments import synthetic
from discreet_studies.zafarani2021.methods import METHODS, smooth

SCHEMA = Schema([Numeric("x", 0, 1), Categorical("c", [0, 1])], "y", [0, 1])
SETTING = Setting(SCHEMA, 1.0, 0.0, 100, 7)


class Stub:
    """An estimator that knows smooth sensitivity and notes what it was asked for."""

    def __init__(
        self, epsilon, delta, schema, random_state, numeric, smooth, split, reading="shrunk", mechanism="auto"
    ):
        self.asked = locals()


class Older:
    """An estimator of before there was smooth sensitivity."""

    def __init__(self, epsilon, delta, schema, random_state, numeric, split, reading, mechanism):
        pass


def test_the_adapter_hands_everything_on():
    bound = SmoothSettings(noise="cauchy", estimator="bun-steinke")
    made = private_nb(SETTING, Stub, numeric="gaussian", smooth=bound, split="equal")
    asked = made.asked
    assert (asked["epsilon"], asked["delta"], asked["random_state"]) == (1.0, 0.0, 7)
    assert asked["smooth"] is bound and (asked["reading"], asked["mechanism"]) == ("plain", "auto")


def test_what_the_library_cannot_do_yet_is_said_clearly():
    with pytest.raises(NotAvailableError, match="not available yet: PrivateNB has no parameter 'smooth'"):
        private_nb(SETTING, Older, numeric="gaussian", smooth=SmoothSettings(), split="equal")


def test_smooth_methods_go_through_the_adapter(monkeypatch):
    seen = {}

    class Fitted(Stub):
        def fit(self, X, y):
            seen.update(self.asked)
            return self

        def predict_joint_log_proba(self, X):
            return np.zeros((len(X), 2))

    monkeypatch.setattr("discreet_studies.methods.private_nb", lambda setting, **p: private_nb(setting, Fitted, **p))
    method = smooth("s", "title", noise="cauchy")
    setting = Setting(SCHEMA, 1.0, 0.0, 100, 7, {"weight": "3:1"})
    assert method.fit(setting, np.zeros((4, 2)), np.zeros(4, int))(np.zeros((3, 2))).shape == (3, 2)
    assert seen["smooth"].get_params() == SmoothSettings(noise="cauchy").get_params()
    assert seen["split"] == shares(SCHEMA, "3:1")
    assert sum(seen["split"].values()) == 1


def test_methods_are_data():
    assert all(name == method.name for name, method in METHODS.items())
    assert all(method.reason for method in METHODS.values() if not method.private)
    assert not any(method.private for name, method in METHODS.items() if name.startswith("paper"))


def test_baselines_and_a_library_method_learn():
    data = synthetic("synthetic-numeric")
    setting = Setting(data.schema, 1.0, 0.0, len(data), 1)
    plain = measure(PLAIN.fit(setting, data.X, data.y)(data.X), data.y, 2)
    noisy = measure(library("g", "t", numeric="gaussian").fit(setting, data.X, data.y)(data.X), data.y, 2)
    constant = measure(MAJORITY.fit(setting, data.X, data.y)(data.X), data.y, 2)
    assert plain["accuracy"] > 0.7
    assert noisy["accuracy"] > 0.65
    assert constant["balanced_accuracy"] == 0.5
    assert constant["log_loss"] == pytest.approx(math.log(2), abs=0.01)
    sure = measure(np.array([[0.0, -1e9], [0.0, -1e9]]), np.array([0, 1]), 2)
    assert sure["log_loss"] == pytest.approx(-math.log(1e-15) / 2)


def test_synthetic_sets_speak_by_one_kind_only():
    for name, speaking in (("synthetic-numeric", 0), ("synthetic-categorical", 5)):
        data = synthetic(name)
        gaps = np.abs(data.X[data.y == 1].mean(axis=0) - data.X[data.y == 0].mean(axis=0)) / data.X.std(axis=0)
        assert (gaps[speaking : speaking + 5] > 0.4).all()
        assert (np.delete(gaps, np.arange(speaking, speaking + 5)) < 0.1).all()


def test_figures_are_drawn(tmp_path):
    points = [(0.1, Estimate(0.7, 0.02, 5)), (1.0, Estimate(0.8, math.inf, 1))]
    lines = [figures.Line("one", points), figures.Line("two", points, dashed=True), figures.Line("none", [])]
    files = figures.accuracy_against_epsilon(tmp_path, "a", "A", lines, {"level": 0.75})
    files += figures.time_against_rows(tmp_path, "t", "T", lines)
    assert sorted(file.name for file in files) == ["a.png", "a.svg", "t.png", "t.svg"]
    for file in files:
        assert file.read_bytes().startswith(b"\x89PNG" if file.suffix == ".png" else b"<?xml")


def test_without_matplotlib_the_extra_is_named(monkeypatch, tmp_path):
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    with pytest.raises(StudyError, match=r"pip install 'discreet\[plot\]'"):
        figures.time_against_rows(tmp_path, "t", "T", [])


def small(task):
    quick = {"plain", "majority", "global", "histogram", "paper-global", "paper-smooth"}
    return task.method in quick and task.data == "seeds" and task.fold < 3 and task.epsilon in (1.0, 10.0, math.inf)


@pytest.mark.data
def test_a_tiny_study_from_end_to_end(data_dir, tmp_path):
    study = find_study("zafarani2021")
    outcome = reproduce(study, data_dir, tmp_path, fast=True, workers=1, only=small)
    assert not outcome.results.failures
    assert all(file.stat().st_size for file in outcome.files)
    names = {file.name for file in outcome.files}
    assert {"results.parquet", "claims.json", "summary.md", "accuracy-seeds.png", "accuracy-seeds.svg"} <= names
    assert len(json.loads((tmp_path / "claims.json").read_text())) == len(study.claims)
    text = (tmp_path / "summary.md").read_text()
    assert "simulation sampler" in text
    assert "(not private)" in text
    rows = Results.load(tmp_path / engine.RESULTS)
    assert rows.estimate(method="plain", data="seeds").mean > 0.85
    assert rows.estimate(method="majority", data="seeds").mean == pytest.approx(1 / 3)
    for row in rows.rows:
        assert row["simulation"] is (row["method"] not in ("plain", "majority"))
        assert row["private"] is (row["method"] in ("global", "histogram"))
        assert row["private"] or row["not_private_because"]
        assert int(row["task_seed"]) >= 0
        assert int(row["split_seed"]) >= 0
    again = reproduce(study, data_dir, tmp_path, fast=True, workers=0, only=small)
    assert again.claims == outcome.claims


@pytest.mark.data
def test_the_library_and_the_published_methods_see_the_same_votes(data_dir):
    votes = load(data_dir, "votes")
    setting = Setting(votes.schema, 1e4, 0.0, len(votes), 1)
    for name in ("global", "histogram", "paper-global", "paper-smooth", "plain"):
        assert measure(METHODS[name].fit(setting, votes.X, votes.y)(votes.X), votes.y, 2)["accuracy"] > 0.88


def test_the_command_lists_and_refuses(discreet, tmp_path):
    listed = discreet("reproduce", "--list")
    assert listed.returncode == 0
    assert "zafarani2021" in listed.stdout
    known = {one["study"] for one in json.loads(discreet("reproduce", "--list", "--json").stdout)}
    assert {"zafarani2021", "yilmaz2020", "giaretta2022", "lopuhaa2021", "thesis2015"} <= known
    (tmp_path / "file").write_text("")
    (tmp_path / "datasets.json").write_text('{"datasets": []}')
    for arguments, words in (
        ([], "--list"),
        (["nobody2020", "--out", tmp_path], "there is no study 'nobody2020'"),
        (["zafarani2021"], "--out DIR"),
        (["zafarani2021", "--out", tmp_path / "file"], "needs a directory"),
        (["zafarani2021", "--out", tmp_path / "o"], "pass --data DIR or set DISCREET_DATA"),
        (["zafarani2021", "--out", tmp_path / "o", "--data", tmp_path / "o"], "has no datasets.json"),
        (["zafarani2021", "--out", tmp_path / "o", "--data", tmp_path], "lacks 'adult'"),
    ):
        done = discreet("reproduce", *arguments, env={"DISCREET_DATA": ""})
        assert done.returncode == 2, done
        assert words in done.stderr
        assert done.stderr.startswith("error: ")
        assert done.stderr.count("\n") == 1
