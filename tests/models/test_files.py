"""Model files of version 0.1: every kind loads by `discreet.load` and answers as it did when it was saved."""

import json
from pathlib import Path

import numpy as np
import pytest

import discreet
from discreet import ModelError, ReleasedModel
from discreet.kinds import find, kinds

FILES = Path(__file__).parent / "files"
ANSWERS = json.loads((FILES / "answers.json").read_text())


def rows_of(answer):
    return np.array([[np.nan if value is None else value for value in row] for row in answer["rows"]])


@pytest.mark.parametrize("name", ANSWERS)
def test_files_of_the_first_version_answer_as_they_did(name):
    answer = ANSWERS[name]
    model = discreet.load(FILES / f"v0.1-{name}.json")
    assert isinstance(model, ReleasedModel)
    rows = rows_of(answer)
    scores = model.predict_proba(rows) if model.probabilistic else model.decision_function(rows)
    # Exponentials of another machine may differ in their last digit.
    assert np.allclose(scores, answer["scores"], rtol=1e-12, atol=1e-300)
    assert model.predict(rows).tolist() == answer["labels"]
    told = [{key: one[key] for key in ("name", "kind")} for one in model.kinds]
    assert told == answer["features"] and model.most_frequent() == answer["most_frequent"]
    assert repr(model) == answer["repr"]


@pytest.mark.parametrize("name", ANSWERS)
def test_files_of_the_first_version_come_out_as_they_went_in(name, tmp_path):
    file = FILES / f"v0.1-{name}.json"
    model = discreet.load(file)
    model.save(tmp_path / "again.json")
    assert json.loads((tmp_path / "again.json").read_text()) == json.loads(file.read_text())
    assert type(model).load(file).to_dict() == model.to_dict()
    assert (model.evaluation is not None) == (name == "held-out")


def test_every_kind_stands_here():
    """By its name; chosen features are a Naive Bayes file, and "auto" is a file of whatever it chose."""
    stored = {file.stem.removeprefix("v0.1-") for file in FILES.glob("v0.1-*.json")}
    assert {kind.name for kind in kinds()} - stored <= {"selective"}
    assert find("selective").format == find("naive-bayes").format


def test_every_kind_of_file_stands_here():
    found = {json.loads(file.read_text())["format"] for file in FILES.glob("v0.1-*.json")}
    assert found == {kind.format for kind in kinds() if kind.format.startswith("discreet/")}


@pytest.mark.parametrize("name", ANSWERS)
def test_another_certificate_makes_a_copy(name):
    model = discreet.load(FILES / f"v0.1-{name}.json")
    other = model.certificate.model_copy(update={"assumptions": ("another",)})
    copied = model.with_certificate(other)
    assert type(copied) is type(model) and copied.certificate == other and model.certificate != other
    assert copied.to_dict() == {**model.to_dict(), "certificate": other.model_dump(mode="json")}
    with pytest.raises(ModelError, match="another schema"):
        model.with_certificate(other.model_copy(update={"schema_hash": "0" * 64}))
    measured = discreet.load(FILES / "v0.1-held-out.json").evaluation
    assert model.with_certificate(other, measured).evaluation == measured
    assert copied.evaluation == model.evaluation


@pytest.mark.parametrize("name", ANSWERS)
def test_a_model_describes_itself(name):
    model = discreet.load(FILES / f"v0.1-{name}.json")
    told = json.loads(json.dumps(model.describe()))
    assert told["model"] == model.NAME and told["features"] == model.kinds
    assert told["certificate"] == model.certificate.model_dump(mode="json")


def test_no_rows_have_no_answers():
    for name in ANSWERS:
        model = discreet.load(FILES / f"v0.1-{name}.json")
        none = np.empty((0, 3))
        assert model.predict(none).shape == (0,)
        if model.probabilistic:
            assert model.predict_proba(none).shape == (0, len(model.classes))


@pytest.mark.parametrize(
    ("content", "words"),
    [
        ("{}", "not a model of discreet"),
        ("[]", "not a model of discreet"),
        ('{"format": "other/model"}', "not a model of discreet"),
        ('{"format": "discreet/evaluation", "version": 1}', "not a model of discreet"),
        ('{"format": ["discreet/joint"]}', "not a model of discreet"),
        ('{"format": "discreet/joint", "version": 2}', "version 2"),
        ('{"format": "discreet/joint", "version": 1}', "damaged"),
        ('{"format": "discreet/joint", "version": 1, "schema": 1, "certificate": 1}', "schema is damaged"),
        ("NaN", "damaged or no model file"),
        ("[" * 100_000, "nested too deeply"),
        ("\x00", "damaged or no model file"),
    ],
)
def test_foreign_and_damaged_files_are_refused_in_one_sentence(content, words, tmp_path):
    (tmp_path / "m.json").write_text(content)
    with pytest.raises(ModelError, match=words) as caught:
        discreet.load(tmp_path / "m.json")
    assert "\n" not in str(caught.value) and str(caught.value).startswith(str(tmp_path / "m.json"))


def test_files_that_are_not_there_are_refused(tmp_path):
    for place in (tmp_path, tmp_path / "absent.json"):
        with pytest.raises(ModelError, match="cannot read the model"):
            discreet.load(place)


@pytest.mark.parametrize("name", ANSWERS)
@pytest.mark.parametrize("key", ["schema", "certificate", "log_prior", "weights", "features", "table", "trees"])
def test_a_file_without_one_of_its_parts_is_refused(name, key, tmp_path):
    fields = json.loads((FILES / f"v0.1-{name}.json").read_text())
    if key not in fields:
        return
    for changed in ({k: v for k, v in fields.items() if k != key}, {**fields, key: None}, {**fields, key: "text"}):
        (tmp_path / "m.json").write_text(json.dumps(changed))
        with pytest.raises(ModelError):
            discreet.load(tmp_path / "m.json")
