"""discreet select: features on standard output, a reduced schema on disk, sentences where it cannot be done."""

from __future__ import annotations

import json

import numpy as np
import pandas as pd
import pytest

from discreet import Categorical, Certificate, Schema

SCHEMA = Schema([Categorical(name, [0, 1]) for name in "abcdef"], "y", ["n", "y"])


@pytest.fixture(scope="module")
def job(tmp_path_factory):
    folder = tmp_path_factory.mktemp("select")
    rng = np.random.default_rng(1)
    label = rng.integers(0, 2, 3000)
    frame = pd.DataFrame(rng.integers(0, 2, (3000, 6)), columns=list("abcdef"))
    frame["c"] = np.where(rng.random(3000) < 0.9, label, 1 - label)
    frame["e"] = np.where(rng.random(3000) < 0.8, label, 1 - label)
    frame["y"] = np.where(label, "y", "n")
    frame.to_csv(folder / "rows.csv", index=False)
    SCHEMA.save(folder / "schema.toml")
    return folder


def test_features_and_schema(job, discreet):
    done = discreet(
        "select", "rows.csv", "--schema", "schema.toml", "--k", 2, "--epsilon", 0.2, "--out", "kept.toml",
        "--certificate", "choice.json", cwd=job,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert done.stdout.split() == ["c", "e"]
    assert Schema.load(job / "kept.toml").names == ("c", "e")
    certificate = Certificate.model_validate_json((job / "choice.json").read_text())
    assert certificate.epsilon == "1/5" and not certificate.simulation
    fitted = discreet("fit", "rows.csv", "--schema", "kept.toml", "--epsilon", 0.5, "--out", "model.json", cwd=job)
    assert fitted.returncode == 0, fitted.stderr


def test_json(job, discreet):
    done = discreet(
        "select", "rows.csv", "-s", "schema.toml", "-k", 1, "--score", "count", "--selector", "mask", "--seed", 1,
        "--json", cwd=job,
    )  # fmt: skip
    found = json.loads(done.stdout)
    assert found["features"] == ["c"]
    assert Schema.load(job / found["schema"]).names == ("c",)  # a choice that was paid for is never lost
    assert found["certificate"]["simulation"] is True


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (["-k", "9"], "k must be"),
        (["-s", "none.toml"], "cannot read the schema"),
        (["--score", "mutual-information"], "max_rows"),
        (["--out", "nowhere/kept.toml"], "no directory"),
        (["--epsilon", "0"], "epsilon"),
        (["-s", "rows.toml", "--out", "./rows.toml"], "another --out"),
    ],
)
def test_errors_are_one_sentence(job, discreet, tmp_path, options, words):
    SCHEMA.save(tmp_path / "rows.toml")
    given = ["-s", job / "schema.toml", "-k", "2", *options]
    done = discreet("select", job / "rows.csv", *given, cwd=tmp_path)
    assert done.returncode == 2
    assert words in done.stderr and "Traceback" not in done.stderr
    assert done.stdout == ""
    assert not (tmp_path / "selected.toml").exists()
