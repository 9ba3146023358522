"""Bad input of every kind ends in one sentence that says what to do, never in a traceback or a lost file."""

from __future__ import annotations

import json
import os
import pickle
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from discreet import (
    BudgetError,
    Categorical,
    DataError,
    DiscreetError,
    ModelError,
    NaiveBayesModel,
    Numeric,
    PrivateNB,
    Schema,
    collect,
)

pytestmark = pytest.mark.usefixtures("one_tree")

SCHEMA = Schema(
    features=[Categorical("colour", ["red", "green"]), Numeric("age", 0, 100)], target="ill", classes=["no", "yes"]
)
GOOD = "colour,age,ill\nred,30,no\ngreen,70,yes\nred,20,no\n"


@pytest.fixture
def here(tmp_path, monkeypatch):
    """An empty working directory with a schema file and good data."""
    monkeypatch.chdir(tmp_path)
    SCHEMA.save("s.toml")
    Path("good.csv").write_text(GOOD)
    return tmp_path


@pytest.fixture(scope="module")
def model():
    frame = pd.DataFrame({"colour": ["red", "green"] * 9, "age": range(18), "ill": ["no", "yes"] * 9})
    return PrivateNB(schema=SCHEMA, epsilon=5.0, random_state=0, numeric="gaussian").fit(frame).model_


@pytest.fixture
def refused(monkeypatch, capsys):
    """Run a command in this process and expect exit code 2 and one sentence; any other exception fails the test."""

    def run(*arguments):
        from discreet.cli import main

        monkeypatch.setattr(sys, "argv", ["discreet", *map(str, arguments)])
        with pytest.raises(SystemExit) as end:
            main()
        out, err = capsys.readouterr()
        assert end.value.code == 2, err
        assert out == "" and "Traceback" not in err
        assert err.startswith("error: ") and err.count("\n") == 1, err
        return err

    return run


# ---- rows

ROWS = {
    "missing column": ("colour,ill\nred,no\n", ["no column 'age'", "'colour'", "'ill'"]),
    "missing target": ("colour,age\nred,1\n", ["no column 'ill'"]),
    "unknown category": (GOOD + "blue,5,no\n", ["'colour'", "'blue'", "'other' bucket"]),
    "unknown class": (GOOD + "red,5,maybe\n", ["'ill'", "'maybe'"]),
    "missing category": (GOOD + ",5,no\n", ["'colour'", "missing value", "missing = 'category'"]),
    "missing number": (GOOD + "red,,no\n", ["'age'", "missing value", "missing = 'bin'"]),
    "missing class": (GOOD + "red,5,\n", ["'ill'", "missing value"]),
    "not a number": (GOOD + "red,nan,no\n", ["'age'", "missing value"]),
    "infinity": (GOOD + "red,inf,no\n", ["'age'", "infinite"]),
    "minus infinity": (GOOD + "red,-Infinity,no\n", ["'age'", "infinite"]),
    "text in a number": (GOOD + "red,old,no\n", ["'age'", "'old'", "not a number"]),
    "short row": (GOOD + "red,5\n", ["bad.csv", "line", "5"]),
    "long row": (GOOD + "red,5,no,more\n", ["bad.csv", "line", "5"]),
    "unclosed quote": (GOOD + '"red,5,no\n', ["bad.csv"]),
    "no rows": ("colour,age,ill\n", ["no rows"]),
    "no rows, no line end": ("colour,age,ill", ["no rows"]),
    "nothing": ("", ["bad.csv", "empty"]),
    "blank": ("\n\n", ["bad.csv", "header line"]),
    "no UTF-8 in a row": (GOOD.encode() + b"r\xe9d,5,no\n", ["bad.csv", "UTF-8"]),
    "no UTF-8 in a row further down": (GOOD.encode() + b"red,5,no\n" * 9000 + b"r\xe9d,5,no\n", ["bad.csv", "UTF-8"]),
    "no UTF-8 in the header": (b"colo\xfcr,age,ill\nred,5,no\n", ["bad.csv", "UTF-8"]),
    "UTF-16": (GOOD.encode("utf-16"), ["bad.csv", "UTF-8"]),
    "two columns of one name": (
        "colour,age,age,ill\nred,5,6,no\n",
        ["bad.csv", "every column needs a name of its own"],
    ),
}


@pytest.mark.parametrize(("content", "words"), ROWS.values(), ids=ROWS.keys())
def test_bad_rows_in_a_file(content, words, here, refused):
    Path("bad.csv").write_bytes(content if isinstance(content, bytes) else content.encode())
    message = refused("fit", "bad.csv", "--schema", "s.toml", "--out", "model.json")
    for word in words:
        assert word.lower() in message.lower(), message
    assert not Path("model.json").exists()
    with pytest.raises(DataError):
        collect("bad.csv", SCHEMA)


FILES = {
    "absent.csv": (None, ["there is no file", "absent.csv"]),
    "part-*.csv": (None, ["no file matches", "part-*.csv"]),
    "cut.parquet": ("cut", ["cut.parquet", "Parquet"]),
    "false.parquet": (b"colour,age\n", ["false.parquet", "Parquet"]),
    "false.arrow": (b"colour,age\n", ["false.arrow", "Arrow"]),
    "false.csv.gz": (b"colour,age,ill\nred,5,no\n", ["false.csv.gz"]),
    "model.pkl": (pickle.dumps({"a": np.zeros(3)}), ["model.pkl"]),
    "zeros.bin": (b"\0" * 100, ["zeros.bin", "neither CSV, JSON lines, Parquet nor Arrow"]),
}


@pytest.mark.parametrize(("name", "content", "words"), [(k, *v) for k, v in FILES.items()], ids=FILES.keys())
def test_files_that_hold_no_rows(name, content, words, here, refused):
    if content == "cut":
        pd.read_csv("good.csv").to_parquet(name)
        content = Path(name).read_bytes()[:-20]
    if content is not None:
        Path(name).write_bytes(content)
    message = refused("fit", name, "--schema", "s.toml", "--out", "model.json")
    for word in words:
        assert word in message, message
    assert not Path("model.json").exists()


def test_a_directory_is_no_data(here, refused):
    message = refused("fit", here, "--schema", "s.toml", "--out", "model.json")
    assert str(here) in message and "is a directory" in message and "*.parquet" in message


@pytest.mark.parametrize("kind", ["list", "struct"])
def test_nested_columns_are_refused(kind, here, refused):
    value = ["red"] if kind == "list" else {"a": 1}
    pd.DataFrame({"colour": [value, value], "age": [1.0, 2.0], "ill": ["no", "yes"]}).to_parquet("nested.parquet")
    message = refused("fit", "nested.parquet", "--schema", "s.toml", "--out", "model.json")
    assert "'colour'" in message


MEMORY = {
    "unknown category": (lambda f: f.assign(colour="blue"), ["'colour'", "'blue'"]),
    "missing column": (lambda f: f.drop(columns="age"), ["no column 'age'"]),
    "infinity": (lambda f: f.assign(age=np.inf), ["'age'", "infinite"]),
    "NaN": (lambda f: f.assign(age=np.nan), ["'age'", "missing value"]),
    "None": (lambda f: f.assign(colour=None), ["'colour'", "missing value"]),
    "text": (lambda f: f.assign(age="old"), ["'age'", "'old'", "not a number"]),
    "dates": (lambda f: f.assign(age=pd.Timestamp("2020-01-01")), ["'age'", "timestamp", "not numbers"]),
    "no rows": (lambda f: f[:0], ["no rows"]),
    "lists": (lambda f: f.assign(colour=[["red"]] * len(f)), ["'colour'"]),
    "two columns of one name": (lambda f: pd.concat([f, f[["age"]]], axis=1), ["age"]),
    "too few columns": (lambda f: f[["age"]].to_numpy(), ["1 features", "2"]),
    "one dimension": (lambda f: f["age"].to_numpy(), ["2D"]),
    "three dimensions": (lambda f: np.zeros((2, 2, 2)), ["2D"]),
    "complex": (lambda f: np.zeros((len(f), 2), complex), ["omplex"]),
    "a number": (lambda f: 5, ["2D"]),
}


@pytest.mark.parametrize(("change", "words"), MEMORY.values(), ids=MEMORY.keys())
def test_bad_rows_in_memory(change, words, model):
    frame = pd.DataFrame({"colour": ["red", "green"], "age": [1.0, 2.0]})
    data = change(frame)
    labels = ["no", "yes"][: len(data) if hasattr(data, "__len__") else 2]
    with pytest.raises(DataError) as caught:
        PrivateNB(schema=SCHEMA).fit(data, labels)
    assert all(word in str(caught.value) for word in words), caught.value
    if "no rows" not in words:
        with pytest.raises(DataError):
            model.predict(data)


@pytest.mark.parametrize(
    ("labels", "words"),
    [
        (["no", "maybe"], ["'ill'", "'maybe'"]),
        (["no", None], ["'ill'", "missing value"]),
        (["no"], ["inconsistent", "[2, 1]"]),
        ([["no", "yes"], ["no", "yes"]], ["'ill'", "does not list"]),
    ],
)
def test_bad_labels(labels, words):
    frame = pd.DataFrame({"colour": ["red", "green"], "age": [1.0, 2.0]})
    with pytest.raises(DataError) as caught:
        PrivateNB(schema=SCHEMA).fit(frame, labels)
    assert all(word in str(caught.value) for word in words), caught.value


def test_one_class_in_the_data_is_no_error(here):
    """Which classes occur is private: the schema lists them and an absent one is noise like any other."""
    Path("one.csv").write_text("colour,age,ill\nred,30,no\ngreen,70,no\n")
    fitted = PrivateNB(schema=SCHEMA).fit("one.csv")
    assert fitted.classes_.tolist() == ["no", "yes"] and fitted.predict_proba("one.csv").shape == (2, 2)


def test_one_class_in_the_schema_is_an_error(here, refused):
    text = Path("s.toml").read_text()
    Path("s.toml").write_text(text.replace('    "yes",\n', ""))
    assert Path("s.toml").read_text() != text
    assert "at least two classes" in refused("plan", "--schema", "s.toml")
    Path("one.csv").write_text("colour,age,ill\nred,30,no\ngreen,70,no\n")
    assert "at least two classes" in refused("schema", "one.csv", "--target", "ill")


def test_an_id_with_too_many_rows(here, refused):
    Schema(features=SCHEMA.features, target="ill", classes=["no", "yes"], id="who").save("id.toml")
    Path("ids.csv").write_text("who,colour,age,ill\n4711,red,30,no\n4711,green,70,yes\n")
    message = refused("fit", "ids.csv", "--schema", "id.toml", "--out", "m.json")
    assert "'who'" in message and "more than 1 row" in message and "contributions" in message
    assert "4711" not in message  # the person is not named
    assert "no column 'who'" in refused("fit", "good.csv", "--schema", "id.toml", "--out", "m.json")


# ---- budgets and settings

SETTINGS = {
    "epsilon zero": (["--epsilon", "0"], ["epsilon must be above zero"]),
    "epsilon negative": (["--epsilon", "-1"], ["epsilon must be above zero"]),
    "epsilon NaN": (["--epsilon", "nan"], ["epsilon must be a number", "nan"]),
    "epsilon minus infinity": (["--epsilon", "-inf"], ["epsilon must be a number"]),
    "delta one": (["--delta", "1"], ["delta must lie between 0 and 1"]),
    "delta negative": (["--delta", "-0.1"], ["delta must lie between 0 and 1"]),
    "delta NaN": (["--delta", "nan"], ["delta must be a number"]),
    "gaussian without delta": (["--mechanism", "gaussian"], ["needs a delta above zero"]),
    "no contributions": (["--contributions", "0"], ["contributions must be a whole number"]),
    "negative smoothing": (["--smoothing", "-1"], ["smoothing must be a number from zero up"]),
    "smoothing NaN": (["--smoothing", "nan"], ["smoothing must be a number from zero up"]),
    "epsilon too small to draw noise": (["--epsilon", "1e-320"], ["epsilon"]),
    "negative seed": (["--seed", "-1"], ["seed"]),
}


@pytest.mark.parametrize(("flags", "words"), SETTINGS.values(), ids=SETTINGS.keys())
def test_bad_settings(flags, words, here, refused):
    # But for what only shows when noise is drawn, a bad setting is refused before it is noticed that there are no data.
    data = "good.csv" if flags in (["--seed", "-1"], ["--epsilon", "1e-320"]) else "absent.csv"
    message = refused("fit", data, "--schema", "s.toml", "--out", "m.json", *flags)
    for word in words:
        assert word in message, message
    assert not Path("m.json").exists()


@pytest.mark.parametrize("value", [0, -1, float("nan"), "much", None, True, [1], -float("inf"), "1/0", "inf"])
def test_a_budget_that_is_none_is_refused_before_any_row_is_read(value):
    with pytest.raises(BudgetError) as caught:
        PrivateNB(epsilon=value, schema=SCHEMA).fit("absent.csv")
    assert "epsilon" in str(caught.value)


@pytest.mark.parametrize("value", [-0.1, 1, 1.5, float("nan"), "little", None, True])
def test_a_delta_out_of_range_is_refused_before_any_row_is_read(value):
    with pytest.raises(BudgetError, match="delta"):
        PrivateNB(delta=value, schema=SCHEMA).fit("absent.csv")


# ---- schemas


def test_no_schema_no_fit(here, refused):
    message = refused("fit", "good.csv", "--out", "m.json")
    assert "a schema is needed" in message and "discreet schema" in message
    with pytest.raises(DiscreetError, match="needs a schema"):
        PrivateNB().fit(pd.DataFrame({"a": [1]}), [0])


def test_wrong_schemas(here, refused):
    assert "cannot read the schema absent.toml" in refused("plan", "--schema", "absent.toml")
    assert "not valid TOML" in refused("plan", "--schema", "good.csv")
    other = Schema(features=[Numeric("height", 0, 3)], target="ill", classes=["no", "yes"])
    other.save("other.toml")
    message = refused("fit", "good.csv", "--schema", "other.toml", "--out", "m.json")
    assert "no column 'height'" in message and "'colour'" in message
    Path("deep.toml").write_text("a = " + "[" * 5000)
    assert "deep.toml" in refused("plan", "--schema", "deep.toml")


def test_names_that_look_like_markup(here, monkeypatch, capsys):
    from discreet.cli import main

    Schema(
        features=[Categorical("[/bold]", ["[red]", "x"]), Numeric("[a]", 0, 1)],
        target="ill",
        classes=["[/no]", "[yes]"],
    ).save("markup.toml")
    monkeypatch.setattr(sys, "argv", ["discreet", "plan", "--schema", "markup.toml", "--model", "nb"])
    with pytest.raises(SystemExit) as end:
        main()
    assert not end.value.code
    out = capsys.readouterr().out
    assert "[/bold]" in out and "[a]" in out


# ---- model files


def edited(path, *keys, value):
    """A change of one place of the model's JSON."""

    def change(fields):
        spot = fields
        for key in (path, *keys)[:-1]:
            spot = spot[key]
        spot[(path, *keys)[-1]] = value
        return json.dumps(fields)

    return change


MODELS = {
    "truncated": (lambda f: json.dumps(f)[:-50], ["damaged or no model file"]),
    "empty": (lambda f: "", ["damaged or no model file"]),
    "pickle": (lambda f: pickle.dumps(f), ["damaged or no model file"]),
    "deep": (lambda f: "[" * 100_000, ["nested too deeply"]),
    "deep objects": (lambda f: '{"a":' * 100_000, ["nested too deeply"]),
    "deep certificate": (
        lambda f: json.dumps({**f, "certificate": 0}).replace(
            '"certificate": 0', '"certificate": ' + "[" * 400 + "]" * 400
        ),
        ["damaged"],
    ),
    "another JSON": (lambda f: "[1, 2]", ["not a model of discreet"]),
    "wrong format": (edited("format", value="sklearn"), ["not a model of discreet"]),
    "wrong version": (edited("version", value=99), ["version 99", "reads 1"]),
    "NaN": (edited("log_prior", 0, value=float("nan")), ["NaN"]),
    "null": (edited("log_prior", 0, value=None), ["probabilities"]),
    "overflow": (lambda f: json.dumps(f).replace('"log_prior": [', '"log_prior": [1e999, '), ["probabilities"]),
    "text in numbers": (edited("log_prior", 0, value="many"), ["damaged"]),
    "integer of 400 digits": (edited("log_prior", 0, value=10**400), ["damaged"]),
    "priors": (edited("log_prior", value=[-1.0]), ["probabilities do not fit"]),
    "no likelihoods": (edited("features", value=[]), ["features are not those"]),
    "likelihoods null": (edited("features", value=None), ["damaged"]),
    "a likelihood of text": (edited("features", 0, value="colour"), ["damaged"]),
    "another kind": (edited("features", 0, "kind", value="svm"), ["unknown kind", "svm"]),
    "wrong shape": (edited("features", 0, "log_prob", value=[[-1.0]]), ["'colour'", "wrong shape"]),
    "ragged": (edited("features", 0, "log_prob", value=[[-1.0], [-1.0, -2.0]]), ["damaged"]),
    "no log-probability": (edited("features", 0, "log_prob", value=[[1.0, 1.0], [1.0, 1.0]]), ["no log-probabilities"]),
    "variance zero": (edited("features", 1, "variance", value=[0.0, 1.0]), ["'age'", "no mean and variance"]),
    "variance null": (edited("features", 1, "variance", value=None), ["'age'"]),
    "missing cell": (edited("features", 1, "present", value=[[0, 0], [0, 0]]), ["'age'", "missing values"]),
    "another schema": (edited("schema", "target", value="healthy"), ["certificate belongs to another schema"]),
    "broken schema": (edited("schema", "classes", value=["no"]), ["schema is damaged", "two classes"]),
    "no certificate": (lambda f: json.dumps({k: v for k, v in f.items() if k != "certificate"}), ["certificate"]),
    "certificate of text": (edited("certificate", value="trust me"), ["certificate is damaged"]),
    "epsilon of text": (edited("certificate", "epsilon", value="none at all"), ["certificate is damaged"]),
    "epsilon divided by zero": (edited("certificate", "epsilon", value="1/0"), ["certificate is damaged"]),
    "delta divided by zero": (edited("certificate", "delta", value="1/0"), ["certificate is damaged"]),
    "more in the certificate": (edited("certificate", "trust", value="me"), ["certificate is damaged"]),
}


@pytest.mark.parametrize(("change", "words"), MODELS.values(), ids=MODELS.keys())
def test_corrupted_model_files(change, words, model, here, refused):
    content = change(json.loads(json.dumps(model.to_dict())))
    Path("model.json").write_bytes(content if isinstance(content, bytes) else content.encode())
    message = refused("inspect", "model.json")
    assert "model.json" in message
    for word in words:
        assert word in message, message
    with pytest.raises(ModelError):
        NaiveBayesModel.load("model.json")


def test_every_truncation_of_a_model_is_refused(model, here):
    model.save("model.json")
    raw = Path("model.json").read_bytes()
    for size in range(0, len(raw.rstrip()), 37):
        Path("cut.json").write_bytes(raw[:size])
        with pytest.raises(ModelError):
            NaiveBayesModel.load("cut.json")
    assert NaiveBayesModel.load("model.json").to_dict() == model.to_dict()


def test_a_model_that_is_not_there(here, refused):
    for command in (
        ["predict", "absent.json", "good.csv"],
        ["evaluate", "absent.json", "good.csv"],
        ["inspect", "absent.json"],
    ):
        assert "cannot read the model absent.json: No such file" in refused(*command)
    assert "Is a directory" in refused("inspect", here)


def test_rows_that_do_not_fit_the_model(model, here, refused):
    model.save("model.json")
    Path("bad.csv").write_text("colour,age,ill\nred,30,no\nblue,1,no\n")
    for command in (["predict", "model.json", "bad.csv", "--out", "p.csv"], ["evaluate", "model.json", "bad.csv"]):
        message = refused(*command)
        assert "'colour'" in message and "'blue'" in message
    assert not Path("p.csv").exists() and not list(Path().glob(".p.csv*"))
    Path("empty.csv").write_text("colour,age,ill\n")
    assert "no rows to predict" in refused("predict", "model.json", "empty.csv", "--out", "p.csv")
    assert "no rows to evaluate" in refused("evaluate", "model.json", "empty.csv")
    assert not Path("p.csv").exists()


# ---- results that cannot be written


def test_results_that_cannot_be_written(model, here, refused):
    model.save("model.json")
    fit = ["fit", "good.csv", "--schema", "s.toml", "--out"]
    Path("folder").mkdir()
    assert "there is no directory absent" in refused(*fit, "absent/m.json")
    assert "folder is a directory" in refused(*fit, "folder")
    assert "there is no directory" in refused("predict", "model.json", "good.csv", "--out", "absent/p.csv")
    assert "there is no directory" in refused("evaluate", "model.json", "good.csv", "--out", "absent/e.json")
    assert "there is no directory" in refused("schema", "good.csv", "--target", "ill", "--out", "absent/s.toml")
    # Whether the result can be written is found out before the rows are read.
    assert "there is no directory" in refused("fit", "absent.csv", "--schema", "s.toml", "--out", "absent/m.json")


@pytest.mark.skipif(not Path("/proc/self").is_dir(), reason="needs a directory that nobody can write to")
def test_a_directory_that_nobody_can_write_to(here, refused):
    message = refused("fit", "good.csv", "--schema", "s.toml", "--out", "/proc/self/model.json")
    assert "/proc/self" in message


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() == 0, reason="the superuser may write anywhere")
def test_a_directory_without_the_right_to_write(here, refused):
    Path("locked").mkdir(mode=0o555)
    message = refused("fit", "good.csv", "--schema", "s.toml", "--out", "locked/model.json")
    assert "locked" in message


# ---- interruptions


def test_an_error_while_writing_keeps_the_old_file(here):
    from discreet.files import replacing, write_text

    write_text("result.txt", "old")

    def fail():
        with replacing("result.txt") as temporary:
            temporary.write_text("half of the n")
            raise RuntimeError("interrupted")

    with pytest.raises(RuntimeError, match="interrupted"):
        fail()
    assert Path("result.txt").read_text() == "old"
    assert not list(here.glob(".result*"))


@pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="needs SIGKILL")
def test_a_process_killed_while_writing_keeps_the_old_file(model, here):
    model.save("model.json")
    before = Path("model.json").read_bytes()
    program = (
        "import os, signal\n"
        "from discreet.files import replacing\n"
        "with replacing('model.json') as temporary:\n"
        '    temporary.write_text(\'{"format": "disc\')\n'
        "    os.kill(os.getpid(), signal.SIGKILL)\n"
    )
    done = subprocess.run([sys.executable, "-c", program], cwd=here, check=False)
    assert done.returncode == -signal.SIGKILL
    assert Path("model.json").read_bytes() == before
    assert NaiveBayesModel.load("model.json").to_dict() == model.to_dict()


@pytest.mark.skipif(not Path("/proc/self/fd").is_dir(), reason="needs /proc to see when the rows are being read")
def test_a_killed_fit_keeps_the_old_model(model, here):
    model.save("model.json")
    before = Path("model.json").read_bytes()
    block = "".join(f"{'red' if i % 3 else 'green'},{i % 97}.25,{'no' if i % 2 else 'yes'}\n" for i in range(20_000))
    with open("large.csv", "w") as file:
        file.write("colour,age,ill\n")
        for _ in range(100):
            file.write(block)
    script = Path(sys.executable).with_name("discreet")
    if not script.exists():
        pytest.skip("the console script is not installed beside this Python")
    command = [str(script), "fit", "large.csv", "--schema", "s.toml", "--out", "model.json"]
    with subprocess.Popen(command, cwd=here, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True) as process:
        handles = Path(f"/proc/{process.pid}/fd")
        deadline = time.monotonic() + 300
        while process.poll() is None and time.monotonic() < deadline:
            try:
                if any("large.csv" in os.readlink(handle) for handle in handles.iterdir()):
                    break
            except OSError:
                pass
            time.sleep(0.002)  # a look, not a race: the fit should have the core
        process.kill()
        _, err = process.communicate(timeout=300)
    assert process.returncode == -signal.SIGKILL, err
    assert Path("model.json").read_bytes() == before
    assert NaiveBayesModel.load("model.json").to_dict() == model.to_dict()
    for path in here.iterdir():
        assert path.name in {"model.json", "large.csv", "good.csv", "s.toml"} or path.name.startswith("."), path


# ---- the same through a process of its own


def test_a_process_of_its_own_prints_one_sentence(here, discreet):
    Path("bad.csv").write_text(GOOD + "blue,5,no\n")
    done = discreet("fit", "bad.csv", "--schema", "s.toml", "--out", "m.json", cwd=here)
    assert done.returncode == 2 and done.stdout == ""
    assert done.stderr.startswith("error: column 'colour' holds 'blue'") and done.stderr.count("\n") == 1
    assert not (here / "m.json").exists()


def test_a_word_for_a_budget_is_refused(here, discreet):
    done = discreet("fit", "good.csv", "--schema", "s.toml", "--out", "m.json", "--epsilon", "much", cwd=here)
    assert done.returncode == 2
    assert "--epsilon" in done.stderr and "much" in done.stderr and "Traceback" not in done.stderr
