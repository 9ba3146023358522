"""The everyday path: a messy CSV file, five commands and one edit, and a model that can be looked at."""

from __future__ import annotations

import json
import random

import pytest

from discreet import Date, Numeric, Schema
from discreet.models import load

ROWS = 500


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    """Forty columns with semicolons, decimal commas, limits of detection, units, dates, ids, free text and gaps."""
    folder, rng = tmp_path_factory.mktemp("everyday"), random.Random(5)
    labs = [f"lab_{i:02d}" for i in range(28)]
    head = [
        "patient_id",
        "ward",
        "sex",
        "admitted",
        "discharged",
        "age",
        "crp",
        "weight",
        "smoker",
        "icd",
        "note",
        *labs,
        "ill",
    ]
    lines = [";".join(head)]
    for i in range(ROWS):
        ill = rng.random() < 0.5
        crp = rng.lognormvariate(1.5 + 2 * ill, 0.7)
        shown = "<5" if crp < 5 else rng.choice(["n/a", ""]) if rng.random() < 0.05 else f"{crp:.1f}".replace(".", ",")
        lines.append(";".join([
            f"P{i:06d}", rng.choice(["A1", "A2", "B1"]), rng.choice("FM"),
            f"{rng.randint(1, 28):02d}.{rng.randint(1, 12):02d}.{rng.randint(2018, 2023)}",
            f"202{rng.randint(0, 3)}-{rng.randint(1, 12):02d}-{rng.randint(1, 28):02d}", str(rng.randint(18, 95)),
            shown,
            f"{rng.gauss(75, 12):.0f} kg", rng.choice(["yes", "no"]), rng.choice(["E11", "E10", "I21"]),
            f"seen {rng.random()}",
            *("" if rng.random() < 0.02 else f"{rng.gauss(10 + ill, 3):.2f}".replace(".", ",") for _ in labs),
            "yes" if ill else "no",
        ]))  # fmt: skip
    (folder / "visits.csv").write_text("\n".join(lines) + "\n", encoding="utf-8")
    assert len(head) == 40
    return folder


def test_from_a_messy_file_to_a_model_in_five_commands(discreet, place):
    looked = discreet("check", "visits.csv", cwd=place)
    assert looked.returncode == 0 and "read by parse = 'comma; below=half; missing=n/a'" in looked.stdout
    assert "for the holder of the data only" in looked.stderr

    drafted = discreet("schema", "visits.csv", "--target", "ill", "--out", "visits.toml", cwd=place)
    assert drafted.returncode == 0 and "left out 'patient_id'" in drafted.stderr and "left out 'note'" in drafted.stderr
    text = (place / "visits.toml").read_text()
    schema = Schema.load(place / "visits.toml")
    features = {one.name: one for one in schema.features}
    assert len(features) == 37 and schema.classes == ("no", "yes") and '# id = "patient_id"' in text
    assert features["crp"].parse == "comma; below=half; missing=n/a" and features["crp"].missing == "bin"
    assert features["weight"].parse == "unit=kg" and features["lab_00"].parse == "comma"
    assert isinstance(features["admitted"], Date) and features["admitted"].format == "%d.%m.%Y"
    assert isinstance(features["discharged"], Date) and features["discharged"].format is None
    assert isinstance(features["age"], Numeric) and features["icd"].categories == ("E10", "E11", "I21")
    assert 'transform = "log1p"' in text.split('name = "crp"')[0].rsplit("\n\n", 1)[1]

    again = discreet("schema", "visits.csv", "--target", "ill", "--out", "visits.toml", cwd=place)
    assert again.returncode == 2 and "--force" in again.stderr and (place / "visits.toml").read_text() == text
    upper = f"upper = {features['crp'].upper}"
    (place / "visits.toml").write_text(text.replace(upper, "upper = 1.0", 1))
    wrong = discreet("check", "visits.csv", "--schema", "visits.toml", cwd=place)
    assert wrong.returncode == 1 and "values above upper = 1, clipped to it" in wrong.stdout
    found = json.loads(discreet("check", "visits.csv", "--schema", "visits.toml", "--json", cwd=place).stdout)
    assert [one["column"] for one in found["findings"] if one["problem"]] == ["crp"] and found["rows"] == ROWS

    edited = text.replace(upper, 'upper = 1000\ntransform = "log1p"', 1).replace("inferred = true", "inferred = false")
    (place / "visits.toml").write_text(edited)
    assert discreet("check", "visits.csv", "--schema", "visits.toml", cwd=place).returncode == 0
    fitted = discreet("fit", "visits.csv", "-s", "visits.toml", "--epsilon", 4, "-o", "model.json", cwd=place)
    assert fitted.returncode == 0 and "Traceback" not in fitted.stderr
    shown = discreet("inspect", "model.json", cwd=place)
    assert shown.returncode == 0 and "epsilon = 4" in shown.stdout and "read off" not in shown.stdout
    assert load(place / "model.json").schema.features[5].transform == "log1p"


def test_five_commands_and_one_edit(discreet, place):
    """What a newcomer types, word for word: nothing else is run, and nothing is a traceback."""
    shown = []

    def say(line):
        done = discreet(*line.split(), cwd=place)
        assert done.returncode == 0 and "Traceback" not in done.stderr, (line, done.stderr)
        shown.append(done.stdout)

    say("check visits.csv")
    say("schema visits.csv --target ill --out five.toml")
    draft = (place / "five.toml").read_text()
    # The one edit: bounds and categories are looked over by a person, who then says that they are public.
    (place / "five.toml").write_text(draft.replace("inferred = true", "inferred = false"))
    say("check visits.csv --schema five.toml")
    say("fit visits.csv --schema five.toml --epsilon 4 --holdout 0.2 --out five.json")
    say("inspect five.json")
    assert "accuracy" in shown[3] and "accuracy" in shown[4] and "epsilon = 4" in shown[4]
    model = load(place / "five.json")
    assert model.evaluation is not None and len(model.schema.features) == 37


@pytest.mark.parametrize(
    ("words", "code", "said"),
    [
        (["check", "visits.csv", "--schema", "none.toml"], 2, "cannot read the schema"),
        (["check", "none.csv", "--schema", "visits.toml"], 2, "none.csv"),
        (["schema", "visits.csv", "--target", "age"], 2, "holds numbers (78 different ones), which are no classes"),
        (["schema", "visits.csv"], 2, "discreet schema DATA --target COLUMN"),
    ],
)
def test_slips_are_one_sentence(discreet, place, words, code, said):
    done = discreet(*words, cwd=place)
    assert done.returncode == code and said in done.stderr and done.stderr.count("\n") == 1


def test_the_schema_of_editors_is_printed(discreet):
    assert json.loads(discreet("schema", "--json-schema").stdout)["required"] == ["target", "classes", "features"]
