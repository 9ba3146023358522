"""Network models: files that come back whole, files that are refused, and the commands that read them."""

import copy
import json

import numpy as np
import pytest
from typer.testing import CliRunner

from discreet import JointModel, ModelError, Schema, TANModel
from discreet.cli import app
from discreet.dependence import PrivateJointHistogram, PrivateTAN
from discreet.models import load_model


@pytest.fixture(scope="module")
def joint(schema, frame):
    few = Schema([schema.features[0], schema.features[2], schema.features[3]], "ill", ["no", "yes"])
    return PrivateJointHistogram(5, schema=few, random_state=0).fit(frame)


@pytest.fixture(scope="module")
def tan(schema, frame):
    fitted = PrivateTAN(50, schema=schema, random_state=0).fit(frame)
    assert len(fitted.model_.pairs) > 1
    return fitted


def test_a_saved_model_predicts_the_same(joint, tan, frame, tmp_path):
    for fitted, kind in ((joint, JointModel), (tan, TANModel)):
        fitted.model_.save(tmp_path / "model.json")
        for again in (kind.load(tmp_path / "model.json"), load_model(tmp_path / "model.json")):
            assert np.array_equal(again.predict_proba(frame), fitted.model_.predict_proba(frame))
        assert fitted.model_.predict(frame).tolist() == fitted.predict(frame).tolist()
        assert np.allclose(fitted.predict_proba(frame).sum(axis=1), 1)
        assert str(len(fitted.model_.classes)) in repr(fitted.model_)


def changed(fields, *path, to):
    fields = copy.deepcopy(fields)
    place = fields
    for step in path[:-1]:
        place = place[step]
    place[path[-1]] = to
    return fields


COMMON = [
    (("format",), "discreet/other", "not a"),
    (("version",), 9, "version"),
    (("log_prior",), [0.0], "probabilities"),
    (("log_prior",), "text", "damaged"),
    (("certificate", "schema_hash"), "0", "another schema"),
    (("certificate", "epsilon"), "1/100", "more epsilon"),
    (("schema", "classes"), ["one"], "schema"),
]
JOINT = [(("table",), [[0.0]], "shape"), (("table", 0, 0), 1e300, "range"), (("table", 0, 0), None, "range")]
TAN = [
    (("features",), [], "features and pairs"),
    (("features", 0), [[0.0]], "shape"),
    (("features", 0, 0, 0), 1e300, "range"),
    (("pairs", 0, "first"), "nobody", "does not have"),
    (("pairs", 0, "log_ratio"), [[[0.0]]], "shape"),
    (("pairs",), 7, "damaged"),
]


def refused(model, path, to, words, file):
    file.write_text(json.dumps(changed(model.to_dict(), *path, to=to)))
    with pytest.raises(ModelError, match=words):
        type(model).load(file)


@pytest.mark.parametrize(("path", "to", "words"), COMMON + JOINT)
def test_damaged_joint_files_are_refused(joint, path, to, words, tmp_path):
    refused(joint.model_, path, to, words, tmp_path / "bad.json")


@pytest.mark.parametrize(("path", "to", "words"), COMMON + TAN)
def test_damaged_tan_files_are_refused(tan, path, to, words, tmp_path):
    refused(tan.model_, path, to, words, tmp_path / "bad.json")


def test_cycles_and_cut_files_are_refused(tan, tmp_path):
    fields = tan.model_.to_dict()
    fields["pairs"] = [*fields["pairs"], fields["pairs"][0]]
    with pytest.raises(ModelError, match="forest"):
        TANModel.from_dict(fields)
    twice = changed(tan.model_.to_dict(), "pairs", 0, "second", to=fields["pairs"][0]["first"])
    with pytest.raises(ModelError, match="does not have"):
        TANModel.from_dict(twice)
    (tmp_path / "cut.json").write_text(json.dumps(fields)[:-20])
    with pytest.raises(ModelError, match="damaged"):
        TANModel.load(tmp_path / "cut.json")
    with pytest.raises(ModelError, match="cannot read"):
        JointModel.load(tmp_path / "absent.json")


def test_the_commands_read_networks(joint, tan, frame, tmp_path):
    rows = tmp_path / "rows.csv"
    frame.to_csv(rows, index=False)

    def discreet(*words):
        answer = CliRunner().invoke(app, [str(word) for word in words])
        assert answer.exit_code == 0, answer.exception
        return answer.stdout

    for fitted, words in ((joint, "joint"), (tan, "K-norm")):
        model = tmp_path / "model.json"
        fitted.model_.save(model)
        assert words in discreet("inspect", model)
        figures = json.loads(discreet("evaluate", model, rows, "--twin", rows, "--json"))
        assert figures["accuracy"] == pytest.approx(fitted.score(frame, frame["ill"]))
        assert "non_private" in figures
        discreet("predict", model, rows, "--proba", "--out", tmp_path / "answers.csv")
        assert len((tmp_path / "answers.csv").read_text().splitlines()) == len(frame) + 1
