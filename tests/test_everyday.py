"""What people who come from other libraries expect, and what their shells do: files, pipes, devices, interruptions."""

import io
import json
import os
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from discreet import (
    Budget,
    BudgetError,
    Categorical,
    DataError,
    Ledger,
    ModelError,
    Numeric,
    PrivateClassifier,
    PrivateForestClassifier,
    PrivateNB,
    PrivateSelectKBest,
    PrivateSVC,
    PrivateTreeClassifier,
    Schema,
    SchemaError,
    SelectiveNB,
    SettingError,
    load,
)
from discreet.files import write_text

SCHEMA = Schema(
    [Categorical("colour", ["red", "green"]), Numeric("age", 0, 100, bins=4, missing="bin")], "ill", ["no", "yes"]
)
BITS = Schema([Categorical(str(j), [0, 1]) for j in range(4)], "y", [0, 1])


@pytest.fixture(scope="module")
def people():
    rng = np.random.default_rng(0)
    ill = rng.random(400) < 0.5
    age = np.where(rng.random(400) < 0.1, np.nan, rng.integers(0, 50, 400) + 50.0 * ill)
    return pd.DataFrame({"colour": rng.choice(["red", "green"], 400), "age": age, "ill": np.where(ill, "yes", "no")})


@pytest.fixture(scope="module")
def fitted(people):
    return PrivateNB(50.0, schema=SCHEMA, random_state=0).fit(people)


@pytest.fixture
def command(monkeypatch, capsys):
    """Run a command in this process: its exit code and both streams."""

    def run(*words):
        from discreet.cli import main

        monkeypatch.setattr(sys, "argv", ["discreet", *map(str, words)])
        with pytest.raises(SystemExit) as end:
            main()
        return (end.value.code or 0, *capsys.readouterr())

    return run


# ---- estimators


def test_a_schema_by_its_file_or_as_a_dictionary(people, tmp_path):
    SCHEMA.save(tmp_path / "s.toml")
    for given in (str(tmp_path / "s.toml"), tmp_path / "s.toml", SCHEMA.to_dict()):
        assert PrivateNB(schema=given, random_state=0).fit(people).model_.schema == SCHEMA
    later = PrivateNB().set_params(schema=str(tmp_path / "s.toml"))
    assert later.schema == SCHEMA
    with pytest.raises(SchemaError, match="no-such"):
        PrivateNB(schema="no-such.toml").fit(people)


@pytest.mark.parametrize("kind", [PrivateNB, PrivateClassifier, PrivateSVC, SelectiveNB, PrivateSelectKBest])
def test_weights_of_rows_are_refused_with_the_reason(kind, people):
    ledger = Ledger(Budget(1))
    with pytest.raises(SettingError, match="sample_weight is not supported: the noise is sized for rows"):
        kind(schema=SCHEMA).fit(people, sample_weight=np.ones(len(people)), ledger=ledger)
    with pytest.raises(TypeError, match="unexpected keyword argument 'nonsense'"):
        kind(schema=SCHEMA).fit(people, nonsense=1)
    assert ledger.remaining == 1


def test_score_of_a_file(fitted, people, tmp_path):
    people.to_csv(tmp_path / "rows.csv", index=False)
    expected = fitted.score(people.drop(columns="ill"), people["ill"])
    assert fitted.score(people) == fitted.score(str(tmp_path / "rows.csv")) == expected > 0.8
    with pytest.raises(DataError, match="ill"):
        fitted.score(people.drop(columns="ill"))


def test_counts_are_what_was_released(fitted):
    assert fitted.n_classes_ == 2
    assert fitted.class_count_ == pytest.approx([200, 200], abs=40)
    colour, age = fitted.category_count_
    assert (colour.shape, age.shape) == ((2, 2), (2, 5))
    assert (colour == fitted.release_.values["table", "colour"]).all()


def test_export_with_missing_numbers_and_counts(fitted, people):
    pipeline, X = fitted.to_sklearn(), people.drop(columns="ill")
    assert X["age"].isna().any()
    np.testing.assert_allclose(pipeline.predict_proba(X), fitted.predict_proba(X), atol=1e-12)
    classify = pipeline.named_steps["classify"]
    assert classify.class_count_ == pytest.approx(fitted.class_count_)
    for table in classify.category_count_:
        assert table.sum(axis=1) == pytest.approx(classify.class_count_)


def test_the_automatic_choice_exports_naive_bayes_alone(people):
    X = people.drop(columns="ill")
    chosen = PrivateClassifier(20.0, schema=SCHEMA, model="naive-bayes", random_state=0).fit(people)
    np.testing.assert_allclose(chosen.to_sklearn().predict_proba(X), chosen.predict_proba(X), atol=1e-9)
    assert chosen.class_count_ == pytest.approx([200, 200], abs=60)
    other = PrivateClassifier(20.0, schema=SCHEMA, model="joint", random_state=0).fit(people)
    with pytest.raises(ModelError, match="a joint histogram has no counterpart"):
        other.to_sklearn()


def test_no_smoothing_at_all(people):
    assert np.isfinite(
        PrivateNB(1.0, schema=SCHEMA, smoothing=0, random_state=0).fit(people).predict_proba(people)
    ).all()
    assert PrivateTreeClassifier(1.0, schema=SCHEMA, smoothing=0, random_state=0).fit(people).score(people) >= 0


def test_trees_show_their_leaves(people):
    tree = PrivateTreeClassifier(50.0, schema=SCHEMA, depth=2, random_state=0).fit(people)
    assert tree.get_depth() == 2 and tree.get_n_leaves() == 4
    leaves = tree.apply(people)
    assert leaves.shape == (400,) and tree.model_.nodes.leaf[leaves].all()
    forest = PrivateForestClassifier(50.0, schema=SCHEMA, n_estimators=3, depth=2, random_state=0).fit(people)
    assert forest.apply(people).shape == (400, 3)
    parts = [one.predict_joint_log_proba(people) - one.log_prior for one in forest.estimators_]
    np.testing.assert_allclose(sum(parts) + forest.model_.log_prior, forest.model_.predict_joint_log_proba(people))


def test_columns_that_are_called_by_numbers():
    rng = np.random.default_rng(0)
    X, y = pd.DataFrame(rng.integers(0, 2, (300, 4))), rng.integers(0, 2, 300)
    X[2] = y
    chosen = PrivateSelectKBest(2, 50.0, BITS, random_state=0).fit(X, y)
    assert chosen.transform(X).shape == (300, 2) and "2" in chosen.names_
    naive = SelectiveNB(50.0, BITS, k=2, random_state=0).fit(X, y)
    assert naive.predict(X).shape == (300,) and naive.score(X, y) == 1.0


def test_what_does_not_fit_is_refused_before_the_charge():
    wide = Schema([Numeric(f"x{j}", 0, 1) for j in range(600)], "y", [0, 1])
    X, y, ledger = np.zeros((4, 600)), np.array([0, 1, 0, 1]), Ledger(Budget(1))
    for estimator in (
        PrivateTreeClassifier(schema=wide, depth=18),
        PrivateClassifier(schema=wide, model="tan"),
        PrivateClassifier(schema=wide, model="joint"),
    ):
        with pytest.raises(BudgetError, match=r"does not fit|too many|more than"):
            estimator.fit(X, y, ledger=ledger)
    assert ledger.remaining == 1
    assert PrivateTreeClassifier(schema=wide).plan().depth < 12  # though the root of 600 is 25


def test_a_certificate_prints_for_people(fitted):
    text = str(fitted.certificate_)
    assert "SIMULATION, not for release: epsilon = 50" in text and "rows by class and" in text and "/" not in text


def test_a_certificate_belongs_to_its_model(fitted, people, tmp_path):
    other = PrivateNB(1.0, schema=SCHEMA, random_state=1).fit(people).model_
    mine = fitted.model_.to_dict()
    assert load_of(mine, tmp_path).to_dict() == mine
    with pytest.raises(ModelError, match="belongs to another model"):
        load_of({**mine, "certificate": other.to_dict()["certificate"]}, tmp_path)
    with pytest.raises(ModelError, match="belongs to another model"):
        load_of({**mine, "log_prior": [-1.0, -0.5]}, tmp_path)


def load_of(fields, folder):
    (folder / "m.json").write_text(json.dumps(fields))
    return load(folder / "m.json")


# ---- files


def test_links_and_devices_stay_what_they_are(tmp_path):
    (tmp_path / "real").write_text("old")
    (tmp_path / "link").symlink_to("real")
    write_text(tmp_path / "link", "new")
    assert (tmp_path / "link").is_symlink() and (tmp_path / "real").read_text() == "new"
    write_text(os.devnull, "nothing")
    assert not os.path.isfile(os.devnull)
    os.mkfifo(tmp_path / "pipe")
    reader = os.open(tmp_path / "pipe", os.O_RDONLY | os.O_NONBLOCK)
    write_text(tmp_path / "pipe", "through")
    assert os.read(reader, 99) == b"through"
    os.close(reader)


def test_an_input_is_never_overwritten(fitted, people, tmp_path, monkeypatch, command):
    monkeypatch.chdir(tmp_path)
    people.to_csv("rows.csv", index=False)
    SCHEMA.save("s.toml")
    fitted.model_.save("m.json")
    fitted.model_.save("m.csv.certificate.json")
    os.symlink("rows.csv", "other.csv")
    for name in ("q.db", "rows.account", "q.account", "r.bin", "state/ledger.db", "keys/a.key", "x.py"):
        Path(name).parent.mkdir(exist_ok=True)
        Path(name).write_text("precious")
    before = {path: path.read_bytes() for path in Path().rglob("*") if path.is_file()}
    for words in (
        ("fit", "rows.csv", "--schema", "s.toml", "--out", "rows.csv"),
        ("fit", "rows.csv", "--schema", "s.toml", "--out", "s.toml"),
        ("fit", "rows.csv", "--schema", "s.toml", "--out", "other.csv"),
        ("predict", "m.json", "rows.csv", "--out", "rows.csv"),
        ("predict", "m.json", "rows.csv", "--out", "m.json"),
        ("schema", "rows.csv", "--target", "ill", "--out", "rows.csv"),
        ("bounds", "rows.csv", "--schema", "s.toml", "--bounds", "private", "--epsilon", 1, "--out", "s.toml"),
        ("select", "rows.csv", "--schema", "s.toml", "--out", "s.toml"),
        ("evaluate", "m.json", "rows.csv", "--out", "rows.csv"),
        ("fit", "duckdb:q.db", "--table", "t", "--schema", "s.toml", "--out", "q.db"),
        ("fit", "rows.csv", "--schema", "s.toml", "--out", "rows.account"),
        ("fit", "duckdb:q.db", "--table", "t", "--schema", "s.toml", "--out", "q.account"),
        ("fit", "rows.csv", "--schema", "s.toml", "--account", "q.account", "--out", "q.account"),
        ("select", "rows.csv", "--schema", "s.toml", "--account", "q.account", "--out", "q.account"),
        ("bounds", "rows.csv", "--schema", "s.toml", "--epsilon", 1, "--account", "q.account", "--out", "q.account"),
        ("bounds", "rows.csv", "--schema", "s.toml", "--epsilon", 1, "--out", "b", "--certificate", "rows.account"),
        ("evaluate", "m.json", "rows.csv", "--account", "q.account", "--epsilon", 1, "--out", "q.account"),
        ("stats", "duckdb:q.db", "--table", "t", "--schema", "s.toml", "--out", "q.db"),
        ("explain", "m.json", "--plot", "m.json"),
        ("explain", "m.json", "rows.csv", "--plot", "rows.csv"),
        ("compare", "rows.csv", "--schema", "s.toml", "--public", "--plot", "rows.csv"),
        ("synthesize", "m.csv.certificate.json", "--out", "m.csv"),
        ("local", "perturb", "rows.csv", "--schema", "s.toml", "--out", "rows.account"),
        ("local", "collect", "r.bin", "--schema", "s.toml", "--out", "r.bin"),
        ("local", "model", "--store", "q.db", "--out", "q.db"),
        ("local", "campaign", "--schema", "s.toml", "--out", "s.toml"),
        ("local", "tokens", "--store", "q.db", "--count", 1, "--schema", "s.toml", "--out", "q.db"),
        ("gossip", "model", "--state", "state", "--schema", "s.toml", "--out", "state/ledger.db"),
        (
            *(
                "gossip",
                "node",
                "--data",
                "rows.csv",
                "--name",
                "a",
                "--peers",
                "b=h:1",
                "--listen",
                "h:2",
                "--state",
                "state",
            ),
            *("--keys", "keys", "--epsilon", 1, "--schema", "s.toml", "--out", "keys/a.key"),
        ),
        ("federate", "coordinator", "--state", "state", "--schema", "s.toml", "--out", "s.toml"),
        ("federate", "run", "--shards", "r*.csv", "--epsilon", 1, "--schema", "s.toml", "--out", "rows.csv"),
        ("audit", "x.py:f", "--figure", "x.py"),
    ):
        code, _, error = command(*words)
        assert code == 2 and "is an input of this command" in error, words
    assert {path: path.read_bytes() for path in Path().rglob("*") if path.is_file()} == before


def test_a_schema_is_drafted_of_standard_input(monkeypatch, command):
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(b"age,ill\n1,no\n2,yes\n3,no\n")))
    code, shown, _ = command("schema", "-", "--target", "ill")
    assert code == 0 and 'name = "age"' in shown
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO()))
    code, shown, said = command("schema", "-", "--target", "ill")
    assert code == 2 and said.startswith("error: standard input is empty: send the rows there")


def test_what_is_no_table_is_named(fitted, tmp_path, monkeypatch):
    fitted.model_.save(tmp_path / "m.json")
    (tmp_path / "document.json").write_text('[{"age": 1}, {"age": 2}]\n')
    (tmp_path / "rows.csv").write_text("colour,age,ill\nred,1,no\n")
    os.mkfifo(tmp_path / "pipe")
    monkeypatch.setattr("discreet.sources.files.HEADER", 64)
    (tmp_path / "endless.csv").write_text("x" * 100)
    for name, words in (
        ("m.json", "are two arguments swapped"),
        ("document.json", "is a JSON document"),
        ("pipe", "is a pipe or a device"),
        ("-", "standard input"),
        ("endless.csv", "no line end"),
    ):
        with pytest.raises(DataError, match=words):
            fitted.predict(tmp_path / name if name != "-" else "-")
    with pytest.raises(ModelError, match="are two arguments swapped"):
        load(tmp_path / "rows.csv")


# ---- commands


def test_plans_and_fits_say_what_they_mean(people, tmp_path, monkeypatch, command):
    monkeypatch.chdir(tmp_path)
    people.to_csv("rows.csv", index=False)
    SCHEMA.save("s.toml")
    code, out, _ = command("plan", "--schema", "s.toml")
    assert code == 0 and "what would be chosen" in out and "1,000,000  joint" in out and "at most 2.72" in out
    code, out, error = command("fit", "rows.csv", "--schema", "s.toml", "--epsilon", "1000", "--out", "m.json")
    assert code == 0 and "released a joint histogram with epsilon = 1000" in out
    assert "warning: epsilon = 1000 is no meaningful protection" in error
    code, out, _ = command("fit", "rows.csv", "--schema", "s.toml", "--split", "equal", "--out", "m.json")
    assert code == 0 and "released a Naive Bayes model with epsilon = 1 " in out


def test_studies_in_parts_are_run_whole():
    from discreet_studies import PARTS, STUDIES, find_studies

    assert [place for _, place in find_studies("giaretta2022")] == [("federated",), ("gossip",)]
    assert [place for _, place in find_studies("giaretta2022", "gossip")] == [()]
    everything = [place for _, place in find_studies("all")]
    assert len(everything) == len(set(everything)) == len(STUDIES) + sum(len(parts) - 1 for parts in PARTS.values())


@pytest.mark.parametrize("late", [False, True])
def test_an_interruption_is_one_line(late, people, tmp_path):
    people.to_csv(tmp_path / "rows.csv", index=False)
    SCHEMA.save(tmp_path / "s.toml")
    # Told when it is asked for its arguments, or when a room that a fit needs is imported.
    moment = "discreet.sources" if late else "discreet.cli"
    script = (
        "import os, signal, sys\n"
        "signal.signal(signal.SIGINT, signal.default_int_handler)\n"
        "class Here:\n"
        f"    def find_spec(self, name, path, target=None):\n        if name == {moment!r}:\n"
        "            os.kill(os.getpid(), signal.SIGINT)\n"
        "sys.meta_path.insert(0, Here())\n"
        "from discreet.__main__ import main\n"
        "main()\n"
    )
    words = ["fit", "rows.csv", "--schema", "s.toml", "--out", "m.json"]
    done = subprocess.run([sys.executable, "-c", script, *words], cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 130, done.stderr
    assert done.stderr.startswith("stopped: ") and done.stderr.count("\n") == 1
    assert done.stdout == "" and not (tmp_path / "m.json").exists()


def test_a_word_while_a_command_gets_ready(monkeypatch):
    import io

    from discreet.cli import waiting

    class Terminal(io.StringIO):
        def isatty(self):
            return True

    screen = Terminal()
    monkeypatch.setattr(sys, "stderr", screen)
    monkeypatch.setattr(waiting, "PATIENCE", 0.01)
    waiting.begin()
    for _ in range(1000):
        if screen.getvalue():
            break
        time.sleep(0.01)
    waiting.end()
    assert screen.getvalue() == "getting ready …\r\x1b[K"


@pytest.mark.parametrize(("where", "said"), [("sparing.spare", "no file was changed"), ("main", "stays charged")])
def test_an_interruption_says_what_may_have_been_done(where, said, monkeypatch, capfd):
    """Before a command begins nothing can have been charged."""
    from discreet import __main__ as entry

    def stopped() -> None:
        monkeypatch.setattr(entry, "_interrupted", True)
        raise KeyboardInterrupt

    monkeypatch.setattr(f"discreet.cli.{where}", stopped)
    monkeypatch.setattr(sys, "unraisablehook", sys.unraisablehook)
    with pytest.raises(SystemExit) as ended:
        entry.main()
    err = capfd.readouterr().err
    assert ended.value.code == 130 and err.startswith("stopped: ") and said in err and err.count("\n") == 1
