"""The comparison of models: its figures, and the command that insists on a word about the rows."""

import json
import math

import pytest
from typer.testing import CliRunner

from discreet import Categorical, Schema
from discreet.cli import app
from discreet.errors import BudgetError, DiscreetError
from discreet.kinds import names
from discreet.tuning.compare import MAJORITY, compare_models

SCHEMA = Schema([Categorical("a", [0, 1]), Categorical("b", [0, 1])], "y", [0, 1])


@pytest.fixture(scope="module")
def rows():
    import numpy as np

    rng = np.random.default_rng(0)
    X = rng.integers(0, 2, (300, 2))
    return X, np.where(rng.random(300) < 0.9, X[:, 0], 1 - X[:, 0])


def test_all_models_at_all_levels(rows):
    seen = []
    figures = compare_models(
        rows[0], SCHEMA, rows[1], epsilons=[5.0], repeats=2, progress=lambda done, total: seen.append((done, total))
    )
    assert {(one.model, one.epsilon) for one in figures} == {
        (MAJORITY, math.inf),
        *((name, e) for name in names() for e in (5.0, math.inf)),
    }
    assert all(one.accuracy > 0.8 for one in figures if one.model != MAJORITY)
    assert all(one.repeats == 2 and math.isfinite(one.error) for one in figures)
    assert seen[-1][0] == seen[-1][1]
    assert figures == compare_models(rows[0], SCHEMA, rows[1], epsilons=[5.0], repeats=2)


def test_no_privacy_is_one_level_also_when_asked_for(rows):
    figures = compare_models(rows[0], SCHEMA, rows[1], models=["nb"], epsilons=[math.inf, 5.0, 5.0], repeats=2)
    assert [(one.model, one.epsilon, one.repeats) for one in figures] == [
        (MAJORITY, math.inf, 2), ("nb", math.inf, 2), ("nb", 5.0, 2)
    ]  # fmt: skip


def test_mistakes_show_before_any_work(rows):
    with pytest.raises(BudgetError, match="no model 'knn'"):
        compare_models("no such file", SCHEMA, models=["knn"])
    with pytest.raises(BudgetError, match="above zero"):
        compare_models("no such file", SCHEMA, epsilons=[0.0])
    with pytest.raises(BudgetError, match="repeat"):
        compare_models("no such file", SCHEMA, repeats=0)


@pytest.fixture
def command(frame, schema, tmp_path):
    """Run the command in this process: the answer, or the error it would print."""
    frame.to_csv(tmp_path / "rows.csv", index=False)
    schema.save(tmp_path / "schema.toml")
    common = ["compare", tmp_path / "rows.csv", "--schema", tmp_path / "schema.toml", "--models", "nb,tree"]

    def run(*words):
        return CliRunner().invoke(app, [str(word) for word in (*common, *words)])

    return run


@pytest.mark.parametrize("words", [(), ("--public", "--spend")])
def test_the_command_wants_a_word_about_the_rows(command, words):
    refused = command(*words)
    assert isinstance(refused.exception, DiscreetError) and "--public" in str(refused.exception)


@pytest.mark.parametrize(
    "words",
    [("--epsilons", "one"), ("--plot", "chart.doc"), ("--models", "knn"), ("--models", ","), ("--epsilons", "-1")],
)
def test_mistakes_of_the_command(command, words):
    assert isinstance(command("--public", *words).exception, DiscreetError)


def test_the_command_says_what_its_figures_are(command, tmp_path):
    told = command("--spend", "--repeats", 1, "--plot", tmp_path / "chart.svg")
    assert told.exit_code == 0 and "given up" in told.stderr and "decision tree" in told.stdout
    assert (tmp_path / "chart.svg").read_text().startswith("<?xml")
    answer = json.loads(command("--public", "--json", "--epsilons", "1").stdout)
    assert "public" in answer["warning"] and {one["model"] for one in answer["figures"]} == {"nb", "tree", "majority"}


def test_help_and_errors_name_every_model():
    wide = CliRunner().invoke(app, ["compare", "--help"], env={"COLUMNS": "300", "TERM": "dumb"}).output
    assert f"Some of {', '.join(names())}." in wide and "naive-bayes,svm,logistic,tree,forest" in wide
    refused = CliRunner().invoke(app, ["compare", "rows.csv", "--public", "--models", ","])
    assert isinstance(refused.exception, BudgetError) and str(refused.exception).endswith(", ".join(names()))
