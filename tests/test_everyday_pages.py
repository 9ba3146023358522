"""The pages on predictions, explanations, synthetic rows and epsilon are followed literally, on made-up patients."""

import gzip
import re
import shlex
from functools import partial

import matplotlib
import numpy as np
import pandas as pd
import pytest

from discreet import Categorical, Numeric, PrivateClassifier, PrivateHoldout, PrivateNB, Schema
from discreet.cli import app
from discreet.cli.running import run
from discreet.dossier import template
from tests import pages

SCHEMA = Schema([Numeric("age", 0, 100, integer=True), Categorical("sex", ["F", "M"])], "ill", ["no", "yes"])
PAGES = ("predictions.md", "explanation.md", "synthetic-rows.md", "choosing-epsilon.md", "dossier.md")


@pytest.fixture(scope="module")
def patients():
    rng = np.random.default_rng(0)
    ill = rng.random(2000) < 0.4
    return pd.DataFrame(
        {
            "id": range(2000),
            "ward": rng.choice(["a", "b"], 2000),
            "age": rng.normal(40 + 20 * ill, 12).clip(0, 100).round().astype(int),
            "sex": rng.choice(["F", "M"], 2000),
            "ill": np.where(ill, "yes", "no"),
        }
    )


@pytest.fixture
def place(tmp_path, monkeypatch, patients):
    monkeypatch.chdir(tmp_path)
    matplotlib.use("Agg")
    SCHEMA.save("schema.toml")
    (tmp_path / "answers.toml").write_text(template())  # as `--questions > answers.toml` leaves it
    for name in ("patients", "new", "test"):
        patients.to_csv(f"{name}.csv", index=False)
    patients.to_json("patients.jsonl", orient="records", lines=True)
    (tmp_path / "patients.csv.gz").write_bytes(gzip.compress((tmp_path / "patients.csv").read_bytes()))
    PrivateNB(1.0, schema=SCHEMA).fit(patients).model_.save("model.json")
    return tmp_path


@pytest.mark.parametrize("page", PAGES)
def test_commands(page, place, patients):
    commands = re.findall(r"^\$ (.*)$", "".join(pages.blocks(page, "console")), re.MULTILINE)
    assert commands
    for command in commands:
        words = shlex.split(command.replace("--questions > answers.toml", "--questions"))
        piped = "zcat" in words  # here a file stands for standard input
        if piped:
            words = ["discreet", "predict", "model.json", "patients.csv.gz", "--keep", "id", "--out", "answers.csv"]
        assert words[0] == "discreet"
        assert not run(partial(app, words[1:], standalone_mode=False)), command
    written = [word for command in commands for word in shlex.split(command) if re.search(r"\.(svg|parquet)$", word)]
    assert all((place / name).stat().st_size for name in written)


def test_python(place, patients):
    private = PrivateNB(1.0, schema=SCHEMA).fit(patients)
    names = {"PrivateHoldout": PrivateHoldout, "PrivateClassifier": PrivateClassifier, "schema": SCHEMA}
    for page in (*PAGES[:2], "dossier.md"):
        given = {"patients": patients, "new_rows": patients.head(), "clf": private, "folder": place / "documents"}
        pages.run(pages.blocks(page), page, **names, **given)
    assert (place / "shapes.svg").stat().st_size
