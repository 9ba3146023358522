import json
import tomllib

import pytest

from tests.dossier.conftest import SCHEMA, rows


@pytest.fixture(scope="module")
def model(tmp_path_factory):
    from discreet import PrivateNB

    path = tmp_path_factory.mktemp("model") / "model.json"
    PrivateNB(1.0, schema=SCHEMA).fit(*rows(100)).model_.save(path)
    return path


def test_questions_answers_documents(discreet, model, tmp_path):
    asked = discreet("dossier", model, "--questions")
    assert asked.returncode == 0
    answers = tmp_path / "answers.toml"
    answers.write_text(asked.stdout.replace('name = ""', 'name = "Ward model"', 1))
    done = discreet("dossier", model, "--answers", answers, "--out", tmp_path / "out")
    assert done.returncode == 0 and "tier 2" in done.stdout and "product.curator" in done.stdout
    names = {path.name for path in (tmp_path / "out").iterdir()}
    assert names == {"dossier.html", "label.html", "ward_model.yaml", "questions.toml"}
    kept = tomllib.loads((tmp_path / "out/questions.toml").read_text())
    assert kept["product"]["name"] == "Ward model"
    again = discreet("dossier", model, "--answers", tmp_path / "out/questions.toml", "--out", tmp_path / "out")
    assert again.returncode == 2 and "would be written over" in again.stderr


def test_json_lists_what_is_missing(discreet, model, tmp_path):
    told = json.loads(discreet("dossier", model, "--out", tmp_path / "out", "--json").stdout)
    assert told["tier"] == 2 and {"key", "question", "tier"} == set(told["missing"][0])


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ([], "pass --out DIR"),
        (["--out", "{file}"], "is a file"),
        (["--out", "{out}", "--answers", "{none}"], "there is no file"),
        (["--out", "{out}", "--registry-schema", "{none}"], "cannot be read"),
        (["--out", "{out}", "--ask"], "--answers FILE"),
    ],
)
def test_slips_are_one_sentence(discreet, model, tmp_path, arguments, words):
    (tmp_path / "file").write_text("kept")
    places = {"file": tmp_path / "file", "out": tmp_path / "out", "none": tmp_path / "none"}
    done = discreet("dossier", model, *(one.format(**places) for one in arguments))
    assert done.returncode == 2 and words in done.stderr and "Traceback" not in done.stderr
    assert (tmp_path / "file").read_text() == "kept" and not (tmp_path / "out").exists()
