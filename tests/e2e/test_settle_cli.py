"""Private bounds from the command line: a draft without bounds, a settlement, a plan and a fit that pays for it."""

import json
import re

import numpy as np
import pandas as pd
import pytest

from discreet import Numeric, Schema


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    folder = tmp_path_factory.mktemp("settle")
    rng = np.random.default_rng(2)
    y = rng.integers(0, 2, 5000)
    table = pd.DataFrame({"wage": np.exp(rng.normal(8 + y, 0.5, 5000)).round(2), "age": rng.integers(18, 80, 5000)})
    table.assign(y=y).to_csv(folder / "rows.csv", index=False)
    return folder


def test_from_a_draft_to_a_model(discreet, place):
    drafted = discreet("schema", "rows.csv", "-t", "y", "--bounds", "private", "-o", "open.toml", cwd=place)
    assert drafted.returncode == 0 and "bounds are left open" in drafted.stderr
    assert Schema.load(place / "open.toml").unsettled == ("wage", "age")
    assert "lower" not in (place / "open.toml").read_text()

    settled = discreet(
        "bounds", "rows.csv", "-s", "open.toml", "--epsilon", 1, "-o", "settled.toml", "--certificate", "cost.json",
        cwd=place,
    )  # fmt: skip
    assert settled.returncode == 0 and "private bounds, at epsilon = 1" in settled.stdout
    assert Schema.load(place / "settled.toml").unsettled == ()
    assert json.loads((place / "cost.json").read_text())["epsilon"] == "1"

    planned = discreet("plan", "-s", "open.toml", "--epsilon", 1, "--json", cwd=place)
    assert json.loads(planned.stdout)["settlement"]["epsilon"] == pytest.approx(0.1)
    fitted = discreet("fit", "rows.csv", "-s", "open.toml", "--epsilon", 1, "-o", "model.json", cwd=place)
    assert fitted.returncode == 0 and " with epsilon = 1 " in fitted.stdout


def test_what_was_spent_is_always_on_record(discreet, place):
    Schema([Numeric("wage", bounds="private"), Numeric("age", 0, 100)], "y", [0, 1]).save(place / "part.toml")
    arguments = ("settle", "rows.csv", "-s", "part.toml", "--epsilon", "0.5")
    for out in ("plain.json", "plain.toml"):
        settled = discreet(*arguments, "-o", out, cwd=place)
        assert settled.returncode == 0 and "wrote plain.certificate.json" in settled.stdout
        record = json.loads((place / "plain.certificate.json").read_text())
        assert record["epsilon"] == "1/2" and record["schema_hash"] == Schema.load(place / out).hash
        (place / "plain.certificate.json").unlink()
    clash = discreet(*arguments, "-o", "same.json", "--certificate", "same.json", cwd=place)
    assert clash.returncode == 2 and "files of their own" in clash.stderr and not (place / "same.json").exists()


def test_costs_of_two_measures_are_told_apart(discreet, place):
    Schema([Numeric("wage", bounds="private"), Numeric("age", 0, 100)], "y", [0, 1]).save(place / "part.toml")
    discreet(
        "fit", "rows.csv", "-s", "part.toml", "--bounds", "private", "--delta", "1e-6", "--mechanism", "gaussian",
        "-o", "mixed.json", cwd=place,
    )  # fmt: skip
    shown = discreet("inspect", "mixed.json", cwd=place).stdout
    charges = json.loads((place / "mixed.json").read_text())["certificate"]["ledger"]
    assert '"rho"' in json.dumps(charges) and '"epsilon"' in json.dumps(charges)
    words = " ".join(shown.split())
    assert re.search(r"Laplace .*epsilon 0\.05", words) and re.search(r"Gaussian .*rho 0\.", words)
    assert not re.search(r"variance +epsilon\b", shown)


def test_bounds_settled_without_privacy_stay_disclosed(discreet, place):
    Schema([Numeric("wage", bounds="private"), Numeric("age", 0, 100)], "y", [0, 1]).save(place / "part.toml")
    settled = discreet("settle", "rows.csv", "-s", "part.toml", "--epsilon", "inf", "-o", "exact.json", cwd=place)
    assert settled.returncode == 0 and "for study" in settled.stderr
    fitted = discreet("fit", "rows.csv", "-s", "exact.json", "-o", "later.json", cwd=place)
    assert fitted.returncode == 0 and "read off the data" in fitted.stderr
    shown = discreet("inspect", "later.json", cwd=place).stdout
    assert "but the schema was read off the data" in shown and "assumed public" in " ".join(shown.split())


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("settle", "rows.csv", "--epsilon", "1", "-o", "x.toml"), "a schema is needed"),
        (
            ("fit", "rows.csv", "-s", "ready.toml", "--bounds", "private", "--bounds-share", "1", "-o", "x.json"),
            "bounds_share",
        ),
    ],
)
def test_bad_settings_are_one_sentence(discreet, place, arguments, words):
    Schema([Numeric("wage", 0, 1e9), Numeric("age", 0, 100)], "y", [0, 1]).save(place / "ready.toml")
    result = discreet(*arguments, cwd=place)
    assert result.returncode == 2 and words in result.stderr and "Traceback" not in result.stderr
    assert not (place / "x.toml").exists() and not (place / "x.json").exists()
