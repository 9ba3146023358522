"""Model files and the commands that read them."""

import json
import math

import numpy as np
import pytest

from discreet import LinearModel, ModelError, PrivateLogisticRegression, PrivateNB, PrivateSVC
from discreet.evaluation.exact import evaluate, majority
from discreet.models import load_model


@pytest.fixture(scope="module")
def models(schema, frame):
    return {
        "svm": PrivateSVC(2.0, schema, random_state=0).fit(frame).model_,
        "logistic": PrivateLogisticRegression(2.0, schema, numeric="scaled", random_state=0).fit(frame).model_,
    }


@pytest.mark.parametrize("kind", ["svm", "logistic"])
def test_round_trip(models, frame, kind, tmp_path):
    model = models[kind]
    model.save(tmp_path / "model.json")
    for again in (LinearModel.load(tmp_path / "model.json"), load_model(tmp_path / "model.json")):
        assert again.to_dict() == model.to_dict()
        assert (again.predict(frame.drop(columns="ill")) == model.predict(frame.drop(columns="ill"))).all()


def test_loader_knows_every_kind(schema, frame, tmp_path):
    PrivateNB(1.0, schema=schema, random_state=0).fit(frame).model_.save(tmp_path / "nb.json")
    assert type(load_model(tmp_path / "nb.json")).__name__ == "NaiveBayesModel"
    for text in ("{}", "[]", "[" * 100_000, '{"format": "discreet/other"}', '{"format": []}', "NaN", "{"):
        (tmp_path / "bad.json").write_text(text)
        with pytest.raises(ModelError):
            load_model(tmp_path / "bad.json")
    with pytest.raises(ModelError, match="cannot read"):
        load_model(tmp_path / "absent.json")


@pytest.mark.parametrize(
    "damage",
    [
        {"version": 2},
        {"format": "discreet/naive-bayes"},
        {"kind": "forest"},
        {"kind": None},
        {"numeric": "dense"},
        {"numeric": ["binned"]},
        {"weights": [[1.0, 2.0]]},
        {"weights": "many"},
        {"weights": [["a"]]},
        {"settings": []},
        {"settings": {"command": 1}},
        {"settings": {"ridge": 1}, "weights": None},
        {"certificate": {}},
        {"schema": {}},
        {"schema": None},
    ],
)
def test_damaged_files_are_one_sentence(models, damage, tmp_path):
    fields = {**models["svm"].to_dict(), **damage}
    (tmp_path / "model.json").write_text(json.dumps(fields))
    with pytest.raises(ModelError) as caught:
        LinearModel.load(tmp_path / "model.json")
    assert "\n" not in str(caught.value)


def test_missing_keys_foreign_schema_and_huge_weights(models, tmp_path):
    fields = models["svm"].to_dict()
    for key in fields:
        with pytest.raises(ModelError):
            LinearModel.from_dict({k: v for k, v in fields.items() if k != key})
    other = {**fields["schema"], "target": "healthy"}
    with pytest.raises(ModelError, match="another schema"):
        LinearModel.from_dict({**fields, "schema": other})
    with pytest.raises(ModelError, match="range"):
        LinearModel.from_dict({**fields, "weights": (np.array(fields["weights"]) * 0 + 1e200).tolist()})


def test_evaluation_and_twin(models, frame):
    figures = evaluate(models["logistic"], frame)
    assert figures["log_loss"] > 0 and 0 <= figures["auc"] <= 1
    assert majority(models["logistic"], figures)["accuracy"] == pytest.approx((frame["ill"] == "no").mean())
    plain = evaluate(models["svm"], frame)
    assert plain["log_loss"] is None
    for kind, model in models.items():
        twin = model.twin(frame)
        assert twin.kind == kind and not twin.certificate.private
        assert twin.settings["ridge"] == model.settings["ridge"]
        assert evaluate(twin, frame)["accuracy"] >= (frame["ill"] == "no").mean() - 0.05
    with pytest.raises(ModelError, match="decision_function"):
        models["svm"].predict_proba(frame.drop(columns="ill"))


def test_commands(models, frame, tmp_path):
    from typer.testing import CliRunner

    from discreet.cli import app

    frame.to_csv(tmp_path / "rows.csv", index=False)
    for kind, model in models.items():
        file = str(tmp_path / f"{kind}.json")
        model.save(file)
        run = CliRunner().invoke(app, ["predict", file, str(tmp_path / "rows.csv")])
        assert run.exit_code == 0, run.output
        assert run.output.count("\n") == len(frame) + 1
        run = CliRunner().invoke(app, ["evaluate", file, str(tmp_path / "rows.csv"), "--json"])
        assert math.isclose(json.loads(run.stdout)["n"], len(frame))
        run = CliRunner().invoke(
            app, ["evaluate", file, str(tmp_path / "rows.csv"), "--twin", str(tmp_path / "rows.csv")]
        )
        assert run.exit_code == 0 and "without privacy" in run.output
        run = CliRunner().invoke(app, ["inspect", file])
        assert run.exit_code == 0 and "SIMULATION" in run.output and "perturbation" in run.output
        run = CliRunner().invoke(app, ["inspect", file, "--json"])
        assert json.loads(run.stdout)["features"][0]["name"] == "colour"
