"""The registry of kinds: what rooms declare, names that every door takes, and a kind that a plug-in adds."""

import json
import os
import subprocess
import sys
from importlib.metadata import EntryPoint, entry_points
from pathlib import Path

import pytest
from typer.testing import CliRunner

import discreet
from discreet import BudgetError, PrivateClassifier, PrivateGridSearch, ReleasedModel
from discreet import kinds as registry
from discreet.cli import app
from discreet.kinds import Kind, Kinds, find, kinds, names, resolve
from tests.pages import blocks, entry_point, install

OLD = {"nb": "naive-bayes", "lr": "logistic"}
ALL = ["naive-bayes", "svm", "logistic", "tree", "forest", "additive", "additive-pairs", "tan", "joint", "selective",
       "auto"]  # fmt: skip


def test_the_rooms_declare_every_kind():
    assert sorted(names()) == sorted(ALL) and set(names()) <= {kind.name for kind in kinds()}
    assert {old: find(old).name for old in OLD} == OLD
    for kind in (find(name) for name in ALL):
        assert isinstance(resolve(kind.estimator), type) and callable(resolve(kind.automatic))
        made = kind.make(epsilon=2.0)
        assert made.epsilon == 2.0 and all(made.get_params()[key] == value for key, value in kind.settings.items())
        assert set(kind.as_declared) <= set(made.get_params())
        if kind.name != "auto":
            assert issubclass(kind.model_class(), ReleasedModel) and kind.format == kind.model_class().FORMAT


def test_listing_kinds_loads_no_engine():
    code = (
        "import sys; from discreet.kinds import names; names(); print('numpy' in sys.modules, 'sklearn' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["False", "False"]


def test_a_name_stands_for_one_kind():
    found = Kinds()
    first = found.register(Kind("one", "the first", "a.b:C", aliases=("uno",)))
    assert found.find("uno") is first and found.register(first) is first
    for second in (Kind("uno", "another", "d:E"), Kind("two", "another", "d:E", aliases=("one",))):
        with pytest.raises(BudgetError, match="two kinds of models are called"):
            found.register(second)
    found.declare([Kind("three", "the third", "d:E"), Kind("four", "the fourth", "d:F")])
    assert found.names() == [kind.name for kind in found.kinds()] == ["one", "three", "four"]
    for wrong in ("five", None, ["one"]):
        with pytest.raises(BudgetError, match="choose among one, three, four"):
            found.find(wrong)


@pytest.mark.parametrize("wrong", ["knn", "", "Naive-Bayes"])
def test_every_door_refuses_an_unknown_name_alike(wrong, schema, frame, tmp_path):
    frame.to_csv(tmp_path / "rows.csv", index=False)
    schema.save(tmp_path / "s.toml")
    words = f"there is no model {wrong!r}: choose among {', '.join(names())}"
    with pytest.raises(BudgetError, match="choose among") as caught:
        PrivateClassifier(1.0, schema, wrong).fit(frame)
    assert str(caught.value) == words
    with pytest.raises(BudgetError) as caught:
        PrivateGridSearch([wrong], schema=schema).fit(frame)
    assert str(caught.value) == words
    rows, public = str(tmp_path / "rows.csv"), str(tmp_path / "s.toml")
    for command in (["plan"], ["fit", rows, "--out", str(tmp_path / "m.json")]):
        answer = CliRunner().invoke(app, [*command, "--schema", public, "--model", wrong])
        assert str(answer.exception) == words


@pytest.mark.parametrize("name", ["svm", "lr", "tree", "forest", "nb"])
def test_fit_and_plan_take_the_names_of_compare(name, schema, frame, tmp_path):
    rows, public, out = (str(tmp_path / one) for one in ("rows.csv", "s.toml", "m.json"))
    frame.to_csv(rows, index=False)
    schema.save(public)
    common = ["--schema", public, "--model", name, "--epsilon", "2"]
    done = CliRunner().invoke(app, ["fit", rows, "--out", out, "--seed", "1", *common])
    assert done.exit_code == 0, done.exception
    model = discreet.load(out)
    kind = find(name)
    fitted = kind.make(epsilon=2.0, schema=schema, random_state=1).fit(frame)
    assert model.to_dict() == fitted.model_.to_dict() and isinstance(model, kind.model_class())
    shown = CliRunner().invoke(app, ["plan", *common])
    assert shown.exit_code == 0 and "epsilon = 2" in shown.output and "add-remove" in shown.output
    told = json.loads(CliRunner().invoke(app, ["plan", *common, "--json"]).stdout)
    assert (told["epsilon"], told["delta"], told["adjacency"]) == (2.0, 0.0, "add-remove")


@pytest.mark.parametrize(
    ("name", "flag", "words"),
    [
        ("svm", ["--mechanism", "laplace"], "--mechanism is a setting of Naive Bayes"),
        ("tree", ["--bounds", "private"], "find them first by 'discreet bounds'"),
        ("forest", ["--bounds-share", "0.2"], "find them first by 'discreet bounds'"),
    ],
)
def test_settings_that_a_kind_does_not_have_are_refused(name, flag, words, schema, tmp_path):
    schema.save(tmp_path / "s.toml")
    answer = CliRunner().invoke(app, ["plan", "--schema", str(tmp_path / "s.toml"), "--model", name, *flag])
    assert isinstance(answer.exception, BudgetError) and words in str(answer.exception)


def test_settings_that_a_kind_shares_reach_it(schema, tmp_path):
    from discreet.cli.common import estimator
    from discreet.cli.options import SETTINGS

    usual = {name: default for name, (_, default) in SETTINGS.items()}
    made = estimator({**usual, "model": "tree", "smoothing": 0.5, "contributions": 3}, schema)
    assert (made.smoothing, made.contributions, made.split) == (0.5, 3, "permute-and-flip")
    paired = estimator({**usual, "model": "additive-pairs", "bounds": "private"}, schema)
    assert isinstance(paired, PrivateClassifier) and (paired.model, paired.bounds) == ("additive-pairs", "private")


@pytest.mark.parametrize("name", ["additive", "tan", "joint", "auto", "nb", "svm"])
def test_a_search_takes_names(name, schema, frame):
    few = frame[["colour", "dose", "ill"]] if "dose" in frame else frame
    public = discreet.Schema([one for one in schema.features if one.name in few], "ill", schema.classes)
    search = PrivateGridSearch(["tree", name], epsilon=20.0, schema=public, random_state=2).fit(few)
    assert search.best_name_ in {"tree", name} and search.certificate_.epsilon == "20"
    assert search.model_.certificate.schema_hash == search.model_.schema.hash
    only = PrivateGridSearch(name, epsilon=20.0, schema=public, random_state=2, refit=0).fit(few)
    assert isinstance(only.model_, ReleasedModel) and only.certificate_.epsilon == "20"


@pytest.mark.parametrize("name", ["svm", "lr", "tree", "forest"])
def test_private_classifier_takes_kinds_that_ask_for_no_counts(name, schema, frame):
    fitted = PrivateClassifier(4.0, schema, name, random_state=1).fit(frame)
    assert fitted.choice_.model == find(name).name and isinstance(fitted.model_, find(name).model_class())
    assert fitted.certificate_.epsilon == "4" and fitted.certificate_.charges()[0].what == "rows by class"


# ---- a plug-in: one file, and one line that names it

PAGE = "how-to-add/kind.md"
SCRIPT = """
import json, sys
import discreet, pandas as pd
from discreet import PrivateClassifier, PrivateGridSearch, Schema
schema, rows = Schema.load("s.toml"), pd.read_csv("rows.csv")
loaded = discreet.load("m.json")
asked = PrivateClassifier(1.0, schema, "frequencies", random_state=0).fit(rows)
asked.model_.save("asked.json")
search = PrivateGridSearch(["frequencies"], schema=schema, random_state=0).fit(rows)
chosen = PrivateClassifier(1.0, schema, random_state=0).fit(rows).choice_.model
print(json.dumps([type(loaded).__name__, asked.choice_.model, type(discreet.load("asked.json")).__name__,
                  search.certificate_.epsilon, search.best_name_, chosen]))
"""


@pytest.fixture
def plugged(schema, frame, tmp_path, request):
    """A folder with rows, a schema and an installed plug-in, and how to run Python or a command there."""
    frame.to_csv(tmp_path / "rows.csv", index=False)
    schema.save(tmp_path / "s.toml")
    install(tmp_path, {"frequencies_kind.py": blocks(PAGE)[0]}, entry_point(PAGE))

    path = os.pathsep.join([str(tmp_path), str(Path(discreet.__file__).parents[1])])

    def run(*words):
        if words[0] == "-c":
            python = [sys.executable, "-W", "ignore", *words]
            environment = {**os.environ, "PYTHONPATH": path}
            done = subprocess.run(python, cwd=tmp_path, env=environment, capture_output=True, text=True)
        else:
            done = request.getfixturevalue("discreet")(*words, cwd=tmp_path, env={"PYTHONPATH": path})
        assert done.returncode == 0, done.stderr
        return done.stdout

    return run


def test_a_plug_in_adds_a_kind_that_every_door_knows(plugged):
    assert not entry_points(group=registry.ENTRY_POINTS, name="frequencies")
    common = ("--schema", "s.toml", "--model", "frequencies")
    plugged("fit", "rows.csv", *common, "--epsilon", "1", "--out", "m.json")
    assert "epsilon = 1" in plugged("plan", *common)
    assert "a model of frequencies" in plugged("inspect", "m.json")
    assert plugged("predict", "m.json", "rows.csv").startswith('"prediction"')
    figures = plugged("compare", "rows.csv", "--schema", "s.toml", "--public", "--models", "prior,tree",
                      "--repeats", "1")  # fmt: skip
    assert "class frequencies" in figures and "decision tree" in figures
    page = f"exec({blocks(PAGE)[1]!r}, {{'__name__': 'page'}})"
    found = json.loads(plugged("-c", SCRIPT + page).splitlines()[0])
    assert found[:5] == ["FrequencyModel", "frequencies", "FrequencyModel", "1", "frequencies"]
    assert found[5] in ALL  # a kind of the library promises more


def test_a_broken_plug_in_is_left_out_and_named(monkeypatch):
    broken = [EntryPoint("one", "no_such_module", "discreet.kinds"), EntryPoint("two", "math:pi", "discreet.kinds")]
    monkeypatch.setattr(registry, "entry_points", lambda group: broken)
    monkeypatch.setattr(registry.REGISTRY, "_plugged", False)
    with pytest.warns(UserWarning, match="no_such_module are left out|math:pi are left out") as told:
        assert find("nb").name == "naive-bayes"
    assert len(told) == 2 and [kind.name for kind in kinds()] == names()


def test_a_kind_is_added_by_one_call(plugged):
    line = "from discreet import kinds; import frequencies_kind as f; kinds.register(f.KINDS[0]); print(kinds.names())"
    assert "frequencies" in plugged("-c", line)
