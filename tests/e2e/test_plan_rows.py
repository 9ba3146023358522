"""What a plan lets expect: errors, odds and accuracies, all from public knowledge."""

import json
import math
from functools import partial

import pytest

from discreet import Categorical, Numeric, PrivateNB, Schema
from discreet.cli import app
from discreet.cli.running import run
from discreet.simulation import made_up, odds

SCHEMA = Schema(
    [Categorical("a", ["u", "v"]), Numeric("x", 0, 10), Numeric("k", 0, 4, integer=True)], "y", ["no", "yes"]
)


def test_expected_errors_odds_and_accuracies(tmp_path, monkeypatch, capsys):
    SCHEMA.save(tmp_path / "s.toml")
    monkeypatch.chdir(tmp_path)
    words = ["plan", "--schema", "s.toml", "--epsilon", "0.5", "--model", "nb", "--rows", "2000"]
    assert not run(partial(app, [*words, "--json"], standalone_mode=False))
    found = json.loads(capsys.readouterr().out)["expected"]
    first = found["tables"][0]
    assert first["rows"] == 500 and first["error"] == pytest.approx(first["noise"] / 500)
    curve = [one["accuracy"] for one in found["accuracy"]]
    assert len(curve) == 6 and 0.5 < curve[0] <= max(curve) and curve[-2] > 0.7
    assert not run(partial(app, words, standalone_mode=False))
    said = capsys.readouterr().out
    assert "factor of 1.65" in said and "62.2%" in said and "made up after the schema, not on yours" in said


def test_odds_are_e_to_the_epsilon_times_those_before():
    for epsilon in (0.1, 1.0, 5.0):
        for one in odds(epsilon):
            ratio = one["after"] / (1 - one["after"]) / (one["before"] / (1 - one["before"]))
            assert ratio == pytest.approx(math.exp(epsilon))


def test_made_up_rows_fit_the_schema_and_are_always_the_same():
    rows = made_up(SCHEMA, 500, 1)
    assert rows.equals(made_up(SCHEMA, 500, 1)) and not rows.equals(made_up(SCHEMA, 500, 2))
    PrivateNB(1.0, schema=SCHEMA).fit(rows)
