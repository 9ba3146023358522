"""Measuring without public rows, from the console."""

from __future__ import annotations

import json
from fractions import Fraction

import pytest

from discreet import Account, Budget, PrivateEvaluation, demo
from discreet.models import load_model
from tests.e2e.test_cli import as_json, ok


@pytest.fixture(scope="module")
def job(tmp_path_factory, discreet):
    """A directory with rows, a schema and a model that was measured on rows held out."""
    folder = tmp_path_factory.mktemp("measured")
    demo.write_rows(folder / "train.csv", 4000, seed=11)
    demo.write_rows(folder / "test.csv", 1500, seed=12)
    ok(discreet("schema", "train.csv", "--target", "income", "--out", "draft.toml", cwd=folder))
    text = (folder / "draft.toml").read_text()
    (folder / "s.toml").write_text(text.replace("inferred = true", "inferred = false"))
    fit = ["fit", "train.csv", "--schema", "s.toml", "--epsilon", "2", "--holdout", "0.3", "--out", "model.json"]
    (folder / "fit.out").write_text(ok(discreet(*fit, cwd=folder)).stdout)
    return folder


def test_fit_prints_and_inspect_shows_what_was_measured(job, discreet):
    found = load_model(job / "model.json").evaluation
    assert found.held_out == 0.3 and 900 < found.rows.value < 1500
    shown = ok(discreet("inspect", "model.json", cwd=job)).stdout
    for out in ((job / "fit.out").read_text(), shown):
        assert "AUC" in out and f"{found.auc.value:.4f}" in out and f"{found.auc.low:.4f}" in out
    assert "held out (share 0.3)" in shown and "epsilon = 2" in shown
    told = as_json(discreet("inspect", "model.json", "--json", cwd=job))["evaluation"]
    assert PrivateEvaluation.from_dict(told) == found


def test_evaluate_privately(job, discreet):
    command = ["evaluate", "model.json", "test.csv", "--epsilon", "0.5", "--adjacency", "replace"]
    shown = ok(discreet(*command, "--out", "figures.json", cwd=job))
    for words in ("accuracy", "balanced accuracy", "AUC", "noise alone", "predicted by column", "calibration"):
        assert words in shown.stdout
    assert "measured with epsilon = 0.5 (replace neighbours)" in shown.stdout and "NOT private" not in shown.stderr
    saved = PrivateEvaluation.load(job / "figures.json")
    assert saved.certificate.epsilon == "1/2" and saved.certificate.adjacency == "replace"
    exact = as_json(discreet("evaluate", "model.json", "test.csv", "--json", cwd=job))
    assert saved.accuracy.low - 0.1 < exact["accuracy"] < saved.accuracy.high + 0.1
    assert saved.confusion[0][0].value != exact["confusion"][0][0] or saved.rows.value != exact["n"]
    told = as_json(discreet(*command, "--seed", "1", "--json", cwd=job))
    assert told["certificate"]["simulation"] is True


def test_exact_figures_leave_out_what_is_absorbed(job, discreet):
    """Rows without a class: refused by a sentence that names a way on, and the way is one."""
    lines = (job / "test.csv").read_text().splitlines()
    (job / "gaps.csv").write_text("\n".join([*lines[:400], lines[1].rpartition(",")[0] + ","]) + "\n")
    refused = discreet("evaluate", "model.json", "gaps.csv", cwd=job)
    assert refused.returncode == 2 and "(--unexpected absorb)" in refused.stderr
    told = as_json(discreet("evaluate", "model.json", "gaps.csv", "--unexpected", "absorb", "--json", cwd=job))
    assert told["n"] == 399
    compared = ["compare", "gaps.csv", "--schema", "s.toml", "--models", "nb", "--epsilons", "1", "--repeats", "1"]
    assert discreet(*compared, "--public", cwd=job).returncode == 2
    assert "majority class" in ok(discreet(*compared, "--public", "--unexpected", "absorb", cwd=job)).stdout


def test_an_account_beside_the_rows_pays(job, discreet):
    (job / "ward.csv").write_text((job / "test.csv").read_text())
    account = Account.create(job / "ward.account", Budget(1))
    command = ["evaluate", "model.json", "ward.csv", "--epsilon", "0.75", "--out", "ward.json"]
    done = ok(discreet(*command, cwd=job))
    assert "ward.account" in done.stderr and account.spent == Fraction(3, 4)
    before = (job / "ward.json").read_text()
    done = discreet(*command, cwd=job)
    assert done.returncode == 2 and "left" in done.stderr and "Traceback" not in done.stderr
    assert account.spent == Fraction(3, 4) and (job / "ward.json").read_text() == before
    done = discreet("evaluate", "model.json", "ward.csv", "--account", "ward.account", cwd=job)
    assert done.returncode == 2 and "--epsilon" in done.stderr


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["evaluate", "model.json", "test.csv", "--epsilon", "0"], "above zero"),
        (["evaluate", "model.json", "test.csv", "--epsilon", "1", "--twin", "train.csv"], "--baseline"),
        (["evaluate", "model.json", "test.csv", "--epsilon", "1", "--confidence", "95"], "confidence"),
        (["evaluate", "model.json", "nowhere.csv", "--epsilon", "1"], "nowhere.csv"),
        (["fit", "train.csv", "--schema", "s.toml", "--holdout", "0.9", "--out", "x.json"], "share"),
        (["fit", "train.csv", "--schema", "s.toml", "--holdout", "0", "--out", "x.json"], "share"),
    ],
)
def test_mistakes_get_one_sentence(job, discreet, arguments, words):
    done = discreet(*arguments, cwd=job)
    assert done.returncode == 2 and words in done.stderr and "Traceback" not in done.stderr
    assert done.stderr.count("\n") == 1 and not (job / "x.json").exists()


def test_a_damaged_block_is_refused(job, discreet):
    fields = json.loads((job / "model.json").read_text())
    fields["evaluation"]["auc"]["low"] = 0.99999
    (job / "bent.json").write_text(json.dumps(fields))
    done = discreet("inspect", "bent.json", cwd=job)
    assert done.returncode == 2 and "measured figures are damaged" in done.stderr
