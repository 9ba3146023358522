"""Model files and the commands that read them."""

import json

import numpy as np
import pytest

from discreet import AdditiveModel, Budget, Ledger, ModelError, PrivateAdditiveClassifier
from discreet.additive.blocks import Level
from discreet.errors import SchemaError
from discreet.evaluation.exact import evaluate, majority
from discreet.models import load_model


@pytest.fixture(scope="module")
def model(schema, frame):
    return PrivateAdditiveClassifier(2.0, schema, pairs=2, random_state=0).fit(frame).model_


def test_round_trip(model, frame, tmp_path):
    model.save(tmp_path / "model.json")
    rows = frame.drop(columns="ill")
    for again in (AdditiveModel.load(tmp_path / "model.json"), load_model(tmp_path / "model.json")):
        assert again.to_dict() == model.to_dict()
        assert (again.predict(rows) == model.predict(rows)).all()


@pytest.mark.parametrize(
    "damage",
    [
        {"version": 2},
        {"format": "discreet/linear"},
        {"knots": None},
        {"knots": [None]},
        {"knots": [None, None, [0, 1], None, None]},
        {"knots": [None, None, None, None, ["a", "b"]]},
        {"pairs": [[1, 0]]},
        {"pairs": [[0, 1, 2]]},
        {"pairs": [["a", "b"]]},
        {"pairs": 3},
        {"weights": [[1.0, 2.0]]},
        {"weights": "many"},
        {"weights": [["a"]]},
        {"certificate": {}},
        {"schema": {}},
        {"schema": None},
    ],
)
def test_damaged_files_are_one_sentence(model, damage, tmp_path):
    (tmp_path / "model.json").write_text(json.dumps({**model.to_dict(), **damage}))
    with pytest.raises(ModelError) as caught:
        AdditiveModel.load(tmp_path / "model.json")
    assert "\n" not in str(caught.value)


def test_missing_keys_foreign_schema_and_huge_weights(model, tmp_path):
    fields = model.to_dict()
    for key in fields:
        with pytest.raises(ModelError):
            AdditiveModel.from_dict({k: v for k, v in fields.items() if k != key})
    with pytest.raises(ModelError, match="another schema"):
        AdditiveModel.from_dict({**fields, "schema": {**fields["schema"], "target": "healthy"}})
    with pytest.raises(ModelError, match="range"):
        AdditiveModel.from_dict({**fields, "weights": (np.array(fields["weights"]) * 0 + 1e200).tolist()})
    for text in ("", "{", "[" * 100_000, "NaN"):
        (tmp_path / "bad.json").write_text(text)
        with pytest.raises(ModelError):
            AdditiveModel.load(tmp_path / "bad.json")
    with pytest.raises(ModelError, match="cannot read"):
        AdditiveModel.load(tmp_path / "absent.json")


def test_shapes_and_kinds(model, frame, schema):
    shape = model.shape("weight")
    assert shape["at"][0] == -2 and shape["at"][-1] == "(missing)" and shape["values"].shape == (1, len(shape["at"]))
    assert model.shape("colour")["at"] == ["red", "green", "blue", "(missing)"]
    with pytest.raises(ModelError, match="no shape"):
        model.shape("nothing")
    assert [kind["name"] for kind in model.kinds] == list(schema.names)
    assert "knots" in model.kinds[2]["kind"] and "cells" in model.kinds[0]["kind"]
    assert sum("pair" in kind["kind"] for kind in model.kinds) >= 2


def test_scores_are_sums_of_shapes(schema, frame):
    """A row's log-odds are the constant and one value of every shape."""
    plain = PrivateAdditiveClassifier(5.0, schema, pairs=0, random_state=0).fit(frame).model_
    row = frame.drop(columns="ill").iloc[[0]].assign(colour="green", size=2, age=18, weight=np.nan, dose=0.5)
    at = {"colour": "green", "size": "2", "age": 18, "weight": "(missing)", "dose": 0.5}
    total = float(plain.weights[0, -1])
    for name, value in at.items():
        shape = plain.shape(name)
        total += float(shape["values"][0, shape["at"].index(value)])
    logs = plain.predict_log_proba(row)[0]
    assert logs[1] - logs[0] == pytest.approx(total, abs=1e-9)


def test_levels_are_part_of_a_shape_and_are_checked_before_anything_is_charged(schema, frame):
    j, ledger = schema.names.index("weight"), Ledger(Budget(10))
    feature = schema.features[j]
    half = feature.lattice.half
    estimator = PrivateAdditiveClassifier(5.0, schema, pairs=0, random_state=0)
    for bad, words in [
        ((Level(99, (0,), (0, 1)),), "no feature"),
        ((Level(0, (0,), (0, 1)),), "no number"),
        ((Level(j, (half + 1,), (0, 1)),), "inside its bounds"),
        ((Level(j, (5, 5), (0, 1, 0)),), "do not rise"),
        ((Level(j, (0,), (0, 2)),), "numbered one by one"),
        ([Level(j, (0,), (0, 1))], "tuple of Level"),
        (("weight",), "tuple of Level"),
        (None, "tuple of Level"),
    ]:
        with pytest.raises(SchemaError, match=words):
            estimator.fit("no such file", levels=bad, ledger=ledger)
    assert not ledger.nodes
    cuts = (0, half // 2)
    model = estimator.fit(frame, levels=(Level(j, cuts, (0, 1, 0)),), ledger=ledger).model_
    assert len(ledger.nodes) == 1 and "levels" not in model.shape("dose")
    shape = model.shape("weight")
    (level,) = shape["levels"]
    assert level["from"] == [feature.lower, *(feature.lattice.value(cut) for cut in cuts), "(missing)"]
    assert level["values"].shape == (1, 4) and level["values"][0, 0] == level["values"][0, 2]
    rows = frame.drop(columns="ill").iloc[[0, 0]].assign(colour="green", size=2, age=18, dose=0.5)
    rows["weight"] = [np.nan, feature.lower]
    rest = sum(
        model.shape(name)["values"][0, model.shape(name)["at"].index(value)]
        for name, value in {"colour": "green", "size": "2", "age": 18, "dose": 0.5}.items()
    )
    logs = model.predict_log_proba(rows)
    for row, at in ((0, -1), (1, 0)):
        total = model.weights[0, -1] + rest + shape["values"][0, at] + level["values"][0, at]
        assert logs[row, 1] - logs[row, 0] == pytest.approx(float(total), abs=1e-9)


def test_evaluation_and_twin(model, frame):
    figures = evaluate(model, frame)
    assert figures["log_loss"] > 0 and 0 <= figures["auc"] <= 1
    assert majority(model, figures)["accuracy"] == pytest.approx((frame["ill"] == "no").mean())
    twin = model.twin(frame)
    assert not twin.certificate.private and twin.blocks == model.blocks
    assert evaluate(twin, frame)["accuracy"] >= (frame["ill"] == "no").mean() - 0.05


def test_commands(model, frame, tmp_path):
    from typer.testing import CliRunner

    from discreet.cli import app

    frame.to_csv(tmp_path / "rows.csv", index=False)
    file, rows = str(tmp_path / "model.json"), str(tmp_path / "rows.csv")
    model.save(file)
    run = CliRunner().invoke(app, ["predict", file, rows])
    assert run.exit_code == 0, run.output
    assert run.output.count("\n") == len(frame) + 1
    run = CliRunner().invoke(app, ["evaluate", file, rows, "--json"])
    assert json.loads(run.stdout)["n"] == len(frame)
    run = CliRunner().invoke(app, ["evaluate", file, rows, "--twin", rows])
    assert run.exit_code == 0 and "without privacy" in run.output
    run = CliRunner().invoke(app, ["inspect", file])
    assert run.exit_code == 0 and "SIMULATION" in run.output and "perturbation" in run.output
    run = CliRunner().invoke(app, ["inspect", file, "--json"])
    assert json.loads(run.stdout)["features"][0]["name"] == "colour"
