"""The console commands, run as a stranger runs them: in processes of their own, judged by files and output.

Each command is run at least once from its very start: by `script`, here or in tests/docs.
"""

from __future__ import annotations

import csv
import json
import os
import re
import shutil
import subprocess
import sys
from fractions import Fraction
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from sklearn.metrics import balanced_accuracy_score, roc_auc_score

from discreet import Certificate, NaiveBayesModel, PrivateNB, Schema, demo
from tests.clock import work_seconds

COMMANDS = ("demo", "schema", "plan", "fit", "predict", "evaluate", "inspect")


def ok(done):
    assert done.returncode == 0, done.stderr
    assert "Traceback" not in done.stderr
    return done


def as_json(done):
    """One JSON document and nothing else on standard output."""
    return json.loads(ok(done).stdout, parse_constant=lambda name: pytest.fail(f"{name} is not JSON"))


@pytest.fixture(scope="module")
def job(tmp_path_factory, script):
    """A directory in which a model has been made from a CSV by the commands alone."""
    folder = tmp_path_factory.mktemp("job")
    demo.write_rows(folder / "train.csv", 4000, seed=11)
    demo.write_rows(folder / "test.csv", 1500, seed=12)
    done = ok(script("schema", "train.csv", "--target", "income", "--out", "draft.toml", cwd=folder))
    (folder / "schema.err").write_text(done.stderr)
    (folder / "schema.out").write_text(done.stdout)
    text = (folder / "draft.toml").read_text()
    (folder / "s.toml").write_text(text.replace("inferred = true", "inferred = false"))
    fit = ["fit", "train.csv", "--schema", "s.toml", "--epsilon", "1", "--out", "model.json", "--model", "nb"]
    (folder / "fit.out").write_text(ok(script(*fit, cwd=folder)).stdout)
    return folder


# ---- the demonstration


def test_the_demonstration(discreet, script, tmp_path):
    start = work_seconds()
    done = ok(script("demo", cwd=tmp_path))
    assert work_seconds() - start < 10  # a third of it is usual
    out = done.stdout
    lines = out.splitlines()
    scores = {}
    for line in lines:
        found = re.match(r"\s*(epsilon = [\d.]+|without privacy|majority class)((?:\s+\d\.\d{4}){3})\s*$", line)
        if found:
            scores[found[1]] = [float(word) for word in found[2].split()]
    assert list(scores) == [*(f"epsilon = {e}" for e in ("0.1", "0.5", "1", "4")), "without privacy", "majority class"]
    auc = {name: figures[2] for name, figures in scores.items()}
    assert auc["without privacy"] > 0.85 and abs(auc["epsilon = 4"] - auc["without privacy"]) < 0.02
    assert auc["majority class"] == 0.5 < auc["epsilon = 0.1"]
    assert "synthetic" in out  # it says where the rows come from
    assert "differentially private: epsilon = 1" in out and "ledger" in out
    assert lines[-1].strip().startswith("discreet ")  # the next command to try
    assert ok(discreet(*lines[-1].split()[1:], "--json", cwd=tmp_path)).stdout.startswith("{")
    folder = tmp_path / "discreet-demo"
    names = {path.name for path in folder.iterdir()}
    assert names >= {
        "schema.toml",
        "train.csv",
        "test.csv",
        "predictions.csv",
        *(f"model-{e}.json" for e in (0.1, 0.5, 1, 4)),
    }
    certificate = NaiveBayesModel.load(folder / "model-0.5.json").certificate
    assert certificate.epsilon == "1/2" and certificate.private and not certificate.simulation
    assert os.listdir(tmp_path) == ["discreet-demo"]


def test_the_demonstration_for_machines(discreet, tmp_path):
    found = as_json(discreet("demo", "--out", tmp_path / "d", "--rows", "1000", "--json"))
    assert set(found) == {"private", "non_private", "majority", "files"}
    assert [line["epsilon"] for line in found["private"]] == [0.1, 0.5, 1, 4]
    for line in (*found["private"], found["non_private"], found["majority"]):
        assert {"accuracy", "balanced_accuracy", "auc", "n"} <= set(line) and line["n"] == 500


# ---- schema, plan, fit, predict, evaluate, inspect


def test_a_draft_is_written_with_its_warning(job):
    warning = (job / "schema.err").read_text()
    assert "discloses" in warning and "draft" in warning
    assert "discreet check train.csv --schema draft.toml" in warning
    assert (job / "schema.out").read_text() == ""
    text = (job / "draft.toml").read_text()
    assert text.startswith("#") and "discloses" in text.split("\n\n")[0] and "inferred = true" in text
    assert Schema.load(job / "draft.toml").inferred
    assert Schema.load(job / "draft.toml").classes == ("<=50K", ">50K")


def test_a_draft_on_standard_output(job, discreet, tmp_path):
    done = ok(discreet("schema", "train.csv", "--target", "income", cwd=job))
    (tmp_path / "s.toml").write_text(done.stdout)
    assert Schema.load(tmp_path / "s.toml") == Schema.load(job / "draft.toml")
    found = as_json(discreet("schema", "train.csv", "--target", "income", "--json", cwd=job))
    assert set(found) == {"schema", "left_out", "seen", "warning"} and "discloses" in found["warning"]
    assert Schema.from_dict(found["schema"]) == Schema.load(job / "draft.toml")


def test_the_plan(job, discreet):
    done = ok(discreet("plan", "--schema", "s.toml", "--epsilon", "1", "--model", "nb", "--rows", "9000", cwd=job))
    assert "if there are 9000 rows" in done.stdout and "by a factor of 2.72 at most" in done.stdout
    assert "epsilon = 1" in done.stdout and "add-remove" in done.stdout
    for name in Schema.load(job / "s.toml").names:
        assert name in done.stdout
    command = ["plan", "--schema", "s.toml", "--epsilon", "0.5", "--adjacency", "replace", "--model", "nb", "--json"]
    plan = as_json(discreet(*command, cwd=job))
    assert (plan["epsilon"], plan["delta"], plan["adjacency"]) == (0.5, 0, "replace")
    assert plan["schema_hash"] == Schema.load(job / "s.toml").hash
    assert sum(row["cost"] for row in plan["statistics"]) == pytest.approx(0.5)
    assert sum(row["share"] for row in plan["statistics"]) == pytest.approx(1)


def test_the_plan_of_other_models(job, discreet):
    shown = ok(discreet("plan", "--schema", "s.toml", "--model", "auto", cwd=job)).stdout
    assert "rows by class" in shown and "the model" in shown and "4.0%" in shown and "model auto" in shown
    plan = as_json(discreet("plan", "--schema", "s.toml", "--model", "tan", "--epsilon", "0.5", "--json", cwd=job))
    assert (plan["model"], plan["epsilon"]) == ("tan", 0.5)
    assert [step["step"] for step in plan["steps"]] == ["rows by class", "again, if rough", "the model"]
    assert sum(step["cost"] for step in plan["steps"]) == pytest.approx(0.5)
    free = as_json(discreet("plan", "--schema", "s.toml", "--model", "additive", "--epsilon", "inf", "--json", cwd=job))
    assert [step["cost"] for step in free["steps"]] == [None] * 3


@pytest.mark.parametrize("command", [["fit", "train.csv", "--out", "no.json"], ["plan"]])
def test_a_setting_of_naive_bayes_is_refused_by_its_own_name(job, discreet, command):
    done = discreet(*command, "--schema", "s.toml", "--model", "tan", "--estimator", "trimmed", cwd=job)
    assert done.returncode == 2
    assert "--estimator is a setting of Naive Bayes" in done.stderr
    assert f"discreet {command[0]} --help" in done.stderr


def test_the_model_carries_its_certificate(job):
    model = NaiveBayesModel.load(job / "model.json")
    certificate = model.certificate
    assert certificate.epsilon == "1" and certificate.delta == "0" and certificate.adjacency == "add-remove"
    assert certificate.schema_hash == Schema.load(job / "s.toml").hash
    assert sum(Fraction(charge.cost) for charge in certificate.charges()) <= 1
    assert "model.json" in (job / "fit.out").read_text()


def test_fit_with_every_flag(job, discreet, tmp_path):
    out = tmp_path / "m.json"
    flags = ["--epsilon", "2", "--delta", "1e-6", "--adjacency", "replace", "--numeric", "truncated-gaussian"]
    more = ["--split", "equal", "--smoothing", "0.5", "--contributions", "2", "--mechanism", "gaussian", "--seed", "3"]
    found = as_json(discreet("fit", "train.csv", "--schema", "s.toml", "--out", out, "--json", *flags, *more, cwd=job))
    certificate = Certificate.model_validate(found["certificate"])
    assert found["model"] == str(out)
    assert (certificate.epsilon, certificate.delta, certificate.adjacency) == ("2", "1/1000000", "replace")
    assert certificate.contributions == 2 and certificate.simulation and certificate.rho is not None
    assert {charge.mechanism for charge in certificate.charges()} == {"discrete Gaussian"}
    twin = PrivateNB(
        schema=Schema.load(job / "s.toml"), epsilon=2.0, delta=1e-6, adjacency="replace", numeric="truncated-gaussian",
        split="equal", smoothing=0.5, contributions=2, mechanism="gaussian", random_state=3,
    ).fit(job / "train.csv")  # fmt: skip
    assert NaiveBayesModel.load(out).to_dict() == twin.model_.to_dict()


def test_an_unedited_draft_is_mentioned(job, discreet, tmp_path):
    fit = ["fit", "train.csv", "--schema", "draft.toml", "--seed", "1", "--model", "nb"]
    done = ok(discreet(*fit, "--out", tmp_path / "m.json", cwd=job))
    assert "warning" in done.stderr and "draft" in done.stderr and "not for release" in done.stderr
    assert any("read off" in a for a in NaiveBayesModel.load(tmp_path / "m.json").certificate.assumptions)


def test_predictions_stand_beside_their_rows(job, discreet):
    done = ok(discreet("predict", "model.json", "test.csv", "--out", "p.csv", "--proba", cwd=job))
    assert "1500" in done.stdout
    model, rows = NaiveBayesModel.load(job / "model.json"), pd.read_csv(job / "test.csv")
    with open(job / "p.csv", newline="") as file:
        lines = list(csv.DictReader(file))
    assert list(lines[0]) == ["prediction", "probability", "P(<=50K)", "P(>50K)"]
    assert [line["prediction"] for line in lines] == model.predict(rows).tolist()
    found = np.array([[float(line["P(<=50K)"]), float(line["P(>50K)"])] for line in lines])
    np.testing.assert_allclose(found, model.predict_proba(rows), rtol=1e-12)
    np.testing.assert_allclose([float(line["probability"]) for line in lines], found.max(axis=1))
    # Shuffled rows, without the target, from another kind of file, to standard output.
    shuffled = rows.drop(columns="income").sample(frac=1, random_state=0)
    shuffled.to_parquet(job / "shuffled.parquet")
    again = ok(discreet("predict", "model.json", "shuffled.parquet", cwd=job)).stdout
    assert [line["prediction"] for line in csv.DictReader(again.splitlines())] == model.predict(shuffled).tolist()


def test_predict_for_machines(job, discreet):
    found = as_json(discreet("predict", "model.json", "test.csv", "--out", "q.csv", "--json", cwd=job))
    assert found == {"predictions": "q.csv", "rows": 1500}
    assert len((job / "q.csv").read_text().splitlines()) == 1501
    done = discreet("predict", "model.json", "test.csv", "--json", cwd=job)
    assert done.returncode == 2 and "--out" in done.stderr


def test_evaluate_measures_what_scikit_learn_measures(job, discreet):
    command = ["evaluate", "model.json", "test.csv", "--twin", "train.csv", "--out", "figures.json", "--json"]
    found = as_json(discreet(*command, cwd=job))
    assert json.loads((job / "figures.json").read_text()) == found
    model, rows = NaiveBayesModel.load(job / "model.json"), pd.read_csv(job / "test.csv")
    guess, truth = model.predict(rows), rows.income.to_numpy()
    assert found["n"] == 1500
    assert found["accuracy"] == pytest.approx(float((guess == truth).mean()))
    assert found["balanced_accuracy"] == pytest.approx(balanced_accuracy_score(truth, guess))
    score = model.predict_joint_log_proba(rows) @ [-1, 1]
    assert found["auc"] == pytest.approx(roc_auc_score(truth == ">50K", score))
    confusion = pd.crosstab(truth, guess).reindex(index=found["classes"], columns=found["classes"], fill_value=0)
    assert found["confusion"] == confusion.to_numpy().tolist()
    assert found["majority"]["accuracy"] == pytest.approx(float((truth == "<=50K").mean()))
    assert found["majority"]["balanced_accuracy"] == 0.5
    plain = PrivateNB(epsilon=float("inf"), schema=model.schema).fit(job / "train.csv")
    assert found["non_private"]["accuracy"] == pytest.approx(float((plain.predict(rows) == truth).mean()))


def test_evaluate_for_people(job, discreet):
    done = ok(discreet("evaluate", "model.json", "test.csv", "--twin", "train.csv", cwd=job))
    for words in ("this model", "majority class", "without privacy", "accuracy", "balanced", "AUC", "1500 rows"):
        assert words in done.stdout
    assert "exact and NOT private" in done.stderr and "--epsilon" in done.stderr


def test_evaluate_on_one_class_has_no_auc(job, discreet):
    rows = pd.read_csv(job / "test.csv")
    rows[rows.income == ">50K"].to_csv(job / "one.csv", index=False)
    found = as_json(discreet("evaluate", "model.json", "one.csv", "--json", cwd=job))
    assert found["auc"] is None and found["balanced_accuracy"] == found["accuracy"]


def test_inspect(job, discreet):
    out = ok(discreet("inspect", "model.json", cwd=job)).stdout
    for words in (
        "differentially private: epsilon = 1",
        "add-remove",
        "protects",
        "ledger",
        "discrete Laplace",
        "income",
    ):
        assert words in out
    found = as_json(discreet("inspect", "model.json", "--json", cwd=job))
    assert found["epsilon"] == 1 and found["delta"] == 0
    assert Certificate.model_validate(found["certificate"]) == NaiveBayesModel.load(job / "model.json").certificate
    assert Schema.from_dict(found["schema"]) == Schema.load(job / "s.toml")
    assert [feature["name"] for feature in found["features"]] == list(Schema.load(job / "s.toml").names)


def test_the_name_of_the_data_is_not_in_the_model(job):
    text = (job / "model.json").read_text()
    assert "train" not in text and str(job) not in text


# ---- manners


def test_help_and_version(discreet, script):
    out = ok(script("--help")).stdout
    assert all(re.search(rf"\b{command}\b", out) for command in COMMANDS)
    from importlib.metadata import version

    assert ok(discreet("--version")).stdout.strip() == f"discreet {version('discreet')}"
    assert "--epsilon" in ok(discreet("fit", "--help")).stdout


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["fit", "--wrong"], "--wrong"),
        (["frobnicate"], "'frobnicate' (see 'discreet --help')"),
        (["fti", "data.csv"], "No such command 'fti'. Did you mean 'fit'? (see 'discreet --help')"),
        (["--bogus"], "(see 'discreet --help')"),
        (["federate", "frob"], "(see 'discreet federate --help')"),
        (["fit", "data.csv", "--adjacency", "near", "--out", "m.json"], "near"),
        (["fit", "data.csv"], "--out"),
        (["fit", "data.csv", "--numeric", "zebra", "--out", "m.json"], "not 'zebra'"),
        (["federate", "node", "--epsilon", "much"], "much"),
    ],
)
def test_wrong_flags_end_with_code_2_and_one_sentence(arguments, words, discreet):
    done = discreet(*arguments)
    assert done.returncode == 2 and words in done.stderr and "Traceback" not in done.stderr
    assert done.stderr.startswith("error: ") and done.stderr.count("\n") == 1
    assert done.stdout == "" and done.stderr.count("Did you mean") <= 1


def test_help_is_quick(script):
    script("--help")
    times = []
    for _ in range(3):
        start = work_seconds()
        ok(script("--help"))
        times.append(work_seconds() - start)
    assert min(times) < 1.0


def test_shell_completion(script):
    if shutil.which("bash") is None:
        pytest.skip("there is no bash")
    env = {"SHELL": "/bin/bash", "_TYPER_COMPLETE_TEST_DISABLE_SHELL_DETECTION": "1"}
    done = ok(script("--show-completion", "bash", env=env))
    assert "_DISCREET_COMPLETE" in done.stdout
    env |= {"_DISCREET_COMPLETE": "complete_bash", "COMP_WORDS": "discreet ev", "COMP_CWORD": "1"}
    assert script(env=env).stdout.split() == ["evaluate"]


def test_a_closed_pipe_is_no_traceback(job):
    header, body = (job / "train.csv").read_text().split("\n", 1)
    (job / "many.csv").write_text(header + "\n" + body * 25)  # more predictions than any pipe holds
    script = Path(sys.executable).with_name("discreet")
    with subprocess.Popen(
        [script, "predict", "model.json", "many.csv"], cwd=job, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    ) as process:
        process.stdout.read(10)
        process.stdout.close()
        error = process.stderr.read().decode()
        process.wait(timeout=300)
    assert "Traceback" not in error and process.returncode != 0


def test_smooth_sensitivity_from_the_command_line(discreet, tmp_path):
    discreet("demo", "--rows", "2000", cwd=tmp_path)
    common = ("--schema", "discreet-demo/schema.toml", "--numeric", "gaussian", "--epsilon", "2")
    plan = discreet("plan", *common, "--sensitivity", "smooth", cwd=tmp_path)
    assert plan.returncode == 0 and "mean of age" in plan.stdout and "nan" not in plan.stdout.lower()
    words = ("discreet-demo/train.csv", *common, "--estimator", "bun-steinke", "--out", "m.json")
    assert discreet("fit", *words, cwd=tmp_path).returncode == 0
    shown = discreet("inspect", "m.json", cwd=tmp_path)
    assert shown.returncode == 0 and "epsilon = 2" in shown.stdout
    refused = discreet("plan", "--schema", "discreet-demo/schema.toml", "--sensitivity", "smooth", cwd=tmp_path)
    assert refused.returncode == 2 and "numeric='gaussian'" in refused.stderr
