"""The tree model: files that come back whole, files that are refused, and exports for people."""

import copy
import json

import numpy as np
import pytest
from typer.testing import CliRunner

from discreet import ModelError, TreeModel
from discreet.cli import app
from discreet.models import load_model
from discreet.trees import PrivateForestClassifier, PrivateTreeClassifier


@pytest.fixture(scope="module")
def tree(schema, frame):
    return PrivateTreeClassifier(5, schema=schema, depth=2, random_state=0).fit(frame)


def test_a_saved_model_predicts_the_same(tree, frame, schema, tmp_path):
    for fitted in (tree, PrivateForestClassifier(1, schema=schema, n_estimators=4, random_state=0).fit(frame)):
        fitted.model_.save(tmp_path / "model.json")
        for again in (TreeModel.load(tmp_path / "model.json"), load_model(tmp_path / "model.json")):
            assert np.array_equal(again.predict_proba(frame), fitted.model_.predict_proba(frame))
        assert fitted.model_.predict(frame).tolist() == fitted.predict(frame).tolist()


def changed(fields, *path, to):
    fields = copy.deepcopy(fields)
    place = fields
    for step in path[:-1]:
        place = place[step]
    place[path[-1]] = to
    return fields


@pytest.mark.parametrize(
    ("path", "to", "words"),
    [
        (("format",), "discreet/other", "not a tree model"),
        (("version",), 9, "version"),
        (("trees", "yes", 0), 0, "after it"),
        (("trees", "no", 0), 99, "after it"),
        (("trees", "roots"), [], "roots"),
        (("trees", "roots"), [0, 1], "one parent"),
        (("trees", "feature", 0), 77, "does not have"),
        (("trees", "high", 0), 10**6, "does not have"),
        (("trees", "low", 0), 0.5, "whole numbers"),
        (("trees", "low"), [0], "lengths"),
        (("values",), [[0.0, 0.0]], "values"),
        (("values", 0, 0), 1e300, "range"),
        (("log_prior",), [0.0], "probabilities"),
        (("certificate", "schema_hash"), "0", "another schema"),
        (("certificate", "epsilon"), "1/100", "more epsilon"),
        (("schema", "classes"), ["one"], "schema"),
    ],
)
def test_damaged_files_are_refused(tree, path, to, words, tmp_path):
    fields = changed(tree.model_.to_dict(), *path, to=to)
    file = tmp_path / "bad.json"
    file.write_text(json.dumps(fields))
    with pytest.raises(ModelError, match=words):
        TreeModel.load(file)


def test_text_and_graphviz_show_every_node(tree):
    text, dot = tree.to_text(), tree.to_graphviz()
    size = len(tree.model_.nodes)
    assert len(text.splitlines()) == size
    assert text.splitlines()[0].endswith("?") and "yes: " in text and "no: " in text
    assert dot.startswith("digraph tree {") and dot.count(" -> ") == size - 1
    with pytest.raises(ModelError, match="no tree 1"):
        tree.to_text(1)


def test_quotes_in_names_do_not_break_a_drawing():
    from discreet import Categorical, Schema

    schema = Schema([Categorical('say "hi"', ['a"b', "c\\d"])], "y", ["n", "p"])
    fitted = PrivateTreeClassifier(100, schema=schema, depth=1).fit([['a"b'], ["c\\d"]] * 20, ["n", "p"] * 20)
    assert '"say \\"hi\\" = c\\\\d?"' in fitted.to_graphviz()


def test_deep_trees_need_no_recursion():
    from discreet import Categorical, Schema

    schema = Schema([Categorical("a", list(range(30)))], "y", [0, 1])
    X = [[v] for v in range(30)] * 4
    fitted = PrivateTreeClassifier(float("inf"), schema=schema, depth=20).fit(X, [v[0] % 2 for v in X])
    assert len(fitted.to_text().splitlines()) == len(fitted.model_.nodes) == 41
    assert fitted.score(X, [v[0] % 2 for v in X]) > 0.8


def test_the_commands_read_a_tree(tree, frame, tmp_path):
    model, rows = tmp_path / "tree.json", tmp_path / "rows.csv"
    tree.model_.save(model)
    frame.to_csv(rows, index=False)

    def discreet(*words):
        answer = CliRunner().invoke(app, [str(word) for word in words])
        assert answer.exit_code == 0, answer.exception
        return answer.stdout

    assert "permute-and-flip" in discreet("inspect", model)
    figures = json.loads(discreet("evaluate", model, rows, "--twin", rows, "--json"))
    assert figures["accuracy"] == pytest.approx(tree.score(frame, frame["ill"]))
    assert "non_private" in figures
    discreet("predict", model, rows, "--proba", "--out", tmp_path / "answers.csv")
    answers = (tmp_path / "answers.csv").read_text().splitlines()
    assert len(answers) == len(frame) + 1 and answers[0].replace('"', "").startswith("prediction,probability,P(no)")
